"""The import name `horovod` in a process where `tensorflow` means tfcompat: Horovod's own package is built for TensorFlow's runtime."""

from __future__ import annotations

import importlib
import importlib.abc
import sys
import types
from collections.abc import Sequence
from importlib.machinery import ModuleSpec

_OURS = "tfcompat._src.horovod."
MODULES = {
    "horovod": "package",
    "horovod.common": "package",
    "horovod.common.util": "util",
    "horovod.tensorflow": "of_tensorflow",
    "horovod.tensorflow.compression": "compression",
    "horovod.tensorflow.mpi_ops": "of_tensorflow",
    "horovod.tensorflow.keras": "of_tf_keras",
    "horovod.tensorflow.keras.callbacks": "of_tf_keras_callbacks",
    "horovod.keras": "of_keras",
    "horovod.keras.callbacks": "of_keras_callbacks",
}
"""Horovod's modules, and ours."""


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Answers imports of Horovod's modules, ahead of what is installed."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(fullname, self, is_package=True) if fullname in MODULES else None

    def exec_module(self, module: types.ModuleType) -> None:
        """Gives the module what ours has."""
        found = importlib.import_module(_OURS + MODULES[module.__name__])
        vars(module).update({name: value for name, value in vars(found).items() if name == "__version__" or not name.startswith("__")})
        module.__doc__ = found.__doc__


def install() -> None:
    """Puts the finder ahead of others; Horovod that is imported already stays."""
    if not any(isinstance(finder, Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, Finder())
