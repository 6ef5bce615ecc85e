"""tf.keras.experimental.LinearModel."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.keras import activations, initializers, regularizers
from tfcompat._src.keras.engine.base_layer import Layer
from tfcompat._src.keras.engine.training import Model
from tfcompat._src.keras.layers.core import Dense
from tfcompat._src.ops.nn.bias import bias_add


@export("keras.experimental.LinearModel")
class LinearModel(Model):
    """A weighted sum of features.

    Args:
      units: number of outputs.
      activation: function of the sum, or its name.
      use_bias: whether a bias is added.
      kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer: of the weights.
      kwargs: of every model.
    """

    def __init__(
        self, units=1, activation=None, use_bias=True, kernel_initializer="glorot_uniform", bias_initializer="zeros",
        kernel_regularizer=None, bias_regularizer=None, **kwargs,
    ) -> None:  # fmt: skip
        super().__init__(**kwargs)
        self.units, self.activation, self.use_bias = units, activations.get(activation), use_bias
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        self.kernel_regularizer = regularizers.get(kernel_regularizer)
        self.bias_regularizer = regularizers.get(bias_regularizer)

    def build(self, input_shape: Any) -> None:
        """Makes a kernel for each input, and the bias."""
        self.dense_layers = [
            Dense(
                self.units, use_bias=False, kernel_initializer=self.kernel_initializer,
                kernel_regularizer=self.kernel_regularizer, input_shape=shape,
            )  # fmt: skip
            for shape in (input_shape if isinstance(input_shape, list) else [input_shape])
        ]
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight(
                "bias", shape=self.units, initializer=self.bias_initializer, regularizer=self.bias_regularizer,
                dtype=self.dtype, trainable=True,
            )  # fmt: skip

    def call(self, inputs: Any) -> Any:
        """The outputs; ValueError for another number of inputs than the model was built for."""
        inputs = inputs if isinstance(inputs, (tuple, list)) else [inputs]
        if len(inputs) != len(self.dense_layers):
            raise ValueError(f"Expected {len(self.dense_layers)} inputs, but got {len(inputs)} inputs")
        outputs = [layer(x) for x, layer in zip(inputs, self.dense_layers)]
        result = outputs[0]
        for output in outputs[1:]:
            result += output
        if self.use_bias:
            result = bias_add(result, self.bias)
        return result if self.activation is None else self.activation(result)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {
            **Layer.get_config(self),
            "units": self.units,
            "activation": activations.serialize(self.activation),
            "use_bias": self.use_bias,
            "kernel_initializer": initializers.serialize(self.kernel_initializer),
            "bias_initializer": initializers.serialize(self.bias_initializer),
            "kernel_regularizer": regularizers.serialize(self.kernel_regularizer),
            "bias_regularizer": regularizers.serialize(self.bias_regularizer),
        }

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: object = None) -> LinearModel:
        """A model from what `get_config` gave."""
        return cls(**config)
