"""Tensors that a run checks: multiples, ranks, shapes and single dimensions, for `SequenceQueueingStateSaver`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.scopes import control_dependencies
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.shape import rank, shape, size
from tfcompat._src.ops.control.cond import Assert
from tfcompat._src.ops.math.binary import floormod
from tfcompat._src.ops.math.compare import equal, logical_and, not_equal
from tfcompat._src.ops.math.reduce import reduce_all
from tfcompat._src.ops.strings.numbers import as_string
from tfcompat._src.ops.strings.text import string_join

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def is_multiple(value: Tensor, factor: TensorLike, remainder: Tensor, what: str) -> Any:
    """The Assert operation that `value` is not 0 and its `remainder` by `factor` is; `what` begins the message."""
    return Assert(
        logical_and(equal(remainder, 0), not_equal(value, 0)),
        [
            string_join([
                f"{what} should be a multiple of: ", as_string(factor), ", but saw value: ", as_string(value),
                ". Consider setting pad=True.",
            ])
        ],
    )  # fmt: skip


def multiple_checked(value: Tensor, factor: TensorLike) -> Tensor:
    """`value`, an int32 scalar, after the check that it is a multiple of `factor`."""
    with control_dependencies([is_multiple(value, factor, floormod(value, factor), f"Tensor {value.name}")]):
        return identity(value, name="multiple_of_checked")


def _set_shape(value: Tensor, wanted: Any, aspect: str, label: str) -> None:
    try:
        value.set_shape(wanted())
    except ValueError as error:
        raise ValueError(f"{aspect} check failed for {label}: {error}") from None


def rank_checked(value: Tensor, wanted: Any) -> Tensor:
    """`value` after the check that its rank is `wanted`, an int or int32 scalar.

    Raises:
      ValueError: both ranks are known and differ.
    """
    check = Assert(
        equal(wanted, rank(value)),
        [string_join([f"Rank of tensor {value.name} should be: ", as_string(wanted), ", shape received:"]), shape(value)],
    )
    with control_dependencies([check]):
        checked = identity(value, name="rank_checked")
    known = constant_value(wanted) if isinstance(wanted, Tensor) else wanted
    if known is not None:
        _set_shape(checked, lambda: checked.shape.with_rank(int(known)), "Rank", value.name)
    return checked


def shape_checked(value: Tensor, wanted: Tensor) -> Tensor:
    """`value` after the check that its shape is `wanted`, an int32 vector.

    Raises:
      ValueError: both shapes are known and do not fit.
    """
    sizes = constant_value(wanted)
    known = None if sizes is None else [int(n) for n in sizes]
    wanted = wanted if known is None else known
    value = rank_checked(value, size(wanted) if known is None else len(known))
    check = Assert(
        reduce_all(equal(wanted, shape(value))),
        [
            string_join([
                f"Shape of tensor {value.name} should be: ", as_string(wanted), ", shape received: ", as_string(shape(value)),
            ])
        ],
    )  # fmt: skip
    with control_dependencies([check]):
        checked = identity(value, name="shape_checked")
    if known is not None:
        _set_shape(checked, lambda: checked.shape.merge_with(known), "Shape", value.name)
    return checked


def _known_sizes(value: Tensor, wanted: dict[int, Any]) -> TensorShape:
    sizes = value.shape.as_list()
    for axis, length in wanted.items():
        if not isinstance(length, Tensor):
            sizes[axis] = length
    return value.shape.merge_with(sizes)


def dimensions_checked(value: Tensor, dimensions: Sequence[int], wanted: Sequence[Any], label: str) -> Tensor:
    """`value` after the check that `dimensions` have the sizes `wanted`, ints or int32 scalars; `label` is for messages.

    Raises:
      TypeError: `dimensions` is no list or `value` no tensor.
      ValueError: dimensions repeat, the lists differ in length, or known sizes do not fit.
    """
    if not isinstance(dimensions, (list, tuple)):
        raise TypeError("dimensions must be a list or tuple")
    if len(set(dimensions)) != len(dimensions):
        raise ValueError(f"dimensions are not unique: {dimensions}")
    if not isinstance(value, Tensor):
        raise TypeError(f"value is not a Tensor: {value}")
    if len(dimensions) != len(wanted):
        raise ValueError(f"len(dimensions) != len(expected_sizes): {len(dimensions)} vs. {len(wanted)}")
    if value.shape.ndims is not None:
        if value.shape.ndims <= max(dimensions):
            raise ValueError(
                f"{label}: rank of input is not greater than max(dimensions): {value.shape.ndims} vs. {max(dimensions)}"
            )
        _set_shape(value, lambda: _known_sizes(value, dict(zip(dimensions, wanted))), "Dimensions", label)
    checks = [_dimension_check(value, axis, length, label) for axis, length in zip(dimensions, wanted)]
    with control_dependencies(checks):
        return identity(value, name=f"dims_checked_{label}")


def _dimension_check(value: Tensor, axis: int, length: TensorLike, label: str) -> Any:
    return Assert(
        equal(length, shape(value)[axis]),
        [
            string_join([
                f"Dimension {axis} of tensor labeled {label} should be: ", as_string(length), ", shape received: ",
                as_string(shape(value)),
            ])
        ],
    )  # fmt: skip
