"""What distributions of contrib share: scales as linear operators, shapes, mixtures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.tensor_shape import dimension_value
from tfcompat._src.distributions.distribution import FULLY_REPARAMETERIZED
from tfcompat._src.distributions.util import prefer_static_broadcast_shape, prefer_static_rank, prefer_static_value
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.linalg.diag import LinearOperatorDiag
from tfcompat._src.linalg.identity import LinearOperatorIdentity, LinearOperatorScaledIdentity
from tfcompat._src.linalg.linear_operator import LinearOperator
from tfcompat._src.linalg.lower_triangular import LinearOperatorLowerTriangular
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.diagonal import matrix_band_part, matrix_diag_part, matrix_set_diag
from tfcompat._src.ops.array.fill import ones, zeros
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.reorder import transpose
from tfcompat._src.ops.array.search import where_v2
from tfcompat._src.ops.array.shape import (
    broadcast_dynamic_shape,
    broadcast_static_shape,
    expand_dims,
    reshape,
    shape,
)  # fmt: skip
from tfcompat._src.ops.composed.check_ops import assert_equal, assert_none_equal, assert_positive
from tfcompat._src.ops.control.cond import smart_cond
from tfcompat._src.ops.control.groups import with_dependencies
from tfcompat._src.ops.math.compare import equal
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.ops.math.unary import sqrt, square

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def optional_tensor(x: TensorLike, name: str) -> Tensor | None:
    """`x` as a tensor; None stays None."""
    return None if x is None else convert_to_tensor(x, name=name)


def mixture_stddev(mixture_weight_vector: Tensor, mean_vector: Tensor, stddev_vector: Tensor) -> Tensor:
    """The standard deviation of mixtures [batch], from weights, means and deviations [batch, components].

    Raises:
      ValueError: the shapes differ.
    """
    mixture_weight_vector.shape.assert_has_rank(2)
    for what, vector in (("means", mean_vector), ("stddevs", stddev_vector)):
        if not vector.shape.is_compatible_with(mixture_weight_vector.shape):
            raise ValueError(f"Expecting {what} to have same shape as mixture weights.")
    weights = expand_dims(mixture_weight_vector, axis=1)
    means, deviations = expand_dims(mean_vector, axis=2), expand_dims(stddev_vector, axis=2)
    mean = reshape(matmul(weights, means), (-1,))
    variance = reshape(matmul(weights, square(deviations)), (-1,))
    mean_of_squares = reshape(matmul(weights, square(means)), (-1,))
    return sqrt(variance + mean_of_squares - square(mean))


# ---- scales ----


def _checked_diagonal(x: Tensor, diagonal: Any, validate_args: bool, assert_positive_: bool) -> Tensor:
    """`x`, whose `diagonal()` is checked to be positive or not 0."""
    if not validate_args:
        return x
    if assert_positive_:
        return with_dependencies([assert_positive(diagonal(), message="diagonal part must be positive")], x)
    check = assert_none_equal(diagonal(), zeros([], x.dtype), message="diagonal part must be non-zero")
    return with_dependencies([check], x)


def make_tril_scale(
    loc: TensorLike | None = None, scale_tril: TensorLike | None = None, scale_diag: TensorLike | None = None, scale_identity_multiplier: TensorLike | None = None,
    shape_hint: object = None, validate_args: bool = False, assert_positive: bool = False, name: str | None = None,
) -> LinearOperator:  # fmt: skip
    """A lower triangular operator: the sum of a triangle, a diagonal and a multiple of the identity that are given.

    The arguments are as of `make_diag_scale`, which makes the operator where there is no triangle.
    """
    with name_scope(name, "make_tril_scale", values=[loc, scale_diag, scale_identity_multiplier]):
        loc, scale_tril = optional_tensor(loc, "loc"), optional_tensor(scale_tril, "scale_tril")
        scale_diag = optional_tensor(scale_diag, "scale_diag")
        multiplier = optional_tensor(scale_identity_multiplier, "scale_identity_multiplier")
    if scale_tril is None:
        return make_diag_scale(
            loc, scale_diag, multiplier, shape_hint, validate_args, assert_positive, name
        )
    scale_tril = matrix_band_part(scale_tril, -1, 0)
    diagonal = matrix_diag_part(scale_tril)
    if scale_diag is not None:
        diagonal += scale_diag
    if multiplier is not None:
        diagonal += multiplier[..., None]
    scale_tril = matrix_set_diag(scale_tril, diagonal)
    checked = _checked_diagonal(scale_tril, lambda: matrix_diag_part(scale_tril), validate_args, assert_positive)
    return LinearOperatorLowerTriangular(
        tril=checked, is_non_singular=True, is_self_adjoint=False, is_positive_definite=assert_positive
    )


def make_diag_scale(
    loc: TensorLike | None = None, scale_diag: TensorLike | None = None, scale_identity_multiplier: TensorLike | None = None, shape_hint: object = None,
    validate_args: bool = False, assert_positive: bool = False, name: str | None = None,
) -> LinearOperator:  # fmt: skip
    """A diagonal operator: the sum of a diagonal and a multiple of the identity that are given, else the identity.

    Args:
      loc: Tensor [..., n], from which size and dtype are taken.
      scale_diag: Tensor [..., n].
      scale_identity_multiplier: Tensor [...].
      shape_hint: n, in place of `loc`.
      validate_args: whether the diagonal is checked in a run.
      assert_positive: whether it has to be positive, else not 0.
      name: name scope.

    Raises:
      ValueError: nothing says how large the operator is.
    """
    with name_scope(name, "make_diag_scale", values=[loc, scale_diag, scale_identity_multiplier]):
        loc, scale_diag = optional_tensor(loc, "loc"), optional_tensor(scale_diag, "scale_diag")
        multiplier = optional_tensor(scale_identity_multiplier, "scale_identity_multiplier")
        if scale_diag is not None:
            if multiplier is not None:
                scale_diag += multiplier[..., None]
            checked = _checked_diagonal(scale_diag, lambda: scale_diag, validate_args, assert_positive)
            return LinearOperatorDiag(
                diag=checked, is_non_singular=True, is_self_adjoint=True, is_positive_definite=assert_positive
            )
        if loc is None and shape_hint is None:
            raise ValueError("Cannot infer `event_shape` unless `loc` or `shape_hint` is specified.")
        rows = dimension_value(loc.shape[-1]) if shape_hint is None else shape_hint
        if multiplier is None:
            return LinearOperatorIdentity(
                num_rows=rows, dtype=loc.dtype.base_dtype, is_self_adjoint=True, is_positive_definite=True,
                assert_proper_shapes=validate_args,
            )  # fmt: skip
        return LinearOperatorScaledIdentity(
            num_rows=rows, multiplier=_checked_diagonal(multiplier, lambda: multiplier, validate_args, assert_positive),
            is_non_singular=True, is_self_adjoint=True, is_positive_definite=assert_positive,
            assert_proper_shapes=validate_args,
        )  # fmt: skip


def is_diagonal_scale(scale: object) -> bool:
    """Whether a linear operator is diagonal by its class; TypeError where it is no linear operator."""
    if not isinstance(scale, LinearOperator):
        raise TypeError(f"Expected argument 'scale' to be instance of LinearOperator. Found: {scale}")
    return isinstance(scale, (LinearOperatorIdentity, LinearOperatorScaledIdentity, LinearOperatorDiag))


# ---- shapes ----


def shapes_from_loc_and_scale(loc: Any, scale: LinearOperator, name: str = "shapes_from_loc_and_scale") -> tuple:
    """(batch shape, event shape) of scale x + loc; ValueError where the sizes are known to differ."""
    with name_scope(name, values=[loc, *scale.graph_parents]):
        size = scale.range_dimension_tensor()
        known = constant_value(size)
        event = size[None] if known is None else known.reshape([1])
        loc_size = None if loc is None else dimension_value(loc.shape[-1])
        if loc_size is not None and known is not None and loc_size not in (1, known):
            raise ValueError(
                f"Event size of 'scale' ({known}) could not be broadcast up to that of 'loc' ({loc_size})."
            )
        batch = scale.batch_shape_tensor()
        if loc is None:
            return prefer_static_value(batch), event
        loc_batch = loc.shape.with_rank_at_least(1)[:-1]
        if loc.shape.ndims is None or not loc_batch.is_fully_defined():
            loc_batch = shape(loc)[:-1]
        else:
            loc_batch = convert_to_tensor(loc_batch, name="loc_batch_shape")
        return prefer_static_broadcast_shape(batch, loc_batch), event


def get_broadcast_shape(*tensors: Tensor) -> Any:
    """The shape that tensors broadcast to: a list where it is known, else a Tensor."""
    known = tensors[0].shape
    for each in tensors[1:]:
        known = broadcast_static_shape(known, each.shape)
    if known.is_fully_defined():
        return known.as_list()
    sizes = shape(tensors[0])
    for each in tensors[1:]:
        sizes = broadcast_dynamic_shape(sizes, shape(each))
    return sizes


def static_value(x: TensorLike) -> Any:
    """The value of `x` where it is known while building, else None."""
    return constant_value(convert_to_tensor(x))


def maybe_check_scalar_distribution(distribution: Any, expected_base_dtype: Any, validate_args: bool) -> list:
    """The checks that a run needs of a distribution of numbers without a batch.

    Raises:
      TypeError: it has another dtype. ValueError: it is known to be no such distribution.
    """
    if distribution.dtype != expected_base_dtype:
        raise TypeError(
            f'dtype mismatch; distribution.dtype="{distribution.dtype.name}" is not "{expected_base_dtype.name}"'
        )
    if validate_args and distribution.reparameterization_type != FULLY_REPARAMETERIZED:
        raise ValueError(
            "Base distribution should be reparameterized or be a function of non-trainable variables; "
            f'distribution.reparameterization_type = "{distribution.reparameterization_type}" != '
            '"FULLY_REPARAMETERIZED".'
        )
    checks = []
    with name_scope("check_distribution"):
        for name in ("is_scalar_event", "is_scalar_batch"):
            is_scalar = getattr(distribution, name)()
            known = static_value(is_scalar)
            message = f"distribution must be scalar; distribution.{name}=False is not True"
            if known is None and validate_args:
                checks.append(assert_equal(is_scalar, True, message=message))
            elif known is not None and not known:
                raise ValueError(message)
    return checks


def pad_mixture_dimensions(x: Tensor, mixture_distribution: Any, categorical_distribution: Any, event_ndims: object) -> Tensor:
    """`x` [..., components] with dimensions of 1 so that it broadcasts with components' statistics."""
    with name_scope("pad_mix_dims", values=[x]):

        def batch_ndims(distribution: Any) -> Any:
            known = distribution.batch_shape.ndims
            return shape(distribution.batch_shape_tensor())[0] if known is None else known

        of_mixture, of_categorical = batch_ndims(mixture_distribution), batch_ndims(categorical_distribution)
        count = where_v2(categorical_distribution.is_scalar_batch(), of_mixture, of_mixture - of_categorical)
        sizes = shape(x)
        parts = [sizes[:-1], ones([count], dtype=dtypes.int32), sizes[-1:], ones([event_ndims], dtype=dtypes.int32)]
        return reshape(x, shape=concat(parts, axis=0))


def move_dimension(x: Tensor, source_idx: Any, dest_idx: Any) -> Tensor:
    """`x` with one dimension moved to another place."""
    ndims = prefer_static_rank(x)
    dtype = dtypes.int32 if isinstance(source_idx, int) else dtypes.as_dtype(source_idx.dtype)
    source = ndims + source_idx if source_idx < 0 else source_idx
    target = ndims + dest_idx if dest_idx < 0 else dest_idx

    def order(*parts: Any) -> Any:
        return prefer_static_value(concat(list(parts), axis=0))

    def to_left() -> Any:
        between = arange(target, source, dtype=dtype)
        return order(arange(0, target, dtype=dtype), [source], between, arange(source + 1, ndims, dtype=dtype))

    def to_right() -> Any:
        between = arange(source + 1, target + 1, dtype=dtype)
        return order(arange(0, source, dtype=dtype), between, [source], arange(target + 1, ndims, dtype=dtype))

    def moved() -> Tensor:
        return transpose(x, perm=smart_cond(source < target, to_right, to_left))

    return smart_cond(equal(source, target), lambda: x, moved)
