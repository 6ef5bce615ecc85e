"""Sequences of numbers: Range and LinSpace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import checks, dtypes, errors
from tfcompat._src.base.export import export
from tfcompat._src.graph.op_spec import NotDifferentiable, op
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.shape_inference import with_rank
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant, to_tensor
from tfcompat._src.ops.array.shape import rank
from tfcompat._src.ops.math.cast import cast

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.graph.shape_inference import InferenceContext


def all_dimensions(x: TensorLike) -> Tensor:
    """The vector of the dimensions of `x`: 0, 1, ..., rank - 1."""
    ndims = x.shape.ndims if isinstance(x, Tensor) else None
    if ndims is None:
        return arange(0, rank(x))
    return constant(np.arange(ndims), dtypes.int32)


_NO_GRADIENT = NotDifferentiable("a sequence has no derivative")


def _shown(x: Any) -> str:
    return str(x) if x.dtype.kind in "iu" else f"{float(x):g}"


def _range_length(start: Any, limit: Any, delta: Any) -> int | None:
    """The number of elements, None where that is no number; ValueError where `delta` does not lead from start to limit."""
    if delta == 0:
        raise ValueError("Requires delta != 0")
    if delta > 0 and start > limit:
        raise ValueError(f"Requires start <= limit when delta > 0: {_shown(start)}/{_shown(limit)}")
    if delta < 0 and start < limit:
        raise ValueError(f"Requires start >= limit when delta < 0: {_shown(start)}/{_shown(limit)}")
    if start.dtype.kind in "iu":
        length = -(-abs(int(limit) - int(start)) // abs(int(delta)))
    else:
        length = np.ceil(np.abs((limit - start) / delta))
    return int(length) if float(length) < 2**63 else None


def _range_shape(c: InferenceContext) -> list:
    for sizes in c.inputs:
        with_rank(sizes, 0)
    values = [c.value(i) for i in range(3)]
    return [(None,)] if any(v is None for v in values) else [(_range_length(*values),)]


@op("Range",
    "(start: Tidx, limit: Tidx, delta: Tidx, *, Tidx: {bfloat16, float32, float64, int32, int64} = int32) -> (output: Tidx)",
    shape=_range_shape, gradient=_NO_GRADIENT, constants=("start", "limit", "delta"), fold=True)  # fmt: skip
def _range(start, limit, delta):
    for name, value in (("start", start), ("limit", limit), ("delta", delta)):
        if np.ndim(value):
            raise errors.InvalidArgumentError(None, None, f"{name} must be a scalar, not shape {shape_text(np.shape(value))}")
    try:
        length = _range_length(start, limit, delta)
    except ValueError as e:
        raise errors.InvalidArgumentError(None, None, str(e)) from None
    if length is None:
        raise _uncountable(start, limit, delta)
    if start.dtype.kind in "iu":
        return (int(start) + int(delta) * np.arange(length)).astype(start.dtype)
    steps = np.full(length, delta, start.dtype)
    steps[:1] = start
    return np.add.accumulate(steps, dtype=start.dtype)


def _uncountable(start: Any, limit: Any, delta: Any) -> errors.OpError:
    text = f"Dimension {-(2**63)} must be >= 0"
    if start.dtype.kind in "iu":
        return errors.ResourceExhaustedError(None, None, f"a range from {start} to {limit} has more elements than memory: {text}")
    if delta > 0 and not start <= limit:
        text = f"Requires start <= limit when delta > 0: {_shown(start)}/{_shown(limit)}"
    elif not delta > 0 and not start >= limit:
        text = f"Requires start >= limit when delta < 0: {_shown(start)}/{_shown(limit)}"
    return errors.InvalidArgumentError(None, None, text)


def _linspace_shape(c: InferenceContext) -> list:
    for sizes in c.inputs:
        with_rank(sizes, 0)
    num = c.value(2)
    if num is not None and num <= 0:
        raise ValueError(f"Requires num > 0: {num}")
    return [(None if num is None else int(num),)]


@op("LinSpace",
    "(start: T, stop: T, num: Tidx, *, T: {bfloat16, float32, float64}, Tidx: INDEX = int32) -> (output: T)",
    shape=_linspace_shape, gradient=_NO_GRADIENT, constants=("start", "stop", "num"), fold=True)  # fmt: skip
def _linspace(start, stop, num):
    for label, value in (("start", start), ("stop", stop), ("num", num)):
        checks.scalar(label, value, "must be a scalar, not shape {}")
    if num <= 0:
        raise errors.InvalidArgumentError(None, None, f"Requires num > 0: {num}")
    if num == 1:
        return np.reshape(start, (1,))
    step = (stop - start) / (num - 1).astype(start.dtype)
    values = start + step * np.arange(num).astype(start.dtype)
    values[0], values[-1] = start, stop
    return values


_INFERRED = (dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64)


@export("range")
def arange(start, limit=None, delta=1, dtype=None, name="range"):
    """The numbers from `start` up to, not including, `limit` in steps of `delta`; `range(n)` starts at 0.

    Args:
      start, limit, delta: scalar Tensors or numbers; delta is not 0.
      dtype: int32, int64, float32, float64 or bfloat16; by default the widest of the arguments'.
      name: node name.

    Returns:
      a Tensor of rank 1.

    Raises:
      ValueError: delta is 0 or leads away from `limit`. AssertionError: an argument is neither int nor float.
    """
    if limit is None:
        start, limit = 0, start
    with name_scope(name, "Range", [start, limit, delta]) as scope:
        wanted = None if dtype is None else dtypes.as_dtype(dtype)
        values = [to_tensor(v, wanted, n) for v, n in ((start, "start"), (limit, "limit"), (delta, "delta"))]
        if dtype is None:
            if any(v.dtype.base_dtype not in _INFERRED for v in values):
                raise AssertionError(f"a range has no dtype where its arguments are {[v.dtype.name for v in values]}")
            found = max((v.dtype.base_dtype for v in values), key=_INFERRED.index)
            values = [cast(v, found) for v in values]
        return raw.Range(*values, name=scope)


arange.__name__ = "range"


@export("linspace", "lin_space")
def linspace(start, stop, num, name=None):
    """`num` evenly spaced numbers from `start` to `stop`, both included; a Tensor [num] of the dtype of `start`."""
    return raw.LinSpace(start, stop, num, name=name)
