"""tf.data.experimental.rejection_resample: changes the distribution of classes in a dataset by rejection sampling."""

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
"""The estimated distribution of classes is updated after this many elements."""
_FIRST_COUNT = 10
"""The estimate starts as if this many elements of each class had been seen."""
_HIGH = "Proportion of examples rejected by sampler is high: "


@export("data.experimental.rejection_resample", "contrib.data.rejection_resample")
def rejection_resample(class_func: Callable[..., Any], target_dist: object, initial_dist: object = None, seed: object = None) -> Callable[[Any], Any]:
    """For `apply`: drops elements at random so that classes have the distribution `target_dist`; returns pairs (class, element).

    Args:
      class_func: maps an element to its class, an int32 scalar.
      target_dist: float vector of probabilities.
      initial_dist: float vector, the distribution of classes in the dataset; None: it is estimated from the elements so far.
      seed: int.
    """

    def apply(dataset: DatasetV2) -> DatasetV2:
        target = convert_to_tensor(target_dist, name="target_dist")
        classes = dataset.map(class_func)
        # Datasets of the current distribution, acceptance probabilities and unfiltered share, one value for each element.
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
        # A share of 1 means that nothing is dropped, a share of 0 that every element is subject to rejection.
        static = None if initial is None else _static_share(initial, target)
        if static == 1:
            return Dataset.zip((classes, dataset))
        if static == 0:
            return filtered
        unfiltered = Dataset.zip((classes, dataset))
        weights = kept_ones.map(lambda prob: [(prob, 1.0 - prob)])
        return sample_from_datasets_v1([unfiltered, filtered], weights=weights, seed=seed)

    return apply


def _static_share(initial: Tensor, target: Tensor) -> float | None:
    """Returns the share of elements that are not subject to rejection, or None if a distribution is not a constant."""
    before, after = constant_value.constant_value(initial), constant_value.constant_value(target)
    return None if before is None or after is None else float(np.min(after / before))


def _filtered(dataset: DatasetV2, acceptances: DatasetV2, initials: DatasetV2, classes: DatasetV2, seed: Any) -> DatasetV2:
    """Returns the pairs (class, element) that pass rejection; prints a warning in a run if more than half are rejected."""

    def warned(accept_dist: Tensor, initial: Tensor) -> Tensor:
        rejected = reduce_sum((1 - accept_dist) * initial)
        result: Tensor = cond(
            less(rejected, 0.5), lambda: accept_dist,
            lambda: Print(accept_dist, [rejected, initial, accept_dist], message=_HIGH, summarize=100, first_n=10),
        )  # fmt: skip
        return result

    # An element stays if a uniform number is less than the acceptance probability of its class.
    acceptances = Dataset.zip((acceptances, initials)).map(warned)
    rows = Dataset.zip((classes, acceptances, dataset)).map(lambda c, probabilities, data: (c, gather(probabilities, c), data))
    accepted = rows.filter(lambda _, p, data: random_uniform([], seed=seed) < p)
    return accepted.map(lambda c, _, data: (c, data))


def _estimated(target: Tensor, classes: DatasetV2) -> DatasetV2:
    """Returns a dataset of the estimated distribution of classes, one for each element."""
    count = dimension_at_index(target.shape, 0).value or shape_of(target)[0]
    first = fill([count], np.int64(_FIRST_COUNT))

    def update(seen: Tensor, batch: Tensor) -> tuple[Tensor, Tensor]:
        seen = add(seen, reduce_sum(one_hot(batch, seen.shape[0], dtype=dtypes.int64), 0))
        share = cast(truediv(seen, reduce_sum(seen)), dtypes.float32)
        return seen, tile(expand_dims(share, 0), [_ESTIMATION_BATCH, 1])

    return classes.batch(_ESTIMATION_BATCH).apply(scan(first, update)).apply(unbatch())


def _acceptance(initial: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the acceptance probability of each class, and the share of elements that are not subject to rejection.

    With r = target / initial, plain rejection sampling accepts with r / max(r). Leaving the share m = min(r) unfiltered, and accepting
    the others with (r - m) / (max(r) - m), gives the same distribution and rejects fewer elements.
    """
    ratio = target / (initial + np.finfo(initial.dtype.as_numpy_dtype).tiny)
    most = reduce_max(ratio)
    least = reduce_min(ratio)
    return (ratio - least) / (most - least), least
