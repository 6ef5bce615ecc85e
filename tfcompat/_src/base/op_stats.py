"""Statistics of nodes, such as their number of floating-point operations, computed by functions registered per op type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.base.registry import Registry
from tfcompat._src.proto import messages


class OpStats:
    """A statistic of an op; statistics of one type can be added.

    Args:
      statistic_type: the name of the statistic, such as "flops".
      value: the number, or None if unknown.
    """

    def __init__(self, statistic_type: str, value: float | None = None) -> None:
        self.statistic_type, self.value = statistic_type, value

    def __iadd__(self, other: OpStats) -> OpStats:
        if other.statistic_type != self.statistic_type:
            raise ValueError(f"Can't add an OpStat of type {self.statistic_type} to one of {other.statistic_type}.")
        if self.value is None:
            self.value = other.value
        elif other.value is not None:
            self.value += other.value
        return self


_stats_registry = Registry("statistical functions")


class RegisterStatistics:
    """Decorator that registers `f(graph, node) -> OpStats` for an op type and a statistic.

    Raises:
      TypeError: a name is no string or contains a comma.
    """

    def __init__(self, op_type: str, statistic_type: str) -> None:
        if not isinstance(op_type, str):
            raise TypeError("op_type must be a string.")
        if "," in op_type:
            raise TypeError("op_type must not contain a comma.")
        if not isinstance(statistic_type, str):
            raise TypeError("statistic_type must be a string.")
        if "," in statistic_type:
            raise TypeError("statistic_type must not contain a comma.")
        self._key = f"{op_type},{statistic_type}"

    def __call__(self, f: Callable[..., Any]) -> Callable[..., Any]:
        _stats_registry.register(f, self._key)
        return f


def get_stats_for_node_def(graph: object, node: messages.NodeDef, statistic_type: str) -> OpStats:
    """Returns the statistic of a NodeDef by the function registered for its op type; an OpStats without value if there is none."""
    try:
        function = _stats_registry.lookup(f"{node.op},{statistic_type}")
    except LookupError:
        return OpStats(statistic_type)
    stats: OpStats = function(graph, node)
    return stats
