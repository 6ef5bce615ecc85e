"""Affine bijectors of vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.contrib.distributions.bijectors.elementwise import init_scope
from tfcompat._src.contrib.distributions.distribution_util import make_tril_scale, optional_tensor
from tfcompat._src.contrib.distributions.shape import DistributionShape
from tfcompat._src.distributions.bijector import Bijector
from tfcompat._src.distributions.distribution import parameter
from tfcompat._src.distributions.util import dimension_size
from tfcompat._src.graph.scopes import control_dependencies
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.linalg.linear_operator import LinearOperator
from tfcompat._src.linalg.low_rank_update import LinearOperatorLowRankUpdate
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.array.shape import shape
from tfcompat._src.ops.composed.check_ops import assert_none_equal
from tfcompat._src.ops.control.groups import with_dependencies
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.unary import absolute, log

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


class _LinearOperatorBijector(Bijector):
    """y = scale x + shift with a linear operator `_scale`, or None, and `_shaper` for its batch dimensions."""

    shift = parameter("shift", "What is added, or None.")
    scale = parameter("scale", "The linear operator, or None.")

    def _applied(self, function: Any, x: Tensor) -> Tensor:
        """A method of the operator on vectors."""
        x, sample_shape = self._shaper.make_batch_of_event_sample_matrices(x, expand_batch_dim=False)
        y = function(x)
        return self._shaper.undo_make_batch_of_event_sample_matrices(y, sample_shape, expand_batch_dim=False)

    def _scale_checks(self) -> list:
        if not self.validate_args:
            return []
        try:
            return [self.scale.assert_non_singular()]
        except NotImplementedError:
            return []

    def _matmul(self, x: Tensor) -> Tensor:
        with control_dependencies(self._scale_checks()):
            return self.scale.matmul(x)

    def _forward(self, x: Tensor) -> Tensor:
        y = x if self.scale is None else self._applied(self._matmul, x)
        return y if self.shift is None else y + self.shift

    def _inverse(self, y: Tensor) -> Tensor:
        x = y if self.shift is None else y - self.shift
        return x if self.scale is None else self._applied(self.scale.solve, x)

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        if self.scale is None:
            return constant(0.0, dtype=x.dtype.base_dtype)
        with control_dependencies(self._scale_checks()):
            return self.scale.log_abs_determinant()


def _batch_ndims(scale: LinearOperator) -> Tensor | int:
    return scale.tensor_rank_tensor() - 2 if scale.tensor_rank is None else scale.tensor_rank - 2


def _require_one_dtype(shift: Any, scale: LinearOperator) -> None:
    if shift is not None and shift.dtype.base_dtype != scale.dtype.base_dtype:
        raise TypeError(f"shift.dtype({shift.dtype}) is incompatible with scale.dtype({scale.dtype}).")


@export("contrib.distributions.bijectors.AffineLinearOperator")
class AffineLinearOperator(_LinearOperatorBijector):
    """y = scale x + shift, `scale` being a LinearOperator or None, `shift` a Tensor or None.

    Raises:
      TypeError: `scale` is no LinearOperator, or dtypes differ. ValueError: it is checked and may be singular.
    """

    def __init__(
        self, shift: object = None, scale: Any = None, validate_args: bool = False, name: str = "affine_linear_operator"
    ) -> None:
        parents, dtype, batch_ndims = [], dtypes.float32, 0
        with init_scope(name, [shift]):
            if shift is not None:
                shift = convert_to_tensor(shift, name="shift")
                parents.append(shift)
                dtype = shift.dtype.base_dtype
            if scale is not None:
                _require_one_dtype(shift, scale)
                if not isinstance(scale, LinearOperator):
                    raise TypeError("scale is not an instance of tf.LinearOperator")
                if validate_args and not scale.is_non_singular:
                    raise ValueError("Scale matrix must be non-singular.")
                parents += scale.graph_parents
                batch_ndims = _batch_ndims(scale)
                if scale.tensor_rank is None:
                    parents.append(batch_ndims)
                dtype = dtype if scale.dtype is None else scale.dtype.base_dtype
            self._shift, self._scale = shift, scale
            self._shaper = DistributionShape(batch_ndims=batch_ndims, event_ndims=1, validate_args=validate_args)
            super().__init__(
                forward_min_event_ndims=1, graph_parents=parents, is_constant_jacobian=True, dtype=dtype,
                validate_args=validate_args, name=name,
            )  # fmt: skip


@export("contrib.distributions.bijectors.Affine")
class Affine(_LinearOperatorBijector):
    """y = scale x + shift with scale = m I + diag(d) + lower triangle + U diag(p) U^T, of what is given.

    Args:
      shift: Tensor [..., n].
      scale_identity_multiplier: m, a scalar; 1 where no part of the scale is given.
      scale_diag: d, [..., n].
      scale_tril: [..., n, n].
      scale_perturb_factor: U, [..., n, r].
      scale_perturb_diag: p, [..., r]; ones by default.
      validate_args: whether the scale is checked in a run not to be singular.
      name: name scope.

    Raises:
      ValueError: `scale_perturb_diag` is given without a factor. TypeError: dtypes differ.
    """

    def __init__(
        self, shift: TensorLike | None = None, scale_identity_multiplier: object = None, scale_diag: object = None,
        scale_tril: object = None, scale_perturb_factor: object = None, scale_perturb_diag: object = None,
        validate_args: bool = False, name: str = "affine",
    ) -> None:  # fmt: skip
        if scale_perturb_diag is not None and scale_perturb_factor is None:
            raise ValueError("When scale_perturb_diag is specified, scale_perturb_factor must be specified.")
        self._is_only_identity_multiplier = scale_tril is None and scale_diag is None and scale_perturb_factor is None
        given = [
            shift, scale_identity_multiplier, scale_diag, scale_tril, scale_perturb_diag, scale_perturb_factor,
        ]  # fmt: skip
        with init_scope(name, given):
            dtype, batch_ndims = dtypes.float32, 0
            if shift is not None:
                shift = convert_to_tensor(shift, name="shift")
                dtype = shift.dtype.base_dtype
            self._shift = shift
            if self._is_only_identity_multiplier and scale_identity_multiplier is None:
                scale_identity_multiplier = convert_to_tensor(1.0, dtype=dtype)
            parts = [
                optional_tensor(each, each_name)
                for each, each_name in (
                    (scale_identity_multiplier, "identity_multiplier"), (scale_diag, "diag"), (scale_tril, "tril"),
                    (scale_perturb_diag, "perturb_diag"), (scale_perturb_factor, "perturb_factor"),
                )
            ]  # fmt: skip
            if self._is_only_identity_multiplier:
                self._scale = _nonzero(parts[0]) if validate_args else parts[0]
                parents = [self._scale]
            else:
                self._scale = _scale_operator(shift, *parts, validate_args=validate_args)
                _require_one_dtype(shift, self._scale)
                batch_ndims = _batch_ndims(self._scale)
                parents = self._scale.graph_parents + ([] if shift is None else [shift])
            dtype = dtype if self._scale.dtype is None else self._scale.dtype.base_dtype
            self._shaper = DistributionShape(batch_ndims=batch_ndims, event_ndims=1, validate_args=validate_args)
            super().__init__(
                forward_min_event_ndims=1, graph_parents=parents, is_constant_jacobian=True, dtype=dtype,
                validate_args=validate_args, name=name,
            )  # fmt: skip

    def _forward(self, x: Tensor) -> Tensor:
        if not self._is_only_identity_multiplier:
            return super()._forward(x)
        y = x * self._scale
        return y if self.shift is None else y + self.shift

    def _inverse(self, y: Tensor) -> Tensor:
        if not self._is_only_identity_multiplier:
            return super()._inverse(y)
        return (y if self.shift is None else y - self.shift) / self._scale

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        if not self._is_only_identity_multiplier:
            return self.scale.log_abs_determinant()
        size = cast(shape(x)[-1], dtype=self._scale.dtype)
        return log(absolute(self._scale)) * size


def _nonzero(multiplier: Tensor) -> Tensor:
    check = assert_none_equal(multiplier, zeros([], multiplier.dtype), ["identity_multiplier should be non-zero."])
    return with_dependencies([check], multiplier)


def _scale_operator(
    shift: TensorLike, multiplier: TensorLike, diag: TensorLike, tril: TensorLike, perturb_diag: object, perturb_factor: Any, validate_args: bool
) -> LinearOperator:
    """The scale of `Affine` as a linear operator."""
    size = None if perturb_factor is None else dimension_size(perturb_factor, axis=-2)
    scale = make_tril_scale(
        loc=shift, scale_tril=tril, scale_diag=diag, scale_identity_multiplier=multiplier,
        validate_args=validate_args, assert_positive=False, shape_hint=size,
    )  # fmt: skip
    if perturb_factor is None:
        return scale
    return LinearOperatorLowRankUpdate(
        scale, u=perturb_factor, diag_update=perturb_diag, is_diag_update_positive=perturb_diag is None,
        is_non_singular=True, is_self_adjoint=True, is_positive_definite=True, is_square=True,
    )  # fmt: skip
