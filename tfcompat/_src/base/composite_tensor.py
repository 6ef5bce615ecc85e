"""Values made of several tensors: sparse and ragged tensors, indexed slices."""

from __future__ import annotations

import abc
from typing import Any


class Expandable:
    """What `nest` takes apart when called with `expand_composites=True`: a composite tensor or its type."""

    __slots__ = ()

    _expands = True

    def _nest_key(self) -> str:
        """The name that stands for this value in a path."""
        raise NotImplementedError

    def _nest_spec(self) -> Any:
        """The TypeSpec of the value."""
        raise NotImplementedError

    def _nest_components(self) -> Any:
        """The nested structure of the parts."""
        raise NotImplementedError


class CompositeTensor(Expandable, abc.ABC):
    """Base class of values that consist of tensors; `_type_spec` says which, and how the value is put together."""

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
        """The TypeSpec that a `while_loop` shape invariant of this value stands for."""
        raise NotImplementedError(f"{type(self).__name__}._shape_invariant_to_type_spec")

    @property
    def _is_graph_tensor(self) -> bool:
        raise NotImplementedError(f"{type(self).__name__}._is_graph_tensor")

    def _consumers(self) -> list[Any]:
        """The operations that take one of the parts."""
        raise NotImplementedError(f"{type(self).__name__}._consumers")
