"""tf.DeviceSpec and device strings such as `/job:worker/task:1/device:GPU:0`.

A device string names any of job, replica, task, device type and index. A node's device is the merger of the strings of the device
scopes around it, so every node needs parsing and merging; both are cached by string.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from tfcompat._src.base.export import export


class _Parts(NamedTuple):
    """The parts of a device string; None for a part that it does not name."""

    job: str | None = None
    replica: int | None = None
    task: int | None = None
    device_type: str | None = None
    device_index: int | None = None

    def merged_with(self, override: _Parts) -> _Parts:
        """Returns the parts of `override`, and those of this one that `override` does not name."""
        return self._replace(**{name: part for name, part in override._asdict().items() if part is not None})

    def text(self) -> str:
        """Returns the canonical device string."""
        pieces = [f"/{key}:{value}" for key, value in zip(("job", "replica", "task"), self) if value is not None]
        if self.device_type is not None:
            pieces.append(f"/device:{self.device_type}:{'*' if self.device_index is None else self.device_index}")
        return "".join(pieces)


def _convert(name: str, value: Any) -> Any:
    """Converts the value of one part to str, int or None; `cpu` and `gpu` become upper case."""
    if value is None:
        return None
    if name in ("replica", "task", "device_index"):
        return int(value)
    text = str(value)
    return text.upper() if name == "device_type" and text in ("cpu", "gpu") else text


@functools.lru_cache(maxsize=4096)
def _parse(spec: str | None) -> _Parts:
    """Parses a device string; raises ValueError if it is malformed."""
    # Accepts what 1.15 accepts: "/job:a", "/device:GPU:0", and the old forms "/gpu:0", "/CPU".
    parts: dict[str, Any] = {}
    for piece in (spec or "").split("/"):
        # "job:a" has one value, "device:GPU:0" two, "gpu:0" and "gpu" are forms of old programs.
        key, *values = piece.split(":")
        if len(values) == 1 and key in ("job", "replica", "task"):
            parts[key] = _convert(key, values[0])
            continue
        if len(values) <= 1 and key.upper() in ("CPU", "GPU"):
            values = [key.upper(), *values]
        elif len(values) != 2 or key != "device":
            if key:
                raise ValueError(f"Unknown attribute: '{key}' in '{spec}'")
            continue
        if "device_type" in parts:
            raise ValueError(f"Cannot specify multiple device types: {spec}")
        parts["device_type"] = _convert("device_type", values[0])
        if len(values) == 2 and values[1] != "*":
            parts["device_index"] = int(values[1])
    return _Parts(**parts)


# ---- DeviceSpec ----


@export("compat.v2.DeviceSpec")
class DeviceSpecV2:
    """An immutable, full or partial specification of a device.

    Arguments and attributes: `job` (str), `replica` (int), `task` (int), `device_type` (str such as "CPU" or "GPU"),
    `device_index` (int); None for parts that are not specified. Raises ValueError if a number does not convert to int.
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
        """Returns the spec of a device string; raises ValueError if it is malformed."""
        return cls(*_parse(spec))

    def parse_from_string(self, spec: str | None) -> Any:
        """Returns a new spec of a device string; this one stays unchanged."""
        return self.from_string(spec)

    def to_string(self) -> str:
        """Returns the canonical device string."""
        return self._parts.text()

    def make_merged_spec(self, dev: DeviceSpecV2) -> Any:
        """Returns a new spec with the parts of `dev`, and those of this one that `dev` does not specify."""
        return type(self)(*self._parts.merged_with(_parts_of(dev)))

    def replace(self, **kwargs: object) -> Any:
        """Returns a new spec with some parts replaced; raises TypeError for an unknown part."""
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
    """A full or partial specification of a device, whose attributes can be set.

    Arguments and attributes: `job` (str), `replica` (int), `task` (int), `device_type` (str such as "CPU" or "GPU"),
    `device_index` (int); None for parts that are not specified. Raises ValueError if a number does not convert to int.
    """

    __slots__ = ()

    job = _settable("job")
    replica = _settable("replica")
    task = _settable("task")
    device_type = _settable("device_type")
    device_index = _settable("device_index")
    __hash__ = DeviceSpecV2.__hash__

    def parse_from_string(self, spec: str | None) -> DeviceSpecV1:
        """Replaces all parts with those of a device string; returns self."""
        self._parts = _parse(spec)
        return self

    def merge_from(self, dev: DeviceSpecV2) -> None:
        """Replaces the parts that `dev` specifies."""
        self._parts = self._parts.merged_with(_parts_of(dev))


DeviceSpec = DeviceSpecV1


def is_device_spec(obj: object) -> bool:
    """Returns whether `obj` is a DeviceSpec of either version."""
    return isinstance(obj, DeviceSpecV2)


# ---- device strings ----


@functools.lru_cache(maxsize=4096)
def _canonical_text(device: str) -> str:
    return _parse(device).text()


def canonical_name(device: Any) -> str:
    """Returns the canonical string of a DeviceSpec, a device string or None (""); raises ValueError if the string is malformed."""
    if device is None:
        return ""
    return device.to_string() if is_device_spec(device) else _canonical_text(device)


def check_valid(spec: str) -> None:
    """Raises ValueError if a device string is malformed."""
    _parse(spec)


@functools.lru_cache(maxsize=4096)
def merge(base: str, override: str) -> str:
    """Returns the canonical string with the parts of `override`, and those of `base` that `override` does not name."""
    return _parse(base).merged_with(_parse(override)).text()


class MergeDevice:
    """A device function that adds to a node's device the parts of `spec` that the node's own device does not name."""

    __slots__ = ("_spec",)

    def __init__(self, spec: object) -> None:
        self._spec = canonical_name(spec)

    def __call__(self, node_def: Any) -> str:
        return merge(self._spec, node_def.device or "")

    def __repr__(self) -> str:
        return f"{super().__repr__()} (spec: {self._spec})"


def merge_device(spec: object) -> MergeDevice:
    """Returns a device function for `tf.device` that sets the parts of `spec` which inner scopes do not name."""
    return MergeDevice(spec)
