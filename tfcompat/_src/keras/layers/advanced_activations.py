"""Activations with settings or weights of their own."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras import constraints, initializers, regularizers
from tfcompat._src.keras.backend import nn
from tfcompat._src.keras.backend.config import cast_to_floatx, floatx
from tfcompat._src.keras.engine.base_layer import Layer
from tfcompat._src.keras.engine.input_spec import InputSpec
from tfcompat._src.keras.layers.elementwise import ElementwiseLayer
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import greater


@export("keras.layers.LeakyReLU")
class LeakyReLU(ElementwiseLayer):
    """`x` above 0, `alpha * x` below."""

    def __init__(self, alpha=0.3, **kwargs) -> None:
        super().__init__(**kwargs)
        self.alpha = cast_to_floatx(alpha)

    def call(self, inputs: Any) -> Tensor:
        return nn.relu(inputs, alpha=self.alpha)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "alpha": float(self.alpha)}


@export("keras.layers.PReLU")
class PReLU(ElementwiseLayer):
    """`x` above 0, `alpha * x` below, with a weight `alpha` for each element.

    Args:
      alpha_initializer, alpha_regularizer, alpha_constraint: of the weight.
      shared_axes: int or list of ints, the axes along which the weight is the same.
    """

    _config = ("alpha_initializer", "alpha_regularizer", "alpha_constraint", "shared_axes")

    def __init__(
        self, alpha_initializer="zeros", alpha_regularizer=None, alpha_constraint=None, shared_axes=None, **kwargs
    ) -> None:
        super().__init__(**kwargs)
        self.alpha_initializer = initializers.get(alpha_initializer)
        self.alpha_regularizer = regularizers.get(alpha_regularizer)
        self.alpha_constraint = constraints.get(alpha_constraint)
        if shared_axes is not None:
            shared_axes = list(shared_axes) if isinstance(shared_axes, (list, tuple)) else [shared_axes]
        self.shared_axes = shared_axes

    def build(self, input_shape: Any) -> None:
        sizes = TensorShape(input_shape).as_list()
        shared = self.shared_axes or []
        self.alpha = self.add_weight(
            shape=[1 if i in shared else size for i, size in enumerate(sizes[1:], 1)], name="alpha",
            initializer=self.alpha_initializer, regularizer=self.alpha_regularizer, constraint=self.alpha_constraint,
        )  # fmt: skip
        axes = {i: size for i, size in enumerate(sizes) if i and i not in shared} if shared else {}
        self.input_spec = InputSpec(ndim=len(sizes), axes=axes)
        self.built = True

    def call(self, inputs: Any) -> Tensor:
        above = nn.relu(inputs)
        return above + -self.alpha * nn.relu(-inputs)


@export("keras.layers.ELU")
class ELU(ElementwiseLayer):
    """`x` above 0, `alpha * (exp(x) - 1)` below."""

    def __init__(self, alpha=1.0, **kwargs) -> None:
        super().__init__(**kwargs)
        self.alpha = cast_to_floatx(alpha)

    def call(self, inputs: Any) -> Tensor:
        return nn.elu(inputs, self.alpha)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "alpha": float(self.alpha)}


@export("keras.layers.ThresholdedReLU")
class ThresholdedReLU(ElementwiseLayer):
    """`x` above `theta`, else 0."""

    def __init__(self, theta=1.0, **kwargs) -> None:
        super().__init__(**kwargs)
        self.theta = cast_to_floatx(theta)

    def call(self, inputs: Any) -> Tensor:
        return inputs * cast(greater(inputs, self.theta), floatx())

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "theta": float(self.theta)}


@export("keras.layers.Softmax")
class Softmax(ElementwiseLayer):
    """exp(x) scaled to a sum of 1 along `axis`."""

    _config = ("axis",)

    def __init__(self, axis=-1, **kwargs) -> None:
        super().__init__(**kwargs)
        self.axis = axis

    def call(self, inputs: Any) -> Tensor:
        return nn.softmax(inputs, axis=self.axis)


@export("keras.layers.ReLU")
class ReLU(Layer):
    """`x` above `threshold` and at most `max_value`; `negative_slope * (x - threshold)` below it.

    Raises:
      ValueError: `max_value` or `negative_slope` is negative.
    """

    _config = ("max_value", "negative_slope", "threshold")

    def __init__(self, max_value=None, negative_slope=0, threshold=0, **kwargs) -> None:
        super().__init__(**kwargs)
        if max_value is not None and max_value < 0.0:
            raise ValueError(f"max_value of Relu layer cannot be negative value: {max_value}")
        if negative_slope < 0.0:
            raise ValueError(f"negative_slope of Relu layer cannot be negative value: {negative_slope}")
        self.max_value = None if max_value is None else cast_to_floatx(max_value)
        self.negative_slope, self.threshold = cast_to_floatx(negative_slope), cast_to_floatx(threshold)

    def call(self, inputs: Any) -> Tensor:
        return nn.relu(inputs, alpha=self.negative_slope, max_value=self.max_value, threshold=self.threshold)

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape
