"""Trackable objects: named dependencies between objects, the edges of the object graph that a checkpoint saves and restores.

A restore may come before a dependency exists; then its position in the checkpoint is deferred until `_track_trackable` adds it.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from tfcompat._src.base.export import export

OBJECT_GRAPH_PROTO_KEY = "_CHECKPOINTABLE_OBJECT_GRAPH"
VARIABLE_VALUE_KEY = "VARIABLE_VALUE"
OBJECT_CONFIG_JSON_KEY = "OBJECT_CONFIG_JSON"


class TrackableReference(NamedTuple):
    """A dependency: its local name in the object that has it, and the object on which that depends."""

    name: str
    ref: Any


def no_automatic_dependency_tracking(method: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates a method so that attributes which it sets do not become dependencies."""

    @functools.wraps(method)
    def wrapper(self: object, *args: object, **kwargs: object) -> Any:
        with no_automatic_dependency_tracking_scope(self):
            return method(self, *args, **kwargs)

    return wrapper


@contextlib.contextmanager
def no_automatic_dependency_tracking_scope(obj: object) -> Iterator[None]:
    """Keeps attributes that are set on `obj` inside the block from becoming dependencies."""
    # object.__setattr__, as the class may override __setattr__ to track.
    before = getattr(obj, "_self_setattr_tracking", True)
    object.__setattr__(obj, "_self_setattr_tracking", False)
    try:
        yield
    finally:
        object.__setattr__(obj, "_self_setattr_tracking", before)


@export("contrib.checkpoint.CheckpointableBase")
class Trackable:
    """An object with named dependencies; `_gather_saveables_for_checkpoint` returns its own values."""

    _self_setattr_tracking = True
    _self_unconditional_checkpoint_dependencies: list[TrackableReference]
    _self_unconditional_dependency_names: dict[str, Any]
    _self_unconditional_deferred_dependencies: dict[str, list[Any]]
    _self_update_uid: int
    _self_name_based_restores: set[Any]

    @property
    def _setattr_tracking(self) -> bool:
        return self._self_setattr_tracking

    @_setattr_tracking.setter
    def _setattr_tracking(self, value: bool) -> None:
        object.__setattr__(self, "_self_setattr_tracking", value)

    def _maybe_initialize_trackable(self) -> None:
        """Makes the fields on first use: subclasses need not call `Trackable.__init__`, and their `__setattr__` may track."""
        if "_self_unconditional_checkpoint_dependencies" in self.__dict__:
            return
        for name, value in (
            ("_self_unconditional_checkpoint_dependencies", []), ("_self_unconditional_dependency_names", {}),
            ("_self_unconditional_deferred_dependencies", {}), ("_self_update_uid", -1), ("_self_name_based_restores", set()),
        ):  # fmt: skip
            object.__setattr__(self, name, value)

    @property
    def _unconditional_checkpoint_dependencies(self) -> list[TrackableReference]:
        self._maybe_initialize_trackable()
        return self._self_unconditional_checkpoint_dependencies

    @property
    def _unconditional_dependency_names(self) -> dict[str, Any]:
        self._maybe_initialize_trackable()
        return self._self_unconditional_dependency_names

    @property
    def _checkpoint_dependencies(self) -> list[TrackableReference]:
        """The dependencies that a save would include now."""
        return self._unconditional_checkpoint_dependencies

    @property
    def _deferred_dependencies(self) -> dict[str, list[Any]]:
        """Checkpoint positions that wait for a dependency, by its name."""
        self._maybe_initialize_trackable()
        return self._self_unconditional_deferred_dependencies

    @property
    def _update_uid(self) -> int:
        self._maybe_initialize_trackable()
        return self._self_update_uid

    @_update_uid.setter
    def _update_uid(self, value: int) -> None:
        object.__setattr__(self, "_self_update_uid", value)

    @property
    def _name_based_restores(self) -> set[Any]:
        self._maybe_initialize_trackable()
        return self._self_name_based_restores

    # ---- what a SavedModel records ----

    @property
    def _object_identifier(self) -> str:
        return "_generic_user_object"

    @property
    def _tracking_metadata(self) -> str:
        return ""

    def _list_extra_dependencies_for_serialization(self, serialization_cache: dict[object, object]) -> dict[str, object]:
        """Returns further dependencies by name that a SavedModel includes and a checkpoint does not.

        `serialization_cache` is shared by all objects of one save.
        """
        return {}

    def _list_functions_for_serialization(self, serialization_cache: dict[object, object]) -> dict[str, object]:
        """Returns tf.functions by name that a SavedModel includes, besides those that are attributes."""
        return {}

    def _no_dependency(self, value: object) -> Any:
        return value

    # ---- dependencies and their restoration ----

    def _lookup_dependency(self, name: str) -> Any:
        """Returns the dependency of that name, or None."""
        return self._unconditional_dependency_names.get(name)

    def _track_trackable(self, trackable: object, name: str, overwrite: bool = False) -> Any:
        """Adds `trackable` as a dependency and returns it; restores it from checkpoints that wait for this name.

        Raises:
          TypeError: it is not trackable. ValueError: another object has the name, and `overwrite` is False.
        """
        if not isinstance(trackable, Trackable):
            raise TypeError(f"Trackable._track_trackable() passed type {type(trackable)}, not a Trackable.")
        known = self._lookup_dependency(name)
        reference = TrackableReference(name, trackable)
        dependencies = self._unconditional_checkpoint_dependencies
        # Setting the same object again is allowed and changes nothing.
        if known is None:
            dependencies.append(reference)
            self._handle_deferred_dependencies(name=name, trackable=trackable)
        elif known is not trackable:
            if not overwrite:
                raise ValueError(
                    f"Called Trackable._track_trackable() with name='{name}', but a Trackable with this name is already declared "
                    "as a dependency. Names must be unique (or overwrite=True)."
                )
            dependencies[:] = [reference if old.name == name else old for old in dependencies]
        self._unconditional_dependency_names[name] = trackable
        return trackable

    def _handle_deferred_dependencies(self, name: str, trackable: Any) -> None:
        """Restores a new dependency from the checkpoints that wait for it, the latest restore first, which wins."""
        # A later restore has the greater uid; positions of earlier ones find the object up to date and leave it.
        waiting = self._deferred_dependencies.pop(name, ())
        for position in sorted(waiting, key=lambda p: p.checkpoint.restore_uid, reverse=True):
            position.restore(trackable)
        for checkpoint in sorted(self._name_based_restores, key=lambda c: c.restore_uid, reverse=True):
            trackable._name_based_attribute_restore(checkpoint)

    def _name_based_attribute_restore(self, checkpoint: Any) -> None:
        """Restores this object from a checkpoint of variable names, unless a later restore has set it already."""
        self._name_based_restores.add(checkpoint)
        if self._update_uid < checkpoint.restore_uid:
            checkpoint.eager_restore(self)
            self._update_uid = checkpoint.restore_uid

    def _restore_from_checkpoint_position(self, checkpoint_position: Any) -> list[Any]:
        """Restores this object and its dependencies, recursively; returns the restore operations."""
        restored: list[Any] = checkpoint_position.restore_tree()
        return restored

    def _gather_saveables_for_checkpoint(self) -> dict[str, Any]:
        """Returns the object's own values by attribute name: saveable objects, or functions of `name` that make them."""
        return {}

    def _add_variable_with_custom_getter(
        self, name: str, shape: Any = None, dtype: Any = "float32", initializer: Any = None, getter: Any = None,
        overwrite: bool = False, **kwargs_for_getter: Any,
    ) -> Any:  # fmt: skip
        """Returns a new variable, made by `getter` and added as a dependency."""
        made = getter(name=name, shape=shape, dtype=dtype, initializer=initializer, **kwargs_for_getter)
        # A getter may return an object that is not trackable, such as a PartitionedVariable.
        if overwrite and not isinstance(made, Trackable):
            return made
        return self._track_trackable(made, name=name, overwrite=overwrite)
