"""`tensorflow.python.autograph.operators.symbols`: variables, attributes and items whose value may be Undefined."""

from __future__ import annotations

from typing import Any

from tfcompat._src.autograph.operators.special_values import Undefined, is_undefined


class Symbol:
    """Something that has a name in the source."""

    def __init__(self, name: str) -> None:
        self.name = name


class ValueSymbol(Symbol):
    """A variable or a constant with its value, which may be Undefined."""

    def __init__(self, name: str, value: Any) -> None:
        super().__init__(name)
        self.value = value

    def maybe_compute_value(self) -> Any:
        """The value."""
        return self.value


class AttributeAccessSymbol(Symbol):
    """The attribute `attr_name` of the symbol `parent_symbol`."""

    def __init__(self, parent_symbol: Any, attr_name: str) -> None:
        super().__init__(f"{parent_symbol.name}.{attr_name}")
        self.attr_name, self.parent_symbol = attr_name, parent_symbol

    def maybe_compute_value(self) -> Any:
        """The value; Undefined where the object is undefined, has no such attribute, or has None there."""
        parent = self.parent_symbol.maybe_compute_value()
        found = None if is_undefined(parent) else getattr(parent, self.attr_name, None)
        return Undefined(self.name) if found is None else found


class SubscriptSymbol(Symbol):
    """The item of the symbol `parent_symbol` at the value of the symbol `index_symbol`."""

    def __init__(self, parent_symbol: Any, index_symbol: Any) -> None:
        super().__init__(f"{parent_symbol.name}[{index_symbol.name}]")
        self.index_symbol, self.parent_symbol = index_symbol, parent_symbol

    def maybe_compute_value(self) -> Any:
        """The value; Undefined where the object or the index is undefined, or no such item is there."""
        parent, index = self.parent_symbol.maybe_compute_value(), self.index_symbol.maybe_compute_value()
        if is_undefined(parent) or is_undefined(index):
            return Undefined(self.name)
        try:
            return parent[index]
        except (IndexError, KeyError, TypeError):
            return Undefined(self.name)
