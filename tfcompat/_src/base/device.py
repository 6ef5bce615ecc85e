"""tf.DeviceSpec and device strings such as `/job:worker/task:1/device:GPU:0`.

A device string names any of job, replica, task, device type and index. A node's device is made by merging the strings
of the device scopes around it, so parsing and merging are cached by string.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from tfcompat._src.base.export import export


class _Parts(NamedTuple):
    job: str | None = None
    replica: int | None = None
    task: int | None = None
    device_type: str | None = None
    device_index: int | None = None

    def merged_with(self, override: _Parts) -> _Parts:
        return self._replace(**{name: part for name, part in override._asdict().items() if part is not None})

    def text(self) -> str:
        found = [f"/{key}:{value}" for key, value in zip(("job", "replica", "task"), self) if value is not None]
        if self.device_type is not None:
            found.append(f"/device:{self.device_type}:{'*' if self.device_index is None else self.device_index}")
        return "".join(found)


def _convert(name: str, value: Any) -> Any:
    """The value of one part as it is stored: str, int or None, with `cpu` and `gpu` in capitals."""
    if value is None:
        return None
    if name in ("replica", "task", "device_index"):
        return int(value)
    text = str(value)
    return text.upper() if name == "device_type" and text in ("cpu", "gpu") else text


@functools.lru_cache(maxsize=4096)
def _parse(spec: str | None) -> _Parts:
    """The parts that a device string names; ValueError where it is malformed."""
    found: dict[str, Any] = {}
    for piece in (spec or "").split("/"):
        key, *values = piece.split(":")
        if len(values) == 1 and key in ("job", "replica", "task"):
            found[key] = _convert(key, values[0])
            continue
        if len(values) <= 1 and key.upper() in ("CPU", "GPU"):
            values = [key.upper(), *values]
        elif len(values) != 2 or key != "device":
            if key:
                raise ValueError(f"Unknown attribute: '{key}' in '{spec}'")
            continue
        if "device_type" in found:
            raise ValueError(f"Cannot specify multiple device types: {spec}")
        found["device_type"] = _convert("device_type", values[0])
        if len(values) == 2 and values[1] != "*":
            found["device_index"] = int(values[1])
    return _Parts(**found)


@export("compat.v2.DeviceSpec")
class DeviceSpecV2:
    """A device, named in part or whole, that does not change.

    Arguments and attributes: `job` (str), `replica` (int), `task` (int), `device_type` (str such as "CPU" or "GPU"),
    `device_index` (int); each None where it is not said. Raises ValueError where a number is none.
    """

    __slots__ = ("_parts",)

    def __init__(
        self,
        job: str | None = None,
        replica: int | None = None,
        task: int | None = None,
        device_type: str | None = None,
        device_index: int | None = None,
    ) -> None:
        self._parts = _Parts(*map(_convert, _Parts._fields, (job, replica, task, device_type, device_index)))

    job = property(lambda self: self._parts.job)
    replica = property(lambda self: self._parts.replica)
    task = property(lambda self: self._parts.task)
    device_type = property(lambda self: self._parts.device_type)
    device_index = property(lambda self: self._parts.device_index)

    @classmethod
    def from_string(cls, spec: str | None) -> Any:
        """Parses a device string; ValueError where it is malformed."""
        return cls(*_parse(spec))

    def parse_from_string(self, spec: str | None) -> Any:
        """A new DeviceSpec of a device string."""
        return self.from_string(spec)

    def to_string(self) -> str:
        """The canonical device string."""
        return self._parts.text()

    def make_merged_spec(self, dev: DeviceSpecV2) -> Any:
        """A new spec with the parts of `dev`, and those of this one where `dev` says nothing."""
        return type(self)(*self._parts.merged_with(_parts_of(dev)))

    def replace(self, **kwargs: object) -> Any:
        """A new spec with some parts replaced; TypeError for a name that is no part."""
        return type(self)(**{**self._parts._asdict(), **kwargs})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.to_string() == other.to_string()

    def __hash__(self) -> int:
        return hash(self.to_string())


def _parts_of(dev: Any) -> _Parts:
    return _Parts(dev.job, dev.replica, dev.task, dev.device_type, dev.device_index)


def _settable(name: str) -> property:
    def setter(self: DeviceSpecV1, value: object) -> None:
        self._parts = self._parts._replace(**{name: _convert(name, value)})

    return property(getattr(DeviceSpecV2, name).fget, setter)


@export("DeviceSpec")
class DeviceSpecV1(DeviceSpecV2):
    """A device, named in part or whole, whose attributes may be set.

    Arguments and attributes: `job` (str), `replica` (int), `task` (int), `device_type` (str such as "CPU" or "GPU"),
    `device_index` (int); each None where it is not said. Raises ValueError where a number is none.
    """

    __slots__ = ()

    job = _settable("job")
    replica = _settable("replica")
    task = _settable("task")
    device_type = _settable("device_type")
    device_index = _settable("device_index")
    __hash__ = DeviceSpecV2.__hash__

    def parse_from_string(self, spec: str | None) -> DeviceSpecV1:
        """Replaces every part by those of a device string; returns self."""
        self._parts = _parse(spec)
        return self

    def merge_from(self, dev: DeviceSpecV2) -> None:
        """Takes over the parts that `dev` names."""
        self._parts = self._parts.merged_with(_parts_of(dev))


DeviceSpec = DeviceSpecV1


def is_device_spec(obj: object) -> bool:
    """Whether `obj` is a DeviceSpec of either kind."""
    return isinstance(obj, DeviceSpecV2)


@functools.lru_cache(maxsize=4096)
def _canonical_text(device: str) -> str:
    return _parse(device).text()


def canonical_name(device: Any) -> str:
    """The canonical string of a DeviceSpec, a device string or None; ValueError where the string is malformed."""
    if device is None:
        return ""
    return device.to_string() if is_device_spec(device) else _canonical_text(device)


def check_valid(spec: str) -> None:
    """Raises ValueError where a device string is malformed."""
    _parse(spec)


@functools.lru_cache(maxsize=4096)
def merge(base: str, override: str) -> str:
    """The canonical string with the parts of `override`, and those of `base` where `override` says nothing."""
    return _parse(base).merged_with(_parse(override)).text()


class MergeDevice:
    """A device function that adds to a node's device the parts of `spec` that the node does not name itself."""

    __slots__ = ("_spec",)

    def __init__(self, spec: object) -> None:
        self._spec = canonical_name(spec)

    def __call__(self, node_def: Any) -> str:
        return merge(self._spec, node_def.device or "")

    def __repr__(self) -> str:
        return f"{super().__repr__()} (spec: {self._spec})"


def merge_device(spec: object) -> MergeDevice:
    """A device function for `tf.device`: the parts of `spec` where an inner scope says nothing."""
    return MergeDevice(spec)
