"""Types of objects in SavedModels that come back as themselves: a registry by identifier and version."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tfcompat._src.proto import messages


class VersionedTypeRegistration:
    """One version of a type.

    Args:
      object_factory: function of the SavedUserObject message that makes the object.
      version: number that this program writes.
      min_producer_version: versions below are not read.
      min_consumer_version: programs with a version below shall not read what this one writes.
      bad_consumers: further versions that shall not read it.
      setter: function (object, name, value) that sets its attributes.
    """

    def __init__(
        self, object_factory: Callable[[Any], Any], version: int, min_producer_version: int, min_consumer_version: int,
        bad_consumers: Iterable[int] | None = None, setter: Callable = setattr,
    ) -> None:  # fmt: skip
        self.setter, self.version = setter, version
        self.identifier: str | None = None
        self._object_factory = object_factory
        self._min_producer_version, self._min_consumer_version = min_producer_version, min_consumer_version
        self._bad_consumers = list(bad_consumers or ())

    def to_proto(self) -> Any:
        """The SavedUserObject message."""
        version = messages.VersionDef(
            producer=self.version, min_consumer=self._min_consumer_version, bad_consumers=self._bad_consumers
        )
        return messages.SavedUserObject(identifier=self.identifier, version=version)

    def from_proto(self, proto: object) -> Any:
        """The object of a SavedUserObject message."""
        return self._object_factory(proto)

    def should_load(self, proto: Any) -> bool:
        """Whether this version reads the message."""
        return (
            proto.identifier == self.identifier
            and self.version >= proto.version.min_consumer
            and proto.version.producer >= self._min_producer_version
            and self.version not in proto.version.bad_consumers
        )


_REGISTRY: dict[str, tuple[Callable[[Any], bool], list[VersionedTypeRegistration]]] = {}


def register_revived_type(
    identifier: str, predicate: Callable[[Any], bool], versions: list[VersionedTypeRegistration]
) -> None:
    """Registers a type; its objects are written in the highest version.

    Args:
      identifier: unique name.
      predicate: whether an object is of the type.
      versions: registrations of different version numbers.

    Raises:
      AssertionError: no version, one twice, or the identifier is taken.
    """
    if not versions:
        raise AssertionError("Need at least one version of a registered type.")
    numbers = [registration.version for registration in versions]
    for number in numbers:
        if numbers.count(number) > 1:
            raise AssertionError(f"Got multiple registrations with version {number} for type {identifier}")
    if identifier in _REGISTRY:
        raise AssertionError(f"Duplicate registrations for type {identifier}")
    for registration in versions:
        registration.identifier = identifier
    _REGISTRY[identifier] = predicate, sorted(versions, key=lambda registration: -registration.version)


def serialize(obj: object) -> Any:
    """The SavedUserObject message of an object of a registered type, else None."""
    return next((versions[0].to_proto() for predicate, versions in _REGISTRY.values() if predicate(obj)), None)


def deserialize(proto: Any) -> tuple[Any, Callable] | None:
    """(object, setter of its attributes) of a message that a registered version reads, else None."""
    _, versions = _REGISTRY.get(proto.identifier, (None, ()))
    return next(((v.from_proto(proto), v.setter) for v in versions if v.should_load(proto)), None)


def registered_identifiers() -> Iterable[str]:
    """The identifiers of all registered types."""
    return _REGISTRY.keys()
