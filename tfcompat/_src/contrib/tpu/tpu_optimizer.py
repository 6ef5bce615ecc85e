"""tf.tpu.CrossShardOptimizer: an optimizer that applies the replicas' gradients together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.contrib.tpu.replication import cross_replica_sum, get_tpu_context
from tfcompat._src.graph import distribution_context
from tfcompat._src.graph.scopes import colocate_with
from tfcompat._src.losses.losses import Reduction
from tfcompat._src.platform import logging
from tfcompat._src.train.optimizer import Optimizer


@export("tpu.CrossShardOptimizer", "contrib.tpu.CrossShardOptimizer")
class CrossShardOptimizer(Optimizer):
    """Sums the gradients of all replicas of a computation, and lets another optimizer apply them once.

    Args:
      opt: an Optimizer.
      reduction: Reduction.MEAN or Reduction.SUM of the replicas' losses.
      name: of the optimizer.
      group_assignment: lists of replica numbers of equal length: gradients are summed within each.

    Raises:
      ValueError: another reduction.
    """

    def __init__(
        self, opt: Optimizer, reduction: str = Reduction.MEAN, name: str = "CrossShardOptimizer", group_assignment: Any = None
    ) -> None:
        if reduction not in (Reduction.SUM, Reduction.MEAN):
            raise ValueError(f"Unsupported reduction: {reduction}.")
        super().__init__(False, name)
        self._opt, self._reduction, self._group_assignment = opt, reduction, group_assignment

    def _subgroup_size(self, shards: int) -> int:
        """The number of replicas whose gradients are summed; ValueError where the groups are not valid."""
        groups = self._group_assignment
        if not groups:
            return shards
        if not isinstance(groups, list) or not all(isinstance(g, list) for g in groups):
            raise ValueError(f"group_assignment must be a list of list. Got {groups}")
        if {i for g in groups for i in g} != set(range(shards)):
            raise ValueError(f"group_assignment must be a permutation of range({shards}). Got group_assignment={groups}")
        if len({len(g) for g in groups}) > 1:
            raise ValueError(f"The size of each subgroup in group_assignment must be equal. Got group_assignment={groups}")
        return len(groups[0])

    def compute_gradients(self, loss: Any, var_list: object = None, **kwargs: Any) -> list[tuple[Any, Any]]:
        """(gradient, variable) pairs of this replica's loss, divided by the number of replicas for Reduction.MEAN."""
        shards = get_tpu_context().number_of_shards
        if shards is None:
            logging.warning(
                "CrossShardOptimizer should be used within a tpu_shard_context, but got unset number_of_shards. Assuming 1."
            )
            shards = 1
        size = self._subgroup_size(shards)
        if shards > 1 and self._reduction == Reduction.MEAN:
            loss *= 1.0 / size
        return self._opt.compute_gradients(loss, var_list=var_list, **kwargs)

    def apply_gradients(self, grads_and_vars: Iterable[tuple], global_step: object = None, name: str | None = None) -> Any:
        """Applies the sums of the replicas' gradients; the operation is the same in every replica.

        Raises:
          NotImplementedError: there are groups, whose variables would differ.
        """
        pairs = list(grads_and_vars)
        shards = get_tpu_context().number_of_shards or 1
        if shards > 1 and self._group_assignment and len(self._group_assignment) > 1:
            raise NotImplementedError("tfcompat has no CrossShardOptimizer with several groups (group_assignment).")
        summed = []
        for grad, variable in pairs:
            if grad is not None and get_tpu_context().number_of_shards is not None:
                with colocate_with(grad):
                    grad = cross_replica_sum(grad)
            summed.append((grad, variable))
        if shards == 1:
            return self._opt.apply_gradients(summed, global_step, name)
        grads, variables = [g for g, _ in summed], [v for _, v in summed]

        def merge(strategy: object, grads: list) -> Any:
            first = [g if g is None else g.values[0] for g in grads]
            return self._opt.apply_gradients(list(zip(first, variables)), global_step, name)

        return distribution_context.current().replica_context.merge_call(merge, args=(grads,))

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        """The slot of the other optimizer."""
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> list[str]:
        """The slot names of the other optimizer."""
        return self._opt.get_slot_names(*args, **kwargs)

    def variables(self) -> list[Any]:
        """The variables of the other optimizer."""
        return self._opt.variables()
