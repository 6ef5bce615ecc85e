"""Gradient descent, and the methods that scale it by past gradients: the optimizers of Keras whose update is one op."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.backend.config import epsilon as default_epsilon
from tfcompat._src.keras.optimizers.optimizer_v2 import OptimizerV2
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.control.groups import group
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.unary import sqrt, square
from tfcompat._src.variables.initializers import Constant


def _uses_momentum(momentum: Any) -> bool:
    """Whether a slot for the momentum is needed; ValueError where a number is not in [0, 1]."""
    if isinstance(momentum, (int, float)) and not 0 <= momentum <= 1:
        raise ValueError("`momentum` must be between [0, 1].")
    return isinstance(momentum, Tensor) or callable(momentum) or momentum > 0


def _set_weights(self: OptimizerV2, weights: list[Any]) -> None:
    """Takes the weights of Keras' old optimizer too, which counted no steps."""
    OptimizerV2.set_weights(self, [np.array(0), *weights] if len(self.weights) == len(weights) + 1 else weights)


@export("keras.optimizers.SGD")
class SGD(OptimizerV2):
    """Stochastic gradient descent: v = momentum * v - learning_rate * g; w += v.

    Args:
      learning_rate: number, tensor, function or schedule.
      momentum: from 0 to 1.
      nesterov: w += momentum * v - learning_rate * g instead.
      name: name of the operations and of the variables.
      clipnorm, clipvalue, lr, decay: see tf.keras.optimizers.Optimizer.

    Raises:
      ValueError: the momentum is not in [0, 1].
    """

    def __init__(
        self, learning_rate: object = 0.01, momentum: object = 0.0, nesterov: bool = False, name: str = "SGD", **kwargs: Any
    ) -> None:
        super().__init__(name, **kwargs)
        self._set_hyper("learning_rate", kwargs.get("lr", learning_rate))
        self._set_hyper("decay", self._initial_decay)
        self._momentum = _uses_momentum(momentum)
        self._set_hyper("momentum", momentum)
        self.nesterov = nesterov

    def _create_slots(self, var_list: list[Any]) -> None:
        if self._momentum:
            for var in var_list:
                self.add_slot(var, "momentum")

    def _prepare_local(self, var_device: str, var_dtype: dtypes.DType, apply_state: Any) -> None:
        super()._prepare_local(var_device, var_dtype, apply_state)
        apply_state[var_device, var_dtype]["momentum"] = identity(self._get_hyper("momentum", var_dtype))

    def _rule(self, c: dict[str, Any]) -> tuple[str, dict[str, str], dict[str, Any]]:
        settings = {"lr": c["lr_t"], "momentum": c["momentum"], "use_nesterov": self.nesterov}
        return "KerasMomentum", {"accum": "momentum"}, settings

    def _resource_apply_dense(self, grad: Tensor, var: object, apply_state: object = None) -> Any:
        if self._momentum:
            return super()._resource_apply_dense(grad, var, apply_state)
        c = self._coefficients(var, apply_state)
        return self._fused("GradientDescent", var, {}, {"alpha": c["lr_t"], "delta": grad})

    def _resource_apply_sparse_duplicate_indices(self, grad: Tensor, var: Any, indices: Tensor, **kwargs: Any) -> Any:
        if self._momentum:
            return super()._resource_apply_sparse_duplicate_indices(grad, var, indices, **kwargs)
        c = self._coefficients(var, kwargs.get("apply_state"))
        return raw.ResourceScatterAdd(var.handle, indices, -grad * c["lr_t"])

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **self._serialized("learning_rate", "decay", "momentum", "nesterov")}


@export("keras.optimizers.Adagrad")
class Adagrad(OptimizerV2):
    """a += g ** 2; w -= learning_rate * g / (sqrt(a) + epsilon) (Duchi et al. 2011).

    Args:
      learning_rate: number, tensor, function or schedule.
      initial_accumulator_value: where `a` starts.
      epsilon: keeps the quotient finite.
      name: name of the operations and of the variables.
      clipnorm, clipvalue, lr, decay: see tf.keras.optimizers.Optimizer.

    Raises:
      ValueError: `initial_accumulator_value` is negative.
    """

    set_weights = _set_weights

    def __init__(
        self, learning_rate: object = 0.001, initial_accumulator_value: float = 0.1, epsilon: float = 1e-7,
        name: str = "Adagrad", **kwargs: Any,
    ) -> None:  # fmt: skip
        if initial_accumulator_value < 0.0:
            raise ValueError(f"initial_accumulator_value must be non-negative: {initial_accumulator_value}")
        super().__init__(name, **kwargs)
        self._set_hyper("learning_rate", kwargs.get("lr", learning_rate))
        self._set_hyper("decay", self._initial_decay)
        self._initial_accumulator_value = initial_accumulator_value
        self.epsilon = epsilon or default_epsilon()

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            self.add_slot(var, "accumulator", Constant(self._initial_accumulator_value, dtype=var.dtype.base_dtype))

    def _prepare_local(self, var_device: str, var_dtype: dtypes.DType, apply_state: Any) -> None:
        super()._prepare_local(var_device, var_dtype, apply_state)
        c = apply_state[var_device, var_dtype]
        c["epsilon"] = convert_to_tensor(self.epsilon, var_dtype)
        c["neg_lr_t"] = -c["lr_t"]
        c["zero"] = zeros((), dtype=dtypes.int64)

    def _rule(self, c: dict[str, Any]) -> tuple[str, dict[str, str], dict[str, Any]]:
        return "AdagradV2", {"accum": "accumulator"}, {"lr": c["lr_t"], "epsilon": c["epsilon"]}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None) -> OptimizerV2:
        """As the base class; `initial_accumulator_value` is 0 where it is missing."""
        config.setdefault("initial_accumulator_value", 0.0)
        return super().from_config(config, custom_objects)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            **self._serialized("learning_rate", "decay"),
            "initial_accumulator_value": self._initial_accumulator_value,
            "epsilon": self.epsilon,
        }


@export("keras.optimizers.Adadelta")
class Adadelta(OptimizerV2):
    """Steps scaled by the ratio of the root mean squares of past steps and gradients (Zeiler 2012).

    Args:
      learning_rate: number, tensor, function or schedule.
      rho: decay of the averages.
      epsilon: keeps the quotient finite.
      name: name of the operations and of the variables.
      clipnorm, clipvalue, lr, decay: see tf.keras.optimizers.Optimizer.
    """

    set_weights = _set_weights

    def __init__(
        self, learning_rate: object = 0.001, rho: object = 0.95, epsilon: float = 1e-7, name: str = "Adadelta", **kwargs: Any
    ) -> None:
        super().__init__(name, **kwargs)
        self._set_hyper("learning_rate", kwargs.get("lr", learning_rate))
        self._set_hyper("decay", self._initial_decay)
        self._set_hyper("rho", rho)
        self.epsilon = epsilon or default_epsilon()

    def _create_slots(self, var_list: list[Any]) -> None:
        for slot in ("accum_grad", "accum_var"):
            for var in var_list:
                self.add_slot(var, slot)

    def _prepare_local(self, var_device: str, var_dtype: dtypes.DType, apply_state: Any) -> None:
        super()._prepare_local(var_device, var_dtype, apply_state)
        c = apply_state[var_device, var_dtype]
        c["epsilon"] = convert_to_tensor(self.epsilon, var_dtype)
        c["rho"] = identity(self._get_hyper("rho", var_dtype))

    def _rule(self, c: dict[str, Any]) -> tuple[str, dict[str, str], dict[str, Any]]:
        settings = {"lr": c["lr_t"], "rho": c["rho"], "epsilon": c["epsilon"]}
        return "Adadelta", {"accum": "accum_grad", "accum_update": "accum_var"}, settings

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **self._serialized("learning_rate", "decay", "rho", "epsilon")}


@export("keras.optimizers.RMSprop")
class RMSprop(OptimizerV2):
    """w -= learning_rate * g / (sqrt(mean of g ** 2) + epsilon) (Tieleman and Hinton 2012).

    Args:
      learning_rate: number, tensor, function or schedule.
      rho: decay of the averages.
      momentum: from 0 to 1.
      epsilon: keeps the quotient finite.
      centered: divides by the standard deviation of g instead.
      name: name of the operations and of the variables.
      clipnorm, clipvalue, lr, decay: see tf.keras.optimizers.Optimizer.

    Raises:
      ValueError: the momentum is not in [0, 1].
    """

    set_weights = _set_weights

    def __init__(
        self, learning_rate: object = 0.001, rho: object = 0.9, momentum: object = 0.0, epsilon: float = 1e-7,
        centered: bool = False, name: str = "RMSprop", **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(name, **kwargs)
        self._set_hyper("learning_rate", kwargs.get("lr", learning_rate))
        self._set_hyper("decay", self._initial_decay)
        self._set_hyper("rho", rho)
        self._momentum = _uses_momentum(momentum)
        self._set_hyper("momentum", momentum)
        self.epsilon = epsilon or default_epsilon()
        self.centered = centered

    def _create_slots(self, var_list: list[Any]) -> None:
        for slot, needed in (("rms", True), ("momentum", self._momentum), ("mg", self.centered)):
            for var in var_list if needed else ():
                self.add_slot(var, slot)

    def _prepare_local(self, var_device: str, var_dtype: dtypes.DType, apply_state: Any) -> None:
        super()._prepare_local(var_device, var_dtype, apply_state)
        c = apply_state[var_device, var_dtype]
        c["rho"] = identity(self._get_hyper("rho", var_dtype))
        c["neg_lr_t"] = -c["lr_t"]
        c["epsilon"] = convert_to_tensor(self.epsilon, var_dtype)
        c["momentum"] = identity(self._get_hyper("momentum", var_dtype))
        c["one_minus_rho"] = 1.0 - c["rho"]

    def _rule(self, c: dict[str, Any]) -> tuple[str, dict[str, str], dict[str, Any]]:
        slots = {"ms": "rms", "mom": "momentum", **({"mg": "mg"} if self.centered else {})}
        settings = {"lr": c["lr_t"], "rho": c["rho"], "momentum": c["momentum"], "epsilon": c["epsilon"]}
        return "CenteredRMSProp" if self.centered else "RMSProp", slots, settings

    def _resource_apply_dense(self, grad: Tensor, var: object, apply_state: object = None) -> Any:
        if self._momentum:
            return super()._resource_apply_dense(grad, var, apply_state)
        c = self._coefficients(var, apply_state)
        rms = self.get_slot(var, "rms")
        spread = self._assign(rms, c["rho"] * rms + c["one_minus_rho"] * square(grad))
        if self.centered:
            mg = self.get_slot(var, "mg")
            mean = self._assign(mg, c["rho"] * mg + c["one_minus_rho"] * grad)
            spread = spread - square(mean)
        step = c["lr_t"] * grad / (sqrt(spread) + c["epsilon"])
        return self._assign(var, var - step).op

    def _resource_apply_sparse(self, grad: Tensor, var: object, indices: Tensor, apply_state: object = None) -> Any:
        if self._momentum:
            return super()._resource_apply_sparse(grad, var, indices, apply_state)
        c = self._coefficients(var, apply_state)
        squares = (grad * grad) * c["one_minus_rho"]
        rms, rms_rows = self._decay_and_add(self.get_slot(var, "rms"), c["rho"], squares, indices)
        spread, slots = rms_rows(), [rms]
        if self.centered:
            rows = grad * c["one_minus_rho"]
            mean, mean_rows = self._decay_and_add(self.get_slot(var, "mg"), c["rho"], rows, indices)
            spread = spread - square(mean_rows())
            slots.append(mean)
        step = c["neg_lr_t"] * grad / (sqrt(spread) + c["epsilon"])
        return group(self._resource_scatter_add(var, indices, step), *slots)

    def get_config(self) -> dict[str, Any]:
        names = ("learning_rate", "decay", "rho", "momentum", "epsilon", "centered")
        return {**super().get_config(), **self._serialized(*names)}


RMSProp = RMSprop

_FTRL_LIMITS = (
    ("initial_accumulator_value", "positive or zero"),
    ("l1_regularization_strength", "positive or zero"),
    ("l2_regularization_strength", "positive or zero"),
    ("l2_shrinkage_regularization_strength", "positive or zero"),
)


@export("keras.optimizers.Ftrl")
class Ftrl(OptimizerV2):
    """Follow the regularized leader, with l1 and l2 penalties (McMahan et al. 2013).

    Args:
      learning_rate: number, tensor, function or schedule.
      learning_rate_power: negative or 0; how the rate falls with the sum of squared gradients.
      initial_accumulator_value: where that sum starts.
      l1_regularization_strength, l2_regularization_strength: penalties.
      name: name of the operations and of the variables.
      l2_shrinkage_regularization_strength: penalty on the magnitude, apart from the stabilization of `l2`.
      clipnorm, clipvalue, lr, decay: see tf.keras.optimizers.Optimizer.

    Raises:
      ValueError: a strength is negative, or the power is positive.
    """

    def __init__(
        self, learning_rate: object = 0.001, learning_rate_power: Any = -0.5, initial_accumulator_value: float = 0.1,
        l1_regularization_strength: object = 0.0, l2_regularization_strength: object = 0.0, name: str = "Ftrl",
        l2_shrinkage_regularization_strength: float = 0.0, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(name, **kwargs)
        given = locals()
        for argument, wanted in _FTRL_LIMITS:
            if given[argument] < 0.0:
                raise ValueError(f"{argument} {given[argument]:f} needs to be {wanted}")
        if learning_rate_power > 0.0:
            raise ValueError(f"learning_rate_power {learning_rate_power:f} needs to be negative or zero")
        self._set_hyper("learning_rate", learning_rate)
        self._set_hyper("decay", self._initial_decay)
        self._set_hyper("learning_rate_power", learning_rate_power)
        self._set_hyper("l1_regularization_strength", l1_regularization_strength)
        self._set_hyper("l2_regularization_strength", l2_regularization_strength)
        self._initial_accumulator_value = initial_accumulator_value
        self._l2_shrinkage_regularization_strength = l2_shrinkage_regularization_strength

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            self.add_slot(var, "accumulator", Constant(self._initial_accumulator_value, dtype=var.dtype.base_dtype))
            self.add_slot(var, "linear")

    def _prepare_local(self, var_device: str, var_dtype: dtypes.DType, apply_state: Any) -> None:
        super()._prepare_local(var_device, var_dtype, apply_state)
        c = apply_state[var_device, var_dtype]
        for name in ("learning_rate_power", "l1_regularization_strength", "l2_regularization_strength"):
            c[name] = identity(self._get_hyper(name, var_dtype))
        c["l2_shrinkage"] = cast(self._l2_shrinkage_regularization_strength, var_dtype)

    def _rule(self, c: dict[str, Any]) -> tuple[str, dict[str, str], dict[str, Any]]:
        slots = {"accum": "accumulator", "linear": "linear"}
        settings = {
            "lr": c["lr_t"],
            "l1": c["l1_regularization_strength"],
            "l2": c["l2_regularization_strength"],
            "lr_power": c["learning_rate_power"],
        }
        if self._l2_shrinkage_regularization_strength <= 0.0:
            return "Ftrl", slots, settings
        return "FtrlV2", slots, {**settings, "l2_shrinkage": c["l2_shrinkage"]}

    def get_config(self) -> dict[str, Any]:
        names = ("learning_rate_power", "l1_regularization_strength", "l2_regularization_strength")
        return {
            **super().get_config(),
            **self._serialized("learning_rate", "decay"),
            "initial_accumulator_value": self._initial_accumulator_value,
            **self._serialized(*names),
            "l2_shrinkage_regularization_strength": self._l2_shrinkage_regularization_strength,
        }
