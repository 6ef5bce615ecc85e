"""tf.distribute.Strategy and the context of a replica."""

from __future__ import annotations

import contextlib
import copy
import enum
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from tfcompat._src.autograph.api import in_context
from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.distribute.extended import StrategyExtended
from tfcompat._src.distribute.reduce_util import ReduceOp, as_reduce_op
from tfcompat._src.distribute.reentrant_scope import ReentrantScope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.array.shape import size
from tfcompat._src.ops.control.groups import group
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.reduce import reduce_sum

if TYPE_CHECKING:
    from tfcompat._src.proto import messages


@export("distribute.InputReplicationMode")
class InputReplicationMode(enum.Enum):
    """How often an input function is called."""

    PER_WORKER = "PER_WORKER"


@export("distribute.InputContext")
class InputContext:
    """What an input function is told about the replicas that it serves.

    Args:
      num_input_pipelines: how many input pipelines there are.
      input_pipeline_id: the number of this one.
      num_replicas_in_sync: how many replicas train together.
    """

    def __init__(self, num_input_pipelines: int = 1, input_pipeline_id: int = 0, num_replicas_in_sync: int = 1) -> None:
        self._num_input_pipelines, self._input_pipeline_id = num_input_pipelines, input_pipeline_id
        self._num_replicas_in_sync = num_replicas_in_sync

    num_input_pipelines = property(lambda self: self._num_input_pipelines)
    input_pipeline_id = property(lambda self: self._input_pipeline_id)
    num_replicas_in_sync = property(lambda self: self._num_replicas_in_sync)

    def get_per_replica_batch_size(self, global_batch_size: int) -> int:
        """The global batch size divided by the number of replicas; ValueError where it is no multiple of it."""
        if global_batch_size % self._num_replicas_in_sync != 0:
            raise ValueError(
                f"The `global_batch_size` {global_batch_size!r} is not divisible by `num_replicas_in_sync` "
                f"{self._num_replicas_in_sync!r} "
            )
        return global_batch_size // self._num_replicas_in_sync


@export("distribute.Strategy", "contrib.distribute.DistributionStrategy")
class Strategy:
    """How a computation is spread over devices.

    Args:
      extended: a function of this strategy that gives its StrategyExtended, or that itself.
    """

    def __init__(self, extended: StrategyExtended) -> None:
        self._extended = extended
        self._scale_loss_for_estimator = False

    @property
    def extended(self) -> StrategyExtended:
        """What a strategy does beyond what its users call."""
        return self._extended

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas whose gradients are combined."""
        return self._extended._num_replicas_in_sync

    def scope(self) -> contextlib.AbstractContextManager:
        """A block in cross-replica context: variables made inside are distributed variables of this strategy.

        Raises:
          RuntimeError: another strategy is in use, or a replica runs; or the block ends before a scope that was opened inside it.
        """
        return ReentrantScope(lambda: self._extended._scope(self))

    def colocate_vars_with(self, colocate_with_variable: object) -> contextlib.AbstractContextManager:
        """Deprecated: `extended.colocate_vars_with`."""
        return self._extended.colocate_vars_with(colocate_with_variable)

    # ---- input ----

    def make_dataset_iterator(self, dataset: object) -> Any:
        """An iterator that splits each batch of a tf.data.Dataset over the replicas."""
        return self._extended._make_dataset_iterator(dataset)

    def make_input_fn_iterator(
        self, input_fn: Callable[[InputContext], Any], replication_mode: InputReplicationMode = InputReplicationMode.PER_WORKER
    ) -> Any:
        """An iterator over what `input_fn` gives: a tf.data.Dataset of batches for one replica each, or a function that makes one's tensors.

        Args:
          input_fn: takes an InputContext.
          replication_mode: InputReplicationMode.PER_WORKER.

        Raises:
          ValueError: another mode, or `input_fn` gives something else.
        """
        if replication_mode != InputReplicationMode.PER_WORKER:
            raise ValueError(f"Input replication mode not supported: {replication_mode!r}")
        with self.scope():
            return self._extended._make_input_fn_iterator(input_fn)

    def experimental_make_numpy_dataset(self, numpy_input: object, session: SessionLike | None = None) -> Any:
        """A tf.data.Dataset of the rows of a structure of arrays, which `session` keeps in variables."""
        return self._extended.experimental_make_numpy_dataset(numpy_input, session)

    def experimental_distribute_dataset(self, dataset: object) -> Any:
        """A tf.data.Dataset whose batches are split over the replicas."""
        return self._extended._experimental_distribute_dataset(dataset)

    def experimental_distribute_datasets_from_function(self, dataset_fn: Callable) -> Any:
        """The datasets that a function of an InputContext makes, one per worker."""
        return self._extended._experimental_distribute_datasets_from_function(dataset_fn)

    # ---- running ----

    def experimental_run(self, fn: Callable, input_iterator: Any = None) -> Any:
        """`fn` in each replica, with what an iterator of this strategy gives next; see `experimental_run_v2`."""
        with self.scope():
            return self.experimental_run_v2(fn, args=() if input_iterator is None else (input_iterator.get_next(),))

    def experimental_run_v2(self, fn: Callable, args: tuple = (), kwargs: dict | None = None) -> Any:
        """Calls `fn` once per replica; gives its results with PerReplica values at the leaves.

        Args:
          fn: makes the nodes of one replica.
          args, kwargs: its arguments; of a distributed value each replica gets its component.
        """
        with self.scope():
            return self._extended.call_for_each_replica(in_context(fn, by_default=False), args=args, kwargs=kwargs)

    def reduce(self, reduce_op: object, value: object, axis: int | None = None) -> Tensor:
        """The sum or mean of the replicas' values.

        Args:
          reduce_op: a ReduceOp or its name.
          value: what `experimental_run_v2` gave.
          axis: a dimension of the values to reduce too; by default none.

        Raises:
          ValueError: the reduction is none, or `axis` is out of range.
        """
        reduce_op = as_reduce_op(reduce_op)
        if axis is None:
            return self._extended._reduce(reduce_op, value)
        if reduce_op is ReduceOp.SUM:
            sums = self.experimental_run_v2(lambda v: reduce_sum(v, axis=axis), args=(value,))
            return self._extended._reduce(reduce_op, sums)
        numerator, denominator = self.experimental_run_v2(lambda v: _sum_and_count(v, axis), args=(value,))
        total = self._extended._reduce(ReduceOp.SUM, numerator)
        if isinstance(denominator, int):
            return total / (denominator * self.num_replicas_in_sync)
        count = self._extended._reduce(ReduceOp.SUM, denominator)
        with self.scope():
            return total / cast(count, total.dtype)

    def experimental_local_results(self, value: object) -> tuple:
        """The components of a distributed value, or `(value,)`."""
        return self._extended._local_results(value)

    def unwrap(self, value: object) -> tuple:
        """Deprecated: `experimental_local_results`."""
        return self._extended._local_results(value)

    def group(self, value: object, name: str | None = None) -> Any:
        """One operation that waits for all components of `value`."""
        value = self._extended._local_results(value)
        if len(value) != 1 or name is not None:
            return group(value, name=name)
        return getattr(value[0], "op", value[0]) if isinstance(value[0], Tensor) else value[0]

    @contextlib.contextmanager
    def _scale_loss_for_estimator_enabled(self) -> Iterator[None]:
        """A block in which optimizers divide the loss by the number of replicas, unless it is a sum."""
        self._scale_loss_for_estimator = True
        try:
            yield
        finally:
            self._scale_loss_for_estimator = False

    # ---- configuration ----

    def configure(
        self, session_config: messages.ConfigProto | None = None, cluster_spec: object = None, task_type: str | None = None, task_id: int | None = None
    ) -> None:
        """Prepares a session's ConfigProto, and this strategy for a cluster."""
        self._extended._configure(session_config, cluster_spec, task_type, task_id)

    def _in_multi_worker_mode(self) -> bool:
        """Whether other tasks train with this one, by graphs of their own."""
        return self._extended._in_multi_worker_mode()

    def update_config_proto(self, config_proto: object) -> Any:
        """A copy of a ConfigProto with what this strategy needs."""
        return self._extended._update_config_proto(config_proto)

    def __deepcopy__(self, memo: dict) -> Strategy:
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        made.__dict__.update(self.__dict__)
        made._extended = copy.copy(self._extended)
        made._extended._strategy = made
        return made


def _sum_and_count(value: Tensor, axis: int) -> tuple[Tensor, Any]:
    """The sum over a dimension, and of how many elements it is: an int, or an int64 scalar where it is not known."""
    total = reduce_sum(value, axis=axis)
    rank = value.shape.rank
    if rank is not None:
        if not -rank <= axis < rank:
            raise ValueError(f"`axis` = {axis!r} out of range for `value` with rank {rank}")
        count = value.shape.dims[axis].value
        if count is not None:
            return total, _COUNTS.setdefault(count, count)
    if rank == 1:
        return total, size(value, out_type=dtypes.int64)
    return total, shape_of(value, out_type=dtypes.int64)[axis]


_COUNTS: dict[int, int] = {}
