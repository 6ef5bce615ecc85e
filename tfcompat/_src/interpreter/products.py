"""Products of arrays through BLAS."""

from __future__ import annotations

import math

import numpy as np

from tfcompat._src.base.arrays import NDArray
from tfcompat._src.interpreter import cores
from tfcompat._src.interpreter.table import Equation, Shape, ToArray, primitive, wide


def _form(shape: Shape, order: Shape, target: Shape) -> ToArray:
    """A function that moves axes and joins them."""
    moves, joins = order != tuple(range(len(shape))), tuple(shape[i] for i in order) != target
    if moves:
        return (lambda x: x.transpose(order).reshape(target)) if joins else lambda x: x.transpose(order)
    return (lambda x: x.reshape(target)) if joins else lambda x: x


LARGE = 2**26
"""A product of so many multiplications, which takes a core 4 ms, is divided among cores: the side that is longer, since BLAS copies the other factor
in each part."""


def _by_columns(x: NDArray, y: NDArray) -> NDArray:
    found = np.empty((x.shape[0], y.shape[1]), x.dtype)
    cores.for_each(cores.ranges(y.shape[1], cores.CORES), lambda columns: np.matmul(x, y[:, columns], out=found[:, columns]))
    return found


def _by_rows(x: NDArray, y: NDArray) -> NDArray:
    found = np.empty((x.shape[0], y.shape[1]), x.dtype)
    cores.for_each(cores.ranges(x.shape[0], cores.CORES), lambda rows: np.matmul(x[rows], y, out=found[rows]))
    return found


@primitive("dot_general")
def dot_general(e: Equation) -> ToArray:
    (left, right), (left_batch, right_batch) = e.params["dimension_numbers"]
    a, b = (i.shape for i in e.inputs)
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
    multiply: ToArray = np.multiply if inner == 1 and inside.kind != "b" else np.matmul  # of columns and rows; quicker than BLAS
    if not batch and inside.kind == "f" and rows * inner * columns >= LARGE:
        multiply = _by_rows if rows >= columns else _by_columns
    if all(i.dtype == inside == dtype for i in e.inputs) and (*batch, rows, columns) == shape:
        return lambda x, y: multiply(left_form(x), right_form(y))

    def product(x: NDArray, y: NDArray) -> NDArray:
        x, y = left_form(x.astype(inside, copy=False)), right_form(y.astype(inside, copy=False))
        return multiply(x, y).reshape(shape).astype(dtype, copy=False)

    return product
