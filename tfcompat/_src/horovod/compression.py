"""How tensors are made smaller for their way between processes."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.math.cast import cast


class Compressor:
    """Base class: `compress` gives a tensor to send and what `decompress` needs for the tensor that comes back."""

    @staticmethod
    def compress(tensor: Tensor) -> tuple[Tensor, Any]:
        """The tensor to send, and what `decompress` needs."""
        raise NotImplementedError("a Compressor defines `compress`")

    @staticmethod
    def decompress(tensor: Tensor, ctx: Any) -> Tensor:
        """The tensor that came, as it was."""
        raise NotImplementedError("a Compressor defines `decompress`")


class NoneCompressor(Compressor):
    """Sends tensors as they are."""

    @staticmethod
    def compress(tensor: Tensor) -> tuple[Tensor, Any]:
        """The tensor itself."""
        return tensor, None

    @staticmethod
    def decompress(tensor: Tensor, ctx: object) -> Tensor:
        """The tensor itself."""
        return tensor


class FP16Compressor(Compressor):
    """Sends floats as float16."""

    @staticmethod
    def compress(tensor: Tensor) -> tuple[Tensor, Any]:
        """The tensor as float16 where it has floats, and its dtype."""
        dtype = tensor.dtype.base_dtype
        return (cast(tensor, dtypes.float16) if dtype.is_floating else tensor), dtype

    @staticmethod
    def decompress(tensor: Tensor, ctx: Any) -> Tensor:
        """The tensor in the dtype that it had."""
        return cast(tensor, ctx) if ctx.is_floating else tensor


class Compression:
    """The compressors there are."""

    none = NoneCompressor
    fp16 = FP16Compressor
