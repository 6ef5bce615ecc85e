"""What time series models compute with: densities, powers of matrices, and covariances made of free parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.tensor_shape import Dimension, TensorShape, dimension_value
from tfcompat._src.contrib.layers.core import fully_connected
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.diagonal import diag, matrix_band_part, matrix_diag, matrix_diag_part, matrix_set_diag
from tfcompat._src.ops.array.fill import ones, zeros, zeros_like
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.join import concat, tile
from tfcompat._src.ops.array.pad import pad
from tfcompat._src.ops.array.reorder import matrix_transpose, transpose
from tfcompat._src.ops.array.search import where, where_v2
from tfcompat._src.ops.array.shape import expand_dims, rank, reshape, shape, size, squeeze
from tfcompat._src.ops.composed.eye import eye
from tfcompat._src.ops.control.while_loop import while_loop
from tfcompat._src.ops.linalg.solve import matrix_determinant, matrix_triangular_solve
from tfcompat._src.ops.math.binary import maximum
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import equal, greater, logical_and
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.math.reduce import reduce_any, reduce_max, reduce_sum
from tfcompat._src.ops.math.scan import add_n
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.ops.math.unary import absolute, exp, log, log1p, sqrt, square
from tfcompat._src.ops.nn.activation import softsign
from tfcompat._src.variables.initializers import Zeros
from tfcompat._src.variables.scope import get_variable

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_OFF_DIAGONAL_START = -5.0
"""At first the features of a learned covariance are almost independent."""


def normal_log_prob(loc: Any, scale: Any, x: Any) -> Tensor:
    """-((x - loc)^2 / scale^2 + log(2 pi) + log(scale)) / 2, which models are trained with.

    The logarithm of a normal density would have log(scale) whole, not its half.
    """
    return -0.5 * (square((x - loc) / scale) + math.log(2.0 * math.pi) + log(scale))


def cauchy_log_prob(loc: Any, scale: Any, x: Any) -> Tensor:
    """The logarithm of the density of a Cauchy distribution."""
    distance = (x - loc) / scale
    return -math.log(math.pi) - log(scale) - log1p(square(distance))


def mvn_tril_log_prob(loc: Tensor, scale_tril: Tensor, x: Tensor) -> Tensor:
    """The logarithm of the density of a normal distribution of vectors.

    Args:
      loc, x: the mean and the vector, [..., d].
      scale_tril: lower triangular factor [..., d, d] of the covariance.
    """
    whitened = squeeze(matrix_triangular_solve(scale_tril, expand_dims(x - loc, -1)), [-1])
    log_determinant = 2.0 * reduce_sum(log(matrix_diag_part(scale_tril)), axis=-1)
    dimensions = cast(shape(scale_tril)[-1], log_determinant.dtype)
    return -0.5 * (reduce_sum(square(whitened), axis=-1) + dimensions * math.log(2.0 * math.pi) + log_determinant)


def clip_covariance(covariance_matrix: Tensor, maximum_variance_ratio: float, minimum_variance: float) -> Tensor:
    """Covariances [..., n, n] whose small variances are raised.

    Args:
      covariance_matrix: the covariances.
      maximum_variance_ratio: how many times the least variance of a matrix its greatest may be.
      minimum_variance: what every variance is at least.
    """
    variances = matrix_diag_part(covariance_matrix)
    least = maximum(reduce_max(variances, axis=-1, keepdims=True) / maximum_variance_ratio, minimum_variance)
    return matrix_set_diag(covariance_matrix, maximum(variances, least))


def block_diagonal(matrices: Sequence[Any], dtype: Any = dtypes.float32, name: str = "block_diagonal") -> Tensor:
    """The matrix [..., sum of n_i, sum of m_i] with matrices [..., n_i, m_i] along its diagonal, and zeros elsewhere.

    Args:
      matrices: tensors of one dtype and batch shape.
      dtype: their dtype.
      name: name of the node.
    """
    blocks = [convert_to_tensor(matrix, dtype=dtype) for matrix in matrices]
    widths = [shape(block)[-1] for block in blocks]
    total, before, rows = add_n(widths), 0, []
    for block, width in zip(blocks, widths):
        unpadded = zeros([rank(block) - 1, 2], dtype=dtypes.int32)
        rows.append(pad(block, concat([unpadded, [(before, total - before - width)]], 0)))
        before += width
    blocked = concat(rows, -2, name=name)
    blocked.set_shape(_block_diagonal_shape([block.shape.with_rank_at_least(2) for block in blocks]))
    return blocked


def _block_diagonal_shape(shapes: list[TensorShape]) -> TensorShape:
    batch = TensorShape(None)
    for each in shapes:
        batch = batch.merge_with(each[:-2])
    rows, columns = (sum((each[axis] for each in shapes), Dimension(0)) for axis in (-2, -1))
    return batch.concatenate([rows, columns])


def power_sums_tensor(array_size: object, power_matrix: TensorLike, multiplier: TensorLike) -> Tensor:
    """The sums A^0 B (A^0)' + ... + A^(n - 1) B (A^(n - 1))' for n = 0, ..., array_size.

    Args:
      array_size: integer scalar, at least 1.
      power_matrix: the matrix A, [d, d].
      multiplier: the matrix B, [d, d].

    Returns:
      Tensor [array_size + 1, d, d].
    """
    return power_sums(arange(cast(array_size, dtypes.int32) + 1), power_matrix, multiplier)


def power_sums(counts: TensorLike, power_matrix: TensorLike, multiplier: TensorLike) -> Tensor:
    """The sum A^0 B (A^0)' + ... + A^(n - 1) B (A^(n - 1))' for each count n, by doubling.

    Args:
      counts: integers [...], not negative.
      power_matrix: the matrix A, [d, d].
      multiplier: the matrix B, [d, d].

    Returns:
      Tensor [..., d, d].
    """
    counts = expand_dims(expand_dims(counts, -1), -1)
    power, block = convert_to_tensor(power_matrix), convert_to_tensor(multiplier)

    def moved_on(power: Tensor, sums: Tensor) -> Tensor:
        return matmul(matmul(power, sums), power, adjoint_b=True)

    def take_bit(remaining: Tensor, power: Tensor, block: Tensor, sums: Tensor) -> tuple[Tensor, ...]:
        # The block is the sum of 2^k terms and the power is A^(2^k), where k is the place of the bit.
        longer = where_v2(equal(remaining % 2, 1), block + moved_on(power, sums), sums)
        longer.set_shape(sums.shape)
        return remaining // 2, matmul(power, power), block + moved_on(power, block), longer

    *_, sums = while_loop(
        lambda remaining, *_: reduce_any(greater(remaining, 0)), take_bit,
        [counts, power, block, zeros_like(block) * cast(counts, block.dtype)],
    )  # fmt: skip
    return sums


def matrix_to_powers(matrix: TensorLike, powers: TensorLike) -> Tensor:
    """A matrix [d, d] raised to each of the powers [n]: a Tensor [n, d, d]."""
    return batch_matrix_pow(tile(expand_dims(matrix, 0), [size(powers), 1, 1]), powers)


def batch_matrix_pow(matrices: TensorLike, powers: object) -> Tensor:
    """Matrices [n, d, d], each raised to its power, by repeated squaring.

    Args:
      matrices: the matrices.
      powers: integers [n], not negative.
    """
    matrices, powers = convert_to_tensor(matrices), cast(powers, dtypes.int32)
    ones_of_all = eye(shape(matrices)[1], batch_shape=shape(matrices)[:1], dtype=matrices.dtype)

    def halve(squared: Tensor, remaining: Tensor, product: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        # A square that is not needed could overflow, so finished matrices stay as they are.
        unfinished = greater(remaining, 1)
        multiplies = logical_and(unfinished, equal(remaining % 2, 1))
        return (
            where(unfinished, matmul(squared, squared), squared),
            where(unfinished, remaining // 2, remaining),
            where(multiplies, matmul(product, squared), product),
        )

    squared, remaining, product = while_loop(
        lambda squared, remaining, product: reduce_any(greater(remaining, 1)), halve, [matrices, powers, ones_of_all]
    )
    return where(equal(remaining, 0), ones_of_all, matmul(squared, product))


def batch_times_matrix(batch: TensorLike, matrix: TensorLike, adj_x: bool = False, adj_y: bool = False) -> Tensor:
    """The products of the matrices of a batch with one matrix, as one product.

    Args:
      batch: Tensor [n, d0, d1], [n, d1, d0] if `adj_x`.
      matrix: Tensor [d1, d2], [d2, d1] if `adj_y`.
      adj_x, adj_y: whether the factors are transposed first.

    Returns:
      Tensor [n, d0, d2].
    """
    batch, matrix = convert_to_tensor(batch), convert_to_tensor(matrix)
    batch.shape.assert_has_rank(3)
    matrix.shape.assert_has_rank(2)
    if adj_x:
        batch = matrix_transpose(batch)
    sizes = [_known_or_computed(batch, 0), _known_or_computed(batch, 1), _known_or_computed(matrix, 0 if adj_y else 1)]
    rows = reshape(batch, [-1, _known_or_computed(batch, 2)])
    return reshape(matmul(rows, matrix, adjoint_b=adj_y), sizes)


def _known_or_computed(tensor: Tensor, axis: int) -> Any:
    known = dimension_value(tensor.shape[axis])
    return shape(tensor)[axis] if known is None else known


def matrix_times_batch(matrix: TensorLike, batch: TensorLike, adj_x: bool = False, adj_y: bool = False) -> Tensor:
    """The products of one matrix with the matrices of a batch.

    Args:
      matrix: Tensor [d0, d1], [d1, d0] if `adj_x`.
      batch: Tensor [n, d1, d2], [n, d2, d1] if `adj_y`.
      adj_x, adj_y: whether the factors are transposed first.

    Returns:
      Tensor [n, d0, d2].
    """
    return matrix_transpose(batch_times_matrix(batch, matrix, adj_x=not adj_y, adj_y=not adj_x))


def make_toeplitz_matrix(inputs: TensorLike, name: str | None = None) -> Tensor:
    """The symmetric block Toeplitz matrix [n d, n d] whose block (i, j) is inputs[abs(i - j)].

    Args:
      inputs: Tensor [n, d, d].
      name: name of the node.
    """
    count, block = shape(inputs)[0], shape(inputs)[1]
    places = arange(count)
    blocks = gather(inputs, absolute(expand_dims(places, 0) - expand_dims(places, 1)))
    return identity(reshape(transpose(blocks, [0, 2, 1, 3]), [count * block, count * block]), name=name)


def sign_magnitude_positive_definite(raw: TensorLike, off_diagonal_scale: object = 0.0, overall_scale: object = 0.0) -> Tensor:
    """Positive definite matrices C' C of free parameters.

    The upper triangular C has exp((raw_ii + overall_scale) / 2) on its diagonal and, above it,
    exp((raw_ij + off_diagonal_scale + overall_scale) / 2) with the sign and share that the softsign of raw_ji is.

    Args:
      raw: floating point Tensor [..., n, n].
      off_diagonal_scale, overall_scale: Tensors [...].
    """
    raw = convert_to_tensor(raw)

    def scale(value: TensorLike, like: Tensor) -> Tensor:
        value = convert_to_tensor(value, dtype=raw.dtype.base_dtype)
        return reshape(value, concat([shape(value), ones([rank(like) - rank(value)], dtype=dtypes.int32)], 0))

    variances = matrix_diag_part(raw)
    exponents = raw + scale(off_diagonal_scale, raw) + scale(overall_scale, raw)
    signed = exp(exponents / 2.0) * softsign(matrix_transpose(raw))
    signed.set_shape(raw.shape)
    deviations = exp((variances + scale(overall_scale, variances)) / 2.0)
    factor = matrix_set_diag(matrix_band_part(signed, 0, -1), deviations)
    return matmul(factor, factor, transpose_a=True)


def transform_to_covariance_matrices(input_vectors: Tensor, matrix_size: int) -> Tensor:
    """Covariances [..., matrix_size, matrix_size] as a dense layer makes them of vectors [..., d]."""
    made = fully_connected(input_vectors, matrix_size**2 + 2, activation_fn=None)
    sizes = concat([shape(made)[:-1], [matrix_size, matrix_size]], 0)
    return sign_magnitude_positive_definite(
        raw=reshape(made[..., :-2], sizes), off_diagonal_scale=made[..., -2], overall_scale=made[..., -1]
    )


def variable_covariance_matrix(
    size: int, name: str, dtype: Any, initial_diagonal_values: object = None, initial_overall_scale_log: object = 0.0
) -> Tensor:
    """A learned covariance [size, size].

    Args:
      size: number of rows.
      name: name of the node, and how the names of the variables begin.
      dtype: floating point dtype.
      initial_diagonal_values: variances [size] that it begins with; ones by default.
      initial_overall_scale_log: logarithm of what all variances are multiplied with at first.
    """
    raw = get_variable(name + "_pre_transform", dtype=dtype, shape=[size, size], initializer=Zeros())
    if initial_diagonal_values is not None:
        raw += matrix_diag(log(initial_diagonal_values))
    off_diagonal = get_variable(
        name + "_off_diagonal_scale", dtype=dtype, initializer=constant(_OFF_DIAGONAL_START, dtype=dtype)
    )
    overall = get_variable(name + "_overall_scale", dtype=dtype, shape=[], initializer=Zeros())
    overall = convert_to_tensor(initial_overall_scale_log, dtype=dtype) + overall
    return identity(sign_magnitude_positive_definite(raw, off_diagonal, overall), name=name)


def batch_start_time(times: Tensor) -> Tensor:
    """The first times [batch] of windows [batch, window]."""
    return times[:, 0]


def batch_end_time(times: Tensor) -> Tensor:
    """The last times [batch] of windows [batch, window]."""
    return times[:, -1]


def log_noninformative_covariance_prior(covariance: Tensor) -> Tensor:
    """Jeffreys' prior for a covariance [n, n]: the logarithm of its determinant to the power -(n + 1) / 2."""
    count = shape(covariance)[0]
    regular = covariance + diag(1e-8 * ones([count], dtype=covariance.dtype))
    return -(cast(count + 1, covariance.dtype) / 2.0) * log(matrix_determinant(regular))


def entropy_matched_cauchy_scale(covariance: Tensor) -> Tensor:
    """The scales [..., n] of Cauchy distributions with the entropies of normal ones of covariance [..., n, n]."""
    return sqrt(math.e / (8.0 * math.pi) * matrix_diag_part(covariance))
