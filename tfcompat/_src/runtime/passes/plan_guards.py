"""Guards of plans: the facts about a run, besides its fetches and which tensors it feeds, that a plan depends on.

Planning asks a `Facts` for such a fact, and the answer becomes a guard of the plan that is being made. A plan is reused only in runs in which
all of its guards hold: `GuardedCache`. (The guards of torch.compile are made in the same way.)
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from tfcompat._src.base import run_limits
from tfcompat._src.base.arrays import NDArray, as_array, content_key
from tfcompat._src.base.recent import SHAPES, Recent
from tfcompat._src.graph.constant_value import KnownShape, is_constant
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.control.guards import SWITCH
from tfcompat._src.runtime.ir.item import Node
from tfcompat._src.runtime.passes.fold import can_fold, fold

Feeds = Mapping[Tensor, Any]
"""The values of the fed tensors that a plan may depend on."""
MOST_OPERATIONS = 256
"""A predicate that takes more operations than this is computed by the run, and not before it: its guard would cost too much."""


class Guard(Protocol):
    """A fact that a plan depends on. Its text says the fact."""

    def holds(self, feeds: Feeds, variables: Collection[str]) -> bool:
        """Whether the fact is true of a run with these feeds, in a session in which the variables with these keys have a value."""


@dataclass(frozen=True)
class HasValue:
    """Whether the variable with this key has a value."""

    key: str
    answer: bool

    def holds(self, feeds: Feeds, variables: Collection[str]) -> bool:
        """See `Guard`."""
        return (self.key in variables) is self.answer

    def __str__(self) -> str:
        return f"the variable {self.key.lstrip('/')} has {'a' if self.answer else 'no'} value"


@dataclass(frozen=True)
class HasTimeLimit:
    """Whether the run has a time limit."""

    answer: bool

    def holds(self, feeds: Feeds, variables: Collection[str]) -> bool:
        """See `Guard`."""
        return (run_limits.seconds_left() is not None) is self.answer

    def __str__(self) -> str:
        return f"the run has {'a' if self.answer else 'no'} time limit"


class FedPredicates:
    """The predicates of Switches that constants, fed scalars and the shapes of feeds determine.

    Args:
      nodes: of a run, in topological order. fed: the fed tensors whose values may decide predicates.

    Attributes:
      roots: for each predicate, and for what hands it on, the tensor that they forward. leaves: the fed tensors that decide, and whether by value or by shape only.
    """

    def __init__(self, nodes: Iterable[Node], fed: Collection[Tensor]) -> None:
        self.roots: dict[Tensor, Tensor] = {}
        self.leaves: dict[Tensor, bool] = {}
        ops: dict[Operation, None] = {}
        for predicate in dict.fromkeys(node.takes[1] for node in nodes if node.type in SWITCH):
            forwarded = _forwarded(predicate)
            root = forwarded[-1]
            sources = _sources(root, fed)
            if sources is None:
                continue
            self.roots.update(dict.fromkeys(forwarded, root))
            ops.update(sources[0])
            for tensor, by_value in sources[1].items():
                self.leaves[tensor] = by_value or self.leaves.get(tensor, False)
        self._ops = sorted(ops, key=lambda op: op.order)

    def values(self, feeds: Feeds) -> dict[Tensor, NDArray]:
        """Returns the values of the roots; one is missing if a feed that it depends on is no scalar, or a kernel rejects a value."""
        given: dict[Tensor, Any] = {t: value for t in self.leaves if (value := self._given(t, feeds)) is not None}
        known = fold(self._ops, set(self.leaves).difference(given), given) if self._ops else given
        return {root: known[root] for root in dict.fromkeys(self.roots.values()) if root in known}

    def key(self, feeds: Feeds) -> Hashable:
        """Returns a key that feeds have in common only if they decide alike: scalars as Python objects, else shapes."""
        return tuple([_scalar(value) if not value.shape else value.shape for value in map(feeds.__getitem__, self.leaves)])

    def _given(self, tensor: Tensor, feeds: Feeds) -> NDArray | KnownShape | None:
        """Returns a fed scalar as an array, the shape of a feed of which no more is used, or None."""
        value = feeds[tensor]
        if self.leaves[tensor]:
            return None if np.ndim(value) else as_array(value)
        return KnownShape(np.shape(value), tensor.dtype.base_dtype.as_numpy_dtype)


def _scalar(value: NDArray) -> object:
    """Returns an array without dimensions as a hashable object. Numbers are told apart by their bytes: 0.0 from -0.0, and NaN equals itself."""
    return value.item() if value.dtype.kind in "biuO" else as_array(value).tobytes()


def _forwarded(tensor: Tensor) -> list[Tensor]:
    """Returns `tensor`, and the tensors before it that Identity and Switch operations forward to it where it is not dead."""
    # In the branch that is not taken a predicate is dead, and so is every Switch on it: what its value would be does not matter.
    forwarded = [tensor]
    while tensor.op.type in ("Identity", "Switch") and not tensor.op.waits_for:
        tensor = tensor.op.takes[0]
        forwarded.append(tensor)
    return forwarded


def _sources(predicate: Tensor, fed: Collection[Tensor]) -> tuple[dict[Operation, None], dict[Tensor, bool]] | None:
    """Returns what computes a predicate before a run, or None if a run has to compute it.

    Returns:
      the operations, and the fed tensors: True for those whose values are used, False for those whose shapes are.
    """
    ops: dict[Operation, None] = {}
    used: dict[Tensor, bool] = {}
    pending = [predicate]
    while pending:
        tensor = pending.pop()
        if tensor in fed:
            if tensor._sizes not in ((), None):
                return None
            used[tensor] = True
        elif tensor.op not in ops:
            op = tensor.op
            ops[op] = None
            if is_constant(op):
                continue
            if not can_fold(op) or not op.takes or op.waits_for or len(ops) > MOST_OPERATIONS:
                return None
            for position, source in enumerate(op.takes):
                if source in fed and position in op.spec.shape_only_positions:
                    used.setdefault(source, False)
                else:
                    pending.append(source)
    return ops, used


class Decides:
    """Which values feeds give to predicates.

    Args:
      values: those that `predicates` has in the run of which this is a fact.
    """

    def __init__(self, predicates: FedPredicates, values: Mapping[Tensor, NDArray]) -> None:
        self._predicates, self._values = predicates, values
        # What feeds of other runs were found to decide, by the bytes and shapes that decide.
        self._answers: Recent[Hashable, bool] = Recent()

    def holds(self, feeds: Feeds, variables: Collection[str]) -> bool:
        """See `Guard`."""
        key = self._predicates.key(feeds)
        answer = self._answers.get(key)
        if answer is None:
            now = self._predicates.values(feeds)
            same = now.keys() == self._values.keys() and all(content_key(v) == content_key(self._values[t]) for t, v in now.items())
            answer = self._answers[key] = same
        return answer

    def __str__(self) -> str:
        leaves = ", ".join(t.name for t in self._predicates.leaves)
        values = ", ".join(f"{t.name} is {value}" for t, value in self._values.items())
        return f"the feeds {leaves} decide: {values or 'no predicate'}"


class Facts:
    """The facts about a run that planning may ask for before it.

    Args:
      feeds: the values of the fed tensors that may decide predicates. variables: the keys of the variables that have a value.

    Attributes:
      guards: the facts that were asked for, with the answers.
    """

    def __init__(self, feeds: Feeds, variables: Collection[str]) -> None:
        self._feeds, self._variables = feeds, variables
        self.guards: dict[Guard, None] = {}

    def has_value(self, key: str) -> bool:
        """Whether the variable with a key has a value."""
        answer = key in self._variables
        self.guards[HasValue(key, answer)] = None
        return answer

    def has_time_limit(self) -> bool:
        """Whether the run has a time limit."""
        answer = run_limits.seconds_left() is not None
        self.guards[HasTimeLimit(answer)] = None
        return answer

    def decided(self, nodes: Iterable[Node]) -> dict[Tensor, NDArray]:
        """Returns the predicates of the Switches among `nodes` that feeds decide, and what hands them on, with their values."""
        predicates = FedPredicates(nodes, self._feeds) if self._feeds else None
        if predicates is None or not predicates.leaves:
            return {}
        values = predicates.values(self._feeds)
        self.guards[Decides(predicates, values)] = None
        return {predicate: values[root] for predicate, root in predicates.roots.items() if root in values}


NOTHING_FED = Facts({}, ())
"""Those of the inside of a loop, where no feed decides anything."""


class Guarded(Protocol):
    """A plan, or something made from one.

    Attributes:
      guards: the facts that it depends on. is_stale: whether it must not be used again.
    """

    @property
    def guards(self) -> Sequence[Guard]: ...

    @property
    def is_stale(self) -> bool: ...


G = TypeVar("G", bound=Guarded)
K = TypeVar("K", bound=Hashable)


class GuardedCache(Generic[G]):
    """Plans for the same fetches and feeds; the `bound` that were used last are kept. Threads may share one."""

    def __init__(self, bound: int = SHAPES) -> None:
        self.bound = bound
        # The one used last comes first. The tuple is replaced and never changed, so that other threads may search it meanwhile.
        self._kept: tuple[G, ...] = ()

    def __len__(self) -> int:
        return len(self._kept)

    def find(self, fed: Sequence[Tensor], feeds: Sequence[object], variables: Collection[str]) -> G | None:
        """Returns a plan whose guards hold in a run that feeds `feeds` for `fed`, or None."""
        kept = self._kept
        # The usual case: the plan that was used last, which depends on nothing.
        if kept and not kept[0].guards and not kept[0].is_stale:
            return kept[0]
        given = dict(zip(fed, feeds))
        for plan in kept:
            if not plan.is_stale and all([guard.holds(given, variables) for guard in plan.guards]):
                return plan if plan is kept[0] else self.add(plan)
        return None

    def add(self, plan: G) -> G:
        """Adds a plan, or marks it as the one used last; drops stale plans, and the one used longest ago beyond `bound`."""
        others = [other for other in self._kept if other is not plan and not other.is_stale]
        self._kept = (plan, *others[: self.bound - 1])
        return plan


class GuardedCaches(Recent[K, GuardedCache[G]]):
    """Guarded caches by what their plans have in common."""

    def of(self, key: K) -> GuardedCache[G]:
        """Returns the cache of a key, an empty one at first."""
        cache = self.get(key)
        if cache is None:
            cache = self[key] = GuardedCache()
        return cache
