"""Checks under the names of tf.compat.v2.debugging: the same operations, with the arguments of TensorFlow 2."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfcompat._src.base.export import export
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.composed import check_ops, finite, rank_checks

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@export("compat.v2.assert_equal", "compat.v2.debugging.assert_equal")
def assert_equal_v2(
    x: object, y: object, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> Operation | None:
    """`tf.debugging.assert_equal` without `data`."""
    return check_ops.assert_equal(x, y, message=message, summarize=summarize, name=name)


@export("compat.v2.assert_greater", "compat.v2.debugging.assert_greater")
def assert_greater_v2(
    x: object, y: object, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> Operation | None:
    """`tf.debugging.assert_greater` without `data`."""
    return check_ops.assert_greater(x, y, message=message, summarize=summarize, name=name)


@export("compat.v2.assert_less", "compat.v2.debugging.assert_less")
def assert_less_v2(
    x: object, y: object, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> Operation | None:
    """`tf.debugging.assert_less` without `data`."""
    return check_ops.assert_less(x, y, message=message, summarize=summarize, name=name)


@export("compat.v2.debugging.assert_greater_equal")
def assert_greater_equal_v2(
    x: object, y: object, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> Operation | None:
    """`tf.debugging.assert_greater_equal` without `data`."""
    return check_ops.assert_greater_equal(x, y, message=message, summarize=summarize, name=name)


@export("compat.v2.debugging.assert_less_equal")
def assert_less_equal_v2(
    x: object, y: object, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> Operation | None:
    """`tf.debugging.assert_less_equal` without `data`."""
    return check_ops.assert_less_equal(x, y, message=message, summarize=summarize, name=name)


@export("compat.v2.debugging.assert_none_equal")
def assert_none_equal_v2(
    x: object, y: object, summarize: int | None = None, message: str | None = None, name: str | None = None
) -> Operation | None:
    """`tf.debugging.assert_none_equal` without `data`."""
    return check_ops.assert_none_equal(x, y, summarize=summarize, message=message, name=name)


@export("compat.v2.debugging.assert_near")
def assert_near_v2(
    x: TensorLike, y: TensorLike, rtol: object = None, atol: object = None, message: str | None = None, summarize: int | None = None,
    name: str | None = None,
) -> Operation | None:  # fmt: skip
    """`tf.debugging.assert_near` without `data`."""
    return check_ops.assert_near(x, y, rtol, atol, message=message, summarize=summarize, name=name)


@export("compat.v2.debugging.assert_negative")
def assert_negative_v2(
    x: object, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> Operation | None:
    """`tf.debugging.assert_negative` without `data`."""
    return check_ops.assert_negative(x, message=message, summarize=summarize, name=name)


@export("compat.v2.debugging.assert_non_negative")
def assert_non_negative_v2(
    x: object, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> Operation | None:
    """`tf.debugging.assert_non_negative` without `data`."""
    return check_ops.assert_non_negative(x, message=message, summarize=summarize, name=name)


@export("compat.v2.debugging.assert_non_positive")
def assert_non_positive_v2(
    x: object, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> Operation | None:
    """`tf.debugging.assert_non_positive` without `data`."""
    return check_ops.assert_non_positive(x, message=message, summarize=summarize, name=name)


@export("compat.v2.debugging.assert_positive")
def assert_positive_v2(
    x: object, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> Operation | None:
    """`tf.debugging.assert_positive` without `data`."""
    return check_ops.assert_positive(x, message=message, summarize=summarize, name=name)


@export("compat.v2.assert_rank", "compat.v2.debugging.assert_rank")
def assert_rank_v2(x: TensorLike, rank: TensorLike, message: str | None = None, name: str | None = None) -> Operation | None:
    """`tf.debugging.assert_rank` without `data` and `summarize`."""
    return rank_checks.assert_rank(x, rank, message=message, name=name)


@export("compat.v2.debugging.assert_rank_at_least")
def assert_rank_at_least_v2(x: TensorLike, rank: TensorLike, message: str | None = None, name: str | None = None) -> Operation | None:
    """`tf.debugging.assert_rank_at_least` without `data` and `summarize`."""
    return rank_checks.assert_rank_at_least(x, rank, message=message, name=name)


@export("compat.v2.debugging.assert_rank_in")
def assert_rank_in_v2(x: TensorLike, ranks: object, message: str | None = None, name: str | None = None) -> Operation | None:
    """`tf.debugging.assert_rank_in` without `data` and `summarize`."""
    return rank_checks.assert_rank_in(x, ranks, message=message, name=name)


@export("compat.v2.debugging.assert_scalar")
def assert_scalar_v2(tensor: TensorLike, message: str | None = None, name: str | None = None) -> Tensor:
    """`tf.debugging.assert_scalar` with `message` before `name`."""
    return check_ops.assert_scalar(tensor, name, message)


@export("compat.v2.debugging.assert_all_finite")
def verify_tensor_all_finite_v2(x: TensorLike, message: str, name: str | None = None) -> Tensor:
    """`tf.debugging.assert_all_finite` under the names of TensorFlow 2."""
    return finite.verify_tensor_all_finite(x=x, message=message, name=name)
