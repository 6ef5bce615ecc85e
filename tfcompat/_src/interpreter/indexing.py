"""Gather and scatter with XLA's full dimension numbers, as NumPy's indexing by integer arrays."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.row_sums import add_rows
from tfcompat._src.interpreter.memory import writable
from tfcompat._src.interpreter.table import TABLE, Equation, Prepare, Shape, ToArray, primitive

Indices: TypeAlias = tuple[NDArray, ...]


class _Windows(NamedTuple):
    """Windows of one array at positions that indices give.

    `shape` is the array's, `sizes` the windows' extent along each axis. `columns` are the axes whose start a column of the indices gives, in the
    order of the columns; `paired` maps each batching axis of the array to the axis of the indices that it goes along with; `kept` are the axes
    that remain in a window, all others are collapsed.
    """

    shape: Shape
    sizes: Shape
    columns: Shape
    paired: dict[int, int]
    kept: Shape

    @property
    def front(self) -> Shape:
        """The axes indexed by arrays of integers, in the order of these arrays."""
        return (*self.columns, *self.paired)

    @property
    def moving(self) -> Shape:
        """The kept axes of `front`. Windows start at different positions along them, and index arrays have an axis for each."""
        return tuple(a for a in self.kept if a in self.columns)

    @property
    def rest(self) -> Shape:
        """The axes along which every window has the same part, starting at 0."""
        return tuple(a for a in range(len(self.shape)) if a not in self.front)

    @property
    def order(self) -> list[int]:
        """The kept axes in the order that indexing leaves them in: moving ones, then the others."""
        return [*self.moving, *(a for a in self.rest if a in self.kept)]

    def placed(self) -> Callable[[NDArray], NDArray]:
        """Returns a function of an array to a view of it whose first axes are `front`, cut to the windows' part of the other axes."""
        parts = tuple(slice(0, self.sizes[a]) if a in self.kept else 0 for a in self.rest)
        axes, index = (*self.front, *self.rest), (*(slice(None),) * len(self.front), *parts)
        # Whole rows, as embeddings have them, need no view.
        if axes == tuple(range(len(axes))) and all(a in self.kept and self.sizes[a] == self.shape[a] for a in self.rest):
            return lambda x: x
        return lambda x: x.transpose(axes)[index]

    def places(self, drops: bool) -> Callable[[NDArray], tuple[Indices, NDArray | None]]:
        """Returns a function of indices to one integer array for each axis of `front`, and a mask of windows that lie inside.

        The mask is None if all do, or if windows outside are moved inside (not `drops`).
        """
        limits = [self.shape[a] - self.sizes[a] for a in self.columns]
        moving = self.moving
        # Offsets within a window along each moving axis, shaped to broadcast against the starts.
        spans = {}
        for position, a in enumerate(moving):
            spans[a] = np.arange(self.sizes[a]).reshape([-1 if i == position else 1 for i in range(len(moving))])
        added = (1,) * len(moving)

        def places(indices: NDArray) -> tuple[Indices, NDArray | None]:
            batch, valid, arrays = indices.shape[:-1], None, []
            for k, (a, limit) in enumerate(zip(self.columns, limits)):
                # Clamped starts are safe to index with; with `drops` the mask says which of them were changed.
                start = _signed(indices[..., k])
                inside = np.minimum(np.maximum(start, 0), limit)
                if drops:
                    valid = (inside == start) if valid is None else valid & (inside == start)
                inside = inside.reshape(batch + added)
                arrays.append(inside + spans[a] if a in spans else inside)
            for position in self.paired.values():
                # A batching axis pairs each batch with its own part of the array.
                form = [n if i == position else 1 for i, n in enumerate(batch)]
                arrays.append(np.arange(batch[position]).reshape((*form, *added)))
            return tuple(arrays), None if valid is None or valid.all() else valid

        return places


def _signed(indices: NDArray) -> NDArray:
    """Returns indices as int64; uint64 ones beyond its range become its maximum, which is out of bounds in any array."""
    if indices.dtype == np.uint64:
        indices = np.minimum(indices, np.uint64(np.iinfo(np.int64).max))
    return indices.astype(np.int64)


def _fill(e: Equation) -> NDArray:
    """Returns the value of elements gathered from out of bounds; by default JAX's: NaN, the lowest signed or the highest unsigned integer, True."""
    value, dtype = e.params.get("fill_value"), e.dtype
    if value is None:
        value = np.iinfo(dtype).min if dtype.kind == "i" else np.iinfo(dtype).max if dtype.kind == "u" else dtype.kind == "b" or np.nan
    return np.asarray(value).astype(dtype)


def _mode(e: Equation) -> str:
    return e.params["mode"].name if e.params["mode"] is not None else "FILL_OR_DROP"


@primitive("gather")
def gather(e: Equation) -> ToArray:
    """Prepares a gather: one indexing by integer arrays, then a transposition to XLA's order of axes."""
    n, shape, result_shape, dtype = e.params["dimension_numbers"], e.inputs[0].shape, e.shape, e.dtype
    drops = _mode(e) == "FILL_OR_DROP"
    # Modes CLIP and PROMISE_IN_BOUNDS both clamp, as XLA's gather does.
    fill = _fill(e) if drops else np.zeros((), dtype)
    if 0 in result_shape or 0 in shape:
        return lambda x, indices: np.full(result_shape, fill, dtype)
    paired = dict(zip(n.operand_batching_dims, n.start_indices_batching_dims, strict=True))
    kept = tuple(a for a in range(len(shape)) if a not in n.collapsed_slice_dims and a not in paired)
    # An axis with size 1 that stays in the window is kept, one that is collapsed is indexed or taken at 0.
    w = _Windows(shape, e.params["slice_sizes"], tuple(n.start_index_map), paired, kept)
    places, placed, batch = w.places(drops), w.placed(), len(e.inputs[1].shape) - 1
    rank, order = len(result_shape), w.order
    # Indexing returns axes of the indices' batch, then those of windows; `moved` says where each axis of the result comes from.
    of_batch, of_window = iter(range(batch)), iter(kept)
    moved = [batch + order.index(next(of_window)) if i in n.offset_dims else next(of_batch) for i in range(rank)]
    axes = None if moved == list(range(rank)) else moved
    is_one, added = len(w.front) == 1, (1,) * len(kept)

    def run(x: NDArray, indices: NDArray) -> NDArray:
        where, valid = places(indices)
        x = placed(x)
        gathered = x.take(where[0], 0) if is_one else x[where] if where else np.broadcast_to(x, result_shape)
        if valid is not None:
            gathered = np.where(valid.reshape(valid.shape + added), gathered, fill)
        return gathered if axes is None else gathered.transpose(axes)

    return run


def _scatter(ufunc: np.ufunc | None) -> Prepare:
    """Returns the preparation of a scatter: writes updates at positions, or combines them with present values by `ufunc`, in order."""

    def prepared(e: Equation) -> ToArray:
        n, shape, given = e.params["dimension_numbers"], e.inputs[0].shape, e.inputs[2].shape
        if 0 in shape or 0 in given:
            return lambda x, indices, updates: x
        paired = dict(zip(n.operand_batching_dims, n.scatter_indices_batching_dims, strict=True))
        kept = tuple(a for a in range(len(shape)) if a not in n.inserted_window_dims and a not in paired)
        sizes = [1] * len(shape)
        for axis, position in zip(kept, n.update_window_dims, strict=True):
            sizes[axis] = given[position]
        # Windows have the extent of the updates along kept axes, and one element along all others.
        w = _Windows(shape, tuple(sizes), tuple(n.scatter_dims_to_operand_dims), paired, kept)
        places = w.places(_mode(e) != "CLIP")
        of_batch = [d for d in range(len(given)) if d not in n.update_window_dims]
        # Updates are brought to the order that indexing the array gives: batch of the indices, moving axes, other kept axes.
        axes = (*of_batch, *(n.update_window_dims[kept.index(a)] for a in w.order))
        grid = tuple(given[d] for d in axes)
        entries = len(of_batch) + len(w.moving)
        put = _putting(ufunc, w, grid[:entries], e.params["unique_indices"])

        def run(x: NDArray, indices: NDArray, updates: NDArray) -> NDArray:
            result = writable(x)
            updates = updates.transpose(axes) if axes else updates
            where, valid = places(indices)
            if valid is not None:
                # A window that reaches out of bounds is dropped as a whole.
                where = tuple(np.broadcast_to(i, grid[:entries])[valid] for i in where)
                updates = updates[valid]
            put(result, where, updates)
            return result

        return run

    return prepared


def _putting(ufunc: np.ufunc | None, w: _Windows, grid: Shape, unique: bool) -> Callable[[NDArray, Indices, NDArray], None]:
    """Returns a function that writes updates into an array at indices, combined with its values by `ufunc` (None: in their place)."""
    placed = w.placed()

    def put(result: NDArray, where: Indices, updates: NDArray) -> None:
        placed(result)[where] = updates

    if ufunc is None:
        return put

    def combine(result: NDArray, where: Indices, updates: NDArray) -> None:
        view = placed(result)
        # Indexed assignment would keep only the last of several updates of one element; `ufunc.at` applies all.
        if unique or not where:
            view[where] = ufunc(view[where], updates)
        else:
            ufunc.at(view, where, updates)

    rows, width = (math.prod(w.shape[a] for a in axes) for axes in (w.front, w.rest))
    # Whole rows: the indexed axes come first, and windows span all others.
    is_rows = (*w.front, *w.rest) == tuple(range(len(w.shape))) and all(w.sizes[a] == w.shape[a] for a in w.rest)
    sizes = [w.shape[a] for a in w.front]

    def combine_rows(result: NDArray, where: Indices, updates: NDArray) -> None:
        table = result.reshape(rows, width)
        row = where[0]
        for size, index in zip(sizes[1:], where[1:]):
            row = row * size + index
        row = (row if row.ndim == updates.ndim - len(w.rest) and row.size * width == updates.size else np.broadcast_to(row, grid)).reshape(-1)
        if row.size:
            _combine_rows(ufunc, table, row, updates.reshape(-1, width))

    return combine_rows if is_rows and not unique and w.front else combine


_ROUNDS = 16
"""Largest number of updates of one row for which updates are applied in rounds, each row once per round."""


def _combine_rows(ufunc: np.ufunc, table: NDArray, place: NDArray, updates: NDArray) -> None:
    """Combines rows of a table with updates; several updates of one row are applied in their order."""
    if updates.shape[1] == 1:
        ufunc.at(table[:, 0], place, updates[:, 0])
        return
    if ufunc is np.add and table.dtype in (np.float32, np.float64):
        add_rows(table, place, updates)
        return
    # Groups updates by row with a stable sort; round k applies the k-th update of every row that has one.
    order = np.argsort(place, kind="stable")
    ordered = place[order]
    first = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    counts = np.diff(first, append=len(place))
    if counts.max() <= _ROUNDS:
        for turn in range(counts.max()):
            rows = order[first[counts > turn] + turn]
            table[place[rows]] = ufunc(table[place[rows]], updates[rows])
    else:
        width = table.shape[1]
        ufunc.at(table.reshape(-1), (place[:, None] * width + np.arange(width)).reshape(-1), updates.reshape(-1))


_UPDATES = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "min": np.minimum, "max": np.maximum}
primitive("scatter", refused=lambda params: bool(params["update_jaxpr"] is not None and params["update_jaxpr"].eqns))(_scatter(None))
for kind, function in _UPDATES.items():  # the primitives have been spelled either way
    TABLE[f"scatter-{kind}"] = TABLE[f"scatter_{kind}"] = _scatter(function)
