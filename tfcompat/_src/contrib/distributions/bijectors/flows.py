"""Normalizing flows: masked autoregressive flow, real NVP, batch normalization."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import dimension_value
from tfcompat._src.distributions.bijector import Bijector
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.layers.core import Dense, dense
from tfcompat._src.layers.normalization import BatchNormalization as BatchNormalizationLayer
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.array.constant import stop_gradient
from tfcompat._src.ops.array.fill import zeros_like
from tfcompat._src.ops.array.join import concat, split, unstack
from tfcompat._src.ops.array.shape import reshape, shape
from tfcompat._src.ops.control.while_loop import while_loop
from tfcompat._src.ops.math.clip import clip_by_value
from tfcompat._src.ops.math.reduce import reduce_sum
from tfcompat._src.ops.math.unary import exp, log, sqrt
from tfcompat._src.ops.nn.activation import relu
from tfcompat._src.ops.nn.moments import moments
from tfcompat._src.variables.initializers import GlorotNormal
from tfcompat._src.variables.scope import get_variable_scope, variable_scope
from tfcompat._src.variables.template import make_template

if TYPE_CHECKING:
    from tfcompat._src.base.dtypes import DType

_UNKNOWN_DEPTH = "Rightmost dimension must be known prior to graph execution."


def _scaled_and_shifted(x: Tensor, shift: object, log_scale: object) -> Tensor:
    y = x if log_scale is None else x * exp(log_scale)
    return y if shift is None else y + shift


def _unshifted_and_unscaled(y: Tensor, shift: object, log_scale: Any) -> Tensor:
    x = y if shift is None else y - shift
    return x if log_scale is None else x * exp(-log_scale)


@export("contrib.distributions.bijectors.MaskedAutoregressiveFlow")
class MaskedAutoregressiveFlow(Bijector):
    """y_i = x_i exp(log_scale_i) + shift_i, both functions of y_0, ..., y_(i-1) (Papamakarios et al. 2017).

    Args:
      shift_and_log_scale_fn: function of y that gives (shift, log_scale), each a Tensor of its shape or None.
      is_constant_jacobian: whether log_scale is constant.
      validate_args: whether values are checked in a run.
      unroll_loop: whether the forward function is no while loop; the last dimension has to be known then.
      name: name scope.
    """

    def __init__(
        self, shift_and_log_scale_fn: Callable, is_constant_jacobian: bool = False, validate_args: bool = False,
        unroll_loop: bool = False, name: str | None = None,
    ) -> None:  # fmt: skip
        self._shift_and_log_scale_fn = shift_and_log_scale_fn
        self._unroll_loop = unroll_loop
        super().__init__(
            forward_min_event_ndims=1, is_constant_jacobian=is_constant_jacobian, validate_args=validate_args,
            name=name or "masked_autoregressive_flow",
        )  # fmt: skip

    def _forward(self, x: Tensor) -> Tensor:
        known = dimension_value(x.shape.with_rank_at_least(1)[-1])
        if self._unroll_loop:
            if known is None:
                raise ValueError(
                    "The final dimension of `x` must be known at graph construction time if `unroll_loop=True`. "
                    f"`x.shape: {x.shape!r}`"
                )
            y = zeros_like(x, name="y0")
            for _ in range(known):
                y = _scaled_and_shifted(x, *self._shift_and_log_scale_fn(y))
            return y
        size = shape(x)[-1]
        start = zeros_like(x, name="y0")
        self._shift_and_log_scale_fn(start)

        def step(index: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
            with variable_scope(get_variable_scope()) as scope:
                if scope.caching_device is None:
                    scope.set_caching_device(lambda op: op.device)
                parameters = self._shift_and_log_scale_fn(y)
            return index + 1, _scaled_and_shifted(x, *parameters)

        return while_loop(lambda index, _: index < size, step, (0, start), maximum_iterations=known)[1]

    def _inverse(self, y: Tensor) -> Tensor:
        return _unshifted_and_unscaled(y, *self._shift_and_log_scale_fn(y))

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        _, log_scale = self._shift_and_log_scale_fn(y)
        if log_scale is None:
            return constant(0.0, dtype=y.dtype, name="ildj")
        return -reduce_sum(log_scale, axis=-1)


MASK_INCLUSIVE, MASK_EXCLUSIVE = "inclusive", "exclusive"


def gen_mask(
    num_blocks: int, n_in: int, n_out: int, mask_type: str = MASK_EXCLUSIVE, dtype: DType = dtypes.float32
) -> np.ndarray:
    """[n_out, n_in]: 1 where a block of outputs may see a block of inputs, those before it and perhaps its own."""
    of_inputs = np.arange(n_in) // (n_in // num_blocks)
    of_outputs = np.arange(n_out) // (n_out // num_blocks)
    first_seen = 1 if mask_type == MASK_EXCLUSIVE else 0
    sees = of_outputs[:, None] >= of_inputs[None, :] + first_seen
    return (sees & (of_inputs < num_blocks)[None, :]).astype(dtype.as_numpy_dtype())


@export("contrib.distributions.bijectors.masked_dense")
def masked_dense(
    inputs: Any, units: int, num_blocks: int | None = None, exclusive: bool = False, kernel_initializer: Any = None,
    reuse: Any = None, name: str | None = None, *args: object, **kwargs: Any,
) -> Tensor:  # fmt: skip
    """`tf.layers.dense` whose kernel lets each block of units see the blocks of inputs before it and, unless `exclusive`, its own.

    Args:
      inputs: Tensor [..., n] with known n.
      units: number of outputs.
      num_blocks: number of blocks of inputs and of outputs.
      exclusive: whether a block does not see its own inputs.
      kernel_initializer: by default glorot_normal.
      reuse: whether to take a layer of the same name.
      name: of the layer.
      *args, **kwargs: further arguments of `tf.layers.Dense`.

    Raises:
      NotImplementedError: n is unknown.
    """
    depth = dimension_value(inputs.shape.with_rank_at_least(1)[-1])
    if depth is None:
        raise NotImplementedError(_UNKNOWN_DEPTH)
    mask = gen_mask(num_blocks, depth, units, MASK_EXCLUSIVE if exclusive else MASK_INCLUSIVE).T
    initializer = GlorotNormal() if kernel_initializer is None else kernel_initializer

    def masked_initializer(shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        return mask * initializer(shape, dtype, partition_info)

    with name_scope(name, "masked_dense", [inputs, units, num_blocks]):
        layer = Dense(
            units, *args, kernel_initializer=masked_initializer, kernel_constraint=lambda x: mask * x, name=name,
            dtype=inputs.dtype.base_dtype, _scope=name, _reuse=reuse, **kwargs,
        )  # fmt: skip
        return layer.apply(inputs)


@export("contrib.distributions.bijectors.masked_autoregressive_default_template")
def masked_autoregressive_default_template(
    hidden_layers: Any, shift_only: bool = False, activation: Any = relu, log_scale_min_clip: float = -5.0,
    log_scale_max_clip: float = 3.0, log_scale_clip_gradient: bool = False, name: str | None = None, *args: Any,
    **kwargs: Any,
) -> Callable:  # fmt: skip
    """A function for `MaskedAutoregressiveFlow`: `masked_dense` layers (MADE, Germain et al. 2015).

    Args:
      hidden_layers: list of numbers of units.
      shift_only: whether log_scale is None.
      activation: of hidden layers.
      log_scale_min_clip, log_scale_max_clip: limits of log_scale.
      log_scale_clip_gradient: whether the gradient is cut off at the limits too.
      name: variable scope.
      *args, **kwargs: further arguments of `masked_dense`.

    Returns:
      a function that makes its variables once.
    """
    name = name or "masked_autoregressive_default_template"
    with name_scope(name, values=[log_scale_min_clip, log_scale_max_clip]):

        def network(x: Tensor) -> tuple[Tensor, Tensor | None]:
            depth = dimension_value(x.shape.with_rank_at_least(1)[-1])
            if depth is None:
                raise NotImplementedError(_UNKNOWN_DEPTH)
            sizes = np.int32(x.shape.as_list()) if x.shape.is_fully_defined() else shape(x)
            for i, units in enumerate(hidden_layers):
                x = masked_dense(
                    *args, inputs=x, units=units, num_blocks=depth, exclusive=i == 0, activation=activation, **kwargs
                )
            outputs = (1 if shift_only else 2) * depth
            x = masked_dense(*args, inputs=x, units=outputs, num_blocks=depth, activation=None, **kwargs)
            if shift_only:
                return reshape(x, shape=sizes), None
            shift, log_scale = unstack(reshape(x, shape=concat([sizes, [2]], axis=0)), num=2, axis=-1)
            clip = clip_by_value if log_scale_clip_gradient else _clip_by_value_preserve_grad
            return shift, clip(log_scale, log_scale_min_clip, log_scale_max_clip)

        return make_template(name, network)


def _clip_by_value_preserve_grad(x: Tensor, low: object, high: object, name: str | None = None) -> Tensor:
    """`x` within limits, with the gradient of `x`."""
    with name_scope(name, "clip_by_value_preserve_grad", [x, low, high]):
        return x + stop_gradient(clip_by_value(x, low, high) - x)


@export("contrib.distributions.bijectors.RealNVP")
class RealNVP(Bijector):
    """y = [x_0, x_1 exp(log_scale(x_0)) + shift(x_0)], x_0 being the first `num_masked` entries (Dinh et al. 2016).

    Args:
      num_masked: positive, less than the last dimension.
      shift_and_log_scale_fn: function of (x_0, number of other entries) that gives (shift, log_scale), or None each.
      is_constant_jacobian: whether log_scale is constant.
      validate_args: whether values are checked in a run.
      name: name scope.

    Raises:
      ValueError: `num_masked` is out of range.
    """

    def __init__(
        self, num_masked: int, shift_and_log_scale_fn: Callable, is_constant_jacobian: bool = False,
        validate_args: bool = False, name: str | None = None,
    ) -> None:  # fmt: skip
        if num_masked <= 0:
            raise ValueError("num_masked must be a positive integer.")
        self._num_masked, self._input_depth = num_masked, None
        self._shift_and_log_scale_fn = shift_and_log_scale_fn
        super().__init__(
            forward_min_event_ndims=1, is_constant_jacobian=is_constant_jacobian, validate_args=validate_args,
            name=name or "real_nvp",
        )  # fmt: skip

    def _parts(self, x: Tensor) -> tuple[Tensor, Tensor, Any, Any]:
        """(x_0, x_1, shift, log_scale)."""
        if self._input_depth is None:
            self._input_depth = dimension_value(x.shape.with_rank_at_least(1)[-1])
            if self._input_depth is None:
                raise NotImplementedError(_UNKNOWN_DEPTH)
            if self._num_masked >= self._input_depth:
                raise ValueError("Number of masked units must be smaller than the event size.")
        kept, changed = x[:, : self._num_masked], x[:, self._num_masked :]
        return kept, changed, *self._shift_and_log_scale_fn(kept, self._input_depth - self._num_masked)

    def _forward(self, x: Tensor) -> Tensor:
        kept, changed, shift, log_scale = self._parts(x)
        return concat([kept, _scaled_and_shifted(changed, shift, log_scale)], axis=-1)

    def _inverse(self, y: Tensor) -> Tensor:
        kept, changed, shift, log_scale = self._parts(y)
        return concat([kept, _unshifted_and_unscaled(changed, shift, log_scale)], axis=-1)

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        log_scale = self._parts(y)[3]
        return constant(0.0, dtype=y.dtype, name="ildj") if log_scale is None else -reduce_sum(log_scale, axis=-1)

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        log_scale = self._parts(x)[3]
        return constant(0.0, dtype=x.dtype, name="fldj") if log_scale is None else reduce_sum(log_scale, axis=-1)


@export("contrib.distributions.bijectors.real_nvp_default_template")
def real_nvp_default_template(
    hidden_layers: Any, shift_only: bool = False, activation: object = relu, name: str | None = None, *args: object,
    **kwargs: object,
) -> Callable:  # fmt: skip
    """A function for `RealNVP`: dense layers with `hidden_layers` units; further arguments are of `tf.layers.dense`."""
    with name_scope(name, "real_nvp_default_template"):

        def network(x: Tensor, output_units: int) -> tuple[Tensor, Tensor | None]:
            for units in hidden_layers:
                x = dense(*args, inputs=x, units=units, activation=activation, **kwargs)
            units = (1 if shift_only else 2) * output_units
            x = dense(*args, inputs=x, units=units, activation=None, **kwargs)
            return (x, None) if shift_only else tuple(split(x, 2, axis=-1))

        return make_template("real_nvp_default_template", network)


@export("contrib.distributions.bijectors.BatchNormalization")
class BatchNormalization(Bijector):
    """The inverse of a batch normalization layer: y = (x - beta) / gamma sqrt(variance + epsilon) + mean.

    Args:
      batchnorm_layer: tf.layers.BatchNormalization without renormalization or virtual batches.
      training: whether the inverse normalizes by the statistics of its batch.
      validate_args: whether values are checked in a run.
      name: name scope.

    Raises:
      ValueError: it is another layer, or a shape is not fully known.
    """

    def __init__(
        self, batchnorm_layer: Any = None, training: bool = True, validate_args: bool = False,
        name: str = "batch_normalization",
    ) -> None:  # fmt: skip
        layer = batchnorm_layer or BatchNormalizationLayer(gamma_constraint=lambda x: relu(x) + 1e-6)
        if not isinstance(layer, BatchNormalizationLayer):
            raise ValueError("batchnorm_layer must be an instance of BatchNormalization layer.")
        if layer.renorm:
            raise ValueError("BatchNorm Bijector does not support renormalization.")
        if layer.virtual_batch_size:
            raise ValueError("BatchNorm Bijector does not support virtual batch sizes.")
        self.batchnorm, self._training = layer, training
        super().__init__(
            forward_min_event_ndims=1 if isinstance(layer.axis, int) else len(layer.axis),
            validate_args=validate_args, name=name,
        )  # fmt: skip

    def _known_sizes(self, x: Tensor) -> list[int]:
        if not x.shape.is_fully_defined():
            raise ValueError("Input must have shape known at graph construction.")
        return x.shape.as_list()

    def _reduced_axes(self, ndims: int) -> list[int]:
        return [i for i in range(ndims) if i not in self.batchnorm.axis]

    def _inverse(self, y: Tensor) -> Tensor:
        return self.batchnorm.apply(y, training=self._training)

    def _forward(self, x: Tensor) -> Tensor:
        layer = self.batchnorm
        if not layer.built:
            layer.build(x.shape)
        sizes = self._known_sizes(x)
        ndims, axis = len(sizes), layer.axis[0]

        def widened(v: Any) -> Any:
            is_last = self._reduced_axes(ndims) == list(range(ndims - 1))
            if v is None or is_last or len(v.shape) == ndims:
                return v
            return reshape(v, [sizes[i] if i == axis else 1 for i in range(ndims)])

        mean, variance = widened(layer.moving_mean), widened(layer.moving_variance)
        beta = widened(layer.beta) if layer.center else None
        gamma = widened(layer.gamma) if layer.scale else None
        with name_scope(None, "undo_batchnorm", [x, mean, variance, gamma, beta]):
            scale = sqrt(variance + layer.epsilon)
            scale = scale if gamma is None else scale / gamma
            return x * scale + (mean if beta is None else mean - beta * scale)

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return -self._inverse_log_det_jacobian(x, use_saved_statistics=True)

    def _inverse_log_det_jacobian(self, y: Tensor, use_saved_statistics: bool = False) -> Tensor:
        sizes, layer = self._known_sizes(y), self.batchnorm
        if not layer.built:
            layer.build(y.shape)
        if use_saved_statistics or not self._training:
            variance = layer.moving_variance
        else:
            _, variance = moments(y, axes=self._reduced_axes(len(sizes)), keep_dims=True)
        log_variance = log(variance + layer.epsilon)
        log_gamma = reduce_sum(log(layer.gamma))
        return log_gamma - 0.5 * reduce_sum(log_variance)
