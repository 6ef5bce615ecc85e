"""Batch normalization, which tf.layers and Keras share (Ioffe and Szegedy 2015; renormalization: Ioffe 2017)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph import distribution_context
from tfcompat._src.graph.scopes import colocate_with, control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras import constraints, initializers, regularizers
from tfcompat._src.keras.backend.session import learning_phase
from tfcompat._src.keras.engine.base_layer import Layer
from tfcompat._src.keras.engine.input_spec import InputSpec
from tfcompat._src.keras.utils.smart_cond import constant_value, smart_cond
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.ops.array.constant import identity, stop_gradient
from tfcompat._src.ops.array.fill import ones_like, zeros_like
from tfcompat._src.ops.array.search import where
from tfcompat._src.ops.array.shape import reshape, size
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.math.binary import maximum, minimum
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.reduce import reduce_mean
from tfcompat._src.ops.math.unary import sqrt
from tfcompat._src.ops.nn.activation import relu
from tfcompat._src.ops.nn.batch_norm import fused_batch_norm
from tfcompat._src.ops.nn.moments import batch_normalization, moments
from tfcompat._src.variables.assign import assign, assign_sub
from tfcompat._src.variables.policies import VariableAggregation, VariableSynchronization

_CLIPPING = ("rmax", "rmin", "dmax")


@export("keras.layers.BatchNormalization")
class BatchNormalization(Layer):
    """Normalizes inputs by the mean and variance of the batch while training, and by their moving averages else.

    Args:
      axis: the axis or list of axes that keep statistics of their own, usually the channels.
      momentum: of the moving averages.
      epsilon: added to the variance.
      center, scale: whether to add `beta` and multiply by `gamma`.
      beta_initializer, gamma_initializer, moving_mean_initializer, moving_variance_initializer: of the variables.
      beta_regularizer, gamma_regularizer, beta_constraint, gamma_constraint: of the weights.
      renorm: whether to correct the batch's statistics to the moving ones.
      renorm_clipping: dict with limits "rmax", "rmin" and "dmax" of the correction.
      renorm_momentum: of the moving averages of renormalization.
      fused: None or True for the fused operation where it can be used, False never.
      trainable: whether weights are trained and moving averages updated.
      virtual_batch_size: size of the parts of a batch that are normalized on their own.
      adjustment: function of the inputs' shape that gives a scale and a bias for training.

    Raises:
      TypeError: `axis` is neither an int nor a list. ValueError: another argument does not fit.
    """

    _base_config = (
        "axis", "momentum", "epsilon", "center", "scale", "beta_initializer", "gamma_initializer",
        "moving_mean_initializer", "moving_variance_initializer", "beta_regularizer", "gamma_regularizer",
        "beta_constraint", "gamma_constraint",
    )  # fmt: skip

    def __init__(
        self, axis=-1, momentum=0.99, epsilon=1e-3, center=True, scale=True, beta_initializer="zeros",
        gamma_initializer="ones", moving_mean_initializer="zeros", moving_variance_initializer="ones",
        beta_regularizer=None, gamma_regularizer=None, beta_constraint=None, gamma_constraint=None, renorm=False,
        renorm_clipping=None, renorm_momentum=0.99, fused=None, trainable=True, virtual_batch_size=None,
        adjustment=None, name=None, **kwargs,
    ) -> None:  # fmt: skip
        super().__init__(name=name, **kwargs)
        if not isinstance(axis, (int, list)):
            raise TypeError(f"axis must be int or list, type given: {type(axis)}")
        self.axis = axis[:] if isinstance(axis, list) else axis
        self.momentum, self.epsilon, self.center, self.scale = momentum, epsilon, center, scale
        self.beta_initializer = initializers.get(beta_initializer)
        self.gamma_initializer = initializers.get(gamma_initializer)
        self.moving_mean_initializer = initializers.get(moving_mean_initializer)
        self.moving_variance_initializer = initializers.get(moving_variance_initializer)
        self.beta_regularizer = regularizers.get(beta_regularizer)
        self.gamma_regularizer = regularizers.get(gamma_regularizer)
        self.beta_constraint = constraints.get(beta_constraint)
        self.gamma_constraint = constraints.get(gamma_constraint)
        self.renorm, self.virtual_batch_size, self.adjustment = renorm, virtual_batch_size, adjustment
        self.fused = True if fused is None else fused
        self.supports_masking = True
        self.trainable = trainable
        self._bessels_correction_test_only = True
        if renorm:
            self.renorm_clipping, self.renorm_momentum = renorm_clipping or {}, renorm_momentum
            if set(self.renorm_clipping) - set(_CLIPPING):
                raise ValueError(f"renorm_clipping {renorm_clipping} contains keys not in {list(_CLIPPING)}")

    @property
    def _config(self) -> tuple[str, ...]:
        more = ("renorm", "renorm_clipping", "renorm_momentum") if self.renorm else ()
        return self._base_config + more + (("virtual_batch_size",) if self.virtual_batch_size is not None else ())

    @property
    def _param_dtype(self) -> Any:
        return dtypes.float32 if self.dtype in ("float16", "bfloat16", None) else self.dtype

    # ---- build ----

    def build(self, input_shape: Any) -> None:
        sizes = TensorShape(input_shape)
        if not sizes.ndims:
            raise ValueError("Input has undefined rank:", sizes)
        self._normalize_axes(sizes.ndims)
        self._check_virtual_batch()
        plain = not self.renorm and self.virtual_batch_size is None and self.adjustment is None
        self.fused = bool(self.fused) and plain and sizes.ndims == 4 and self.axis in ([1], [3])
        kept = {axis: sizes.as_list()[axis] for axis in self.axis}
        if None in kept.values():
            raise ValueError("Input has undefined `axis` dimension. Input shape: ", sizes)
        self.input_spec = InputSpec(ndim=sizes.ndims, axes=kept)
        shape = self._param_shape(kept, sizes.ndims)
        self.gamma = self._add_param("gamma", shape) if self.scale else None
        if self.fused and not self.scale:
            self._gamma_const = constant(1.0, dtype=self._param_dtype, shape=shape)
        self.beta = self._add_param("beta", shape) if self.center else None
        if self.fused and not self.center:
            self._beta_const = constant(0.0, dtype=self._param_dtype, shape=shape)
        self._add_statistics(shape)
        self.built = True

    def _normalize_axes(self, ndims: int) -> None:
        axes = [self.axis] if isinstance(self.axis, int) else self.axis
        self.axis = [axis + ndims if axis < 0 else axis for axis in axes]
        for axis in self.axis:
            if not 0 <= axis < ndims:
                raise ValueError(f"Invalid axis: {axis}")
        if len(self.axis) != len(set(self.axis)):
            raise ValueError(f"Duplicate axis: {self.axis}")

    def _check_virtual_batch(self) -> None:
        if self.virtual_batch_size is None:
            return
        if self.virtual_batch_size <= 0:
            raise ValueError(
                "virtual_batch_size must be a positive integer that divides the true batch size of the input Tensor"
            )
        if 0 in self.axis:
            raise ValueError(
                "When using virtual_batch_size, the batch dimension must be 0 and thus axis cannot include 0"
            )
        if self.adjustment is not None:
            raise ValueError("When using virtual_batch_size, adjustment cannot be specified")

    def _param_shape(self, kept: dict[int, int], ndims: int) -> list[int]:
        if len(kept) == 1 and self.virtual_batch_size is None:
            return list(kept.values())
        shape = [kept.get(i, 1) for i in range(ndims)]
        if self.virtual_batch_size is not None:
            shape.insert(1, 1)
            self.axis = [axis + 1 for axis in self.axis]
        return shape

    def _add_param(self, name: str, shape: list[int]) -> Any:
        return self.add_weight(
            name=name, shape=shape, dtype=self._param_dtype, initializer=getattr(self, f"{name}_initializer"),
            regularizer=getattr(self, f"{name}_regularizer"), constraint=getattr(self, f"{name}_constraint"),
            trainable=True, experimental_autocast=False,
        )  # fmt: skip

    def _add_statistics(self, shape: list[int]) -> None:
        """The variables that are not trained; they are never partitioned."""
        scope = getattr(self, "_scope", None)
        partitioner = scope.partitioner if scope else None
        if partitioner:
            scope.set_partitioner(None)
        try:
            self.moving_mean = self._add_statistic("moving_mean", shape, self.moving_mean_initializer)
            self.moving_variance = self._add_statistic("moving_variance", shape, self.moving_variance_initializer)
            if self.renorm:
                self._add_renorm_statistics(shape)
        finally:
            if partitioner:
                scope.set_partitioner(partitioner)

    def _add_renorm_statistics(self, shape: list[int]) -> None:
        def stddev(*args: Any, **kwargs: Any) -> Tensor:
            return sqrt(self.moving_variance_initializer(*args, **kwargs))

        with colocate_with(self.moving_variance):
            self.moving_stddev = self._add_statistic("moving_stddev", shape, stddev)
        with colocate_with(self.moving_mean):
            self.renorm_mean = self._add_statistic("renorm_mean", shape, self.moving_mean_initializer)
        with colocate_with(self.moving_stddev):
            self.renorm_stddev = self._add_statistic("renorm_stddev", shape, stddev)

    def _add_statistic(self, name: str, shape: list[int], initializer: Any) -> Any:
        return self.add_weight(
            name=name, shape=shape, dtype=self._param_dtype, initializer=initializer, trainable=False,
            synchronization=VariableSynchronization.ON_READ, aggregation=VariableAggregation.MEAN,
            experimental_autocast=False,
        )  # fmt: skip

    # ---- call ----

    def call(self, inputs: Any, training: Any = None) -> Tensor:
        training = self._get_training_value(training)
        if self.fused:
            return self._fused(inputs, training)
        if self.virtual_batch_size is None:
            return self._composed(inputs, training)
        sizes = [-1, *inputs.shape.as_list()[1:]]
        parts = reshape(inputs, [self.virtual_batch_size, -1, *sizes[1:]])
        return reshape(self._composed(parts, training), sizes)

    def _get_training_value(self, training: Any = None) -> Any:
        return learning_phase() if training is None else training

    def _assign_moving_average(self, variable: Any, value: Any, momentum: Any, inputs_size: Tensor | None) -> Any:
        with name_scope("AssignMovingAvg") as scope, colocate_with(variable):
            decay = cast(convert_to_tensor(1.0 - momentum, name="decay"), variable.dtype.base_dtype)
            delta = _unless_empty(inputs_size, (variable - cast(value, variable.dtype.base_dtype)) * decay)
            return assign_sub(variable, delta, name=scope)

    def _update_variance(self, variance: Any, momentum: Any, inputs_size: Tensor | None) -> Any:
        """Updates the moving variance, by way of the moving deviation where the layer renormalizes."""
        if not self.renorm:
            return self._assign_moving_average(self.moving_variance, variance, momentum, inputs_size)
        stddev = self._assign_moving_average(self.moving_stddev, sqrt(variance + self.epsilon), momentum, inputs_size)
        value = relu(stddev * stddev - self.epsilon)
        with name_scope("AssignNewValue") as scope, colocate_with(self.moving_variance):
            return assign(self.moving_variance, value, name=scope)

    def _fused(self, inputs: Any, training: Any) -> Tensor:
        beta = self.beta if self.center else self._beta_const
        gamma = self.gamma if self.scale else self._gamma_const
        data_format = "NCHW" if self.axis == [1] else "NHWC"
        output, mean, variance = smart_cond(
            training,
            lambda: fused_batch_norm(inputs, gamma, beta, epsilon=self.epsilon, data_format=data_format),
            lambda: fused_batch_norm(
                inputs, gamma, beta, mean=self.moving_mean, variance=self.moving_variance, epsilon=self.epsilon,
                is_training=False, data_format=data_format,
            ),
        )  # fmt: skip
        if not self._bessels_correction_test_only:
            count = cast(raw.RealDiv(size(inputs), size(variance)), variance.dtype)
            variance *= (count - cast(1.0, variance.dtype)) / count
        known = constant_value(training)
        if known is None:
            momentum = smart_cond(training, lambda: self.momentum, lambda: 1.0)
        else:
            momentum = convert_to_tensor(self.momentum)
        inputs_size = _size_if_possibly_empty(inputs)
        if known is None or known:
            self.add_update(lambda: self._assign_moving_average(self.moving_mean, mean, momentum, inputs_size))
            self.add_update(lambda: self._update_variance(variance, momentum, inputs_size))
        return output

    def _composed(self, inputs: Any, training: Any) -> Tensor:
        """The normalization made of several operations."""
        ndims = inputs.shape.ndims
        reduction_axes = [i for i in range(ndims) if i not in self.axis]
        if self.virtual_batch_size is not None:
            del reduction_axes[1]
        broadcast_shape = [1] * ndims
        broadcast_shape[self.axis[0]] = inputs.shape.as_list()[self.axis[0]]

        def broadcast(value: Any) -> Any:
            if value is None or value.shape.ndims == ndims or reduction_axes == list(range(ndims - 1)):
                return value
            return reshape(value, broadcast_shape)

        scale, offset = broadcast(self.gamma), broadcast(self.beta)
        if constant_value(training) is False:
            mean, variance = self.moving_mean, self.moving_variance
        else:
            mean, variance, scale, offset = self._batch_statistics(
                inputs, training, reduction_axes, broadcast, scale, offset
            )
        mean, variance = cast(mean, inputs.dtype), cast(variance, inputs.dtype)
        offset = None if offset is None else cast(offset, inputs.dtype)
        scale = None if scale is None else cast(scale, inputs.dtype)
        outputs = batch_normalization(inputs, broadcast(mean), broadcast(variance), offset, scale, self.epsilon)
        outputs.set_shape(inputs.shape)
        return outputs

    def _batch_statistics(
        self, inputs: Any, training: Any, reduction_axes: list[int], broadcast: Callable, scale: Any, offset: Any
    ) -> tuple[Any, Any, Any, Any]:
        """Mean, variance, scale and offset of this batch where it trains; adds the updates of the moving averages."""
        if self.adjustment:
            scale, offset = self._adjusted(inputs, training, scale, offset)
        keep_dims = self.virtual_batch_size is not None or len(self.axis) > 1
        mean, variance = moments(cast(inputs, self._param_dtype), reduction_axes, keep_dims=keep_dims)
        inputs_size = _size_if_possibly_empty(inputs)
        batch_mean, batch_variance = _unless_empty(inputs_size, mean), _unless_empty(inputs_size, variance)
        mean = smart_cond(training, lambda: batch_mean, lambda: convert_to_tensor(self.moving_mean))
        variance = smart_cond(training, lambda: batch_variance, lambda: convert_to_tensor(self.moving_variance))
        new_mean, new_variance = mean, variance
        if self.virtual_batch_size is not None:
            new_mean = reduce_mean(mean, axis=1, keepdims=True)
            new_variance = reduce_mean(variance, axis=1, keepdims=True)
        if self.renorm:
            r, d, new_mean, new_variance = self._renorm_correction(new_mean, new_variance, training, inputs_size)
            r = broadcast(stop_gradient(r, name="renorm_r"))
            d = broadcast(stop_gradient(d, name="renorm_d"))
            scale, offset = _composed_transforms(r, d, scale, offset)

        def updating(variable: object, update: Callable) -> Callable:
            return lambda: smart_cond(training, update, lambda: variable)

        self.add_update(
            updating(self.moving_mean, lambda: self._assign_moving_average(self.moving_mean, new_mean, self.momentum, inputs_size))
        )
        self.add_update(updating(self.moving_variance, lambda: self._update_variance(new_variance, self.momentum, inputs_size)))
        return mean, variance, scale, offset

    def _adjusted(self, inputs: Any, training: Any, scale: Any, offset: Any) -> tuple[Any, Any]:
        given_scale, given_bias = self.adjustment(shape_of(inputs))
        adjusted_scale = smart_cond(training, lambda: given_scale, lambda: ones_like(given_scale))
        adjusted_bias = smart_cond(training, lambda: given_bias, lambda: zeros_like(given_bias))
        return _composed_transforms(adjusted_scale, adjusted_bias, scale, offset)

    def _renorm_correction(
        self, mean: Any, variance: Any, training: Any, inputs_size: Tensor | None
    ) -> tuple[Any, Any, Any, Any]:
        """The factor r and shift d to the moving statistics, and the batch's own statistics after those are updated."""
        stddev = sqrt(variance + self.epsilon)
        renorm_stddev = maximum(self.renorm_stddev, sqrt(self.epsilon))
        r = stddev / renorm_stddev
        d = (mean - self.renorm_mean) / renorm_stddev
        with control_dependencies([r, d]):
            mean, stddev = identity(mean), identity(stddev)
        limits = {key: self.renorm_clipping.get(key) for key in _CLIPPING}
        if limits["rmin"] is not None:
            r = maximum(r, limits["rmin"])
        if limits["rmax"] is not None:
            r = minimum(r, limits["rmax"])
        if limits["dmax"] is not None:
            d = minimum(maximum(d, -limits["dmax"]), limits["dmax"])
        clipped_r, clipped_d = r, d
        r = smart_cond(training, lambda: clipped_r, lambda: ones_like(clipped_r))
        d = smart_cond(training, lambda: clipped_d, lambda: zeros_like(clipped_d))
        updates = [
            self._update_renorm(self.renorm_mean, mean, training, inputs_size),
            self._update_renorm(self.renorm_stddev, stddev, training, inputs_size),
        ]
        with control_dependencies(updates):
            return r, d, identity(mean), identity(variance)

    def _update_renorm(self, variable: Any, value: Any, training: Any, inputs_size: Tensor | None) -> Any:
        value = identity(value)
        return smart_cond(
            training,
            lambda: self._assign_moving_average(variable, value, self.renorm_momentum, inputs_size),
            lambda: identity(variable),
        )

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape


def _size_if_possibly_empty(inputs: Tensor) -> Tensor | None:
    """The number of elements, where a strategy gives replicas without examples an empty batch; None elsewhere."""
    strategy = distribution_context.strategy_in_use()
    may_be_empty = strategy is not None and getattr(strategy.extended, "experimental_enable_get_next_as_optional", False)
    return size(inputs) if may_be_empty else None


def _unless_empty(inputs_size: Tensor | None, value: Tensor) -> Tensor:
    """A statistic of inputs, or zeros where there are no inputs."""
    return value if inputs_size is None else where(inputs_size > 0, value, zeros_like(value))


def _composed_transforms(scale: Any, offset: Any, then_scale: Any, then_offset: Any) -> tuple[Any, Any]:
    """The scale and offset of one transform after another."""
    if then_scale is not None:
        scale, offset = scale * then_scale, offset * then_scale
    if then_offset is not None:
        offset += then_offset
    return scale, offset
