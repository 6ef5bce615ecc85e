"""What linear operators share: conversion of arguments, broadcasting of batches of matrices, checks, hints."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.reorder import transpose
from tfcompat._src.ops.array.shape import (
    broadcast_dynamic_shape,
    broadcast_static_shape,
    broadcast_to,
    reshape,
    shape,
)
from tfcompat._src.ops.composed.check_ops import assert_equal, assert_less, assert_proper_iterable
from tfcompat._src.ops.control.groups import no_op
from tfcompat._src.ops.linalg.matrices import adjoint as adjoint_matrix
from tfcompat._src.ops.linalg.solve import cholesky_solve, matrix_solve, matrix_triangular_solve
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.complex import imag
from tfcompat._src.ops.math.unary import absolute
from tfcompat._src.train.module import Module
from tfcompat._src.variables.variable import Variable

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.dtypes import DTypeLike

# ---- arguments ----


def is_ref(x: object) -> bool:
    """Whether `x` is a variable, or a module with a dtype and a shape, whose value may change."""
    return isinstance(x, Variable) or (isinstance(x, Module) and hasattr(x, "dtype") and hasattr(x, "shape"))


def base_dtype(dtype: DTypeLike) -> dtypes.DType:
    """The dtype that is no ref."""
    return dtypes.as_dtype(dtype).base_dtype


def dtype_name(dtype: DTypeLike) -> str:
    """The name of a dtype."""
    return dtypes.as_dtype(dtype).name


def assert_not_ref_type(x: object, arg_name: str) -> None:
    """TypeError where an argument is a variable."""
    if is_ref(x):
        raise TypeError(f"Argument {arg_name} cannot be reference type. Found: {type(x)}")


def convert_nonref_to_tensor(value: Any, dtype: Any = None, dtype_hint: Any = None, name: str | None = None) -> Any:
    """`value` as a Tensor; None and variables stay as they are. TypeError for a variable of another dtype."""
    if value is None:
        return None
    if not is_ref(value):
        return convert_to_tensor(value, dtype=dtype, dtype_hint=dtype_hint, name=name)
    if dtype is not None and base_dtype(dtype) != base_dtype(value.dtype):
        raise TypeError(f'Mutable type must be of dtype "{dtype_name(base_dtype(dtype))}" '
                        f'but is "{dtype_name(base_dtype(value.dtype))}".')  # fmt: skip
    return value


def shape_tensor(shape: TensorLike, name: str | None = None) -> Tensor:
    """A shape as a Tensor, int32 where it is empty."""
    is_empty = isinstance(shape, (tuple, list)) and not shape
    return convert_to_tensor(shape, dtype=dtypes.int32 if is_empty else None, name=name)


def to_complex(x: Any) -> Any:
    """A tensor as complex64, or complex128 where it is float64."""
    if x.dtype.is_complex:
        return x
    return cast(x, dtypes.complex128 if x.dtype == dtypes.float64 else dtypes.complex64)


# ---- checks ----


def assert_no_entries_with_modulus_zero(
    x: TensorLike, message: str | None = None, name: str = "assert_no_entries_with_modulus_zero"
) -> Operation:
    """An operation that fails where an entry of `x` is 0."""
    with name_scope(name, values=[x]):
        x = convert_to_tensor(x, name="x")
        size = absolute(x)
        zero = convert_to_tensor(0, dtype=x.dtype.base_dtype.real_dtype)
        return assert_less(zero, size, message=message)


def assert_zero_imag_part(x: TensorLike, message: str | None = None, name: str = "assert_zero_imag_part") -> Operation:
    """An operation that fails where an entry of `x` is not real."""
    with name_scope(name, values=[x]):
        x = convert_to_tensor(x, name="x")
        if x.dtype.base_dtype.is_floating:
            return no_op()
        zero = convert_to_tensor(0, dtype=x.dtype.base_dtype.real_dtype)
        return assert_equal(zero, imag(x), message=message)


def assert_compatible_matrix_dimensions(operator: Any, x: Tensor) -> Operation:
    """An operation that fails where `operator @ x` does not fit."""
    return assert_equal(
        shape(x)[-2], operator.domain_dimension_tensor(),
        message="Dimensions are not compatible.  shape[-2] of argument to be the same as this operator",
    )  # fmt: skip


def assert_is_batch_matrix(tensor: Tensor) -> None:
    """ValueError where a tensor is known to have fewer than two dimensions."""
    if tensor.shape.ndims is not None and tensor.shape.ndims < 2:
        raise ValueError(f"Expected [batch] matrix to have at least two dimensions.  Found: {tensor}")


# ---- broadcasting ----


def broadcast_matrix_batch_dims(batch_matrices: Iterable[Any], name: str | None = None) -> list[Tensor]:
    """Tensors [..., m_i, n_i] as tensors with one common batch shape.

    Raises:
      ValueError: one has fewer than two dimensions, or the batch shapes do not broadcast.
      TypeError: `batch_matrices` is no iterable.
    """
    with name_scope(name or "broadcast_matrix_batch_dims", values=batch_matrices):
        assert_proper_iterable(batch_matrices)
        matrices = []
        for matrix in batch_matrices:
            matrices.append(convert_to_tensor(matrix))
            assert_is_batch_matrix(matrices[-1])
        if len(matrices) < 2:
            return matrices
        static = functools.reduce(broadcast_static_shape, (m.shape[:-2] for m in matrices))
        if static.is_fully_defined():
            return [
                m if m.shape[:-2] == static else broadcast_to(m, concat([static.as_list(), shape(m)[-2:]], axis=0))
                for m in matrices
            ]
        batch = shape(matrices[0])[:-2]
        for matrix in matrices[1:]:
            batch = broadcast_dynamic_shape(batch, shape(matrix)[:-2])
        return [broadcast_to(m, concat([batch, shape(m)[-2:]], axis=0)) for m in matrices]


def broadcast_batch_shapes(operators: list[Any]) -> TensorShape:
    """The common batch shape of operators, as far as known."""
    return functools.reduce(broadcast_static_shape, (operator.batch_shape for operator in operators))


def cholesky_solve_with_broadcast(chol: object, rhs: object, name: str | None = None) -> Tensor:
    """`cholesky_solve` with broadcasting of the batches."""
    with name_scope(name, "CholeskySolveWithBroadcast", [chol, rhs]):
        return cholesky_solve(*broadcast_matrix_batch_dims([chol, rhs]))


def _columns_side_by_side(matrix: Tensor, rhs: Tensor, adjoint: bool) -> tuple[Tensor, Tensor, Callable] | None:
    """Equations with more right-hand sides than matrices as equations with wider ones.

    Returns:
      (matrix, transposed where asked; rhs; what gives a solution its dimensions back), or None where it does not pay.
    """
    if matrix.shape.ndims is None or rhs.shape.ndims is None or matrix.shape.ndims >= rhs.shape.ndims:
        return None
    extra = rhs.shape.ndims - matrix.shape.ndims
    rows, columns = matrix.shape.as_list()[-2 if adjoint else -1], rhs.shape.as_list()[-1]
    known = rhs.shape[:extra]
    count = int(np.prod(known.as_list())) if known.is_fully_defined() else None
    if None not in (rows, columns, count) and (count < 2 or rows <= columns):
        return None
    if adjoint:
        matrix = adjoint_matrix(matrix)
    sizes = shape(rhs)
    extra_sizes, main_sizes = sizes[:extra], sizes[extra:]
    order = np.roll(np.arange(rhs.shape.ndims), -extra)
    wide = reshape(transpose(rhs, perm=order), concat((main_sizes[:-1], [-1]), 0))

    def restore(y: Tensor) -> Tensor:
        split_up = reshape(y, concat((shape(y)[:-1], [main_sizes[-1]], extra_sizes), 0))
        return transpose(split_up, perm=np.argsort(order))

    return matrix, wide, restore


def _solved(matrix: TensorLike, rhs: TensorLike, adjoint: bool, solve: Callable) -> Tensor:
    """`solve(matrix, rhs, adjoint)` with broadcasting; the matrix may come transposed instead of `adjoint`."""
    matrix = convert_to_tensor(matrix, name="matrix")
    rhs = convert_to_tensor(rhs, name="rhs", dtype=matrix.dtype)
    found = _columns_side_by_side(matrix, rhs, adjoint)
    if found is None:
        return solve(*broadcast_matrix_batch_dims([matrix, rhs]), adjoint, False)
    matrix, wide, restore = found
    return restore(solve(*broadcast_matrix_batch_dims([matrix, wide]), False, adjoint))


def matrix_solve_with_broadcast(matrix: TensorLike, rhs: TensorLike, adjoint: bool = False, name: str | None = None) -> Tensor:
    """`matrix_solve` with broadcasting of the batches."""
    with name_scope(name, "MatrixSolveWithBroadcast", [matrix, rhs]):
        return _solved(matrix, rhs, adjoint, lambda m, r, adjoint, _: matrix_solve(m, r, adjoint=adjoint))


def matrix_triangular_solve_with_broadcast(
    matrix: TensorLike, rhs: TensorLike, lower: bool = True, adjoint: bool = False, name: str | None = None
) -> Tensor:
    """`matrix_triangular_solve` with broadcasting of the batches."""

    def solve(m: Tensor, r: Tensor, adjoint: bool, was_transposed: bool) -> Tensor:
        return matrix_triangular_solve(m, r, lower=lower != was_transposed, adjoint=adjoint)

    with name_scope(name, "MatrixTriangularSolve", [matrix, rhs]):
        return _solved(matrix, rhs, adjoint, solve)


# ---- hints ----


def use_operator_or_provided_hint_unless_contradicting(
    operator: object, hint_attr_name: str, provided_hint_value: bool | None, message: str
) -> bool | None:
    """The hint of an operator or the given one; ValueError with `message` where they contradict."""
    known = (getattr(operator, hint_attr_name), provided_hint_value)
    is_true, is_false = any(known), any(hint is False for hint in known)
    if is_true and is_false:
        raise ValueError(message)
    return True if is_true else False if is_false else None


def implied_by_all(operators: list[Any], attribute: str, given: bool | None, message: str) -> bool | None:
    """True where all operators have a property, else `given`; ValueError with `message` where that denies it."""
    if not all(getattr(operator, attribute) for operator in operators):
        return given
    if given is False:
        raise ValueError(message)
    return True


def checked_operators(operators: Iterable[Any], expected: str) -> tuple[list[Any], list[Any]]:
    """(a list of operators of one dtype, the tensors they are of).

    Raises:
      ValueError: there are none. TypeError: their dtypes differ.
    """
    assert_proper_iterable(operators)
    operators = list(operators)
    if not operators:
        raise ValueError(f"Expected {expected} operators. Found: {operators}")
    if any(operator.dtype != operators[0].dtype for operator in operators):
        found = "   ".join(str((o.name, o.dtype)) for o in operators)
        raise TypeError(f"Expected all operators to have the same dtype.  Found {found}")
    return operators, [parent for operator in operators for parent in operator.graph_parents]
