"""`tf.compat`: bytes and text, number types, and the date up to which graphs must be readable."""

from __future__ import annotations

import contextlib
import datetime
import numbers
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from tfcompat._src.base.export import export

integral_types = export("compat.integral_types")((numbers.Integral, np.integer))
real_types = export("compat.real_types")((numbers.Real, np.integer, np.floating))
complex_types = export("compat.complex_types")((numbers.Complex, np.number))
bytes_or_text_types = export("compat.bytes_or_text_types")((bytes, str))

_FORWARD_COMPATIBILITY_HORIZON = datetime.date(2019, 8, 21)
"""TensorFlow 1.15's: a reader of a graph may be as old as this."""

DELTA_DAYS = "TF_FORWARD_COMPATIBILITY_DELTA_DAYS"
"""The environment variable that moves it."""


def _update_forward_compatibility_date_number(date_to_override: datetime.date | None = None) -> None:
    """Sets the day up to which graphs must be readable: by default TensorFlow 1.15's, moved by the days of the environment variable."""
    global _horizon
    _horizon = date_to_override or _FORWARD_COMPATIBILITY_HORIZON + datetime.timedelta(days=int(os.environ.get(DELTA_DAYS) or 0))


_update_forward_compatibility_date_number()


@export("compat.as_bytes")
def as_bytes(bytes_or_text: object, encoding: str = "utf-8") -> bytes:
    """`bytes_or_text` (bytes, bytearray or str) as bytes.

    Raises:
      TypeError: it is something else.
    """
    if isinstance(bytes_or_text, bytearray):
        return bytes(bytes_or_text)
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


@export("compat.as_text", "compat.as_str")
def as_text(bytes_or_text: object, encoding: str = "utf-8") -> str:
    """`bytes_or_text` (bytes or str) as str.

    Raises:
      TypeError: it is something else.
    """
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text.decode(encoding)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


as_str = as_text


@export("compat.as_str_any")
def as_str_any(value: object) -> str:
    """`value` as str: bytes are decoded, anything else goes through `str`."""
    return as_text(value) if isinstance(value, bytes) else str(value)


@export("compat.path_to_str")
def path_to_str(path: object) -> Any:
    """A path object as its text; anything else as it is."""
    return as_str_any(path.__fspath__()) if hasattr(path, "__fspath__") else path


@export("compat.forward_compatible")
def forward_compatible(year: int, month: int, day: int) -> bool:
    """Whether readers of a graph are all newer than the given day."""
    return _horizon > datetime.date(year, month, day)


@export("compat.forward_compatibility_horizon")
@contextlib.contextmanager
def forward_compatibility_horizon(year: int, month: int, day: int) -> Iterator[None]:
    """A block in which readers of a graph count as being as old as the given day."""
    before = _horizon
    _update_forward_compatibility_date_number(datetime.date(year, month, day))
    try:
        yield
    finally:
        _update_forward_compatibility_date_number(before)
