"""Dense, Dropout and Flatten, as tf.layers and Keras share them."""

from __future__ import annotations

import math
from typing import Any

from tfcompat._src.framework import dtypes, raw
from tfcompat._src.framework.convert import convert_to_tensor
from tfcompat._src.framework.sparse_tensor import SparseTensor
from tfcompat._src.framework.tensor import Tensor
from tfcompat._src.framework.tensor_shape import TensorShape
from tfcompat._src.layers import identifiers
from tfcompat._src.layers.input_spec import InputSpec
from tfcompat._src.layers.layer import Layer
from tfcompat._src.layers.training import learning_phase, smart_cond
from tfcompat._src.layers.windows import normalize_data_format
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.reorder import transpose
from tfcompat._src.ops.array.shape import reshape
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.contraction import tensordot
from tfcompat._src.ops.nn.bias import bias_add
from tfcompat._src.ops.nn.dropout import dropout


class Dense(Layer):
    """`activation(inputs @ kernel + bias)`.

    Args:
      units: number of outputs.
      activation: function of the result, its name, or None.
      use_bias: whether to add a bias.
      kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, kernel_constraint,
        bias_constraint: of the weights.
      activity_regularizer: function of the output that gives a loss.
    """

    _config = (
        "units", "activation", "use_bias", "kernel_initializer", "bias_initializer", "kernel_regularizer",
        "bias_regularizer", "activity_regularizer", "kernel_constraint", "bias_constraint",
    )  # fmt: skip

    def __init__(
        self, units, activation=None, use_bias=True, kernel_initializer="glorot_uniform", bias_initializer="zeros",
        kernel_regularizer=None, bias_regularizer=None, activity_regularizer=None, kernel_constraint=None,
        bias_constraint=None, **kwargs,
    ) -> None:  # fmt: skip
        if "input_shape" not in kwargs and "input_dim" in kwargs:
            kwargs["input_shape"] = (kwargs.pop("input_dim"),)
        super().__init__(activity_regularizer=identifiers.get_regularizer(activity_regularizer), **kwargs)
        self.units, self.use_bias = int(units), use_bias
        self.activation = identifiers.get_activation(activation)
        self.kernel_initializer = identifiers.get_initializer(kernel_initializer)
        self.bias_initializer = identifiers.get_initializer(bias_initializer)
        self.kernel_regularizer = identifiers.get_regularizer(kernel_regularizer)
        self.bias_regularizer = identifiers.get_regularizer(bias_regularizer)
        self.kernel_constraint = identifiers.get_constraint(kernel_constraint)
        self.bias_constraint = identifiers.get_constraint(bias_constraint)
        self.supports_masking = True
        self.input_spec = InputSpec(min_ndim=2)

    def build(self, input_shape: Any) -> None:
        dtype = dtypes.as_dtype(self.dtype or dtypes.float32)
        if not (dtype.is_floating or dtype.is_complex):
            raise TypeError(f"Unable to build `Dense` layer with non-floating point dtype {dtype!s}")
        last = TensorShape(input_shape).as_list()[-1]
        if last is None:
            raise ValueError("The last dimension of the inputs to `Dense` should be defined. Found `None`.")
        self.input_spec = InputSpec(min_ndim=2, axes={-1: last})
        self.kernel = self.add_weight(
            "kernel", shape=[last, self.units], initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer, constraint=self.kernel_constraint, dtype=self.dtype, trainable=True,
        )  # fmt: skip
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight(
                "bias", shape=[self.units], initializer=self.bias_initializer, regularizer=self.bias_regularizer,
                constraint=self.bias_constraint, dtype=self.dtype, trainable=True,
            )  # fmt: skip
        self.built = True

    def call(self, inputs: Any) -> Tensor:
        rank = len(inputs.shape)
        if rank > 2:
            outputs = tensordot(inputs, self.kernel, [[rank - 1], [0]])
            outputs.set_shape([*inputs.shape.as_list()[:-1], self.units])
        elif isinstance(inputs, SparseTensor):
            values = cast(inputs, self.dtype)
            outputs = raw.SparseTensorDenseMatMul(values.indices, values.values, values.dense_shape, self.kernel)
        else:
            outputs = raw.MatMul(cast(inputs, self.dtype), self.kernel)
        if self.use_bias:
            outputs = bias_add(outputs, self.bias)
        return self.activation(outputs)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        sizes = TensorShape(input_shape).with_rank_at_least(2).as_list()
        if sizes[-1] is None:
            raise ValueError(f"The innermost dimension of input_shape must be defined, but saw: {input_shape}")
        return TensorShape([*sizes[:-1], self.units])


class Dropout(Layer):
    """Sets random elements to 0 while training, and scales the others by 1 / (1 - rate).

    Args:
      rate: part of the elements that is dropped.
      noise_shape: shape of the random decisions, broadcast to the inputs; None in it stands for the inputs' size.
      seed: op seed.
    """

    _config = ("rate", "noise_shape", "seed")

    def __init__(self, rate, noise_shape=None, seed=None, **kwargs) -> None:
        super().__init__(**kwargs)
        self.rate, self.noise_shape, self.seed = rate, noise_shape, seed
        self.supports_masking = True

    def _get_noise_shape(self, inputs: Any) -> Any:
        if self.noise_shape is None:
            return None
        sizes = shape_of(inputs)
        return convert_to_tensor([sizes[i] if size is None else size for i, size in enumerate(self.noise_shape)])

    def call(self, inputs: Any, training: Any = None) -> Tensor:
        return smart_cond(
            learning_phase() if training is None else training,
            lambda: dropout(inputs, noise_shape=self._get_noise_shape(inputs), seed=self.seed, rate=self.rate),
            lambda: identity(inputs),
        )

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape


class Flatten(Layer):
    """All dimensions but the first in one.

    Args:
      data_format: "channels_last", or "channels_first" (the channels are moved to the end before).
    """

    _config = ("data_format",)

    def __init__(self, data_format=None, **kwargs) -> None:
        super().__init__(**kwargs)
        self.data_format = normalize_data_format(data_format)
        self.input_spec = InputSpec(min_ndim=1)

    def call(self, inputs: Any) -> Tensor:
        rank = inputs.shape.ndims
        if self.data_format == "channels_first" and rank > 1:
            inputs = transpose(inputs, perm=[0, *range(2, rank), 1])
        outputs = reshape(inputs, (inputs.shape.as_list()[0] or shape_of(inputs)[0], -1))
        outputs.set_shape(self.compute_output_shape(inputs.shape))
        return outputs

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        sizes = TensorShape(input_shape).as_list()
        return TensorShape([sizes[0], math.prod(sizes[1:]) if all(sizes[1:]) else None])
