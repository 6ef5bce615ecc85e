"""Adam and its relatives: optimizers of Keras that keep averages of gradients and of their magnitudes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import control_dependencies
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.backend.config import epsilon as default_epsilon
from tfcompat._src.keras.optimizers.optimizer_v2 import OptimizerV2
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.control.groups import group
from tfcompat._src.ops.math.binary import maximum, power
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.unary import absolute, sqrt, square
from tfcompat._src.train.schedules import LearningRateSchedule
from tfcompat._src.variables import assign

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.graph.operation import Operation


def _set_moments(self: OptimizerV2, learning_rate: object, beta_1: object, beta_2: object, epsilon: float, kwargs: dict[str, Any]) -> None:
    """Sets what an optimizer has with two averages: `m` of gradients, `v` of their magnitudes."""
    self._set_hyper("learning_rate", kwargs.get("lr", learning_rate))
    self._set_hyper("decay", self._initial_decay)
    self._set_hyper("beta_1", beta_1)
    self._set_hyper("beta_2", beta_2)
    self.epsilon = epsilon or default_epsilon()


def _add_slots(self: OptimizerV2, var_list: list[Any], *names: str) -> None:
    for name in names:
        for var in var_list:
            self.add_slot(var, name)


def _config(self: OptimizerV2) -> dict[str, Any]:
    return {**OptimizerV2.get_config(self), **self._serialized("learning_rate", "decay", "beta_1", "beta_2", "epsilon")}


@export("keras.optimizers.Adam")
class Adam(OptimizerV2):
    """w -= learning_rate * m / (sqrt(v) + epsilon), with averages m and v of g and g ** 2 (Kingma and Ba 2015).

    Args:
      learning_rate: number, tensor, function or schedule.
      beta_1, beta_2: decay of the averages.
      epsilon: keeps the quotient finite.
      amsgrad: divides by the largest v so far (Reddi et al. 2018).
      name: name of the operations and of the variables.
      clipnorm, clipvalue, lr, decay: see tf.keras.optimizers.Optimizer.
    """

    def __init__(
        self, learning_rate: object = 0.001, beta_1: object = 0.9, beta_2: object = 0.999, epsilon: float = 1e-7,
        amsgrad: bool = False, name: str = "Adam", **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(name, **kwargs)
        _set_moments(self, learning_rate, beta_1, beta_2, epsilon, kwargs)
        self.amsgrad = amsgrad

    def _create_slots(self, var_list: list[Any]) -> None:
        _add_slots(self, var_list, "m", "v", *(["vhat"] if self.amsgrad else []))

    def _prepare_local(self, var_device: str, var_dtype: dtypes.DType, apply_state: Any) -> None:
        super()._prepare_local(var_device, var_dtype, apply_state)
        c = apply_state[var_device, var_dtype]
        step = cast(self.iterations + 1, var_dtype)
        beta_1, beta_2 = (identity(self._get_hyper(name, var_dtype)) for name in ("beta_1", "beta_2"))
        beta_1_power, beta_2_power = power(beta_1, step), power(beta_2, step)
        c["lr"] = c["lr_t"] * (sqrt(1 - beta_2_power) / (1 - beta_1_power))
        c.update(
            epsilon=convert_to_tensor(self.epsilon, var_dtype), beta_1_t=beta_1, beta_1_power=beta_1_power,
            one_minus_beta_1_t=1 - beta_1, beta_2_t=beta_2, beta_2_power=beta_2_power, one_minus_beta_2_t=1 - beta_2,
        )  # fmt: skip

    def set_weights(self, weights: list[Any]) -> None:
        """As the base class; takes the weights of Keras' old Adam too, which always had a third slot."""
        count = (len(self.weights) - 1) // 2
        super().set_weights(weights[: len(self.weights)] if len(weights) == 3 * count + 1 else weights)

    def _resource_apply_dense(self, grad: Tensor, var: object, apply_state: object = None) -> Any:
        c = self._coefficients(var, apply_state)
        settings = {
            "beta1_power": c["beta_1_power"], "beta2_power": c["beta_2_power"], "lr": c["lr_t"],
            "beta1": c["beta_1_t"], "beta2": c["beta_2_t"], "epsilon": c["epsilon"], "grad": grad,
        }  # fmt: skip
        if self.amsgrad:
            return self._fused("AdamWithAmsgrad", var, {"m": "m", "v": "v", "vhat": "vhat"}, settings)
        return self._fused("Adam", var, {"m": "m", "v": "v"}, settings)

    def _resource_apply_sparse(self, grad: Tensor, var: TensorLike, indices: Tensor, apply_state: object = None) -> Operation | None:
        c = self._coefficients(var, apply_state)
        rows = grad * c["one_minus_beta_1_t"]
        m, _ = self._decay_and_add(self.get_slot(var, "m"), c["beta_1_t"], rows, indices)
        rows = (grad * grad) * c["one_minus_beta_2_t"]
        v, _ = self._decay_and_add(self.get_slot(var, "v"), c["beta_2_t"], rows, indices)
        slots, spread = [m, v], v
        if self.amsgrad:
            vhat = self.get_slot(var, "vhat")
            largest = maximum(vhat, v)
            with control_dependencies([largest]):
                spread = self._assign(vhat, largest)
            slots.append(spread)
        root = sqrt(spread)
        step = c["lr"] * m / (root + c["epsilon"])
        return group(assign.assign_sub(var, step, use_locking=self._use_locking), *slots)

    def get_config(self) -> dict[str, Any]:
        return {**_config(self), "amsgrad": self.amsgrad}


@export("keras.optimizers.Adamax")
class Adamax(OptimizerV2):
    """Adam with the largest |g| of the past, decayed, in place of sqrt(v) (Kingma and Ba 2015, section 7).

    Args:
      learning_rate: number, tensor, function or schedule.
      beta_1, beta_2: decay of the average and of the maximum.
      epsilon: keeps the quotient finite.
      name: name of the operations and of the variables.
      clipnorm, clipvalue, lr, decay: see tf.keras.optimizers.Optimizer.
    """

    def __init__(
        self, learning_rate: object = 0.001, beta_1: object = 0.9, beta_2: object = 0.999, epsilon: float = 1e-7,
        name: str = "Adamax", **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(name, **kwargs)
        _set_moments(self, learning_rate, beta_1, beta_2, epsilon, kwargs)

    def _create_slots(self, var_list: list[Any]) -> None:
        _add_slots(self, var_list, "m", "v")

    def _prepare_local(self, var_device: str, var_dtype: dtypes.DType, apply_state: Any) -> None:
        super()._prepare_local(var_device, var_dtype, apply_state)
        c = apply_state[var_device, var_dtype]
        step = cast(self.iterations + 1, var_dtype)
        beta_1, beta_2 = (identity(self._get_hyper(name, var_dtype)) for name in ("beta_1", "beta_2"))
        beta_1_power = power(beta_1, step)
        c.update(
            neg_scaled_lr=-c["lr_t"] / (1 - beta_1_power), epsilon=convert_to_tensor(self.epsilon, var_dtype),
            beta_1_t=beta_1, beta_1_power=beta_1_power, one_minus_beta_1_t=1 - beta_1, beta_2_t=beta_2,
            zero=zeros((), dtype=dtypes.int64),
        )  # fmt: skip

    def _resource_apply_dense(self, grad: Tensor, var: object, apply_state: object = None) -> Any:
        c = self._coefficients(var, apply_state)
        settings = {
            "beta1_power": c["beta_1_power"], "lr": c["lr_t"], "beta1": c["beta_1_t"], "beta2": c["beta_2_t"],
            "epsilon": c["epsilon"], "grad": grad,
        }  # fmt: skip
        return self._fused("AdaMax", var, {"m": "m", "v": "v"}, settings)

    def _resource_apply_sparse(self, grad: Tensor, var: object, indices: Tensor, apply_state: object = None) -> Operation | None:
        c = self._coefficients(var, apply_state)
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        m_rows = gather(m, indices, axis=c["zero"]) * c["beta_1_t"] + grad * c["one_minus_beta_1_t"]
        with control_dependencies([m_rows]):
            new_m = self._resource_scatter_update(m, indices, m_rows)
        v_rows = maximum(gather(v, indices, axis=c["zero"]) * c["beta_2_t"], absolute(grad))
        with control_dependencies([v_rows]):
            new_v = self._resource_scatter_update(v, indices, v_rows)
        step = c["neg_scaled_lr"] * (m_rows / (v_rows + c["epsilon"]))
        with control_dependencies([step]):
            updated = self._resource_scatter_add(var, indices, step)
        return group(updated, new_m, new_v)

    get_config = _config


@export("keras.optimizers.Nadam")
class Nadam(OptimizerV2):
    """Adam with Nesterov's momentum, whose weight grows with the steps (Dozat 2015).

    Args:
      learning_rate: number, tensor or function.
      beta_1, beta_2: decay of the averages.
      epsilon: keeps the quotient finite.
      name: name of the operations and of the variables.
      schedule_decay: how fast the momentum grows, 0.004 by default.
      clipnorm, clipvalue, lr: see tf.keras.optimizers.Optimizer.

    Raises:
      ValueError: the learning rate is a schedule.
    """

    def __init__(
        self, learning_rate: object = 0.001, beta_1: object = 0.9, beta_2: object = 0.999, epsilon: float = 1e-7,
        name: str = "Nadam", **kwargs: Any,
    ) -> None:  # fmt: skip
        kwargs["decay"] = kwargs.pop("schedule_decay", 0.004)
        if isinstance(kwargs.get("lr", learning_rate), LearningRateSchedule):
            raise ValueError(
                "The Nadam optimizer does not support tf.keras.optimizers.LearningRateSchedules as the learning rate."
            )
        super().__init__(name, **kwargs)
        _set_moments(self, learning_rate, beta_1, beta_2, epsilon, kwargs)
        self._m_cache: Any = None

    def _create_slots(self, var_list: list[Any]) -> None:
        if self._m_cache is None:
            self._m_cache = self.add_weight(
                "momentum_cache", shape=[], dtype=var_list[0].dtype.base_dtype, initializer="ones", trainable=False
            )
            self._weights.append(self._m_cache)
        _add_slots(self, var_list, "m", "v")

    def _prepare(self, var_list: list[Any]) -> Any:
        self._m_cache_read = identity(self._m_cache)
        return super()._prepare(var_list)

    def _prepare_local(self, var_device: str, var_dtype: dtypes.DType, apply_state: Any) -> None:
        hyper = ("learning_rate", "beta_1", "beta_2")
        rate, beta_1, beta_2 = (identity(self._get_hyper(name, var_dtype)) for name in hyper)
        step, next_step = (cast(self.iterations + i, var_dtype) for i in (1, 2))
        base = cast(0.96, var_dtype)
        momentum, next_momentum = (
            beta_1 * (1.0 - 0.5 * power(base, self._initial_decay * s)) for s in (step, next_step)
        )
        product = cast(self._m_cache_read, var_dtype) * momentum
        if var_dtype is self._m_cache.dtype:
            product = identity(self._assign(self._m_cache, product))
        next_product = product * next_momentum
        apply_state[var_device, var_dtype] = {
            "lr_t": rate,
            "neg_lr_t": -rate,
            "epsilon": convert_to_tensor(self.epsilon, var_dtype),
            "beta_1_t": beta_1,
            "beta_2_t": beta_2,
            "m_t": momentum,
            "m_t_1": next_momentum,
            "one_minus_beta_1_t": 1 - beta_1,
            "one_minus_beta_2_t": 1 - beta_2,
            "one_minus_m_t": 1.0 - momentum,
            "one_minus_m_schedule_new": 1.0 - product,
            "one_minus_m_schedule_next": 1.0 - next_product,
            "v_t_prime_denominator": 1.0 - power(beta_2, step),
        }

    def _resource_apply_dense(self, grad: Tensor, var: object, apply_state: object = None) -> Any:
        c = self._coefficients(var, apply_state)
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        g_hat = grad / c["one_minus_m_schedule_new"]
        new_m = self._assign(m, c["beta_1_t"] * m + c["one_minus_beta_1_t"] * grad)
        m_hat = new_m / c["one_minus_m_schedule_next"]
        new_v = self._assign(v, c["beta_2_t"] * v + c["one_minus_beta_2_t"] * square(grad))
        v_hat = new_v / c["v_t_prime_denominator"]
        m_bar = c["one_minus_m_t"] * g_hat + c["m_t_1"] * m_hat
        return self._assign(var, var - c["lr_t"] * m_bar / (sqrt(v_hat) + c["epsilon"])).op

    def _resource_apply_sparse(self, grad: Tensor, var: object, indices: Tensor, apply_state: object = None) -> Operation | None:
        c = self._coefficients(var, apply_state)
        g_hat = grad / c["one_minus_m_schedule_new"]
        rows = grad * c["one_minus_beta_1_t"]
        _, m_rows = self._decay_and_add(self.get_slot(var, "m"), c["beta_1_t"], rows, indices)
        m_hat = m_rows() / c["one_minus_m_schedule_next"]
        m_bar = c["one_minus_m_t"] * g_hat + c["m_t_1"] * m_hat
        rows = (grad * grad) * c["one_minus_beta_2_t"]
        new_v, v_rows = self._decay_and_add(self.get_slot(var, "v"), c["beta_2_t"], rows, indices)
        root = sqrt(v_rows() / c["v_t_prime_denominator"]) + c["epsilon"]
        updated = self._resource_scatter_add(var, indices, c["neg_lr_t"] * m_bar / root)
        return group(updated, m_bar, new_v)

    get_config = _config
