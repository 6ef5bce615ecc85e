"""Non-maximum suppression: the op types and public functions that pick boxes which overlap little."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import checks, dtypes, errors
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, NotDifferentiable, op
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import to_tensor
from tfcompat._src.ops.math.extremes import larger_numpy, smaller_numpy

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.graph.shape_inference import InferenceContext

_NO_GRADIENT = NotDifferentiable("which boxes are picked has no derivative")
_RAISES = NotDifferentiable("1.15 has no gradient of this one", raises=True)
_HALF_OR_SINGLE = "{float16, float32} = float32"
_MINUS_INFINITY = float("-inf")


def _invalid(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, text)


# ---- static shapes ----


def _check_boxes(c: InferenceContext) -> None:
    boxes = si.with_rank(c.inputs[0], 2)
    count = si.with_rank(c.inputs[1], 1)[0]
    for sizes in c.inputs[2:]:
        si.with_rank(sizes, 0)
    si.merge_size(boxes[0], count)
    si.with_size(boxes[1], 4)


def _picked_shape(c):
    _check_boxes(c)
    return [(None,)]


def _padded_count(c: InferenceContext) -> int | None:
    count = c.value(2) if c.attr("pad_to_max_output_size") else None
    return None if count is None else int(count)


def _picked_and_count_shape(c):
    _check_boxes(c)
    return [(_padded_count(c),), ()]


def _picked_scores_and_count_shape(c):
    _check_boxes(c)
    return [(_padded_count(c),), (_padded_count(c),), ()]


def _overlaps_shape(c):
    overlaps = si.with_rank(c.inputs[0], 2)
    count = si.with_rank(c.inputs[1], 1)[0]
    for sizes in c.inputs[2:]:
        si.with_rank(sizes, 0)
    si.merge_size(overlaps[0], count)
    si.merge_size(overlaps[0], overlaps[1])
    return [(None,)]


def _combined_shape(c):
    boxes, scores = si.with_rank(c.inputs[0], 4), si.with_rank(c.inputs[1], 3)
    for sizes in c.inputs[2:]:
        si.with_rank(sizes, 0)
    si.merge_size(boxes[0], scores[0])
    si.merge_size(boxes[1], scores[1])
    si.with_size(boxes[3], 4)
    if boxes[2] is not None and scores[2] is not None and boxes[2] not in (1, scores[2]):
        raise ValueError("third dimension of boxes must be either 1 or equal to the third dimension of scores")
    per_class, total = c.value(2), c.value(3)
    if total is not None and total <= 0:
        raise ValueError("max_total_size should be > 0 ")
    count = None if total is None else int(total)
    if c.attr("pad_per_class"):
        if per_class is not None and per_class <= 0:
            raise ValueError("max_output_size_per_class must be > 0 if pad_per_class is set to true ")
        known = count is not None and per_class is not None and scores[2] is not None
        count = min(count, int(per_class) * scores[2]) if known else None
    return [(boxes[0], count, 4), (boxes[0], count), (boxes[0], count), (boxes[0],)]


# ---- the algorithm ----


class _Queue:
    """A binary heap of (score, number, begin), largest score first; equal scores leave it in the order of 1.15's."""

    def __init__(self) -> None:
        self.heap: list[tuple] = []

    def push(self, item: tuple) -> None:
        self.heap.append(item)
        self._rise(len(self.heap) - 1, item)

    def pop(self) -> tuple:
        top, last = self.heap[0], self.heap.pop()
        if self.heap:
            self._rise(self._sink(), last)
        return top

    def _rise(self, hole: int, item: tuple) -> None:
        heap = self.heap
        while hole and heap[(hole - 1) // 2][0] < item[0]:
            heap[hole] = heap[(hole - 1) // 2]
            hole = (hole - 1) // 2
        heap[hole] = item

    def _sink(self) -> int:
        """Moves larger children up from the root; the place that becomes free at the bottom."""
        heap, hole, size = self.heap, 0, len(self.heap)
        while (child := 2 * hole + 2) < size:
            if heap[child][0] < heap[child - 1][0]:
                child -= 1
            heap[hole] = heap[child]
            hole = child
        if child == size:
            heap[hole] = heap[child - 1]
            hole = child - 1
        return hole


def _corners(boxes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lower and upper corners [boxes, 2], and areas."""
    low, high = smaller_numpy(boxes[:, :2], boxes[:, 2:]), larger_numpy(boxes[:, :2], boxes[:, 2:])
    return low, high, (high - low).prod(1, dtype=boxes.dtype)


def _overlap_of_boxes(boxes: np.ndarray) -> Callable:
    """Intersection over union of one box and some others; 0 where a box has no area."""
    low, high, area = _corners(boxes)

    def overlap(i: int, others: object) -> np.ndarray:
        sides = np.maximum(np.minimum(high[i], high[others]) - np.maximum(low[i], low[others]), boxes.dtype.type(0))
        common = sides.prod(1, dtype=boxes.dtype)
        empty = (area[i] <= 0) | (area[others] <= 0)
        union = area[i] + area[others] - common
        return np.where(empty, boxes.dtype.type(0), common / np.where(empty, boxes.dtype.type(1), union))

    return overlap


def _select(scores: np.ndarray, count: int, threshold: Any, lowest: object, sigma: Any, overlap: Callable) -> tuple:
    """Greedy (soft, where `sigma` is positive) suppression: numbers and scores of picked boxes.

    A picked box stays a candidate, as in 1.15: one without area does not overlap itself, and is picked again.
    """
    kind = scores.dtype.type
    queue = _Queue()
    for i in np.flatnonzero(scores > lowest).tolist():
        queue.push((scores[i], i, 0))
    scale = kind(-0.5) / sigma if sigma > 0 else kind(0)
    picked, picked_scores = [], []
    while len(picked) < count and queue.heap:
        original, i, begin = queue.pop()
        score, is_suppressed = original, False
        similar = overlap(i, picked[begin:])[::-1] if begin < len(picked) else np.zeros(0, threshold.dtype)
        if scale == 0 and not np.isnan(similar).any():
            is_suppressed = bool(np.any(similar >= threshold))
        else:
            for s in similar:
                score = score * (kind(math.exp(scale * s * s)) if s <= threshold else kind(0))
                if s >= threshold:
                    is_suppressed = True
                    break
                if score <= lowest:
                    break
        if is_suppressed:
            continue
        begin = len(picked)
        if score == original:
            picked.append(i)
            picked_scores.append(score)
            if picked[-2:] == [i, i] and not (queue.heap and queue.heap[0][0] >= score):
                return _repeated(picked, count, np.int32), _repeated(picked_scores, count, scores.dtype)
        if score > lowest:
            queue.push((score, i, begin))
    return np.array(picked, np.int32), np.array(picked_scores, scores.dtype)


def _repeated(picked: list, count: int, dtype: Any) -> np.ndarray:
    """What is picked where the last pick comes again and again, `count` in all."""
    checks.require_room((count,), np.dtype(dtype))
    return np.pad(np.array(picked, dtype), (0, count - len(picked)), mode="edge")


# ---- kernels ----


def _require_scalar(value: Any, what: str) -> None:
    if value.ndim:
        raise _invalid(f"{what} must be 0-D, got shape {shape_text(value.shape)}")


def _checked_count(boxes: Any, scores: Any, max_output_size: Any, threshold: Any) -> int:
    _require_scalar(max_output_size, "max_output_size")
    _require_scalar(threshold, "iou_threshold")
    if not 0 <= threshold <= 1:
        raise _invalid("iou_threshold must be in [0, 1]")
    if boxes.ndim != 2:
        raise _invalid(f"boxes must be 2-D{shape_text(boxes.shape)}")
    if boxes.shape[1] != 4:
        raise _invalid("boxes must have 4 columns")
    _require_scores(scores, len(boxes))
    if max_output_size < 0:
        raise _invalid("output size must be non-negative")
    return int(max_output_size)


def _require_scores(scores: Any, count: int) -> None:
    if scores.ndim != 1:
        raise _invalid(f"scores must be 1-D{shape_text(scores.shape)}")
    if len(scores) != count:
        raise _invalid("scores has incompatible shape")


def _suppress(boxes: Any, scores: Any, size: object, threshold: Any, lowest: Any = None, sigma: Any = 0) -> tuple:
    threshold = np.asarray(threshold, boxes.dtype)
    count = _checked_count(boxes, scores, size, threshold)
    lowest = np.finfo(scores.dtype).min if lowest is None else np.asarray(lowest, scores.dtype)
    _require_scalar(lowest, "score_threshold")
    return _select(scores, count, threshold, lowest, np.asarray(sigma, boxes.dtype), _overlap_of_boxes(boxes))


def _filled(values: np.ndarray, size: Any, is_padded: bool) -> np.ndarray:
    return np.pad(values, (0, int(size) - len(values))) if is_padded else values


def _count_of(values: np.ndarray) -> np.ndarray:
    return np.array(len(values), np.int32)


op(
    "NonMaxSuppression",
    "(boxes: float32, scores: float32, max_output_size: int32, *, iou_threshold: float = 0.5) -> (selected_indices: int32)",
    shape=_picked_shape, gradient=_NO_GRADIENT, side=HOST,
    kernel=lambda boxes, scores, size, *, iou_threshold: _suppress(boxes, scores, size, iou_threshold)[0],
)  # fmt: skip
op(
    "NonMaxSuppressionV2",
    "(boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold, *, "
    f"T: {_HALF_OR_SINGLE}, T_threshold: {_HALF_OR_SINGLE}) -> (selected_indices: int32)",
    shape=_picked_shape, gradient=_NO_GRADIENT, side=HOST,
    kernel=lambda boxes, scores, size, threshold: _suppress(boxes, scores, size, threshold)[0],
)  # fmt: skip
op(
    "NonMaxSuppressionV3",
    "(boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold, score_threshold: T_threshold, *, "
    f"T: {_HALF_OR_SINGLE}, T_threshold: {_HALF_OR_SINGLE}) -> (selected_indices: int32)",
    shape=_picked_shape, gradient=_RAISES, side=HOST,
    kernel=lambda boxes, scores, size, threshold, lowest: _suppress(boxes, scores, size, threshold, lowest)[0],
)  # fmt: skip


@op(
    "NonMaxSuppressionV4",
    "(boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold, score_threshold: T_threshold, *, "
    f"T: {_HALF_OR_SINGLE}, T_threshold: {_HALF_OR_SINGLE}, pad_to_max_output_size: bool = False) -> "
    "(selected_indices: int32, valid_outputs: int32)",
    shape=_picked_and_count_shape, gradient=_RAISES, side=HOST,
)  # fmt: skip
def _suppress_v4(boxes, scores, size, threshold, lowest, *, pad_to_max_output_size):
    picked, _ = _suppress(boxes, scores, size, threshold, lowest)
    return _filled(picked, size, pad_to_max_output_size), _count_of(picked)


@op(
    "NonMaxSuppressionV5",
    "(boxes: T, scores: T, max_output_size: int32, iou_threshold: T, score_threshold: T, soft_nms_sigma: T, *, "
    f"T: {_HALF_OR_SINGLE}, pad_to_max_output_size: bool = False) -> "
    "(selected_indices: int32, selected_scores: T, valid_outputs: int32)",
    shape=_picked_scores_and_count_shape, gradient=_RAISES, side=HOST,
)  # fmt: skip
def _suppress_v5(boxes, scores, size, threshold, lowest, sigma, *, pad_to_max_output_size):
    _require_scalar(sigma, "soft_nms_sigma")
    if not sigma >= 0:
        raise _invalid("soft_nms_sigma_val must be >= 0")
    picked, found = _suppress(boxes, scores, size, threshold, lowest, sigma)
    is_padded = pad_to_max_output_size
    return _filled(picked, size, is_padded), _filled(found, size, is_padded), _count_of(picked)


@op(
    "NonMaxSuppressionWithOverlaps",
    "(overlaps: float32, scores: float32, max_output_size: int32, overlap_threshold: float32, score_threshold: float32) -> "
    "(selected_indices: int32)",
    shape=_overlaps_shape, gradient=_NO_GRADIENT, side=HOST,
)  # fmt: skip
def _suppress_with_overlaps(overlaps, scores, size, threshold, lowest):
    for value, what in ((size, "max_output_size"), (threshold, "overlap_threshold"), (lowest, "score_threshold")):
        _require_scalar(value, what)
    if overlaps.ndim != 2:
        raise _invalid(f"overlaps must be 2-D{shape_text(overlaps.shape)}")
    if overlaps.shape[0] != overlaps.shape[1]:
        raise _invalid(f"overlaps must be square{shape_text(overlaps.shape)}")
    _require_scores(scores, len(overlaps))
    if size < 0:
        raise _invalid("output size must be non-negative")
    return _select(scores, int(size), threshold, lowest, np.float32(0), lambda i, others: overlaps[i, others])[0]


@op(
    "CombinedNonMaxSuppression",
    "(boxes: float32, scores: float32, max_output_size_per_class: int32, max_total_size: int32, iou_threshold: float32, "
    "score_threshold: float32, *, pad_per_class: bool = False, clip_boxes: bool = True) -> "
    "(nmsed_boxes: float32, nmsed_scores: float32, nmsed_classes: float32, valid_detections: int32)",
    shape=_combined_shape, gradient=_RAISES, side=HOST,
)  # fmt: skip
def _combined(boxes, scores, per_class, total, threshold, lowest, *, pad_per_class, clip_boxes):
    _check_combined(boxes, scores, per_class, total, threshold, lowest)
    batch, classes = scores.shape[0], scores.shape[2]
    count = min(int(total), int(per_class) * classes) if pad_per_class else int(total)
    outputs = (
        np.zeros((batch, count, 4), np.float32), np.zeros((batch, count), np.float32),
        np.zeros((batch, count), np.float32), np.zeros(batch, np.int32),
    )  # fmt: skip
    for b in range(batch):
        found = []
        for k in range(classes):
            of_class = boxes[b, :, k if boxes.shape[2] > 1 else 0]
            chosen = _above(of_class, scores[b, :, k], min(int(per_class), len(of_class)), threshold, lowest)
            found += [(scores[b, i, k], k, of_class[i]) for i in chosen]
        found = sorted(found, key=lambda item: -item[0])[:count]
        outputs[3][b] = len(found)
        for place, (score, k, box) in enumerate(found):
            outputs[0][b, place] = np.clip(box, 0, 1) if clip_boxes else box
            outputs[1][b, place], outputs[2][b, place] = score, k
    return outputs


def _check_combined(boxes: Any, scores: Any, per_class: Any, total: Any, threshold: Any, lowest: object) -> None:
    named = ((per_class, "max_size_per_class"), (total, "max_total_size"), (threshold, "iou_threshold"),
             (lowest, "score_threshold"))  # fmt: skip
    for value, what in named:
        _require_scalar(value, what)
    if per_class <= 0:
        raise _invalid("max_size_per_class must be positive")
    if total <= 0:
        raise _invalid("max_total_size must be > 0")
    if not 0 <= threshold <= 1:
        raise _invalid("iou_threshold must be in [0, 1]")
    if boxes.ndim != 4 or scores.ndim != 3:
        raise _invalid(f"boxes must be 4-D and scores 3-D, got {shape_text(boxes.shape)} and {shape_text(scores.shape)}")
    if boxes.shape[2] not in (1, scores.shape[2]):
        raise _invalid("third dimension of boxes must be either 1 or num classes")
    if boxes.shape[3] != 4:
        raise _invalid("boxes must have 4 columns")
    if boxes.shape[:2] != scores.shape[:2]:
        raise _invalid("scores has incompatible shape")


def _above(boxes: np.ndarray, scores: np.ndarray, count: int, threshold: object, lowest: object) -> list[int]:
    """Greedy suppression of what overlaps by more than the threshold, each box taken once."""
    overlap, picked = _overlap_of_boxes(boxes), []
    for i in np.argsort(-scores, kind="stable").tolist():
        if len(picked) == count or not scores[i] > lowest:
            break
        if not np.any(overlap(i, picked) > threshold):
            picked.append(i)
    return picked


# ---- public functions ----


@export("image.non_max_suppression")
def non_max_suppression(
    boxes: TensorLike, scores: TensorLike, max_output_size: TensorLike, iou_threshold: TensorLike = 0.5, score_threshold: TensorLike = _MINUS_INFINITY,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """The numbers of boxes with high scores that overlap little, best first.

    Args:
      boxes: float [boxes, 4], two opposite corners (y1, x1, y2, x2).
      scores: float [boxes].
      max_output_size: int32 scalar, the most boxes to pick.
      iou_threshold: boxes whose intersection over union with a picked one reaches it are dropped.
      score_threshold: boxes must score more.
      name: name scope.

    Returns:
      int32 [picked].
    """
    with name_scope(name, "non_max_suppression"):
        iou_threshold = to_tensor(iou_threshold, name="iou_threshold")
        score_threshold = to_tensor(score_threshold, name="score_threshold")
        return raw.NonMaxSuppressionV3(boxes, scores, max_output_size, iou_threshold, score_threshold)


@export("image.non_max_suppression_with_scores")
def non_max_suppression_with_scores(
    boxes: TensorLike, scores: TensorLike, max_output_size: TensorLike, iou_threshold: TensorLike = 0.5, score_threshold: TensorLike = _MINUS_INFINITY,
    soft_nms_sigma: TensorLike = 0.0, name: str | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """`non_max_suppression` that lowers scores by overlap where `soft_nms_sigma` is positive: numbers and scores.

    Definition: N. Bodla et al., "Soft-NMS", ICCV 2017, with the Gaussian weight exp(-overlap^2 / (2 sigma)).
    """
    with name_scope(name, "non_max_suppression_with_scores"):
        iou_threshold = to_tensor(iou_threshold, name="iou_threshold")
        score_threshold = to_tensor(score_threshold, name="score_threshold")
        soft_nms_sigma = to_tensor(soft_nms_sigma, name="soft_nms_sigma")
        indices, found, _ = raw.NonMaxSuppressionV5(
            boxes, scores, max_output_size, iou_threshold, score_threshold, soft_nms_sigma, pad_to_max_output_size=False
        )
        return indices, found


@export("image.non_max_suppression_padded")
def non_max_suppression_padded(
    boxes: TensorLike, scores: TensorLike, max_output_size: TensorLike, iou_threshold: TensorLike = 0.5, score_threshold: TensorLike = _MINUS_INFINITY,
    pad_to_max_output_size: bool = False, name: str | None = None,
) -> Any:  # fmt: skip
    """`non_max_suppression` whose result can be filled with zeros to `max_output_size`: numbers, and how many are picked."""
    with name_scope(name, "non_max_suppression_padded"):
        iou_threshold = to_tensor(iou_threshold, name="iou_threshold")
        score_threshold = to_tensor(score_threshold, name="score_threshold")
        return raw.NonMaxSuppressionV4(
            boxes, scores, max_output_size, iou_threshold, score_threshold, pad_to_max_output_size=pad_to_max_output_size
        )


@export("image.non_max_suppression_overlaps")
def non_max_suppression_with_overlaps(
    overlaps: TensorLike, scores: TensorLike, max_output_size: TensorLike, overlap_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = _MINUS_INFINITY, name: str | None = None,
) -> Tensor:  # fmt: skip
    """`non_max_suppression` with the overlap of each two boxes given as float32 [boxes, boxes]."""
    with name_scope(name, "non_max_suppression_overlaps"):
        overlap_threshold = to_tensor(overlap_threshold, name="overlap_threshold")
        return raw.NonMaxSuppressionWithOverlaps(overlaps, scores, max_output_size, overlap_threshold, score_threshold)


@export("image.combined_non_max_suppression")
def combined_non_max_suppression(
    boxes: TensorLike, scores: TensorLike, max_output_size_per_class: TensorLike, max_total_size: TensorLike, iou_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = _MINUS_INFINITY, pad_per_class: bool = False, clip_boxes: bool = True, name: str | None = None,
) -> Any:  # fmt: skip
    """Suppression per image and class, then the best boxes of each image.

    Args:
      boxes: float32 [batch, boxes, q, 4]; q is 1 or the number of classes.
      scores: float32 [batch, boxes, classes].
      max_output_size_per_class: int32 scalar.
      max_total_size: int32 scalar, of each image.
      iou_threshold, score_threshold: as in `non_max_suppression`.
      pad_per_class: results have room for max_output_size_per_class * classes boxes, if that is less than the total.
      clip_boxes: whether boxes are clipped to [0, 1].
      name: name scope.

    Returns:
      boxes [batch, count, 4], scores and classes float32 [batch, count], and how many are valid int32 [batch].
    """
    with name_scope(name, "combined_non_max_suppression"):
        iou_threshold = to_tensor(iou_threshold, dtypes.float32, "iou_threshold")
        score_threshold = to_tensor(score_threshold, dtypes.float32, "score_threshold")
        return raw.CombinedNonMaxSuppression(
            boxes, scores, max_output_size_per_class, max_total_size, iou_threshold, score_threshold,
            pad_per_class=pad_per_class, clip_boxes=clip_boxes,
        )  # fmt: skip
