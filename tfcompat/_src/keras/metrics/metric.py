"""The base of tf.keras.metrics: layers whose variables add up what they are given; sums and means."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.function.def_function import function
from tfcompat._src.graph.scopes import control_dependencies, init_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.backend import session
from tfcompat._src.keras.backend.config import floatx
from tfcompat._src.keras.backend.values import batch_set_value, ndim
from tfcompat._src.keras.engine import base_layer_utils, registry
from tfcompat._src.keras.engine.base_layer import Layer
from tfcompat._src.keras.losses import evaluated
from tfcompat._src.keras.utils import metrics_utils
from tfcompat._src.keras.utils.losses_utils import squeeze_or_expand_dimensions
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.fill import ones_like
from tfcompat._src.ops.array.shape import size
from tfcompat._src.ops.composed.confusion_matrix import remove_squeezable_dimensions
from tfcompat._src.ops.composed.weights_broadcast import broadcast_weights
from tfcompat._src.ops.math import unary
from tfcompat._src.ops.math.binary import div_no_nan, multiply, squared_difference
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.reduce import reduce_mean, reduce_sum
from tfcompat._src.variables.initializers import Zeros
from tfcompat._src.variables.policies import VariableAggregation, VariableSynchronization

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_PACKAGE = __name__.rpartition(".")[0]


@export("keras.metrics.Metric")
class Metric(Layer):
    """A value that is added up over batches.

    A subclass makes variables with `add_weight` in its constructor, adds to them in `update_state`, and defines `result`.

    Args:
      name: of the metric.
      dtype: of its result; by default the float type of Keras.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Metric:
        made = super().__new__(cls)
        update = made.update_state if cls.__module__.startswith(_PACKAGE) else function(made.update_state)
        for name, wrapped in (
            ("update_state", metrics_utils.update_state_wrapper(update)),
            ("result", metrics_utils.result_wrapper(made.result)),
        ):
            object.__setattr__(made, name, types.MethodType(wrapped, made))
        return made

    def __init__(self, name: str | None = None, dtype: Any = None, **kwargs: Any) -> None:
        super().__init__(name=name, dtype=dtype, **kwargs)
        self.stateful = self.built = True
        if not base_layer_utils.v2_dtype_behavior_enabled():
            self._dtype = floatx() if dtype is None else dtypes.as_dtype(dtype).name

    def __call__(self, *args: Any, **kwargs: Any) -> Tensor:
        """Adds a batch, and gives the result with it; arguments are those of `update_state`."""

        def updated_result(*args: Any, **kwargs: Any) -> Tensor:
            with control_dependencies([self.update_state(*args, **kwargs)]):
                result = self.result()
                result._metric_obj = self
                return result

        return metrics_utils.call_replica_local_fn(updated_result, *args, **kwargs)

    def update_state(self, *args: Any, **kwargs: Any) -> Any:
        """The operation that adds a batch."""
        raise NotImplementedError("Must be implemented in subclasses.")

    def result(self) -> Any:
        """The value of all batches so far, a tensor."""
        raise NotImplementedError("Must be implemented in subclasses.")

    def reset_states(self) -> None:
        """Sets the variables to zeros."""
        batch_set_value([(v, np.zeros(v.shape.as_list())) for v in self.variables])

    def get_config(self) -> dict[str, Any]:
        return {"name": self.name, "dtype": self.dtype}

    def add_weight(
        self, name: str, shape: object = (), aggregation: object = VariableAggregation.SUM,
        synchronization: object = VariableSynchronization.ON_READ, initializer: object = None, dtype: object = None,
    ) -> Any:  # fmt: skip
        """A new variable, in no collection."""
        return super().add_weight(
            name=name, shape=shape, dtype=self._dtype if dtype is None else dtype, trainable=False,
            initializer=initializer, collections=[], synchronization=synchronization, aggregation=aggregation,
        )  # fmt: skip

    def _labels_and_predictions(self, y_true: object, y_pred: object, sample_weight: object) -> tuple[Tensor, Tensor, Any]:
        """Both, in the metric's type and with fitting ranks, and the weights."""
        y_true, y_pred = cast(y_true, self._dtype), cast(y_pred, self._dtype)
        (y_true, y_pred), weights = metrics_utils.ragged_assert_compatible_and_get_flat_values(
            [y_true, y_pred], sample_weight
        )
        y_pred, y_true = squeeze_or_expand_dimensions(y_pred, y_true)
        return y_true, y_pred, weights

    def _with_weights(self, values: Tensor, sample_weight: object, reduce: Callable = reduce_mean) -> tuple[Tensor, Tensor]:
        """Values and weights of one shape: `reduce` is applied to the dimensions that the weights lack."""
        weights = cast(sample_weight, self._dtype)
        values, _, weights = squeeze_or_expand_dimensions(values, sample_weight=weights)
        try:
            return values, broadcast_weights(weights, values)
        except ValueError:
            return reduce(values, axis=list(range(ndim(weights), ndim(values)))), weights


class Reduce(Metric):
    """A sum or mean of weighted values, as `reduction`, a metrics_utils.Reduction, says."""

    def __init__(self, reduction: metrics_utils.Reduction, name: str | None, dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self.reduction = reduction
        with init_scope():
            self.total = self.add_weight("total", initializer=Zeros)
            if reduction != metrics_utils.Reduction.SUM:
                self.count = self.add_weight("count", initializer=Zeros)

    def update_state(self, values: Any, sample_weight: Any = None) -> Any:
        """Adds values.

        Args:
          values: tensor.
          sample_weight: what can be broadcast to `values`.
        """
        is_sum = self.reduction == metrics_utils.Reduction.SUM
        (values,), sample_weight = metrics_utils.ragged_assert_compatible_and_get_flat_values([values], sample_weight)
        values = cast(values, self._dtype)
        weights = None
        if sample_weight is not None:
            values, weights = self._with_weights(values, sample_weight, reduce_sum if is_sum else reduce_mean)
            values = multiply(values, weights)
        added = reduce_sum(values)
        with control_dependencies([added]):
            update = self.total.assign_add(added)
        if is_sum:
            return update
        if weights is None or self.reduction == metrics_utils.Reduction.SUM_OVER_BATCH_SIZE:
            count = cast(size(values), self._dtype)
        else:
            count = reduce_sum(weights)
        with control_dependencies([update]):
            return self.count.assign_add(count)

    def result(self) -> Tensor:
        if self.reduction == metrics_utils.Reduction.SUM:
            return identity(self.total)
        return div_no_nan(self.total, self.count)


@export("keras.metrics.Sum")
class Sum(Reduce):
    """The weighted sum of values."""

    def __init__(self, name: str = "sum", dtype: object = None) -> None:
        super().__init__(metrics_utils.Reduction.SUM, name, dtype)


@registry.provides("Mean")
@export("keras.metrics.Mean")
class Mean(Reduce):
    """The weighted mean of values."""

    def __init__(self, name: str = "mean", dtype: Any = None) -> None:
        super().__init__(metrics_utils.Reduction.WEIGHTED_MEAN, name, dtype)


class SumOverBatchSize(Reduce):
    """The weighted sum of values over their number."""

    def __init__(self, name: str = "sum_over_batch_size", dtype: Any = None) -> None:
        super().__init__(metrics_utils.Reduction.SUM_OVER_BATCH_SIZE, name, dtype)


class MeanMetricWrapper(Mean):
    """The mean of a function of labels and predictions; `kwargs` are its other arguments."""

    def __init__(self, fn: Callable, name: str | None = None, dtype: Any = None, **kwargs: Any) -> None:
        super().__init__(name=name, dtype=dtype)
        self._fn, self._fn_kwargs = fn, kwargs

    def update_state(self, y_true: object, y_pred: object, sample_weight: object = None) -> Any:
        """Adds a batch of labels and predictions.

        Args:
          y_true, y_pred: tensors [batch, ...].
          sample_weight: what can be broadcast to the function's values.
        """
        y_true, y_pred, weights = self._labels_and_predictions(y_true, y_pred, sample_weight)
        return super().update_state(self._fn(y_true, y_pred, **self._fn_kwargs), sample_weight=weights)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **evaluated(self._fn_kwargs)}


class SumOverBatchSizeMetricWrapper(SumOverBatchSize):
    """As MeanMetricWrapper, over the number of values instead of the sum of the weights."""

    def __init__(self, fn: Callable, name: str | None = None, dtype: object = None, **kwargs: Any) -> None:
        super().__init__(name=name, dtype=dtype)
        self._fn, self._fn_kwargs = fn, kwargs

    def update_state(self, y_true: object, y_pred: object, sample_weight: object = None) -> Any:
        """Adds a batch of labels and predictions."""
        y_true, y_pred = cast(y_true, self._dtype), cast(y_pred, self._dtype)
        y_pred, y_true = squeeze_or_expand_dimensions(y_pred, y_true)
        return super().update_state(self._fn(y_true, y_pred, **self._fn_kwargs), sample_weight=sample_weight)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **evaluated(self._fn_kwargs)}


@export("keras.metrics.MeanRelativeError")
class MeanRelativeError(Mean):
    """The mean of |y_true - y_pred| over `normalizer`, a tensor of their shape."""

    def __init__(self, normalizer: object, name: str | None = None, dtype: object = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self.normalizer = cast(normalizer, self._dtype)

    def update_state(self, y_true: object, y_pred: TensorLike, sample_weight: object = None) -> Any:
        """Adds a batch of labels and predictions."""
        y_true, y_pred = cast(y_true, self._dtype), cast(y_pred, self._dtype)
        (y_pred, y_true), weights = metrics_utils.ragged_assert_compatible_and_get_flat_values(
            [y_pred, y_true], sample_weight
        )
        y_pred, y_true = squeeze_or_expand_dimensions(y_pred, y_true)
        y_pred, self.normalizer = remove_squeezable_dimensions(y_pred, self.normalizer)
        y_pred.shape.assert_is_compatible_with(y_true.shape)
        errors = div_no_nan(unary.absolute(y_true - y_pred), self.normalizer)
        return super().update_state(errors, sample_weight=weights)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **evaluated({"normalizer": self.normalizer})}


@export("keras.metrics.RootMeanSquaredError")
class RootMeanSquaredError(Mean):
    """The root of the mean of (y_pred - y_true) ** 2."""

    def __init__(self, name: str = "root_mean_squared_error", dtype: object = None) -> None:
        super().__init__(name, dtype=dtype)

    def update_state(self, y_true: object, y_pred: object, sample_weight: object = None) -> Any:
        """Adds a batch of labels and predictions."""
        y_true, y_pred = cast(y_true, self._dtype), cast(y_pred, self._dtype)
        y_pred, y_true = squeeze_or_expand_dimensions(y_pred, y_true)
        return super().update_state(squared_difference(y_pred, y_true), sample_weight=sample_weight)

    def result(self) -> Tensor:
        return unary.sqrt(div_no_nan(self.total, self.count))


@export("keras.metrics.MeanTensor")
class MeanTensor(Metric):
    """The weighted mean of tensors of one shape, element by element."""

    def __init__(self, name: str = "mean_tensor", dtype: object = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self._shape: TensorShape | None = None
        self._total = self._count = None

    def _build(self, shape: TensorShape) -> None:
        self._shape = TensorShape(shape)
        self._total = self.add_weight("total", shape=shape, initializer=Zeros)
        self._count = self.add_weight("count", shape=shape, initializer=Zeros)
        with init_scope():
            session._initialize_variables(session._get_session())

    total = property(lambda self: self._total)
    count = property(lambda self: self._count)

    def update_state(self, values: TensorLike, sample_weight: object = None) -> Any:
        """Adds a tensor; ValueError where its shape is not that of the first one."""
        values = cast(values, self._dtype)
        if self._shape is None:
            self._build(values.shape)
        elif values.shape != self._shape:
            raise ValueError(
                "MeanTensor input values must always have the same shape. Expected shape (set during the first call): "
                f"{self._shape}. Got: {values.shape}"
            )
        counts = ones_like(values)
        if sample_weight is not None:
            values, weights = self._with_weights(values, sample_weight)
            counts, values = multiply(counts, weights), multiply(values, weights)
        update = self._total.assign_add(values)
        with control_dependencies([update]):
            return self._count.assign_add(counts)

    def result(self) -> Tensor:
        if self._shape is None:
            raise ValueError(
                "MeanTensor does not have any result yet. Please call the MeanTensor instance or use "
                "`.update_state(value)` before retrieving the result."
            )
        return div_no_nan(self.total, self.count)
