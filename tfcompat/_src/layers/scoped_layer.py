"""tf.layers.Layer: a layer whose weights come from tf.get_variable, in a variable scope of the layer's name."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from typing import Any

from tfcompat._src.base import nest
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.graph.scopes import executing_eagerly_outside_functions, get_collection_ref, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.backend.session import unique_object_name
from tfcompat._src.keras.engine import base_layer
from tfcompat._src.keras.engine.layer_weights import check_trainable
from tfcompat._src.keras.utils.generic_utils import to_snake_case
from tfcompat._src.variables.collections import global_variables, trainable_variables
from tfcompat._src.variables.partitioned import PartitionedVariable
from tfcompat._src.variables.policies import VariableAggregation, VariableSynchronization
from tfcompat._src.variables.scope import VariableScope, get_variable, variable_scope


class _Style:
    """Whether layers that are made now manage their variables as Keras does."""

    keras = False


@export("layers.experimental.keras_style_scope")
@contextlib.contextmanager
def keras_style_scope() -> Iterator[None]:
    """Layers made inside make variables of their own, as Keras does, and take neither `scope` nor `reuse`."""
    before, _Style.keras = _Style.keras, True
    try:
        yield
    finally:
        _Style.keras = before


@export("layers.experimental.set_keras_style")
def set_keras_style() -> None:
    """Layers made from now on are as those made in `keras_style_scope`."""
    _Style.keras = True


@export("layers.Layer")
class Layer(base_layer.Layer):
    """The base of the layers of tf.layers.

    Args:
      trainable: whether the weights are trained.
      name: name of the layer and of its variable scope; by default made of the class name.
      dtype: element type of the weights; by default that of the first input.

    Raises:
      TypeError: another keyword is given.
    """

    def __init__(self, trainable: bool = True, name: str | None = None, dtype: Any = None, **kwargs: Any) -> None:
        self._use_resource_variables = False
        scope, self._reuse = kwargs.pop("_scope", None), kwargs.pop("_reuse", None)
        self._keras_style = _Style.keras
        super().__init__(trainable=trainable, name=name, dtype=dtype, **kwargs)
        if self._keras_style:
            for what, value in (("scope", scope), ("reuse", self._reuse)):
                if value is not None:
                    raise ValueError(
                        f"{what} argument not allowed when keras style layers are enabled, but saw: {value}"
                    )
        self._call_has_scope_arg = "scope" in self._call_fn_args
        self._scope: VariableScope | None = None
        self._current_scope: VariableScope | None = None
        self._reusing: variable_scope | None = None
        if scope:
            with variable_scope(scope) as self._scope:
                pass

    def __setattr__(self, name: str, value: Any) -> None:
        """Sets an attribute; layers and variables in attributes are not tracked, as they are in layers of Keras."""
        object.__setattr__(self, name, value)

    def _init_set_name(self, name: Any, zero_based: bool = False) -> None:
        self._base_name = name.name if isinstance(name, VariableScope) else name
        self._name = name
        if not name or isinstance(name, VariableScope):
            base_name = to_snake_case(type(self).__name__)
            self._name = unique_object_name(base_name)
            self._base_name = self._base_name or base_name

    graph = property(lambda self: None)
    _is_legacy_layer = property(lambda self: not self._keras_style)

    @property
    def scope_name(self) -> str:
        """The name of the variable scope; ValueError before the first call."""
        if not self._scope:
            raise ValueError(
                f'No name available for layer scope because the layer "{self._name}" has not been used yet. '
                "The scope name  is determined the first time the layer instance is called. You must therefore call "
                "the layer before querying `scope_name`."
            )
        return self._scope.name

    def _name_scope(self) -> str:
        return super()._name_scope() if self._keras_style else self._current_scope.original_name_scope

    def _set_scope(self, scope: Any = None) -> None:
        if self._scope is not None:
            return
        if self._reuse:
            entered = variable_scope(self._base_name if scope is None else scope)
        else:
            entered = variable_scope(scope, default_name=self._base_name)
        with entered as self._scope:
            pass

    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        """Keeps losses, and adds them to the collection REGULARIZATION_LOSSES; see the base class."""
        losses_before, functions_before = len(self._losses), len(self._callable_losses)
        super().add_loss(losses, inputs=inputs)
        tensors = self._losses[losses_before:] + [make() for make in self._callable_losses[functions_before:]]
        _add_new(GraphKeys.REGULARIZATION_LOSSES, [x for x in tensors if x is not None])

    def add_weight(
        self, name: str, shape: Any, dtype: Any = None, initializer: Any = None, regularizer: Any = None,
        trainable: bool | None = None, constraint: Any = None, use_resource: bool | None = None,
        synchronization: Any = VariableSynchronization.AUTO, aggregation: Any = VariableAggregation.NONE,
        partitioner: Any = None, **kwargs: Any,
    ) -> Any:  # fmt: skip
        """Makes a weight of the layer, or finds it where the layer reuses variables.

        Args:
          name, shape: of the variable.
          dtype: element type; by default the layer's.
          initializer: by default that of the variable scope.
          regularizer, constraint: functions.
          trainable: by default True unless `synchronization` is ON_READ.
          partitioner, use_resource, synchronization, aggregation: as in tf.get_variable.

        Raises:
          TypeError: another keyword. ValueError: `trainable` with ON_READ, or the variable may not be reused.
        """
        for keyword in kwargs:
            if keyword != "experimental_autocast":
                raise TypeError("Unknown keyword argument:", keyword)
        if self._keras_style:
            return super().add_weight(
                name, shape, dtype=dtype, initializer=initializer, regularizer=regularizer,
                trainable=trainable and self.trainable, constraint=constraint, use_resource=use_resource,
                partitioner=partitioner,
            )  # fmt: skip
        trainable = check_trainable(trainable, synchronization) and self.trainable
        existing = {id(v) for v in global_variables()} if regularizer else set()
        self._set_scope()
        with variable_scope(self._scope, reuse=self.built or self._reuse, auxiliary_name_scope=False) as scope:
            self._current_scope = scope
            with name_scope(self._name_scope()):
                variable = super().add_weight(
                    name, shape, dtype=dtype, initializer=scope.initializer if initializer is None else initializer,
                    trainable=trainable, constraint=constraint, partitioner=partitioner,
                    use_resource=use_resource or self._use_resource_variables or scope.use_resource,
                    synchronization=synchronization, aggregation=aggregation, getter=get_variable,
                )  # fmt: skip
                parts = list(variable) if isinstance(variable, PartitionedVariable) else [variable]
                if regularizer and not any(id(part) in existing for part in parts):
                    self._handle_weight_regularization(name, variable, regularizer)
        if trainable and not executing_eagerly_outside_functions() and not any(v is variable for v in trainable_variables()):
            self._non_trainable_weights.append(self._trainable_weights.pop())
        return variable

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """As the base class; a `scope` keyword names the variable scope of the first call."""
        scope = kwargs.pop("scope", None)
        if self._keras_style:
            if scope is not None:
                raise ValueError(f"scope argument not allowed when keras style layers are enabled, but saw: {scope}")
            return super().__call__(inputs, *args, **kwargs)
        self._set_scope(scope)
        if not self.built:
            entered = variable_scope(self._scope, reuse=self._reuse, auxiliary_name_scope=False)
        else:
            self._reusing = self._reusing or variable_scope(self._scope, reuse=True, auxiliary_name_scope=False)
            entered = self._reusing
        with entered as self._current_scope:
            if self._call_has_scope_arg:
                kwargs["scope"] = self._current_scope
            outputs = super().__call__(inputs, *args, **kwargs)
        _add_new(GraphKeys.UPDATE_OPS, self.updates)
        return outputs

    def __deepcopy__(self, memo: dict[int, Any]) -> Layer:
        copied = memo[id(self)] = type(self).__new__(type(self))
        for key, value in self.__dict__.items():
            if key in ("_scope", "_reusing"):
                value = copy.copy(value)
            elif not any(isinstance(x, Tensor) for x in nest.flatten(value)):
                value = copy.deepcopy(value, memo)
            setattr(copied, key, value)
        return copied


def _add_new(collection: str, values: list[Any]) -> None:
    """Appends those of `values` that the collection does not hold."""
    held = get_collection_ref(collection)
    for value in values:
        if not any(value is x for x in held):
            held.append(value)
