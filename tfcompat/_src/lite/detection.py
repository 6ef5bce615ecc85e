"""TFLite_Detection_PostProcess: boxes from a detector's encodings, and the detections that non-maximum suppression leaves.

What it computes is defined by lite/kernels/detection_postprocess.cc of TensorFlow 1.15. Where each box keeps several classes, 1.15's fast
suppression writes past its outputs; here each box takes that many rows, as in later releases.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.lite import custom_options
from tfcompat._src.ops.control.py_func import numpy_function

_PER_CLASS = 100
"""How many detections of a class the regular suppression keeps where the options do not say."""


def post_process(values: list[Any], content: bytes) -> list[Tensor]:
    """The four outputs of the operator.

    Args:
      values: box encodings float32[1, anchors, 4 or more] (y, x, height, width); scores float32[1, anchors, classes or classes + 1], the
        background first; anchors float32[anchors, 4] (center y, center x, height, width). content: the operator's options.

    Returns:
      boxes float32[1, n, 4] (y and x of both corners), classes float32[1, n], scores float32[1, n], and their number float32[1].
    """
    options = custom_options.read_map(content)
    rows = options["max_detections"] * options["max_classes_per_detection"]
    found = numpy_function(functools.partial(_detections, options), values, [dtypes.float32] * 4)
    for tensor, shape in zip(found, ([1, rows, 4], [1, rows], [1, rows], [1])):
        tensor.set_shape(shape)
    return list(found)


def _detections(options: dict[str, Any], encodings: NDArray, predictions: NDArray, anchors: NDArray) -> tuple[NDArray, ...]:
    boxes = _decoded(options, encodings[0], anchors)
    background = predictions.shape[2] - options["num_classes"]
    if background not in (0, 1):
        raise ValueError(f"Scores are of {predictions.shape[2]} classes, but num_classes is {options['num_classes']}: it must be as many, or one less.")
    if not 0 < options["nms_iou_threshold"] <= 1:
        raise ValueError(f"nms_iou_threshold must be in (0, 1], but is {options['nms_iou_threshold']}.")
    if not (boxes[:, :2] < boxes[:, 2:]).all():
        raise ValueError("A decoded box has no area: the heights and widths of anchors must be positive.")
    find = _regular if options.get("use_regular_nms") else _fast
    rows, classes, scores = find(options, boxes, predictions[0, :, background:])
    count, size = len(rows), options["max_detections"] * options["max_classes_per_detection"]
    made = (boxes[rows], classes.astype(np.float32), scores)
    filled = [np.concatenate([part, np.zeros((size - count, *part.shape[1:]), np.float32)])[None] for part in made]
    return *filled, np.array([count], np.float32)


def _decoded(options: dict[str, Any], encodings: NDArray, anchors: NDArray) -> NDArray:
    """Corners of boxes: encodings are offsets from the anchors' centers and logarithms of relative sizes, each on a scale (Faster R-CNN)."""
    scales = np.array([options[f"{name}_scale"] for name in "yxhw"], np.float32)
    offsets = encodings[:, :4] / scales
    centers = offsets[:, :2] * anchors[:, 2:] + anchors[:, :2]
    halves = np.float32(0.5) * np.exp(offsets[:, 2:]) * anchors[:, 2:]
    return np.concatenate([centers - halves, centers + halves], 1)


def _suppressed(options: dict[str, Any], boxes: NDArray, scores: NDArray, most: int) -> NDArray:
    """The boxes that greedy non-maximum suppression keeps, best first."""
    order = np.flatnonzero(scores >= np.float32(options["nms_score_threshold"]))
    order = order[np.argsort(-scores[order], kind="stable")]
    kept: list[int] = []
    while len(order) and len(kept) < most:
        best, order = order[0], order[1:]
        kept.append(int(best))
        order = order[_overlaps(boxes[best], boxes[order]) <= np.float32(options["nms_iou_threshold"])]
    return np.array(kept, np.int64)


def _overlaps(box: NDArray, others: NDArray) -> NDArray:
    """Areas of intersections over those of unions."""
    corners = np.maximum(box[:2], others[:, :2]), np.minimum(box[2:], others[:, 2:])
    common = np.prod(np.maximum(corners[1] - corners[0], 0), 1)
    areas = [np.prod(each[..., 2:] - each[..., :2], -1) for each in (box, others)]
    found: NDArray = common / (areas[0] + areas[1] - common)
    return found


def _fast(options: dict[str, Any], boxes: NDArray, scores: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """One suppression by the best class of each box: rows of boxes, classes, scores."""
    count = min(options["max_classes_per_detection"], options["num_classes"])
    best = np.argsort(-scores, 1, kind="stable")[:, :count]
    rows = np.repeat(_suppressed(options, boxes, scores.max(1), options["max_detections"]), count)
    classes = best[rows[::count]].reshape(-1)
    return rows, classes, scores[rows, classes]


def _regular(options: dict[str, Any], boxes: NDArray, scores: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """A suppression for each class, and the best of what they leave: rows of boxes, classes, scores."""
    most = options.get("detections_per_class", _PER_CLASS)
    kept = [_suppressed(options, boxes, scores[:, each], most) for each in range(options["num_classes"])]
    rows, classes = np.concatenate(kept), np.repeat(np.arange(len(kept)), [len(found) for found in kept])
    order = np.argsort(-scores[rows, classes], kind="stable")[: options["max_detections"]]
    return rows[order], classes[order], scores[rows[order], classes[order]]
