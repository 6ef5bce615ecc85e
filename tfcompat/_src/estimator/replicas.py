"""One Scaffold of those of all replicas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.base import nest
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.ops.array.join import concat
from tfcompat._src.train.scaffold import Scaffold
from tfcompat._src.variables.collections import global_variables, report_uninitialized_variables


def combined_scaffold(grouped_scaffold: Any, strategy: Any) -> Scaffold:
    """A Scaffold that does what those of all replicas do.

    Args:
      grouped_scaffold: a value of the strategy, one Scaffold per replica.
      strategy: the tf.distribute.Strategy.
    """
    scaffolds = strategy.experimental_local_results(grouped_scaffold)

    def grouped(name: str) -> Any:
        found = [value for value in (getattr(s, name) for s in scaffolds) if value is not None]
        return strategy.group(found) if found else None

    def first(name: str) -> Any:
        return next((value for value in (getattr(s, name) for s in scaffolds) if value is not None), None)

    def joined(fn: Callable[[Scaffold], Any]) -> Any:
        value = strategy.extended.call_for_each_replica(fn, args=(grouped_scaffold,))
        if value is None:
            return None
        parts = nest.flatten(strategy.experimental_local_results(value))
        return concat(parts, 0) if len(parts) != 1 else parts[0]

    return Scaffold(
        init_feed_dict=grouped("init_feed_dict"), init_fn=first("_user_init_fn"), init_op=grouped("init_op"),
        ready_op=joined(lambda scaffold: scaffold.ready_op), ready_for_local_init_op=joined(_ready_for_local_init_op),
        local_init_op=grouped("local_init_op"), summary_op=grouped("summary_op"), saver=first("saver"),
    )  # fmt: skip


def _ready_for_local_init_op(scaffold: Scaffold) -> Any:
    if scaffold.ready_for_local_init_op:
        return scaffold.ready_for_local_init_op
    return Scaffold.get_or_default(
        "ready_for_local_init_op", GraphKeys.READY_FOR_LOCAL_INIT_OP,
        lambda: report_uninitialized_variables(global_variables()),
    )  # fmt: skip
