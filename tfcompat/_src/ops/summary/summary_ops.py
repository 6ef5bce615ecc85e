"""Ops that give a serialized Summary message: ScalarSummary, HistogramSummary, ImageSummary, AudioSummary, TensorSummary, MergeSummary."""

from __future__ import annotations

import functools

import numpy as np
from google.protobuf.message import DecodeError

from tfcompat._src.base import errors
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, NotDifferentiable, op
from tfcompat._src.graph.tensor import shape_text
from tfcompat._src.ops.summary import values
from tfcompat._src.proto.messages import Summary

_BAD_COLOR = (
    '[["dtype", "DT_UINT8"], ["tensor_shape", [["dim", [["size", "4"]]]]], ["int_val", "255"], ["int_val", "0"], '
    '["int_val", "0"], ["int_val", "255"]]'
)
_summary_op = functools.partial(
    op, shape=si.scalar, gradient=NotDifferentiable("a summary is not differentiable"), side=HOST
)


def _invalid(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, text)


def _serialized(summary: Summary) -> np.ndarray:
    return np.array(summary.SerializeToString(), object)


def _tag(tag: np.ndarray, name: str) -> bytes:
    if tag.ndim:
        raise _invalid(f"{name} must be scalar")
    return tag.item()


@_summary_op("ScalarSummary", "(tags: string, values: T, *, T: REAL) -> (summary: string)")
def _scalar_summary(tags, numbers):
    if tags.shape != numbers.shape:
        single = f" (tag '{tags.item().decode()}')" if tags.size == 1 else ""
        text = f"tags and values not the same shape: {shape_text(tags.shape)} != {shape_text(numbers.shape)}{single}"
        raise _invalid(text)
    summary = Summary()
    for tag, number in zip(tags.flat, numbers.flat):
        values.add_scalar(summary, tag, number)
    return _serialized(summary)


@_summary_op("HistogramSummary", "(tag: string, values: T, *, T: REAL = float32) -> (summary: string)", context=True)
def _histogram_summary(context, tag, numbers):
    summary = Summary()
    values.add_histogram(summary, _tag(tag, "tags"), numbers, named=context.op.name)
    return _serialized(summary)


@_summary_op(
    "ImageSummary",
    "(tag: string, tensor: T, *, max_images: int >= 1 = 3, T: {uint8, float32, float16, float64} = float32, "
    f"bad_color: tensor = {_BAD_COLOR}) -> (summary: string)",
)  # fmt: skip
def _image_summary(tag, images, *, max_images, bad_color):
    if bad_color.dtype != np.uint8:
        raise _invalid(f"bad_color must be uint8, got {bad_color.dtype.name}")
    if bad_color.ndim != 1:
        raise _invalid(f"bad_color must be a vector, got shape {shape_text(bad_color.shape)}")
    if tag.ndim:
        raise _invalid("Tags must be a scalar")
    summary = Summary()
    values.add_images(summary, tag.item(), images, max_images, bad_color)
    return _serialized(summary)


def _audio(tag: np.ndarray, audio: np.ndarray, sample_rate: np.float32, max_outputs: int) -> np.ndarray:
    if tag.ndim:
        raise _invalid("Tag must be a scalar")
    summary = Summary()
    values.add_audio(summary, tag.item(), audio, sample_rate, max_outputs)
    return _serialized(summary)


@_summary_op(
    "AudioSummary", "(tag: string, tensor: float32, *, sample_rate: float, max_outputs: int >= 1 = 3) -> (summary: string)"
)
def _audio_summary(tag, audio, *, sample_rate, max_outputs):
    return _audio(tag, audio, np.float32(sample_rate), max_outputs)


@_summary_op(
    "AudioSummaryV2",
    "(tag: string, tensor: float32, sample_rate: float32, *, max_outputs: int >= 1 = 3) -> (summary: string)",
)
def _audio_summary_v2(tag, audio, sample_rate, *, max_outputs):
    return _audio(tag, audio, sample_rate.item(), max_outputs)


@_summary_op(
    "TensorSummary",
    '(tensor: T, *, T: type, description: string = "", labels: list(string) = [], display_name: string = "") -> '
    "(summary: string)",
    context=True,
)  # fmt: skip
def _tensor_summary(context, tensor):
    summary = Summary()
    values.add_tensor(summary.value.add(node_name=context.op.name), tensor)
    return _serialized(summary)


@_summary_op(
    "TensorSummaryV2", "(tag: string, tensor: T, serialized_summary_metadata: string, *, T: type) -> (summary: string)"
)
def _tensor_summary_v2(tag, tensor, serialized_summary_metadata):
    summary = Summary()
    value = summary.value.add(tag=_tag(tag, "tag").decode("utf-8", "replace"))
    values.add_tensor(value, tensor)
    values.set_metadata(value, serialized_summary_metadata.item())
    return _serialized(summary)


@_summary_op("MergeSummary", "(inputs: N*string, *, N: int >= 1) -> (summary: string)")
def _merge_summary(inputs):
    summary, tags = Summary(), set()
    for part in inputs:
        for text in part.flat:
            merged = len(summary.value)
            try:
                summary.MergeFromString(text)
            except DecodeError:
                raise _invalid("Could not parse one of the summary inputs") from None
            for value in summary.value[merged:]:
                if value.tag in tags:
                    raise _invalid(f"Duplicate tag {value.tag} found in summary inputs")
                if value.tag:
                    tags.add(value.tag)
    return _serialized(summary)
