"""Gather and scatter with their full dimension numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tfcompat._src.interpreter.table import TABLE, Equation, primitive


def _places(shape: tuple, sizes: tuple, indexed: tuple, own: tuple, of_indices: tuple, free: list, clip: bool) -> Callable:
    """A function of indices to the index arrays of each axis, and whether each window is inside."""
    limits = np.array([shape[d] - sizes[d] for d in indexed], np.int64)
    spans = []
    for axis, size in enumerate(sizes):
        form = [1] * len(free)
        if axis in free:
            form[free.index(axis)] = size
        spans.append(np.arange(size).reshape(form))

    def places(indices: np.ndarray) -> tuple[tuple, np.ndarray]:
        batch = indices.shape[:-1]
        top = np.iinfo(np.int64).max
        wide = np.minimum(indices, top).astype(np.int64) if indices.dtype == np.uint64 else indices.astype(np.int64)
        valid = np.ones(batch, bool) if clip else np.all((wide >= 0) & (wide <= limits), axis=-1)
        wide = np.clip(wide, 0, limits)
        starts = dict(zip(indexed, np.moveaxis(wide, -1, 0), strict=True))
        for axis, position in zip(own, of_indices, strict=True):
            form = [1] * len(batch)
            form[position] = batch[position]
            starts[axis] = np.arange(batch[position]).reshape(form)
        found = []
        for axis, span in enumerate(spans):
            start = np.asarray(starts.get(axis, np.zeros((1,) * len(batch), np.int64)))
            found.append(start.reshape(*start.shape, *(1,) * len(free)) + span)
        return tuple(found), valid

    return places


def _fill(e: Equation) -> np.ndarray:
    value, dtype = e.params.get("fill_value"), e.dtype
    if value is None:
        value = np.iinfo(dtype).min if dtype.kind == "i" else np.iinfo(dtype).max if dtype.kind == "u" else dtype.kind == "b" or np.nan
    return np.asarray(value).astype(dtype)


def _drops(e: Equation) -> bool:
    return e.params["mode"] is not None and e.params["mode"].name == "FILL_OR_DROP"


@primitive("gather")
def gather(e: Equation) -> Callable:
    n, sizes, shape = e.params["dimension_numbers"], e.params["slice_sizes"], e.inputs[0].shape
    free = [d for d in range(len(shape)) if d not in (*n.collapsed_slice_dims, *n.operand_batching_dims)]
    drops, rank = _drops(e), len(e.outputs[0].shape)
    places = _places(shape, sizes, n.start_index_map, n.operand_batching_dims, n.start_indices_batching_dims, free, not drops)
    batch = len(e.inputs[1].shape) - 1
    order = [0] * rank
    rest = iter(range(batch))
    window = iter(range(batch, rank))
    for axis in range(rank):
        order[axis] = next(window) if axis in n.offset_dims else next(rest)
    fill = _fill(e) if drops else None

    def run(x: np.ndarray, indices: np.ndarray) -> np.ndarray:
        if 0 in e.outputs[0].shape:
            return np.empty(e.outputs[0].shape, e.dtype)
        if x.size == 0:
            return np.full(e.outputs[0].shape, fill if drops else 0, e.dtype)
        where, valid = places(indices)
        result = x[where] if where else np.broadcast_to(x, e.outputs[0].shape)
        if drops and not valid.all():
            result = np.where(valid.reshape(*valid.shape, *(1,) * len(free)), result, fill)
        return result.transpose(order)

    return run


def _scatter(update: Callable) -> Callable:
    def prepared(e: Equation) -> Callable:
        n, shape, given = e.params["dimension_numbers"], e.inputs[0].shape, e.inputs[2].shape
        clip = e.params["mode"] is not None and e.params["mode"].name == "CLIP"
        free = [d for d in range(len(shape)) if d not in (*n.inserted_window_dims, *n.operand_batching_dims)]
        sizes = [1] * len(shape)
        for axis, position in zip(free, n.update_window_dims, strict=True):
            sizes[axis] = given[position]
        order = [d for d in range(len(given)) if d not in n.update_window_dims] + list(n.update_window_dims)
        arguments = (n.scatter_dims_to_operand_dims, n.operand_batching_dims, n.scatter_indices_batching_dims, free, clip)
        places = _places(shape, tuple(sizes), *arguments)

        def run(x: np.ndarray, indices: np.ndarray, updates: np.ndarray) -> np.ndarray:
            result = np.array(x)
            updates = np.transpose(updates, order)
            if not updates.size or not result.size:
                return result
            where, valid = places(indices)
            if not valid.all():
                where = tuple(np.broadcast_to(w, updates.shape)[valid] for w in where)
                updates = updates[valid]
            update(result, where, updates)
            return result

        return run

    return prepared


def _put(result: np.ndarray, where: tuple, updates: np.ndarray) -> None:
    result[where] = updates


_UPDATES = {"add": np.add.at, "sub": np.subtract.at, "mul": np.multiply.at, "min": np.minimum.at, "max": np.maximum.at}
TABLE["scatter"] = _scatter(_put)
for kind, put in _UPDATES.items():  # the primitives have been spelled either way
    TABLE[f"scatter-{kind}"] = TABLE[f"scatter_{kind}"] = _scatter(put)
