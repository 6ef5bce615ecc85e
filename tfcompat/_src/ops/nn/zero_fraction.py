"""tf.nn.zero_fraction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import to_tensor
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.array.shape import size
from tfcompat._src.ops.control.cond import cond
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.reduce import reduce_sum

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def _count_nonzero(x: Tensor, dtype: dtypes.DType) -> Tensor:
    with name_scope("count_nonzero", values=[x]):
        nonzero = raw.NotEqual(x, zeros([], dtype=x.dtype))
        return reduce_sum(cast(nonzero, dtype), name="nonzero_count")


@export("math.zero_fraction", "nn.zero_fraction")
def zero_fraction(value: TensorLike, name: str | None = None) -> Tensor:
    """The part of the elements that is 0, a float32 scalar; NaN where there are none."""
    with name_scope(name, "zero_fraction", [value]):
        value = to_tensor(value, name="value")
        total = size(value, out_type=dtypes.int64)
        nonzero = cond(
            total <= dtypes.int32.max,
            true_fn=lambda: cast(_count_nonzero(value, dtypes.int32), dtypes.int64),
            false_fn=lambda: _count_nonzero(value, dtypes.int64),
        )
        with name_scope("counts_to_fraction"):
            zero = cast(total - nonzero, dtypes.float32)
            fraction = zero / cast(total, dtypes.float32)
        return raw.Identity(fraction, name="fraction")
