"""Message modules (`*_pb2`) of protobuf compilers before 3.19, which today's protobuf refuses: made of the file description in them."""

from __future__ import annotations

import ast
import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Sequence

from google.protobuf.internal import builder

_REFUSED = (b"_descriptor.Descriptor(", b"_descriptor.EnumDescriptor(", b"_descriptor.FieldDescriptor(")
_KEPT = ("_b", "_sym_db", "DESCRIPTOR")


def _is_kept(statement: ast.stmt) -> bool:
    """Whether a statement imports something or makes the description of the file."""
    if isinstance(statement, ast.Assign):
        return any(isinstance(target, ast.Name) and target.id in _KEPT for target in statement.targets)
    return isinstance(statement, (ast.Import, ast.ImportFrom, ast.Try))


class _Loader(importlib.machinery.SourceFileLoader):
    """Runs what describes the file; the rest of the source says the same in the refused way."""

    def get_code(self, fullname: str) -> types.CodeType:
        tree = ast.parse(self.get_data(self.path), self.path)
        tree.body = [statement for statement in tree.body if _is_kept(statement)]
        return compile(tree, self.path, "exec")

    def exec_module(self, module: types.ModuleType) -> None:
        super().exec_module(module)
        names = vars(module)
        builder.BuildMessageAndEnumDescriptors(names["DESCRIPTOR"], names)
        builder.BuildTopDescriptorsAndMessages(names["DESCRIPTOR"], module.__name__, names)


class Finder(importlib.abc.MetaPathFinder):
    """Finds the message modules that protobuf would refuse."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not fullname.endswith("_pb2") or fullname.startswith("google.protobuf."):
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        loader = spec and spec.loader
        if not isinstance(loader, importlib.machinery.SourceFileLoader) or not _is_refused(
            loader.get_data(loader.path)
        ):
            return None
        spec.loader = _Loader(loader.name, loader.path)  # type: ignore[union-attr]
        return spec


def _is_refused(source: bytes) -> bool:
    return any(call in source for call in _REFUSED)


def restore() -> None:
    """Lets this process import such modules."""
    sys.meta_path.insert(0, Finder())
