"""Optimizers around another optimizer: averages of the variables, clipping, dropped gradients, multi-task learning."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import colocate_with, control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.indexed_slices import IndexedSlices
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.control.cond import cond
from tfcompat._src.ops.control.groups import group, no_op
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.clip import clip_by_global_norm, clip_by_norm, global_norm
from tfcompat._src.ops.math.compare import equal
from tfcompat._src.ops.math.reduce import count_nonzero
from tfcompat._src.platform import logging
from tfcompat._src.summary.summary import scalar
from tfcompat._src.train.adagrad import AdagradOptimizer
from tfcompat._src.train.moving_averages import ExponentialMovingAverage
from tfcompat._src.train.optimizer import Optimizer
from tfcompat._src.train.saveable_object_util import op_list_to_dict
from tfcompat._src.train.saver import Saver
from tfcompat._src.variables.collections import global_variables
from tfcompat._src.variables.initializers import Zeros
from tfcompat._src.variables.partitioned import PartitionedVariable
from tfcompat._src.variables.scope import get_variable
from tfcompat._src.variables.training_util import get_global_step

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@export("contrib.opt.RegAdagradOptimizer")
class RegAdagradOptimizer(AdagradOptimizer):
    """tf.train.AdagradOptimizer whose accumulators can be held fixed, say while a regularization loss is minimized.

    Args: as of tf.train.AdagradOptimizer.
    """

    def __init__(
        self, learning_rate: object, initial_accumulator_value: float = 0.1, use_locking: bool = False,
        name: str = "RegAdagrad",
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, initial_accumulator_value, use_locking, name)
        self._should_update_slots = True

    @contextlib.contextmanager
    def avoid_updating_slots(self):
        """Updates that are made inside leave the accumulators as they are."""
        before, self._should_update_slots = self._should_update_slots, False
        try:
            yield
        finally:
            self._should_update_slots = before

    def _rule(self, var: object, as_type: Callable[[Any], Tensor]) -> tuple[str, dict[str, str], dict[str, Any]]:
        op_type, slots, settings = super()._rule(var, as_type)
        return op_type, slots, {**settings, "update_slots": self._should_update_slots}


@export("contrib.opt.MovingAverageOptimizer")
class MovingAverageOptimizer(Optimizer):
    """Minimizes by another optimizer and keeps moving averages of the variables, which `swapping_saver` saves.

    Args:
      opt: the optimizer that does the work.
      average_decay, num_updates: as of tf.train.ExponentialMovingAverage.
      sequential_update: whether the averages are updated after the variables.
    """

    def __init__(
        self, opt: Optimizer, average_decay: object = 0.9999, num_updates: object = None, sequential_update: bool = True
    ) -> None:
        self._optimizer, self._sequential_update = opt, sequential_update
        self._ema = ExponentialMovingAverage(average_decay, num_updates=num_updates)
        self._swapped_variable_name_map: dict[str, str] | None = None

    def compute_gradients(self, *args: Any, **kwargs: Any) -> list[tuple[Any, Any]]:
        """As of the optimizer that does the work."""
        return self._optimizer.compute_gradients(*args, **kwargs)

    def apply_gradients(self, grads_and_vars: Iterable, global_step: object = None, name: str | None = None) -> Operation:
        """As of tf.train.Optimizer; updates the averages as well."""
        pairs = list(grads_and_vars)
        train_op = self._optimizer.apply_gradients(pairs, global_step=global_step, name=name)
        changed = [v for g, v in pairs if g is not None]
        with control_dependencies([train_op] if self._sequential_update else []):
            averages = self._ema.apply(changed)
        self._swapped_variable_name_map = {}
        for v in changed:
            average = self._ema.average(v).op.name
            self._swapped_variable_name_map.update({v.op.name: average, average: v.op.name})
        return group(train_op, averages, name="train_with_avg")

    def _swapped(self, saved: dict[str, Any], name: str, value: object) -> Any:
        other = self._swapped_variable_name_map.get(name)
        if other is None:
            return value
        if other not in saved:
            raise ValueError(
                f"Variable to swap {other} is not part of variables to save. This breaks MovingAverageOptimizer."
            )
        return saved[other]

    def swapping_saver(self, var_list: object = None, name: str = "swapping_saver", **kwargs: Any) -> Saver:
        """A tf.train.Saver that saves each average under the variable's name, and the variable under the average's.

        Args:
          var_list: list or dict of variables; by default all.
          name: name of its nodes.
          **kwargs: other arguments of tf.train.Saver.

        Raises:
          RuntimeError: there are no averages yet. ValueError: a variable is in the list without its average.
        """
        if self._swapped_variable_name_map is None:
            raise RuntimeError("Must call apply_gradients or minimize before creating the swapping_saver")
        var_list = global_variables() if var_list is None else var_list
        if not isinstance(var_list, dict):
            var_list = op_list_to_dict(var_list)
        saved = {}
        for key, value in var_list.items():
            parts = isinstance(value, (list, PartitionedVariable))
            saved.update({part.op.name: part for part in value} if parts else {key: value})
        swapped = {
            key: [self._swapped(saved, part.op.name, part) for part in value]
            if isinstance(value, list)
            else self._swapped(saved, key, value)
            for key, value in var_list.items()
        }
        return Saver(swapped, name=name, **kwargs)


class _SlotsOfInner(Optimizer):
    """An optimizer whose slots are those of the optimizer `_opt` inside it."""

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        """As of the optimizer that does the work."""
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> list[str]:
        """As of the optimizer that does the work."""
        return self._opt.get_slot_names(*args, **kwargs)


@export("contrib.opt.VariableClippingOptimizer")
class VariableClippingOptimizer(_SlotsOfInner):
    """Clips variables by their norm after each update of another optimizer.

    Args:
      opt: the optimizer that does the work.
      vars_to_clip_dims: dict from variables to lists of the dimensions that a norm is taken over.
      max_norm: the largest norm, a number.
      use_locking: passed on to the update operations.
      colocate_clip_ops_with_vars: whether the norms are computed where the variables are.
      name: name of the training operation.
    """

    def __init__(
        self, opt: Optimizer, vars_to_clip_dims: dict, max_norm: object, use_locking: bool = False,
        colocate_clip_ops_with_vars: bool = False, name: str = "VariableClipping",
    ) -> None:  # fmt: skip
        super().__init__(use_locking, name)
        self._opt, self._max_norm = opt, max_norm
        self._vars_to_clip_dims = {var: list(dims) for var, dims in vars_to_clip_dims.items()}
        self._colocate_clip_ops_with_vars = colocate_clip_ops_with_vars

    def compute_gradients(self, *args: Any, **kwargs: Any) -> list[tuple[Any, Any]]:
        """As of the optimizer that does the work."""
        return self._opt.compute_gradients(*args, **kwargs)

    def apply_gradients(self, grads_and_vars: Iterable, global_step: object = None, name: str | None = None) -> Operation:
        """As of tf.train.Optimizer; clips afterwards."""
        pairs = list(grads_and_vars)
        with name_scope(name, self._name) as scope:
            update = self._opt.apply_gradients(pairs, global_step=global_step)
            clips = []
            with control_dependencies([update]):
                for grad, var in pairs:
                    if grad is not None and var in self._vars_to_clip_dims:
                        with name_scope("clip_" + var.op.name):
                            dense = isinstance(grad, Tensor)
                            clips.append(self._clip_dense(var) if dense else self._clip_sparse(grad, var))
            return group(update, *clips, name=scope)

    def _place(self, var: object) -> Any:
        return colocate_with(var) if self._colocate_clip_ops_with_vars else contextlib.nullcontext()

    def _clip_dense(self, var: Any) -> Any:
        with self._place(var):
            value = var.read_value()
            excess = value - clip_by_norm(value, self._max_norm, self._vars_to_clip_dims[var])
        with colocate_with(var):
            return var.assign_sub(excess, use_locking=self._use_locking)

    def _clip_sparse(self, grad: IndexedSlices, var: Any) -> Any:
        dims = self._vars_to_clip_dims[var]
        if 0 in dims:
            logging.warning(
                "Clipping norm across dims %s for %s is inefficient when including sparse dimension 0.", dims, var.op.name
            )
            return self._clip_dense(var)
        with colocate_with(var):
            rows = gather(var, grad.indices)
        with self._place(var):
            excess = IndexedSlices(rows - clip_by_norm(rows, self._max_norm, dims), grad.indices, grad.dense_shape)
        with colocate_with(var):
            return var.scatter_sub(excess, use_locking=self._use_locking)


@export("contrib.opt.DropStaleGradientOptimizer")
class DropStaleGradientOptimizer(_SlotsOfInner):
    """Drops gradients that were computed more than `staleness` global steps ago.

    Args:
      opt: the optimizer that does the work.
      staleness: the largest difference of global steps, a number.
      use_locking: passed on to the update operations.
      name: name of the optimizer.
    """

    def __init__(self, opt: Optimizer, staleness: object, use_locking: bool = False, name: str = "DropStaleGradient") -> None:
        super().__init__(use_locking, name)
        self._opt, self._staleness = opt, staleness

    def compute_gradients(self, loss: TensorLike, *args: Any, **kwargs: Any) -> list[tuple[Any, Any]]:
        """As of the optimizer that does the work; remembers the global step."""
        with colocate_with(loss):
            self._local_step = get_global_step() + 0
        with control_dependencies([self._local_step]):
            return self._opt.compute_gradients(raw.Identity(loss), *args, **kwargs)

    def apply_gradients(self, grads_and_vars: Iterable, global_step: Any = None, name: str | None = None) -> Any:
        """The update of the count of dropped gradients, which applies the others."""
        pairs = list(grads_and_vars)
        with colocate_with(global_step):
            dropped = get_variable("stale_counter", [], initializer=Zeros(), trainable=False)

        def accept() -> Tensor:
            with control_dependencies([self._opt.apply_gradients(pairs, global_step=global_step, name=name)]):
                return raw.Identity(0.0)

        ready = [g if isinstance(g, Tensor) else g.op for g, _ in pairs if g is not None]
        with control_dependencies(ready), colocate_with(global_step):
            staleness = raw.Reshape(global_step - self._local_step, ())
        is_fresh = raw.LessEqual(staleness, self._staleness)
        update = dropped.assign_add(cond(is_fresh, accept, lambda: raw.Identity(1.0)))
        scalar("Gradient staleness percentage", dropped / cast(global_step + 1, dtypes.float32))
        return update


def _is_all_zeros(grad: object) -> Tensor:
    return equal(count_nonzero(grad), 0)


def _skipping_zeros(apply: Callable) -> Callable:
    @functools.wraps(apply)
    def wrapper(grad: object, *args: Any, **kwargs: Any) -> Any:
        def applied() -> Operation:
            with control_dependencies([apply(grad, *args, **kwargs)]):
                return no_op()

        return cond(_is_all_zeros(grad), no_op, applied)

    return wrapper


@export("contrib.opt.MultitaskOptimizerWrapper")
class MultitaskOptimizerWrapper:
    """An optimizer that leaves variables and slots alone whose gradient is all zeros in a step.

    Args:
      opt: the optimizer that does the work; it is changed.

    Raises:
      TypeError: `opt` is no optimizer.
    """

    def __init__(self, opt: Optimizer) -> None:
        if not isinstance(opt, Optimizer):
            raise TypeError("Supplied optimizer must be an instance of tf.train.Optimizer")
        self._opt = opt
        for name in ("_apply_dense", "_resource_apply_dense", "_apply_sparse", "_resource_apply_sparse"):
            setattr(opt, name, _skipping_zeros(getattr(opt, name)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._opt, name)


@export("contrib.opt.clip_gradients_by_global_norm")
def clip_gradients_by_global_norm(gradients_variables: Iterable, clip_norm: object = 20.0) -> tuple[list, Tensor]:
    """Clips gradients by their global norm, without turning zeros into something else.

    Args:
      gradients_variables: (gradient, variable) pairs.
      clip_norm: the largest norm, a number or scalar tensor.

    Returns:
      the pairs with clipped gradients, and the global norm.
    """
    gradients, variables = zip(*gradients_variables)

    def without_zeros(grad: Any) -> Any:
        if grad is None:
            return None
        return cond(_is_all_zeros(grad), lambda: zeros([], dtype=dtypes.as_dtype(grad.dtype)), lambda: grad)

    size = global_norm([without_zeros(g) for g in gradients])
    clipped, _ = clip_by_global_norm(list(gradients), clip_norm, use_norm=size)
    return list(zip(clipped, variables)), size
