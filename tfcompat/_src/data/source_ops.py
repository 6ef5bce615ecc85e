"""The op types of datasets without an input dataset: tensors, slices, ranges, random numbers, generators."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.host_context import HostContext
from tfcompat._src.data.functions import HostFunction
from tfcompat._src.data.values import INFINITE, OUTPUTS, UNKNOWN, DatasetValue, Next, Scope, dataset_op, text
from tfcompat._src.ops.queues.resource import invalid

_TENSORS = "Toutput_types: list(type) >= 1, output_shapes: list(shape) >= 1"


def listed(make_element: Any, count: int) -> DatasetValue:
    """Returns the dataset of `make_element(i)` for i from 0 to `count` - 1."""

    def start(scope: Scope) -> Next:
        numbers = iter(range(count))
        return lambda: make_element(next(numbers))

    return DatasetValue(start, count, element=make_element)


@dataset_op("TensorDataset", "components: Toutput_types", _TENSORS)
def _tensor(context: HostContext, components: tuple[Any, ...]) -> DatasetValue:
    element = tuple(np.asarray(c) if not isinstance(c, bytes) else text(c) for c in components)
    return listed(lambda i: element, 1)


@dataset_op("TensorSliceDataset", "components: Toutput_types", _TENSORS)
def _tensor_slices(context: HostContext, components: tuple[Any, ...]) -> DatasetValue:
    for position, component in enumerate(components):
        if not component.ndim:
            raise invalid("All components must be at least 1-dimensional")
        if len(component) != len(components[0]):
            raise invalid(
                f"All components must have the same size in the 0th dimension: component 0 has {len(components[0])}, "
                f"component {position} has {len(component)}"
            )
    if len(components) == 1:
        only = components[0]
        return listed(lambda i: (only[i, ...],), len(only))
    return listed(lambda i: tuple([c[i, ...] for c in components]), len(components[0]))


@dataset_op("SparseTensorSliceDataset", "indices: int64, values: Tvalues, dense_shape: int64", "Tvalues: type")
def _sparse_slices(context: HostContext, indices: NDArray, values: NDArray, dense_shape: NDArray) -> DatasetValue:
    """Slices a SparseTensor along its first dimension; its indices must be ordered by that, so that a row is a range of entries."""
    rows = indices[:, 0] if indices.size else np.zeros(0, np.int64)
    if np.any(np.diff(rows) < 0):
        raise errors.UnimplementedError(None, None, "The SparseTensor must be ordered in the batch dimension; handling arbitrarily ordered input is not currently supported.")
    # Row i has the entries bounds[i] to bounds[i + 1].
    bounds = np.searchsorted(rows, np.arange(int(dense_shape[0]) + 1))

    def element(i: int) -> tuple[Any, ...]:
        part = slice(bounds[i], bounds[i + 1])
        return indices[part, 1:], values[part], dense_shape[1:]

    return listed(element, int(dense_shape[0]))


@dataset_op("RangeDataset", "start: int64, stop: int64, step: int64")
def _range(context: HostContext, start: NDArray, stop: NDArray, step: NDArray) -> DatasetValue:
    if not int(step):
        raise invalid("step must be a non-zero integer.")
    numbers = range(int(start), int(stop), int(step))
    kind = context.op.attrs["output_types"][0].as_numpy_dtype
    return listed(lambda i: (np.array(numbers[i], kind),), len(numbers))


def _random(context: HostContext, seed: NDArray, seed2: NDArray) -> DatasetValue:
    def start(scope: Scope) -> Next:
        numbers = scope.numbers(int(seed), int(seed2))
        return lambda: (np.array(next(numbers), np.int64),)

    return DatasetValue(start, INFINITE)


for _name in ("RandomDataset", "ExperimentalRandomDataset"):
    dataset_op(_name, "seed: int64, seed2: int64")(_random)


@dataset_op(
    "GeneratorDataset",
    "init_func_other_args: Tinit_func_args, next_func_other_args: Tnext_func_args, finalize_func_other_args: Tfinalize_func_args",
    "init_func: func, next_func: func, finalize_func: func, Tinit_func_args: list(type) >= 0, Tnext_func_args: list(type) >= 0, "
    f"Tfinalize_func_args: list(type) >= 0, {OUTPUTS}",
)
def _generator(context: HostContext, init_args: tuple[Any, ...], next_args: tuple[Any, ...], finalize_args: tuple[Any, ...]) -> DatasetValue:
    """Calls `init_func` once per iteration, `next_func` until it raises OutOfRangeError, and then `finalize_func`."""
    first = HostFunction(context, "init_func", init_args, 0)
    following = HostFunction(context, "next_func", next_args, len(init_args))
    last = HostFunction(context, "finalize_func", finalize_args, len(init_args) + len(next_args))

    def start(scope: Scope) -> Next:
        call, finalize = following.bound(scope), last.bound(scope)
        state: Any = None
        is_over = False

        # Runs once, at the end of the elements or of the iteration, whichever comes first.
        def finish() -> None:
            nonlocal is_over
            if state is not None and not is_over:
                is_over = True
                finalize(*state)

        def following_element() -> tuple[Any, ...]:
            nonlocal state
            if is_over:
                raise StopIteration
            # The generator starts with the first element, not with the iteration: an iterator that is never read does not call it.
            if state is None:
                state = first.bound(scope)()
                scope.on_end(finish)
            try:
                return call(*state)
            except errors.OutOfRangeError:
                finish()
                raise StopIteration from None

        return following_element

    return DatasetValue(start, UNKNOWN)


