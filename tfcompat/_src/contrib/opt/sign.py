"""AddSign and PowerSign (Bello, Zoph, Vasudevan & Le 2017): steps that grow where gradient and momentum agree in sign."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.nodes.indexed_slices import IndexedSlices
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.search import where
from tfcompat._src.ops.control.groups import group
from tfcompat._src.ops.math.binary import floormod, maximum, minimum, power
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import greater_equal
from tfcompat._src.ops.math.unary import cos, sign
from tfcompat._src.train.optimizer import Optimizer
from tfcompat._src.variables import assign


class _SignOptimizer(Optimizer):
    """What AddSign and PowerSign share: the average of the gradient, and the decay of the sign's weight."""

    _op_type: str

    def __init__(
        self, learning_rate: Any, beta: Any, sign_decay_fn: Callable | None, use_locking: bool, name: str
    ) -> None:
        super().__init__(use_locking, name)
        self._lr, self._beta, self._sign_decay_fn = learning_rate, beta, sign_decay_fn
        self._lr_t = self._beta_t = self._sign_decay_t = None

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Operation:
        if self._sign_decay_fn is not None:
            self._sign_decay_t = convert_to_tensor(self._sign_decay_fn(global_step), name="sign_decay")
        return super().apply_gradients(grads_and_vars, global_step=global_step, name=name)

    def _create_slots(self, var_list: list[Any]) -> None:
        for v in var_list:
            self._zeros_slot(v, "m", self._name)

    def _strength(self) -> tuple[str, Tensor]:
        """The input of the op for the strength of the signs, and its tensor."""
        raise NotImplementedError(f"{type(self).__name__} defines no _strength.")

    def _prepare_strength(self) -> None:
        raise NotImplementedError(f"{type(self).__name__} defines no _prepare_strength.")

    def _prepare(self) -> None:
        self._lr_t = convert_to_tensor(self._lr, name="learning_rate")
        self._beta_t = convert_to_tensor(self._beta, name="beta")
        self._prepare_strength()
        if self._sign_decay_fn is None:
            self._sign_decay_t = convert_to_tensor(1.0, name="sign_decay")

    def _rule(self, var: object, as_type: Callable[[Any], Tensor]) -> tuple[str, dict[str, str], dict[str, Any]]:
        key, strength = self._strength()
        settings = {"lr": self._lr_t, key: strength, "sign_decay": self._sign_decay_t, "beta": self._beta_t}
        return self._op_type, {"m": "m"}, {name: as_type(value) for name, value in settings.items()}

    def _move_rows(
        self, grad: IndexedSlices, var: Any, rate: Tensor, beta: Tensor, factor: Callable[[Tensor, Tensor], Tensor]
    ) -> Operation:
        """The update from rows of the gradient, multiplied with `factor` of decay and of the product of both signs."""
        m = self.get_slot(var, "m")
        m = assign.assign(m, m * beta + grad * (1 - beta), use_locking=self._use_locking)
        of_rows = sign(grad.values)
        agreement = gather(sign(m), grad.indices) * of_rows
        size = rate * factor(cast(self._sign_decay_t, var.dtype.base_dtype), agreement)
        update = assign.scatter_sub(var, grad.indices, size * grad.values, use_locking=self._use_locking)
        return group(update, m)

    def _resource_apply_sparse(self, grad: Tensor, handle: object, indices: Tensor) -> Any:
        return Optimizer._resource_apply_sparse(self, grad, handle, indices)


@export("contrib.opt.AddSignOptimizer")
class AddSignOptimizer(_SignOptimizer):
    """`var -= learning_rate * (alpha + decay * sign(grad) * sign(m)) * grad`, with `m` the average of the gradient.

    Args:
      learning_rate, alpha: numbers or scalar tensors.
      beta: decay of the average, likewise.
      sign_decay_fn: function of the global step that gives the decay, or None for 1.
      use_locking: passed on to the update operations.
      name: name of the training operation and of the slots.
    """

    _op_type = "AddSign"

    def __init__(
        self, learning_rate: object = 0.1, alpha: object = 1.0, beta: object = 0.9, sign_decay_fn: Callable | None = None,
        use_locking: bool = False, name: str = "AddSignOptimizer",
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, beta, sign_decay_fn, use_locking, name)
        self._alpha, self._alpha_t = alpha, None

    def _prepare_strength(self) -> None:
        self._alpha_t = convert_to_tensor(self._alpha, name="alpha")

    def _strength(self) -> tuple[str, Tensor]:
        return "alpha", self._alpha_t

    def _apply_sparse(self, grad: IndexedSlices, var: Any) -> Operation:
        rate, alpha, beta = (cast(t, var.dtype.base_dtype) for t in (self._lr_t, self._alpha_t, self._beta_t))
        return self._move_rows(grad, var, rate, beta, lambda decay, agreement: alpha + decay * agreement)


@export("contrib.opt.PowerSignOptimizer")
class PowerSignOptimizer(_SignOptimizer):
    """`var -= learning_rate * base ** (decay * sign(grad) * sign(m)) * grad`, with `m` the average of the gradient.

    Args:
      learning_rate: a number or scalar tensor.
      base: a number more than 0.
      beta, sign_decay_fn, use_locking, name: as of AddSignOptimizer.
    """

    _op_type = "PowerSign"

    def __init__(
        self, learning_rate: object = 0.1, base: float = math.e, beta: object = 0.9, sign_decay_fn: Callable | None = None,
        use_locking: bool = False, name: str = "PowerSignOptimizer",
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, beta, sign_decay_fn, use_locking, name)
        self._logbase, self._logbase_t = math.log(base), None

    def _prepare_strength(self) -> None:
        self._logbase_t = convert_to_tensor(self._logbase, name="logbase")

    def _strength(self) -> tuple[str, Tensor]:
        return "logbase", self._logbase_t

    def _apply_sparse(self, grad: IndexedSlices, var: Any) -> Operation:
        settings = (self._lr_t, self._beta_t, self._logbase_t, math.e)
        rate, beta, logbase, e = (cast(t, var.dtype.base_dtype) for t in settings)
        return self._move_rows(grad, var, rate, beta, lambda decay, agreement: power(e, logbase * decay * agreement))


def _steps_within(global_step: object, decay_steps: object, what: str) -> Tensor:
    if global_step is None:
        raise ValueError(f"global_step is required for {what}.")
    return minimum(global_step, decay_steps)


def get_linear_decay_fn(decay_steps: object) -> Callable[[Any], Tensor]:
    """A function of the global step that falls from 1 to 0 in `decay_steps` steps."""

    def linear_decay_fn(global_step: object) -> Tensor:
        step = _steps_within(global_step, decay_steps, "linear_decay")
        remaining = cast(decay_steps, dtypes.int32) - cast(step, dtypes.int32)
        decayed = cast(remaining, dtypes.float32) / cast(decay_steps, dtypes.float32)
        return maximum(0.0, decayed)

    return linear_decay_fn


def _half_cosine(fraction: Tensor) -> Tensor:
    return 0.5 * (1.0 + cos(constant(math.pi) * fraction))


def get_cosine_decay_fn(
    decay_steps: object, num_periods: float = 0.5, zero_after: float | None = None
) -> Callable[[Any], Tensor]:
    """A function of the global step that is a cosine between 0 and 1.

    Args:
      decay_steps: the number of steps of the decay.
      num_periods: periods of the cosine in that time.
      zero_after: the number of periods after which the value is 0.
    """

    def cosine_decay_fn(global_step: object) -> Tensor:
        step = _steps_within(global_step, decay_steps, "cosine_decay")
        completed = cast(step, dtypes.float32) / cast(decay_steps, dtypes.float32)
        fraction = 2.0 * num_periods * completed
        decayed = _half_cosine(fraction)
        if zero_after is None:
            return decayed
        return where(greater_equal(fraction, 2 * zero_after), 0.0, decayed)

    return cosine_decay_fn


def get_restart_decay_fn(
    decay_steps: object, num_periods: float = 1, zero_after: float | None = None
) -> Callable[[Any], Tensor]:
    """A function of the global step that falls as half a cosine from 1 to 0, again and again.

    Args:
      decay_steps: the number of steps of the decay.
      num_periods: how often it falls in that time.
      zero_after: the number of falls after which the value is 0.
    """

    def restart_decay_fn(global_step: object) -> Tensor:
        step = _steps_within(global_step, decay_steps, "cosine_decay")
        position = floormod(num_periods * cast(step, dtypes.float32), decay_steps)
        decayed = _half_cosine(position / cast(decay_steps, dtypes.float32))
        if zero_after is None:
            return decayed
        done = cast(num_periods * step, dtypes.float32) / cast(decay_steps, dtypes.float32)
        return where(greater_equal(done, zero_after), 0.0, decayed)

    return restart_decay_fn
