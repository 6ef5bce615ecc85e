"""The sinh-arcsinh distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfcompat._src.base.export import export
from tfcompat._src.contrib.distributions.bijectors import elementwise as bijectors
from tfcompat._src.contrib.distributions.bijectors.composite import Chain
from tfcompat._src.contrib.distributions.distribution_util import get_broadcast_shape, maybe_check_scalar_distribution
from tfcompat._src.distributions.distribution import Distribution, parameter
from tfcompat._src.distributions.normal import Normal
from tfcompat._src.distributions.transformed_distribution import TransformedDistribution
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.fill import ones, zeros
from tfcompat._src.ops.control.groups import with_dependencies

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@export("contrib.distributions.SinhArcsinh")
class SinhArcsinh(TransformedDistribution):
    """The distribution of loc + c sinh((arcsinh(Z) + skewness) tailweight) with c = 2 scale / (its value at 2 without skewness).

    Args:
      loc, scale: float Tensors.
      skewness: float Tensor; 0 by default.
      tailweight: float Tensor; 1 by default.
      distribution: of Z, of numbers without a batch; standard normal by default.
      validate_args, allow_nan_stats, name: see `Distribution`.
    """

    def __init__(
        self, loc: TensorLike, scale: TensorLike, skewness: object = None, tailweight: object = None,
        distribution: Distribution | None = None, validate_args: bool = False, allow_nan_stats: bool = True,
        name: str = "SinhArcsinh",
    ) -> None:  # fmt: skip
        with name_scope(name, values=[loc, scale, skewness, tailweight]) as name:
            loc = convert_to_tensor(loc, name="loc")
            dtype = loc.dtype
            scale = convert_to_tensor(scale, name="scale", dtype=dtype)
            has_default_skewness = skewness is None
            tailweight = convert_to_tensor(1.0 if tailweight is None else tailweight, name="tailweight", dtype=dtype)
            skewness = convert_to_tensor(0.0 if has_default_skewness else skewness, name="skewness", dtype=dtype)
            batch_shape = get_broadcast_shape(loc, scale, tailweight, skewness)
            if distribution is None:
                distribution = Normal(
                    loc=zeros([], dtype=dtype), scale=ones([], dtype=dtype), allow_nan_stats=allow_nan_stats
                )
            else:
                checks = maybe_check_scalar_distribution(distribution, dtype, validate_args)
                loc = with_dependencies(checks, loc) if checks else loc
            function = bijectors.SinhArcsinh(skewness=skewness, tailweight=tailweight)
            unskewed = function
            if not has_default_skewness:
                unskewed = bijectors.SinhArcsinh(skewness=dtype.as_numpy_dtype(0.0), tailweight=tailweight)
            factor = 2 * scale / unskewed.forward(convert_to_tensor(2, dtype=dtype))
            affine = bijectors.AffineScalar(shift=loc, scale=factor, validate_args=validate_args)
            super().__init__(
                distribution=distribution, bijector=Chain([affine, function]), batch_shape=batch_shape,
                validate_args=validate_args, name=name,
            )  # fmt: skip
        self._loc, self._scale, self._tailweight, self._skewness = loc, scale, tailweight, skewness

    loc = parameter("loc", "The location.")
    scale = parameter("scale", "The scale.")
    tailweight = parameter("tailweight", "The weight of the tails.")
    skewness = parameter("skewness", "The skewness.")
