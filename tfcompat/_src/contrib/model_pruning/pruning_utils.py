"""What tf.contrib.model_pruning is made of: masks and thresholds of weights, blocks of matrices, assignments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.ops.array.join import split, tile
from tfcompat._src.ops.array.reorder import transpose
from tfcompat._src.ops.array.scatter import scatter_nd
from tfcompat._src.ops.array.shape import reshape, squeeze
from tfcompat._src.ops.control.groups import group
from tfcompat._src.ops.nn.dilated import pool
from tfcompat._src.variables import assign
from tfcompat._src.variables.initializers import Ones, Zeros
from tfcompat._src.variables.scope import get_variable, variable_scope


def weight_mask_variable(var: Any, scope: object) -> Any:
    """The variable "mask" of `scope`, of the shape of `var`, ones at first, not trained."""
    with variable_scope(scope):
        return get_variable("mask", var.shape, initializer=Ones(), trainable=False, dtype=var.dtype)


def weight_threshold_variable(var: Any, scope: object) -> Any:
    """The scalar variable "threshold" of `scope`, of the type of `var`, 0 at first, not trained."""
    with variable_scope(scope):
        return get_variable("threshold", [], initializer=Zeros(), trainable=False, dtype=var.dtype)


def kronecker_product(mat1: Tensor, mat2: Tensor) -> Tensor:
    """The Kronecker product of [m, n] and [p, q], [m * p, n * q]."""
    (m, n), (p, q) = mat1.shape.as_list(), mat2.shape.as_list()
    first = reshape(mat1, [m, 1, n, 1])
    return reshape(first * reshape(mat2, [1, p, 1, q]), [m * p, n * q])


def expand_tensor(tensor: Tensor, block_dims: Sequence[int]) -> Tensor:
    """The Kronecker product of a matrix with a block of ones.

    Args:
      tensor: of rank 2, of known shape.
      block_dims: height and width of the block.

    Raises:
      ValueError: the tensor is no matrix, or the sizes are not two.
    """
    if tensor.shape.ndims != 2:
        raise ValueError("Input tensor must be rank 2")
    if len(block_dims) != 2:
        raise ValueError("block_dims must have 2 elements")
    height, width = block_dims
    if height > 1:
        tensor = _repeated_rows(tensor, height)
    if width > 1:
        tensor = transpose(_repeated_rows(transpose(tensor), width))
    return tensor


def _repeated_rows(matrix: Tensor, times: int) -> Tensor:
    """A matrix with each of its rows `times` times in sequence."""
    rows, columns = matrix.shape.as_list()
    places = np.arange(rows * times, dtype=np.int32).reshape(rows, times).T.reshape(-1, 1)
    return scatter_nd(constant(places), tile(matrix, [times, 1]), [rows * times, columns])


def factorized_pool(
    input_tensor: Tensor, window_shape: Sequence[int], pooling_type: str, strides: Sequence[int], padding: str,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """Pooling of a matrix, first along its rows, then along its columns.

    Args:
      input_tensor: of rank 2.
      window_shape, strides: two ints.
      pooling_type: "MAX" or "AVG".
      padding: "SAME" or "VALID".
      name: name scope, "factorized_pool" by default.

    Raises:
      ValueError: the tensor is no matrix.
    """
    if input_tensor.shape.ndims != 2:
        raise ValueError("factorized_pool() accepts tensors of rank 2 only")
    height, width = input_tensor.shape
    with name_scope(name, "factorized_pool"):
        pooled = reshape(input_tensor, [1, 1, height, width], name=f"{input_tensor.op.name}_aligned")
        for axis in range(2):
            pooled = pool(
                pooled, [1, window_shape[axis]], pooling_type, strides=[1, strides[axis]], padding=padding
            )
            if axis == 0:
                pooled = transpose(pooled, perm=[0, 1, 3, 2])
    return squeeze(transpose(pooled, perm=[0, 1, 3, 2]), axis=[0, 1])


def determine_partitioned_axis(partitioned_variable: Any) -> int:
    """The axis along which a PartitionedVariable is cut; ValueError where it is not one."""
    axis = 0
    for part in partitioned_variable:
        smaller = np.flatnonzero(np.less(part.shape.as_list(), partitioned_variable.shape.as_list()))
        if smaller.size != 1:
            raise ValueError(f"Number of partitioned axes {smaller.size} not equal to 1")
        axis = int(smaller[0])
    return axis


def variable_assign(var: Any, new_value: Any) -> Any:
    """The assignment of `new_value` to `var`, named after it."""
    return assign.assign(var, new_value, name=f"{var.op.name}_assign")


def partitioned_variable_assign(partitioned_var: Any, new_value: object) -> Operation:
    """An operation that gives each part of a PartitionedVariable its part of `new_value`."""
    axis = 0 if len(partitioned_var) == 1 else determine_partitioned_axis(partitioned_var)
    sizes = np.array([part.shape.as_list()[axis] for part in partitioned_var])
    values = split(new_value, convert_to_tensor(sizes, dtype=dtypes.int32), axis=axis)
    assignments = [variable_assign(part, value) for part, value in zip(partitioned_var, values)]
    return group(*assignments, name=f"{partitioned_var.name}_group_assign")
