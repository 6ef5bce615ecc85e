"""tf.train.SyncReplicasOptimizer: one step from the gradients of several workers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import colocate_with, control_dependencies, device, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.indexed_slices import IndexedSlices
from tfcompat._src.ops.array.fill import fill
from tfcompat._src.ops.control.groups import group, no_op
from tfcompat._src.ops.queues.accumulators import ConditionalAccumulator, SparseConditionalAccumulator
from tfcompat._src.ops.queues.queue import FIFOQueue
from tfcompat._src.platform import logging
from tfcompat._src.train.optimizer import Optimizer
from tfcompat._src.train.queue_runner import QueueRunner
from tfcompat._src.train.session_manager import _reason
from tfcompat._src.train.session_run_hook import SessionRunHook
from tfcompat._src.variables import assign
from tfcompat._src.variables.collections import global_variables, report_uninitialized_variables
from tfcompat._src.variables.variable import Variable


@export("train.SyncReplicasOptimizer")
class SyncReplicasOptimizer(Optimizer):
    """Collects the gradients of several replicas, drops stale ones, applies their mean, and lets the replicas go on.

    A replica waits for a token that the chief puts in a queue when a step is done; the token is the new global step.

    Args:
      opt: the optimizer that applies the means.
      replicas_to_aggregate: how many gradients make a step.
      total_num_replicas: how many replicas there are; by default `replicas_to_aggregate`.
      variable_averages: an ExponentialMovingAverage, applied after each step.
      variables_to_average: the variables of the averages.
      use_locking: passed on to the update operations.
      name: name of the optimizer.
    """

    def __init__(
        self, opt: Optimizer, replicas_to_aggregate: int, total_num_replicas: int | None = None,
        variable_averages: Any = None, variables_to_average: Any = None, use_locking: bool = False,
        name: str = "sync_replicas",
    ) -> None:  # fmt: skip
        total_num_replicas = replicas_to_aggregate if total_num_replicas is None else total_num_replicas
        super().__init__(use_locking, name)
        logging.info(
            "SyncReplicasV2: replicas_to_aggregate=%s; total_num_replicas=%s", replicas_to_aggregate, total_num_replicas
        )
        self._opt, self._replicas_to_aggregate, self._total_num_replicas = opt, replicas_to_aggregate, total_num_replicas
        self._tokens_per_step = max(total_num_replicas, replicas_to_aggregate)
        self._variable_averages, self._variables_to_average = variable_averages, variables_to_average
        self._gradients_applied = False
        self._global_step = self._sync_token_queue = self._chief_queue_runner = None
        self._accumulator_list: list[tuple[Any, Any]] = []

    def compute_gradients(self, *args: Any, **kwargs: Any) -> list[tuple[Any, Any]]:
        """As of the optimizer that does the work."""
        return self._opt.compute_gradients(*args, **kwargs)

    def apply_gradients(self, grads_and_vars: Iterable, global_step: Any = None, name: str | None = None) -> Any:
        """The operation of one replica's step: it gives its gradients and waits for its token.

        Raises:
          ValueError: there is no variable, no global step, or a gradient is neither a Tensor nor IndexedSlices.
        """
        if not grads_and_vars:
            raise ValueError("Must supply at least one variable")
        if global_step is None:
            raise ValueError("Global step is required to check staleness")
        self._global_step = global_step
        with colocate_with(no_op()):
            self._local_step = Variable(
                initial_value=0, trainable=False, collections=[GraphKeys.LOCAL_VARIABLES],
                dtype=global_step.dtype.base_dtype, name="sync_rep_local_step",
            )  # fmt: skip
        self.local_step_init_op = assign.assign(self._local_step, global_step)
        self.ready_for_local_init_op = report_uninitialized_variables(global_variables())
        with name_scope(None, self._name):
            given, means = [], []
            for grad, var in grads_and_vars:
                with device(var.device):
                    means.append((self._aggregated(grad, var, given), var))
            with device(global_step.device), name_scope(""):
                update = self._opt.apply_gradients(means, global_step)
                step_type = global_step.dtype.base_dtype
                self._sync_token_queue = FIFOQueue(-1, step_type, shapes=(), name="sync_token_q", shared_name="sync_token_q")
                dummy_queue = FIFOQueue(1, dtypes.int32, shapes=(), name="dummy_queue", shared_name="dummy_queue")
                train_op = self._synchronized(given, update, dummy_queue)
            init_ops = [self.local_step_init_op]
            for accumulator, place in self._accumulator_list:
                with device(place):
                    init_ops.append(accumulator.set_global_step(global_step, name="SetGlobalStep"))
            self.chief_init_op = group(*init_ops)
            self._gradients_applied = True
            return train_op

    def _aggregated(self, grad: Any, var: Any, given: list[Operation]) -> Any:
        """The mean of the gradients of a variable; `given` gets the operation that adds this replica's."""
        if grad is None:
            return None
        shared_name = var.name + "/grad_accum"
        if isinstance(grad, Tensor):
            accumulator = ConditionalAccumulator(grad.dtype, shape=var.shape, shared_name=shared_name)
            given.append(accumulator.apply_grad(grad, local_step=self._local_step))
            mean = accumulator.take_grad(self._replicas_to_aggregate)
        elif isinstance(grad, IndexedSlices):
            accumulator = SparseConditionalAccumulator(grad.dtype, shape=(), shared_name=shared_name)
            given.append(accumulator.apply_indexed_slices_grad(grad, local_step=self._local_step))
            mean = accumulator.take_indexed_slices_grad(self._replicas_to_aggregate)
        else:
            raise ValueError("Unknown grad type!")
        self._accumulator_list.append((accumulator, var.device))
        return mean

    def _synchronized(self, given: list[Operation], update: Operation, dummy_queue: FIFOQueue) -> Any:
        """A replica's wait for its token; the chief's queue runner gets what makes the tokens."""
        queue = self._sync_token_queue
        with control_dependencies(given):
            token = queue.dequeue()
        train_op = assign.assign(self._local_step, token)
        with control_dependencies([update]):
            tokens = fill([self._tokens_per_step], self._global_step)
            sync_op = queue.enqueue_many((tokens,))
        if self._variable_averages is not None:
            with control_dependencies([sync_op]), name_scope(""):
                sync_op = self._variable_averages.apply(self._variables_to_average)
        self._chief_queue_runner = QueueRunner(dummy_queue, [sync_op])
        return train_op

    def get_chief_queue_runner(self) -> QueueRunner:
        """The queue runner that the chief runs. ValueError: before `apply_gradients`."""
        if not self._gradients_applied:
            raise ValueError("Should be called after apply_gradients().")
        return self._chief_queue_runner

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        """As of the optimizer that does the work."""
        return self._opt.get_slot(*args, **kwargs)

    def variables(self) -> list[Any]:
        """As of the optimizer that does the work."""
        return self._opt.variables()

    def get_slot_names(self, *args: Any, **kwargs: Any) -> list[str]:
        """As of the optimizer that does the work."""
        return self._opt.get_slot_names(*args, **kwargs)

    def get_init_tokens_op(self, num_tokens: int = -1) -> Operation:
        """The operation that puts the first tokens in the queue.

        Args:
          num_tokens: how many; -1 is `replicas_to_aggregate`.

        Raises:
          ValueError: before `apply_gradients`, or for too few tokens.
        """
        if not self._gradients_applied:
            raise ValueError("get_init_tokens_op() should be called after apply_gradients().")
        needed = self._replicas_to_aggregate - self._total_num_replicas
        if num_tokens == -1:
            num_tokens = self._replicas_to_aggregate
        elif num_tokens < needed:
            raise ValueError(
                f"Too few tokens to finish the first step: {num_tokens:d} (given) vs {needed:d} (needed)"
            )
        if num_tokens <= 0:
            return no_op(name="no_init_tokens")
        with device(self._global_step.device), name_scope(""):
            return self._sync_token_queue.enqueue_many((fill([num_tokens], self._global_step),))

    def make_session_run_hook(self, is_chief: bool, num_tokens: int = -1) -> SessionRunHook:
        """The hook that initializes a replica, and on the chief starts the queue runner."""
        return _SyncReplicasHook(self, is_chief, num_tokens)


class _SyncReplicasHook(SessionRunHook):
    def __init__(self, optimizer: SyncReplicasOptimizer, is_chief: bool, num_tokens: int) -> None:
        self._sync_optimizer, self._is_chief, self._num_tokens = optimizer, is_chief, num_tokens

    def begin(self) -> None:
        optimizer = self._sync_optimizer
        if not optimizer._gradients_applied:
            raise ValueError("SyncReplicasOptimizer.apply_gradient should be called before using the hook.")
        self._local_init_op = optimizer.chief_init_op if self._is_chief else optimizer.local_step_init_op
        self._ready_for_local_init_op = optimizer.ready_for_local_init_op
        self._q_runner = optimizer.get_chief_queue_runner() if self._is_chief else None
        self._init_tokens_op = optimizer.get_init_tokens_op(self._num_tokens) if self._is_chief else None

    def after_create_session(self, session: SessionLike, coord: Any) -> None:
        missing = _reason(
            self._ready_for_local_init_op, session, "Model is not ready for SyncReplicasOptimizer local init."
        )
        if missing is not None:
            raise RuntimeError(
                "Init operations did not make model ready for SyncReplicasOptimizer local_init. "
                f"Init op: {self._local_init_op.name}, error: {missing}"
            )
        session.run(self._local_init_op)
        if self._init_tokens_op is not None:
            session.run(self._init_tokens_op)
        if self._q_runner is not None:
            self._q_runner.create_threads(session, coord=coord, daemon=True, start=True)
