"""The part of a layer that makes weights, and finds those of the layers among its attributes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfcompat._src.base import dtypes, nest
from tfcompat._src.keras import constraints, initializers, regularizers
from tfcompat._src.keras.backend.config import floatx
from tfcompat._src.keras.backend.session import track_variable
from tfcompat._src.keras.backend.values import batch_get_value, batch_set_value
from tfcompat._src.keras.engine.base_layer_utils import make_variable
from tfcompat._src.keras.mixed_precision.autocast_variable import cast_when_read
from tfcompat._src.train.module import Module
from tfcompat._src.train.trackable_data_structures import delete_tracking, sticky_attribute_assignment
from tfcompat._src.train.trackable_layers import has_weights, is_layer, layers_below
from tfcompat._src.variables.partitioned import PartitionedVariable
from tfcompat._src.variables.policies import VariableAggregation, VariableSynchronization
from tfcompat._src.variables.resource_variable import UnreadVariable
from tfcompat._src.variables.variable import Variable


def check_trainable(trainable: bool | None, synchronization: object) -> bool:
    """`trainable` with its default; ValueError where it is True for a variable that is synchronized on read."""
    if synchronization != VariableSynchronization.ON_READ:
        return True if trainable is None else trainable
    if trainable:
        raise ValueError(
            "Synchronization value can be set to VariableSynchronization.ON_READ only for non-trainable variables. "
            "You have specified trainable=True and synchronization=VariableSynchronization.ON_READ."
        )
    return False


class LayerWeights(Module):
    """Weights and layers that are attributes, or were made with `add_weight`."""

    _is_graph_network = False
    _finds_layers = True

    def _is_layer(self) -> bool:
        return True

    # ---- attributes ----

    def _maybe_create_attribute(self, name: str, default_value: object) -> None:
        """Sets an attribute that a subclass may need before the base constructor has run."""
        if name not in self.__dict__:
            object.__setattr__(self, name, default_value)

    def _set_plain(self, name: str, value: object) -> None:
        try:
            object.__setattr__(self, name, value)
        except AttributeError:
            raise AttributeError(
                f'Can\'t set the attribute "{name}", likely because it conflicts with an existing read-only @property '
                "of the object. Please choose a different name."
            ) from None

    def __setattr__(self, name: str, value: Any) -> None:
        tracks = getattr(self, "_self_setattr_tracking", True) and not self._is_graph_network
        if name == "_self_setattr_tracking" or not tracks or hasattr(type(self), name):
            self._set_plain(name, value)
            return
        value = sticky_attribute_assignment(trackable=self, value=value, name=name)
        if name in self.__dict__ and self.__dict__[name] is not value:
            self._forget(self.__dict__[name], name)
        if self._finds_layers and (is_layer(value) or has_weights(value)):
            self._maybe_create_attribute("_layers", [])
            if not any(layer is value for layer in self._layers):
                self._layers.append(value)
                if hasattr(value, "_use_resource_variables"):
                    value._use_resource_variables = True
        self._keep_variables(value)
        self._set_plain(name, value)

    def _keep_variables(self, value: object) -> None:
        for variable in nest.flatten(value):
            if isinstance(variable, Variable) and not isinstance(variable, UnreadVariable):
                self._maybe_create_attribute("_trainable_weights", [])
                self._maybe_create_attribute("_non_trainable_weights", [])
                kept = self._trainable_weights if variable.trainable else self._non_trainable_weights
                if not any(variable is w for w in kept):
                    kept.append(variable)
                    track_variable(variable)

    def _forget(self, value: object, name: str) -> None:
        """Drops a value that no attribute but `name` holds from the layers and weights."""
        if any(v is value for n, v in self.__dict__.items() if n != name):
            return
        if "_layers" in self.__dict__ and (is_layer(value) or has_weights(value)):
            object.__setattr__(self, "_layers", [x for x in self._layers if x is not value])
        if isinstance(value, Variable):
            for kept in ("_trainable_weights", "_non_trainable_weights"):
                if kept in self.__dict__:
                    object.__setattr__(self, kept, [w for w in self.__dict__[kept] if w is not value])

    def __delattr__(self, name: str) -> None:
        if name in self.__dict__:
            self._forget(self.__dict__[name], name)
        delete_tracking(self, name)
        object.__delattr__(self, name)

    def _gather_children_attribute(self, attribute: str) -> list[Any]:
        return [x for layer in layers_below(self.__dict__.get("_layers", ())) for x in getattr(layer, attribute)]

    # ---- weights ----

    def add_weight(
        self, name: str | None = None, shape: Any = None, dtype: Any = None, initializer: Any = None,
        regularizer: Any = None, trainable: bool | None = None, constraint: Any = None, partitioner: Any = None,
        use_resource: bool | None = None, synchronization: Any = VariableSynchronization.AUTO,
        aggregation: Any = VariableAggregation.NONE, **kwargs: Any,
    ) -> Any:  # fmt: skip
        """Makes a weight of the layer.

        Args:
          name, shape: of the variable; a scalar by default.
          dtype: element type; by default the layer's.
          initializer, regularizer, constraint: functions, or names of known ones.
          trainable: by default True unless `synchronization` is ON_READ.
          partitioner, use_resource, synchronization, aggregation: as in tf.get_variable.
          getter: function that makes the variable; `collections` that it joins.

        Raises:
          TypeError: another keyword. ValueError: `trainable` with ON_READ, or no initializer is known for the dtype.
        """
        for keyword in kwargs:
            if keyword not in ("getter", "collections", "experimental_autocast"):
                raise TypeError("Unknown keyword argument:", keyword)
        dtype = dtypes.as_dtype(dtype or self.dtype or floatx())
        if self.dtype is None:
            self._dtype = dtype.base_dtype.name
        initializer = initializers.get(initializer)
        regularizer = regularizers.get(regularizer)
        constraint = constraints.get(constraint)
        trainable = check_trainable(trainable, synchronization)
        variable = self._add_variable_with_custom_getter(
            name=name, shape=() if shape is None else shape, getter=kwargs.get("getter", make_variable),
            overwrite=True, initializer=initializer or self._default_initializer(name, dtype), dtype=dtype,
            constraint=constraint, trainable=trainable, partitioner=partitioner, use_resource=use_resource,
            collections=kwargs.get("collections"), synchronization=synchronization, aggregation=aggregation,
        )  # fmt: skip
        for part in variable if isinstance(variable, PartitionedVariable) else [variable]:
            if isinstance(part, Variable):  # a custom getter of a variable scope may give a tensor
                track_variable(part)
        if regularizer is not None:
            self._handle_weight_regularization(variable.name.partition(":")[0], variable, regularizer)
        casts = kwargs.get("experimental_autocast", True) and self._dtype_policy.should_cast_variables
        if casts and dtype.is_floating:
            variable = cast_when_read(variable)
        (self._trainable_weights if trainable else self._non_trainable_weights).append(variable)
        return variable

    def add_variable(self, *args: Any, **kwargs: Any) -> Any:
        """The older name of `add_weight`."""
        return self.add_weight(*args, **kwargs)

    def _default_initializer(self, name: str | None, dtype: dtypes.DType) -> Any:
        if dtype.is_floating:
            return initializers.get("glorot_uniform")
        if dtype.is_integer or dtype.is_unsigned or dtype.is_bool:
            return initializers.get("zeros")
        raise ValueError(
            f"An initializer for variable {name} of type {dtype.base_dtype} is required for layer {self.name}"
        )

    @property
    def trainable_weights(self) -> list[Any]:
        """The weights that are trained, with those of the layers inside; none where the layer is not trainable."""
        if not self.trainable:
            return []
        return self._trainable_weights + self._gather_children_attribute("trainable_weights")

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The weights that are not trained: all of them where the layer is not trainable."""
        if self.trainable:
            return self._non_trainable_weights + self._gather_children_attribute("non_trainable_weights")
        return self._trainable_weights + self._non_trainable_weights + self._gather_children_attribute("weights")

    @property
    def weights(self) -> list[Any]:
        """All weights, the trainable ones first."""
        return self.trainable_weights + self.non_trainable_weights

    trainable_variables = property(lambda self: self.trainable_weights)
    non_trainable_variables = property(lambda self: self.non_trainable_weights)
    variables = property(lambda self: self.weights)

    @property
    def _unique_trainable_weights(self) -> list[Any]:
        return list({id(w): w for w in self.trainable_weights}.values())

    def count_params(self) -> int:
        """The number of elements of the weights; ValueError before they are made."""
        if not self.built:
            raise ValueError(
                f"You tried to call `count_params` on {self.name}, but the layer isn't built. "
                f"You can build it manually via: `{self.name}.build(batch_input_shape)`."
            )
        return int(sum(np.prod(w.shape.as_list(), dtype=np.int64) for w in self.weights))

    def get_weights(self) -> list[np.ndarray]:
        """The values of the weights in the session of Keras."""
        return batch_get_value(self.weights)

    def set_weights(self, weights: Any) -> None:
        """Sets the weights in the session of Keras; ValueError where number or shapes of the arrays differ."""
        variables = self.weights
        if len(weights) != len(variables):
            raise ValueError(
                f'You called `set_weights(weights)` on layer "{self.name}" with a  weight list of length '
                f"{len(weights)}, "
                f"but the layer was expecting {len(variables)} weights. Provided weights: {str(weights)[:50]}..."
            )
        for variable, value in zip(variables, weights):
            if not variable.shape.is_compatible_with(np.shape(value)):
                raise ValueError(
                    f"Layer weight shape {variable.shape} not compatible with provided weight shape {np.shape(value)}"
                )
        batch_set_value(list(zip(variables, weights)))

    def _get_trainable_state(self) -> dict[Any, bool]:
        """Whether this layer and each layer inside is trainable."""
        state = {self: self.trainable}
        for layer in layers_below(self._layers):
            state.update(layer._get_trainable_state())
        return state

    def _set_trainable_state(self, state: dict[Any, bool]) -> None:
        if self in state:
            self.trainable = state[self]
        for layer in layers_below(self._layers):
            layer._set_trainable_state(state)
