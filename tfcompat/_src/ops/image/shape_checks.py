"""What functions of images demand of shapes: at once where they are known, else by nodes that assert."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.ops.array.join import unstack
from tfcompat._src.ops.array.shape import expand_dims, rank, shape
from tfcompat._src.ops.composed.check_ops import assert_equal, assert_greater_equal, assert_positive
from tfcompat._src.ops.control.cond import Assert
from tfcompat._src.ops.control.groups import with_dependencies

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.tensor_shape import TensorShape

NOT_AN_IMAGE = "'image' must have either 3 or 4 dimensions."


def is_tensor(value: object) -> bool:
    return isinstance(value, Tensor) or hasattr(value, "initialized_value")


def demand(condition: TensorLike, error: type[Exception], text: str) -> list:
    """Nodes that assert `condition`; none, and `error` at once, where it is a Python bool."""
    if is_tensor(condition):
        return [Assert(condition, [text])]
    if not condition:
        raise error(text)
    return []


def larger(x: Any, y: Any) -> Tensor:
    return raw.Maximum(x, y) if is_tensor(x) or is_tensor(y) else max(x, y)


def smaller(x: Any, y: Any) -> Tensor:
    return raw.Minimum(x, y) if is_tensor(x) or is_tensor(y) else min(x, y)


def same(x: TensorLike, y: TensorLike) -> Tensor | bool:
    return raw.Equal(x, y) if is_tensor(x) or is_tensor(y) else x == y


def dimensions(image: Tensor, ndims: int) -> list:
    """The size of each dimension: an int where it is known, else a scalar tensor."""
    if image.shape.is_fully_defined():
        return image.shape.as_list()
    known = image.shape.with_rank(ndims).as_list()
    sizes = unstack(shape(image), ndims)
    return [d if s is None else s for s, d in zip(known, sizes)]


def _checked_shape(image: Tensor, ndims: int, text: str) -> TensorShape:
    """The static shape, of rank `ndims` at least, and `ndims` where the rank is not known."""
    try:
        return image.shape.with_rank(ndims) if image.shape.ndims is None else image.shape.with_rank_at_least(ndims)
    except ValueError:
        raise ValueError(text) from None


def check_at_least_3d(image: Tensor) -> list:
    """Nodes that assert sizes and rank, none where the shape is known.

    Raises:
      ValueError: the static shape has fewer than three dimensions, or an empty one.
    """
    found = _checked_shape(image, 3, "'image' must be at least three-dimensional.")
    if any(n == 0 for n in found.as_list()):
        raise ValueError(f"all dims of 'image.shape' must be > 0: {found}")
    if found.is_fully_defined():
        return []
    return [
        assert_positive(shape(image), ["all dims of 'image.shape' must be > 0."]),
        assert_greater_equal(rank(image), 3, message="'image' must be at least three-dimensional."),
    ]


def assert_at_least_3d(image: Tensor) -> Tensor:
    """`image`, behind the nodes of `check_at_least_3d`."""
    return with_dependencies(check_at_least_3d(image), image)


def assert_grayscale(image: Tensor) -> Tensor:
    """`image`, behind nodes that assert that its last dimension is 1."""
    found = _checked_shape(image, 2, "A grayscale image must be at least two-dimensional.")
    text = "Last dimension of a grayscale image should be size 1."
    checks = []
    if not found.is_fully_defined():
        checks = [
            assert_equal(shape(image)[-1], 1, message=text),
            assert_greater_equal(rank(image), 3, message="A grayscale image must be at least two-dimensional."),
        ]
    elif found.as_list()[-1] != 1:
        raise ValueError(text)
    return with_dependencies(checks, image)


def by_rank(image: Tensor, one: Callable, batch: Callable) -> Any:
    """`one()` for an image of rank 3 or unknown rank, `batch()` for rank 4."""
    if image.shape.ndims in (3, None):
        return one()
    if image.shape.ndims != 4:
        raise ValueError(NOT_AN_IMAGE)
    return batch()


def as_batch(image: Tensor) -> tuple[Tensor, bool]:
    """`image` with a batch dimension, and whether it had one."""
    ndims = image.shape.ndims
    if ndims == 4:
        return image, True
    if ndims not in (3, None):
        raise ValueError(NOT_AN_IMAGE)
    image = expand_dims(image, 0)
    if ndims is None:
        image.set_shape([None] * 4)
    return image, False


def known_sizes(*sizes: object) -> list:
    """The sizes that are Python numbers; None for tensors."""
    return [None if is_tensor(n) else n for n in sizes]
