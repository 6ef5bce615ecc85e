"""Tensors with a shape that is checked: tf.contrib.framework.with_shape and with_same_shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.shape import rank, reshape
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.array.shape import size as size_of
from tfcompat._src.ops.control.cond import Assert
from tfcompat._src.ops.math.compare import equal
from tfcompat._src.ops.math.reduce import reduce_all

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def _has_rank(wanted: Tensor, tensor: Tensor) -> Tensor:
    with name_scope("is_rank", values=[tensor]) as scope:
        return equal(convert_to_tensor(wanted, name="expected"), rank(tensor, name="actual"), name=scope)


def _sizes_fit(wanted: object, found: Tensor) -> Tensor:
    with name_scope("shape_tensor_equal", values=[wanted, found]) as scope:
        fits = raw.LogicalOr(equal(wanted, -1), equal(wanted, found, "equal"), name="exclude_partial_shape")
        return reduce_all(fits, name=scope)


def _assert_shape(wanted: TensorLike, tensor: Tensor) -> Operation:
    with name_scope("assert_shape", values=[tensor]) as scope:
        found = shape_of(tensor, name="actual")
        if isinstance(wanted, TensorShape) and not wanted.is_fully_defined():
            wanted = [size or -1 for size in wanted.as_list()]
        with name_scope("is_shape", values=[tensor]) as inner:
            has_rank = _has_rank(size_of(wanted), tensor)
            fits = raw.LogicalAnd(has_rank, _sizes_fit(wanted, found), name=inner)
        return Assert(fits, [f"Wrong shape for {tensor.name} [expected] [actual].", wanted, found], name=scope)


def _invalid(what: object, wanted: object, tensor: Tensor) -> ValueError:
    return ValueError(f"Invalid {what} for shape {wanted} expected of tensor {tensor.name}.")


@export("contrib.framework.with_shape")
def with_shape(expected_shape: TensorLike, tensor: Tensor) -> Tensor:
    """`tensor`, checked to have a shape: at once where it is known, else when it runs.

    Args:
      expected_shape: list of ints, int32 array, int32 Tensor [rank], or TensorShape, whose unknown sizes may be any.
      tensor: Tensor.

    Returns:
      `tensor`, or its identity behind an assertion; a tensor of one element becomes a scalar where [] is expected.

    Raises:
      ValueError: the shapes differ, or `expected_shape` is no vector of int32.
    """
    if isinstance(tensor, SparseTensor):
        raise ValueError("SparseTensor not supported.")
    is_dynamic = isinstance(expected_shape, Tensor)
    if is_dynamic:
        if expected_shape.dtype.base_dtype != dtypes.int32:
            raise _invalid(f"dtype {expected_shape.dtype}", expected_shape, tensor)
    elif not isinstance(expected_shape, TensorShape):
        given = np.asarray(expected_shape)
        is_list = isinstance(expected_shape, (list, tuple))
        expected_shape = given.astype(np.int32) if is_list and (given.dtype == np.int64 or not given.size) else given
        if expected_shape.ndim > 1:
            raise _invalid(f"rank {expected_shape.ndim}", expected_shape, tensor)
        if expected_shape.dtype != np.int32:
            raise _invalid(f"dtype {expected_shape.dtype}", expected_shape, tensor)
    found = tensor.shape
    if is_dynamic or not found.is_fully_defined():
        return _checked_in_run(expected_shape, tensor, is_dynamic)
    if found.is_compatible_with(expected_shape):
        return tensor
    if not len(expected_shape) and found.is_compatible_with([1]):
        with name_scope(f"{tensor.op.name}/", values=[tensor]):
            return reshape(tensor, [])
    raise ValueError(f"Invalid shape for tensor {tensor.name}, expected {expected_shape}, got {found}.")


def _checked_in_run(expected_shape: Any, tensor: Tensor, is_dynamic: bool) -> Tensor:
    with name_scope(f"{tensor.op.name}/", values=[tensor]):
        if not is_dynamic and not len(expected_shape):
            return reshape(tensor, [])
        with control_dependencies([_assert_shape(expected_shape, tensor)]):
            result = identity(tensor)
        if not is_dynamic:
            result.set_shape(expected_shape)
        return result


@export("contrib.framework.with_same_shape")
def with_same_shape(expected_tensor: Tensor, tensor: Tensor) -> Tensor:
    """`tensor`, checked to have the shape of `expected_tensor`: see `with_shape`."""
    with name_scope(f"{tensor.op.name}/", values=[expected_tensor, tensor]):
        known = expected_tensor.shape
        wanted = known.as_list() if known.is_fully_defined() else shape_of(expected_tensor, name="expected_shape")
        return with_shape(wanted, tensor)
