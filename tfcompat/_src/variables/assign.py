"""tf.assign and its relatives: functions on a reference, a RefVariable or a ResourceVariable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import colocate_with, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.fill import ones_like
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.shape import expand_dims, reshape
from tfcompat._src.ops.array.shape import shape as shape_of

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.dtypes import DTypeLike
    from tfcompat._src.base.tensor_shape import ShapeLike


def variable_op(
    shape: object, dtype: DTypeLike, name: str = "Variable", set_shape: bool = True, container: str = "", shared_name: str = ""
) -> Tensor:
    """The reference of a new variable of the old op type.

    Args:
      shape: the variable's shape.
      dtype: its element type.
      name: node name.
      set_shape: whether the reference has the shape; else it is unknown.
      container: where sessions keep it. shared_name: its name there.
    """
    ref = raw.Variable(
        shape=shape if set_shape else None, dtype=dtype, name=name, container=container, shared_name=shared_name
    )
    if set_shape:
        ref.set_shape(shape)
    return ref


def variable_op_v2(
    shape: ShapeLike, dtype: DTypeLike, name: str = "Variable", container: str = "", shared_name: str = ""
) -> Tensor:
    """The reference of a new variable; see `variable_op`."""
    return raw.VariableV2(shape=shape, dtype=dtype, name=name, container=container, shared_name=shared_name)


def init_variable(v: Any, init: Any, name: str = "init") -> Tensor:
    """Assigns a tensor, or what `init(shape, dtype)` gives, to the reference `v` of a variable.

    Raises:
      AssertionError: `init` is a function and the shape of `v` is not known.
    """
    with name_scope(None, v.op.name + "/", [v, init]), name_scope(name) as scope, colocate_with(v):
        if callable(init):
            if not v.get_shape().is_fully_defined():
                raise AssertionError("Variable shape unknown.")
            value = convert_to_tensor(init(v.get_shape().as_list(), v.dtype.base_dtype), name="value")
        else:
            value = convert_to_tensor(init, name="init")
        return raw.Assign(v, value, name=scope)


@export("is_variable_initialized")
def is_variable_initialized(variable: Any, name: str | None = None) -> Tensor:
    """A bool scalar: whether a variable has a value."""
    if variable.dtype._is_ref_dtype:
        return raw.IsVariableInitialized(variable, name=name)
    return variable.is_initialized(name=name)


@export("assign")
def assign(
    ref: Any, value: Any, validate_shape: bool | None = None, use_locking: bool | None = None, name: str | None = None
) -> Any:
    """Replaces the value of a variable.

    Args:
      ref: a variable or its reference.
      value: the new value, of the same dtype.
      validate_shape: whether the shapes must be equal; default True. Only for references.
      use_locking: no effect: an update is never seen in part. Recorded in the node.
      name: node name.

    Returns:
      the reference after the assignment.
    """
    if ref.dtype._is_ref_dtype:
        return raw.Assign(ref, value, use_locking=use_locking, name=name, validate_shape=validate_shape)
    return ref.assign(value, name=name)


@export("assign_add")
def assign_add(ref: Any, value: Any, use_locking: bool | None = None, name: str | None = None) -> Any:
    """Adds to a variable.

    Args:
      ref: the variable.
      value: what is added, of the variable's dtype and shape.
      use_locking: whether other updates of the variable wait.
      name: node name.

    Returns:
      the variable's value after the addition; for a reference variable a reference to it.
    """
    if ref.dtype._is_ref_dtype:
        return raw.AssignAdd(ref, value, use_locking=use_locking, name=name)
    return ref.assign_add(value)


@export("assign_sub")
def assign_sub(ref: Any, value: Any, use_locking: bool | None = None, name: str | None = None) -> Any:
    """Subtracts `value`, of the variable's dtype and shape; the reference after the subtraction."""
    if ref.dtype._is_ref_dtype:
        return raw.AssignSub(ref, value, use_locking=use_locking, name=name)
    return ref.assign_sub(value)


@export("count_up_to")
def count_up_to(ref: Any, limit: int, name: str | None = None) -> Tensor:
    """Adds 1 to an integer scalar variable; the value before. Running it at `limit` raises OutOfRangeError."""
    if ref.dtype._is_ref_dtype:
        return raw.CountUpTo(ref, limit=limit, name=name)
    return raw.ResourceCountUpTo(ref.handle, limit=limit, T=ref.dtype, name=name)


def _scatter(kind: str, ref: Any, indices: Any, updates: object, use_locking: bool, name: str | None) -> Any:
    if ref.dtype._is_ref_dtype:
        return raw.function("Scatter" + kind)(ref, indices, updates, use_locking=use_locking, name=name)
    values = convert_to_tensor(updates, ref.dtype)
    return ref._lazy_read(raw.function("ResourceScatter" + kind)(ref.handle, indices, values, name=name))


@export("scatter_update")
def scatter_update(ref: object, indices: object, updates: TensorLike, use_locking: bool = True, name: str | None = None) -> Any:
    """Replaces the rows `indices` of a variable by `updates` (shape `indices.shape + ref.shape[1:]`, or a scalar)."""
    return _scatter("Update", ref, indices, updates, use_locking, name)


@export("scatter_add")
def scatter_add(ref: object, indices: object, updates: TensorLike, use_locking: bool = False, name: str | None = None) -> Any:
    """Adds `updates` to the rows `indices` of a variable; equal indices add up."""
    return _scatter("Add", ref, indices, updates, use_locking, name)


@export("scatter_sub")
def scatter_sub(ref: object, indices: object, updates: TensorLike, use_locking: bool = False, name: str | None = None) -> Any:
    """Subtracts `updates` from the rows `indices` of a variable; equal indices add up."""
    return _scatter("Sub", ref, indices, updates, use_locking, name)


@export("scatter_mul")
def scatter_mul(ref: object, indices: object, updates: TensorLike, use_locking: bool = False, name: str | None = None) -> Any:
    """Multiplies the rows `indices` of a variable by `updates`."""
    return _scatter("Mul", ref, indices, updates, use_locking, name)


@export("scatter_div")
def scatter_div(ref: object, indices: object, updates: TensorLike, use_locking: bool = False, name: str | None = None) -> Any:
    """Divides the rows `indices` of a variable by `updates`."""
    return _scatter("Div", ref, indices, updates, use_locking, name)


@export("scatter_max")
def scatter_max(ref: object, indices: object, updates: TensorLike, use_locking: bool = False, name: str | None = None) -> Any:
    """The larger of the rows `indices` of a variable and `updates`."""
    return _scatter("Max", ref, indices, updates, use_locking, name)


@export("scatter_min")
def scatter_min(ref: object, indices: object, updates: TensorLike, use_locking: bool = False, name: str | None = None) -> Any:
    """The smaller of the rows `indices` of a variable and `updates`."""
    return _scatter("Min", ref, indices, updates, use_locking, name)


def _scatter_nd(kind: str, ref: Any, indices: Any, updates: object, use_locking: bool, name: str | None) -> Any:
    if ref.dtype._is_ref_dtype:
        return raw.function("ScatterNd" + kind)(ref, indices, updates, use_locking, name=name)
    values = convert_to_tensor(updates, ref.dtype)
    return ref._lazy_read(raw.function("ResourceScatterNd" + kind)(ref.handle, indices, values, name=name))


@export("scatter_nd_update")
def scatter_nd_update(ref: object, indices: object, updates: TensorLike, use_locking: bool = True, name: str | None = None) -> Any:
    """Writes `updates` at the index vectors `indices[..., :]` of a variable."""
    return _scatter_nd("Update", ref, indices, updates, use_locking, name)


@export("scatter_nd_add")
def scatter_nd_add(ref: object, indices: object, updates: TensorLike, use_locking: bool = False, name: str | None = None) -> Any:
    """Adds `updates` at the index vectors `indices[..., :]` of a variable; equal indices add up."""
    return _scatter_nd("Add", ref, indices, updates, use_locking, name)


@export("scatter_nd_sub")
def scatter_nd_sub(ref: object, indices: object, updates: TensorLike, use_locking: bool = False, name: str | None = None) -> Any:
    """Subtracts `updates` at the index vectors `indices[..., :]` of a variable; equal indices add up."""
    return _scatter_nd("Sub", ref, indices, updates, use_locking, name)


@export("batch_scatter_update")
def batch_scatter_update(
    ref: object, indices: TensorLike, updates: TensorLike, use_locking: bool = True, name: str | None = None
) -> Any:
    """Writes `updates` at `indices` of the last index dimension, at each position of the dimensions before it.

    Args:
      ref: a variable.
      indices: tensor of known rank k; its first k - 1 dimensions are those of `ref`.
      updates: shape `indices.shape + ref.shape[k:]`.
      use_locking: no effect; recorded in the node.
      name: name scope.

    Raises:
      ValueError: the rank of `indices` is not known.
    """
    with name_scope(name):
        indices = convert_to_tensor(indices, name="indices")
        sizes = shape_of(indices)
        rank = indices.shape.ndims
        if rank is None:
            raise ValueError("batch_gather does not allow indices with unknown shape.")
        last = expand_dims(indices, axis=-1)
        columns = [_positions_along(dim, sizes[dim], rank, last) for dim in range(rank - 1)]
        return scatter_nd_update(ref, concat([*columns, last], axis=-1), updates, use_locking=use_locking)


def _positions_along(dim: int, size: Tensor, rank: int, like: Tensor) -> Tensor:
    """The index along `dim` of each entry of `like`, which has `rank + 1` dimensions."""
    target = [1] * (rank + 1)
    target[dim] = size
    positions = reshape(raw.Range(0, size, 1), target)
    if positions.dtype.base_dtype != like.dtype:
        positions = raw.Cast(positions, DstT=like.dtype)
    return positions * ones_like(like)
