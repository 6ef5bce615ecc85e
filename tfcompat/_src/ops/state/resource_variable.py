"""Variables held by a resource handle: the ops that make, test, read and assign them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.base.dtypes import cpp_name
from tfcompat._src.graph.op_spec import EXTERNAL, HOST, NAMES_VARIABLE, Facts, op, overwrites, reads, updates
from tfcompat._src.graph.shape_inference import (
    InferenceContext,
    Sizes,
    merge,
    no_outputs,
    scalar,
    with_rank,
    with_rank_at_least,
)  # fmt: skip
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant
from tfcompat._src.nodes.indexed_slices import IndexedSlices
from tfcompat._src.ops.array import gather
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.shape import size
from tfcompat._src.ops.queues.resource import SharedResource
from tfcompat._src.ops.state.ref_variable import CREATES, NO_GRADIENT, count_up_to, no_kernel

if TYPE_CHECKING:
    from tfcompat._src.base.dtypes import DTypeLike


def handle_sizes(c: InferenceContext, dtype_attr: str = "dtype") -> Sizes:
    """The shape of the variable behind input 0; ValueError where it is of another dtype than the attribute says."""
    found = c.handle(0)
    if found is None:
        return None
    dtype, sizes = found
    wanted = c.attr(dtype_attr)
    if dtype is not wanted:
        raise ValueError(f"Trying to read variable with wrong dtype. Expected {cpp_name(dtype.name)} got {cpp_name(wanted.name)}")
    return sizes


def _handle_shape(c: InferenceContext) -> list:
    c.set_handle(0, c.attr("dtype"), c.attr("shape").sizes)
    return [()]


def _assign_shape(c: InferenceContext) -> list:
    merge(handle_sizes(c), c.inputs[1])
    return []


op(
    "VarHandleOp",
    '(*, container: string = "", shared_name: string = "", dtype: type, shape: shape) -> (resource: resource)',
    shape=_handle_shape, kernel=no_kernel, gradient=NO_GRADIENT, effects=CREATES, facts=NAMES_VARIABLE,
)  # fmt: skip


@op(
    "VarIsInitializedOp",
    "(resource: resource) -> (is_initialized: bool)",
    shape=scalar,
    gradient=NO_GRADIENT,
    side=HOST,
    context=True,
    facts=Facts(tells_status=True),
)
def _is_initialized(context, resource):
    return np.bool_(context.is_initialized(context.op.inputs[0] if resource is None else resource))


@op("DestroyResourceOp", "(resource: resource, *, ignore_lookup_error: bool = True) -> ()", shape=no_outputs,
    gradient=NO_GRADIENT, side=HOST, effects=EXTERNAL, context=True, facts=Facts(forgets=True))  # fmt: skip
def _destroy(context, resource, *, ignore_lookup_error):
    if isinstance(resource, SharedResource):
        resource.cancel()
        return ()
    variable = context.op.inputs[0] if resource is None else resource
    if not context.is_initialized(variable) and not ignore_lookup_error:
        raise errors.NotFoundError(None, None, f"Resource localhost/{context.op.inputs[0].op.name} does not exist.")
    context.run.destroy_variable(variable)


@op("ReadVariableOp", "(resource: resource, *, dtype: type) -> (value: dtype)", shape=lambda c: [handle_sizes(c)],
    gradient=lambda op, grad: [grad], effects=reads("resource"), fold=True, facts=Facts(reads_through=True))  # fmt: skip
def _read(value):
    return value


@op("AssignVariableOp", "(resource: resource, value: dtype, *, dtype: type) -> ()", shape=_assign_shape,
    gradient=NO_GRADIENT,
    effects=overwrites("resource"), fold=True, facts=Facts(hands_on="value"))  # fmt: skip
def _assign(old, value):
    return value


def _require_same_shape(old: Any, value: Any) -> None:
    if old.shape != value.shape:
        raise errors.InvalidArgumentError(
            None, None, f"Cannot update variable with shape {shape_text(old.shape)} using a Tensor with shape "
            f"{shape_text(value.shape)}, shapes must be equal.",
        )  # fmt: skip


def _add(old, value):
    _require_same_shape(old, value)
    return old + value


def _subtract(old, value):
    _require_same_shape(old, value)
    return old - value


for _name, _kernel in (("AssignAddVariableOp", _add), ("AssignSubVariableOp", _subtract)):
    op(
        _name, "(resource: resource, value: dtype, *, dtype: type) -> ()", shape=_assign_shape, kernel=_kernel,
        gradient=NO_GRADIENT, effects=updates("resource"), fold=True,
    )  # fmt: skip


def _variable_shape_shape(c: InferenceContext) -> list:
    found = c.handle(0)
    return [(None,) if found is None or found[1] is None else (len(found[1]),)]


@op("VariableShape", "(input: resource, *, out_type: INDEX = int32) -> (output: out_type)", shape=_variable_shape_shape,
    gradient=NO_GRADIENT, effects=reads("input"), fold=True)  # fmt: skip
def _variable_shape(value, *, out_type):
    return np.array(value.shape, out_type)


def variable_shape(handle: Tensor, out_type: DTypeLike | None = None, name: str | None = None) -> Tensor:
    """The shape of the variable behind `handle`: a constant where it is known, which 1.15 forgets where loops and branches route handles."""
    found = None if handle.op.type in ("Enter", "Switch") else handle._handle_data
    if found is None or found[1] is None or None in found[1]:
        return (
            raw.VariableShape(handle, name=name) if out_type is None else raw.VariableShape(handle, out_type, name=name)
        )
    return constant(list(found[1]), dtype=out_type or "int32", name=name or "Const")


# ---- reading rows ----


def _gather_shape(c: InferenceContext) -> list:
    batch = c.attr("batch_dims")
    if batch < 0:
        raise ValueError(f"batch_dims is negative ({batch})")
    sizes, indices = with_rank_at_least(handle_sizes(c), batch + 1), with_rank_at_least(c.inputs[1], batch)
    if sizes is None or indices is None:
        return [None]
    return [sizes[:batch] + indices[batch:] + sizes[batch + 1 :]]


def _gather_gradient(op, grad):
    handle, indices = op.inputs
    sizes = variable_shape(handle)
    count = raw.ExpandDims(size(indices), 0)
    values = raw.Reshape(grad, concat([count, sizes[1:]], 0))
    return [IndexedSlices(values, raw.Reshape(indices, count), sizes), None]


@op(
    "ResourceGather",
    "(resource: resource, indices: Tindices, *, batch_dims: int = 0, validate_indices: bool = True, dtype: type, "
    "Tindices: INDEX) "
    "-> (output: dtype)",
    shape=_gather_shape, gradient=_gather_gradient, effects=reads("resource"), facts=Facts(rows_by="indices"),
    fold=lambda value, indices, *, batch_dims: gather._numpy_gather_v2(value, indices, batch_dims, batch_dims=batch_dims),
)  # fmt: skip
def _resource_gather(value, indices, *, batch_dims):
    return gather._gather_v2(value, indices, batch_dims, batch_dims=batch_dims)


def _gather_nd_shape(c: InferenceContext) -> list:
    return gather.gather_nd_sizes(handle_sizes(c), c.inputs[1])


def _gather_nd_gradient(op, grad):
    handle, indices = op.inputs
    sizes = raw.VariableShape(handle, indices.dtype)
    if indices.shape.ndims == 2 and indices.shape.as_list()[-1] == 1:
        return [IndexedSlices(grad, raw.Squeeze(indices, squeeze_dims=[-1]), sizes), None]
    return [raw.ScatterNd(indices, grad, sizes), None]


op(
    "ResourceGatherNd", "(resource: resource, indices: Tindices, *, dtype: type, Tindices: INDEX) -> (output: dtype)",
    shape=_gather_nd_shape, kernel=gather._gather_nd, fold=gather._numpy_gather_nd, gradient=_gather_nd_gradient,
    effects=reads("resource"),
)  # fmt: skip


def _count_shape(c: InferenceContext) -> list:
    if c.handle(0) is None:
        raise ValueError("Handle has no shape/type information.")
    return [with_rank(handle_sizes(c, "T"), 0)]


op(
    "ResourceCountUpTo", "(resource: resource, *, limit: int, T: INDEX) -> (output: T)", shape=_count_shape,
    kernel=count_up_to, gradient=NO_GRADIENT, effects=updates("resource"), fold=True,
)  # fmt: skip
