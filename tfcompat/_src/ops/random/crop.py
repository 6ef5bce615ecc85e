"""tf.random_crop: a slice at a random place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import to_tensor
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.control.cond import Assert
from tfcompat._src.ops.control.groups import with_dependencies
from tfcompat._src.ops.math.reduce import reduce_all
from tfcompat._src.ops.random.stateful import random_uniform

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@export("random_crop", "image.random_crop")
def random_crop(value: TensorLike, size: TensorLike, seed: int | None = None, name: str | None = None) -> Tensor:
    """A slice of shape `size` out of `value`, at a uniformly random offset.

    Args:
      value: tensor to crop.
      size: int32 vector, one entry for each dimension of `value`.
      seed: seed of the operation.
      name: name scope, "random_crop" by default.

    Raises:
      errors.InvalidArgumentError: when run, where `size` is larger than `value`.
    """
    with name_scope(name, "random_crop", [value, size]) as scope:
        value = to_tensor(value, name="value")
        size = to_tensor(size, dtypes.int32, name="size")
        shape = shape_of(value)
        fits = Assert(reduce_all(shape >= size), ["Need value.shape >= size, got ", shape, size], summarize=1000)
        shape = with_dependencies([fits], shape)
        limit = shape - size + 1
        offset = random_uniform(shape_of(shape), dtype=size.dtype, maxval=size.dtype.max, seed=seed) % limit
        return raw.Slice(value, offset, size, name=scope)
