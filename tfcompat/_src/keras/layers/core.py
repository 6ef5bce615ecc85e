"""Dense, dropout and what changes the shape: the layers that tf.layers and Keras share, and others."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras import activations, constraints, initializers, regularizers
from tfcompat._src.keras.backend.arrays import repeat
from tfcompat._src.keras.backend.config import image_data_format
from tfcompat._src.keras.backend.math import reduce_any
from tfcompat._src.keras.backend.session import learning_phase
from tfcompat._src.keras.engine.base_layer import Layer
from tfcompat._src.keras.engine.input_spec import InputSpec
from tfcompat._src.keras.layers.elementwise import ElementwiseLayer
from tfcompat._src.keras.utils.conv_utils import normalize_data_format
from tfcompat._src.keras.utils.smart_cond import smart_cond
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.reorder import transpose
from tfcompat._src.ops.array.shape import reshape, squeeze
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import not_equal
from tfcompat._src.ops.math.contraction import tensordot
from tfcompat._src.ops.nn.bias import bias_add
from tfcompat._src.ops.nn.dropout import dropout

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@export("keras.layers.Dense")
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
        super().__init__(activity_regularizer=regularizers.get(activity_regularizer), **kwargs)
        self.units, self.use_bias = int(units), use_bias
        self.activation = activations.get(activation)
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        self.kernel_regularizer = regularizers.get(kernel_regularizer)
        self.bias_regularizer = regularizers.get(bias_regularizer)
        self.kernel_constraint = constraints.get(kernel_constraint)
        self.bias_constraint = constraints.get(bias_constraint)
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
            given = inputs if self._dtype_policy.should_cast_variables else cast(inputs, self.dtype)
            outputs = raw.MatMul(given, self.kernel)
        if self.use_bias:
            outputs = bias_add(outputs, self.bias)
        return self.activation(outputs)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        sizes = TensorShape(input_shape).with_rank_at_least(2).as_list()
        if sizes[-1] is None:
            raise ValueError(f"The innermost dimension of input_shape must be defined, but saw: {input_shape}")
        return TensorShape([*sizes[:-1], self.units])


@export("keras.layers.Dropout")
class Dropout(ElementwiseLayer):
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


class _SpatialDropout(Dropout):
    """Drops whole channels of tensors of `rank` spatial dimensions."""

    rank = 0

    def __init__(self, rate, data_format=None, **kwargs) -> None:
        super().__init__(rate, **kwargs)
        data_format = image_data_format() if data_format is None else data_format
        if data_format not in ("channels_last", "channels_first"):
            raise ValueError('data_format must be in {"channels_last", "channels_first"}')
        self.data_format = data_format
        self.input_spec = InputSpec(ndim=self.rank + 2)

    def _get_noise_shape(self, inputs: TensorLike) -> tuple[Any, ...]:
        sizes, ones = shape_of(inputs), (1,) * self.rank
        if self.data_format == "channels_first":
            return (sizes[0], sizes[1], *ones)
        return (sizes[0], *ones, sizes[self.rank + 1])


@export("keras.layers.SpatialDropout1D")
class SpatialDropout1D(_SpatialDropout):
    """Drops whole channels of [batch, steps, channels]; see `Dropout`."""

    rank = 1

    def __init__(self, rate, **kwargs) -> None:
        super().__init__(rate, "channels_last", **kwargs)


@export("keras.layers.SpatialDropout2D")
class SpatialDropout2D(_SpatialDropout):
    """Drops whole channels of images; `data_format` is "channels_last" or "channels_first"; see `Dropout`."""

    rank = 2


@export("keras.layers.SpatialDropout3D")
class SpatialDropout3D(_SpatialDropout):
    """Drops whole channels of volumes; `data_format` is "channels_last" or "channels_first"; see `Dropout`."""

    rank = 3


@export("keras.layers.Masking")
class Masking(ElementwiseLayer):
    """Masks the steps all of whose features are `mask_value`, and sets them to 0."""

    _config = ("mask_value",)

    def __init__(self, mask_value=0.0, **kwargs) -> None:
        super().__init__(**kwargs)
        self.mask_value = mask_value
        self._compute_output_and_mask_jointly = True

    def compute_mask(self, inputs: Any, mask: Any = None) -> Tensor:
        return reduce_any(not_equal(inputs, self.mask_value), axis=-1)

    def call(self, inputs: Any) -> Tensor:
        mask = reduce_any(not_equal(inputs, self.mask_value), axis=-1, keepdims=True)
        outputs = inputs * cast(mask, inputs.dtype)
        outputs._keras_mask = squeeze(mask, axis=-1)
        return outputs


@export("keras.layers.Activation")
class Activation(ElementwiseLayer):
    """A function of its inputs, or the name of one."""

    _config = ("activation",)

    def __init__(self, activation, **kwargs) -> None:
        super().__init__(**kwargs)
        self.activation = activations.get(activation)

    def call(self, inputs: Any) -> Any:
        return self.activation(inputs)


@export("keras.layers.ActivityRegularization")
class ActivityRegularization(ElementwiseLayer):
    """Its inputs; adds the loss `l1 * sum(|x|) + l2 * sum(x ** 2)`."""

    _config = ("l1", "l2")

    def __init__(self, l1=0.0, l2=0.0, **kwargs) -> None:
        super().__init__(activity_regularizer=regularizers.L1L2(l1=l1, l2=l2), **kwargs)
        self.l1, self.l2 = l1, l2


@export("keras.layers.Flatten")
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


@export("keras.layers.Reshape")
class Reshape(Layer):
    """Each element of the batch in the shape `target_shape`, in which one size may be -1.

    Raises:
      ValueError: several sizes are -1, or the number of elements differs.
    """

    _config = ("target_shape",)

    def __init__(self, target_shape, **kwargs) -> None:
        super().__init__(**kwargs)
        self.target_shape = tuple(target_shape)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        batch, *sizes = TensorShape(input_shape).as_list()
        if None in sizes:
            return TensorShape([batch, *(None if size == -1 else size for size in self.target_shape)])
        return TensorShape([batch, *self._sizes_for(math.prod(sizes))])

    def _sizes_for(self, count: int) -> list[int]:
        if sum(size < 0 for size in self.target_shape) > 1:
            raise ValueError("Can only specify one unknown dimension.")
        known = math.prod(size for size in self.target_shape if size >= 0)
        open_size = any(size < 0 for size in self.target_shape)
        if (known == 0 or count % known != 0) if open_size else count != known:
            raise ValueError("total size of new array must be unchanged")
        return [count // known if size < 0 else size for size in self.target_shape]

    def call(self, inputs: Any) -> Tensor:
        return reshape(inputs, (shape_of(inputs)[0], *self.target_shape))


@export("keras.layers.Permute")
class Permute(Layer):
    """The dimensions of each element of the batch in the order `dims`, counted from 1; ValueError for no permutation."""

    _config = ("dims",)

    def __init__(self, dims, **kwargs) -> None:
        super().__init__(**kwargs)
        self.dims = tuple(dims)
        if sorted(dims) != list(range(1, len(dims) + 1)):
            raise ValueError(
                f"Invalid permutation `dims` for Permute Layer: {dims}. The set of indices in `dims` must be "
                "consecutive and start from 1."
            )
        self.input_spec = InputSpec(ndim=len(self.dims) + 1)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        sizes = TensorShape(input_shape).as_list()
        return TensorShape([sizes[0], *(sizes[dim] for dim in self.dims)])

    def call(self, inputs: Any) -> Tensor:
        return transpose(inputs, perm=(0, *self.dims))


@export("keras.layers.RepeatVector")
class RepeatVector(Layer):
    """A matrix [batch, size] as [batch, n, size]."""

    _config = ("n",)

    def __init__(self, n, **kwargs) -> None:
        super().__init__(**kwargs)
        self.n = n
        self.input_spec = InputSpec(ndim=2)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        sizes = TensorShape(input_shape).as_list()
        return TensorShape([sizes[0], self.n, sizes[1]])

    def call(self, inputs: Any) -> Tensor:
        return repeat(inputs, self.n)
