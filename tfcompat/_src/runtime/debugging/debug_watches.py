"""Parses `RunOptions.debug_options`: which tensors are watched, by which debug ops, and the URLs that these write to."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.base.dtypes import DType
from tfcompat._src.graph import op_spec
from tfcompat._src.graph.op_spec import OpSpec
from tfcompat._src.io import debug_urls
from tfcompat._src.ops.control import debug_ops
from tfcompat._src.proto import messages

Attribute = bool | float | str
"""The value of an attribute of a debug op."""
_NAME = re.compile(r"(?P<op>[^()]+)(\((?P<attributes>[^()]*)\))?")


IF_NOT_FINITE: dict[str, str | None] = {}
"""URLs that only need dumps of runs in which a tensor is infinite or NaN -> regular expression of nodes that do not count, or None.

A debugger registers its dump folder here, as DebugOptions have no field for this."""


@dataclass(frozen=True)
class DebugOp:
    """A debug op of a watch, with the attributes that the watch sets, by name."""

    spec: OpSpec
    attrs: dict[str, Attribute]

    @property
    def is_gated(self) -> bool:
        """Whether it sends tensors over gRPC only when the server asks for them."""
        return self.attrs.get("gated_grpc") is True

    def shown(self, dtype: DType, shape: tuple[int, ...] | None, value: object) -> messages.TensorProto | None:
        """The op's output for a watched tensor; see `debug_ops.shown`."""
        output: messages.TensorProto | None = debug_ops.shown(self.spec.name, dtype, shape, value, self.attrs)
        return output


@dataclass(frozen=True)
class Watch:
    """A watch: debug ops ("DebugOp(name=value; ...)"), the URLs that they write to, and whether invalid debug ops are skipped."""

    ops: tuple[str, ...]
    urls: tuple[str, ...]
    tolerant: bool


class Watches:
    """The watches of a run.

    Args:
      options: the DebugOptions, as tfdbg's `watch_graph` and others make them.

    Raises:
      errors.FailedPreconditionError: a watch has an invalid output slot. errors.UnavailableError: a URL has an unknown scheme.
    """

    def __init__(self, options: messages.DebugOptions) -> None:
        self._by_tensor: dict[str, Watch] = {}
        every: list[Watch] = []
        for each in options.debug_tensor_watch_opts:
            # As in 1.15, a watch without debug ops or without URLs is ignored.
            if not each.debug_ops or not each.debug_urls:
                continue
            watch = Watch(tuple(each.debug_ops), tuple(each.debug_urls), each.tolerate_debug_op_creation_failures)
            if each.node_name != "*":
                if each.output_slot < 0:
                    raise _precondition(
                        'A negative output_slot in DebugTensorWatch is valid only for the wildcard node name ("*"), but got node name '
                        f"{each.node_name}"
                    )
                self._by_tensor[f"{each.node_name}:{each.output_slot}"] = watch
            elif each.output_slot == -1:
                every.append(watch)
            else:
                raise _precondition(f'output_slot is expected to be -1 for wildcard node name ("*"), but got {each.output_slot}')
        # The node name "*" watches every tensor that has no watch of its own, but 1.15 heeds it only if there is another watch.
        both = Watch(tuple(o for w in every for o in w.ops), tuple(u for w in every for u in w.urls), False)
        self._every = both if every and self._by_tensor else None
        self.urls = list(dict.fromkeys(u for w in (*self._by_tensor.values(), *every) for u in w.urls))
        for url in self.urls:
            debug_urls.check(url)

    def counts(self, name: str) -> bool:
        """Whether an infinity or NaN in the tensor with this name is a reason to dump the run."""
        watch, node = self.of(name), name.rpartition(":")[0]
        excluded = [IF_NOT_FINITE.get(url) for url in watch.urls] if watch else []
        return watch is not None and not any(pattern and re.match(pattern, node) for pattern in excluded)

    def of(self, name: str) -> Watch | None:
        """The watch of the tensor with this name ("NODE:SLOT"), or None."""
        return self._by_tensor.get(name, self._every)


def _precondition(text: str) -> errors.FailedPreconditionError:
    return errors.FailedPreconditionError(None, None, text)


def debug_ops_of(watch: Watch, name: str, dtype: DType) -> list[tuple[int, DebugOp]]:
    """The debug ops of a watched tensor, each with its index in the watch; a tolerant watch skips invalid ones.

    Raises:
      errors.FailedPreconditionError: an op does not exist, has no such attribute, or does not take tensors of this dtype.
    """
    valid = []
    for index, text in enumerate(watch.ops):
        try:
            valid.append((index, _debug_op(text, index, name, dtype)))
        except errors.InvalidArgumentError as e:
            if not watch.tolerant:
                raise _precondition(f"Failed to create debug node {text} for tensor {name}, due to: {e.message}") from e
    return valid


def _debug_op(text: str, index: int, name: str, dtype: DType) -> DebugOp:
    """Parses one debug op and validates it against the op's signature and the tensor's dtype. Messages are 1.15's."""
    op_type, given = parsed(text)
    if op_type not in debug_ops.TAKEN:
        raise _invalid(f"Failed to create node definition for debug op {op_type} on watched tensor {name}")
    taken = debug_ops.TAKEN[op_type]
    if taken is not None and dtype.base_dtype.name not in taken:
        raise _invalid(f"Failed to find kernel definition for debug op {op_type} on watched tensor {name}")
    spec = op_spec.get(op_type)
    node = f"__dbg_{name}_{index}_{op_type}"
    unknown = [key for key in given if key not in spec.signature.attrs]
    if unknown:
        raise _invalid(f"{len(unknown)} attribute key(s) were not valid for debug node {node}: {', '.join(unknown)}")
    return DebugOp(spec, {key: _attribute(spec.signature.attrs[key].kind, key, value, node) for key, value in given.items()})


def parsed(text: str) -> tuple[str, dict[str, str]]:
    """Splits "DebugOp(name=value; ...)" into the op's type and the attributes; InvalidArgumentError where it is malformed."""
    match = _NAME.fullmatch(text)
    if match is None:
        raise _invalid(f'Malformed debug op name "{text}"')
    attributes: dict[str, str] = {}
    for part in filter(None, map(str.strip, (match["attributes"] or "").split(";"))):
        key, sign, value = part.partition("=")
        if not (key and sign and value):
            raise _invalid(f'Malformed attributes in debug op name "{text}"')
        if key in attributes:
            raise _invalid(f'Duplicate attribute name "{key}" found in the debug op: "{text}"')
        attributes[key] = value
    return match["op"], attributes


def _attribute(kind: str, key: str, value: str, node: str) -> Attribute:
    """Parses the text of an attribute's value by the attribute's kind ("bool", "float", "string")."""
    truth = {"true": True, "1": True, "false": False, "0": False}
    if kind == "bool" and value.lower() in truth:
        return truth[value.lower()]
    if kind == "float":
        try:
            return float(np.float32(value))
        except ValueError:
            pass
    if kind == "string":
        return value
    raise _invalid(f'Invalid value string for {kind}-type attribute {key} of debug node {node}: "{value}"')


def _invalid(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, text)


def is_watching(options: messages.RunOptions) -> bool:
    """Whether the options of a run ask for the debugger: a watch without URLs does not."""
    return any(watch.debug_urls for watch in options.debug_options.debug_tensor_watch_opts)


def gated(ops: Iterable[str]) -> list[tuple[str, bool]]:
    """(op type, whether it has `gated_grpc=true`) of debug ops given as text."""
    parts = [parsed(text) for text in ops]
    return [(op_type, given.get("gated_grpc", "").lower() in ("true", "1")) for op_type, given in parts]
