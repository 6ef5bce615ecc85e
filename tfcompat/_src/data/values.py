"""The run-time values of datasets: a DatasetValue starts iterations; an iteration is a function that returns the next element.

An element is a tuple of NumPy arrays; strings and variants are in arrays of objects. The function raises StopIteration at the end;
after another error it may be called again, for the element that follows.
"""

from __future__ import annotations

import dataclasses
import functools
import random
import secrets
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np

from tfcompat._src.base import confinement, errors
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.host_context import HostContext
from tfcompat._src.data.op_ranks import require_scalars, shape_of
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import EXTERNAL, HOST, NotDifferentiable, op
from tfcompat._src.ops.flow.list_value import variant
from tfcompat._src.ops.queues.queue_ops import MAKES_HANDLE
from tfcompat._src.ops.queues.resource import SharedResource, invalid
from tfcompat._src.ops.queues.state import _uniform_numbers as uniform_numbers
from tfcompat._src.runtime.state.random_state import RandomState
from tfcompat._src.runtime.state.run_context import RunContext

Element = tuple[Any, ...]
Next = Callable[[], Element]
INFINITE, UNKNOWN = -1, -2
"""Sizes of datasets, with the numbers of tf.data.experimental.cardinality."""
NO_GRADIENT = NotDifferentiable("a dataset has no derivative", raises=True)
OUTPUTS = "output_types: list(type) >= 1, output_shapes: list(shape) >= 1"
"""The attributes of every op type that makes a dataset or returns its elements."""


class Recorder(Protocol):
    """Records statistics of an iteration by tag."""

    def add(self, tag: str, value: float) -> None:
        """Adds a value to the histogram of a tag."""

    def put(self, tag: str, value: float) -> None:
        """Sets the scalar of a tag."""


class Scope:
    """The state of one iteration of a pipeline: the context in which its functions run, and the resources that end with it.

    Args:
      context: of the run that starts the iteration.
      seed: of all random choices of the iteration. To repeat an iteration, as a restored iterator does, pass its seed.

    Attributes:
      context: that of the run, with fresh random counters: with fixed seeds, each iteration draws the same numbers.
      fuses: names of the optimizations asked for. most_threads: limit on the threads of a parallel call, or None.
      record: records statistics, if they are collected. kept: state that datasets keep between epochs.
      shards: (number of workers, own index) by the id of a kernel's context, for kernels whose input is split over workers.
    """

    def __init__(self, context: RunContext, seed: int | None = None) -> None:
        self.context = dataclasses.replace(context, random_state=RandomState())
        self.fuses: frozenset[str] = frozenset()
        self.seed = secrets.randbits(63) if seed is None else seed
        self._chosen = random.Random(self.seed)
        self.most_threads: int | None = None
        self.record: Recorder | None = None
        self.shards: dict[int, tuple[int, int]] = {}
        self.kept: dict[Any, Any] = {}
        self.lock = threading.RLock()
        self._closers: dict[Callable[[], None], None] = {}
        self.closed = False

    def fusing(self, names: frozenset[str]) -> Scope:
        """Sets the names of the optimizations that the pipeline asks for; returns this iteration."""
        self.fuses = names
        return self

    def limited(self, most_threads: int) -> Scope:
        """Limits the threads of each parallel call; returns this iteration."""
        self.most_threads = most_threads
        return self

    def seeds_or_chosen(self, seed: int, seed2: int) -> tuple[int, int]:
        """Returns the seeds of an op, or, if both are 0 (no seed), two that are drawn for this iteration."""
        if seed or seed2:
            return seed, seed2
        with self.lock:
            return self._chosen.getrandbits(63), self._chosen.getrandbits(63)

    def numbers(self, seed: int, seed2: int) -> Iterator[int]:
        """Returns the 32-bit numbers of TensorFlow's generator with two seeds; see `seeds_or_chosen`."""
        return iter(uniform_numbers(*self.seeds_or_chosen(seed, seed2)))

    def keep(self, owner: object, make: Callable[[], Any]) -> Any:
        """Returns the state that `owner` keeps for the iteration; `make()` makes it at the first call."""
        with self.lock:
            if owner not in self.kept:
                self.kept[owner] = make()
            return self.kept[owner]

    def on_end(self, closer: Callable[[], None]) -> None:
        """Registers `closer`, which runs when the iteration ends, or at once if it has ended."""
        # A dataset may register after the end, if another thread still runs its functions: then nobody else would close it.
        self._closers[closer] = None
        if self.closed:
            closer()

    def forget(self, closer: Callable[[], None]) -> None:
        """Drops a closer whose work is done, as when a file has been read to its end."""
        self._closers.pop(closer, None)

    def end(self) -> None:
        """Releases threads, files and generators, the last registered first."""
        self.closed = True
        while self._closers:
            self._closers.popitem()[0]()


class DatasetValue:
    """A dataset at run time.

    Args:
      start: `start(scope)` begins an iteration and returns the function that returns its elements.
      size: the number of elements, INFINITE or UNKNOWN.
      **notes: facts that other datasets of the pipeline ask for, such as `repeated` (a fused repetition) and `check`.

    Attributes:
      context: of the kernel that made it. arguments: of that kernel. inputs: the datasets that it reads from.
    """

    context: HostContext
    arguments: Element
    inputs: list[DatasetValue]

    def __init__(self, start: Callable[[Scope], Next], size: int = UNKNOWN, **notes: Any) -> None:
        self.start, self.size, self.notes = start, size, notes
        # Any session may ask for the elements: they are computed within the limits of the one that made the dataset.
        if confinement.current() is not None:
            self.start = confinement.bound(lambda scope: confinement.bound(start(scope)))
        self.arguments, self.inputs = (), []

    def made_by(self, context: HostContext, arguments: Iterable[Any]) -> DatasetValue:
        """Records the kernel's context and arguments; a dataset that a kernel passes on unchanged keeps its first ones."""
        if not hasattr(self, "context"):
            # A list of inputs is one argument, a tuple. Datasets are scalar variants, so they are in scalar arrays of objects.
            flat = [part for each in arguments for part in (each if isinstance(each, tuple) else (each,))]
            variants = [part.item() for part in flat if isinstance(part, np.ndarray) and part.dtype == object and not part.ndim]
            self.context, self.inputs = context, [value for value in variants if isinstance(value, DatasetValue)]
            self.arguments = tuple(arguments)
        return self

    @property
    def op(self) -> Any:
        """The node whose kernel made the dataset."""
        return self.context.op

    @property
    def node_name(self) -> str:
        """The node's name in statistics, e.g. "PrefetchDataset/_5".

        TensorFlow 1.15 numbers the nodes of the pipeline's serialized graph, in which every argument is a node of its own.
        """
        return f"{self.op.type}/_{self._count_nodes() - 1}"

    def _count_nodes(self) -> int:
        parts = [part for each in self.arguments for part in (each if isinstance(each, tuple) else (each,))]
        held = [part.item() if isinstance(part, np.ndarray) and part.dtype == object and not part.ndim else part for part in parts]
        return 1 + sum(part._count_nodes() if isinstance(part, DatasetValue) else 1 for part in held)


def dataset_of(value: object) -> DatasetValue:
    """Returns the dataset in a variant; InvalidArgumentError if it holds something else."""
    dataset = value.item() if isinstance(value, np.ndarray) else value
    if not isinstance(dataset, DatasetValue):
        raise invalid("Tensor must be a Dataset object.")
    return dataset


class Consumer(NamedTuple):
    """The user of a dataset's elements: `dataset` reads them as its `place`-th input, and is read by `later` (None at the end)."""

    dataset: DatasetValue
    place: int
    later: Consumer | None


def begun(last: DatasetValue, scope: Scope) -> Next:
    """Starts the iteration of a pipeline. First calls each `check` note (assert_next has one) with the Consumer of its dataset."""
    # Depth first, from the last dataset to the sources: the consumers of a dataset are known when it is reached.
    pending: list[tuple[DatasetValue, Consumer | None]] = [(last, None)]
    while pending:
        value, later = pending.pop()
        if "check" in value.notes:
            value.notes["check"](later)
        pending += reversed([(source, Consumer(value, place, later)) for place, source in enumerate(value.inputs)])
    return last.start(scope)


def array(value: object, kind: np.typing.DTypeLike) -> NDArray:
    """Returns a result as an array, of dtype `kind` if it is not an array yet."""
    return value if isinstance(value, np.ndarray) else np.asarray(value, kind)


def text(value: object) -> NDArray:
    """Returns a string as a scalar array of objects."""
    return variant(value)


def nothing() -> Element:
    """The next-element function of an empty dataset: raises StopIteration."""
    raise StopIteration


def number(value: NDArray) -> int:
    return int(value)


def has_reached(error: errors.OpError) -> bool:
    """Whether an error that a function raised means the end of the sequence."""
    return isinstance(error, errors.OutOfRangeError)


def dataset_op(name: str, inputs: str, attrs: str = OUTPUTS, output: str = "handle") -> Callable[..., Any]:
    """Registers an op type that makes a dataset; its kernel takes the HostContext, then the inputs, and returns a DatasetValue."""

    def add(kernel: Callable[..., Any]) -> Callable[..., Any]:
        check = require_scalars(name, inputs)

        @functools.wraps(kernel)
        def run(context: HostContext, *arguments: object) -> NDArray:
            check(arguments)
            return variant(kernel(context, *arguments).made_by(context, arguments))

        op(
            name, f"({inputs}{', ' if inputs and attrs else ''}{'*, ' + attrs if attrs else ''}) -> ({output}: variant)",
            shape=shape_of(name, inputs), gradient=NO_GRADIENT, kernel=run, side=HOST, context=True, depth=2,
        )  # fmt: skip
        return kernel

    return add


def anonymous_op(name: str, inputs: str, make: Callable[..., SharedResource]) -> None:
    """Registers `Anonymous{name}`, which makes a resource without a name and its deleter, and `Delete{name}`, which destroys it."""

    def run(*arguments: object) -> tuple[SharedResource, NDArray]:
        made = make(*arguments)
        return made, variant(made)

    op(
        "Anonymous" + name, f"({inputs}) -> (handle: resource, deleter: variant)", shape=lambda c: [(), ()], gradient=NO_GRADIENT, kernel=run,
        side=HOST, effects=MAKES_HANDLE, depth=2,
    )  # fmt: skip
    op(
        "Delete" + name, "(handle: resource, deleter: variant) -> ()", shape=si.no_outputs, gradient=NO_GRADIENT, kernel=deleted, side=HOST,
        effects=EXTERNAL, depth=2,
    )  # fmt: skip


def deleted(handle: SharedResource, *deleter: object) -> tuple[()]:
    """Kernel of the `Delete...` op types: destroys the resource."""
    handle.cancel()
    return ()


def same_size(value: DatasetValue) -> int:
    return value.size
