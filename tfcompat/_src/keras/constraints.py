"""tf.keras.constraints: projections of a weight after each update."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.backend.arrays import reshape, stack
from tfcompat._src.keras.backend.config import epsilon, floatx
from tfcompat._src.keras.backend.function import map_fn, switch
from tfcompat._src.keras.backend.math import clip, sqrt
from tfcompat._src.keras.backend.values import constant, zeros
from tfcompat._src.keras.utils.generic_utils import deserialize_keras_object, serialize_keras_object
from tfcompat._src.ops.array.join import unstack
from tfcompat._src.ops.array.pad import pad
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.control.while_loop import while_loop
from tfcompat._src.ops.math import unary
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import greater_equal, less
from tfcompat._src.ops.math.reduce import reduce_sum


def _norms(w: object, axis: object) -> Tensor:
    return sqrt(reduce_sum(unary.square(w), axis=axis, keepdims=True))


@export("keras.constraints.Constraint")
class Constraint:
    """A function that projects a weight: the identity, where a subclass does not say otherwise."""

    def __call__(self, w: Any) -> Any:
        return w

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {}


@export("keras.constraints.MaxNorm", "keras.constraints.max_norm")
class MaxNorm(Constraint):
    """Norms along `axis` of at most `max_value`."""

    def __init__(self, max_value: float = 2, axis: Any = 0) -> None:
        self.max_value, self.axis = max_value, axis

    def __call__(self, w: object) -> Tensor:
        norms = _norms(w, self.axis)
        wanted = clip(norms, 0, self.max_value)
        return w * (wanted / (epsilon() + norms))

    def get_config(self) -> dict[str, Any]:
        return {"max_value": self.max_value, "axis": self.axis}


@export("keras.constraints.NonNeg", "keras.constraints.non_neg")
class NonNeg(Constraint):
    """0 in place of negative elements."""

    def __call__(self, w: object) -> Tensor:
        return w * cast(greater_equal(w, 0.0), floatx())


@export("keras.constraints.UnitNorm", "keras.constraints.unit_norm")
class UnitNorm(Constraint):
    """Norms along `axis` of 1."""

    def __init__(self, axis: Any = 0) -> None:
        self.axis = axis

    def __call__(self, w: object) -> Tensor:
        return w / (epsilon() + _norms(w, self.axis))

    def get_config(self) -> dict[str, Any]:
        return {"axis": self.axis}


@export("keras.constraints.MinMaxNorm", "keras.constraints.min_max_norm")
class MinMaxNorm(Constraint):
    """Norms along `axis` from `min_value` to `max_value`; `rate` is how far each update goes there, 1: at once."""

    def __init__(self, min_value: float = 0.0, max_value: float = 1.0, rate: float = 1.0, axis: Any = 0) -> None:
        self.min_value, self.max_value, self.rate, self.axis = min_value, max_value, rate, axis

    def __call__(self, w: object) -> Tensor:
        norms = _norms(w, self.axis)
        wanted = self.rate * clip(norms, self.min_value, self.max_value) + (1 - self.rate) * norms
        return w * (wanted / (epsilon() + norms))

    def get_config(self) -> dict[str, Any]:
        return {"min_value": self.min_value, "max_value": self.max_value, "rate": self.rate, "axis": self.axis}


@export("keras.constraints.RadialConstraint", "keras.constraints.radial_constraint")
class RadialConstraint(Constraint):
    """One value for each square ring of a convolution kernel [rows, columns, inputs, outputs], that of its diagonal.

    Raises:
      ValueError: when called, the weight has not four dimensions.
    """

    def __call__(self, w: Any) -> Tensor:
        if w.shape.rank != 4:
            raise ValueError(f"The weight tensor must be of rank 4, but is of shape: {w.shape}")
        height, width, channels, kernels = w.shape
        planes = reshape(w, (height, width, channels * kernels))
        rings = map_fn(_rings, stack(unstack(planes, axis=-1), axis=0))
        return reshape(stack(unstack(rings, axis=0), axis=-1), (height, width, channels, kernels))


def _rings(plane: Tensor) -> Tensor:
    """A square matrix grown from its middle, a ring of one value at a time."""
    border = constant([[1, 1], [1, 1]], dtype="int32")
    size = shape_of(plane)[0]
    start = cast(size / 2, dtypes.int32)

    def middle() -> Tensor:
        return plane[start - 1 : start, start - 1 : start]

    def is_odd() -> Tensor:
        return cast(size % 2, dtypes.bool)

    first = switch(is_odd(), middle, lambda: middle() + zeros((2, 2), dtype=plane.dtype))
    index = switch(is_odd(), lambda: constant(0, dtype="int32"), lambda: constant(1, dtype="int32"))

    def grow(i: Tensor, found: Tensor) -> tuple[Tensor, Tensor]:
        return i + 1, pad(found, border, constant_values=plane[start + i, start + i])

    _, grown = while_loop(
        lambda i, *_: less(i, start),
        grow,
        [index, first],
        shape_invariants=[index.get_shape(), TensorShape([None, None])],
    )
    return grown


max_norm = maxnorm = MaxNorm
non_neg = nonneg = NonNeg
unit_norm = unitnorm = UnitNorm
min_max_norm = MinMaxNorm
radial_constraint = RadialConstraint


@export("keras.constraints.serialize")
def serialize(constraint: object) -> Any:
    """The class name and configuration of a constraint."""
    return serialize_keras_object(constraint)


@export("keras.constraints.deserialize")
def deserialize(config: object, custom_objects: dict[str, Any] | None = None) -> Any:
    """The constraint that `serialize` gave `config` for; ValueError where it is unknown."""
    return deserialize_keras_object(
        config, module_objects=globals(), custom_objects=custom_objects, printable_module_name="constraint"
    )


@export("keras.constraints.get")
def get(identifier: object) -> Any:
    """The constraint of a name or configuration, a function itself, or None; ValueError for anything else."""
    if identifier is None or callable(identifier):
        return identifier
    if isinstance(identifier, str):
        return deserialize({"class_name": identifier, "config": {}})
    if isinstance(identifier, dict):
        return deserialize(identifier)
    raise ValueError(f"Could not interpret constraint identifier: {identifier}")
