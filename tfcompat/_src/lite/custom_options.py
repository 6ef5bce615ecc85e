"""Options of custom operators, as TOCO (TensorFlow 1.15) writes them: flexbuffers of a node's attributes, or of the whole node."""

from __future__ import annotations

import importlib
import json
import pathlib
from typing import TYPE_CHECKING, Any

from google.protobuf.message import DecodeError

from tfcompat._src.graph.operation import Operation
from tfcompat._src.proto import messages

if TYPE_CHECKING:
    from types import ModuleType

FLEX = "Flex"
"""Custom codes of TensorFlow's ops in a model are this and the op type."""
FLEX_OPS: frozenset[str] = frozenset(json.loads((pathlib.Path(__file__).parent / "flex_ops.json").read_text()))
"""Op types that TensorFlow 1.15 lets into a model (lite/delegates/flex/whitelisted_flex_ops.cc)."""


def is_flex(custom_code: str) -> bool:
    """Whether an operator is an op of TensorFlow."""
    return custom_code.startswith(FLEX) and custom_code.removeprefix(FLEX) in FLEX_OPS


def of_attributes(op: Operation) -> bytes:
    """A map of a node's attributes by name; empty where no attribute is a string, a number, a bool or a list of those.

    Attributes of other kinds (dtypes, shapes, tensors, functions) are left out, as TOCO does.
    """
    builder = _flexbuffers().Builder()
    written = 0
    with builder.Map():
        for name, value in sorted(op.node_def.attr.items()):
            kind = value.WhichOneof("value")
            listed = [k for k in _KINDS if getattr(value.list, k)] if kind == "list" else []
            if kind not in _KINDS and not listed:
                continue
            written += 1
            builder.Key(name)
            if kind in _KINDS:
                _add(builder, kind, getattr(value, kind))
            else:
                with builder.TypedVector():
                    for item in getattr(value.list, listed[0]):
                        _add(builder, listed[0], item)
    return bytes(builder.Finish()) if written else b""


def of_node(op: Operation, inputs: list[str]) -> bytes:
    """A vector of two strings: the op type and the serialized NodeDef, whose inputs have the names `inputs`."""
    node = op.node_def
    node.input[:] = inputs
    builder = _flexbuffers().Builder()
    with builder.Vector():
        _add(builder, "s", op.type.encode())
        _add(builder, "s", node.SerializeToString())
    return bytes(builder.Finish())


def read_node(options: bytes) -> messages.NodeDef:
    """The NodeDef that `of_node` wrote.

    Raises:
      ValueError: the options are no vector of an op type and a NodeDef.
    """
    try:
        return messages.NodeDef.FromString(bytes(_flexbuffers().GetRoot(bytearray(options)).AsVector[1].AsStringBytes))
    except (IndexError, TypeError, DecodeError) as error:
        raise ValueError(f"The options of an operator of TensorFlow are no vector of an op type and a NodeDef ({error}).") from error


def read_map(content: bytes) -> dict[str, Any]:
    """The attributes that `of_attributes` wrote; ValueError where the bytes are no map."""
    try:
        found = _flexbuffers().Loads(bytearray(content))
    except (IndexError, ValueError) as error:
        raise ValueError(f"The options of a custom operator are damaged ({error}).") from error
    if not isinstance(found, dict):
        raise ValueError("The options of a custom operator are no map of attributes.")
    return found


_KINDS = ("s", "i", "f", "b")


def _add(builder: Any, kind: str, value: Any) -> None:
    if kind == "s":  # String() takes text alone, and these bytes need not be UTF-8
        builder._WriteBlob(value, True, _flexbuffers().Type.STRING)
    else:
        {"i": builder.Int, "f": builder.Float, "b": builder.Bool}[kind](value)


def _flexbuffers() -> ModuleType:
    try:
        return importlib.import_module("flatbuffers.flexbuffers")
    except ImportError:
        raise ImportError("Options of custom operators need the package flatbuffers: pip install tfcompat[lite].") from None
