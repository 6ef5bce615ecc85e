"""Horovod's optimizers, tapes and hooks: what a program trains with over all processes."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.gradients.tape import GradientTape
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import control_dependencies, device, get_default_graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.horovod.compression import Compression
from tfcompat._src.horovod.keras_support import distributed
from tfcompat._src.horovod.processes import Adasum, Average, size
from tfcompat._src.horovod.reductions import allreduce, broadcast_global_variables, reduced_gradients
from tfcompat._src.keras.optimizers.optimizer_v2 import OptimizerV2
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.control.cond import cond
from tfcompat._src.ops.control.groups import group, no_op
from tfcompat._src.train.optimizer import Optimizer
from tfcompat._src.train.session_run_hook import SessionRunHook
from tfcompat._src.variables.scope import get_variable
from tfcompat._src.variables.variable import Variable


class BroadcastGlobalVariablesHook(SessionRunHook):
    """Gives all global variables the values that they have in one process when a session is made.

    Args:
      root_rank: the process. device: where values are sent from.
    """

    def __init__(self, root_rank: int, device: str = "") -> None:
        self.root_rank, self.device = root_rank, device
        self.bcast_op: Operation | None = None

    def begin(self) -> None:
        """Adds the operation to the default graph."""
        if self.bcast_op is None or self.bcast_op.graph is not get_default_graph():
            with device(self.device):
                self.bcast_op = broadcast_global_variables(self.root_rank)

    def after_create_session(self, session: SessionLike, coord: object) -> None:
        """Runs it."""
        session.run(self.bcast_op)


class _Wrapper(Optimizer):
    """An optimizer whose gradients and updates are those of another one."""

    def __init__(self, optimizer: Any, name: str, use_locking: bool) -> None:
        super().__init__(use_locking, name)
        self._optimizer = optimizer

    def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
        """As that of the other optimizer."""
        return self._optimizer.compute_gradients(*args, **kwargs)

    def apply_gradients(self, *args: Any, **kwargs: Any) -> Any:
        """As that of the other optimizer."""
        return self._optimizer.apply_gradients(*args, **kwargs)

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        """As that of the other optimizer."""
        return self._optimizer.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> Any:
        """As that of the other optimizer."""
        return self._optimizer.get_slot_names(*args, **kwargs)

    def variables(self, *args: Any, **kwargs: Any) -> Any:
        """As that of the other optimizer."""
        return self._optimizer.variables(*args, **kwargs)


class _DistributedOptimizer(_Wrapper):
    """An optimizer whose gradients are those of all processes."""

    def __init__(self, optimizer: object, name: str | None, use_locking: bool, *how: Any) -> None:
        name = name or f"Distributed{type(optimizer).__name__}"
        super().__init__(optimizer, name, use_locking)
        self._reduced = reduced_gradients(name, *how)

    def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
        """Pairs of a gradient, reduced over all processes, and its variable."""
        pairs = self._optimizer.compute_gradients(*args, **kwargs)
        if size() == 1:
            return pairs
        return list(zip(self._reduced([gradient for gradient, _ in pairs]), [variable for _, variable in pairs]))


class _DistributedAdasumOptimizer(_Wrapper):
    """An optimizer that updates variables by the gradients of its process, and then adds up what all processes have changed, by Adasum."""

    def __init__(self, optimizer: object, name: str | None, use_locking: bool, device_dense: str, compression: object, passes: int) -> None:
        super().__init__(optimizer, name or f"DistributedDelta{type(optimizer).__name__}", use_locking)
        self._device, self._compression, self._passes = device_dense, compression, passes

    def apply_gradients(self, grads_and_vars: Any, *args: Any, **kwargs: Any) -> Operation | None:
        """The operation that updates the variables; each `backward_passes_per_step`-th time it adds up what was changed."""
        pairs = list(grads_and_vars)
        variables = [variable for gradient, variable in pairs if gradient is not None]
        starts = [self._zeros_slot(variable, "delta_start", self._name) for variable in variables]
        step = get_variable("step_count", [], dtypes.int64, initializer=_zero, trainable=False)
        turn = step % self._passes
        begun = cond(turn == 0, lambda: group(*[s.assign(v) for s, v in zip(starts, variables)]), no_op)
        with control_dependencies([begun]):
            update = self._optimizer.apply_gradients(pairs, *args, **kwargs)
        with control_dependencies([update]):
            joined = cond(turn == self._passes - 1, lambda: self._join(variables, starts), no_op)
        with control_dependencies([joined]):
            return group(step.assign_add(1), name=kwargs.get("name"))

    def _join(self, variables: list[Variable], starts: list[Variable]) -> Operation:
        changes = [v.read_value() - s.read_value() for v, s in zip(variables, starts)]
        totals = [allreduce(c, None, self._device, "", self._compression, Adasum) for c in changes]
        found: Operation = group(*[v.assign(s.read_value() + t) for v, s, t in zip(variables, starts, totals)])
        return found


def _zero(shape: object, dtype: object = None, partition_info: object = None) -> Tensor:
    return constant(0, dtypes.int64)


def DistributedOptimizer(
    optimizer: object, name: str | None = None, use_locking: bool = False, device_dense: str = "", device_sparse: str = "",
    compression: object = Compression.none, sparse_as_dense: bool = False, backward_passes_per_step: int = 1, op: int = Average,
) -> Any:  # fmt: skip
    """An optimizer that works with the gradients of all processes.

    Args:
      optimizer: a tf.train.Optimizer or tf.keras.optimizers.Optimizer.
      name: of its nodes, by default "Distributed" and its class. use_locking: as of tf.train.Optimizer.
      device_dense, device_sparse: where gradients that are tensors, or IndexedSlices, are reduced.
      compression: a Compressor. sparse_as_dense: whether IndexedSlices become tensors first.
      backward_passes_per_step: with Adasum, after how many updates changes are added up.
      op: Average, Sum or Adasum.

    Raises:
      ValueError: `optimizer` is neither, or what is asked for exists with Adasum, or with a tf.train.Optimizer, only.
    """
    if isinstance(optimizer, Optimizer):
        if op == Adasum:
            return _DistributedAdasumOptimizer(optimizer, name, use_locking, device_dense, compression, backward_passes_per_step)
        if backward_passes_per_step > 1:
            raise ValueError("backward_passes_per_step>1 is not supported yet with op != Adasum")
        how = (device_dense, device_sparse, compression, sparse_as_dense, op)
        return _DistributedOptimizer(optimizer, name, use_locking, *how)
    if isinstance(optimizer, OptimizerV2):
        if op == Adasum or backward_passes_per_step > 1:
            raise ValueError("op == Adasum and backward_passes_per_step > 1 are not supported yet with Keras")
        return distributed(optimizer, name, device_dense, device_sparse, compression, sparse_as_dense)
    raise ValueError(f"Provided optimizer doesn't inherit from either legacy TensorFlow or Keras optimizer: {optimizer}")


class _DistributedGradientTape(GradientTape):
    """A tape whose gradients are those of all processes; it shares what another tape has recorded."""

    def __init__(self, tape: GradientTape, *how: Any) -> None:
        self.__dict__ = tape.__dict__
        self._reduced = reduced_gradients("DistributedGradientTape", *how)

    def gradient(self, target: object, sources: object, output_gradients: object = None, **kwargs: Any) -> Any:
        """As that of GradientTape, of a list of sources, reduced over all processes."""
        found = super().gradient(target, sources, output_gradients, **kwargs)
        if size() == 1:
            return found
        return self._reduced(found) if isinstance(found, (list, tuple)) else self._reduced([found])[0]


def DistributedGradientTape(
    gradtape: GradientTape, device_dense: str = "", device_sparse: str = "", compression: object = Compression.none,
    sparse_as_dense: bool = False, op: int = Average,
) -> GradientTape:  # fmt: skip
    """A tape whose gradients are those of all processes; arguments as of DistributedOptimizer."""
    return _DistributedGradientTape(gradtape, device_dense, device_sparse, compression, sparse_as_dense, op)
