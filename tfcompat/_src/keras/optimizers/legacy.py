"""The optimizers of Keras before OptimizerV2, and a tf.train.Optimizer as one of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfcompat._src.base.export import export
from tfcompat._src.base.trackable import Trackable
from tfcompat._src.distribute.default_strategy import has_strategy
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.backend.config import cast_to_floatx, floatx
from tfcompat._src.keras.backend.config import epsilon as default_epsilon
from tfcompat._src.keras.backend.function import gradients
from tfcompat._src.keras.backend.math import sqrt
from tfcompat._src.keras.backend.values import (
    batch_get_value,
    batch_set_value,
    dtype,
    get_value,
    int_shape,
    variable,
    zeros,
)
from tfcompat._src.ops.math.binary import maximum, power
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.clip import clip_by_norm, clip_by_value
from tfcompat._src.ops.math.unary import absolute, square
from tfcompat._src.variables.assign import assign, assign_add
from tfcompat._src.variables.training_util import get_global_step


@export("contrib.keras.optimizers.Optimizer")
class Optimizer:
    """Base class: limits of gradients, and weights.

    Args:
      clipnorm: largest norm of each gradient.
      clipvalue: largest magnitude of each element of a gradient.

    Raises:
      TypeError: another keyword is given.
      ValueError: a limit is negative.
    """

    def __init__(self, **kwargs: Any) -> None:
        for keyword, value in kwargs.items():
            if keyword not in ("clipnorm", "clipvalue"):
                raise TypeError(f"Unexpected keyword argument passed to optimizer: {keyword}")
            if value < 0:
                raise ValueError(f"Expected {keyword} >= 0, received: {value}")
        self.__dict__.update(kwargs)
        self.updates: list[Any] = []
        self.weights: list[Any] = []

    def get_updates(self, loss: Any, params: list[Any]) -> list[Any]:
        """The operations of one step."""
        raise NotImplementedError(f"{type(self).__name__} defines no get_updates.")

    def get_gradients(self, loss: Any, params: list[Any]) -> list[Any]:
        """The gradients of `loss` for variables; ValueError where one is None."""
        grads = gradients(loss, params)
        if any(g is None for g in grads):
            raise ValueError(
                "An operation has `None` for gradient. Please make sure that all of your ops have a gradient defined "
                "(i.e. are differentiable). Common ops without gradient: K.argmax, K.round, K.eval."
            )
        if hasattr(self, "clipnorm"):
            grads = [clip_by_norm(g, self.clipnorm) for g in grads]
        if hasattr(self, "clipvalue"):
            grads = [clip_by_value(g, -self.clipvalue, self.clipvalue) for g in grads]
        return grads

    def get_weights(self) -> list[np.ndarray]:
        """The values of the weights."""
        return batch_get_value(self.weights)

    def set_weights(self, weights: list[Any]) -> None:
        """Sets the values of the weights; ValueError where number or shapes differ."""
        if len(self.weights) != len(weights):
            raise ValueError(
                f"Length of the specified weight list ({len(weights)}) does not match the number of weights of the "
                f"optimizer ({len(self.weights)})"
            )
        for old, new in zip(batch_get_value(self.weights), weights):
            if old.shape != new.shape:
                raise ValueError(
                    f"Optimizer weight shape {old.shape} not compatible with provided weight shape {new.shape}"
                )
        batch_set_value(list(zip(self.weights, weights)))

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {limit: getattr(self, limit) for limit in ("clipnorm", "clipvalue") if hasattr(self, limit)}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Optimizer:
        """An optimizer from what `get_config` gave."""
        return cls(**config)

    # ---- parts of the methods ----

    def _make_variables(self, **values: Any) -> None:
        """Makes variables of numbers; `iterations` is an integer."""
        with name_scope(type(self).__name__):
            for name, value in values.items():
                kind = "int64" if name == "iterations" else None
                setattr(self, name, variable(value, dtype=kind, name=name))

    def _values(self, *names: str) -> dict[str, float]:
        return {name: float(get_value(getattr(self, name))) for name in names}

    def _rate(self) -> Any:
        """The learning rate of this step."""
        if self.initial_decay <= 0:
            return self.lr
        return self.lr * (1.0 / (1.0 + self.decay * cast(self.iterations, dtype(self.decay))))

    def _next_step(self) -> Tensor:
        """The number of this step, from 1 on, after it was counted."""
        with control_dependencies([assign_add(self.iterations, 1)]):
            return cast(self.iterations, floatx())

    def _assign(self, p: Any, value: Any) -> None:
        constraint = getattr(p, "constraint", None)
        self.updates.append(assign(p, value if constraint is None else constraint(value)))


def _zeros(params: list[Any], typed: bool = False) -> list[Any]:
    return [zeros(int_shape(p), dtype=dtype(p) if typed else None) for p in params]


@export("contrib.keras.optimizers.SGD")
class SGD(Optimizer):
    """v = momentum * v - lr * g; p += v."""

    def __init__(
        self, lr: float = 0.01, momentum: float = 0.0, decay: float = 0.0, nesterov: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self._make_variables(iterations=0, lr=lr, momentum=momentum, decay=decay)
        self.initial_decay, self.nesterov = decay, nesterov

    def get_updates(self, loss: object, params: list[Any]) -> list[Any]:
        grads = self.get_gradients(loss, params)
        self.updates = [assign_add(self.iterations, 1)]
        rate = self._rate()
        moments = _zeros(params)
        self.weights = [self.iterations, *moments]
        for p, g, m in zip(params, grads, moments):
            v = self.momentum * m - rate * g
            self.updates.append(assign(m, v))
            self._assign(p, p + self.momentum * v - rate * g if self.nesterov else p + v)
        return self.updates

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **self._values("lr", "momentum", "decay"), "nesterov": self.nesterov}


@export("contrib.keras.optimizers.RMSprop")
class RMSprop(Optimizer):
    """p -= lr * g / (sqrt(mean of g ** 2) + epsilon)."""

    def __init__(
        self, lr: float = 0.001, rho: float = 0.9, epsilon: float | None = None, decay: float = 0.0, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self._make_variables(lr=lr, rho=rho, decay=decay, iterations=0)
        self.epsilon = default_epsilon() if epsilon is None else epsilon
        self.initial_decay = decay

    def get_updates(self, loss: object, params: list[Any]) -> list[Any]:
        grads = self.get_gradients(loss, params)
        self.weights = _zeros(params, typed=True)
        self.updates = [assign_add(self.iterations, 1)]
        rate = self._rate()
        for p, g, a in zip(params, grads, self.weights):
            new_a = self.rho * a + (1.0 - self.rho) * square(g)
            self.updates.append(assign(a, new_a))
            self._assign(p, p - rate * g / (sqrt(new_a) + self.epsilon))
        return self.updates

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **self._values("lr", "rho", "decay"), "epsilon": self.epsilon}


@export("contrib.keras.optimizers.Adagrad")
class Adagrad(Optimizer):
    """p -= lr * g / (sqrt(sum of g ** 2) + epsilon)."""

    def __init__(self, lr: float = 0.01, epsilon: float | None = None, decay: float = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._make_variables(lr=lr, decay=decay, iterations=0)
        self.epsilon = default_epsilon() if epsilon is None else epsilon
        self.initial_decay = decay

    def get_updates(self, loss: object, params: list[Any]) -> list[Any]:
        grads = self.get_gradients(loss, params)
        self.weights = _zeros(params)
        self.updates = [assign_add(self.iterations, 1)]
        rate = self._rate()
        for p, g, a in zip(params, grads, self.weights):
            new_a = a + square(g)
            self.updates.append(assign(a, new_a))
            self._assign(p, p - rate * g / (sqrt(new_a) + self.epsilon))
        return self.updates

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **self._values("lr", "decay"), "epsilon": self.epsilon}


@export("contrib.keras.optimizers.Adadelta")
class Adadelta(Optimizer):
    """Steps scaled by the ratio of the root mean squares of past steps and gradients."""

    def __init__(
        self, lr: float = 1.0, rho: float = 0.95, epsilon: float | None = None, decay: float = 0.0, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self._make_variables(lr=lr, decay=decay, iterations=0)
        self.epsilon = default_epsilon() if epsilon is None else epsilon
        self.rho, self.initial_decay = rho, decay

    def get_updates(self, loss: object, params: list[Any]) -> list[Any]:
        grads = self.get_gradients(loss, params)
        accumulators, steps = _zeros(params), _zeros(params)
        self.weights = accumulators + steps
        self.updates = [assign_add(self.iterations, 1)]
        rate = self._rate()
        for p, g, a, s in zip(params, grads, accumulators, steps):
            new_a = self.rho * a + (1.0 - self.rho) * square(g)
            self.updates.append(assign(a, new_a))
            step = g * sqrt(s + self.epsilon) / sqrt(new_a + self.epsilon)
            self._assign(p, p - rate * step)
            self.updates.append(assign(s, self.rho * s + (1 - self.rho) * square(step)))
        return self.updates

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **self._values("lr", "decay"), "rho": self.rho, "epsilon": self.epsilon}


@export("contrib.keras.optimizers.Adam")
class Adam(Optimizer):
    """p -= lr * m / (sqrt(v) + epsilon), with averages m and v of g and g ** 2."""

    def __init__(
        self, lr: float = 0.001, beta_1: float = 0.9, beta_2: float = 0.999, epsilon: float | None = None,
        decay: float = 0.0, amsgrad: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(**kwargs)
        self._make_variables(iterations=0, lr=lr, beta_1=beta_1, beta_2=beta_2, decay=decay)
        self.epsilon = default_epsilon() if epsilon is None else epsilon
        self.initial_decay, self.amsgrad = decay, amsgrad

    def get_updates(self, loss: object, params: list[Any]) -> list[Any]:
        grads = self.get_gradients(loss, params)
        self.updates = []
        rate = self._rate()
        t = self._next_step()
        rate = rate * (sqrt(1.0 - power(self.beta_2, t)) / (1.0 - power(self.beta_1, t)))
        ms, vs = _zeros(params, typed=True), _zeros(params, typed=True)
        vhats = _zeros(params, typed=True) if self.amsgrad else [zeros(1) for _ in params]
        self.weights = [self.iterations, *ms, *vs, *vhats]
        for p, g, m, v, vhat in zip(params, grads, ms, vs, vhats):
            new_m = (self.beta_1 * m) + (1.0 - self.beta_1) * g
            new_v = (self.beta_2 * v) + (1.0 - self.beta_2) * square(g)
            spread = maximum(vhat, new_v) if self.amsgrad else new_v
            new_p = p - rate * new_m / (sqrt(spread) + self.epsilon)
            if self.amsgrad:
                self.updates.append(assign(vhat, spread))
            self.updates += [assign(m, new_m), assign(v, new_v)]
            self._assign(p, new_p)
        return self.updates

    def get_config(self) -> dict[str, Any]:
        values = self._values("lr", "beta_1", "beta_2", "decay")
        return {**super().get_config(), **values, "epsilon": self.epsilon, "amsgrad": self.amsgrad}


@export("contrib.keras.optimizers.Adamax")
class Adamax(Optimizer):
    """Adam with the largest |g| of the past, decayed, in place of sqrt(v)."""

    def __init__(
        self, lr: float = 0.002, beta_1: float = 0.9, beta_2: float = 0.999, epsilon: float | None = None,
        decay: float = 0.0, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(**kwargs)
        self._make_variables(iterations=0, lr=lr, beta_1=beta_1, beta_2=beta_2, decay=decay)
        self.epsilon = default_epsilon() if epsilon is None else epsilon
        self.initial_decay = decay

    def get_updates(self, loss: object, params: list[Any]) -> list[Any]:
        grads = self.get_gradients(loss, params)
        self.updates = []
        rate = self._rate()
        t = self._next_step()
        rate = rate / (1.0 - power(self.beta_1, t))
        ms, us = _zeros(params), _zeros(params)
        self.weights = [self.iterations, *ms, *us]
        for p, g, m, u in zip(params, grads, ms, us):
            new_m = (self.beta_1 * m) + (1.0 - self.beta_1) * g
            new_u = maximum(self.beta_2 * u, absolute(g))
            new_p = p - rate * new_m / (new_u + self.epsilon)
            self.updates += [assign(m, new_m), assign(u, new_u)]
            self._assign(p, new_p)
        return self.updates

    def get_config(self) -> dict[str, Any]:
        values = self._values("lr", "beta_1", "beta_2", "decay")
        return {**super().get_config(), **values, "epsilon": self.epsilon}


@export("contrib.keras.optimizers.Nadam")
class Nadam(Optimizer):
    """Adam with Nesterov's momentum, whose weight grows with the steps."""

    def __init__(
        self, lr: float = 0.002, beta_1: float = 0.9, beta_2: float = 0.999, epsilon: float | None = None,
        schedule_decay: float = 0.004, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(**kwargs)
        self._make_variables(iterations=0, m_schedule=1.0, lr=lr, beta_1=beta_1, beta_2=beta_2)
        self.epsilon = default_epsilon() if epsilon is None else epsilon
        self.schedule_decay = schedule_decay

    def get_updates(self, loss: object, params: list[Any]) -> list[Any]:
        grads = self.get_gradients(loss, params)
        self.updates = []
        t = self._next_step()
        base = cast_to_floatx(0.96)
        momentum, next_momentum = (
            self.beta_1 * (1.0 - 0.5 * power(base, step * self.schedule_decay)) for step in (t, t + 1)
        )
        product = self.m_schedule * momentum
        next_product = self.m_schedule * momentum * next_momentum
        self.updates.append((self.m_schedule, product))
        ms, vs = _zeros(params), _zeros(params)
        self.weights = [self.iterations, self.m_schedule, *ms, *vs]
        for p, g, m, v in zip(params, grads, ms, vs):
            g_hat = g / (1.0 - product)
            new_m = self.beta_1 * m + (1.0 - self.beta_1) * g
            m_hat = new_m / (1.0 - next_product)
            new_v = self.beta_2 * v + (1.0 - self.beta_2) * square(g)
            v_hat = new_v / (1.0 - power(self.beta_2, t))
            m_bar = (1.0 - momentum) * g_hat + next_momentum * m_hat
            self.updates += [assign(m, new_m), assign(v, new_v)]
            self._assign(p, p - self.lr * m_bar / (sqrt(v_hat) + self.epsilon))
        return self.updates

    def get_config(self) -> dict[str, Any]:
        values = self._values("lr", "beta_1", "beta_2")
        return {**super().get_config(), **values, "epsilon": self.epsilon, "schedule_decay": self.schedule_decay}


class TFOptimizer(Optimizer, Trackable):
    """A tf.train.Optimizer as an optimizer of Keras; `iterations` counts its steps."""

    def __init__(self, optimizer: Any, iterations: object = None) -> None:
        self.optimizer = optimizer
        self._track_trackable(optimizer, name="optimizer")
        if iterations is None:
            self._make_variables(iterations=0)
        else:
            self.iterations = iterations
        self._track_trackable(self.iterations, name="global_step")

    def apply_gradients(self, grads: Any) -> None:
        """Makes the operation that applies (gradient, variable) pairs."""
        self.optimizer.apply_gradients(grads, global_step=self.iterations)

    def get_grads(self, loss: Any, params: list[Any]) -> list[Any]:
        """(gradient, variable) pairs."""
        return self.optimizer.compute_gradients(loss, params)

    def get_updates(self, loss: Any, params: list[Any]) -> list[Any]:
        if has_strategy():
            grads, step = self.optimizer.compute_gradients(loss, params or None), get_global_step()
        elif params:
            grads, step = self.optimizer.compute_gradients(loss, params), self.iterations
        else:
            self.updates = [assign_add(self.iterations, 1)]
            return self.updates
        self.updates = [self.optimizer.apply_gradients(grads, global_step=step)]
        return self.updates

    @property
    def weights(self) -> list[Any]:
        """Not known to Keras: NotImplementedError."""
        raise NotImplementedError("A tf.train.Optimizer has no Keras weights.")

    def get_config(self) -> dict[str, Any]:
        raise NotImplementedError("A tf.train.Optimizer has no Keras configuration.")

    def from_config(self, config: dict[str, Any]) -> Any:
        raise NotImplementedError("A tf.train.Optimizer has no Keras configuration.")


sgd, rmsprop, adagrad, adadelta, adam, adamax, nadam = SGD, RMSprop, Adagrad, Adadelta, Adam, Adamax, Nadam
