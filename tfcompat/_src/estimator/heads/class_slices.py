"""Metrics of single classes of a head for several labels: their keys and their part of tensors."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.estimator.heads.keys import MetricKeys
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.fill import ones, zeros
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.shape import rank
from tfcompat._src.ops.array.slice import slice_


def class_key(kind: str, class_id: int, label_vocabulary: Any) -> str:
    """The key of a metric of a class, which names it by its word in the vocabulary or by its id."""
    if label_vocabulary is None:
        return getattr(MetricKeys, f"{kind}_AT_CLASS") % class_id
    return getattr(MetricKeys, f"{kind}_AT_NAME") % label_vocabulary[class_id]


def of_class(class_id: int, probabilities: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """The part [..., 1] of one class of probabilities and labels [..., n_classes]."""
    batch_rank = rank(probabilities) - 1
    begin = concat([zeros([batch_rank], dtype=dtypes.int32), [class_id]], axis=0)
    size = concat([-1 * ones([batch_rank], dtype=dtypes.int32), [1]], axis=0)
    return slice_(probabilities, begin=begin, size=size), slice_(labels, begin=begin, size=size)
