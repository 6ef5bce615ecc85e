"""What a change of an API consists of, for the editor of programs, and what is looked for before programs are edited."""

from __future__ import annotations

import ast
import functools
import importlib.resources
import json
from typing import Any, NamedTuple

INFO = "INFO"
WARNING = "WARNING"
ERROR = "ERROR"

Log = tuple[str, int, int, str]
"""A message: how grave, line, column, text."""


class ImportRename(NamedTuple):
    """The new name of an imported module, and the prefixes of full names that keep the old one."""

    new_name: str
    excluded_prefixes: list[str]

    def concerns(self, name: str) -> bool:
        """Whether a full name of a module is renamed."""
        return not name.startswith(tuple(self.excluded_prefixes))


class APIChangeSpec:
    """How calls, names and imports of an API change; subclasses set the tables that NoUpdateSpec lists."""

    symbol_renames: dict[str, str]
    change_to_function: Any
    function_keyword_renames: dict[str, dict[str, str | None]]
    function_reorders: dict[str, list[str]]
    function_warnings: dict[str, tuple[str, str]]
    function_transformers: dict[str, Any]
    module_deprecations: dict[str, tuple[str, str]]

    def preprocess(self, root_node: ast.Module) -> tuple[list[Log], list[Log]]:
        """Looks at a program before it is edited; returns messages, and those of them that need attention."""
        return [], []

    def clear_preprocessing(self) -> None:
        """Undoes what `preprocess` has changed for one program."""


class NoUpdateSpec(APIChangeSpec):
    """A change of an API that changes nothing."""

    def __init__(self) -> None:
        self.function_handle: dict[str, Any] = {}
        self.function_reorders = {}
        self.function_keyword_renames = {}
        self.symbol_renames = {}
        self.function_warnings = {}
        self.change_to_function = {}
        self.module_deprecations = {}
        self.function_transformers = {}
        self.import_renames: dict[str, ImportRename] = {}


class AnalysisResult:
    """Something found in a program: `log_level` and `log_message` say how it is reported."""

    log_level: str
    log_message: str


class APIAnalysisSpec:
    """What to find: `symbols_to_detect` by full name, `imports_to_detect` by module and alias, each with its AnalysisResult."""

    symbols_to_detect: dict[str, AnalysisResult]
    imports_to_detect: dict[tuple[str, str | None], AnalysisResult]


@functools.cache
def _recorded() -> dict[str, Any]:
    text = importlib.resources.files(__package__).joinpath("upgrade_tables.json").read_text()
    tables: dict[str, Any] = json.loads(text)
    return tables


def table(name: str) -> Any:
    """One of the tables that `tf_upgrade_v2` of TensorFlow 1.15 knows the API by; a copy."""
    return json.loads(json.dumps(_recorded()[name]))


def messages(name: str) -> dict[str, tuple[str, str]]:
    """A table of messages by name: how grave, and the text."""
    return {key: (level, text) for key, (level, text) in _recorded()[name].items()}


def full_name_node(name: str, ctx: ast.expr_context | None = None) -> ast.Name | ast.Attribute:
    """The expression for a dotted name; `ctx` says whether it is read (by default), assigned or deleted."""
    first, *rest = name.split(".")
    node: ast.Name | ast.Attribute = ast.Name(id=first, ctx=ast.Load())
    for attribute in rest:
        node = ast.Attribute(value=node, attr=attribute, ctx=ast.Load())
    node.ctx = ast.Load() if ctx is None else ctx
    return node


def full_name_of(node: ast.AST) -> str | None:
    """The dotted name that an expression is, or None."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        owner = full_name_of(node.value)
        return None if owner is None else f"{owner}.{node.attr}"
    return None


def get_arg_value(node: ast.Call, arg_name: str | None, arg_pos: int | None = None) -> tuple[bool, ast.expr | None]:
    """Whether a call has an argument, by its keyword or its position among those without a star, and its value."""
    if arg_name is not None:
        for keyword in node.keywords:
            if keyword.arg == arg_name:
                return True, keyword.value
    plain = [value for value in node.args if not isinstance(value, ast.Starred)]
    if arg_pos is not None and arg_pos < len(plain):
        return True, plain[arg_pos]
    return False, None


def has_star(node: ast.Call) -> bool:
    """Whether a call takes arguments from a sequence."""
    return any(isinstance(value, ast.Starred) for value in node.args)


def has_double_star(node: ast.Call) -> bool:
    """Whether a call takes arguments from a mapping."""
    return any(keyword.arg is None for keyword in node.keywords)
