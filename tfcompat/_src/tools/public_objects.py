"""Walks through the modules and classes below a Python object, all of them or those of TensorFlow's public API."""

from __future__ import annotations

import enum
import inspect
import re
import sys
from collections.abc import Callable
from typing import Any

Members = list[tuple[str, Any]]
Visit = Callable[[str, Any, Members], object]

_DEEPEST = 10
_HIDDEN = re.compile(r"_(?!_.*__$)|__base__$|__class__$")


def traverse(root: object, visit: Visit) -> None:
    """Calls `visit(path, parent, children)` for `root` and each module and class below it, depth first.

    `children` are the members of `parent` with their names, sorted; those that `visit` takes out of the list are not walked through. Nothing
    is walked through below itself, nor are Python's built-in modules.
    """
    _walk(root, visit, "", [])


def _walk(parent: object, visit: Visit, path: str, above: list[Any]) -> None:
    if not inspect.isclass(parent) and not inspect.ismodule(parent):
        return
    children = _members(parent)
    visit(path, parent, children)
    for name, child in children:
        built_in = inspect.ismodule(child) and child.__name__ in sys.builtin_module_names
        if not built_in and not any(child is known for known in [*above, parent]):
            _walk(child, visit, f"{path}.{name}" if path else name, [*above, parent])


def _members(parent: object) -> Members:
    try:
        found = inspect.getmembers(parent)
    except ImportError:  # the module makes its members when they are asked for, and lacks what one needs
        return []
    if inspect.isclass(parent) and issubclass(parent, enum.Enum):  # aliases of values too
        found = sorted([*found, *(member for member in parent.__members__.items() if member not in found)])
    return found


class PublicAPIVisitor:
    """A visitor for `traverse` that calls another for what is public in TensorFlow only.

    `private_map` and `do_not_descend_map` say by the full name of a parent which of its members are not visited, and below which none are.
    """

    def __init__(self, visitor: Visit) -> None:
        self._visitor = visitor
        self._root_name = "tf"
        self.private_map = {"tf.flags": ["cpp_flags"]}
        self.do_not_descend_map = {  # contrib: tf.compat.v1, which is walked through as "tf" and is tf itself here, has none in TensorFlow 1.15
            "tf": ["compiler", "contrib", "core", "examples", "flags", "platform", "pywrap_tensorflow", "user_ops", "python", "tools", "tensorboard"],
            "tf.app": ["flags"],
            "tf.test": ["mock"],
            "tf.keras": ["applications", "preprocessing"],
        }

    def set_root_name(self, root_name: str) -> None:
        """Says what the root is called, instead of "tf"."""
        self._root_name = root_name

    def __call__(self, path: str, parent: Any, children: Members) -> None:
        if inspect.ismodule(parent) and path.count(".") >= _DEEPEST:
            raise RuntimeError(f"Modules nested too deep:\n{self._root_name}.{path}\n\nThis is likely a problem with an accidental public import.")
        full_path = f"{self._root_name}.{path}" if path else self._root_name
        private = self.private_map.get(full_path, [])
        children[:] = [(name, child) for name, child in children if name not in private and not _HIDDEN.match(name)]
        self._visitor(path, parent, children)
        closed = self.do_not_descend_map.get(full_path, [])
        children[:] = [(name, child) for name, child in children if name not in closed]
