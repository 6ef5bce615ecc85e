"""Products and convolutions through BLAS."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tfcompat._src.interpreter.movement import padding
from tfcompat._src.interpreter.reductions import windows
from tfcompat._src.interpreter.table import Equation, is_small_float, primitive


def _inside(dtype: np.dtype) -> np.dtype:
    return np.dtype(np.float32) if is_small_float(dtype) else dtype


@primitive("dot_general")
def dot_general(e: Equation) -> Callable:
    (left, right), (left_batch, right_batch) = e.params["dimension_numbers"]
    a, b = e.inputs
    left_free = [i for i in range(len(a.shape)) if i not in (*left, *left_batch)]
    right_free = [i for i in range(len(b.shape)) if i not in (*right, *right_batch)]
    left_order, right_order = (*left_batch, *left_free, *left), (*right_batch, *right, *right_free)
    batch = tuple(a.shape[i] for i in left_batch)
    rows, inner = (int(np.prod([a.shape[i] for i in axes], dtype=np.int64)) for axes in (left_free, left))
    columns = int(np.prod([b.shape[i] for i in right_free], dtype=np.int64))
    left_shape, right_shape = (*batch, rows, inner), (*batch, inner, columns)
    shape, dtype, inside = e.outputs[0].shape, e.dtype, _inside(e.dtype)

    def product(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        x = np.asarray(x, inside).transpose(left_order).reshape(left_shape)
        y = np.asarray(y, inside).transpose(right_order).reshape(right_shape)
        return np.matmul(x, y).reshape(shape).astype(dtype, copy=False)

    return product


@primitive("conv_general_dilated")
def convolution(e: Equation) -> Callable:
    p, dtype, inside = e.params, e.dtype, _inside(e.dtype)
    lhs, rhs, out = p["dimension_numbers"]
    groups, batches = p["feature_group_count"], p["batch_group_count"]
    images = tuple(e.inputs[0].shape[i] for i in lhs)
    kernel = tuple(e.inputs[1].shape[i] for i in rhs)
    config = [(0, 0, 0), (0, 0, 0), *((*edge, d - 1) for edge, d in zip(p["padding"], p["lhs_dilation"], strict=True))]
    padded = tuple(lo + hi + (max(0, (n - 1) * (mid + 1) + 1) if n else 0) for n, (lo, hi, mid) in zip(images, config, strict=True))
    pad = padding(padded, images, config)
    identity = padded == images
    back = np.argsort(out)
    rank = len(images) - 2
    result_shape = tuple(e.outputs[0].shape[i] for i in out)
    spatial = result_shape[2:]
    parts = groups * batches

    def run(x: np.ndarray, w: np.ndarray) -> np.ndarray:
        x, w = np.asarray(x, inside).transpose(lhs), np.asarray(w, inside).transpose(rhs)
        if 0 in result_shape or 0 in kernel or 0 in images:
            return np.zeros(result_shape, dtype).transpose(back)
        x = x if identity else pad(x, inside.type(0))
        view = windows(x, (1, 1, *kernel[2:]), (1, 1, *p["window_strides"]), (1, 1, *p["rhs_dilation"]))
        view = view.reshape(*view.shape[: rank + 2], *kernel[2:])
        samples = images[0] // batches
        if batches > 1:
            view = view.reshape(batches, samples, *view.shape[1:])
        else:
            view = np.moveaxis(view.reshape(samples, groups, kernel[1], *view.shape[2:]), 1, 0)
        # view: part, sample, channel, places, kernel places; a product over channel and kernel places for each part
        columns = np.moveaxis(view, 2, 2 + rank).reshape(parts, samples * int(np.prod(spatial)), -1)
        product = np.matmul(columns, w.reshape(parts, kernel[0] // parts, -1).transpose(0, 2, 1))
        product = product.reshape(parts, samples, *spatial, -1)
        product = np.moveaxis(np.moveaxis(product, 0, -2).reshape(samples, *spatial, -1), -1, 1)
        return product.transpose(back).astype(dtype, copy=False)

    return run
