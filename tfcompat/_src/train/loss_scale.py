"""tf.train.experimental: factors of the loss, so that small gradients in float16 do not vanish."""

from __future__ import annotations

import abc
from collections.abc import Iterable
from typing import Any

from tfcompat._src.base import dtypes, nest
from tfcompat._src.base.export import export
from tfcompat._src.base.trackable import Trackable, TrackableReference
from tfcompat._src.graph import distribution_context
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import present_graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.control.cond import cond
from tfcompat._src.ops.control.groups import group, no_op
from tfcompat._src.ops.math.binary import maximum
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import equal
from tfcompat._src.ops.math.reduce import reduce_all
from tfcompat._src.ops.math.unary import is_finite
from tfcompat._src.variables.policies import VariableAggregation, VariableSynchronization
from tfcompat._src.variables.variable import Variable


@export("train.experimental.LossScale")
class LossScale(Trackable, abc.ABC):
    """A factor of the loss; calling it gives the factor as a scalar float32 Tensor."""

    def __init__(self) -> None:
        self._weights: dict[tuple[str, Any], Variable] = {}

    @abc.abstractmethod
    def __call__(self) -> Tensor:
        """The factor."""

    @abc.abstractmethod
    def update(self, grads: Any) -> tuple[Operation, Any]:
        """Changes the factor for the next step.

        Args:
          grads: the unscaled gradients.

        Returns:
          the operation that changes it, and whether the gradients are to be applied (a bool or a bool Tensor).
        """

    @abc.abstractmethod
    def get_config(self) -> dict[str, Any]:
        """The arguments that make it."""

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> LossScale:
        """The loss scale of these arguments."""
        return cls(**config)

    def _add_weight(self, name: str, initial_value: object, dtype: object = None) -> Variable:
        """Makes a variable that is saved in checkpoints; RuntimeError where the graph has one of this name."""
        variable = Variable(
            initial_value=initial_value, name=name, dtype=dtype, trainable=False, use_resource=True,
            synchronization=VariableSynchronization.AUTO, aggregation=VariableAggregation.NONE,
        )  # fmt: skip
        key = (name, present_graph())
        if key in self._weights:
            raise RuntimeError(f"Duplicate variables detected. {key}")
        self._weights[key] = variable
        self._handle_deferred_dependencies(name=name, trackable=variable)
        return variable

    @property
    def _checkpoint_dependencies(self) -> list[TrackableReference]:
        graph = present_graph()
        weights = [TrackableReference(name, each) for (name, of), each in self._weights.items() if of is graph]
        return [*super()._checkpoint_dependencies, *sorted(weights, key=lambda reference: reference.name)]

    def _lookup_dependency(self, name: str) -> Any:
        found = super()._lookup_dependency(name)
        return self._weights.get((name, present_graph())) if found is None else found


def get_loss_scale_weights(loss_scale: LossScale) -> Iterable[Variable]:
    """The variables of a loss scale."""
    return loss_scale._weights.values()


@export("train.experimental.FixedLossScale")
class FixedLossScale(LossScale):
    """A factor that does not change.

    Args:
      loss_scale_value: int or float of at least 1; else ValueError.
    """

    def __init__(self, loss_scale_value: float) -> None:
        super().__init__()
        if not isinstance(loss_scale_value, (int, float)):
            raise ValueError("loss_scale_value must be a Python int or float.")
        if loss_scale_value < 1:
            raise ValueError("loss_scale_value must be at least 1.")
        self._loss_scale_value = float(loss_scale_value)

    def __call__(self) -> Tensor:
        return convert_to_tensor(self._loss_scale_value)

    def update(self, grads: object) -> tuple[Operation, bool]:
        return no_op(), True

    def __repr__(self) -> str:
        return f"FixedLossScale({self._loss_scale_value})"

    def get_config(self) -> dict[str, Any]:
        return {"loss_scale_value": self._loss_scale_value}


def _all_finite(grads: Iterable[Any]) -> Tensor:
    return reduce_all([reduce_all(is_finite(grad)) for grad in grads if grad is not None])


def _finite_in_all_replicas(grads: list[Any]) -> Tensor:
    strategy = distribution_context.strategy_in_use()
    if strategy is None:
        return _all_finite(grads)
    finite = strategy.extended.call_for_each_replica(
        lambda grads: cast(_all_finite(grads), dtypes.float32), args=(grads,)
    )
    return equal(strategy.reduce("SUM", finite, axis=None), strategy.num_replicas_in_sync)


@export("train.experimental.DynamicLossScale")
class DynamicLossScale(LossScale):
    """A factor that grows while the gradients are finite and shrinks, down to 1, when they are not.

    Args:
      initial_loss_scale: the factor at the start.
      increment_period: number of steps with finite gradients in a row before it grows.
      multiplier: what it grows and shrinks by.
    """

    def __init__(
        self, initial_loss_scale: float = 2**15, increment_period: int = 2000, multiplier: float = 2.0
    ) -> None:
        super().__init__()
        self._initial_loss_scale = float(initial_loss_scale)
        self._increment_period = int(increment_period)
        self._multiplier = float(multiplier)
        self._current_loss_scale = self._add_weight("current_loss_scale", self._initial_loss_scale, dtypes.float32)
        self._num_good_steps = self._add_weight("good_steps", 0, dtypes.int64)

    @property
    def initial_loss_scale(self) -> float:
        return self._initial_loss_scale

    @property
    def increment_period(self) -> int:
        return self._increment_period

    @property
    def multiplier(self) -> float:
        return self._multiplier

    def __call__(self) -> Tensor:
        return convert_to_tensor(self._current_loss_scale)

    def update(self, grads: object) -> tuple[Operation, Tensor]:
        finite = _finite_in_all_replicas(nest.flatten(grads))
        return cond(finite, self._count_step, self._shrink), finite

    def _count_step(self) -> Tensor:
        good_steps = self._num_good_steps
        return cond(
            good_steps + 1 >= self._increment_period, self._grow, lambda: good_steps.assign_add(1).op
        )

    def _grow(self) -> Operation:
        larger = self._current_loss_scale * self._multiplier
        grown = cond(is_finite(larger), lambda: self._current_loss_scale.assign(larger).op, no_op)
        return group(grown, self._num_good_steps.assign(0))

    def _shrink(self) -> Operation:
        smaller = maximum(self._current_loss_scale / self._multiplier, 1)
        return group(self._num_good_steps.assign(0), self._current_loss_scale.assign(smaller))

    def __repr__(self) -> str:
        return "DynamicLossScale({})".format(", ".join(f"{name}={value}" for name, value in self.get_config().items()))

    def get_config(self) -> dict[str, Any]:
        return {
            "initial_loss_scale": self.initial_loss_scale,
            "increment_period": self.increment_period,
            "multiplier": self.multiplier,
        }


def get(identifier: object) -> LossScale | None:
    """The loss scale that a number, "dynamic", a LossScale or None means; ValueError for anything else."""
    if isinstance(identifier, (int, float)):
        return FixedLossScale(identifier)
    if identifier == "dynamic":
        return DynamicLossScale()
    if identifier is None or isinstance(identifier, LossScale):
        return identifier
    raise ValueError(f"Could not interpret loss scale identifier: {identifier}")
