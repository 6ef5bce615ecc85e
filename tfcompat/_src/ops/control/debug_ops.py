"""The ops of graphs that the TensorFlow debugger has changed: copies, counts and summaries of tensors."""

from __future__ import annotations

import functools
import math

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.base.dtypes import as_dtype
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, NotDifferentiable, op
from tfcompat._src.io import debug_files
from tfcompat._src.io import debug_urls as urls

_WATCHED = NotDifferentiable("1.15 has no gradient of copies for the debugger", raises=True)
_NUMERIC = frozenset(("float16", "float32", "float64", "bfloat16", "int8", "uint8", "int16", "uint16", "int32", "int64"))
_SUMMARIZED = frozenset(("float32", "float64", "int32", "uint8", "int16", "int8", "int64", "bool"))
COPY = "Copy"
"""What copies a watched tensor."""
TAKEN = {"DebugIdentity": None, "DebugNanCount": _NUMERIC, "DebugNumericSummary": _SUMMARIZED}
"""The types of debug ops, and the dtypes that each takes: None stands for all."""

for _name in ("Copy", "CopyHost"):
    op(_name, '(input: T, *, T: type, tensor_name: string = "", debug_ops_spec: list(string) = []) -> (output: T)',
       shape=si.unchanged, gradient=_WATCHED, fold=lambda x: x, kernel=lambda x: x)  # fmt: skip


def shown(op_type, dtype, shape, value, attrs):
    """What a debug op shows of a watched tensor, as a TensorProto, or None where it is mute.

    Args:
      op_type: the debug op. dtype, shape: those of the tensor.
      value: an array; the bytes of a handle; None where the tensor has no value yet. attrs: attributes of the op that are not their defaults.
    """
    if op_type != "DebugIdentity":
        found = _measured(op_type, dtype, shape, value, attrs)
        return None if found is None else debug_files.tensor_proto(found)
    if value is None:
        return debug_files.empty_proto(dtype, shape)
    return debug_files.handle_proto(dtype, value) if isinstance(value, bytes) else debug_files.tensor_proto(value)


def _measured(op_type, dtype, shape, value, attrs):
    """What DebugNanCount or DebugNumericSummary gives of a tensor, or None where it is mute."""
    if op_type == "DebugNanCount":
        return np.array([0 if value is None else _nans(value)], np.int64)
    found = _measures(dtype, shape, value, attrs.get("lower_bound", -math.inf), attrs.get("upper_bound", math.inf))
    is_healthy = not found[2:4].any() and not found[7]
    return None if attrs.get("mute_if_healthy") and is_healthy else found


def _nans(x):
    return np.isnan(x.astype(np.float64)).sum()


def _measures(dtype, shape, x, lower_bound, upper_bound):
    """Counts of kinds of values, and minimum, maximum, mean and variance of those that are finite."""
    values = np.zeros(0) if x is None else x.reshape(-1).astype(np.float64)
    is_nan = np.isnan(values)
    low = (values <= lower_bound) & ~is_nan
    high = (values >= upper_bound) & ~is_nan & ~low
    between = ~(is_nan | low | high)
    counts = [values.size, is_nan, low, between & (values < 0), between & (values == 0), between & (values > 0), high]
    numbers = [float(np.sum(c)) for c in counts]
    finite = values[np.isfinite(values)]
    extremes = [finite.min(), finite.max(), finite.mean(), finite.var()] if finite.size else [math.inf, -math.inf, math.nan, math.nan]
    sizes = shape if x is None else x.shape
    return np.array([float(x is not None), *numbers, *extremes, dtype.base_dtype.as_datatype_enum, len(sizes), *sizes])


def _publish(debug_op, found, device_name, tensor_name, debug_urls, gated_grpc):
    """Writes what a debug op gives to its URLs.

    Raises:
      errors.InvalidArgumentError: the tensor's name has no slot. errors.UnavailableError: a URL is none that the debugger knows.
    """
    node, _, slot = tensor_name.rpartition(":")
    if not node or not slot.isdigit():
        raise errors.InvalidArgumentError(None, None, f'Failed to parse tensor name: "{tensor_name}"')
    for url in urls.open_urls(debug_urls, f"{tensor_name}:{debug_op}", gated_grpc):
        urls.writer(url).write_tensor(url, device_name, tensor_name, debug_op, debug_files.tensor_proto(found), debug_files.now())


def _debug_identity(x, *, device_name, tensor_name, debug_urls, gated_grpc):
    _publish("DebugIdentity", x, device_name, tensor_name, debug_urls, gated_grpc)
    return x


def _nan_count(x, *, device_name, tensor_name, debug_urls, gated_grpc):
    found = _measured("DebugNanCount", None, x.shape, x, {}) if x.dtype.kind not in "Ocb" else np.zeros(1, np.int64)
    _publish("DebugNanCount", found, device_name, tensor_name, debug_urls, gated_grpc)
    return found


def _summary(x, *, device_name, tensor_name, debug_urls, lower_bound, upper_bound, mute_if_healthy, gated_grpc):
    if x.dtype.name not in _SUMMARIZED:
        raise errors.InvalidArgumentError(None, None, f"DebugNumericSummary takes no tensors of type {x.dtype.name}.")
    found = _measures(as_dtype(x.dtype), x.shape, x, lower_bound, upper_bound)
    is_mute = mute_if_healthy and not found[2:4].any() and not found[7]
    _publish("DebugNumericSummary", found, device_name, tensor_name, () if is_mute else debug_urls, gated_grpc)
    return found


_ATTRS = 'device_name: string = "", tensor_name: string = "", debug_urls: list(string) = []'
_debug = functools.partial(op, gradient=_WATCHED, side=HOST)
_GATED = "gated_grpc: bool = False"
_debug("DebugIdentity", f"(input: T, *, T: type, {_ATTRS}, {_GATED}) -> (output: T)", shape=si.unchanged, kernel=_debug_identity)
_debug("DebugNanCount", f"(input: T, *, T: type, {_ATTRS}, {_GATED}) -> (output: int64)", shape=si.scalar, kernel=_nan_count)
_debug(
    "DebugNumericSummary",
    f"(input: T, *, T: type, {_ATTRS}, lower_bound: float = -1e999, upper_bound: float = 1e999, "
    f"mute_if_healthy: bool = False, {_GATED}) -> (output: float64)",
    shape=si.unknown, kernel=_summary,
)  # fmt: skip
