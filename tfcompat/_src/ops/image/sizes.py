"""What shape functions of image ops share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfcompat._src.graph import shape_inference as si

if TYPE_CHECKING:
    from tfcompat._src.graph.shape_inference import InferenceContext


def sized_image(c: InferenceContext, batch: int | None, size_input: int, channels: int | None) -> list:
    """[batch, height, width, channels] with the size that input `size_input` holds."""
    si.with_size(si.with_rank(c.inputs[size_input], 1)[0], 2)
    size = c.value(size_input)
    height, width = (None, None) if size is None else (int(n) for n in size)
    return [(batch, *(None if n is not None and n < 0 else n for n in (height, width)), channels)]
