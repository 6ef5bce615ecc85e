"""Numbers and matrices of distributions that are public in contrib.distributions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import dimension_value
from tfcompat._src.distributions.util import prefer_static_rank
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.diagonal import matrix_band_part, matrix_diag, matrix_diag_part, matrix_set_diag
from tfcompat._src.ops.array.fill import ones_like, zeros, zeros_like
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.reorder import reverse
from tfcompat._src.ops.array.search import where_v2
from tfcompat._src.ops.array.shape import reshape, shape, squeeze
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import greater, less, logical_or
from tfcompat._src.ops.math.reduce import reduce_logsumexp, reduce_max, reduce_sum
from tfcompat._src.ops.math.unary import absolute, exp, expm1, is_inf, log, sign, sqrt

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@export("contrib.distributions.matrix_diag_transform")
def matrix_diag_transform(matrix: TensorLike, transform: Callable | None = None, name: str | None = None) -> Tensor:
    """`matrix` with `transform` of its diagonal as diagonal.

    Args:
      matrix: Tensor [..., k, k].
      transform: function of the diagonals [..., k]; None changes nothing.
      name: name scope.
    """
    with name_scope(name, "matrix_diag_transform", [matrix]):
        matrix = convert_to_tensor(matrix, name="matrix")
        if transform is None:
            return matrix
        return matrix_set_diag(matrix, transform(matrix_diag_part(matrix)))


@export("contrib.distributions.fill_triangular")
def fill_triangular(x: TensorLike, upper: bool = False, name: str | None = None) -> Tensor:
    """The triangular matrices [..., n, n] that hold the elements of vectors [..., n (n + 1) / 2], row by row in a spiral.

    Args:
      x: Tensor [..., n (n + 1) / 2].
      upper: whether the matrices are upper triangular.
      name: name scope.

    Raises:
      ValueError: the last dimension is known not to be a triangular number.
    """
    with name_scope(name, "fill_triangular", values=[x]):
        x = convert_to_tensor(x, name="x")
        batch, count = x.shape.with_rank_at_least(1)[:-1], dimension_value(x.shape.with_rank_at_least(1)[-1])
        if count is not None:
            exact = np.sqrt(0.25 + 2.0 * count) - 0.5
            if exact != np.floor(exact):
                raise ValueError(f"Input right-most shape ({count}) does not correspond to a triangular matrix.")
            n = np.int32(exact)
            final = batch.concatenate([n, n])
        else:
            doubled = cast(2 * shape(x)[-1], dtype=dtypes.float32)
            n = cast(sqrt(0.25 + doubled), dtype=dtypes.int32)
            final = batch.concatenate([None, None])
        last = [prefer_static_rank(x) - 1]
        parts = [x, reverse(x[..., n:], axis=last)] if upper else [x[..., n:], reverse(x, axis=last)]
        sizes = final.as_list() if final.is_fully_defined() else concat([shape(x)[:-1], [n, n]], axis=0)
        square = reshape(concat(parts, axis=-1), sizes)
        found = matrix_band_part(square, num_lower=0 if upper else -1, num_upper=-1 if upper else 0)
        found.set_shape(final)
        return found


@export("contrib.distributions.fill_triangular_inverse")
def fill_triangular_inverse(x: TensorLike, upper: bool = False, name: str | None = None) -> Tensor:
    """The vectors [..., n (n + 1) / 2] from which `fill_triangular` makes the triangular matrices `x`, [..., n, n]."""
    with name_scope(name, "fill_triangular_inverse", values=[x]):
        x = convert_to_tensor(x, name="x")
        batch, size = x.shape.with_rank_at_least(2)[:-2], dimension_value(x.shape.with_rank_at_least(2)[-1])
        if size is not None:
            n = np.int32(size)
            count = np.int32(n * (n + 1) // 2)
            final = batch.concatenate([count])
        else:
            n = shape(x)[-1]
            count = n * (n + 1) // 2
            final = batch.concatenate([None])
        ndims = prefer_static_rank(x)
        if upper:
            first, triangle = x[..., 0, :], x[..., 1:, :]
        else:
            first, triangle = reverse(x[..., -1, :], axis=[ndims - 2]), x[..., :-1, :]
        turned = reverse(reverse(triangle, axis=[ndims - 1]), axis=[ndims - 2])
        rest = reshape(triangle + turned, concat([shape(x)[:-2], [n * (n - 1)]], axis=0))
        found = concat([first, rest[..., : count - n]], axis=-1)
        found.set_shape(final)
        return found


@export("contrib.distributions.tridiag")
def tridiag(below: TensorLike | None = None, diag: TensorLike | None = None, above: TensorLike | None = None, name: str | None = None) -> Tensor:
    """The tridiagonal matrix [..., n, n] with the diagonals `below` [..., n - 1], `diag` [..., n] and `above` [..., n - 1].

    Raises:
      ValueError: none is given.
    """

    def padded(x: Tensor) -> Tensor:
        zero = zeros(concat([shape(x)[:-1], [1]], axis=0), dtype=x.dtype)
        return concat([zero, x, zero], axis=-1)

    with name_scope(name, "tridiag", [below, diag, above]):
        parts = []
        if below is not None:
            parts.append(matrix_diag(padded(convert_to_tensor(below, name="below")))[..., :-1, 1:])
        if diag is not None:
            parts.append(matrix_diag(convert_to_tensor(diag, name="diag")))
        if above is not None:
            parts.append(matrix_diag(padded(convert_to_tensor(above, name="above")))[..., 1:, :-1])
        if not parts:
            raise ValueError("Must specify at least one of `below`, `diag`, `above`.")
        return sum(parts[1:], parts[0])


@export("contrib.distributions.reduce_weighted_logsumexp")
def reduce_weighted_logsumexp(
    logx: TensorLike, w: TensorLike | None = None, axis: object = None, keep_dims: bool = False, return_sign: bool = False,
    name: str | None = None,
) -> Any:  # fmt: skip
    """log |sum(w exp(logx))| over dimensions, computed without overflow.

    Args:
      logx: float Tensor.
      w: weights of any sign, which broadcast with `logx`; 1 by default.
      axis: dimensions to sum over; all by default.
      keep_dims: whether they stay, of size 1.
      return_sign: whether the sign of the sum is returned too.
      name: name scope.

    Returns:
      a Tensor, or (Tensor, signs).
    """
    with name_scope(name, "reduce_weighted_logsumexp", [logx, w]):
        logx = convert_to_tensor(logx, name="logx")
        if w is None:
            found = reduce_logsumexp(logx, axis=axis, keepdims=keep_dims)
            return (found, ones_like(found)) if return_sign else found
        w = convert_to_tensor(w, dtype=logx.dtype, name="w")
        terms = logx + log(absolute(w))
        largest = reduce_max(terms, axis=axis, keepdims=True)
        largest = where_v2(is_inf(largest), zeros_like(largest), largest)
        scaled = sign(w) * exp(terms - largest)
        total = reduce_sum(scaled, axis=axis, keepdims=keep_dims)
        if not keep_dims:
            largest = squeeze(largest, axis)
        signs = sign(total)
        found = largest + log(signs * total)
        return (found, signs) if return_sign else found


@export("contrib.distributions.softplus_inverse")
def softplus_inverse(x: TensorLike, name: str | None = None) -> Tensor:
    """The y with log(1 + exp(y)) = x, for positive `x`: x + log(1 - exp(-x)), exact for small and large `x`."""
    with name_scope(name, "softplus_inverse", values=[x]):
        x = convert_to_tensor(x, name="x")
        threshold = np.log(np.finfo(x.dtype.as_numpy_dtype).eps) + 2.0
        is_small, is_large = less(x, np.exp(threshold)), greater(x, -threshold)
        small, large = log(x), x
        x = where_v2(logical_or(is_small, is_large), ones_like(x), x)
        found = x + log(-expm1(-x))
        return where_v2(is_small, small, where_v2(is_large, large, found))
