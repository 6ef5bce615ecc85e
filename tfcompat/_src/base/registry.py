"""`tensorflow.python.framework.registry`: objects by name; and the conversions of graph collections to and from messages."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from google.protobuf.message import Message


class Registry:
    """A map from unique names to objects.

    Args:
      name: a noun for the objects, used in error messages.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._registry: dict[str, Any] = {}
        self._where: dict[str, str] = {}

    def register(self, candidate: Any, name: str | None = None) -> None:
        """Adds `candidate` under `name`, by default its `__name__`.

        Raises:
          ValueError: the name is empty. KeyError: it is taken.
        """
        name = name or candidate.__name__
        if not name:
            raise ValueError(f"An entry of the {self._name} registry needs a name, but {candidate!r} has an empty __name__; pass `name`.")
        if name in self._registry:
            raise KeyError(
                f"Registering two {self._name} with name '{name}'! (Previous registration was in {self._where[name]})"
            )
        # The place of a registration is kept for the error of a second one.
        caller = sys._getframe(1)
        self._registry[name] = candidate
        self._where[name] = f"{caller.f_code.co_name} {caller.f_code.co_filename}:{caller.f_lineno}"

    def list(self) -> list[str]:
        """Returns all names."""
        return list(self._registry)

    def lookup(self, name: str) -> Any:
        """Returns the object under `name`; raises LookupError if there is none."""
        if name not in self._registry:
            raise LookupError(f"{self._name} registry has no entry for: {name}")
        return self._registry[name]


class _Conversions(NamedTuple):
    """The message class for the objects of a collection, and the conversions to and from messages."""

    proto_type: type[Message] | None = None
    to_proto: Callable[..., Any] | None = None
    from_proto: Callable[..., Any] | None = None


_collection_messages: dict[str, _Conversions] = {}


def register_proto_function(
    collection_name: str, proto_type: type[Message] | None = None, to_proto: Callable[..., Any] | None = None,
    from_proto: Callable[..., Any] | None = None,
) -> None:  # fmt: skip
    """Registers the conversions of a collection's objects to and from messages.

    Args:
      collection_name: key of the collection.
      proto_type: the message class.
      to_proto: `f(value, export_scope=None) -> message`.
      from_proto: `f(message, import_scope=None) -> value`.

    Raises:
      TypeError: a conversion is not callable. KeyError: the collection has conversions already.
    """
    for function in (to_proto, from_proto):
        if function is not None and not callable(function):
            raise TypeError("to_proto and from_proto must be callable.")
    if collection_name in _collection_messages:
        raise KeyError(f"Registering two proto functions with name '{collection_name}'!")
    _collection_messages[collection_name] = _Conversions(proto_type, to_proto, from_proto)


def get_collection_proto_type(collection_name: str) -> type[Message] | None:
    return _collection_messages.get(collection_name, _Conversions()).proto_type


def get_to_proto_function(collection_name: str) -> Callable[..., Any] | None:
    return _collection_messages.get(collection_name, _Conversions()).to_proto


def get_from_proto_function(collection_name: str) -> Callable[..., Any] | None:
    return _collection_messages.get(collection_name, _Conversions()).from_proto
