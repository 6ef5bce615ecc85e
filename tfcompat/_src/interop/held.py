"""Python objects that nodes name by a token in an attribute. Their graph keeps them alive; a graph from a file has only the token."""

from __future__ import annotations

import itertools
import weakref
from typing import Any, Generic, TypeVar

from tfcompat._src.base import confinement, errors
from tfcompat._src.graph.scopes import get_default_graph

T = TypeVar("T")


class Held(Generic[T]):
    """The objects of one kind.

    Args:
      kind: what they are. remedy: what to do where one is not in this process.
    """

    def __init__(self, kind: str, remedy: str) -> None:
        self._kind, self._remedy = kind, remedy
        self._objects: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()
        self._numbers = itertools.count()

    def add(self, found: T) -> str:
        """Keeps an object as long as the default graph lives; its token."""
        token = f"{self._kind}_{next(self._numbers)}"
        self._objects[token] = found
        get_default_graph().__dict__.setdefault("_held_for_nodes", []).append(found)
        return token

    def get(self, token: str) -> T:
        """Returns the object of a token.

        Raises:
          errors.InvalidArgumentError: it is not in this process.
          errors.PermissionDeniedError: this runs for a client of a server, which may not have Python objects of the server.
        """
        confinement.require_unconfined(f"{self._kind} objects")
        found = self._objects.get(token)
        if found is None:
            raise errors.InvalidArgumentError(None, None, f"the {self._kind} object {token} is not in this process: {self._remedy}")
        return found
