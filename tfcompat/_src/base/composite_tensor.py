"""The base class of values that consist of several tensors: sparse tensors, ragged tensors, indexed slices."""

from __future__ import annotations

import abc
from typing import Any


class Expandable:
    """A value that `nest` traverses with `expand_composites=True`: a composite tensor, or its TypeSpec."""

    __slots__ = ()

    _expands = True

    def _nest_key(self) -> str:
        """Returns the key of the components in a path."""
        raise NotImplementedError

    def _nest_spec(self) -> Any:
        """Returns the TypeSpec of the value."""
        raise NotImplementedError

    def _nest_components(self) -> Any:
        """Returns the nested structure of the components."""
        raise NotImplementedError


class CompositeTensor(Expandable, abc.ABC):
    """Base class of values that consist of tensors; the TypeSpec `_type_spec` takes them apart and puts them together."""

    @property
    @abc.abstractmethod
    def _type_spec(self) -> Any:
        """The TypeSpec of this value."""

    def _nest_key(self) -> str:
        return type(self).__name__

    def _nest_spec(self) -> Any:
        return self._type_spec

    def _nest_components(self) -> Any:
        return self._to_components()

    def _to_components(self) -> Any:
        return self._type_spec._to_components(self)

    def _component_metadata(self) -> Any:
        return self._type_spec

    @staticmethod
    def _from_components(components: Any, metadata: Any) -> Any:
        return metadata._from_components(components)

    def _shape_invariant_to_type_spec(self, shape: Any) -> Any:
        """Returns the TypeSpec for the shape invariant `shape` of this value in a `while_loop`."""
        raise NotImplementedError(f"{type(self).__name__}._shape_invariant_to_type_spec")

    @property
    def _is_graph_tensor(self) -> bool:
        raise NotImplementedError(f"{type(self).__name__}._is_graph_tensor")

    def _consumers(self) -> list[Any]:
        """Returns the operations that take one of the components."""
        raise NotImplementedError(f"{type(self).__name__}._consumers")
