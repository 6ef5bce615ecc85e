"""A computation that goes on from one `partial_run` call to the next."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import array_memory, errors
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.runtime.execute import execute, fetched_value
from tfcompat._src.runtime.prune import prune
from tfcompat._src.runtime.run_context import RunContext

if TYPE_CHECKING:
    from tfcompat._src.runtime.fetch import Fetches


class PartialRun:
    """The handle: what may be fetched and fed, what has been, and the values of what has run."""

    def __init__(self, fetched: list[Tensor], targets: list[Operation], fed: list[Tensor]) -> None:
        self._fetches = set(fetched) | set(targets)
        self._fetched: set[Tensor | Operation] = set()
        self._feeds = set(fed)
        self._all = prune(fetched, targets, fed)
        self._fed: set[Tensor] = set()
        self._values: dict[Tensor, Any] = {}
        self._ran: set[Operation] = set()

    def go_on(self, wanted: Fetches, feeds: dict[Tensor, Any], session: RunContext, make_plan: Callable[..., Any]) -> list[Any]:
        self._check(wanted, feeds)
        self._fed.update(feeds)
        self._values.update({t: array_memory.frozen(feeds, t) if isinstance(v, np.ndarray) else v for t, v in feeds.items()})
        done = list(self._values)
        ops = prune(wanted.tensors, [t for t in wanted.targets if t not in self._ran], done)
        missing = [t for op in ops for t in op.outputs if t in self._feeds and t not in self._fed]
        if missing:
            raise errors.InvalidArgumentError(
                None, None, f"Fetching {wanted.tensors or wanted.targets} needs the feed {missing[0].name!r}, which has not been given."
            )
        ran = set(ops)
        kept = [t for op in ops for t in op.outputs if t not in self._values and self._is_used_later(t, ran)]
        extra = [t for t in kept if t not in wanted.tensors and not t.dtype._is_ref_dtype]
        targets = [t for t in wanted.targets if t not in self._ran]
        fetch = [t for t in wanted.tensors if t not in self._values] + extra
        plan = make_plan(fetch, targets, done, [self._values[t] for t in done])
        self._values.update(zip(fetch, execute(plan, [self._values[t] for t in done], session, _result)))
        self._ran |= ran
        return [fetched_value(t, dict(self._values), session) for t in wanted.tensors]

    def _is_used_later(self, tensor: Tensor, ran: set[Operation]) -> bool:
        return any(tensor in op.takes for op in self._all if op not in self._ran and op not in ran)

    def _check(self, wanted: Fetches, feeds: dict[Tensor, Any]) -> None:
        for tensor in feeds:
            if tensor not in self._feeds:
                raise errors.InvalidArgumentError(None, None, f"The feed {tensor.name} was not specified in partial_run_setup.")
            if tensor in self._fed:
                raise errors.InvalidArgumentError(None, None, f"The feed {tensor.name} has already been fed.")
        elements: list[Tensor | Operation] = [*wanted.tensors, *wanted.targets]
        for element in elements:
            if element not in self._fetches:
                raise errors.InvalidArgumentError(None, None, f"The fetch {element.name} was not specified in partial_run_setup.")
            if element in self._fetched:
                raise errors.InvalidArgumentError(None, None, f"The fetch {element.name} has already been fetched.")
            self._fetched.add(element)


def _result(tensor: Tensor, values: dict[Tensor, Any], session: RunContext) -> Any:
    """A value for later calls: what the run made, or what a fetch shows of a variable."""
    return values[tensor] if tensor in values else fetched_value(tensor, values, session)
