"""The context of one replica."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.base import nest
from tfcompat._src.base.export import export
from tfcompat._src.distribute.reduce_util import as_reduce_op
from tfcompat._src.gradients.custom_gradient import gradient_of_tensors
from tfcompat._src.graph import distribution_context
from tfcompat._src.nodes.indexed_slices import IndexedSlices


@export("distribute.ReplicaContext", "contrib.distribute.ReplicaContext")
class ReplicaContext:
    """A block in which nodes are made for one replica.

    Args:
      strategy: the strategy.
      replica_id_in_sync_group: the replica's number, an int32 scalar.
    """

    def __init__(self, strategy: Any, replica_id_in_sync_group: Any) -> None:
        self._strategy, self._replica_id_in_sync_group = strategy, replica_id_in_sync_group
        self._summary_recording_distribution_strategy = None

    @property
    def strategy(self) -> Any:
        """The strategy that this replica belongs to."""
        return self._strategy

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas."""
        return self._strategy.num_replicas_in_sync

    @property
    def replica_id_in_sync_group(self) -> Any:
        """The number of this replica."""
        self._require()
        return self._replica_id_in_sync_group

    @property
    def devices(self) -> tuple[str, ...]:
        """The devices of this replica."""
        self._require()
        return tuple(self._strategy.extended.worker_devices)

    def __enter__(self) -> None:
        distribution_context.push(self._strategy, self)

    def __exit__(self, *exc_info: Any) -> None:
        distribution_context.pop()

    def _require(self) -> None:
        require_replica_context(self)

    def merge_call(self, merge_fn: Callable, args: tuple = (), kwargs: dict | None = None) -> Any:
        """Waits for the other replicas, and calls `merge_fn` once, in cross-replica context.

        Args:
          merge_fn: takes the strategy, then the replicas' arguments as PerReplica values.
          args, kwargs: the arguments of this replica.

        Returns:
          This replica's component of what `merge_fn` gives.

        Raises:
          RuntimeError: this context is not in use.
        """
        self._require()
        return self._merge_call(merge_fn, args, kwargs or {})

    def _merge_call(self, merge_fn: Callable, args: tuple, kwargs: dict) -> Any:
        distribution_context.push(self._strategy)
        try:
            return merge_fn(self._strategy, *args, **kwargs)
        finally:
            distribution_context.pop()

    def all_reduce(self, reduce_op: Any, value: Any) -> Any:
        """The sum or mean over the replicas of each tensor in a nest; its gradient is the reduction of the gradients.

        Args:
          reduce_op: a ReduceOp or its name.
          value: a nest of tensors or IndexedSlices.

        Raises:
          ValueError: the reduction is none of the two.
        """
        reduce_op = as_reduce_op(reduce_op)

        def merge(strategy: Any, *flat: Any) -> list:
            return strategy.extended.batch_reduce_to(reduce_op, [(v, _where(v)) for v in flat])

        flat = nest.flatten(value)
        if any(isinstance(v, IndexedSlices) for v in flat):
            return nest.pack_sequence_as(value, self.merge_call(merge, args=tuple(flat)))

        @gradient_of_tensors
        def reduced(*values: Any) -> tuple:
            return self.merge_call(merge, args=values), lambda *slopes: self.all_reduce(reduce_op, list(slopes))

        found = reduced(*flat)
        return nest.pack_sequence_as(value, list(found) if isinstance(found, (list, tuple)) else [found])


def _where(value: object) -> Any:
    """The destinations of a value that goes back to where it came from."""
    return value.device if isinstance(value, IndexedSlices) else value


@export("contrib.distribute.require_replica_context")
def require_replica_context(replica_ctx: ReplicaContext) -> None:
    """Raises RuntimeError where `replica_ctx` is not in use in this thread."""
    mode = distribution_context.current()
    if mode is None:
        if not replica_ctx.strategy.extended._is_default:
            raise RuntimeError("Need to be inside `call_for_each_replica()`")
        return
    if mode.replica_context is replica_ctx:
        return
    if mode.replica_context is None:
        raise RuntimeError("Need to be inside `call_for_each_replica()`")
    if mode.strategy is replica_ctx.strategy:
        raise RuntimeError("Mismatching ReplicaContext.")
    raise RuntimeError(f"Mismatching tf.distribute.Strategy objects: {mode.strategy} is not {replica_ctx.strategy}.")


@export("contrib.distribute.UpdateContext")
class UpdateContext:
    """A block in which a distributed variable means its component on `device`."""

    def __init__(self, device: str) -> None:
        self._device = device

    def __enter__(self) -> None:
        self._open = distribution_context.updating(self._device)
        self._open.__enter__()

    def __exit__(self, *exc_info: Any) -> None:
        self._open.__exit__(*exc_info)


