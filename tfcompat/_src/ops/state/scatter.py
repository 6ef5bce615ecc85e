"""Updates of some rows or positions of a variable: the Scatter and ScatterNd ops on references and on resources."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from tfcompat._src.base import checks, errors
from tfcompat._src.base.row_sums import add_rows
from tfcompat._src.graph.op_spec import NotDifferentiable, op, updates
from tfcompat._src.graph.shape_inference import InferenceContext, merge
from tfcompat._src.graph.tensor import shape_text
from tfcompat._src.ops.array.gather import require_index_rows
from tfcompat._src.ops.array.scatter import _scatter_sizes
from tfcompat._src.ops.math.extremes import without_nan
from tfcompat._src.ops.state.index_checks import dropped_on_failure, require_rows
from tfcompat._src.ops.state.ref_variable import NO_GRADIENT, UNDEFINED
from tfcompat._src.ops.state.resource_variable import handle_sizes


def _fail(text: str) -> None:
    raise errors.InvalidArgumentError(None, None, text)


# ---- writing ----


def _write(combine: Callable, old: Any, positions: Any, values: Any) -> Any:
    """`old` with `values` combined in at index vectors `positions[..., :]`; unchanged where a check of the run has
    failed."""
    outer, depth = positions.ndim - 1, positions.shape[-1]
    positions = dropped_on_failure(jnp.asarray(positions), max(old.shape, default=1))
    numbers = lax.ScatterDimensionNumbers(
        update_window_dims=tuple(range(outer, values.ndim)), inserted_window_dims=tuple(range(depth)),
        scatter_dims_to_operand_dims=tuple(range(depth)),
    )  # fmt: skip
    mode = lax.GatherScatterMode.FILL_OR_DROP
    return checks.mark_guarded(combine(jnp.asarray(old), positions, jnp.asarray(values), numbers, mode=mode))


def _divide(old: Any, positions: Any, values: Any, numbers: object, mode: Any) -> Any:
    """Divides rows one after another: a product of divisors would round differently."""
    if not positions.size:
        return old
    rows = positions.reshape(-1)
    divisors = values.reshape(rows.shape + old.shape[1:])

    def divide_row(i: Any, var: Any) -> Any:
        return var.at[rows[i]].set(lax.div(var.at[rows[i]].get(mode="clip"), divisors[i]), mode="drop")

    return lax.fori_loop(0, rows.size, divide_row, old)


def _passing_over_nan(combine: Callable, instead: float) -> Callable:
    """`combine` of minima or maxima, for which NaN among the values counts as `instead`."""

    def extreme(old: object, positions: object, values: object, numbers: object, mode: object) -> Any:
        return combine(old, positions, without_nan(values, instead), numbers, mode=mode)

    return extreme


# ---- by rows ----


def _row_values(old: Any, indices: Any, values: Any) -> tuple[Any, Any]:
    """The checked row numbers, and the updates in full shape; a scalar stands for all of them."""
    wanted = (*indices.shape, *old.shape[1:])
    if values.shape not in ((), wanted):
        _fail(
            "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], got updates.shape "
            f"{shape_text(values.shape)}, indices.shape {shape_text(indices.shape)}, params.shape "
            f"{shape_text(old.shape)}"
        )
    indices = require_rows(indices, old.shape[0], updating=True)
    return indices, (np if isinstance(values, np.ndarray) else jnp).broadcast_to(values, wanted)


def _row_kernel(combine: Callable) -> Callable:
    def kernel(old, indices, values):
        indices, values = _row_values(old, indices, values)
        if combine is _divide and values.dtype.kind in "iu":
            checks.require(jnp.all(values != 0), "Integer division by zero")
        return _write(combine, old, indices[..., None], values)

    return kernel


def _numpy_rows(old, indices, values):
    new = np.array(old)
    indices, values = _row_values(old, indices, values)
    new[indices] = values
    return new


def _near_rows(sign: int) -> Callable:
    """The NumPy twin of a kernel that adds rows to a variable, times `sign`."""

    def kernel(old, indices, values):
        new = np.array(old)
        indices, values = _row_values(old, indices, values)
        add_rows(new, indices.reshape(-1), (values if sign > 0 else -values).reshape(indices.size, *old.shape[1:]))
        return new

    return kernel


_NEAR_ROWS = {lax.scatter_add: _near_rows(1), lax.scatter_sub: _near_rows(-1)}


def _row_shape(c: InferenceContext, variable: Any) -> None:
    indices, values = c.inputs[1], c.inputs[2]
    if values != () and indices is not None and variable is not None:
        merge(values, indices + variable[1:])


def _ref_row_shape(c: InferenceContext) -> list:
    _row_shape(c, c.inputs[0])
    return [c.inputs[0]]


def _resource_row_shape(c: InferenceContext) -> list:
    _row_shape(c, handle_sizes(c))
    return []


# ---- by index vectors ----


def _check_positions(old: Any, indices: Any, values: Any) -> None:
    if values.shape[:1] != indices.shape[:1]:
        _fail(
            "The outermost dimension of updates and indices must match. "
            f"Got indices.shape {shape_text(indices.shape)}, updates.shape {shape_text(values.shape)}"
        )
    outer, depth = indices.ndim - 1, indices.shape[-1]
    if depth > old.ndim or values.shape != (*indices.shape[:-1], *old.shape[depth:]):
        _fail(
            "Must have updates.shape = indices.shape[:batch_dim] + params_shape[slice_dim:], got updates.shape: "
            f"{shape_text(values.shape)}, indices.shape: {shape_text(indices.shape)}, params_shape: "
            f"{shape_text(old.shape)}, "
            f"slice_dim: {depth}, and batch_dim: {outer}"
        )
    require_index_rows(indices, old.shape, f"shape {shape_text(old.shape)}")


def _position_kernel(combine: Callable) -> Callable:
    def kernel(old, indices, values):
        _check_positions(old, indices, values)
        return _write(combine, old, indices, values)

    return kernel


def _ref_position_shape(c: InferenceContext) -> list:
    return _scatter_sizes(c.inputs[0], c.inputs[1], c.inputs[2], "input")


def _resource_position_shape(c: InferenceContext) -> list:
    _scatter_sizes(handle_sizes(c, "T"), c.inputs[1], c.inputs[2], "input")
    return []


# ---- the table ----


def _register(
    kind: str, combine: Callable, types: str, resource_types: str, positions: bool, gradient: NotDifferentiable = NO_GRADIENT
) -> None:  # fmt: skip
    """The two ops of one combination; writing rows has a NumPy twin, for variables of strings."""
    is_write = combine is lax.scatter
    shared = dict(
        kernel=_position_kernel(combine) if positions else _row_kernel(combine), gradient=gradient, depth=2,
        fold=_numpy_rows if is_write and not positions else None, near=None if positions else _NEAR_ROWS.get(combine), counted=() if positions else ("indices", "updates"),
    )  # fmt: skip
    name = ("ScatterNd" if positions else "Scatter") + kind
    op(
        name, f"(ref: Ref(T), indices: Tindices, updates: T, *, T: {types}, Tindices: INDEX, "
        f"use_locking: bool = {is_write}) -> (output_ref: Ref(T))",
        shape=_ref_position_shape if positions else _ref_row_shape, effects=updates("ref"), **shared,
    )  # fmt: skip
    if positions:
        attrs = "T: type, Tindices: INDEX, use_locking: bool = True"
        text = f"(ref: resource, indices: Tindices, updates: T, *, {attrs}) -> ()"
        op("Resource" + name, text, shape=_resource_position_shape, effects=updates("ref"), **shared)
    else:
        attrs = f"dtype: {resource_types}, Tindices: INDEX"
        text = f"(resource: resource, indices: Tindices, updates: dtype, *, {attrs}) -> ()"
        op("Resource" + name, text, shape=_resource_row_shape, effects=updates("resource"), **shared)


_ORDERED = "{float16, bfloat16, float32, float64, int32, int64}"
_register("Update", lax.scatter, "type", "type", positions=False, gradient=UNDEFINED)
_register("Add", lax.scatter_add, "NUMBER", "NUMBER", positions=False)
_register("Sub", lax.scatter_sub, "NUMBER", "NUMBER", positions=False)
_register("Mul", lax.scatter_mul, "NUMBER", "NUMBER", positions=False)
_register("Div", _divide, "NUMBER", "NUMBER", positions=False)
_register("Min", _passing_over_nan(lax.scatter_min, np.inf), _ORDERED, "NUMBER", positions=False, gradient=UNDEFINED)
_register("Max", _passing_over_nan(lax.scatter_max, -np.inf), _ORDERED, "NUMBER", positions=False, gradient=UNDEFINED)
_register("Update", lax.scatter, "type", "type", positions=True)
_register("Add", lax.scatter_add, "NUMBER", "type", positions=True)
_register("Sub", lax.scatter_sub, "NUMBER", "type", positions=True)
