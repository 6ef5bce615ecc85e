"""`tensorflow.python.util.module_wrapper`: a proxy for a module that logs uses of renamed names, and imports names lazily."""

from __future__ import annotations

import functools
import importlib
import sys
import types
from typing import Any

from tfcompat._src.platform import logging
from tfcompat._src.shim.internal.tf_decorator import unwrap
from tfcompat._src.tools.compatibility.upgrade_v2 import TFAPIChangeSpec

_PER_MODULE_WARNING_LIMIT = 1
"""Most warnings that a module logs."""
_OWN = "_tfmw_"


@functools.cache
def get_rename_v2(name: str) -> str | None:
    """Returns the name of "tf.x" in TensorFlow 2; None if it is the same."""
    return TFAPIChangeSpec().symbol_renames.get(name)


def has_deprecation_decorator(symbol: object) -> bool:
    """Whether a function, or the constructor of a class, is marked as deprecated."""
    decorators, target = unwrap(symbol)
    if isinstance(target, type):
        decorators = [*decorators, *unwrap(target.__init__)[0]]  # type: ignore[misc]  # read only
    return any(decorator.decorator_name == "deprecated" for decorator in decorators)


class TFModuleWrapper(types.ModuleType):
    """A proxy of a module: reading, setting and deleting an attribute act on the module.

    Args:
      wrapped: the module. module_name: its name below `tf`, "" for `tf` itself.
      public_apis: name -> (module, name there), imported when it is first read; ("", module) for a module.
      deprecation: whether to log a warning when a program first reads a name that TensorFlow 2 has renamed.
      has_lite: whether `lite` is imported by `public_apis` even if `wrapped` has an attribute of this name.
    """

    # State has the prefix `_tfmw_`, which is not forwarded. The names of `wrapped` are copied, so that most reads need no `__getattr__`.

    def __init__(
        self, wrapped: types.ModuleType, module_name: str, public_apis: dict[str, tuple[str, str]] | None = None, deprecation: bool = True,
        has_lite: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(wrapped.__name__)
        vars(self).update(vars(wrapped))
        vars(self).update(
            _tfmw_wrapped_module=wrapped, _tfmw_module_name=module_name, _tfmw_public_apis=public_apis, _tfmw_has_lite=has_lite,
            _tfmw_print_deprecation_warnings=deprecation, _tfmw_checked=set(), _tfmw_warning_count=0,
        )  # fmt: skip
        if public_apis:
            names = list(public_apis)
        else:
            names = getattr(wrapped, "__all__", None) or [name for name in dir(wrapped) if not name.startswith("_")]
        wrapped.__all__ = vars(self)["__all__"] = names  # type: ignore[attr-defined]  # modules may have it
        if has_lite:
            vars(self).pop("lite", None)

    def __getattribute__(self, name: str) -> Any:
        value = super().__getattribute__(name)
        if not name.startswith(("__", _OWN)):
            self._tfmw_warn(name, value)
        return value

    def __getattr__(self, name: str) -> Any:
        # Called only if the proxy has no such attribute: it was set on the module later, or is imported now.
        apis = self._tfmw_public_apis
        if hasattr(self._tfmw_wrapped_module, name) and not (name == "lite" and self._tfmw_has_lite):
            value = getattr(self._tfmw_wrapped_module, name)
        elif not apis or name not in apis:
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")
        else:
            module, member = apis[name]
            value = getattr(importlib.import_module(module), member) if module else importlib.import_module(member)
            setattr(self._tfmw_wrapped_module, name, value)
            vars(self)[name] = value
        self._tfmw_warn(name, value)
        return value

    def _tfmw_warn(self, name: str, value: object) -> None:
        """Logs a warning with the caller's line if TensorFlow 2 has renamed `name`: once for each name, up to the limit of the module."""
        # Read through `vars`, which does not come back to `__getattribute__` of this class for the state.
        own = vars(self)
        if not own["_tfmw_print_deprecation_warnings"] or own["_tfmw_warning_count"] >= _PER_MODULE_WARNING_LIMIT:
            return
        full_name = f"tf.{own['_tfmw_module_name']}.{name}" if own["_tfmw_module_name"] else f"tf.{name}"
        if name not in own["_tfmw_checked"]:
            own["_tfmw_checked"].add(name)
            new = get_rename_v2(full_name)
            # A deprecated function logs a warning of its own when it is called.
            if new and not has_deprecation_decorator(value):
                frame = sys._getframe(2)
                line = f"{frame.f_code.co_filename}:{frame.f_lineno}"
                logging.warning("From %s: The name %s is deprecated. Please use %s instead.\n", line, full_name, new)
                own["_tfmw_warning_count"] += 1

    def __setattr__(self, name: str, value: object) -> None:
        vars(self)[name] = value
        if not name.startswith(_OWN):
            setattr(self._tfmw_wrapped_module, name, value)
            if name not in self.__all__ and name != "__all__":
                self.__all__.append(name)

    def __delattr__(self, name: str) -> None:
        vars(self).pop(name, None)
        if not name.startswith(_OWN):
            delattr(self._tfmw_wrapped_module, name)

    def __dir__(self) -> list[str]:
        held = dir(self._tfmw_wrapped_module)
        if not self._tfmw_public_apis:
            return held
        return list({*self._tfmw_public_apis, *(name for name in held if not name.startswith("_"))})

    def __repr__(self) -> str:
        return repr(self._tfmw_wrapped_module)

    def __reduce__(self) -> Any:
        # Modules cannot be pickled: the proxy is pickled as an import of its name.
        return importlib.import_module, (self.__name__,)
