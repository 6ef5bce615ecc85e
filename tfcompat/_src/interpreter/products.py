"""Products of arrays: `dot_general` as products of matrices by BLAS, large ones divided among cores."""

from __future__ import annotations

import math

import numpy as np

from tfcompat._src.base.arrays import NDArray
from tfcompat._src.interpreter import cores
from tfcompat._src.interpreter.table import Equation, Shape, ToArray, primitive, wide


def _form(shape: Shape, order: Shape, target: Shape) -> ToArray:
    """Returns a function that transposes an array to `order` and reshapes it to `target`, doing neither if it changes nothing."""
    moves, joins = order != tuple(range(len(shape))), tuple(shape[i] for i in order) != target
    if moves:
        return (lambda x: x.transpose(order).reshape(target)) if joins else lambda x: x.transpose(order)
    return (lambda x: x.reshape(target)) if joins else lambda x: x


LARGE = 2**26
"""Products of at least this many multiply-adds, 4 ms on one core, are divided among cores along the longer side of the result: each part makes
BLAS copy the other factor."""


def _by_columns(x: NDArray, y: NDArray) -> NDArray:
    """Multiplies with the columns of the result divided among cores."""
    product = np.empty((x.shape[0], y.shape[1]), x.dtype)
    cores.for_each(cores.ranges(y.shape[1], cores.CORES), lambda columns: np.matmul(x, y[:, columns], out=product[:, columns]))
    return product


def _by_rows(x: NDArray, y: NDArray) -> NDArray:
    """Multiplies with the rows of the result divided among cores."""
    product = np.empty((x.shape[0], y.shape[1]), x.dtype)
    cores.for_each(cores.ranges(x.shape[0], cores.CORES), lambda rows: np.matmul(x[rows], y, out=product[rows]))
    return product


@primitive("dot_general")
def dot_general(e: Equation) -> ToArray:
    (left, right), (left_batch, right_batch) = e.params["dimension_numbers"]
    a, b = (i.shape for i in e.inputs)
    # As matrices: batch, rows by summed axes and batch, summed axes by columns; rows and columns are the axes of one factor only.
    left_free = [i for i in range(len(a)) if i not in (*left, *left_batch)]
    right_free = [i for i in range(len(b)) if i not in (*right, *right_batch)]
    batch = tuple(a[i] for i in left_batch)
    rows, inner = (math.prod(a[i] for i in axes) for axes in (left_free, left))
    columns = math.prod(b[i] for i in right_free)
    left_form = _form(a, (*left_batch, *left_free, *left), (*batch, rows, inner))
    right_form = _form(b, (*right_batch, *right, *right_free), (*batch, inner, columns))
    shape, dtype, inside = e.shape, e.dtype, wide(e.dtype)
    if 0 in (*a, *b):
        return lambda x, y: np.zeros(shape, dtype)
    # An outer product is quicker as an elementwise one. Boolean matmul is a disjunction, which multiply does not compute.
    multiply: ToArray = np.multiply if inner == 1 and inside.kind != "b" else np.matmul
    # The evaluation has BLAS use one thread (`product_threads`): the division among cores is done here.
    if not batch and inside.kind == "f" and rows * inner * columns >= LARGE:
        multiply = _by_rows if rows >= columns else _by_columns
    # The usual case: nothing is converted and the product has its final shape.
    if all(i.dtype == inside == dtype for i in e.inputs) and (*batch, rows, columns) == shape:
        return lambda x, y: multiply(left_form(x), right_form(y))

    def product(x: NDArray, y: NDArray) -> NDArray:
        x, y = left_form(x.astype(inside, copy=False)), right_form(y.astype(inside, copy=False))
        return multiply(x, y).reshape(shape).astype(dtype, copy=False)

    return product
