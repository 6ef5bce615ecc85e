"""tf.map_fn, foldl, foldr and scan: loops over the rows of tensors. Variables made in the function are cached outside the loop."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from tfcompat._src.base import nest
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import Dimension, TensorShape
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.control.while_loop import while_loop
from tfcompat._src.ops.flow.tensor_array import TensorArray
from tfcompat._src.variables.scope import get_variable_scope


class Structure:
    """Takes a nested structure apart and puts it together; a single value counts as a structure of its own."""

    def __init__(self, like: object) -> None:
        self._like, self._is_nested = like, nest.is_nested(like)

    def flatten(self, value: object) -> list[Any]:
        return nest.flatten(value) if self._is_nested else [value]

    def pack(self, values: list[Any]) -> Any:
        return nest.pack_sequence_as(self._like, values) if self._is_nested else values[0]


@contextlib.contextmanager
def cached_variables() -> Iterator[None]:
    """Lets variables made inside be read once, outside of the loop."""
    scope = get_variable_scope()
    changed = scope.caching_device is None
    if changed:
        scope.set_caching_device(lambda op: op.device)
    yield
    if changed:
        scope.set_caching_device(None)


def _require_callable(fn: object) -> None:
    if not callable(fn):
        raise TypeError("fn must be callable.")


def _set_length(results: list[Any], elems: list[Any]) -> None:
    length = Dimension(elems[0].shape.with_rank_at_least(1)[0].value)
    for elem in elems[1:]:
        length.merge_with(Dimension(elem.shape.with_rank_at_least(1)[0].value))
    for result in results:
        result.set_shape(TensorShape([length]).concatenate(result.shape[1:]))


def require_mappable(fn: object, elems: object) -> None:
    """TypeError where `fn` is not callable or `elems` is sparse."""
    _require_callable(fn)
    if isinstance(elems, SparseTensor):
        raise TypeError(
            "To perform a map on the values of a sparse tensor use either  SparseTensor(input.indices, fn(input.values), "
            "input.dense_shape) or  SparseTensor(input.indices, map_fn(fn, input.values), input.dense_shape)"
        )


@export("map_fn")
def map_fn(
    fn: Callable, elems: object, dtype: object = None, parallel_iterations: int | None = None, back_prop: bool = True,
    swap_memory: bool = False, infer_shape: bool = True, name: str | None = None,
) -> Any:  # fmt: skip
    """The stacked results of `fn` on each row of `elems`.

    Args:
      fn: function of one row, in the structure of `elems`.
      elems: tensor or nested structure of tensors of the same length.
      dtype: DType or structure of them of the results, where it is not that of `elems`.
      parallel_iterations, back_prop, swap_memory: see `while_loop`.
      infer_shape: whether all results have one shape.
      name: name scope, "map" by default.

    Raises:
      TypeError: `fn` is not callable, or its results have another structure. ValueError: `elems` is a scalar.
    """
    require_mappable(fn, elems)
    inputs = Structure(elems)
    outputs = inputs if dtype is None else Structure(dtype)
    flat = inputs.flatten(elems)
    with name_scope(name, "map", flat), cached_variables():
        flat = [convert_to_tensor(e, name="elem") for e in flat]
        dtype = dtype or inputs.pack([e.dtype for e in flat])
        if flat[0].shape.ndims == 0:
            one = len(flat) == 1
            raise ValueError(f"{'elems must be a 1+ dimensional Tensor' if one else 'elements in elems must be 1+ dimensional Tensors'}, "
                             f"not {'a scalar' if one else 'scalars'}")  # fmt: skip
        n = flat[0].shape.with_rank_at_least(1)[0].value or shape_of(flat[0])[0]
        rows = [TensorArray(e.dtype, n, dynamic_size=False, infer_shape=True) for e in flat]
        rows = [array.unstack(e) for array, e in zip(rows, flat)]
        i = constant(0)
        results = [TensorArray(d, n, dynamic_size=False, infer_shape=infer_shape) for d in outputs.flatten(dtype)]

        def compute(i: Any, arrays: list[TensorArray]) -> tuple:
            values = fn(inputs.pack([array.read(i) for array in rows]))
            nest.assert_same_structure(dtype or elems, values)
            arrays = [array.write(i, value) for array, value in zip(arrays, outputs.flatten(values))]
            return i + 1, arrays

        _, results = while_loop(
            lambda i, _: i < n, compute, (i, results), parallel_iterations=parallel_iterations or 10, back_prop=back_prop,
            swap_memory=swap_memory, maximum_iterations=n,
        )  # fmt: skip
        stacked = [array.stack() for array in results]
        _set_length(stacked, flat)
        return outputs.pack(stacked)


def _fold_rows(elems: object) -> tuple[Any, Any]:
    """The length of `elems`, and their rows as arrays."""
    flat = [convert_to_tensor(e, name="elem") for e in nest.flatten(elems)]
    n = flat[0].shape.with_rank_at_least(1)[0].value or shape_of(flat[0])[0]
    packed = nest.pack_sequence_as(elems, flat)
    return n, nest.map_structure(lambda e: TensorArray(e.dtype, n, dynamic_size=False, infer_shape=True).unstack(e), packed)


@export("foldl")
def foldl(
    fn: Callable, elems: object, initializer: Any = None, parallel_iterations: int = 10, back_prop: bool = True,
    swap_memory: bool = False, name: str | None = None,
) -> Any:  # fmt: skip
    """What `fn(accumulated, row)` gives when applied to the rows of `elems` from first to last.

    Args:
      fn: function of the accumulated value and a row.
      elems: tensor or nested structure of tensors of the same length.
      initializer: the first accumulated value; by default the first row.
      parallel_iterations, back_prop, swap_memory: see `while_loop`.
      name: name scope, "foldl" by default.

    Raises:
      TypeError: `fn` is not callable.
    """
    _require_callable(fn)
    with name_scope(name, "foldl", [elems]), cached_variables():
        n, rows = _fold_rows(elems)
        if initializer is None:
            accumulated = nest.map_structure(lambda array: array.read(0), rows)
            i = constant(1)
        else:
            accumulated, i = initializer, constant(0)

        def compute(i: Any, a: Any) -> list:
            row = nest.map_structure(lambda array: array.read(i), rows)
            a = fn(a, row)
            return [i + 1, a]

        return while_loop(
            lambda i, a: i < n, compute, [i, accumulated], parallel_iterations=parallel_iterations, back_prop=back_prop,
            swap_memory=swap_memory, maximum_iterations=n,
        )[1]  # fmt: skip


@export("foldr")
def foldr(
    fn: Callable, elems: object, initializer: Any = None, parallel_iterations: int = 10, back_prop: bool = True,
    swap_memory: bool = False, name: str | None = None,
) -> Any:  # fmt: skip
    """What `fn(accumulated, row)` gives when applied to the rows of `elems` from last to first; see `foldl`."""
    _require_callable(fn)
    with name_scope(name, "foldr", [elems]), cached_variables():
        n, rows = _fold_rows(elems)
        if initializer is None:
            i = n - 1
            accumulated = nest.map_structure(lambda array: array.read(i), rows)
        else:
            accumulated, i = initializer, n

        def compute(i: Any, a: object) -> list:
            i = i - 1
            row = nest.map_structure(lambda array: array.read(i), rows)
            return [i, fn(a, row)]

        return while_loop(
            lambda i, a: i > 0, compute, [i, accumulated], parallel_iterations=parallel_iterations, back_prop=back_prop,
            swap_memory=swap_memory, maximum_iterations=n,
        )[1]  # fmt: skip


@export("scan")
def scan(
    fn: Callable, elems: object, initializer: object = None, parallel_iterations: int = 10, back_prop: bool = True,
    swap_memory: bool = False, infer_shape: bool = True, reverse: bool = False, name: str | None = None,
) -> Any:  # fmt: skip
    """All accumulated values of `fn(accumulated, row)` over the rows of `elems`, stacked.

    Args:
      fn: function of the accumulated value and a row.
      elems: tensor or nested structure of tensors of the same length.
      initializer: the first accumulated value; by default the first row, which is then also the first result.
      parallel_iterations, back_prop, swap_memory: see `while_loop`.
      infer_shape: whether all results have one shape.
      reverse: goes from the last row to the first.
      name: name scope, "scan" by default.

    Raises:
      TypeError: `fn` is not callable, or its result has another structure than the initializer.
    """
    _require_callable(fn)
    inputs = Structure(elems)
    outputs = inputs if initializer is None else Structure(initializer)
    flat = inputs.flatten(elems)
    with name_scope(name, "scan", flat), cached_variables():
        flat = [convert_to_tensor(e, name="elem") for e in flat]
        n = flat[0].shape.with_rank_at_least(1)[0].value
        if n is None:
            n = shape_of(flat[0])[0]
        rows = [TensorArray(e.dtype, n, dynamic_size=False, element_shape=e.shape[1:], infer_shape=True) for e in flat]
        rows = [array.unstack(e) for array, e in zip(rows, flat)]
        if initializer is None:
            start = [array.read(n - 1 if reverse else 0) for array in rows]
            i = 1
        else:
            start = [convert_to_tensor(value) for value in outputs.flatten(initializer)]
            i = 0
        results = [
            TensorArray(a.dtype, n, element_shape=a.shape if infer_shape else None, dynamic_size=False, infer_shape=infer_shape)
            for a in start
        ]
        if initializer is None:
            results = [array.write(n - 1 if reverse else 0, a) for array, a in zip(results, start)]

        def compute(i: Any, a_flat: list[Any], arrays: list[TensorArray]) -> tuple:
            row = inputs.pack([array.read(i) for array in rows])
            a = fn(outputs.pack(a_flat), row)
            nest.assert_same_structure(elems if initializer is None else initializer, a)
            a_flat = outputs.flatten(a)
            arrays = [array.write(i, value) for array, value in zip(arrays, a_flat)]
            return i - 1 if reverse else i + 1, a_flat, arrays

        first, condition = (n - 1 - i, lambda i, _1, _2: i >= 0) if reverse else (i, lambda i, _1, _2: i < n)
        _, _, results = while_loop(
            condition, compute, (first, start, results), parallel_iterations=parallel_iterations, back_prop=back_prop,
            swap_memory=swap_memory, maximum_iterations=n,
        )  # fmt: skip
        stacked = [array.stack() for array in results]
        _set_length(stacked, flat)
        return outputs.pack(stacked)
