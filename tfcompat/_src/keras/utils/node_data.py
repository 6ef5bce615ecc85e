"""Lists that say which layer made a tensor, told apart from lists of such lists."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base import nest


class ListWrapper:
    """A list that is one element of a nest."""

    def __init__(self, list_to_wrap: list) -> None:
        self._list = list_to_wrap

    def as_list(self) -> list:
        """The list."""
        return self._list


def _is_node_data(value: object) -> bool:
    """Whether a value is [name of the layer, number of its node, number of the tensor], or that and a dict of arguments."""
    return isinstance(value, list) and len(value) in (3, 4) and isinstance(value[0], str)


def convert_inner_node_data(nested: object, wrap: bool = False) -> Any:
    """A nest whose innermost lists of node data are ListWrappers with `wrap`, and plain lists without."""

    def is_element(value: object) -> bool:
        return isinstance(value, ListWrapper) or _is_node_data(value) or not nest.is_nested(value)

    def convert(value: Any) -> Any:
        if wrap:
            return ListWrapper(value) if _is_node_data(value) else value
        return value.as_list() if isinstance(value, ListWrapper) else value

    outer = nest.get_traverse_shallow_structure(lambda value: not is_element(value), nested)
    return nest.map_structure_up_to(outer, convert, nested)
