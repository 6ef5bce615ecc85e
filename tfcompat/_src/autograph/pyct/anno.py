"""`tensorflow.python.autograph.pyct.anno`: notes that passes write on the nodes of a syntax tree."""

from __future__ import annotations

import ast
import enum
from collections.abc import Mapping
from typing import Any

_FIELD = "___pyct_anno"


class NoValue(enum.Enum):
    """Keys of notes, which print as their names."""

    def __repr__(self) -> str:
        return self.name


class Basic(NoValue):
    """Notes of the passes that come first."""

    QN = "The qualified name that the node is; see qual_names.py."
    SKIP_PROCESSING = "Passes leave the node as it is."
    INDENT_BLOCK_REMAINDER = "(body, names): what follows in the block moves into `body`, with its names changed."
    ORIGIN = "Where the node stood in the user's source; see origin_info.py."


class Static(NoValue):
    """Notes of the analyses."""

    IS_PARAM = "The symbol is a parameter of the function."
    SCOPE = "The symbols of the node; see activity.py."
    ARGS_SCOPE = "The symbols of the arguments of a call, or of a function's parameters."
    COND_SCOPE = "The symbols of the test of a statement."
    BODY_SCOPE = "The symbols of the body of a statement; of an `if`, of the branch for true."
    ORELSE_SCOPE = "The symbols of the `else` of a statement."
    DEFINITIONS = "The definitions that reach the symbol; see reaching_definitions.py."
    ORIG_DEFINITIONS = "DEFINITIONS as they were before the code was changed."
    DEFINED_VARS_IN = "The symbols that are defined where the statement begins."
    LIVE_VARS_OUT = "The symbols that are needed after the statement; see liveness.py."
    LIVE_VARS_IN = "The symbols that are needed where the statement begins."


FAIL = object()


def keys(node: ast.AST, field_name: str = _FIELD) -> frozenset[Any]:
    """The keys of the notes on a node."""
    return frozenset(getattr(node, field_name, ()))


def getanno(node: ast.AST, key: object, default: object = FAIL, field_name: str = _FIELD) -> Any:
    """The note on a node under a key, or `default`; AttributeError or KeyError where there is neither."""
    if default is FAIL or hasanno(node, key, field_name):
        return getattr(node, field_name)[key]
    return default


def hasanno(node: ast.AST, key: object, field_name: str = _FIELD) -> bool:
    """Whether a node has a note under a key."""
    return key in getattr(node, field_name, ())


def setanno(node: ast.AST, key: object, value: object, field_name: str = _FIELD) -> None:
    """Writes a note on a node."""
    notes = getattr(node, field_name, None)
    if notes is None:
        notes = {}
        setattr(node, field_name, notes)
        if field_name not in node._fields:
            node._fields = (*node._fields, field_name)  # copies of the node have the notes too
    notes[key] = value


def delanno(node: ast.AST, key: object, field_name: str = _FIELD) -> None:
    """Takes a note from a node."""
    notes = getattr(node, field_name)
    del notes[key]
    if not notes:
        delattr(node, field_name)
        node._fields = tuple(field for field in node._fields if field != field_name)


def copyanno(from_node: ast.AST, to_node: ast.AST, key: object, field_name: str = _FIELD) -> None:
    """Writes the note of one node, if it has it, on another."""
    if hasanno(from_node, key, field_name):
        setanno(to_node, key, getanno(from_node, key, field_name=field_name), field_name)


def dup(node: ast.AST, copy_map: Mapping[Any, Any], field_name: str = _FIELD) -> None:
    """Repeats notes of a tree under other keys: those under the keys of `copy_map`, under its values."""
    for each in ast.walk(node):
        for old, new in copy_map.items():
            if hasanno(each, old, field_name):
                setanno(each, new, getanno(each, old, field_name=field_name), field_name)
