"""`tensorflow.python.util.object_identity`: sets and mappings whose members are equal where they are one object."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, MutableMapping, MutableSet
from typing import Any


class _ObjectIdentityWrapper:
    """Stands for an object; equal to what stands for the same one."""

    def __init__(self, wrapped: Any) -> None:
        self._wrapped = wrapped

    @property
    def unwrapped(self) -> Any:
        return self._wrapped

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _ObjectIdentityWrapper):
            raise TypeError("Cannot compare wrapped object with unwrapped object")
        return self._wrapped is other._wrapped

    def __hash__(self) -> int:
        return id(self._wrapped)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} wrapping {self._wrapped!r}>"


class _WeakObjectIdentityWrapper(_ObjectIdentityWrapper):
    """Stands for an object without keeping it: its one plain weak reference is what is compared."""

    def __init__(self, wrapped: object) -> None:
        super().__init__(weakref.ref(wrapped))

    @property
    def unwrapped(self) -> Any:
        return self._wrapped()


class Reference(_ObjectIdentityWrapper):
    """Refers to an object; equal to another reference to it."""

    unwrapped = property()

    def deref(self) -> Any:
        """The object."""
        return self._wrapped


def _living(wrappers: Iterable[_ObjectIdentityWrapper], drop: Any) -> Iterator[Any]:
    """The objects that are still there; `drop` removes the other wrappers."""
    for wrapper in list(wrappers):
        value = wrapper.unwrapped
        if value is None:
            drop(wrapper)
        else:
            yield value


class ObjectIdentityDictionary(MutableMapping[Any, Any]):
    """A dict that compares its keys with `is`."""

    _wrap_key: type[_ObjectIdentityWrapper] = _ObjectIdentityWrapper

    def __init__(self) -> None:
        self._storage: dict[_ObjectIdentityWrapper, Any] = {}

    def __getitem__(self, key: object) -> Any:
        return self._storage[self._wrap_key(key)]

    def __setitem__(self, key: object, value: object) -> None:
        self._storage[self._wrap_key(key)] = value

    def __delitem__(self, key: object) -> None:
        del self._storage[self._wrap_key(key)]

    def __len__(self) -> int:
        return len(self._storage)

    def __iter__(self) -> Iterator[Any]:
        return (key.unwrapped for key in self._storage)

    def __repr__(self) -> str:
        return f"ObjectIdentityDictionary({self._storage!r})"


class ObjectIdentityWeakKeyDictionary(ObjectIdentityDictionary):
    """A dict that compares its keys with `is` and does not keep them."""

    _wrap_key = _WeakObjectIdentityWrapper

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[Any]:
        return _living(self._storage, self._storage.pop)


class ObjectIdentitySet(MutableSet[Any]):
    """A set that compares its members with `is`."""

    _wrap_key: type[_ObjectIdentityWrapper] = _ObjectIdentityWrapper

    def __init__(self, items: Iterable[Any] = ()) -> None:
        self._storage = {self._wrap_key(item) for item in items}

    def __contains__(self, item: object) -> bool:
        return self._wrap_key(item) in self._storage

    def discard(self, item: object) -> None:
        """Takes a member out, if it is there."""
        self._storage.discard(self._wrap_key(item))

    def add(self, item: object) -> None:
        """Puts a member in."""
        self._storage.add(self._wrap_key(item))

    def update(self, items: Iterable[Any]) -> None:
        """Puts members in."""
        self._storage.update(self._wrap_key(item) for item in items)

    def intersection(self, items: Iterable[Any]) -> set[_ObjectIdentityWrapper]:
        """The members that are among `items`, wrapped."""
        return self._storage.intersection(self._wrap_key(item) for item in items)

    def difference(self, items: Iterable[Any]) -> ObjectIdentitySet:
        """The members that are not among `items`."""
        remaining = ObjectIdentitySet()
        remaining._storage = self._storage.difference(self._wrap_key(item) for item in items)
        return remaining

    def __len__(self) -> int:
        return len(self._storage)

    def __iter__(self) -> Iterator[Any]:
        return (wrapper.unwrapped for wrapper in list(self._storage))


class ObjectIdentityWeakSet(ObjectIdentitySet):
    """A set that compares its members with `is` and does not keep them."""

    _wrap_key = _WeakObjectIdentityWrapper

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[Any]:
        return _living(self._storage, self._storage.discard)
