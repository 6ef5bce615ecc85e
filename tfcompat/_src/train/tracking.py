"""tensorflow.python.training.tracking.tracking: files as dependencies, and properties computed once for each object."""

from __future__ import annotations

import contextlib
import functools
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.trackable import Trackable, no_automatic_dependency_tracking
from tfcompat._src.eager.mode import eager_mode
from tfcompat._src.graph.eager_tensor import EagerTensor
from tfcompat._src.graph.scopes import device, executing_eagerly, get_default_graph, init_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.train.trackable_data_structures import AutoTrackable, NotTrackable, delete_tracking

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

__all__ = [
    "AutoTrackable", "CapturableResource", "CapturableResourceDeleter", "NotTrackable", "ResourceTracker", "TrackableAsset", "TrackableResource",
    "cached_per_instance", "delete_tracking", "no_automatic_dependency_tracking", "resource_tracker_scope",
]  # fmt: skip


class ResourceTracker:
    """Collects the resources that are made inside `resource_tracker_scope`."""

    def __init__(self) -> None:
        self._resources: list[Any] = []

    @property
    def resources(self) -> list[Any]:
        return self._resources

    def add_resource(self, resource: object) -> None:
        self._resources.append(resource)


_trackers: list[ResourceTracker] = []


@contextlib.contextmanager
def resource_tracker_scope(resource_tracker: ResourceTracker) -> Iterator[None]:
    """Inside, a tracker is told of each TrackableResource that is made."""
    _trackers.append(resource_tracker)
    try:
        yield
    finally:
        _trackers.remove(resource_tracker)


class CapturableResourceDeleter:
    """Releases a resource when it is deleted itself, in the mode or graph in which it was made.

    Args:
      destroy_resource_fn: releases the resource; None for nothing to do.
    """

    def __init__(self, destroy_resource_fn: Callable[[], Any] | None = None) -> None:
        self._destroy_resource = destroy_resource_fn
        self._destruction_context = eager_mode if executing_eagerly() else get_default_graph().as_default

    def destroy_resource(self) -> Any:
        """Releases the resource."""
        return self._destroy_resource() if self._destroy_resource else None

    def __del__(self) -> None:
        if self._destroy_resource:
            with self._destruction_context():
                self._destroy_resource()


class CapturableResource(Trackable):
    """An object with a resource handle, which is made when it is first read.

    Args:
      device: where the resource is.
    """

    def __init__(self, device: str = "") -> None:
        self._resource_handle: Tensor | None = None
        self._resource_device = device

    def _create_resource(self) -> Tensor:
        """The handle of a new resource."""
        raise NotImplementedError("TrackableResource._create_resource not implemented.")

    def _initialize(self) -> Any:
        """Fills the resource."""

    def _destroy_resource(self) -> None:
        """Releases what the resource holds."""

    @property
    def resource_handle(self) -> Tensor:
        if self._resource_handle is None:
            with device(self._resource_device):
                self._resource_handle = self._create_resource()
        return self._resource_handle


class TrackableResource(CapturableResource):
    """A CapturableResource that the open `resource_tracker_scope` blocks are told of."""

    def __init__(self, device: str = "") -> None:
        for tracker in _trackers:
            tracker.add_resource(self)
        super().__init__(device=device)


class TrackableAsset(Trackable):
    """A file that a SavedModel of the object takes with it.

    Args:
      path: the path of the file, a string or a string Tensor.
    """

    def __init__(self, path: TensorLike) -> None:
        with init_scope(), device("CPU"):
            self._path = convert_to_tensor(path, dtype=dtypes.string, name="asset_path")
        if isinstance(self._path, EagerTensor):
            self._path.stays_captured = True

    @property
    def asset_path(self) -> Tensor:
        """The path, a scalar string Tensor."""
        return self._path


def cached_per_instance(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Decorates a function of an object: computes it once for each object, for as long as the object lives."""
    cache: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()

    @functools.wraps(f)
    def cached(item: object) -> Any:
        found = cache.get(item)
        if found is None:
            cache[item] = found = f(item)
        return found

    cached.cache = cache  # type: ignore[attr-defined]
    return cached
