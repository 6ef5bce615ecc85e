"""tf.data.experimental.rejection_resample."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import dimension_at_index
from tfcompat._src.data.dataset import DatasetV2
from tfcompat._src.data.dataset_v1 import Dataset
from tfcompat._src.data.experimental.interleaving import sample_from_datasets_v1
from tfcompat._src.data.experimental.transformations import scan, unbatch
from tfcompat._src.graph import constant_value
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.fill import fill
from tfcompat._src.ops.array.gather import gather, one_hot
from tfcompat._src.ops.array.join import tile
from tfcompat._src.ops.array.shape import expand_dims
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.control.cond import cond
from tfcompat._src.ops.control.printing import Print
from tfcompat._src.ops.math.binary import add, truediv
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import less
from tfcompat._src.ops.math.reduce import reduce_max, reduce_min, reduce_sum
from tfcompat._src.ops.random.stateful import random_uniform

_ESTIMATION_BATCH = 32
_FIRST_COUNT = 10
_HIGH = "Proportion of examples rejected by sampler is high: "


@export("data.experimental.rejection_resample", "contrib.data.rejection_resample")
def rejection_resample(class_func: Callable[..., Any], target_dist: object, initial_dist: object = None, seed: object = None) -> Callable[[Any], Any]:
    """For `apply`: pairs of a class and an element, elements left out at random so that classes come as often as `target_dist` says.

    Args:
      class_func: of an element, its class, an int32 scalar.
      target_dist: float vector of probabilities.
      initial_dist: float vector, how often classes come in the dataset; None: it is estimated on the way.
      seed: int.
    """

    def apply(dataset: DatasetV2) -> DatasetV2:
        target = convert_to_tensor(target_dist, name="target_dist")
        classes = dataset.map(class_func)
        initial = None
        if initial_dist is not None:
            initial = convert_to_tensor(initial_dist, name="initial_dist")
            acceptance, kept = _acceptance(initial, target)
            initials, acceptances, kept_ones = (Dataset.from_tensors(value).repeat() for value in (initial, acceptance, kept))
        else:
            initials = _estimated(target, classes)
            both = initials.map(lambda found: _acceptance(found, target))
            acceptances = both.map(lambda accept_prob, _: accept_prob)
            kept_ones = both.map(lambda _, prob_original: prob_original)
        filtered = _filtered(dataset, acceptances, initials, classes, seed).prefetch(3)
        static = None if initial is None else _static_share(initial, target)
        if static == 1:
            return Dataset.zip((classes, dataset))
        if static == 0:
            return filtered
        as_they_come = Dataset.zip((classes, dataset))
        weights = kept_ones.map(lambda prob: [(prob, 1.0 - prob)])
        return sample_from_datasets_v1([as_they_come, filtered], weights=weights, seed=seed)

    return apply


def _static_share(initial: Tensor, target: Tensor) -> float | None:
    """The share of elements that are taken as they come, where it is known now."""
    before, after = constant_value.constant_value(initial), constant_value.constant_value(target)
    return None if before is None or after is None else float(np.min(after / before))


def _filtered(dataset: DatasetV2, acceptances: DatasetV2, initials: DatasetV2, classes: DatasetV2, seed: Any) -> DatasetV2:
    """Classes and elements that a random number accepts."""

    def warned(accept_dist: Tensor, initial: Tensor) -> Tensor:
        rejected = reduce_sum((1 - accept_dist) * initial)
        found: Tensor = cond(
            less(rejected, 0.5), lambda: accept_dist,
            lambda: Print(accept_dist, [rejected, initial, accept_dist], message=_HIGH, summarize=100, first_n=10),
        )  # fmt: skip
        return found

    acceptances = Dataset.zip((acceptances, initials)).map(warned)
    rows = Dataset.zip((classes, acceptances, dataset)).map(lambda c, probabilities, data: (c, gather(probabilities, c), data))
    accepted = rows.filter(lambda _, p, data: random_uniform([], seed=seed) < p)
    return accepted.map(lambda c, _, data: (c, data))


def _estimated(target: Tensor, classes: DatasetV2) -> DatasetV2:
    """Distributions of the classes seen so far, one for each element."""
    count = dimension_at_index(target.shape, 0).value or shape_of(target)[0]
    first = fill([count], np.int64(_FIRST_COUNT))

    def update(seen: Tensor, found: Tensor) -> tuple[Tensor, Tensor]:
        seen = add(seen, reduce_sum(one_hot(found, seen.shape[0], dtype=dtypes.int64), 0))
        share = cast(truediv(seen, reduce_sum(seen)), dtypes.float32)
        return seen, tile(expand_dims(share, 0), [_ESTIMATION_BATCH, 1])

    return classes.batch(_ESTIMATION_BATCH).apply(scan(first, update)).apply(unbatch())


def _acceptance(initial: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """How probably an element of each class is accepted, and the share of elements that are taken as they come.

    With r = target / initial, the share is m = min(r), and the probabilities are (r - m) / (max(r) - m).
    """
    ratio = target / (initial + np.finfo(initial.dtype.as_numpy_dtype).tiny)
    most = reduce_max(ratio)
    least = reduce_min(ratio)
    return (ratio - least) / (most - least), least
