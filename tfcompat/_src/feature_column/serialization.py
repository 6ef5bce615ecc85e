"""Feature columns as configurations, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from tfcompat._src.base import dtypes
from tfcompat._src.feature_column.base import FeatureColumn
from tfcompat._src.keras import initializers
from tfcompat._src.keras.utils import generic_utils

T = TypeVar("T", bound=type)
_CLASSES: dict[str, type] = {}


def serializable(cls: T) -> T:
    """Marks a class of columns that configurations may name."""
    _CLASSES[cls.__name__] = cls
    return cls


class Configured:
    """The configuration of a column that is a named tuple: its fields by name."""

    @property
    def _is_v2_column(self) -> bool:
        return all(isinstance(p, str) or (isinstance(p, FeatureColumn) and p._is_v2_column) for p in self.parents)

    def _get_config(self) -> dict[str, Any]:
        return {field: _WRITERS.get(field, _same)(value) for field, value in zip(self._fields, self)}

    @classmethod
    def _from_config(cls, config: dict[str, Any], custom_objects: Any = None, columns_by_name: Any = None) -> Any:
        """The column of a configuration; ValueError where it has other keys than the fields."""
        if set(config) != set(cls._fields):
            raise ValueError(f"Invalid config: {config}, expected keys: {cls._fields}")
        arguments = {key: tuple(value) if isinstance(value, list) else value for key, value in config.items()}
        for field in arguments.keys() & _READERS.keys():
            arguments[field] = _READERS[field](config[field], custom_objects, columns_by_name)
        return cls(**arguments)


def serialize_feature_column(fc: object) -> Any:
    """The configuration of a column, a dict; the key of a feature stays as it is.

    Raises:
      ValueError: it is neither.
    """
    if isinstance(fc, str):
        return fc
    if not isinstance(fc, FeatureColumn):
        raise ValueError(f"Instance: {fc} is not a FeatureColumn")
    return generic_utils.serialize_keras_class_and_config(type(fc).__name__, fc._get_config())


def deserialize_feature_column(
    config: Any, custom_objects: Any = None, columns_by_name: dict[str, Any] | None = None
) -> Any:
    """The column of a configuration.

    Args:
      config: a dict as `serialize_feature_column` gives it, or the key of a feature.
      custom_objects: dict from names to classes and functions.
      columns_by_name: columns that exist already, which are taken again; new ones are added.

    Raises:
      ValueError: the class is unknown or not one of columns.
    """
    if isinstance(config, str):
        return config
    columns = {} if columns_by_name is None else columns_by_name
    cls, inner = generic_utils.class_and_config_for_serialized_keras_object(
        config, module_objects=_CLASSES, custom_objects=custom_objects, printable_module_name="feature_column_v2"
    )
    if not issubclass(cls, FeatureColumn):
        raise ValueError(f"Expected FeatureColumn class, instead found: {cls}")
    column = cls._from_config(inner, custom_objects=custom_objects, columns_by_name=columns)
    return columns.setdefault(_column_name_with_class_name(column), column)


def serialize_feature_columns(feature_columns: Any) -> list[Any]:
    """The configurations of columns."""
    return [serialize_feature_column(column) for column in feature_columns]


def deserialize_feature_columns(configs: Any, custom_objects: Any = None) -> list[Any]:
    """The columns of configurations; those with the same name and class become one object."""
    columns: dict[str, Any] = {}
    return [deserialize_feature_column(config, custom_objects, columns) for config in configs]


def _column_name_with_class_name(fc: Any) -> str:
    return f"{type(fc).__name__}:{fc.name}"


def _same(value: object) -> Any:
    return value


def _each(write: Callable) -> Callable:
    return lambda values, *args: tuple(write(value, *args) for value in values)


_WRITERS: dict[str, Callable] = {
    "categorical_column": serialize_feature_column,
    "dtype": lambda dtype: dtype.name,
    "initializer": initializers.serialize,
    "keys": _each(serialize_feature_column),
    "normalizer_fn": generic_utils.serialize_keras_object,
    "source_column": serialize_feature_column,
}
"""By name of field, what makes a value part of a configuration."""

_READERS: dict[str, Callable] = {
    "categorical_column": deserialize_feature_column,
    "dtype": lambda name, custom_objects, columns: dtypes.as_dtype(name),
    "initializer": lambda config, custom_objects, columns: initializers.deserialize(
        config, custom_objects=custom_objects
    ),
    "keys": _each(deserialize_feature_column),
    "normalizer_fn": lambda config, custom_objects, columns: generic_utils.deserialize_keras_object(
        config, custom_objects=custom_objects
    ),
    "source_column": deserialize_feature_column,
}
