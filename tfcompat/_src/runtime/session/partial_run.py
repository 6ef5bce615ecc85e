"""The state of `Session.partial_run`: a computation that continues from one call to the next, and keeps the values that later calls need."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TypeAlias

import numpy as np

from tfcompat._src.base import array_memory, errors
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.runtime.passes.prune import prune

Needed: TypeAlias = Callable[[Iterable[Tensor], Iterable[Operation], Iterable[Tensor], Collection[Operation]], list[Operation]]
"""Returns the operations that fetched tensors and targets need, given the fed tensors and the operations that have run."""
Compute: TypeAlias = Callable[[list[Tensor], list[Operation], dict[Tensor, object], Collection[Operation]], Iterable[object]]
"""Computes tensors and runs targets, given the values of fed tensors and the operations that have run."""


class PartialRun:
    """The handle of a partial run.

    Args:
      fetched, targets, fed: the tensors and operations that the calls may fetch and feed. needed: see `Needed`.
    """

    def __init__(self, fetched: list[Tensor], targets: list[Operation], fed: list[Tensor], needed: Needed = prune) -> None:
        self._fetches = set(fetched) | set(targets)
        self._fetched: set[Tensor | Operation] = set()
        self._feeds = set(fed)
        self._needed = needed
        self._all = needed(fetched, targets, fed, ())
        self._fed: set[Tensor] = set()
        self._values: dict[Tensor, object] = {}
        self._ran: set[Operation] = set()

    def go_on(self, fetched: list[Tensor], targets: list[Operation], feeds: Mapping[Tensor, object], compute: Compute) -> dict[Tensor, object]:
        """Runs the operations that tensors and targets need and that have not run; returns all values computed and fed so far.

        Raises:
          errors.InvalidArgumentError: a tensor was not named at setup, or was fetched or fed already, or a feed is missing.
        """
        self._check([*fetched, *targets], feeds)
        self._fed.update(feeds)
        self._values.update({t: array_memory.frozen(feeds, t) if isinstance(v, np.ndarray) else v for t, v in feeds.items()})
        # Values of earlier calls cut the graph as feeds do, and targets run once.
        targets = [t for t in targets if t not in self._ran]
        ops = self._needed(fetched, targets, list(self._values), self._ran)
        missing = [t for op in ops for t in op.outputs if t in self._feeds and t not in self._fed]
        if missing:
            raise errors.InvalidArgumentError(None, None, f"Fetch {missing[0].name} can't be computed from the feeds that have been fed so far.")
        # Values that the rest of the computation uses are computed too: their operations do not run again. Refs are read when needed.
        ran = set(ops)
        kept = [t for op in ops for t in op.outputs if t not in self._values and self._is_used_later(t, ran)]
        extra = [t for t in kept if t not in fetched and not t.dtype._is_ref_dtype]
        wanted = [t for t in fetched if t not in self._values] + extra
        self._values.update(zip(wanted, compute(wanted, targets, dict(self._values), frozenset(self._ran))))
        self._ran |= ran
        return dict(self._values)

    def _is_used_later(self, tensor: Tensor, ran: set[Operation]) -> bool:
        return any(tensor in op.takes for op in self._all if op not in self._ran and op not in ran)

    def _check(self, elements: list[Tensor | Operation], feeds: Mapping[Tensor, object]) -> None:
        """Raises InvalidArgumentError for a feed or fetch that is not allowed, and marks the others as fetched."""
        for tensor in feeds:
            if tensor not in self._feeds:
                raise errors.InvalidArgumentError(None, None, f"The feed {tensor.name} was not specified in partial_run_setup.")
            if tensor in self._fed:
                raise errors.InvalidArgumentError(None, None, f"The feed {tensor.name} has already been fed.")
        for element in elements:
            if element not in self._fetches:
                raise errors.InvalidArgumentError(None, None, f"The fetch {element.name} was not specified in partial_run_setup.")
            if element in self._fetched:
                raise errors.InvalidArgumentError(None, None, f"The fetch {element.name} has already been fetched.")
            self._fetched.add(element)
