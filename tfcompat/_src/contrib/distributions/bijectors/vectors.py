"""Bijectors of vectors and shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape, dimension_value
from tfcompat._src.distributions.bijector import Bijector
from tfcompat._src.distributions.distribution import parameter
from tfcompat._src.distributions.util import pad
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.reorder import invert_permutation
from tfcompat._src.ops.array.shape import rank, reshape, shape, size, squeeze
from tfcompat._src.ops.composed.check_ops import (
    assert_equal,
    assert_greater,
    assert_greater_equal,
    assert_less_equal,
    assert_positive,
)  # fmt: skip
from tfcompat._src.ops.composed.masks import boolean_mask
from tfcompat._src.ops.control.groups import with_dependencies
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import equal
from tfcompat._src.ops.math.reduce import reduce_logsumexp, reduce_sum
from tfcompat._src.ops.math.scan import cumsum
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.ops.math.unary import absolute, exp, log
from tfcompat._src.ops.nn.activation import softplus
from tfcompat._src.ops.nn.softmax import softmax
from tfcompat._src.ops.nn.top_k import top_k

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@export("contrib.distributions.bijectors.Permute")
class Permute(Bijector):
    """y = x[..., permutation]; the permutation is an integer vector.

    Raises:
      TypeError: it is of no integers. ValueError: it is known to be no permutation.
    """

    def __init__(self, permutation: TensorLike, validate_args: bool = False, name: str | None = None) -> None:
        message = "Permutation over `d` must contain exactly one of each of `{0, 1, ..., d}`."
        with name_scope(name, "permute", values=[permutation]):
            permutation = convert_to_tensor(permutation, name="permutation")
            if not permutation.dtype.is_integer:
                raise TypeError(f"permutation.dtype ({permutation.dtype.name}) should be `int`-like.")
            known = constant_value(permutation)
            if known is not None:
                if set(known.tolist()) != set(range(known.size)):
                    raise ValueError(message)
            elif validate_args:
                falling, _ = top_k(-permutation, k=shape(permutation)[-1], sorted=True)
                check = assert_equal(-falling, arange(size(falling)), message=message)
                permutation = with_dependencies([check], permutation)
            self._permutation = permutation
            super().__init__(
                forward_min_event_ndims=1, is_constant_jacobian=True, validate_args=validate_args,
                name=name or "permute",
            )  # fmt: skip

    permutation = parameter("permutation", "Where each entry comes from.")

    def _forward(self, x: Tensor) -> Tensor:
        return gather(x, self.permutation, axis=-1)

    def _inverse(self, y: Tensor) -> Tensor:
        return gather(y, invert_permutation(self.permutation), axis=-1)

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        return constant(0.0, dtype=y.dtype.base_dtype)

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return constant(0.0, dtype=x.dtype.base_dtype)


class _LastDimension(Bijector):
    """A bijector of vectors that changes their length by a constant."""

    _ADDED = 0

    def _forward_event_shape(self, input_shape: TensorShape) -> TensorShape:
        if input_shape.ndims is None or dimension_value(input_shape[-1]) is None:
            return input_shape
        return TensorShape([input_shape[-1] + self._ADDED])

    def _forward_event_shape_tensor(self, input_shape: Tensor) -> Tensor:
        return (input_shape[-1] + self._ADDED)[..., None]

    def _inverse_event_shape(self, output_shape: object) -> TensorShape:
        output_shape = TensorShape(output_shape)
        if output_shape.ndims is None or dimension_value(output_shape[-1]) is None:
            return output_shape
        if dimension_value(output_shape[-1]) <= 1:
            raise ValueError(f"output_shape[-1] = {output_shape[-1]} <= 1")
        return TensorShape([output_shape[-1] - self._ADDED])

    def _inverse_event_shape_tensor(self, output_shape: Tensor) -> Tensor:
        if self.validate_args:
            check = assert_greater(output_shape[-1], 1, message="Need last dimension greater than 1.")
            output_shape = with_dependencies([check], output_shape)
        return (output_shape[-1] - self._ADDED)[..., None]


@export("contrib.distributions.bijectors.SoftmaxCentered")
class SoftmaxCentered(_LastDimension):
    """y = softmax([x, 0])."""

    _ADDED = 1

    def __init__(self, validate_args: bool = False, name: str = "softmax_centered") -> None:
        super().__init__(forward_min_event_ndims=1, validate_args=validate_args, name=name)

    def _forward(self, x: Tensor) -> Tensor:
        y = pad(x, axis=-1, back=True)
        if x.shape.ndims is not None:
            y.set_shape(x.shape[:-1].concatenate(x.shape.dims[-1] + 1))
        return softmax(y)

    def _inverse(self, y: Tensor) -> Tensor:
        logits = log(y)
        last = (-logits[..., -1])[..., None]
        x = logits[..., :-1] + last
        if y.shape.ndims is not None:
            x.set_shape(y.shape[:-1].concatenate(y.shape.dims[-1] - 1))
        return x

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        return -reduce_sum(log(y), axis=-1)

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        normalization = softplus(reduce_logsumexp(x, axis=-1, keepdims=True))
        total = -normalization + reduce_sum(x - normalization, axis=-1, keepdims=True)
        return squeeze(total, axis=-1)


@export("contrib.distributions.bijectors.Ordered")
class Ordered(_LastDimension):
    """Rising vectors to vectors: y = [x_0, log(x_1 - x_0), log(x_2 - x_1), ...]."""

    def __init__(self, validate_args: bool = False, name: str = "ordered") -> None:
        super().__init__(forward_min_event_ndims=1, validate_args=validate_args, name=name)

    def _forward(self, x: Tensor) -> Tensor:
        x = self._checked_x(x)
        first = x[..., 0, None]
        return concat([first, log(x[..., 1:] - x[..., :-1])], axis=-1)

    def _inverse(self, y: Tensor) -> Tensor:
        first = y[..., 0, None]
        return cumsum(concat([first, exp(y[..., 1:])], axis=-1), axis=-1)

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        return reduce_sum(y[..., 1:], axis=-1)

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        x = self._checked_x(x)
        return -reduce_sum(log(x[..., 1:] - x[..., :-1]), axis=-1)

    def _checked_x(self, x: Tensor) -> Tensor:
        if not self.validate_args:
            return x
        message = "Forward transformation input must be strictly increasing."
        return with_dependencies([assert_positive(x[..., 1:] - x[..., :-1], message=message)], x)


@export("contrib.distributions.bijectors.Reshape")
class Reshape(Bijector):
    """y = x with the event shape `event_shape_in` made `event_shape_out`; one size of each may be -1.

    Raises:
      TypeError: a shape is of no integers. ValueError: a shape is known to be wrong.
    """

    def __init__(
        self, event_shape_out: TensorLike, event_shape_in: TensorLike = (-1,), validate_args: bool = False, name: str | None = None
    ) -> None:
        with name_scope(name, "reshape", values=[event_shape_out, event_shape_in]):
            out = convert_to_tensor(event_shape_out, name="event_shape_out", preferred_dtype=dtypes.int32)
            in_ = convert_to_tensor(event_shape_in, name="event_shape_in", preferred_dtype=dtypes.int32)
            self._checks = [*_shape_checks(out, validate_args), *_shape_checks(in_, validate_args)]
            self._event_shape_in, self._event_shape_out = in_, out
            super().__init__(
                forward_min_event_ndims=0, is_constant_jacobian=True, validate_args=validate_args,
                name=name or "reshape",
            )  # fmt: skip

    def _reshaped(self, x: Tensor, sizes_in: Tensor, sizes_out: Tensor) -> Tensor:
        known_count = dimension_value(sizes_in.shape.with_rank_at_least(1)[0])
        count = shape(sizes_in)[0]
        ndims = x.shape.ndims
        x_ndims, check = rank(x), None
        known_sizes = constant_value(sizes_in)
        event = None
        if known_count is not None and ndims is not None:
            event = x.shape.with_rank_at_least(known_count)[ndims - known_count :]
        if event is not None and event.is_fully_defined():
            known_event = dynamic_event = np.array(event.as_list(), np.int32)
        else:
            known_event, dynamic_event = None, shape(x)[x_ndims - count :]
        if known_event is not None and known_sizes is not None:
            given = known_sizes >= 0
            if not np.array_equal(known_event[given], known_sizes[given]):
                raise ValueError(
                    f"Input `event_shape` does not match `event_shape_in` ({known_event} vs {known_sizes})."
                )
        elif self.validate_args:
            mask = reshape(sizes_in >= 0, [-1])
            message = "Input `event_shape` does not match `event_shape_in`."
            specified = boolean_mask(convert_to_tensor(dynamic_event), mask)
            check = assert_equal(specified, boolean_mask(sizes_in, mask), message=message)
        if check is not None:
            x = with_dependencies([check], x)
        outer = shape(x)[: (ndims if ndims is not None else rank(x)) - absolute(count)]
        if known_count is not None and known_count == ndims:
            return reshape(x, sizes_out)
        return reshape(x, concat([outer, sizes_out], axis=0))

    def _forward(self, x: Tensor) -> Tensor:
        with control_dependencies(self._checks):
            return self._reshaped(x, self._event_shape_in, self._event_shape_out)

    def _inverse(self, y: Tensor) -> Tensor:
        with control_dependencies(self._checks):
            return self._reshaped(y, self._event_shape_out, self._event_shape_in)

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        with control_dependencies(self._checks):
            return constant(0.0, dtype=y.dtype)

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        with control_dependencies(self._checks):
            return constant(0.0, dtype=x.dtype)

    def _probe(self, sizes: object, function: Any) -> Tensor:
        """What becomes of zeros of the shape `sizes`."""
        with control_dependencies(self._checks):
            return function(zeros(sizes, dtype=dtypes.float32))

    def _forward_event_shape(self, input_shape: TensorShape) -> TensorShape:
        return self._probe(input_shape, self.forward).shape

    def _inverse_event_shape(self, output_shape: object) -> TensorShape:
        return self._probe(output_shape, self.inverse).shape

    def _forward_event_shape_tensor(self, input_shape: Tensor) -> Tensor:
        return shape(self._probe(input_shape, self.forward))

    def _inverse_event_shape_tensor(self, output_shape: Tensor) -> Tensor:
        return shape(self._probe(output_shape, self.inverse))


def _shape_checks(sizes: Tensor, validate_args: bool) -> list:
    """The checks that a run needs of a shape; raises at once what is known to be wrong."""
    if not sizes.dtype.is_integer:
        raise TypeError(f"{sizes} dtype ({sizes.dtype.name}) should be `int`-like.")
    checks, ndims = [], rank(sizes)
    known_ndims = constant_value(ndims)
    if known_ndims is not None and known_ndims > 1:
        raise ValueError(f"`{sizes}` rank ({known_ndims}) should be <= 1.")
    if known_ndims is None and validate_args:
        checks.append(assert_less_equal(ndims, 1, message=f"`{sizes}` rank should be <= 1."))
    known = constant_value(sizes)
    if known is not None:
        if (known == -1).sum() > 1:
            raise ValueError(f"`{sizes}` must have at most one `-1` (given {known})")
        if (known < -1).any():
            raise ValueError(f"`{sizes}` elements must be either positive integers or `-1`(given {known}).")
    elif validate_args:
        count = reduce_sum(cast(equal(sizes, -1), dtypes.int32))
        checks += [
            assert_less_equal(count, 1, message=f"`{sizes}` elements must have at most one `-1`."),
            assert_greater_equal(
                sizes, -1, message=f"`{sizes}` elements must be either positive integers or `-1`."
            ),
        ]
    return checks
