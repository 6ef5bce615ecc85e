"""`tensorflow.python.autograph.pyct.compiler`: text and modules of syntax trees."""

from __future__ import annotations

import ast
import atexit
import importlib.machinery
import importlib.util
import os
import tempfile
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from tfcompat._src.autograph.pyct import origin_info

_INDENT = "    "


def ast_to_source(node: Any, indentation: str = "  ", include_encoding_marker: bool = True) -> str:
    """The text of a node or of several.

    Args:
      node: the node, or a sequence of nodes.
      indentation: of one level.
      include_encoding_marker: whether a first line names the encoding.
    """
    nodes = node if isinstance(node, (list, tuple)) else (node,)
    lines = [line for each in nodes for line in _text(each).split("\n")]
    text = "\n".join(_indented(line, indentation) for line in lines).lstrip("\n") + "\n"
    return "# coding=utf-8\n" + text if include_encoding_marker else text


_OPERATORS = (ast.BinOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Lambda, ast.UnaryOp)


def _text(node: ast.AST) -> str:
    """The text of a node; an expression of operators, which is no statement, stands in parentheses as in 1.15."""
    text = ast.unparse(ast.fix_missing_locations(node))
    return f"({text})" if isinstance(node, _OPERATORS) else text


def _indented(line: str, indentation: str) -> str:
    rest = line.lstrip(" ")
    return indentation * ((len(line) - len(rest)) // len(_INDENT)) + rest


def source_to_entity(source: str, delete_on_exit: bool) -> tuple[ModuleType, str]:
    """The module that text is, from a temporary file, and the name of that file.

    Args:
      source: the text.
      delete_on_exit: whether the file goes when the process ends.
    """
    with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False, encoding="utf-8") as file:
        file.write(source)
    if delete_on_exit:
        atexit.register(_removed, file.name)
    name = os.path.basename(file.name).removesuffix(".py")
    spec = importlib.util.spec_from_file_location(name, file.name, loader=importlib.machinery.SourceFileLoader(name, file.name))
    if spec is None or spec.loader is None:
        raise ImportError(f"Python makes no module of {file.name}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module, file.name


def _removed(path: str) -> None:
    if os.path.exists(path):
        os.remove(path)


def ast_to_object(
    nodes: Any, indentation: str = "  ", include_source_map: bool = False, delete_on_exit: bool = True
) -> tuple[ModuleType, str, dict[origin_info.LineLocation, origin_info.OriginInfo] | None]:
    """The module that nodes are, its text, and where its lines came from.

    Args:
      nodes: a node, or a sequence of nodes.
      indentation: of one level of the text.
      include_source_map: whether the third result is wanted; else it is None.
      delete_on_exit: whether the module's file goes when the process ends.
    """
    all_nodes: Sequence[ast.AST] = nodes if isinstance(nodes, (list, tuple)) else (nodes,)
    source = ast_to_source(all_nodes, indentation)
    module, path = source_to_entity(source, delete_on_exit)
    return module, source, origin_info.create_source_map(all_nodes, source, path) if include_source_map else None
