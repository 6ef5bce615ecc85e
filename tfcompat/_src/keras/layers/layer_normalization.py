"""Normalization of each example by itself (Ba, Kiros & Hinton, arXiv 1607.06450)."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras import constraints, initializers, regularizers
from tfcompat._src.keras.layers.elementwise import ElementwiseLayer
from tfcompat._src.ops.array.shape import reshape
from tfcompat._src.ops.nn.moments import batch_normalization, moments


@export("keras.layers.LayerNormalization")
class LayerNormalization(ElementwiseLayer):
    """Normalizes by the mean and variance over `axis`.

    Args:
      axis: int or list of ints.
      epsilon: added to the variance.
      center, scale: whether to add `beta` and multiply by `gamma`.
      beta_initializer, gamma_initializer, beta_regularizer, gamma_regularizer, beta_constraint, gamma_constraint:
        of the weights.

    Raises:
      ValueError: `axis` is neither, or lies beyond the rank.
    """

    _config = (
        "axis", "epsilon", "center", "scale", "beta_initializer", "gamma_initializer", "beta_regularizer",
        "gamma_regularizer", "beta_constraint", "gamma_constraint",
    )  # fmt: skip

    def __init__(
        self, axis=-1, epsilon=1e-3, center=True, scale=True, beta_initializer="zeros", gamma_initializer="ones",
        beta_regularizer=None, gamma_regularizer=None, beta_constraint=None, gamma_constraint=None, trainable=True,
        name=None, **kwargs,
    ) -> None:  # fmt: skip
        super().__init__(name=name, trainable=trainable, **kwargs)
        if not isinstance(axis, (int, list, tuple)):
            raise ValueError(
                "Expected an int or a list/tuple of ints for the argument 'axis', but received instead: " + str(axis)
            )
        self.axis = axis if isinstance(axis, int) else list(axis)
        self.epsilon, self.center, self.scale = epsilon, center, scale
        self.beta_initializer = initializers.get(beta_initializer)
        self.gamma_initializer = initializers.get(gamma_initializer)
        self.beta_regularizer = regularizers.get(beta_regularizer)
        self.gamma_regularizer = regularizers.get(gamma_regularizer)
        self.beta_constraint = constraints.get(beta_constraint)
        self.gamma_constraint = constraints.get(gamma_constraint)

    def build(self, input_shape: Any) -> None:
        sizes = TensorShape(input_shape).as_list()
        axes = [self.axis] if isinstance(self.axis, int) else self.axis
        self.axis = [axis + len(sizes) if axis < 0 else axis for axis in axes]
        for axis in self.axis:
            if not 0 <= axis < len(sizes):
                raise ValueError(f"Invalid axis: {axis}")
        if len(self.axis) != len(set(self.axis)):
            raise ValueError(f"Duplicate axis: {tuple(self.axis)}")
        shape = [sizes[axis] for axis in self.axis]
        self.gamma = self._add_parameter("gamma", shape) if self.scale else None
        self.beta = self._add_parameter("beta", shape) if self.center else None
        self.built = True

    def _add_parameter(self, name: str, shape: list[int]) -> Any:
        return self.add_weight(
            name=name, shape=shape, initializer=getattr(self, f"{name}_initializer"),
            regularizer=getattr(self, f"{name}_regularizer"), constraint=getattr(self, f"{name}_constraint"),
            trainable=True, experimental_autocast=False,
        )  # fmt: skip

    def call(self, inputs: Any) -> Tensor:
        rank = len(inputs.shape)
        sizes = inputs.shape.as_list()
        mean, variance = moments(inputs, self.axis, keep_dims=True)
        wanted = [sizes[i] if i in self.axis else 1 for i in range(rank)]

        def broadcast(value: Any) -> Any:
            plain = value is None or len(value.shape) == rank or list(self.axis) == [rank - 1]
            return value if plain else reshape(value, wanted)

        scale, offset = broadcast(self.gamma), broadcast(self.beta)
        outputs = batch_normalization(
            inputs, mean, variance, offset=offset, scale=scale, variance_epsilon=self.epsilon
        )
        outputs.set_shape(inputs.shape)
        return outputs
