"""tf.contrib.eager.metrics: metrics as objects, which hold their variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.base.trackable import Trackable
from tfcompat._src.graph.scopes import executing_eagerly, name_scope
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.control.groups import group
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.reduce import argmax, reduce_sum
from tfcompat._src.variables.resource_variable import ResourceVariable
from tfcompat._src.variables.scope import variable_scope

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.graph.operation import Operation
    from tfcompat._src.graph.tensor import Tensor


@export("contrib.eager.metrics.Metric")
class Metric(Trackable):
    """A metric: calling it takes a batch, `result()` is its value so far.

    Args:
      name: of the metric, by default the class's. use_global_variables: whether variables of a graph are global, else local.
    """

    def __init__(self, name: str | None = None, use_global_variables: bool = False) -> None:
        self._name = name or type(self).__name__
        self._built = self._building = False
        self._variables: list[Any] = []
        self._use_global_variables = use_global_variables

    @property
    def name(self) -> str:
        return self._name

    @property
    def variables(self) -> list[Any]:
        return self._variables

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Takes a batch; what `call` gives for it."""
        if not self._built:
            self._building = True
            with variable_scope(None, default_name=self._name, use_resource=True):
                self.build(*args, **kwargs)
            self._built, self._building = True, False
        return self.call(*args, **kwargs)

    def init_variables(self) -> Operation | None:
        """Starts again: at once in eager mode, else by an operation."""
        if not executing_eagerly():
            return group(*[v.initializer for v in self._variables])
        for variable in self._variables:
            variable.assign(raw.ZerosLike(variable.read_value()))
        return None

    def build(self, *args: Any, **kwargs: Any) -> None:
        """Makes the variables, when the first batch comes."""
        raise NotImplementedError("Metrics must define a build() member function")

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Takes a batch."""
        raise NotImplementedError("Metrics must define a call() member function")

    def result(self) -> Any:
        """The value of the metric for the batches so far."""
        raise NotImplementedError("Metrics must define a result() member function")

    def value(self) -> Any:
        """The function that gives the result."""
        return self.result

    def add_variable(self, name: str, shape: Any = None, dtype: Any = None, initializer: Any = None) -> Any:
        """A variable of the metric; RuntimeError outside of `build`."""
        if not self._building:
            raise RuntimeError("Can't call add_variable() except in build().")
        collection = GraphKeys.GLOBAL_VARIABLES if self._use_global_variables else GraphKeys.LOCAL_VARIABLES
        found = ResourceVariable(
            lambda: initializer(shape, dtype), trainable=False, collections=[collection], name=name, dtype=dtype
        )
        self._variables.append(found)
        setattr(self, name, found)
        return found


def _zeros(shape: Any, dtype: Any) -> Tensor:
    return raw.Fill(list(shape or ()), cast(0, dtype))


@export("contrib.eager.metrics.Mean")
class Mean(Metric):
    """The mean of values, weighted where weights are given; sums are of `dtype`."""

    def __init__(self, name: str | None = None, dtype: Any = dtypes.float64, use_global_variables: bool = False) -> None:
        super().__init__(name, use_global_variables)
        self.dtype = dtype

    def build(self, *args: Any, **kwargs: Any) -> None:
        self.numer = self.add_variable("numer", (), self.dtype, _zeros)
        self.denom = self.add_variable("denom", (), self.dtype, _zeros)

    def call(self, values: Any, weights: Any = None) -> Any:
        """Takes values, and weights that broadcast to them; gives the sum of the values, or weighted values and weights."""
        values = convert_to_tensor(values)
        if weights is None:
            self.denom.assign_add(cast(raw.Size(values), self.dtype))
            values = reduce_sum(values)
            self.numer.assign_add(cast(values, self.dtype))
            return values
        weights = cast(weights, self.dtype)
        self.denom.assign_add(reduce_sum(weights))
        values = cast(values, self.dtype) * weights
        self.numer.assign_add(reduce_sum(values))
        return values, weights

    def result(self, write_summary: bool = True) -> Any:
        """The mean, a scalar; no summary is written where there is no default writer."""
        with name_scope(self.name):
            return self.numer.read_value() / self.denom.read_value()


class _Matches(Mean):
    """The share of predictions that are right."""

    def __init__(self, name: str | None = None, dtype: Any = dtypes.float64) -> None:
        super().__init__(name, dtype)

    def _of(self, labels: Any, predictions: Any) -> tuple[Any, Any]:
        """What is compared."""
        return convert_to_tensor(labels), convert_to_tensor(predictions)

    def call(self, labels: Any, predictions: Any, weights: Any = None) -> Any:
        """Takes labels and predictions; gives back what was compared, and the weights."""
        labels, predictions = self._of(labels, predictions)
        labels.shape.assert_is_compatible_with(predictions.shape)
        super().call(cast(raw.Equal(labels, predictions), self.dtype), weights)
        return (labels, predictions) if weights is None else (labels, predictions, weights)


@export("contrib.eager.metrics.Accuracy")
class Accuracy(_Matches):
    """How many predictions equal their labels."""


@export("contrib.eager.metrics.CategoricalAccuracy")
class CategoricalAccuracy(_Matches):
    """How many rows of predictions are largest where their one-hot labels are."""

    def _of(self, labels: object, predictions: object) -> tuple[Any, Any]:
        return argmax(labels, -1), argmax(predictions, -1)


@export("contrib.eager.metrics.BinaryAccuracy")
class BinaryAccuracy(_Matches):
    """How many predictions are on the same side of `threshold` as their labels."""

    def __init__(self, threshold: float, name: str | None = None, dtype: object = dtypes.float64) -> None:
        super().__init__(name, dtype)
        self.threshold = threshold

    def _of(self, labels: TensorLike, predictions: TensorLike) -> tuple[Any, Any]:
        return convert_to_tensor(labels) > self.threshold, convert_to_tensor(predictions) > self.threshold


@export("contrib.eager.metrics.SparseAccuracy")
class SparseAccuracy(_Matches):
    """How many rows of predictions are largest at their label."""

    def _of(self, labels: object, predictions: object) -> tuple[Any, Any]:
        predictions = argmax(predictions, -1)
        return cast(labels, predictions.dtype), predictions
