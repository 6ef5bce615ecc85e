"""Convolutions as matrix products (im2col): the windows of the images, laid side by side in a matrix, times the kernel.

Windows are strided views; they are copied block by block (`BLOCK`), so that the matrix never exists as a whole.
"""

from __future__ import annotations

import math

import numpy as np

from tfcompat._src.base.arrays import NDArray
from tfcompat._src.interpreter import cores
from tfcompat._src.interpreter.movement import padding
from tfcompat._src.interpreter.table import Equation, Shape, ToArray, primitive, wide
from tfcompat._src.interpreter.windows import dilated, view_of_windows

BLOCK = 2**19
"""Elements of the matrix of windows that are copied at a time: 2 MiB of float32, about a core's cache."""


@primitive("conv_general_dilated")
def convolution(e: Equation) -> ToArray:
    """Prepares a convolution. Images are read as (batch, feature, spatial...), kernels as (output feature, input feature, spatial...)."""
    p, dtype, inside = e.params, e.dtype, wide(e.dtype)
    lhs, rhs, out = p["dimension_numbers"]
    groups, batches = p["feature_group_count"], p["batch_group_count"]
    images, kernel = (tuple(a.shape[i] for i in spec) for a, spec in zip(e.inputs, (lhs, rhs)))
    result, back, result_shape = tuple(e.shape[i] for i in out), np.argsort(out), e.shape
    if 0 in (*result, *images, *kernel):
        return lambda x, w: np.zeros(result_shape, dtype)
    # Padding and dilation of the images are done in the order in which their axes lie in memory, before any transposition.
    layout = [lhs.index(i) for i in range(len(lhs))]
    all_edges, all_spread = ((0, 0), (0, 0), *p["padding"]), (1, 1, *p["lhs_dilation"])
    edges, spread = [all_edges[i] for i in layout], [all_spread[i] for i in layout]
    shape = dilated(e.inputs[0].shape, edges, spread)
    is_padded = shape != e.inputs[0].shape or any(d > 1 for d in spread)
    pad = padding(shape, e.inputs[0].shape, [(*edge, d - 1) for edge, d in zip(edges, spread)])
    # Feature groups and batch groups (of which JAX allows only one kind at a time) divide the work into independent convolutions.
    parts = groups * batches
    samples, features, outputs = images[0] // batches, images[1] // groups, kernel[0] // parts
    multiply = _product((samples, features, *result[2:], *kernel[2:]), outputs, (*p["window_strides"],), (*p["rhs_dilation"],), layout)

    def run(x: NDArray, w: NDArray) -> NDArray:
        x, w = x.astype(inside, copy=False), w.astype(inside, copy=False).transpose(rhs)
        x = (pad(x, inside.type(0)) if is_padded else x).transpose(lhs)
        products = []
        for i in range(parts):
            batch, group = (i * samples if batches > 1 else 0), (i * features if groups > 1 else 0)
            part = x[batch : batch + samples, group : group + features]
            products.append(multiply(part, w[i * outputs : (i + 1) * outputs]))
        joined = products[0] if parts == 1 else np.concatenate(products, 1)
        return joined.transpose(back).astype(dtype, copy=False)

    return run


def _product(sizes: Shape, outputs: int, strides: Shape, dilation: Shape, layout: list[int]) -> ToArray:
    """Returns a function that convolves images with a kernel, without groups.

    `sizes` is the shape of a view of windows: samples, features, output positions, positions in a window. The view becomes a matrix of what
    stays (samples, output positions) by what is summed over (the rest). Within both, axes keep the order of the images' memory (`layout`), and the
    matrix is filled by rows or by columns, whichever reads memory in order.
    """
    # Axes of the view are 0: samples, 1: features, 2 to 1 + rank: output positions, then positions in a window.
    rank = len(strides)
    in_memory = [axis for i in layout for axis in ((i,) if i < 2 else (i, i + rank))]
    is_summed = [axis == 1 or axis >= 2 + rank for axis in range(len(sizes))]
    stays, summed = ([a for a in in_memory if is_summed[a] == s] for s in (False, True))
    by_columns = not is_summed[in_memory[-1]]
    order = (*summed, *stays) if by_columns else (*stays, *summed)
    rows, inner = (math.prod(sizes[a] for a in axes) for axes in (stays, summed))
    # The kernel as a matrix: its axes in the order of the summed axes, output features last.
    kernel_order = (*(a if a == 1 else a - rank for a in summed), 0)
    back = (stays.index(0), len(stays), *(stays.index(2 + i) for i in range(rank)))
    result_shape = (*(sizes[a] for a in stays), outputs)
    # Blocks divide the outermost axis, in memory order: rows of the product, or terms of the sum when the matrix is filled by columns.
    length = sizes[order[0]]
    step = max(1, BLOCK * length // (rows * inner))
    starts = range(0, length, step)
    shares = cores.ranges(len(starts), cores.CORES)
    all_strides, all_dilation = (1, 1, *strides), (*dilation,)

    def multiply(windows: NDArray, w: NDArray, out: NDArray) -> None:
        np.matmul(windows.reshape(-1, inner), w, out=out)

    def sum_of_products(windows: NDArray, w: NDArray) -> NDArray:
        sums = np.zeros((len(shares), rows, outputs), w.dtype)

        def add(share: int) -> None:
            # Blocks of one share add up in one thread; the shares' sums are added in a fixed order, so that results do not depend on timing.
            for i in starts[shares[share]]:
                sums[share] += windows[i : i + step].reshape(-1, rows).T @ w[i : i + step].reshape(-1, outputs)

        cores.for_each(range(len(shares)), add)
        total: NDArray = sums.sum(0)
        return total

    def run(x: NDArray, w: NDArray) -> NDArray:
        windows = view_of_windows(x, sizes, all_strides, all_dilation).transpose(order)
        w = w.transpose(kernel_order)
        if by_columns:
            products = sum_of_products(windows, w)
        else:
            products = np.empty((rows, outputs), x.dtype)
            matrix = w.reshape(inner, outputs)
            cores.for_each(starts, lambda i: multiply(windows[i : i + step], matrix, products[i * rows // length : (i + step) * rows // length]))
        result: NDArray = products.reshape(result_shape).transpose(back)
        return result

    return run
