"""Summaries before TensorFlow 1.0: each has the tag that the program gives it, whatever the scope and its characters."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.graph.scopes import add_to_collection, get_collection, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor


def _collected(summary: Tensor, collections: Any, default: tuple[str, ...] = (GraphKeys.SUMMARIES,)) -> Tensor:
    for key in default if collections is None else collections:
        add_to_collection(key, summary)
    return summary


def scalar_summary(tags: Any, values: Any, collections: Any = None, name: str | None = None) -> Tensor:
    """A summary of one value, or of several with a tag each."""
    with name_scope(name, "ScalarSummary", [tags, values]) as scope:
        return _collected(raw.ScalarSummary(tags, values, name=scope), collections)


def histogram_summary(tag: Any, values: Any, collections: Any = None, name: str | None = None) -> Tensor:
    """A summary of the distribution of values."""
    with name_scope(name, "HistogramSummary", [tag, values]) as scope:
        return _collected(raw.HistogramSummary(tag, values, name=scope), collections)


def image_summary(tag: Any, tensor: Any, max_images: int = 3, collections: Any = None, name: str | None = None) -> Tensor:
    """A summary of the first images of a batch."""
    with name_scope(name, "ImageSummary", [tag, tensor]) as scope:
        return _collected(raw.ImageSummary(tag, tensor, max_images=max_images, name=scope), collections)


def audio_summary(tag: Any, tensor: Any, sample_rate: Any, max_outputs: int = 3, collections: Any = None, name: str | None = None) -> Tensor:
    """A summary of the first sounds of a batch."""
    with name_scope(name, "AudioSummary", [tag, tensor]) as scope:
        rate = convert_to_tensor(sample_rate, dtype=dtypes.float32, name="sample_rate")
        return _collected(raw.AudioSummaryV2(tag, tensor, rate, max_outputs=max_outputs, name=scope), collections)


def merge_summary(inputs: Any, collections: Any = None, name: str | None = None) -> Tensor:
    """One summary of several."""
    with name_scope(name, "MergeSummary", inputs):
        return _collected(raw.MergeSummary(inputs, name=name), collections, ())


def merge_all_summaries(key: str = GraphKeys.SUMMARIES) -> Tensor | None:
    """One summary of all in a collection; None where it is empty."""
    summaries = get_collection(key)
    return merge_summary(summaries) if summaries else None


NAMES: dict[str, Any] = {
    "audio_summary": audio_summary, "histogram_summary": histogram_summary, "image_summary": image_summary, "merge_all_summaries": merge_all_summaries,
    "merge_summary": merge_summary, "scalar_summary": scalar_summary,
}  # fmt: skip
