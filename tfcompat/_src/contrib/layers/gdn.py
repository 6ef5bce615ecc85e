"""tf.contrib.layers.gdn: generalized divisive normalization (Ballé, Laparra and Simoncelli 2016)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base.export import export
from tfcompat._src.base.gradient_registry import RegisterGradient
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.engine.input_spec import InputSpec
from tfcompat._src.layers.scoped_layer import Layer
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.ops.array.fill import ones
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.shape import expand_dims, reshape, squeeze
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.composed.eye import eye
from tfcompat._src.ops.math.binary import maximum
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import logical_or
from tfcompat._src.ops.math.unary import sqrt, square
from tfcompat._src.ops.nn.bias import bias_add
from tfcompat._src.ops.nn.dilated import convolution

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

LOWER_BOUND = "GDNLowerBound"
CHANNEL_AXES = {"channels_first": 1, "channels_last": -1}


@RegisterGradient(LOWER_BOUND)
def _bounded_gradient(op: Any, grad: Tensor) -> list[Any]:
    """The gradient where the value lies above the bound or is pushed upwards."""
    value, bound = op.inputs
    return [cast(logical_or(value >= bound, grad < 0), grad.dtype) * grad, None]


def _bounded(inputs: TensorLike, bound: TensorLike) -> Tensor:
    """The larger of a Tensor and a scalar."""
    with name_scope(None, LOWER_BOUND, [inputs, bound]) as scope:
        inputs, bound = convert_to_tensor(inputs, name="inputs"), convert_to_tensor(bound, name="bound")
        with inputs.graph.gradient_override_map({"Maximum": LOWER_BOUND}):
            return maximum(inputs, bound, name=scope)


@export("contrib.layers.GDN", "contrib.slim.GDN")
class GDN(Layer):
    """`x[i] / sqrt(beta[i] + sum_j gamma[j, i] * x[j]**2)` over channels, at each position.

    Args:
      inverse: whether to multiply by the root instead.
      beta_min: least value of beta.
      gamma_init: gamma starts as this times the identity matrix, beta as ones.
      reparam_offset: added, squared, to beta and gamma below the root that is stored of them.
      data_format: "channels_last" or "channels_first".
      activity_regularizer: function of the output.
      trainable: whether the variables are trained.
      name: of the layer and of its variable scope.

    Attributes:
      beta: Tensor [channels].
      gamma: Tensor [channels, channels].

    Raises:
      ValueError: the data format is none of the two; when built: the number of channels is unknown.
    """

    def __init__(
        self, inverse: bool = False, beta_min: float = 1e-6, gamma_init: float = 0.1, reparam_offset: float = 2**-18,
        data_format: str = "channels_last", activity_regularizer: object = None, trainable: bool = True,
        name: str | None = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(trainable=trainable, name=name, activity_regularizer=activity_regularizer, **kwargs)
        if data_format not in CHANNEL_AXES:
            raise ValueError(f"Unsupported `data_format` for GDN layer: {data_format}.")
        self.inverse, self.data_format = inverse, data_format
        self._beta_min, self._gamma_init, self._reparam_offset = beta_min, gamma_init, reparam_offset
        self.input_spec = InputSpec(min_ndim=3, max_ndim=5)

    def build(self, input_shape: Any) -> None:
        axis, shape = CHANNEL_AXES[self.data_format], TensorShape(input_shape)
        channels = shape.as_list()[axis]
        if channels is None:
            raise ValueError("The channel dimension of the inputs to `GDN` must be defined.")
        self._input_rank = shape.ndims
        self.input_spec = InputSpec(ndim=shape.ndims, axes={axis: channels})
        pedestal = constant(self._reparam_offset**2, dtype=self.dtype)
        beta_bound = constant((self._beta_min + self._reparam_offset**2) ** 0.5, dtype=self.dtype)
        gamma_bound = constant(self._reparam_offset, dtype=self.dtype)
        self.beta = self._parameter("reparam_beta", [channels], self._initial_beta, beta_bound, pedestal)
        self.gamma = self._parameter("reparam_gamma", [channels, channels], self._initial_gamma, gamma_bound, pedestal)
        self.built = True

    def _parameter(self, name: str, shape: list[int], initializer: object, bound: Tensor, pedestal: Tensor) -> Tensor:
        variable = self.add_variable(name, shape=shape, initializer=initializer, dtype=self.dtype, trainable=True)
        return square(_bounded(variable, bound)) - pedestal

    def _initial_beta(self, shape: object, dtype: object = None, partition_info: object = None) -> Tensor:
        pedestal = constant(self._reparam_offset**2, dtype=self.dtype)
        return sqrt(ones(shape, dtype=dtype) + pedestal)

    def _initial_gamma(self, shape: Any, dtype: object = None, partition_info: object = None) -> Tensor:
        identity = eye(shape[0], dtype=dtype)
        pedestal = constant(self._reparam_offset**2, dtype=self.dtype)
        return sqrt(self._gamma_init * identity + pedestal)

    def call(self, inputs: Any) -> Tensor:
        inputs = convert_to_tensor(inputs, dtype=self.dtype)
        spatial = self._input_rank - 2
        kernel = reshape(self.gamma, spatial * [1] + self.gamma.shape.as_list())
        if self.data_format == "channels_last":
            pool = convolution(square(inputs), kernel, "VALID")
            pool = bias_add(pool, self.beta, data_format="NHWC")
        else:
            pool = convolution(square(inputs), kernel, "VALID", data_format="NC" + "DHW"[-spatial:])
            pool = self._with_beta_first(pool)
        root = sqrt(pool)
        outputs = inputs * root if self.inverse else inputs / root
        outputs.set_shape(inputs.shape)
        return outputs

    def _with_beta_first(self, pool: Tensor) -> Tensor:
        """`pool + beta` with the channels first; BiasAdd has that layout for four dimensions."""
        if self._input_rank == 3:
            return squeeze(bias_add(expand_dims(pool, 2), self.beta, data_format="NCHW"), [2])
        if self._input_rank == 4:
            return bias_add(pool, self.beta, data_format="NCHW")
        shape = shape_of(pool)
        flat = reshape(pool, concat([shape[:3], [-1]], 0))
        return reshape(bias_add(flat, self.beta, data_format="NCHW"), shape)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        shape = TensorShape(input_shape)
        if not 3 <= shape.ndims <= 5:
            raise ValueError("`input_shape` must be of rank 3 to 5, inclusive.")
        if shape.as_list()[CHANNEL_AXES[self.data_format]] is None:
            raise ValueError("The channel dimension of `input_shape` must be defined.")
        return shape


@export("contrib.layers.gdn", "contrib.slim.gdn")
def gdn(
    inputs: Any, inverse: bool = False, beta_min: float = 1e-6, gamma_init: float = 0.1, reparam_offset: float = 2**-18,
    data_format: str = "channels_last", activity_regularizer: Any = None, trainable: bool = True,
    name: str | None = None, reuse: object = None,
) -> Tensor:  # fmt: skip
    """A `GDN` layer applied to `inputs`, a floating Tensor of rank 3 to 5; the other arguments are the layer's.

    Raises:
      ValueError: as of the layer.
    """
    return GDN(
        inverse=inverse, beta_min=beta_min, gamma_init=gamma_init, reparam_offset=reparam_offset, data_format=data_format,
        activity_regularizer=activity_regularizer, trainable=trainable, name=name, dtype=inputs.dtype.base_dtype,
        _scope=name, _reuse=reuse,
    ).apply(inputs)  # fmt: skip
