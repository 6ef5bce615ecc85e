"""The op types of datasets that shuffle or choose at random.

For given seeds, the order is that of TensorFlow 1.15: the random numbers and the way a buffer is used are the same.
"""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.host_context import HostContext
from tfcompat._src.data.transform_ops import outer_start
from tfcompat._src.data.values import (
    INFINITE,
    OUTPUTS,
    UNKNOWN,
    DatasetValue,
    Element,
    Next,
    Scope,
    anonymous_op,
    dataset_of,
    dataset_op,
)
from tfcompat._src.ops.queues.resource import SharedResource, invalid
from tfcompat._src.ops.queues.state import _uniform_numbers as uniform_numbers

_COMPACT_FROM = 4096
"""A slice drops its unused beginning when that has this many entries, and more than half of all."""


class _Slice:
    """The elements of one epoch in the shuffle buffer.

    TensorFlow's buffer is a ring: a taken element is replaced by the first one of the slice, and the slice then begins one later. The
    replacement decides the order, so it is done alike here.
    """

    def __init__(self) -> None:
        self.items: list[Element | None] = []
        self.first = 0

    def __len__(self) -> int:
        return len(self.items) - self.first

    def take(self, index: int) -> Element:
        """Removes and returns an element."""
        items, first = self.items, self.first
        element = items[first + index]
        items[first + index] = items[first]
        items[first] = None
        self.first += 1
        # Amortized constant time: the beginning is dropped only when it is more than half of the list.
        if self.first >= _COMPACT_FROM and self.first * 2 > len(items):
            del items[: self.first]
            self.first = 0
        return element  # type: ignore[return-value]  # only those before `first` are None


def _check(size: NDArray) -> int:
    if int(size) <= 0:
        raise invalid("buffer_size must be greater than zero.")
    return int(size)


def shuffled(begin: Callable[[], Next], size: int, numbers: Iterator[int], times: int) -> Next:
    """Returns the elements of `times` epochs (negative: without end) in random order, drawn from a buffer of `size` elements.

    The buffer may hold elements of several epochs, but all of one epoch are returned before those of the next.

    Args:
      begin: starts an epoch. numbers: the random numbers that choose elements.
    """
    slices: deque[_Slice] = deque()
    count, epoch = 0, 0
    following: Next | None = None
    has_elements = False

    # Fills the buffer, across the ends of epochs. Each epoch has a slice; only the first is drawn from.
    def fill() -> None:
        nonlocal count, epoch, following, has_elements
        while count < size and epoch != times:
            if following is None:
                following, has_elements = begin(), False
                slices.append(_Slice())
            try:
                slices[-1].items.append(following())
                has_elements = True
                count += 1
            except StopIteration:
                following = None
                epoch += 1
                # Repeating an empty dataset without end stops after its first epoch.
                if times < 0 and not has_elements:
                    epoch = times

    def element() -> Element:
        nonlocal count
        # A slice that is empty is dropped, unless it is the only one and its epoch still has elements.
        fill()
        while slices and not len(slices[0]) and (len(slices) > 1 or following is None):
            slices.popleft()
        if not count:
            raise StopIteration
        count -= 1
        chosen = slices[0]
        return chosen.take(next(numbers) % len(chosen))

    return element


def _seeds(scope: Scope, owner: object, seed: int, seed2: int) -> tuple[int, int]:
    """Returns the two seeds of the next epoch, drawn from a generator that the iteration keeps for `owner`."""
    numbers = scope.keep(owner, lambda: scope.numbers(seed, seed2))
    return next(numbers), next(numbers)


@dataset_op(
    "ShuffleDataset", "input_dataset: variant, buffer_size: int64, seed: int64, seed2: int64",
    f"reshuffle_each_iteration: bool = True, {OUTPUTS}",
)  # fmt: skip
def _shuffle(context: HostContext, input_dataset: NDArray, buffer_size: NDArray, seed: NDArray, seed2: NDArray) -> DatasetValue:
    source, size = dataset_of(input_dataset), _check(buffer_size)
    seeds = int(seed), int(seed2)
    reshuffles = context.op.attrs["reshuffle_each_iteration"]
    owner = object()

    # With reshuffle_each_iteration, each epoch has seeds of its own; without, all epochs of an iteration share theirs.
    def start(scope: Scope) -> Next:
        own = _seeds(scope, owner, *seeds) if reshuffles else scope.keep(owner, lambda: scope.seeds_or_chosen(*seeds))
        return shuffled(lambda: outer_start(context, source, scope), size, scope.numbers(*own), 1)

    # RepeatDataset calls this in place of starting the dataset `times` times, as 1.15's shuffle_and_repeat_fusion does.
    def fused(scope: Scope, times: int) -> Next:
        return shuffled(lambda: outer_start(context, source, scope), size, scope.numbers(*seeds), times)

    return DatasetValue(start, source.size, repeated=fused if reshuffles else None)


class RandomSeedGenerator(SharedResource):
    """The resource that draws the seeds of each epoch for ShuffleDatasetV2, itself seeded; both seeds 0 mean random ones."""

    def __init__(self, seed: NDArray, seed2: NDArray) -> None:
        super().__init__()
        seeds = int(seed), int(seed2)
        self._numbers = iter(uniform_numbers(*(seeds if any(seeds) else (secrets.randbits(63), secrets.randbits(63)))))

    def following(self) -> tuple[int, int]:
        with self.lock:
            return next(self._numbers), next(self._numbers)


anonymous_op("RandomSeedGenerator", "seed: int64, seed2: int64", RandomSeedGenerator)


@dataset_op("ShuffleDatasetV2", "input_dataset: variant, buffer_size: int64, seed_generator: resource")
def _shuffle_by_generator(context: HostContext, input_dataset: NDArray, buffer_size: NDArray, seed_generator: RandomSeedGenerator) -> DatasetValue:
    source, size = dataset_of(input_dataset), _check(buffer_size)

    def start(scope: Scope) -> Next:
        return shuffled(lambda: outer_start(context, source, scope), size, scope.numbers(*seed_generator.following()), 1)

    return DatasetValue(start, source.size)


@dataset_op("ShuffleAndRepeatDataset", "input_dataset: variant, buffer_size: int64, seed: int64, seed2: int64, count: int64")
def _shuffle_and_repeat(context: HostContext, input_dataset: NDArray, buffer_size: NDArray, seed: NDArray, seed2: NDArray, count: NDArray) -> DatasetValue:
    source, size, times = dataset_of(input_dataset), _check(buffer_size), int(count)

    def start(scope: Scope) -> Next:
        return shuffled(lambda: source.start(scope), size, scope.numbers(int(seed), int(seed2)), times)

    total = source.size
    return DatasetValue(start, 0 if not total or not times else INFINITE if times < 0 else total * times if total > 0 else total)


@dataset_op("SamplingDataset", "input_dataset: variant, rate: float32, seed: int64, seed2: int64")
def _sampling(context: HostContext, input_dataset: NDArray, rate: NDArray, seed: NDArray, seed2: NDArray) -> DatasetValue:
    source = dataset_of(input_dataset)

    def start(scope: Scope) -> Next:
        following, numbers = source.start(scope), scope.numbers(int(seed), int(seed2))

        def chosen() -> Element:
            while True:
                element = following()
                # A float32 in [0, 1): 23 random bits as the mantissa of a number in [1, 2), less 1. TensorFlow makes it the same way.
                bits = np.uint32((next(numbers) & 0x7FFFFF) | 0x3F800000)
                if bits.view(np.float32) - np.float32(1) < rate:
                    return element

        return chosen

    return DatasetValue(start, UNKNOWN)


def _directed_interleave(context: HostContext, selector_input_dataset: NDArray, data_input_datasets: tuple[Any, ...]) -> DatasetValue:
    """Takes each element from the dataset whose number the selector says; ended datasets are skipped, until all have ended."""
    selector, sources = dataset_of(selector_input_dataset), [dataset_of(each) for each in data_input_datasets]

    def start(scope: Scope) -> Next:
        choose = selector.start(scope)
        open_ones: list[Next | None] = [source.start(scope) for source in sources]

        def chosen() -> Element:
            while any(open_ones):
                index = int(choose()[0])
                if not 0 <= index < len(open_ones):
                    raise invalid(f"Selector index out of range: {index} >= {len(open_ones)}")
                # A choice of an ended dataset is ignored.
                following = open_ones[index]
                if following is None:
                    continue
                try:
                    return following()
                except StopIteration:
                    open_ones[index] = None
            raise StopIteration

        return chosen

    return DatasetValue(start)


for _prefix in ("", "Experimental"):
    dataset_op(
        _prefix + "DirectedInterleaveDataset", "selector_input_dataset: variant, data_input_datasets: N*variant", f"{OUTPUTS}, N: int >= 1"
    )(_directed_interleave)
