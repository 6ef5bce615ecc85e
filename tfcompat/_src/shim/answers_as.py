"""The answers of TensorFlow 2.15's `tf.compat.v1` to libraries that require TensorFlow 2: its version, and the names that it has besides 1.15's.

Libraries of today that use `tf.compat.v1` check the version and call these names. Everything else stays 1.15's.
"""

from __future__ import annotations

import functools
import importlib.metadata
import sys
from collections.abc import Iterable
from pathlib import Path

from tfcompat._src.base import missing
from tfcompat._src.base.lacking import finders
from tfcompat._src.graph.scopes import executing_eagerly_outside_functions
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.platform import versions
from tfcompat._src.runtime.session.config import LogicalDevice, PhysicalDevice
from tfcompat._src.variables.variable import Variable

VERSIONS = {"1.15": versions.VERSION, "2.15": "2.15.0"}
"""What `install_as_tensorflow(version)` takes, and the version that programs read then."""
SAME = {
    "config.LogicalDeviceConfiguration": "config.experimental.VirtualDeviceConfiguration",
    "config.get_logical_device_configuration": "config.experimental.get_virtual_device_configuration",
    "config.get_visible_devices": "config.experimental.get_visible_devices",
    "config.list_logical_devices": "config.experimental.list_logical_devices",
    "config.list_physical_devices": "config.experimental.list_physical_devices",
    "config.run_functions_eagerly": "config.experimental_run_functions_eagerly",
    "config.set_logical_device_configuration": "config.experimental.set_virtual_device_configuration",
    "config.set_visible_devices": "config.experimental.set_visible_devices",
    "data.AUTOTUNE": "data.experimental.AUTOTUNE",
    "data.INFINITE_CARDINALITY": "data.experimental.INFINITE_CARDINALITY",
    "data.UNKNOWN_CARDINALITY": "data.experimental.UNKNOWN_CARDINALITY",
    "nn.silu": "nn.swish",
    "random.Generator": "compat.v2.random.experimental.Generator",
    "random.get_global_generator": "compat.v2.random.experimental.get_global_generator",
    "random.set_global_generator": "compat.v2.random.experimental.set_global_generator",
}
"""Names of 2.15's `tf.compat.v1` for what 1.15 has under another name."""
OWN: dict[str, object] = {
    "config.LogicalDevice": LogicalDevice,
    "config.PhysicalDevice": PhysicalDevice,
    "executing_eagerly_outside_functions": executing_eagerly_outside_functions,
}
"""Names of it for what 1.15 has without a public name."""


class Distribution(importlib.metadata.Distribution):
    """The metadata of the package `tensorflow`, as `importlib.metadata` reads it: its version alone."""

    def read_text(self, filename: str) -> str | None:
        """Returns the text of METADATA, None for other files."""
        return f"Metadata-Version: 2.1\nName: tensorflow\nVersion: {stated()}\n" if filename == "METADATA" else None

    def locate_file(self, path: object) -> Path:
        """Returns the path of a file of the package."""
        return Path(__file__).parent / str(path)


def distributions(name: str | None) -> Iterable[importlib.metadata.Distribution]:
    """Returns the distribution of `tensorflow`, if it is asked for or all are (None)."""
    return [Distribution()] if name in (None, "tensorflow") else []


def stated() -> str:
    """Returns the version that programs read."""
    version: str = sys.modules["tfcompat"].__version__
    return version


def answer_as(version: str) -> None:
    """Makes the version and the names those of a version in VERSIONS, for the rest of the process.

    Raises:
      ValueError: it is another version. RuntimeError: the process has answered as a later one.
    """
    if version not in VERSIONS:
        raise ValueError(f"tfcompat answers as TensorFlow {' or '.join(VERSIONS)}, not {version!r}.")
    if stated() == VERSIONS[version]:
        return
    if version == "1.15":
        raise RuntimeError(f"This process has answered as TensorFlow {stated()}, which libraries may have read: use a new process for 1.15.")
    root = sys.modules["tfcompat"]
    root.__version__ = root.VERSION = root.version.VERSION = VERSIONS[version]  # type: ignore[attr-defined]  # of every module
    Tensor.ref, Variable.ref = Tensor.experimental_ref, Variable.experimental_ref  # type: ignore[attr-defined]  # added here
    finders.insert(0, _name_of_2)


def _name_of_2(namespace: str, name: str) -> object:
    """Returns an object that 2.15's `tf.compat.v1` has and 1.15 has not; raises AttributeError for other names."""
    path = f"{namespace}.{name}".partition(".")[2]
    if path in OWN:
        return OWN[path]
    if path not in SAME:
        raise AttributeError(missing.message(path))
    found: object = functools.reduce(getattr, SAME[path].split("."), sys.modules["tfcompat"])
    return found
