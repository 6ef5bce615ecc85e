"""Attributes that are dependencies: AutoTrackable, and lists and dicts whose elements are tracked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from collections.abc import Mapping as AbstractMapping
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.base.trackable import Trackable, TrackableReference
from tfcompat._src.train.revived_types import VersionedTypeRegistration, register_revived_type
from tfcompat._src.train.trackable_layers import LayerCollection


@export("contrib.checkpoint.NoDependency")
class NoDependency:
    """Wraps a value that, set as an attribute, is no dependency; the attribute is the value itself."""

    def __init__(self, value: Any) -> None:
        self.value = value


def wrap_or_unwrap(value: Any) -> Any:
    """A list or dict as one that tracks its elements, a NoDependency as what it wraps, anything else as it is."""
    if isinstance(value, NoDependency):
        return value.value
    if isinstance(value, Trackable):
        return value
    if type(value) is dict:
        return DictWrapper(value)
    if type(value) is list:
        return ListWrapper(value)
    return value


def sticky_attribute_assignment(trackable: Any, name: str, value: Any) -> Any:
    """What to set as the attribute `name`; a trackable becomes a dependency of that name."""
    is_dependency = not isinstance(value, NoDependency)
    value = wrap_or_unwrap(value)
    if is_dependency and isinstance(value, Trackable):
        trackable._track_trackable(value, name=name, overwrite=True)
    return value


@export("contrib.checkpoint.Checkpointable", "contrib.eager.Checkpointable")
class AutoTrackable(Trackable):
    """An object whose trackable attributes are its dependencies."""

    def __setattr__(self, name: str, value: Any) -> None:
        if getattr(self, "_self_setattr_tracking", True):
            value = sticky_attribute_assignment(self, name, value)
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        delete_tracking(self, name)
        super().__delattr__(name)

    def _no_dependency(self, value: Any) -> Any:
        return NoDependency(value)


def delete_tracking(obj: Any, name: str) -> None:
    """Takes a dependency out, where there is one of that name."""
    obj._unconditional_dependency_names.pop(name, None)
    dependencies = obj._unconditional_checkpoint_dependencies
    dependencies[:] = [d for d in dependencies if d.name != name]


class NotTrackable:
    """Marks a class whose objects cannot be saved in a checkpoint of objects."""


class TrackableDataStructure(LayerCollection, Trackable):
    """A collection whose trackable elements are dependencies."""

    def _elements(self) -> Iterable[tuple[str, Any]]:
        """(dependency name, element) of all elements."""
        raise NotImplementedError

    def _check_can_be_saved(self) -> None:
        """Raises ValueError where changes have left the collection in a state that cannot be saved."""

    @property
    def _checkpoint_dependencies(self) -> list[TrackableReference]:
        self._check_can_be_saved()
        return [TrackableReference(name, value) for name, value in self._elements() if isinstance(value, Trackable)]

    def _lookup_dependency(self, name: str) -> Any:
        return next(
            (value for known, value in self._elements() if known == name and isinstance(value, Trackable)), None
        )

    def _wrapped(self, name: str, value: Any) -> Any:
        """An element as it is kept; one that a checkpoint waits for is restored."""
        value = wrap_or_unwrap(value)
        if isinstance(value, Trackable):
            self._handle_deferred_dependencies(name=name, trackable=value)
        return value

    def __hash__(self) -> int:
        return id(self)


@export("contrib.checkpoint.List")
class List(TrackableDataStructure, Sequence):
    """A list to append to; its elements are dependencies named by their positions.

    Args:
      *args, **kwargs: those of `list`.

    Raises:
      ValueError: an element is not trackable.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._storage: list[Any] = []
        self.extend(list(*args, **kwargs))

    def _elements(self) -> Iterable[tuple[str, Any]]:
        return [(str(i), value) for i, value in enumerate(self._storage)]

    def append(self, value: Any) -> None:
        """Adds an element; ValueError where it is not trackable."""
        name = str(len(self._storage))
        value = wrap_or_unwrap(value)
        if not isinstance(value, Trackable):
            raise ValueError(
                f"Only trackable objects (such as Layers or Optimizers) may be stored in a List object. Got {value}, which does not inherit from Trackable."
            )
        self._storage.append(self._wrapped(name, value))

    def extend(self, values: Iterable[Any]) -> None:
        """Adds elements; ValueError where one is not trackable."""
        for value in values:
            self.append(value)

    def __iadd__(self, values: Iterable[Any]) -> List:
        self.extend(values)
        return self

    def __add__(self, other: Any) -> List:
        return type(self)([*self, *other])

    def __radd__(self, other: Any) -> List:
        return type(self)([*other, *self])

    def __mul__(self, count: int) -> List:
        return type(self)([*self] * count)

    __rmul__ = __mul__

    def __getitem__(self, key: Any) -> Any:
        return self._storage[key]

    def __len__(self) -> int:
        return len(self._storage)

    def __eq__(self, other: Any) -> bool:
        return self._storage == (other._storage if isinstance(other, List) else other)

    __hash__ = TrackableDataStructure.__hash__

    def __repr__(self) -> str:
        return f"List({self._storage!r})"


@export("contrib.checkpoint.Mapping")
class Mapping(TrackableDataStructure, AbstractMapping):
    """A dict to add to; its values are dependencies named by their keys, which are str.

    Args:
      *args, **kwargs: those of `dict`.

    Raises:
      TypeError: a key is no str. ValueError: a value is not trackable, or a key has another value already.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._storage: dict[str, Any] = {}
        self.update(*args, **kwargs)

    def _elements(self) -> Iterable[tuple[str, Any]]:
        return self._storage.items()

    def __setitem__(self, key: str, value: Any) -> None:
        if not isinstance(key, str):
            raise TypeError(f"Mapping accepts only string keys, but got a key {key!r}.")
        value = wrap_or_unwrap(value)
        if not isinstance(value, Trackable):
            raise ValueError(
                f"Only trackable objects (such as Layers or Optimizers) may be stored in a Mapping object. Got {value}, which does not inherit from Trackable."
            )
        if self._storage.get(key, value) is not value:
            raise ValueError(
                f"Mappings are an append-only data structure. Tried to overwrite the key '{key}' with value {value}, but it already contains {self._storage[key]}"
            )
        self._storage[key] = self._wrapped(key, value)

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Adds entries."""
        for key, value in dict(*args, **kwargs).items():
            self[key] = value

    def __getitem__(self, key: str) -> Any:
        return self._storage[key]

    def __len__(self) -> int:
        return len(self._storage)

    def __iter__(self) -> Iterator[str]:
        return iter(self._storage)

    def __eq__(self, other: Any) -> bool:
        return self._storage == (other._storage if isinstance(other, Mapping) else other)

    __hash__ = TrackableDataStructure.__hash__

    def __repr__(self) -> str:
        return f"Mapping({self._storage!r})"


class _Outside:
    """The list or dict that a wrapper was made of: it follows changes of the wrapper, and is not to change by itself.

    Args:
      original: the list or dict; anything else is not followed.
      kind: `list` or `dict`.
    """

    def __init__(self, original: Any, kind: type) -> None:
        self._original = original if isinstance(original, kind) else kind()
        self._known = self._original.copy()

    def follow(self, wrapper: Any) -> None:
        """Gives the original what the wrapper holds, where nothing else has changed it."""
        if self.differs():
            return
        self._original.clear()
        (self._original.extend if isinstance(self._original, list) else self._original.update)(wrapper)
        self._known = self._original.copy()

    def differs(self) -> bool:
        """Whether something else has changed the original."""
        now, known = self._original, self._known
        if len(now) != len(known):
            return True
        if isinstance(now, list):
            return any(a is not b for a, b in zip(now, known))
        return any(key not in known or known[key] is not value for key, value in dict.items(now))

    def check(self, wrapper: Any, what: str) -> None:
        """ValueError where something else has changed the original."""
        if self.differs():
            raise ValueError(
                f"Unable to save the object {wrapper!r} (a {what} wrapper constructed to track trackable TensorFlow objects). "
                f"The wrapped {what} was modified outside the wrapper (its final value was {self._original}, its value when a "
                f"checkpoint dependency was added was {self._known}), which breaks restoration on object creation.\n\nIf you "
                f"don't need this {what} checkpointed, wrap it in a tf.contrib.checkpoint.NoDependency object; it will be "
                "automatically un-wrapped and subsequently ignored."
            )


class ListWrapper(TrackableDataStructure, list):
    """A list set as an attribute: any change is allowed, but only one that appended can be saved."""

    def __init__(self, values: Iterable[Any] = ()) -> None:
        self._only_appended = True
        self._outside = _Outside(values, list)
        list.__init__(self, [])
        for value in list(values):
            self._add(value)
        self._outside.follow(self)

    def _elements(self) -> Iterable[tuple[str, Any]]:
        return [(str(i), value) for i, value in enumerate(list.__iter__(self))]

    def _check_can_be_saved(self) -> None:
        if not self._only_appended:
            raise ValueError(
                f"Unable to save the object {self!r} (a list wrapper constructed to track trackable TensorFlow objects). A list "
                "element was replaced (__setitem__, __setslice__), deleted (__delitem__, __delslice__), or moved (sort). In order "
                "to support restoration on object creation, tracking is exclusively for append-only data structures.\n\nIf you "
                "don't need this list checkpointed, wrap it in a tf.contrib.checkpoint.NoDependency object; it will be "
                "automatically un-wrapped and subsequently ignored."
            )
        self._outside.check(self, "list")

    def _add(self, value: Any) -> None:
        list.append(self, self._wrapped(str(len(self)), value))

    def append(self, value: Any) -> None:
        self._add(value)
        self._outside.follow(self)

    def extend(self, values: Iterable[Any]) -> None:
        for value in list(values):
            self._add(value)
        self._outside.follow(self)

    def __iadd__(self, values: Iterable[Any]) -> ListWrapper:
        self.extend(values)
        return self

    __hash__ = TrackableDataStructure.__hash__


def _moves(name: str) -> Any:
    of_list = getattr(list, name)

    def method(self: ListWrapper, *args: Any, **kwargs: Any) -> Any:
        self._only_appended = False
        found = of_list(self, *args, **kwargs)
        self._outside.follow(self)
        return found

    method.__name__ = name
    return method


for _name in ("__setitem__", "__delitem__", "insert", "pop", "remove", "clear", "sort", "reverse", "__imul__"):
    setattr(ListWrapper, _name, _moves(_name))


class DictWrapper(TrackableDataStructure, dict):
    """A dict set as an attribute; its trackable values are dependencies named by their keys, which must be str."""

    def __init__(self, values: Any = ()) -> None:
        dict.__init__(self)
        self._outside = _Outside(values, dict)
        self.update(values)

    def _elements(self) -> Iterable[tuple[str, Any]]:
        return dict.items(self)

    def _check_can_be_saved(self) -> None:
        wrong = [k for k, v in dict.items(self) if isinstance(v, Trackable) and not isinstance(k, str)]
        if wrong:
            raise ValueError(
                f"Unable to save the object {self!r} (a dictionary wrapper constructed automatically on attribute assignment). The "
                f"wrapped dictionary contains a non-string key which maps to a trackable object or mutable data structure: {wrong[0]!r}"
            )
        self._outside.check(self, "dictionary")

    def __setitem__(self, key: Any, value: Any) -> None:
        dict.__setitem__(self, key, self._wrapped(key, value))
        self._outside.follow(self)

    def update(self, *args: Any, **kwargs: Any) -> None:
        for key, value in dict(*args, **kwargs).items():
            dict.__setitem__(self, key, self._wrapped(key, value))
        self._outside.follow(self)

    setdefault = MutableMapping.setdefault
    __hash__ = TrackableDataStructure.__hash__


def _removes(name: str) -> Any:
    of_dict = getattr(dict, name)

    def method(self: DictWrapper, *args: Any) -> Any:
        found = of_dict(self, *args)
        self._outside.follow(self)
        return found

    method.__name__ = name
    return method


for _name in ("__delitem__", "pop", "popitem", "clear"):
    setattr(DictWrapper, _name, _removes(_name))


def _set_element(restored: ListWrapper, name: str, value: Any) -> None:
    """Puts an element where it was; what stood between, and was not tracked, is None."""
    restored.extend([None] * (int(name) - len(restored)))
    restored.append(value)


register_revived_type(
    "trackable_list_wrapper", lambda obj: isinstance(obj, ListWrapper),
    [VersionedTypeRegistration(lambda proto: ListWrapper(), 1, 1, 1, setter=_set_element)],
)  # fmt: skip
register_revived_type(
    "trackable_dict_wrapper", lambda obj: isinstance(obj, DictWrapper),
    [VersionedTypeRegistration(lambda proto: DictWrapper(), 1, 1, 1, setter=DictWrapper.__setitem__)],
)  # fmt: skip
