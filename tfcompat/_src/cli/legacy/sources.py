"""What types of C have lost: sources that use it are compiled with the use rewritten, since no name can be given to such types.

`x.tostring()` becomes `restored(x, "tostring")()` at the same place of the same line, which is `x.tostring` wherever x has it. So
are `open(path, "rU")`, whose U means nothing since Python 3, and `x[index]`, whose index may be a list with slices in it: NumPy before
1.23 took it for a tuple. In the program's own files `np.bool` and `np.long` are Python's types, as they were until NumPy 1.20;
NumPy 2 has these names with other meanings, for libraries. Sources without such a word are left as they are, and what was rewritten
is not written to `__pycache__`.
"""

from __future__ import annotations

import array
import ast
import builtins
import functools
import importlib.abc
import importlib.machinery
import pathlib
import re
import sys
import types
import xml.etree.ElementTree
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

RESTORED = "__restored_by_tfcompat__"
INDEX = "__index_by_tfcompat__"


def _set_item(values: Any, *arguments: object) -> None:
    *where, value = arguments
    if not where:
        if values.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        values.flat[0] = value
    elif len(where) == 1 and not isinstance(where[0], tuple):
        values.flat[where[0]] = value
    else:
        values[where[0] if len(where) == 1 else tuple(where)] = value


def _with_other_order(values: Any, new_order: str = "S") -> Any:
    return values.view(values.dtype.newbyteorder(new_order))


METHODS: dict[tuple[type, ...], dict[str, Callable[..., Any]]] = {
    (np.ndarray, np.generic): dict(
        tostring=lambda a, order="C": a.tobytes(order), newbyteorder=_with_other_order, itemset=_set_item, ptp=np.ptp
    ),
    (array.array,): dict(tostring=array.array.tobytes, fromstring=array.array.frombytes),
    (xml.etree.ElementTree.Element,): dict(
        getchildren=list, getiterator=lambda element, tag=None: list(element.iter(tag))
    ),
}
"""Types -> the methods that they lost."""

LOST = frozenset(name for methods in METHODS.values() for name in methods)
SCALARS: dict[str, type] = {"bool": bool, "long": int}
"""Names of NumPy that were Python's types."""
_SCALAR_HINT = re.compile(rb"\.(bool|long)\b")
_MAKES_SLICES = re.compile(rb"slice\((?<![.\w]slice\()(?<!def slice\()")
"""A call of `slice`; what comes before is looked at last, so that the search is one for a literal."""
_LOST_HINT = re.compile(rb"\.(%s)\b" % b"|".join(sorted(name.encode() for name in LOST)))
_MODE_HINT = re.compile(rb"['\"](r?b?Ur?b?|rbU|rU)['\"]")
_COMPUTED = (ast.Name, ast.Attribute, ast.BinOp, ast.Call, ast.List, ast.ListComp)
"""Kinds of expressions that may give a list as an index."""
LEFT_ALONE = sys.stdlib_module_names | {
    "tfcompat", "tensorflow", "tensorflow_core", "tensorflow_estimator", "jax", "jaxlib", "numpy", "scipy", "ml_dtypes", "optax", "flax",
    "google", "grpc", "h5py", "PIL", "pandas", "sklearn", "matplotlib", "pytest", "_pytest", "pip", "setuptools",
    "joblib", "mpl_toolkits", "narwhals", "pyparsing",
}  # fmt: skip
"""Libraries that are installed in versions of today, and the larger ones that these import."""

rewritings: list[Callable[[ast.Module, str], None]] = []
"""What else changes the tree of each of the program's own files in this process; it gets the tree and the path."""


def restored(value: object, name: str) -> Any:
    """The attribute `name` of a value, or what its type, or NumPy, once had under that name."""
    if name in SCALARS:
        return SCALARS[name] if value is np else getattr(value, name)
    for kinds, methods in METHODS.items():
        if name in methods:
            if type(value) in kinds or isinstance(value, np.generic):  # a NumPy scalar has what arrays lost, for an array's error
                return functools.partial(methods[name], value)
            if isinstance(value, kinds) and not hasattr(value, name):
                return functools.partial(methods[name], value)
            if isinstance(value, type) and issubclass(value, kinds):
                return methods[name]
    return getattr(value, name)


def index(given: object) -> Any:
    """An index, where it is a list with slices as the tuple that NumPy took it for."""
    if type(given) is list and any(each is None or each is ... or isinstance(each, slice) for each in given):
        return tuple(given)
    return given


class _Rewriting(ast.NodeTransformer):
    def __init__(self, source: bytes, path: str, has_modes: bool) -> None:
        self._has_modes = has_modes
        self._makes_slices = _MAKES_SLICES.search(source) is not None
        self._lost = LOST.union(SCALARS) if _is_of_program(path) else LOST

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        if self._makes_slices and isinstance(node.slice, _COMPUTED):
            called = ast.Call(ast.Name(INDEX, ast.Load()), [node.slice], [])
            node.slice = ast.fix_missing_locations(ast.copy_location(called, node.slice))
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if node.attr not in self._lost or not isinstance(node.ctx, ast.Load):
            return node
        called = ast.Call(ast.Name(RESTORED, ast.Load()), [node.value, ast.Constant(node.attr)], [])
        return ast.fix_missing_locations(ast.copy_location(called, node))

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        if name == "open" and not self._has_modes:
            for mode in (*node.args[1:2], *(keyword.value for keyword in node.keywords if keyword.arg == "mode")):
                if isinstance(mode, ast.Constant) and isinstance(mode.value, str):
                    mode.value = mode.value.replace("U", "") or "r"
        return node


def _is_of_program(path: str) -> bool:
    """Whether a file is not one of an installed library."""
    return not {"site-packages", "dist-packages"}.intersection(pathlib.PurePath(path).parts)


def needs_rewriting(source: bytes, path: str) -> bool:
    """Whether a source has a word that may have to be rewritten."""
    has_mode = b"open" in source and _MODE_HINT.search(source)
    if has_mode or _LOST_HINT.search(source) or _MAKES_SLICES.search(source):
        return True
    return bool((rewritings or _SCALAR_HINT.search(source)) and _is_of_program(path))


def rewrite(tree: ast.Module, source: bytes, path: str, has_modes: bool = False) -> None:
    """Rewrites in the tree of a source what was lost, where it has any.

    Args:
      has_modes: `open` knows the mode "U", as that of Python 2 does.
    """
    if needs_rewriting(source, path):
        _Rewriting(source, path, has_modes).visit(tree)
        for each in rewritings if _is_of_program(path) else ():
            each(tree, path)


def compiled(source: bytes, path: str) -> types.CodeType:
    """The code of a source, with what was lost rewritten where this process restores it."""
    if hasattr(builtins, RESTORED) and needs_rewriting(source, path):
        tree = ast.parse(source, path)
        rewrite(tree, source, path)
        return compile(tree, path, "exec", dont_inherit=True)
    return compile(source, path, "exec", dont_inherit=True)


class _Loader(importlib.machinery.SourceFileLoader):
    """Compiles a source with what was lost rewritten, each time."""

    def get_code(self, fullname: str) -> types.CodeType:
        return compiled(self.get_data(self.path), self.path)


class Finder(importlib.abc.MetaPathFinder):
    """Finds the modules of the program and of libraries whose sources are to be rewritten."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname.partition(".")[0] in LEFT_ALONE:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        loader = spec and spec.loader
        if type(loader) is not importlib.machinery.SourceFileLoader or not needs_rewriting(loader.get_data(loader.path), loader.path):
            return None
        spec.loader = _Loader(loader.name, loader.path)  # type: ignore[union-attr]
        return spec


def restore() -> None:
    """Lets this process compile such sources."""
    setattr(builtins, RESTORED, restored)
    setattr(builtins, INDEX, index)
    sys.meta_path.insert(0, Finder())
