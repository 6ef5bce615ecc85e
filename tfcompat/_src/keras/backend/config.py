"""Keras' global settings: the default float type, the fuzz factor and the order of image dimensions."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib

import numpy as np

from tfcompat._src.base.export import export

FLOAT_TYPES = ("float16", "float32", "float64")
IMAGE_DATA_FORMATS = ("channels_last", "channels_first")


@dataclasses.dataclass
class _Settings:
    floatx: str = "float32"
    epsilon: float = 1e-7
    image_data_format: str = "channels_last"


def _read_settings() -> _Settings:
    """The settings of `$KERAS_HOME/keras.json` (by default in ~/.keras), where it exists and can be read."""
    settings = _Settings()
    home = os.environ.get("KERAS_HOME") or os.path.expanduser("~/.keras")
    path = pathlib.Path(home, "keras.json")
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return settings
    for field, wanted in (("floatx", FLOAT_TYPES), ("image_data_format", IMAGE_DATA_FORMATS)):
        if found.get(field, wanted[0]) not in wanted:
            raise ValueError(f"{path}: {field} must be one of {wanted}, got {found[field]!r}")
    if not isinstance(found.get("epsilon", 0.0), float):
        raise ValueError(f"{path}: epsilon must be a float, got {found['epsilon']!r}")
    return dataclasses.replace(settings, **{k: found[k] for k in dataclasses.asdict(settings) if k in found})


_settings = _read_settings()


@export("keras.backend.backend")
def backend() -> str:
    """The name of the library that Keras runs on, "tensorflow"."""
    return "tensorflow"


@export("keras.backend.floatx")
def floatx() -> str:
    """The name of the default float type, "float32" unless set."""
    return _settings.floatx


@export("keras.backend.set_floatx")
def set_floatx(value: str) -> None:
    """Sets the default float type; ValueError unless it is "float16", "float32" or "float64"."""
    if value not in FLOAT_TYPES:
        raise ValueError(f"Unknown floatx type: {value}")
    _settings.floatx = str(value)


@export("keras.backend.epsilon")
def epsilon() -> float:
    """The small number that keeps logarithms and quotients finite, 1e-7 unless set."""
    return _settings.epsilon


@export("keras.backend.set_epsilon")
def set_epsilon(value: float) -> None:
    """Sets the small number that keeps logarithms and quotients finite."""
    _settings.epsilon = value


@export("keras.backend.image_data_format")
def image_data_format() -> str:
    """The default order of image dimensions, "channels_last" unless set."""
    return _settings.image_data_format


@export("keras.backend.set_image_data_format")
def set_image_data_format(data_format: str) -> None:
    """Sets the default order of image dimensions; ValueError unless "channels_last" or "channels_first"."""
    if data_format not in IMAGE_DATA_FORMATS:
        raise ValueError(f"Unknown data_format: {data_format}")
    _settings.image_data_format = str(data_format)


@export("keras.backend.cast_to_floatx")
def cast_to_floatx(x: object) -> np.ndarray:
    """`x` as a NumPy array of the default float type."""
    return np.asarray(x, dtype=floatx())


def checked_data_format(data_format: str | None) -> str:
    """`data_format` with its default; ValueError for an unknown one."""
    found = image_data_format() if data_format is None else data_format
    if found not in IMAGE_DATA_FORMATS:
        raise ValueError(f"Unknown data_format: {found}")
    return found
