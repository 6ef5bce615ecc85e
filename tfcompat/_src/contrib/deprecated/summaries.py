"""tf.contrib.deprecated: summaries of TensorFlow 0.12, whose tags are tensors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.graph.scopes import get_collection, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.summary.scope import collect

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_Keys = Iterable[Any] | None


@export("contrib.deprecated.scalar_summary")
def scalar_summary(tags: TensorLike, values: TensorLike, collections: _Keys = None, name: str | None = None) -> Tensor:
    """A summary of numbers.

    Args:
      tags: string Tensor.
      values: real Tensor of the same shape.
      collections: keys of collections that get the result, GraphKeys.SUMMARIES by default.
      name: node name.

    Returns:
      a string scalar, a serialized Summary.
    """
    with name_scope(name, "ScalarSummary", [tags, values]) as scope:
        found = raw.ScalarSummary(tags=tags, values=values, name=scope)
        collect(found, collections, [GraphKeys.SUMMARIES])
    return found


@export("contrib.deprecated.histogram_summary")
def histogram_summary(tag: TensorLike, values: TensorLike, collections: _Keys = None, name: str | None = None) -> Tensor:
    """A summary of the distribution of real values; `tag` is a string scalar, the rest as for `scalar_summary`."""
    with name_scope(name, "HistogramSummary", [tag, values]) as scope:
        found = raw.HistogramSummary(tag=tag, values=values, name=scope)
        collect(found, collections, [GraphKeys.SUMMARIES])
    return found


@export("contrib.deprecated.image_summary")
def image_summary(
    tag: TensorLike, tensor: TensorLike, max_images: int = 3, collections: _Keys = None, name: str | None = None
) -> Tensor:
    """A summary of images.

    Args:
      tag: string scalar.
      tensor: Tensor [images, height, width, 1 (gray), 3 (RGB) or 4 (RGBA)], uint8, or float to be scaled to 0 .. 255.
      max_images: how many images.
      collections, name: as for `scalar_summary`.
    """
    with name_scope(name, "ImageSummary", [tag, tensor]) as scope:
        found = raw.ImageSummary(tag=tag, tensor=tensor, max_images=max_images, name=scope)
        collect(found, collections, [GraphKeys.SUMMARIES])
    return found


@export("contrib.deprecated.audio_summary")
def audio_summary(
    tag: TensorLike, tensor: TensorLike, sample_rate: TensorLike, max_outputs: int = 3, collections: _Keys = None, name: str | None = None
) -> Tensor:
    """A summary of sounds.

    Args:
      tag: string scalar.
      tensor: float32 Tensor [sounds, frames, channels] or [sounds, frames], in [-1, 1].
      sample_rate: scalar, in hertz.
      max_outputs: how many sounds.
      collections, name: as for `scalar_summary`.
    """
    with name_scope(name, "AudioSummary", [tag, tensor]) as scope:
        rate = convert_to_tensor(sample_rate, dtype=dtypes.float32, name="sample_rate")
        found = raw.AudioSummaryV2(tag=tag, tensor=tensor, max_outputs=max_outputs, sample_rate=rate, name=scope)
        collect(found, collections, [GraphKeys.SUMMARIES])
    return found


@export("contrib.deprecated.merge_summary")
def merge_summary(inputs: Iterable[Any], collections: _Keys = None, name: str | None = None) -> Tensor:
    """The values of several summaries in one; in a run two values with the same tag raise InvalidArgumentError."""
    with name_scope(name, "MergeSummary", inputs):
        found = raw.MergeSummary(inputs=inputs, name=name)
        collect(found, collections, [])
    return found


@export("contrib.deprecated.merge_all_summaries")
def merge_all_summaries(key: str = GraphKeys.SUMMARIES) -> Tensor | None:
    """All summaries of a collection of the default graph in one, or None where it is empty."""
    found = get_collection(key)
    return merge_summary(found) if found else None
