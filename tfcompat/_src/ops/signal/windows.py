"""Windows that taper a frame of a signal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.ops.array.fill import ones
from tfcompat._src.ops.control.cond import cond
from tfcompat._src.ops.math.binary import floormod
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import equal
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.ops.math.unary import cos

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.dtypes import DTypeLike


def _raised_cosine(
    name: str | None, default_name: str, window_length: TensorLike, periodic: TensorLike, dtype: Any, middle: float, swing: float
) -> Tensor:
    if not dtype.is_floating:
        raise ValueError(f"dtype must be a floating point type. Found {dtype}")
    with name_scope(name, default_name, [window_length, periodic]):
        window_length = convert_to_tensor(window_length, dtype=dtypes.int32, name="window_length")
        window_length.shape.assert_has_rank(0)
        known = constant_value(window_length)
        if known == 1:
            return ones([1], dtype=dtype)
        periodic = cast(convert_to_tensor(periodic, dtype=dtypes.bool, name="periodic"), dtypes.int32)
        periodic.shape.assert_has_rank(0)
        is_even = 1 - floormod(window_length, 2)
        period = cast(window_length + periodic * is_even - 1, dtype=dtype)
        count = cast(arange(window_length), dtype)
        angle = constant(2 * np.pi, dtype=dtype) * count / period

        def window() -> Tensor:
            return cast(middle - swing * cos(angle), dtype=dtype)

        return window() if known is not None else cond(equal(window_length, 1), lambda: ones([1], dtype=dtype), window)


@export("signal.hann_window", "contrib.signal.hann_window")
def hann_window(window_length: TensorLike, periodic: TensorLike = True, dtype: DTypeLike = dtypes.float32, name: str | None = None) -> Tensor:
    """The Hann window 0.5 - 0.5 cos(2 pi n / period).

    Args:
      window_length: scalar int, the number of samples.
      periodic: whether the period is `window_length` (for even lengths); else `window_length - 1`, a symmetric window.
      dtype: floating type of the result.
      name: name scope.

    Returns:
      a tensor [window_length].

    Raises:
      ValueError: `dtype` is no floating type, or `window_length` no scalar.
    """
    return _raised_cosine(name, "hann_window", window_length, periodic, dtype, 0.5, 0.5)


@export("signal.hamming_window", "contrib.signal.hamming_window")
def hamming_window(
    window_length: TensorLike, periodic: TensorLike = True, dtype: DTypeLike = dtypes.float32, name: str | None = None
) -> Tensor:
    """The Hamming window 0.54 - 0.46 cos(2 pi n / period); arguments, result and errors are those of `hann_window`."""
    return _raised_cosine(name, "hamming_window", window_length, periodic, dtype, 0.54, 0.46)
