"""The ops of graphs that the TensorFlow debugger has changed: copies, counts and summaries of tensors."""

from __future__ import annotations

import functools
import math

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.base.dtypes import as_dtype
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, NotDifferentiable, op

_WATCHED = NotDifferentiable("1.15 has no gradient of copies for the debugger", raises=True)
_SUMMARIZED = frozenset(("float32", "float64", "int32", "uint8", "int16", "int8", "int64", "bool"))

for _name in ("Copy", "CopyHost"):
    op(_name, '(input: T, *, T: type, tensor_name: string = "", debug_ops_spec: list(string) = []) -> (output: T)',
       shape=si.unchanged, gradient=_WATCHED, fold=lambda x: x, kernel=lambda x: x)  # fmt: skip


def _check_target(tensor_name: str, debug_urls: tuple) -> None:
    node, _, slot = tensor_name.rpartition(":")
    if not node or not slot.isdigit():
        raise errors.InvalidArgumentError(None, None, f'Failed to parse tensor name: "{tensor_name}"')
    if debug_urls:
        raise errors.UnimplementedError(None, None, f"tfcompat sends no tensors to debuggers (debug_urls: {list(debug_urls)}).")


def _debug_identity(x, *, tensor_name, debug_urls):
    _check_target(tensor_name, debug_urls)
    return x


def _nan_count(x, *, tensor_name, debug_urls):
    _check_target(tensor_name, debug_urls)
    return np.array([np.isnan(x).sum() if x.dtype.kind == "f" else 0], np.int64)


def _summary(x, *, tensor_name, debug_urls, lower_bound, upper_bound):
    """Counts of kinds of values, and minimum, maximum, mean and variance of those that are finite."""
    _check_target(tensor_name, debug_urls)
    if x.dtype.name not in _SUMMARIZED:
        raise errors.InvalidArgumentError(None, None, f"DebugNumericSummary takes no tensors of type {x.dtype.name}.")
    values = x.reshape(-1).astype(np.float64)
    is_nan = np.isnan(values)
    low = (values <= lower_bound) & ~is_nan
    high = (values >= upper_bound) & ~is_nan & ~low
    between = ~(is_nan | low | high)
    counts = [values.size, is_nan, low, between & (values < 0), between & (values == 0), between & (values > 0), high]
    numbers = [float(np.sum(c)) for c in counts]
    finite = values[np.isfinite(values)]
    extremes = [finite.min(), finite.max(), finite.mean(), finite.var()] if finite.size else [math.inf, -math.inf, math.nan, math.nan]
    return np.array([1.0, *numbers, *extremes, as_dtype(x.dtype).as_datatype_enum, x.ndim, *x.shape])


_ATTRS = 'device_name: string = "", tensor_name: string = "", debug_urls: list(string) = []'
_debug = functools.partial(op, gradient=_WATCHED, place=HOST)
_GATED = "gated_grpc: bool = False"
_debug("DebugIdentity", f"(input: T, *, T: type, {_ATTRS}, {_GATED}) -> (output: T)", shape=si.unchanged, kernel=_debug_identity)
_debug("DebugNanCount", f"(input: T, *, T: type, {_ATTRS}, {_GATED}) -> (output: int64)", shape=si.scalar, kernel=_nan_count)
_debug(
    "DebugNumericSummary",
    f"(input: T, *, T: type, {_ATTRS}, lower_bound: float = -1e999, upper_bound: float = 1e999, "
    f"mute_if_healthy: bool = False, {_GATED}) -> (output: float64)",
    shape=si.unknown, kernel=_summary,
)  # fmt: skip
