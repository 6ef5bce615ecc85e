"""`tensorflow.python.util.object_identity`: sets and dicts that compare keys by identity, since `==` on tensors may be elementwise."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, MutableMapping, MutableSet
from typing import Any


class _ObjectIdentityWrapper:
    """A hashable wrapper of an object; equal to other wrappers of the same object."""

    def __init__(self, wrapped: Any) -> None:
        self._wrapped = wrapped

    @property
    def unwrapped(self) -> Any:
        return self._wrapped

    def __eq__(self, other: object) -> bool:
        # An error, since an accidental comparison with the object itself would be False.
        if not isinstance(other, _ObjectIdentityWrapper):
            raise TypeError("Cannot compare wrapped object with unwrapped object")
        return self._wrapped is other._wrapped

    def __hash__(self) -> int:
        return id(self._wrapped)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} wrapping {self._wrapped!r}>"


class _WeakObjectIdentityWrapper(_ObjectIdentityWrapper):
    """A wrapper with a weak reference to its object."""

    # Python has one plain weak reference for each object, so that wrappers compare and hash by the identity of the reference, also after
    # the object is gone.

    def __init__(self, wrapped: object) -> None:
        super().__init__(weakref.ref(wrapped))

    @property
    def unwrapped(self) -> Any:
        return self._wrapped()


class Reference(_ObjectIdentityWrapper):
    """A reference to an object; equal to other references to the same object."""

    # As in 1.15, a reference has `deref` in place of `unwrapped`.
    unwrapped = property()

    def deref(self) -> Any:
        """Returns the object."""
        return self._wrapped


def _living(wrappers: Iterable[_ObjectIdentityWrapper], drop: Any) -> Iterator[Any]:
    """Yields the objects that are alive; calls `drop` with the wrappers of the others, which removes them."""
    # A copy, since `drop` changes the collection.
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
    """A dict that compares its keys with `is`, and has only weak references to them. Dead keys are removed when it is iterated over."""

    _wrap_key = _WeakObjectIdentityWrapper

    # The length counts live keys only.
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
        """Removes a member, if it is in the set."""
        self._storage.discard(self._wrap_key(item))

    def add(self, item: object) -> None:
        """Adds a member."""
        self._storage.add(self._wrap_key(item))

    def update(self, items: Iterable[Any]) -> None:
        """Adds members."""
        self._storage.update(self._wrap_key(item) for item in items)

    def intersection(self, items: Iterable[Any]) -> set[_ObjectIdentityWrapper]:
        """Returns the members that are in `items`, wrapped, as in 1.15."""
        return self._storage.intersection(self._wrap_key(item) for item in items)

    def difference(self, items: Iterable[Any]) -> ObjectIdentitySet:
        """Returns the members that are not in `items`."""
        remaining = ObjectIdentitySet()
        remaining._storage = self._storage.difference(self._wrap_key(item) for item in items)
        return remaining

    def __len__(self) -> int:
        return len(self._storage)

    def __iter__(self) -> Iterator[Any]:
        return (wrapper.unwrapped for wrapper in list(self._storage))


class ObjectIdentityWeakSet(ObjectIdentitySet):
    """A set that compares its members with `is`, and has only weak references to them. Dead members are removed when it is iterated over."""

    _wrap_key = _WeakObjectIdentityWrapper

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[Any]:
        return _living(self._storage, self._storage.discard)
