"""What a dataset is while a graph runs: something that starts iterations, each a function that gives the next element.

An element is a tuple of NumPy arrays, strings and variants in arrays of objects. The function raises StopIteration at the end;
after another error it may be called again for the element that follows.
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

from tfcompat._src.base import errors
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.host_context import HostContext
from tfcompat._src.data.op_ranks import require_scalars, shape_of
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import EXTERNAL, HOST, NotDifferentiable, op
from tfcompat._src.ops.flow.list_value import variant
from tfcompat._src.ops.queues.queue_ops import MAKES_HANDLE
from tfcompat._src.ops.queues.resource import SharedResource, invalid
from tfcompat._src.ops.queues.state import _uniform_numbers as uniform_numbers
from tfcompat._src.runtime.random_state import RandomState
from tfcompat._src.runtime.run_context import RunContext

Element = tuple[Any, ...]
Next = Callable[[], Element]
INFINITE, UNKNOWN = -1, -2
NO_GRADIENT = NotDifferentiable("a dataset has no derivative", raises=True)
OUTPUTS = "output_types: list(type) >= 1, output_shapes: list(shape) >= 1"


class Recorder(Protocol):
    """What takes down statistics of an iteration by tag."""

    def add(self, tag: str, value: float) -> None:
        """Adds a value to the histogram of a tag."""

    def put(self, tag: str, value: float) -> None:
        """Makes a value the last one of a tag."""


class Scope:
    """One iteration of a pipeline: the context in which its functions run, and what must end with it.

    `record` takes down statistics where they are wanted.

    Args:
      context: of the run that begins it. seed: of all that the iteration chooses at random; that of another iteration for one that is to be the same.

    Functions have random counters of their own in each iteration. `kept` holds what datasets remember between epochs, `shards`
    the number of workers and the own one for kernels, by the id of their context, whose input is split over workers.
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
        self._closers: list[Callable[[], None]] = []
        self.closed = False

    def fusing(self, names: frozenset[str]) -> Scope:
        """This iteration, inside a pipeline whose optimizations have these names."""
        self.fuses = names
        return self

    def limited(self, most_threads: int) -> Scope:
        """This iteration, inside a pipeline whose parallel calls have this many threads at most."""
        self.most_threads = most_threads
        return self

    def seeds_or_chosen(self, seed: int, seed2: int) -> tuple[int, int]:
        """Two seeds, or, where both are 0, the next two that the iteration chooses."""
        if seed or seed2:
            return seed, seed2
        with self.lock:
            return self._chosen.getrandbits(63), self._chosen.getrandbits(63)

    def numbers(self, seed: int, seed2: int) -> Iterator[int]:
        """The 32-bit numbers of a generator with two seeds; see `seeds_or_chosen`."""
        return iter(uniform_numbers(*self.seeds_or_chosen(seed, seed2)))

    def keep(self, owner: object, make: Callable[[], Any]) -> Any:
        """What a dataset keeps for the iteration, made when it first asks."""
        with self.lock:
            if owner not in self.kept:
                self.kept[owner] = make()
            return self.kept[owner]

    def on_end(self, closer: Callable[[], None]) -> None:
        """Calls `closer` when the iteration is given up."""
        self._closers.append(closer)
        if self.closed:
            closer()

    def end(self) -> None:
        """Lets go of threads, files and generators."""
        self.closed = True
        while self._closers:
            self._closers.pop()()


class DatasetValue:
    """A dataset.

    Args:
      start: `start(scope) -> next`.
      size: number of elements, INFINITE or UNKNOWN.
      **notes: what other datasets want to know of this one.

    Attributes:
      context: of the kernel that made it. arguments: of that kernel. inputs: the datasets that it takes from.
    """

    context: HostContext
    arguments: Element
    inputs: list[DatasetValue]

    def __init__(self, start: Callable[[Scope], Next], size: int = UNKNOWN, **notes: Any) -> None:
        self.start, self.size, self.notes = start, size, notes
        self.arguments, self.inputs = (), []

    def made_by(self, context: HostContext, arguments: Iterable[Any]) -> DatasetValue:
        """Notes which kernel made it, of which arguments."""
        if not hasattr(self, "context"):
            flat = [part for each in arguments for part in (each if isinstance(each, tuple) else (each,))]
            found = [part.item() for part in flat if isinstance(part, np.ndarray) and part.dtype == object and not part.ndim]
            self.context, self.inputs = context, [value for value in found if isinstance(value, DatasetValue)]
            self.arguments = tuple(arguments)
        return self

    @property
    def op(self) -> Any:
        """The node of the kernel that made it."""
        return self.context.op

    @property
    def node_name(self) -> str:
        """The name of its node in a graph of the pipeline alone, in which each argument has a node: "PrefetchDataset/_5"."""
        return f"{self.op.type}/_{self._count_nodes() - 1}"

    def _count_nodes(self) -> int:
        parts = [part for each in self.arguments for part in (each if isinstance(each, tuple) else (each,))]
        held = [part.item() if isinstance(part, np.ndarray) and part.dtype == object and not part.ndim else part for part in parts]
        return 1 + sum(part._count_nodes() if isinstance(part, DatasetValue) else 1 for part in held)


def dataset_of(value: object) -> DatasetValue:
    """The dataset in a variant; InvalidArgumentError where it holds something else."""
    found = value.item() if isinstance(value, np.ndarray) else value
    if not isinstance(found, DatasetValue):
        raise invalid("Tensor must be a Dataset object.")
    return found


class Consumer(NamedTuple):
    """A dataset of a pipeline that takes from another one, its `place`-th input; `later` takes from it, None at the end."""

    dataset: DatasetValue
    place: int
    later: Consumer | None


def begun(last: DatasetValue, scope: Scope) -> Next:
    """Starts the iteration of a pipeline, after each dataset with a note `check` was called with the Consumer that takes from it."""
    pending: list[tuple[DatasetValue, Consumer | None]] = [(last, None)]
    while pending:
        value, later = pending.pop()
        if "check" in value.notes:
            value.notes["check"](later)
        pending += reversed([(source, Consumer(value, place, later)) for place, source in enumerate(value.inputs)])
    return last.start(scope)


def array(value: object, kind: np.typing.DTypeLike) -> NDArray:
    """A result as an array of a NumPy dtype."""
    return value if isinstance(value, np.ndarray) else np.asarray(value, kind)


def text(value: object) -> NDArray:
    """A scalar string."""
    return variant(value)


def nothing() -> Element:
    """The next element where there is none."""
    raise StopIteration


def number(value: NDArray) -> int:
    return int(value)


def has_reached(error: errors.OpError) -> bool:
    """Whether an error of a function says that its input is at an end."""
    return isinstance(error, errors.OutOfRangeError)


def dataset_op(name: str, inputs: str, attrs: str = OUTPUTS, output: str = "handle") -> Callable[..., Any]:
    """Registers an op type that makes a dataset; its kernel takes the HostContext first and gives a DatasetValue."""

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
    """Registers `Anonymous...`, whose results are a resource that nothing else names, and what `Delete...` ends it with."""

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
    """The kernel that ends a resource which nothing names."""
    handle.cancel()
    return ()


def same_size(value: DatasetValue) -> int:
    return value.size
