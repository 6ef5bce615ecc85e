"""Makes the import name `tensorflow` mean tfcompat in this process, by a finder at the head of `sys.meta_path` (PEP 451)."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.metadata
import importlib.util
import sys
import types
from collections.abc import Iterable, Sequence
from importlib.machinery import ModuleSpec, PathFinder

from tfcompat._src.base import missing
from tfcompat._src.base.export import export
from tfcompat._src.base.lacking import finders
from tfcompat._src.shim import horovod
from tfcompat._src.shim.answers_as import answer_as, distributions
from tfcompat._src.shim.modules import find, internal_module, internal_name
from tfcompat._src.shim.real_modules import REAL_MODULES
from tfcompat._src.shim.resolve import ROOTS, canonical, known
from tfcompat._src.shim.tensorboard_summary import tensorboard_name


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds and loads all modules below TensorFlow's import names, before Python looks for installed packages.

    An import of an inner module of contrib can arrive under tfcompat's name (`tfcompat.contrib.predictor.saved_model_predictor`), as its
    package is a namespace of tfcompat.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> ModuleSpec | None:
        """Returns a spec for a module that this loads, None for other packages.

        Raises:
          ModuleNotFoundError: it is below TensorFlow's names, but tfcompat does not have it. ImportError: it is the same, and `from` asks
            for it, as for a name of a module.
        """
        root, _, below = fullname.partition(".")
        # Files of tfcompat come first. The rest of contrib's inner modules is made from the table.
        if root == "tfcompat":
            is_lacking = below.startswith("contrib.") and known(_of_tensorflow(fullname)) and PathFinder.find_spec(fullname, path) is None
            return ModuleSpec(fullname, self, is_package=True) if is_lacking else None
        if root not in ROOTS:
            return None
        # An error here, rather than None, keeps Python from an installed TensorFlow, whose modules would mix with these.
        if below and find(fullname) is None:
            raise (ImportError if _is_asked_by_from() else ModuleNotFoundError)(missing.message(fullname), name=fullname)
        # A whole module has the origin of its file, which `python -m` and tracebacks show.
        real = REAL_MODULES.get(canonical(fullname))
        if real is None:
            return ModuleSpec(fullname, self, is_package=True)
        return ModuleSpec(fullname, self, origin=importlib.util.find_spec(real).origin)  # type: ignore[union-attr]  # a module of ours is there

    def find_distributions(self, context: importlib.metadata.DistributionFinder.Context | None = None) -> Iterable[importlib.metadata.Distribution]:
        """Returns the package `tensorflow`, if `importlib.metadata` asks for it."""
        return distributions(None if context is None else context.name)

    def get_code(self, fullname: str) -> types.CodeType | None:
        """Returns the code of the implementing module, which `python -m` runs."""
        real = importlib.util.find_spec(REAL_MODULES[canonical(fullname)])
        code: types.CodeType | None = real.loader.get_code(real.name)  # type: ignore[union-attr]  # a module of ours has a loader
        return code

    def exec_module(self, module: types.ModuleType) -> None:
        """Puts the implementing module in `sys.modules` in place of the new one; `import` returns the entry of `sys.modules`."""
        name = module.__name__
        implementing = internal_module(_of_tensorflow(name)) if name.startswith("tfcompat.") else find(name)
        if implementing is not None:
            sys.modules[name] = implementing


def _is_asked_by_from() -> bool:
    """Whether the finder is asked for a name of `from module import name`.

    The import system drops a ModuleNotFoundError there, and its text with it.
    """
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_globals.get("__name__") == "importlib._bootstrap":
        if frame.f_code.co_name == "_handle_fromlist":
            return True
        frame = frame.f_back
    return False


def _of_tensorflow(name: str) -> str:
    """Returns TensorFlow's path of a namespace of tfcompat."""
    return name.replace("tfcompat", "tensorflow", 1)


FINDER = Finder()


@export("install_as_tensorflow")
def install_as_tensorflow(version: str = "1.15") -> None:
    """Makes `import tensorflow`, and every module path of TensorFlow 1.15's package, mean tfcompat in this process.

    An installed TensorFlow is neither read nor changed. Calling it again changes nothing but the version.

    Args:
      version: "1.15", or "2.15" for libraries of today that use `tf.compat.v1`: `tf.__version__` and the package's metadata say 2.15.0, and the
        names are there that TensorFlow 2.15's `tf.compat.v1` has for objects of 1.15 (`tf.config.list_physical_devices`, `tf.Tensor.ref`,
        `tf.data.AUTOTUNE`). Everything else stays as in 1.15.

    Raises:
      ValueError: the version is another one. RuntimeError: TensorFlow itself is already imported, or the process answers as 2.15 already.
    """
    answer_as(version)
    if FINDER in sys.meta_path:
        return
    # Modules that were imported before would go on to use TensorFlow, with tensors of other classes.
    taken = next((root for root in ROOTS if root in sys.modules), None)
    if taken is not None:
        raise RuntimeError(
            f"{taken} is already imported from {getattr(sys.modules[taken], '__file__', 'an unknown file')}. "
            "Call tfcompat.install_as_tensorflow() before the first import of tensorflow."
        )
    sys.meta_path.insert(0, FINDER)
    horovod.install()
    # TensorBoard imports `tensorflow`, which has to be tfcompat.
    finders.extend([internal_name, tensorboard_name])
    # Programs read these as attributes (`tf.python`) without importing them.
    for name in ("tensorflow.python", "tensorflow.core", "tensorflow.compat.v1"):
        importlib.import_module(name)


def install_in_place_of_imported() -> types.ModuleType | None:
    """Does the same as `install_as_tensorflow`, even if TensorFlow is already imported.

    Removes TensorFlow's modules from `sys.modules`. References to them stay valid; later imports yield tfcompat.

    Returns:
      the module `tensorflow` that was imported, or None.
    """
    if FINDER in sys.meta_path:
        return None
    replaced = sys.modules.get(ROOTS[0])
    # All of them, so that no import finds a submodule of the old package.
    for name in [name for name in sys.modules if name.partition(".")[0] in ROOTS]:
        del sys.modules[name]
    install_as_tensorflow()
    return replaced
