"""Makes the import name `horovod` mean tfcompat's implementation of its API, since Horovod's own package is built for TensorFlow's runtime."""

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
"""Module of Horovod -> module of `tfcompat._src.horovod` that implements it."""


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds and loads Horovod's modules, before Python looks for an installed package."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> ModuleSpec | None:
        """Returns a spec for a module of `MODULES`, else None."""
        return ModuleSpec(fullname, self, is_package=True) if fullname in MODULES else None

    def exec_module(self, module: types.ModuleType) -> None:
        """Copies the names of the implementing module to the new one, which keeps Horovod's name."""
        # Two modules of Horovod can have one implementation, so that it cannot take their place in `sys.modules`.
        source = importlib.import_module(_OURS + MODULES[module.__name__])
        vars(module).update({name: value for name, value in vars(source).items() if name == "__version__" or not name.startswith("__")})
        module.__doc__ = source.__doc__


def install() -> None:
    """Puts the finder before others, once. A Horovod that is already imported stays."""
    if not any(isinstance(finder, Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, Finder())
