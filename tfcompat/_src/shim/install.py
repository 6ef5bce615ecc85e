"""Makes the import name `tensorflow` mean tfcompat, in this process only."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Sequence

from tfcompat._src.framework.export import export
from tfcompat._src.shim import missing
from tfcompat._src.shim.modules import find

ROOTS = ("tensorflow", "tensorflow_core", "tensorflow_estimator")


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Answers every import below TensorFlow's names, ahead of what is installed."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        root, _, below = fullname.partition(".")
        if root not in ROOTS:
            return None
        if below and find(fullname) is None:
            raise ImportError(missing.message(fullname), name=fullname)
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def exec_module(self, module: types.ModuleType) -> None:
        name = module.__name__
        found = find(name)
        if found is not None:
            sys.modules[name] = found


FINDER = Finder()


@export("install_as_tensorflow")
def install_as_tensorflow() -> None:
    """Makes `import tensorflow`, and every module path of TensorFlow 1.15's package, mean tfcompat in this process.

    An installed TensorFlow is neither read nor changed. Calling it again does nothing.

    Raises:
      RuntimeError: TensorFlow itself is already imported.
    """
    if FINDER in sys.meta_path:
        return
    taken = next((root for root in ROOTS if root in sys.modules), None)
    if taken is not None:
        raise RuntimeError(
            f"{taken} is already imported from {getattr(sys.modules[taken], '__file__', 'an unknown place')}: "
            "call tfcompat.install_as_tensorflow() before the first import of tensorflow"
        )
    sys.meta_path.insert(0, FINDER)
    for name in ("tensorflow.python", "tensorflow.core", "tensorflow.compat.v1"):
        importlib.import_module(name)
