"""tf.summary: nodes that give Summary messages of tensors, and their merging."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from google.protobuf import json_format

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.graph.scopes import executing_eagerly, get_collection, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.platform.compat import as_str_any
from tfcompat._src.proto.messages import SummaryDescription, SummaryMetadata
from tfcompat._src.summary.scope import clean_tag, collect, summary_scope

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.proto import messages

_COLLECTIONS = [GraphKeys.SUMMARIES]


@export("summary.scalar")
def scalar(name: str, tensor: TensorLike, collections: Iterable[Any] | None = None, family: str | None = None) -> Tensor:
    """A summary of one number.

    Args:
      name: name of the node and, with the scopes around it, the tag.
      tensor: real Tensor with one element.
      collections: keys of collections that get the summary, `[GraphKeys.SUMMARIES]` by default.
      family: first part of the tag, by which TensorBoard groups.

    Returns:
      a string scalar, a serialized Summary.
    """
    with summary_scope(name, family, values=[tensor]) as (tag, scope):
        found = raw.ScalarSummary(tags=tag, values=tensor, name=scope)
        collect(found, collections, _COLLECTIONS)
    return found


@export("summary.image")
def image(
    name: str, tensor: TensorLike, max_outputs: int = 3, collections: Iterable[Any] | None = None, family: str | None = None
) -> Tensor:
    """A summary of images as PNG files.

    Args:
      name, collections, family: as for `scalar`; the tags are `name/image/0` and so on, `name/image` if one is wanted.
      tensor: [batch, height, width, channels] with 1, 3 or 4 channels: uint8, or floats, which are scaled so that the
        largest is 255, or around 128 where some are negative.
      max_outputs: how many images of the batch are taken.

    Returns:
      a string scalar, a serialized Summary.
    """
    with summary_scope(name, family, values=[tensor]) as (tag, scope):
        found = raw.ImageSummary(tag=tag, tensor=tensor, max_images=max_outputs, name=scope)
        collect(found, collections, _COLLECTIONS)
    return found


@export("summary.histogram")
def histogram(name: str, values: TensorLike, collections: Iterable[Any] | None = None, family: str | None = None) -> Tensor:
    """A summary of the distribution of all elements of a tensor.

    Args:
      name: name of the node and, with the scopes around it, the tag.
      values: real Tensor of any shape.
      collections: keys of collections that get the summary, `[GraphKeys.SUMMARIES]` by default.
      family: first part of the tag, by which TensorBoard groups.

    Returns:
      a string scalar, a serialized Summary.

    Raises:
      InvalidArgumentError: in a run with values that are not finite.
    """
    with summary_scope(name, family, default_name="HistogramSummary", values=[values]) as (tag, scope):
        found = raw.HistogramSummary(tag=tag, values=values, name=scope)
        collect(found, collections, _COLLECTIONS)
    return found


@export("summary.audio")
def audio(
    name: str, tensor: TensorLike, sample_rate: TensorLike, max_outputs: int = 3, collections: Iterable[Any] | None = None,
    family: str | None = None,
) -> Tensor:  # fmt: skip
    """A summary of sounds as WAV files.

    Args:
      name, collections, family: as for `scalar`; the tags are `name/audio/0` and so on, `name/audio` if one is wanted.
      tensor: float32 [batch, frames] or [batch, frames, channels], in [-1, 1].
      sample_rate: float32 scalar, frames per second.
      max_outputs: how many members of the batch are taken.

    Returns:
      a string scalar, a serialized Summary.
    """
    with summary_scope(name, family, values=[tensor]) as (tag, scope):
        rate = convert_to_tensor(sample_rate, dtype=dtypes.float32, name="sample_rate")
        found = raw.AudioSummaryV2(tag=tag, tensor=tensor, max_outputs=max_outputs, sample_rate=rate, name=scope)
        collect(found, collections, _COLLECTIONS)
    return found


@export("summary.text")
def text(name: str, tensor: Tensor, collections: Iterable[Any] | None = None) -> Tensor:
    """A summary of a string Tensor, which TensorBoard shows as Markdown or as a table; arguments as for `scalar`.

    Raises:
      ValueError: `tensor` does not hold strings.
    """
    if tensor.dtype != dtypes.string:
        raise ValueError(f"Expected tensor {tensor.name} to have dtype string, got {tensor.dtype}")
    metadata = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="text"))
    return tensor_summary(name, tensor, summary_metadata=metadata, collections=collections)


@export("summary.tensor_summary")
def tensor_summary(
    name: str,
    tensor: TensorLike,
    summary_description: str | None = None,
    collections: Iterable[Any] | None = None,
    summary_metadata: SummaryMetadata | None = None,
    family: str | None = None,
    display_name: str | None = None,
) -> Tensor:
    """A summary of a whole tensor.

    Args:
      name, collections, family: as for `scalar`.
      tensor: a Tensor of any dtype and shape.
      summary_description: a text in Markdown that is shown with it.
      summary_metadata: says which plugin of TensorBoard shows it; takes in the description and the display name.
      display_name: what TensorBoard calls it.

    Returns:
      a string scalar, a serialized Summary.
    """
    metadata = SummaryMetadata() if summary_metadata is None else summary_metadata
    if summary_description is not None:
        metadata.summary_description = summary_description
    if display_name is not None:
        metadata.display_name = display_name
    with summary_scope(name, family, values=[tensor]) as (tag, scope):
        serialized = metadata.SerializeToString()
        found = raw.TensorSummaryV2(tensor=tensor, tag=tag, name=scope, serialized_summary_metadata=serialized)
        collect(found, collections, _COLLECTIONS)
    return found


@export("summary.merge")
def merge(inputs: Iterable[Any], collections: Iterable[Any] | None = None, name: str | None = None) -> Tensor:
    """The values of several summaries in one.

    Args:
      inputs: string Tensors, serialized Summary messages.
      collections: keys of collections that get the result, none by default.
      name: node name.

    Raises:
      InvalidArgumentError: in a run in which two values have the same tag.
    """
    if executing_eagerly():
        raise RuntimeError("Merging tf.summary.* ops is not compatible with eager execution. Use tf.contrib.summary instead.")
    name = clean_tag(name)
    with name_scope(name, "Merge", inputs):
        found = raw.MergeSummary(inputs=inputs, name=name)
        collect(found, collections, [])
    return found


@export("summary.merge_all")
def merge_all(key: object = GraphKeys.SUMMARIES, scope: str | None = None, name: str | None = None) -> Tensor | None:
    """All summaries of a collection of the default graph in one, or None where it is empty.

    Args:
      key: the collection.
      scope: a regular expression; only summaries whose names begin so are taken.
      name: node name.
    """
    found = get_collection(key, scope=scope)
    return merge(found, name=name) if found else None


@export("summary.get_summary_description")
def get_summary_description(node_def: messages.NodeDef) -> SummaryDescription:
    """The SummaryDescription in the NodeDef of a TensorSummary; ValueError for another node."""
    if node_def.op != "TensorSummary":
        raise ValueError(f"Can't get_summary_description on {node_def.op}")
    return json_format.Parse(as_str_any(node_def.attr["description"].s), SummaryDescription())
