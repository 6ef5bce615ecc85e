"""Where the variables and tables of feature columns are kept."""

from __future__ import annotations

import collections
from typing import Any

from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.graph.scopes import add_to_collection
from tfcompat._src.variables.partitioned import PartitionedVariable
from tfcompat._src.variables.scope import get_variable


class StateManager:
    """Makes and keeps the variables and tables of feature columns."""

    def create_variable(
        self, feature_column: Any, name: str, shape: Any, dtype: Any = None, trainable: bool = True,
        use_resource: bool = True, initializer: Any = None,
    ) -> Any:  # fmt: skip
        """Makes a variable of a column; the arguments after it are tf.get_variable's."""
        raise NotImplementedError("StateManager.create_variable")

    def add_variable(self, feature_column: Any, var: Any) -> None:
        """Keeps a variable for a column."""
        raise NotImplementedError("StateManager.add_variable")

    def get_variable(self, feature_column: Any, name: str) -> Any:
        """The variable that a column made under `name`."""
        raise NotImplementedError("StateManager.get_var")

    def add_resource(self, feature_column: Any, name: str, resource: Any) -> None:
        """Keeps a table of a column."""
        raise NotImplementedError("StateManager.add_resource")

    def get_resource(self, feature_column: Any, name: str) -> Any:
        """The table that is kept for a column under `name`."""
        raise NotImplementedError("StateManager.get_resource")


class _StateManagerImpl(StateManager):
    """Variables are weights of a layer, made with tf.get_variable so that scopes can partition them."""

    _getter: dict[str, Any] = {"getter": get_variable}

    def __init__(self, layer: Any, trainable: bool) -> None:
        self._layer, self._trainable = layer, trainable
        if layer is not None:
            layer._resources = []
        self._variables: dict[Any, dict[str, Any]] = collections.defaultdict(dict)
        self._resources: dict[Any, dict[str, Any]] = collections.defaultdict(dict)

    def create_variable(
        self, feature_column: object, name: str, shape: Any, dtype: Any = None, trainable: bool = True,
        use_resource: bool = True, initializer: Any = None,
    ) -> Any:  # fmt: skip
        if name in self._variables[feature_column]:
            raise ValueError("Variable already exists.")
        variable = self._layer.add_variable(
            name=name, shape=shape, dtype=dtype, initializer=initializer, trainable=self._trainable and trainable,
            use_resource=use_resource, **self._getter,
        )  # fmt: skip
        self._variables[feature_column][name] = variable
        return variable

    def get_variable(self, feature_column: object, name: str) -> Any:
        if name in self._variables[feature_column]:
            return self._variables[feature_column][name]
        raise ValueError("Variable does not exist.")

    def add_resource(self, feature_column: object, name: str, resource: Any) -> None:
        self._resources[feature_column][name] = resource
        if self._layer is not None:
            self._layer._resources.append(resource)

    def get_resource(self, feature_column: object, name: str) -> Any:
        if name in self._resources[feature_column]:
            return self._resources[feature_column][name]
        raise ValueError("Resource does not exist.")


class _StateManagerImplV2(_StateManagerImpl):
    """Variables are weights of a layer, made as Keras makes them."""

    _getter = {}


class ScopeState(StateManager):
    """Variables are made in the variable scope where a column asks for them, which is what the earlier interface does.

    Args:
      weight_collections: the collections of the variables; a list is completed by GLOBAL_VARIABLES.
      trainable: whether variables may be trained.
    """

    def __init__(self, weight_collections: Any, trainable: object) -> None:
        if weight_collections and GraphKeys.GLOBAL_VARIABLES not in weight_collections:
            weight_collections.append(GraphKeys.GLOBAL_VARIABLES)
        self.weight_collections, self.trainable = weight_collections, trainable
        self._made: dict[str, Any] = {}

    def create_variable(
        self, feature_column: object, name: str, shape: object, dtype: object = None, trainable: bool = True,
        use_resource: bool = True, initializer: object = None,
    ) -> Any:  # fmt: skip
        self._made[name] = get_variable(
            name=name, shape=shape, dtype=dtype, initializer=initializer, trainable=trainable and self.trainable,
            collections=self.weight_collections,
        )  # fmt: skip
        return self._made[name]

    def get_variable(self, feature_column: Any, name: str) -> Any:
        feature_column.create_state(self)
        return self._made[name]


def with_default_collections(weight_collections: Any) -> list[str]:
    """A list of collections of variables, completed by those of all variables and of the model's."""
    collections_ = list(weight_collections or [])
    return collections_ + [k for k in (GraphKeys.GLOBAL_VARIABLES, GraphKeys.MODEL_VARIABLES) if k not in collections_]


def add_to_weight_collections(variable: object, weight_collections: Any) -> None:
    """Adds a variable, or all its parts, to collections; it is in GLOBAL_VARIABLES already."""
    parts = list(variable) if isinstance(variable, PartitionedVariable) else [variable]
    for collection in weight_collections:
        if collection != GraphKeys.GLOBAL_VARIABLES:
            for part in parts:
                add_to_collection(collection, part)
