"""Attributes that are dependencies: AutoTrackable, and lists and dicts whose elements are tracked."""

from __future__ import annotations

import collections
import copy
import sys
from collections.abc import Iterable, Iterator, MutableMapping, MutableSequence, Sequence
from collections.abc import Mapping as AbstractMapping
from typing import TYPE_CHECKING, Any

from tfcompat._src.base.export import export
from tfcompat._src.base.trackable import Trackable, TrackableReference
from tfcompat._src.train.revived_types import VersionedTypeRegistration, register_revived_type
from tfcompat._src.train.trackable_layers import LayerCollection
from tfcompat._src.variables.variable import Variable

if TYPE_CHECKING:
    from typing import Self


@export("contrib.checkpoint.NoDependency")
class NoDependency:
    """Wraps a value that, set as an attribute, is no dependency; the attribute is the value itself."""

    def __init__(self, value: Any) -> None:
        self.value = value


def wrap_or_unwrap(value: object) -> Any:
    """Wraps a list, dict or OrderedDict (not their subclasses) in one that tracks its elements, and unwraps a NoDependency."""
    if isinstance(value, NoDependency):
        return value.value
    if isinstance(value, Trackable):
        return value
    if type(value) is dict or type(value) is collections.OrderedDict:
        return _DictWrapper(value)
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
        try:
            if getattr(self, name) is value:  # also where a property without a setter has the value
                return
        except AttributeError:
            pass  # the attribute is new
        if getattr(self, "_self_setattr_tracking", True):
            value = sticky_attribute_assignment(self, name, value)
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        delete_tracking(self, name)
        super().__delattr__(name)

    def _no_dependency(self, value: object) -> Any:
        return NoDependency(value)


def delete_tracking(obj: Any, name: str) -> None:
    """Takes a dependency out, where there is one of that name."""
    obj._unconditional_dependency_names.pop(name, None)
    dependencies = obj._unconditional_checkpoint_dependencies
    dependencies[:] = [d for d in dependencies if d.name != name]


class NotTrackable:
    """Marks a class whose objects cannot be saved in a checkpoint of objects."""


class _UntrackableError(ValueError):
    """A value that a List or Mapping cannot hold."""

    def __init__(self, value: object) -> None:
        super().__init__(
            f"Only trackable objects (such as Layers or Optimizers) may be stored in a List object. Got {value}, which does "
            "not inherit from Trackable."
        )


class TrackableDataStructure(LayerCollection, Trackable):
    """A collection whose trackable elements are dependencies. It compares and hashes by identity."""

    def __init__(self) -> None:
        self._self_trainable = True
        self._self_extra_variables = []

    def _named_values(self) -> Iterable[tuple[str, Any]]:
        """(name, element) of the elements that a SavedModel keeps though they are not trackable: tf.functions."""
        return ()

    def _track_value(self, value: Any, name: str) -> Any:
        """Makes an element a dependency and returns it as the collection keeps it.

        Raises:
          ValueError: it is not trackable.
        """
        value = sticky_attribute_assignment(self, name, value)
        if isinstance(value, Variable):
            self._self_extra_variables.append(value)
        if not isinstance(value, Trackable):
            raise _UntrackableError(value)
        if hasattr(value, "_use_resource_variables"):  # a layer of tf.layers
            value._use_resource_variables = True
        return value

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other


@export("contrib.checkpoint.List")
class List(TrackableDataStructure, Sequence):
    """A list to append to; its elements are dependencies named by their positions.

    Args:
      *args, **kwargs: those of `list`.

    Raises:
      ValueError: an element is not trackable.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        self._storage = self._make_storage(*args, **kwargs)
        for i, value in enumerate(self._storage):
            self._storage[i] = self._track_value(value, str(i))

    def _make_storage(self, *args: Any, **kwargs: Any) -> Any:
        return list(*args, **kwargs)

    @property
    def _values(self) -> Iterable[Any]:
        return self

    def copy(self) -> Self:
        """A new collection of the same elements."""
        return copy.copy(self)

    def __copy__(self) -> Any:
        return type(self)(copy.copy(self._storage))

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return type(self)(copy.deepcopy(self._storage, memo))

    def append(self, value: Any) -> None:
        """Adds an element; ValueError where it is not trackable."""
        self._storage.append(self._track_value(value, str(len(self._storage))))

    def extend(self, values: Iterable[Any]) -> None:
        """Adds elements; ValueError where one is not trackable."""
        for value in values:
            self.append(value)

    def __iadd__(self, values: Iterable[Any]) -> Self:
        self.extend(values)
        return self

    def __add__(self, other: object) -> Self:
        return type(self)(self._storage + getattr(other, "_storage", other))

    def __radd__(self, other: object) -> Self:
        return type(self)(other) + self

    def __mul__(self, count: int) -> Self:
        return type(self)(self._storage * count)

    __rmul__ = __mul__

    def __imul__(self, count: int) -> Any:
        if count <= 0:
            raise ValueError(f"List only supports append, multiplying in place by {count} removes elements.")
        self.extend(list(self._storage) * (count - 1))
        return self

    def __getitem__(self, key: object) -> Any:
        return self._storage[key]

    def __len__(self) -> int:
        return len(self._storage)

    def __repr__(self) -> str:
        return f"List({self._storage!r})"

    def __sizeof__(self) -> int:
        return super().__sizeof__() + sys.getsizeof(self._storage)


@export("contrib.checkpoint.Mapping")
class Mapping(TrackableDataStructure, AbstractMapping):
    """A dict to add to; its values are dependencies named by their keys, which are str.

    Args:
      *args, **kwargs: those of `dict`.

    Raises:
      TypeError: a key is no str. ValueError: a value is not trackable, or a key has another value already.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        self._storage: dict[str, Any] = {}
        self.update(*args, **kwargs)

    @property
    def _values(self) -> Iterable[Any]:
        return _in_order_of_keys(self._storage)

    def __copy__(self) -> Mapping:
        return type(self)(copy.copy(self._storage))

    def __deepcopy__(self, memo: dict[int, Any]) -> Mapping:
        return type(self)(copy.deepcopy(self._storage, memo))

    def __setitem__(self, key: str, value: object) -> None:
        if not isinstance(key, str):
            raise TypeError(f"Mapping accepts only string keys, but got a key {key!r}.")
        value = self._track_value(value, key)
        if self._storage.setdefault(key, value) is not value:
            raise ValueError(
                f"Mappings are an append-only data structure. Tried to overwrite the key '{key}' with value {value}, but it already contains {self._storage[key]}"
            )

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

    def __repr__(self) -> str:
        return f"Mapping({self._storage!r})"


def _in_order_of_keys(mapping: AbstractMapping) -> list[Any]:
    return [mapping[key] for key in sorted(mapping)]


_NOT_CHECKPOINTED = (
    "\n\nIf you don't need this {kind} checkpointed, wrap it in a tf.contrib.checkpoint.NoDependency object; it will be "
    "automatically un-wrapped and subsequently ignored."
)


class _Snapshot:
    """What a wrapper last knew of the list or dict that it wraps, to notice changes made past the wrapper.

    Args:
      wrapped: the list or dict.
    """

    def __init__(self, wrapped: Any) -> None:
        self._wrapped = wrapped
        self.differs = False
        self.take()

    def take(self) -> None:
        """Accepts what the wrapper has changed; a difference once seen stays."""
        if not self.differs:
            self._known = self._wrapped.copy()

    def check(self) -> bool:
        """Whether the list or dict has ever changed past the wrapper."""
        self.differs = self.differs or self._wrapped != self._known
        return self.differs

    def check_can_be_saved(self, described: str, kind: str) -> None:
        """ValueError where there are such changes."""
        if self.check():
            raise ValueError(
                f"Unable to save the object {described}. The wrapped {kind} was modified outside the wrapper (its final value "
                f"was {self._wrapped}, its value when a checkpoint dependency was added was {self._known}), which breaks "
                "restoration on object creation." + _NOT_CHECKPOINTED.format(kind=kind)
            )


class ListWrapper(List, MutableSequence, list):
    """A list set as an attribute. It changes as lists do, but only one that has grown at its end can be saved.

    The elements are those of the original list, which changes with the wrapper; the `list` that is a base, for
    `isinstance`, stays empty.

    Args:
      wrapped_list: the original list.
    """

    def __init__(self, wrapped_list: list[Any]) -> None:
        self._non_append_mutation = False
        super().__init__(wrapped_list)
        self._snapshot = _Snapshot(self._storage)

    def _make_storage(self, wrapped_list: list[Any]) -> list[Any]:
        return wrapped_list

    def _like(self, copied: ListWrapper) -> ListWrapper:
        copied._non_append_mutation = self._non_append_mutation
        copied._snapshot.differs = self._snapshot.differs
        return copied

    def __copy__(self) -> ListWrapper:
        return self._like(super().__copy__())

    def __deepcopy__(self, memo: dict[int, Any]) -> ListWrapper:
        return self._like(super().__deepcopy__(memo))

    def __reduce_ex__(self, protocol: object) -> Any:
        return type(self), (self._storage,)

    @property
    def _checkpoint_dependencies(self) -> list[TrackableReference]:
        described = f"{self!r} (a list wrapper constructed to track trackable TensorFlow objects)"
        if self._non_append_mutation:
            raise ValueError(
                f"Unable to save the object {described}. A list element was replaced (__setitem__, __setslice__), deleted "
                "(__delitem__, __delslice__), or moved (sort). In order to support restoration on object creation, tracking "
                "is exclusively for append-only data structures." + _NOT_CHECKPOINTED.format(kind="list")
            )
        self._snapshot.check_can_be_saved(described, "list")
        return super()._checkpoint_dependencies

    def _track_value(self, value: object, name: str) -> Any:
        kept = wrap_or_unwrap(value)
        if isinstance(value, NoDependency) or not isinstance(kept, Trackable):
            return kept
        return super()._track_value(kept, name)

    def _named_values(self) -> Iterable[tuple[str, Any]]:
        return [(str(i), value) for i, value in enumerate(self._storage)]

    def append(self, value: object) -> None:
        """Adds an element, which a checkpoint that waits for it restores."""
        self._snapshot.check()
        super().append(value)
        self._snapshot.take()

    def __imul__(self, count: int) -> ListWrapper:
        if count > 0:
            return super().__imul__(count)
        self._storage *= count
        return self

    def __setitem__(self, key: Any, value: Any) -> None:
        self._snapshot.check()
        if isinstance(key, slice):
            self._set_slice(key, value)
        else:
            self._non_append_mutation |= isinstance(self._storage[key], Trackable)
            self._storage[key] = self._track_value(value, str(key))
        self._snapshot.take()

    def _set_slice(self, key: slice, values: Iterable[Any]) -> None:
        before = list(self._storage)
        self._storage[key] = values
        self._non_append_mutation |= any(isinstance(value, Trackable) for value in before)
        for i, value in enumerate(self._storage):
            if value is not None and (i >= len(before) or value != before[i]):
                self._storage[i] = self._track_value(value, str(i))

    def __delitem__(self, key: object) -> None:
        self._non_append_mutation = True
        del self._storage[key]

    def insert(self, index: int, obj: object) -> None:
        self._non_append_mutation = True
        self._storage.insert(index, obj)

    def sort(self, **kwargs: Any) -> None:
        """Sorts the elements; the arguments are those of `list.sort`."""
        self._non_append_mutation = True
        self._storage.sort(**kwargs)

    def __eq__(self, other: object) -> bool:
        return self._storage == getattr(other, "_storage", other)

    def __ne__(self, other: object) -> bool:
        return self._storage != getattr(other, "_storage", other)

    def __lt__(self, other: object) -> bool:
        return self._storage < getattr(other, "_storage", other)

    def __le__(self, other: object) -> bool:
        return self._storage <= getattr(other, "_storage", other)

    def __gt__(self, other: object) -> bool:
        return self._storage > getattr(other, "_storage", other)

    def __ge__(self, other: object) -> bool:
        return self._storage >= getattr(other, "_storage", other)

    def __hash__(self) -> int:
        raise TypeError("unhashable type: 'ListWrapper'")

    def __repr__(self) -> str:
        return f"ListWrapper({self._storage!r})"


class _DictWrapper(TrackableDataStructure):
    """A dict set as an attribute; its trackable values are dependencies named by their keys, which must be str.

    A proxy: `isinstance` takes it for the type of the original, and what it has no method for is done by the original.

    Args:
      wrapped_dict: the original dict, or its (key, value) pairs.
    """

    def __init__(self, wrapped_dict: Any = None) -> None:
        if not isinstance(wrapped_dict, AbstractMapping):
            wrapped_dict = dict(wrapped_dict or ())
        object.__setattr__(self, "__wrapped__", wrapped_dict)
        super().__init__()
        self._self_non_string_key = False
        for key, value in wrapped_dict.items():
            wrapped_dict[key] = self._tracked(key, value)
        self._self_snapshot = _Snapshot(wrapped_dict)

    @property
    def __class__(self) -> Any:
        return type(self.__wrapped__)

    def __getattr__(self, name: str) -> Any:
        if name == "__wrapped__":  # not set yet
            raise AttributeError(name)
        return getattr(self.__wrapped__, name)

    def __setattr__(self, name: str, value: object) -> None:
        if name.startswith("_self_") or hasattr(type(self), name):
            object.__setattr__(self, name, value)
        else:
            setattr(self.__wrapped__, name, value)

    def __dir__(self) -> list[str]:
        return dir(self.__wrapped__)

    def _like(self, copied: _DictWrapper) -> _DictWrapper:
        copied._self_non_string_key = self._self_non_string_key
        copied._self_snapshot.differs = self._self_snapshot.differs
        return copied

    def copy(self) -> _DictWrapper:
        """A wrapper of a copy of the original."""
        return copy.copy(self)

    def __copy__(self) -> _DictWrapper:
        return self._like(_DictWrapper(copy.copy(self.__wrapped__)))

    def __deepcopy__(self, memo: dict[int, Any]) -> _DictWrapper:
        return self._like(_DictWrapper(copy.deepcopy(self.__wrapped__, memo)))

    def __reduce_ex__(self, protocol: object) -> Any:
        return type(self.__wrapped__), (self.__wrapped__,)

    @property
    def _values(self) -> Iterable[Any]:
        return _in_order_of_keys(self.__wrapped__)

    @property
    def _checkpoint_dependencies(self) -> list[TrackableReference]:
        described = f"{self} (a dictionary wrapper constructed automatically on attribute assignment)"
        if self._self_non_string_key:
            raise ValueError(
                f"Unable to save the object {described}. The wrapped dictionary contains a non-string key which maps to a "
                "trackable object or mutable data structure." + _NOT_CHECKPOINTED.format(kind="dictionary")
            )
        self._self_snapshot.check_can_be_saved(described, "dictionary")
        return super()._checkpoint_dependencies

    def _named_values(self) -> Iterable[tuple[str, Any]]:
        return [(str(key), value) for key, value in self.__wrapped__.items()]

    def _tracked(self, key: object, value: object) -> Any:
        kept = wrap_or_unwrap(value)
        if isinstance(value, NoDependency) or not isinstance(kept, Trackable):
            return kept
        self._self_non_string_key |= not isinstance(key, str)
        return self._track_value(kept, key if isinstance(key, str) else "-non_string_key")

    def __setitem__(self, key: object, value: object) -> None:
        self._self_snapshot.check()
        self.__wrapped__[key] = self._tracked(key, value)
        self._self_snapshot.take()

    def __delitem__(self, key: object) -> None:
        self._self_snapshot.check()
        del self.__wrapped__[key]
        self._self_snapshot.take()

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Sets entries as `dict.update` does."""
        for key, value in dict(*args, **kwargs).items():
            self[key] = value

    def __repr__(self) -> str:
        return f"DictWrapper({self.__wrapped__!r})"

    def __hash__(self) -> int:
        raise TypeError("unhashable type: 'DictWrapper'")

    def __eq__(self, other: Any) -> bool:
        return bool(self.__wrapped__ == other)


def _by_original(name: str) -> Any:
    def method(self: _DictWrapper, *args: Any) -> Any:
        return getattr(self.__wrapped__, name)(*args)

    method.__name__ = name
    return method


for _name in ("getitem", "len", "iter", "reversed", "contains", "str", "ne", "lt", "le", "gt", "ge", "or", "ror", "sizeof"):
    setattr(_DictWrapper, f"__{_name}__", _by_original(f"__{_name}__"))
MutableMapping.register(_DictWrapper)


def _set_element(restored: ListWrapper, name: str, value: object) -> None:
    """Puts an element where it was; what stood between, and was not tracked, is None."""
    restored.extend([None] * (int(name) + 1 - len(restored)))
    restored[int(name)] = value


register_revived_type(
    "trackable_list_wrapper", lambda obj: isinstance(obj, ListWrapper),
    [VersionedTypeRegistration(lambda proto: ListWrapper([]), 1, 1, 1, setter=_set_element)],
)  # fmt: skip
register_revived_type(
    "trackable_dict_wrapper", lambda obj: isinstance(obj, _DictWrapper),
    [VersionedTypeRegistration(lambda proto: _DictWrapper(), 1, 1, 1, setter=_DictWrapper.__setitem__)],
)  # fmt: skip
