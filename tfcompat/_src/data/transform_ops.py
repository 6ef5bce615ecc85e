"""The op types of datasets that transform another dataset element by element: functions, counts, order, and datasets of datasets.

Each kernel returns a DatasetValue whose `start(scope)` returns a closure over the state of one iteration. A kernel also computes the
number of elements where its inputs determine it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from tfcompat._src.base import errors
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.host_context import HostContext
from tfcompat._src.data.functions import HostFunction
from tfcompat._src.data.values import (
    INFINITE,
    OUTPUTS,
    UNKNOWN,
    DatasetValue,
    Element,
    Next,
    Scope,
    dataset_of,
    dataset_op,
    nothing,
)
from tfcompat._src.ops.queues.resource import invalid

T = TypeVar("T")
FUNCTION = f"f: func, Targuments: list(type) >= 0, {OUTPUTS}"
_PREDICATE = f"predicate: func, Targuments: list(type) >= 0, {OUTPUTS}"
CALLED = "input_dataset: variant, other_arguments: Targuments"


# ---- functions of elements ----


def ends_sequence(call: Callable[..., Any], context: HostContext) -> Callable[..., Any]:
    """Wraps a function of elements: OutOfRangeError ends the sequence, or is InvalidArgumentError if preserve_cardinality is set."""
    keeps_size = context.op.attrs.get("preserve_cardinality", False)

    def run(*components: object) -> Element:
        try:
            result: Element = call(*components)
            return result
        except errors.OutOfRangeError as e:
            if keeps_size:
                raise invalid(f"Function invocation produced OutOfRangeError: {e.message}") from None
            raise StopIteration from None

    return run


def mapped(context: HostContext, source: DatasetValue, function: HostFunction) -> DatasetValue:
    """Returns the dataset of `function` applied to each element of `source`."""

    def start(scope: Scope) -> Next:
        following, call = source.start(scope), ends_sequence(function.bound(scope), context)
        return lambda: call(*following())

    return DatasetValue(start, source.size)


def _map(context: HostContext, input_dataset: NDArray, other_arguments: Element) -> DatasetValue:
    return mapped(context, dataset_of(input_dataset), HostFunction(context, "f", other_arguments, 1))


for _name in ("MapDataset", "ExperimentalMapDataset"):
    dataset_op(_name, CALLED, FUNCTION + ", use_inter_op_parallelism: bool = True, preserve_cardinality: bool = False")(_map)


@dataset_op("FilterDataset", CALLED, _PREDICATE)
def _filter(context: HostContext, input_dataset: NDArray, other_arguments: Element) -> DatasetValue:
    source, function = dataset_of(input_dataset), HostFunction(context, "predicate", other_arguments, 1)

    def start(scope: Scope) -> Next:
        # Statistics count the elements of both kinds since the start of the iteration.
        following, call, record = source.start(scope), function.bound(scope), scope.record
        counts = {"dropped_elements": 0, "filtered_elements": 0}

        def chosen() -> Element:
            while True:
                element = following()
                passes = call(*element)[0]
                if record is not None:
                    counted = "filtered_elements" if passes else "dropped_elements"
                    counts[counted] += 1
                    record.put(f"{made.node_name}::{counted}", counts[counted])
                if passes:
                    return element

        return chosen

    made = DatasetValue(start, source.size if source.size == 0 else UNKNOWN)
    return made


@dataset_op("FilterByLastComponentDataset", "input_dataset: variant", output="output")
def _filter_by_last(context: HostContext, input_dataset: NDArray) -> DatasetValue:
    """Keeps the elements whose last component is true, without that component."""
    source = dataset_of(input_dataset)

    def start(scope: Scope) -> Next:
        following = source.start(scope)

        def chosen() -> Element:
            while True:
                element = following()
                if element[-1]:
                    return element[:-1]

        return chosen

    return DatasetValue(start)


def _take_while(context: HostContext, input_dataset: NDArray, other_arguments: Element) -> DatasetValue:
    """Ends before the first element for which the predicate is false, and does not read the input again."""
    source, function = dataset_of(input_dataset), HostFunction(context, "predicate", other_arguments, 1)

    def start(scope: Scope) -> Next:
        following, call = source.start(scope), function.bound(scope)
        is_over = False

        def chosen() -> Element:
            nonlocal is_over
            # Once false, the predicate is not asked again.
            if is_over:
                raise StopIteration
            element = following()
            is_over = not call(*element)[0]
            return chosen() if is_over else element

        return chosen

    return DatasetValue(start)


def _scan(context: HostContext, input_dataset: NDArray, initial_state: Element, other_arguments: Element) -> DatasetValue:
    """Calls the function with the state and an element; its first results are the next state, the others are the element returned."""
    source, function = dataset_of(input_dataset), HostFunction(context, "f", other_arguments, 1 + len(initial_state))
    count, total = len(initial_state), len(initial_state) + len(context.op.attrs["output_types"])

    def start(scope: Scope) -> Next:
        following, call, state = source.start(scope), ends_sequence(function.bound(scope), context), initial_state

        def scanned() -> Element:
            nonlocal state
            result: Element = call(*state, *following())
            if len(result) != total:
                raise invalid(
                    f"The scan function returned {len(result)} components. It must return {total}: {count} of the state and {total - count} of "
                    "the element."
                )
            state = result[:count]
            return result[count:]

        return scanned

    return DatasetValue(start, source.size)


_SCANNED = "input_dataset: variant, initial_state: Tstate, other_arguments: Targuments"
_SCANS = f"f: func, Tstate: list(type) >= 1, Targuments: list(type) >= 0, {OUTPUTS}, preserve_cardinality: bool = False"
for _prefix in ("", "Experimental"):
    dataset_op(_prefix + "TakeWhileDataset", CALLED, _PREDICATE)(_take_while)
    dataset_op(_prefix + "ScanDataset", _SCANNED, _SCANS)(_scan)


# ---- number and order ----


@dataset_op("TakeDataset", "input_dataset: variant, count: int64")
def _take(context: HostContext, input_dataset: NDArray, count: NDArray) -> DatasetValue:
    source, most = dataset_of(input_dataset), int(count)
    if most < 0:
        return source

    def start(scope: Scope) -> Next:
        following = source.start(scope) if most else nothing
        numbers = iter(range(most))

        # The count is checked first, so that no more than `most` elements of the source are computed.
        def taken() -> Element:
            next(numbers)
            return following()

        return taken

    size = source.size
    return DatasetValue(start, 0 if not most else size if size == UNKNOWN else most if size == INFINITE else min(size, most))


@dataset_op("SkipDataset", "input_dataset: variant, count: int64")
def _skip(context: HostContext, input_dataset: NDArray, count: NDArray) -> DatasetValue:
    source, least = dataset_of(input_dataset), int(count)

    def start(scope: Scope) -> Next:
        following, left = source.start(scope), least

        # Elements are skipped when the first one is asked for, not when the iteration starts. A negative count skips all.
        def rest() -> Element:
            nonlocal left
            if least < 0:
                raise StopIteration
            while left:
                following()
                left -= 1
            return following()

        return rest

    size = source.size
    return DatasetValue(start, 0 if least < 0 else size if size < 0 else max(size - least, 0))


@dataset_op("RepeatDataset", "input_dataset: variant, count: int64")
def _repeat(context: HostContext, input_dataset: NDArray, count: NDArray) -> DatasetValue:
    source, times = dataset_of(input_dataset), int(count)

    def start(scope: Scope) -> Next:
        # TensorFlow 1.15 fuses shuffle and repeat by default. The fused dataset draws other random numbers, so its order differs.
        fused: Callable[[Scope, int], Next] | None = source.notes.get("repeated")
        if fused is not None and "shuffle_and_repeat_fusion" in scope.fuses:
            return fused(scope, times)
        return repeated(source, times, scope)

    # An empty dataset stays empty, however often it is repeated.
    size = source.size
    if times == 0 or size == 0:
        size = 0
    elif times < 0:
        size = INFINITE
    elif size > 0:
        size *= times
    return DatasetValue(start, size)


def repeated(source: DatasetValue, times: int, scope: Scope) -> Next:
    """Repeats the elements of `source` `times` times; if `times` is negative, until an epoch has no elements."""
    epoch = 0
    following: Next | None = None
    has_elements = False

    def again() -> Element:
        nonlocal epoch, following, has_elements
        while epoch != times:
            if following is None:
                following, has_elements = source.start(scope), False
            try:
                element = following()
                has_elements = True
                return element
            except StopIteration:
                following = None
                epoch += 1
                if times < 0 and not has_elements:
                    epoch = times
                elif epoch == times:
                    # TensorFlow 1.15 starts one more epoch. This shows where iterations share a seed generator: the epoch takes two seeds.
                    source.start(scope)
        raise StopIteration

    return again


@dataset_op("ShardDataset", "input_dataset: variant, num_shards: int64, index: int64", f"require_non_empty: bool = False, {OUTPUTS}")
def _shard(context: HostContext, input_dataset: NDArray, num_shards: NDArray, index: NDArray) -> DatasetValue:
    source, shards, own = dataset_of(input_dataset), int(num_shards), int(index)
    needs_all = context.op.attrs["require_non_empty"]
    if shards <= 0:
        raise invalid(f"Number of shards must be greater than zero (currently num_shards = {shards}).")
    if own < 0 or own >= shards:
        raise invalid(f"Index must be between 0 and {shards - 1} (currently index = {own}).")

    size = source.size
    return DatasetValue(
        lambda scope: shard_of(source.start(scope), shards, own, needs_all), size if size < 0 else size // shards + (own < size % shards)
    )


def shard_of(following: Next, shards: int, own: int, needs_all: bool = False) -> Next:
    """Returns the elements whose number modulo `shards` is `own`.

    Raises:
      errors.InvalidArgumentError: `needs_all` is set, and there are fewer elements than shards.
    """
    count = 0

    # After the own element, the rest of the first round is read, to see that each shard gets an element.
    def check_others() -> None:
        nonlocal count
        while count < shards:
            try:
                following()
            except StopIteration:
                raise invalid(
                    f"There aren't enough elements in this dataset for each shard to have at least one element (# elems = {count}, "
                    f"# shards = {shards}). If you are using datasets with distribution strategy, considering turning off dataset "
                    "autosharding with `tf.data.Options.experimental_distribute.auto_shard = False`."
                ) from None
            count += 1

    def own_element() -> Element:
        nonlocal count
        while True:
            element = following()
            count += 1
            if (count - 1) % shards == own:
                if needs_all:
                    check_others()
                return element

    return own_element


@dataset_op("ConcatenateDataset", "input_dataset: variant, another_dataset: variant")
def _concatenate(context: HostContext, input_dataset: NDArray, another_dataset: NDArray) -> DatasetValue:
    one, other = dataset_of(input_dataset), dataset_of(another_dataset)

    # The second dataset starts only when the first has ended.
    def start(scope: Scope) -> Next:
        pending = [other]
        following = one.start(scope)

        def joined() -> Element:
            nonlocal following
            try:
                return following()
            except StopIteration:
                if not pending:
                    raise
            following = pending.pop().start(scope)
            return following()

        return joined

    sizes = one.size, other.size
    return DatasetValue(start, INFINITE if INFINITE in sizes else UNKNOWN if UNKNOWN in sizes else sum(sizes))


@dataset_op("ZipDataset", "input_datasets: N*variant", f"{OUTPUTS}, N: int >= 1")
def _zip(context: HostContext, input_datasets: Element) -> DatasetValue:
    sources = [dataset_of(each) for each in input_datasets]

    # The datasets are read in order, until one has ended: those before it have then given an element more.
    def start(scope: Scope) -> Next:
        all_following = [source.start(scope) for source in sources]

        def row() -> Element:
            element: Element = ()
            for following in all_following:
                element += following()
            return element

        return row

    # The shortest dataset decides; endless ones do not count.
    finite = [source.size for source in sources if source.size != INFINITE]
    return DatasetValue(start, INFINITE if not finite else UNKNOWN if UNKNOWN in finite else min(finite))


# ---- datasets of datasets ----


def outer_start(context: HostContext, source: DatasetValue, scope: Scope) -> Next:
    """Starts the dataset whose elements become inner datasets; with autosharding, only this worker's shard of them."""
    following = source.start(scope)
    shard = scope.shards.get(id(context))
    return following if shard is None else shard_of(following, *shard)


def inner_start(function: Callable[..., Any], scope: Scope) -> Callable[[Element], Next]:
    """Returns a function that maps an element to its inner dataset and starts that."""
    return lambda element: dataset_of(function(*element)[0]).start(scope)


@dataset_op("FlatMapDataset", CALLED, FUNCTION)
def _flat_map(context: HostContext, input_dataset: NDArray, other_arguments: Element) -> DatasetValue:
    """Concatenates the datasets that the function returns; one is started when the one before has ended."""
    source, function = dataset_of(input_dataset), HostFunction(context, "f", other_arguments, 1)

    def start(scope: Scope) -> Next:
        outer, begin = outer_start(context, source, scope), inner_start(function.bound(scope), scope)
        following: Next | None = None

        # An inner dataset without elements is passed over.
        def flat() -> Element:
            nonlocal following
            while True:
                if following is None:
                    following = begin(outer())
                try:
                    return following()
                except StopIteration:
                    following = None

        return flat

    return DatasetValue(start)


def interleaved(outer: Callable[[], T], begin: Callable[[T], Next], cycle: int, block: int, counts_errors: bool = False) -> Next:
    """Interleaves inner datasets in a deterministic order: round-robin over `cycle` slots, `block` elements at a time.

    Args:
      outer: returns the next inner dataset. begin: starts it. counts_errors: whether an error counts as an element of its block.
    """
    slots: list[Next | None] = [None] * cycle
    current = taken = 0
    is_over = False

    def advance() -> None:
        nonlocal current, taken
        current, taken = (current + 1) % cycle, 0

    # Counts an element of the current block; a full block moves to the next slot.
    def count() -> None:
        nonlocal taken
        taken += 1
        if taken == block:
            advance()

    def following() -> Element:
        nonlocal is_over
        empty = 0
        while True:
            slot = slots[current]
            # A free slot takes the next inner dataset; when there are none left, it is passed over until all slots are free.
            if slot is None:
                if not is_over:
                    try:
                        begun = outer()
                    except StopIteration:
                        is_over = True
                    else:
                        slots[current] = begin(begun)
                        continue
                empty += 1
                if empty > cycle or all(slot is None for slot in slots):
                    raise StopIteration
                advance()
                continue
            try:
                element = slot()
            # The end of an inner dataset also ends its block: the next slot is read, and this one refilled a cycle later.
            except StopIteration:
                slots[current] = None
                advance()
                continue
            # The slot stays: after an error, its dataset goes on with the next element.
            except errors.OpError:
                if counts_errors:
                    count()
                raise
            count()
            return element

    return following


def check_cycle(cycle: int, block: int) -> None:
    """Raises InvalidArgumentError if the cycle or block length of an interleaving is less than 1."""
    if cycle <= 0:
        raise invalid("cycle_length must be greater than zero.")
    if block <= 0:
        raise invalid("block_length must be greater than zero.")


def _interleave(context: HostContext, input_dataset: NDArray, other_arguments: Element, cycle_length: NDArray, block_length: NDArray) -> DatasetValue:
    source, function = dataset_of(input_dataset), HostFunction(context, "f", other_arguments, 1)
    cycle, block = int(cycle_length), int(block_length)
    check_cycle(cycle, block)

    def start(scope: Scope) -> Next:
        return interleaved(outer_start(context, source, scope), inner_start(function.bound(scope), scope), cycle, block)

    return DatasetValue(start)


dataset_op("InterleaveDataset", CALLED + ", cycle_length: int64, block_length: int64", FUNCTION)(_interleave)
