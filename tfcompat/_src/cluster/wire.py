"""Encoding of values and errors between processes: arrays as TensorProto messages, errors as codes and texts that name nodes."""

from __future__ import annotations

import re
import traceback
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from tfcompat._src.base import dtypes, errors
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.graph import tensor_proto
from tfcompat._src.graph.graph import Graph
from tfcompat._src.platform import logging
from tfcompat._src.proto import messages

DERIVED = "[_Derived_]"
"""TensorFlow's mark in the text of an error that is the consequence of another task's error."""
FAILURES = (Exception,)
"""Errors of work for another process that are sent to it: all of them."""
_LONGEST_STATUS_TEXT = 3072
"""Characters of an error in a gRPC status, which is metadata: gRPC limits that to 8 KiB by default."""
_TAG = re.compile(r"\{\{node ([^}\s]+)\}\}")
_NODE = re.compile(r"\[\[\{\{node ([^}\s]+)\}\}\]\]")
_NODE_WITH_PLACE = re.compile(r"\[\[node (\S+) \(defined at .*?\) ?\]\].*", re.DOTALL)


def to_proto(value: Any, dtype: dtypes.DType) -> Any:
    """Encodes a value of this dtype as a TensorProto; numbers are raw bytes in tensor_content.

    Raises:
      errors.InvalidArgumentError: tensors of this dtype (resource, variant) cannot leave their process.
    """
    base = dtype.base_dtype
    if not (base == dtypes.string or base.is_numpy_compatible):
        raise errors.InvalidArgumentError(
            None, None, f"A tensor of type {base.name} cannot be sent to another process: place the operations that use it on its task."
        )  # fmt: skip
    array = np.asarray(value)
    proto = messages.TensorProto(dtype=base.as_datatype_enum)
    # The shape is set even if it is (), which has no dimensions to add.
    proto.tensor_shape.SetInParent()
    for size in array.shape:
        proto.tensor_shape.dim.add(size=size)
    if base == dtypes.string:
        proto.string_val.extend(s.encode() if isinstance(s, str) else bytes(s) for s in array.ravel().tolist())
    else:
        proto.tensor_content = array.astype(plain(base), copy=False).tobytes()
    return proto


def plain(base: dtypes.DType) -> np.dtype[Any]:
    """Returns the NumPy dtype of a tensor's bytes. Quantized dtypes are records of one integer; this is the integer."""
    found = np.dtype(base.as_numpy_dtype)
    return found if found.names is None else found[0]


def from_proto(proto: Any) -> NDArray:
    """Decodes a TensorProto; the array is read-only if it shares memory with the message.

    Raises:
      errors.InvalidArgumentError: the message is malformed, or its dtype has no arrays.
    """
    try:
        dtype = dtypes.as_dtype(proto.dtype)
        if not proto.tensor_content or dtype == dtypes.string:
            return tensor_proto.parse(proto)
        return np.frombuffer(proto.tensor_content, dtype.as_numpy_dtype).reshape(tensor_proto.shape_of(proto))
    except (TypeError, ValueError) as e:
        raise errors.InvalidArgumentError(None, None, f"Cannot read a tensor that another process sent: {e}") from None


def on_host(value: Any) -> Any:
    """Copies a JAX array to the host as NumPy; returns other values unchanged."""
    return np.asarray(value) if isinstance(value, jax.Array) else value


# ---- errors ----


def status_of(error: BaseException) -> tuple[int, str]:
    """Returns the code and the text of an error; the text names nodes as `{{node NAME}}`, as TensorFlow's does between processes."""
    # The receiver's graph knows where the user made a node; the place where this process made its copy is dropped.
    if isinstance(error, errors.OpError):
        text = _NODE_WITH_PLACE.sub(lambda match: f"[[{{{{node {match[1]}}}}}]]", error.message)
        if error.op is not None and not _NODE.search(text):
            text = f"{text}\n\t [[{{{{node {error.op.name}}}}}]]"
        return error.error_code or errors.UNKNOWN, text
    if isinstance(error, NotImplementedError):
        return errors.UNIMPLEMENTED, str(error)
    if isinstance(error, (ValueError, TypeError, RuntimeError)):
        return errors.INVALID_ARGUMENT, str(error)
    # Anything else is a defect of this process: its traceback is logged here, as the caller sees the message only.
    logging.error("".join(traceback.format_exception(error)))
    return errors.INTERNAL, f"{type(error).__name__}: {error}"


def error_of(code: int, text: str, graph: Graph | None = None) -> errors.OpError:
    """Makes the error of a code and a text. With a graph, node tags are replaced by where the nodes were made, and `op` is the failed node."""
    if graph is None:
        return errors._make_specific_exception(None, None, text, code)
    # The first node that this graph knows: a text may also name nodes that the master or a worker has added.
    failed = (graph._nodes_by_name.get(name) for name in _NODE.findall(text))
    op = next((op for op in failed if op is not None), None)

    def with_place(match: re.Match[str]) -> str:
        node = graph._nodes_by_name.get(match[1])
        return match[0] if node is None else f"node {match[1]} {errors.defined_at(node)} "

    return errors._make_specific_exception(op.node_def if op else None, op, _TAG.sub(with_place, text), code)


def status_text(text: str) -> str:
    """Truncates a text to what a gRPC status can carry."""
    return text[:_LONGEST_STATUS_TEXT]


def joined(failures: Sequence[tuple[int, str]]) -> tuple[int, str]:
    """Joins the errors of several tasks into one code and text, in TensorFlow's words.

    Derived errors are dropped if there is an original one, then CancelledError if there is another one: they are consequences.
    """
    roots = list(dict.fromkeys(f for f in failures if DERIVED not in f[1])) or [
        (code, text.replace(DERIVED, "")) for code, text in failures
    ]
    # Cancelled parts were stopped because of another failure.
    named = [f for f in roots if f[0] != errors.CANCELLED] or roots
    if len(named) == 1:
        return named[0]
    listed = "\n".join(f"  ({i}) {errors.exception_type_from_error_code(code).__name__}: {text}" for i, (code, text) in enumerate(named))
    return named[0][0], f"{len(named)} root error(s) found.\n{listed}\n0 successful operations.\n0 derived errors ignored."
