"""Variables held by reference: the ops that make, test and assign them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfcompat._src.base import checks, errors
from tfcompat._src.graph.op_spec import (
    HOST,
    NAMES_VARIABLE,
    Effects,
    Facts,
    NotDifferentiable,
    op,
    overwrites,
    reads,
    updates,
)
from tfcompat._src.graph.shape_inference import (
    InferenceContext,
    from_attr,
    merge,
    merged_inputs,
    scalar,
    unchanged,
    with_rank,
)
from tfcompat._src.graph.tensor import shape_text

NO_GRADIENT = NotDifferentiable("state has no gradient")
UNDEFINED = NotDifferentiable("state has no gradient", raises=True)
CREATES = Effects(creates=True)


def no_kernel() -> None:
    """Handle ops are not computed: the Session holds what they stand for."""


def _legacy_shape(c: InferenceContext) -> list:
    """`Variable` cannot tell a scalar from an unknown shape."""
    return [c.attr("shape").sizes or None]


_HANDLE = '(*, shape: shape, dtype: type, container: string = "", shared_name: string = "") -> (ref: Ref(dtype))'
op("VariableV2", _HANDLE, shape=from_attr("shape"), kernel=no_kernel, gradient=NO_GRADIENT, effects=CREATES, facts=NAMES_VARIABLE)
op("Variable", _HANDLE, shape=_legacy_shape, kernel=no_kernel, gradient=NO_GRADIENT, effects=CREATES, facts=NAMES_VARIABLE)
op(
    "TemporaryVariable", '(*, shape: shape, dtype: type, var_name: string = "") -> (ref: Ref(dtype))',
    shape=from_attr("shape"), kernel=no_kernel, gradient=NO_GRADIENT, effects=CREATES, facts=NAMES_VARIABLE,
)  # fmt: skip


@op("DestroyTemporaryVariable", "(ref: Ref(T), *, T: type, var_name: string) -> (value: T)", shape=unchanged,
    gradient=UNDEFINED, effects=reads("ref"), fold=True)  # fmt: skip
def _destroy(value):
    return value


@op("IsVariableInitialized", "(ref: Ref(dtype), *, dtype: type) -> (is_initialized: bool)", shape=scalar,
    gradient=NO_GRADIENT, side=HOST, context=True, facts=Facts(tells_status=True))  # fmt: skip
def _is_initialized(context, ref):
    return np.bool_(context.is_initialized(context.op.inputs[0] if ref is None else ref))


def _assign_shape(c: InferenceContext) -> list:
    return [merge(c.inputs[0], c.inputs[1]) if c.attr("validate_shape") else c.inputs[1]]


@op("Assign", "(ref: Ref(T), value: T, *, T: type, validate_shape: bool = True, use_locking: bool = True) "
    "-> (output_ref: Ref(T))",
    shape=_assign_shape, gradient=NO_GRADIENT, effects=overwrites("ref"), fold=True, facts=Facts(hands_on="value"))  # fmt: skip
def _assign(ref, value, *, validate_shape):
    if validate_shape:
        wanted = ref.shape if ref is not None else checks.COLLECTOR.op.inputs[0]._sizes
        if wanted is not None and None not in wanted and tuple(wanted) != value.shape:
            raise errors.InvalidArgumentError(
                None, None, "Assign requires shapes of both tensors to match. "
                f"lhs shape= {shape_text(wanted)} rhs shape= {shape_text(value.shape)}",
            )  # fmt: skip
    return value


def require_same_size(ref: Any, value: Any) -> None:
    if ref.shape != value.shape:
        raise errors.InvalidArgumentError(None, None, "Parameters and update must be the same size")


def _add(ref, value):
    require_same_size(ref, value)
    return ref + value


def _subtract(ref, value):
    require_same_size(ref, value)
    return ref - value


_UPDATE = "(ref: Ref(T), value: T, *, T: NUMBER, use_locking: bool = False) -> (output_ref: Ref(T))"
op("AssignAdd", _UPDATE, shape=merged_inputs, kernel=_add, gradient=NO_GRADIENT, effects=updates("ref"), fold=True)
op("AssignSub", _UPDATE, shape=merged_inputs, kernel=_subtract, gradient=NO_GRADIENT, effects=updates("ref"), fold=True)


@op("CountUpTo", "(ref: Ref(T), *, limit: int, T: INDEX) -> (output: T)", shape=lambda c: [with_rank(c.inputs[0], 0)],
    gradient=NO_GRADIENT, effects=updates("ref"), fold=True)  # fmt: skip
def count_up_to(value, *, limit):
    if value.ndim:
        raise errors.InvalidArgumentError(None, None, f"input is not a scalar: {shape_text(value.shape)}")
    checks.require(value < limit, "Reached limit of {}", limit, error=errors.OutOfRangeError)
    return value + value.dtype.type(1), value
