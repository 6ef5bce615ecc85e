"""The op types that run a whole pipeline in one step (reduce, single element, TFRecord writing), and those that group, skip or delay elements."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.host_context import HostContext
from tfcompat._src.data.functions import HostFunction
from tfcompat._src.data.iterator_resources import component_shapes
from tfcompat._src.data.serialized import graph_of
from tfcompat._src.data.source_ops import listed
from tfcompat._src.data.values import (
    NO_GRADIENT,
    OUTPUTS,
    UNKNOWN,
    DatasetValue,
    Element,
    Next,
    Scope,
    begun,
    dataset_of,
    dataset_op,
    text,
)
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import EXTERNAL, HOST, NotDifferentiable, op
from tfcompat._src.io.tfrecord import TFRecordWriter
from tfcompat._src.ops.flow.list_value import variant
from tfcompat._src.ops.queues.resource import cancelled, invalid
from tfcompat._src.runtime.state.run_context import context_of

# ---- pipelines that run in one step ----


@op(
    "ReduceDataset", "(input_dataset: variant, initial_state: Tstate, other_arguments: Targuments, *, f: func, Tstate: list(type) >= 1, "
    f"Targuments: list(type) >= 0, {OUTPUTS}, use_inter_op_parallelism: bool = True) -> (components: output_types)",
    shape=component_shapes, gradient=NotDifferentiable("a dataset has no derivative"), side=HOST, effects=EXTERNAL, context=True,
)  # fmt: skip
def _reduce(context: HostContext, input_dataset: NDArray, initial_state: Element, other_arguments: Element) -> Element:
    function = HostFunction(context, "f", other_arguments, 1 + len(initial_state))
    # Closing the session ends the scope, so that a pipeline without end does not keep the run alive.
    scope = Scope(context_of(context))
    context.run.life.on_close(scope.end)
    call, state = function.bound(scope), tuple(map(np.asarray, initial_state))
    following = begun(dataset_of(input_dataset), scope)
    try:
        while True:
            try:
                element = following()
            except StopIteration:
                return state
            if scope.closed:
                raise cancelled("ReduceDataset was cancelled because its session was closed.")
            state = call(*state, *element)
            if len(state) != len(initial_state):
                raise invalid(
                    "The number of components of the initial state and the reduce function output does not match. "
                    f"(initial_state={len(initial_state)}, output={len(state)})."
                )
    finally:
        scope.end()


@op("DatasetToSingleElement", f"(dataset: variant, *, {OUTPUTS}) -> (components: output_types)", shape=component_shapes, gradient=NO_GRADIENT,
    side=HOST, effects=EXTERNAL, context=True)  # fmt: skip
def _single_element(context: HostContext, dataset: NDArray) -> Element:
    scope = Scope(context_of(context))
    following = begun(dataset_of(dataset), scope)
    try:
        try:
            element = following()
        except StopIteration:
            raise invalid("Dataset was empty.") from None
        # A second element is computed to check that there is none.
        try:
            following()
        except StopIteration:
            return element
        raise invalid("Dataset had more than one element.")
    finally:
        scope.end()


def _to_tf_record(context: HostContext, input_dataset: NDArray, filename: NDArray, compression_type: NDArray) -> tuple[()]:
    scope = Scope(context_of(context))
    following = begun(dataset_of(input_dataset), scope)
    try:
        with TFRecordWriter(filename.item(), compression_type.item().decode()) as writer:
            while True:
                try:
                    element = following()
                except StopIteration:
                    return ()
                writer.write(element[0].item())
    finally:
        scope.end()


for _prefix in ("", "Experimental"):
    op(_prefix + "DatasetToTFRecord", "(input_dataset: variant, filename: string, compression_type: string) -> ()", shape=si.no_outputs,
       gradient=NO_GRADIENT, kernel=_to_tf_record, side=HOST, effects=EXTERNAL, context=True)  # fmt: skip
    op(_prefix + "DatasetCardinality", "(input_dataset: variant) -> (cardinality: int64)", shape=si.scalar, gradient=NO_GRADIENT, side=HOST,
       kernel=lambda input_dataset: np.int64(dataset_of(input_dataset).size))  # fmt: skip


def _to_graph(input_dataset: NDArray, *, stateful_whitelist: list[bytes]) -> NDArray:
    return text(graph_of(dataset_of(input_dataset), stateful_whitelist).SerializeToString())


op("DatasetToGraph", "(input_dataset: variant, *, stateful_whitelist: list(string) >= 0 = []) -> (graph: string)", shape=si.scalar,
   gradient=NO_GRADIENT, kernel=_to_graph, side=HOST)  # fmt: skip


# ---- elements ----


def _ignore_errors(context: HostContext, input_dataset: NDArray) -> DatasetValue:
    """Skips elements that raise an error, except CancelledError: it would be raised without end."""
    source = dataset_of(input_dataset)

    def start(scope: Scope) -> Next:
        following = source.start(scope)

        def sound() -> Element:
            while True:
                try:
                    return following()
                except errors.OpError as e:
                    if isinstance(e, errors.CancelledError):
                        raise

        return sound

    return DatasetValue(start, UNKNOWN)


def _unique(context: HostContext, input_dataset: NDArray) -> DatasetValue:
    source = dataset_of(input_dataset)

    def start(scope: Scope) -> Next:
        following, seen = source.start(scope), set()

        def new() -> Element:
            while True:
                element = following()
                # Arrays are not hashable: the key is the shape and the elements.
                key = element[0].shape, element[0].item() if not element[0].ndim else tuple(element[0].reshape(-1).tolist())
                if key not in seen:
                    seen.add(key)
                    return element

        return new

    return DatasetValue(start, UNKNOWN)


def _sleep(context: HostContext, input_dataset: NDArray, sleep_microseconds: NDArray) -> DatasetValue:
    source, seconds = dataset_of(input_dataset), int(sleep_microseconds) / 1e6

    def start(scope: Scope) -> Next:
        following = source.start(scope)

        def late() -> Element:
            time.sleep(seconds)
            return following()

        return late

    return DatasetValue(start, source.size)


for _prefix in ("", "Experimental"):
    dataset_op(_prefix + "IgnoreErrorsDataset", "input_dataset: variant")(_ignore_errors)
    dataset_op(_prefix + "UniqueDataset", "input_dataset: variant")(_unique)
    dataset_op(_prefix + "SleepDataset", "input_dataset: variant, sleep_microseconds: int64")(_sleep)


# ---- groups ----


def _group_by_window(context: HostContext, input_dataset: NDArray, key_args: tuple[Any, ...], reduce_args: tuple[Any, ...], size_args: tuple[Any, ...]) -> DatasetValue:
    """Collects elements by key; a group that reaches its window size becomes a dataset, which `reduce_func` transforms."""
    source = dataset_of(input_dataset)
    key_function = HostFunction(context, "key_func", key_args, 1)
    reduce_function = HostFunction(context, "reduce_func", reduce_args, 1 + len(key_args))
    size_function = HostFunction(context, "window_size_func", size_args, 1 + len(key_args) + len(reduce_args))

    def start(scope: Scope) -> Next:
        outer, key_of = source.start(scope), key_function.bound(scope)
        reduce, size_of = reduce_function.bound(scope), size_function.bound(scope)
        groups: dict[int, list[Element]] = {}
        sizes: dict[int, int] = {}
        following: Next | None = None

        # Ends a group: its elements become a dataset, and the key starts again with an empty group.
        def window(key: int) -> Next:
            elements = groups.pop(key)
            sizes.pop(key)
            group = variant(listed(elements.__getitem__, len(elements)))
            return dataset_of(reduce(np.array(key, np.int64), group)[0]).start(scope)

        # At the end of the input, the incomplete groups follow in the order of their keys.
        def full_group() -> Next:
            while True:
                try:
                    element = outer()
                except StopIteration:
                    if not groups:
                        raise
                    return window(min(groups))
                # The window size is computed at the start of each group, so it may differ between the groups of a key.
                key = int(key_of(*element)[0])
                if key not in groups:
                    size = int(size_of(np.array(key, np.int64))[0])
                    if size <= 0:
                        raise invalid(f"Window size must be greater than zero, but got {size}.")
                    groups[key], sizes[key] = [], size
                groups[key].append(element)
                if len(groups[key]) == sizes[key]:
                    return window(key)

        def reduced() -> Element:
            nonlocal following
            while True:
                if following is None:
                    following = full_group()
                try:
                    return following()
                except StopIteration:
                    following = None

        return reduced

    return DatasetValue(start)


def _group_by_reducer(
    context: HostContext, input_dataset: NDArray, key_args: Element, init_args: Element, reduce_args: Element, finalize_args: Element
) -> DatasetValue:
    """Folds the elements of each key by init, reduce and finalize functions; the results come in the order of their keys."""
    # The captured values of the four functions are consecutive inputs of the node, after the dataset.
    source, first = dataset_of(input_dataset), 1
    functions = []
    for name, captured in (("key_func", key_args), ("init_func", init_args), ("reduce_func", reduce_args), ("finalize_func", finalize_args)):
        functions.append(HostFunction(context, name, captured, first))
        first += len(captured)

    def start(scope: Scope) -> Next:
        following = source.start(scope)
        key_of, initial, reduce, finalize = (function.bound(scope) for function in functions)
        results: Any = None

        # The first result needs the whole input.
        def gather() -> Any:
            states: dict[int, tuple[Any, ...]] = {}
            while True:
                try:
                    element = following()
                except StopIteration:
                    return (finalize(*states[key]) for key in sorted(states))
                key = int(key_of(*element)[0])
                if key not in states:
                    states[key] = initial(np.array(key, np.int64))
                states[key] = reduce(*states[key], *element)

        def result() -> Element:
            nonlocal results
            if results is None:
                results = gather()
            return next(results)

        return result

    return DatasetValue(start)


def _captured(*names: str) -> tuple[str, str]:
    """Returns the input and attribute signatures of an op type that calls functions with these names."""
    inputs = ", ".join(f"{n}_other_arguments: T{n}_other_arguments" for n in names)
    functions = ", ".join(f"{n}: func" for n in names)
    return inputs, functions + "".join(f", T{n}_other_arguments: list(type) >= 0" for n in names) + f", {OUTPUTS}"


def _grouping(name: str, kernel: Callable[..., Any], *functions: str) -> None:
    """Registers the op type `name` and its older name with the prefix Experimental."""
    inputs, attrs = _captured(*functions)
    for prefix in ("", "Experimental"):
        dataset_op(prefix + name, f"input_dataset: variant, {inputs}", attrs)(kernel)


_grouping("GroupByWindowDataset", _group_by_window, "key_func", "reduce_func", "window_size_func")
_grouping("GroupByReducerDataset", _group_by_reducer, "key_func", "init_func", "reduce_func", "finalize_func")
