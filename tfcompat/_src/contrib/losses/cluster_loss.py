"""tf.contrib.losses.metric_learning.cluster_loss: how much worse than the true classes the worst clusters around some examples are.

The examples that clusters are built around (medoids) are chosen on the host; the loss is a function of the distances between examples.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.contrib.losses.metric_learning import pairwise_distance
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.fill import zeros_like
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.search import unique
from tfcompat._src.ops.array.search import where as where_rows
from tfcompat._src.ops.array.shape import expand_dims, shape, size, squeeze
from tfcompat._src.ops.control.printing import Print
from tfcompat._src.ops.control.py_func import py_func
from tfcompat._src.ops.math.binary import maximum
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import equal
from tfcompat._src.ops.math.reduce import reduce_min, reduce_sum
from tfcompat._src.ops.math.segment import unsorted_segment_min
from tfcompat._src.ops.math.sequence import arange as number_range
from tfcompat._src.summary.summary import scalar

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

HAS_SKLEARN = importlib.util.find_spec("sklearn") is not None
_SKLEARN_SCORES = {
    "nmi": "normalized_mutual_info_score", "ami": "adjusted_mutual_info_score", "ari": "adjusted_rand_score", "vmeasure": "v_measure_score",
}  # fmt: skip


def _score_function(margin_type: str) -> Callable[[np.ndarray, np.ndarray], Any]:
    """How well clusters fit classes, from 0 to 1, a float32; ValueError for an unknown kind."""
    if margin_type == "const":
        return lambda labels, predictions: np.float32((labels == predictions).all())
    if margin_type not in _SKLEARN_SCORES:
        raise ValueError(f"margin_type is {margin_type!r}; it must be one of {[*_SKLEARN_SCORES, 'const']}.")
    score = getattr(importlib.import_module("sklearn.metrics"), _SKLEARN_SCORES[margin_type])
    least = -np.inf if margin_type == "nmi" else 0.0
    return lambda labels, predictions: np.float32(max(least, score(labels, predictions)))


def _nearest(distances: np.ndarray, medoids: np.ndarray) -> np.ndarray:
    """For each example the place of the nearest medoid in the list; that of a medoid is its own, whatever the rounding."""
    own = np.zeros(len(distances), np.int64)
    np.add.at(own, medoids, np.arange(len(medoids)))
    nearest = distances[medoids].argmin(0)
    nearest[medoids] = own[medoids]
    return nearest


def _worst(gains: np.ndarray, swaps: list[np.ndarray], distances: np.ndarray, labels: np.ndarray, margin: np.float32, score: Callable) -> int:
    """Which of several lists of medoids gains most, where clusters that do not fit the classes gain `margin` more."""
    misfits = np.array([1 - score(labels, _nearest(distances, medoids)) for medoids in swaps], np.float32)
    return int(np.argmax(gains.astype(np.float32) + margin * misfits))


def _greedy(distances: np.ndarray, labels: np.ndarray, ids: np.ndarray, margin: np.float32, score: Callable) -> np.ndarray:
    """A medoid for each class, chosen one after the other."""
    medoids = np.zeros(0, np.int32)
    for _ in range(len(np.unique(labels))):
        rest = ids[~np.isin(ids, medoids)]
        reach = distances[medoids].min(0, initial=np.inf)
        gains = -np.minimum(reach, distances[rest]).sum(1)
        found = _worst(gains, [np.append(medoids, each) for each in rest], distances, labels, margin, score)
        medoids = np.append(medoids, rest[found])
    return medoids


def _refined(distances: np.ndarray, labels: np.ndarray, margin: np.float32, score: Callable, medoids: np.ndarray, rounds: int) -> np.ndarray:
    """Medoids after rounds that look at each member of each cluster as its medoid."""
    medoids = medoids.copy()
    for _ in range(rounds):
        clusters = _nearest(distances, medoids)
        for number in range(len(np.unique(labels))):
            members = np.flatnonzero(clusters == number)
            swaps = [np.where(np.arange(len(medoids)) == number, member, medoids) for member in members]
            gains = -distances[np.ix_(members, members)].sum(1)
            medoids[number] = members[_worst(gains, swaps, distances, labels, margin, score)]
    return medoids


def _on_host(function: Callable[..., np.ndarray], inputs: list[Any], dtype: dtypes.DType, size: int | None, name: str) -> Tensor:
    found = py_func(function, inputs, dtype, stateful=False, name=name)
    found.set_shape([size])
    return found


def compute_augmented_facility_locations(
    pairwise_distances: object, labels: object, all_ids: object, margin_multiplier: object, margin_type: str
) -> Tensor:
    """The examples, one for each class, whose clusters are worst.

    Args:
      pairwise_distances: float32 [n, n].
      labels: integer [n], the classes.
      all_ids: int32, the examples to choose from.
      margin_multiplier: float32 scalar, what clusters gain that do not fit the classes at all.
      margin_type: how the fit is measured: "nmi", "ami", "ari", "vmeasure" or "const".

    Returns:
      int32 vector of examples.

    Raises:
      ValueError: the margin type is not known.
    """
    score = _score_function(margin_type)

    def choose(distances: np.ndarray, classes: np.ndarray, ids: np.ndarray, margin: np.float32) -> np.ndarray:
        return _greedy(distances, classes, ids, margin, score)

    margin = cast(margin_multiplier, dtypes.float32)
    return _on_host(choose, [pairwise_distances, labels, all_ids, margin], dtypes.int32, None, "facility_locations")


def compute_augmented_facility_locations_pam(
    pairwise_distances: object, labels: object, margin_multiplier: object, margin_type: str, chosen_ids: object, pam_max_iter: int = 5
) -> Tensor:
    """The examples of `compute_augmented_facility_locations` after a search among the members of their clusters.

    Args:
      chosen_ids: int32 vector, the examples to begin with.
      pam_max_iter: how often all clusters are searched. The other arguments are those of `compute_augmented_facility_locations`.
    """
    score = _score_function(margin_type)

    def refine(distances: np.ndarray, classes: np.ndarray, margin: np.float32, medoids: np.ndarray) -> np.ndarray:
        return _refined(distances, classes, margin, score, medoids, pam_max_iter)

    margin = cast(margin_multiplier, dtypes.float32)
    return _on_host(refine, [pairwise_distances, labels, margin, chosen_ids], dtypes.int32, None, "refined_locations")


def get_cluster_assignment(pairwise_distances: object, centroid_ids: object) -> Tensor:
    """For each example the place, in `centroid_ids`, of the example that is nearest to it: int64 [n]."""
    return _on_host(_nearest, [pairwise_distances, centroid_ids], dtypes.int64, None, "cluster_assignment")


def compute_facility_energy(pairwise_distances: TensorLike, centroid_ids: TensorLike) -> Tensor:
    """Minus the sum of the distances from each example to the nearest of `centroid_ids`."""
    return -1.0 * reduce_sum(reduce_min(gather(pairwise_distances, centroid_ids), axis=0))


def compute_clustering_score(labels: object, predictions: object, margin_type: str) -> Tensor:
    """How well clusters fit classes, a float32 scalar from 0 to 1.

    Args:
      labels, predictions: integer [n].
      margin_type: "nmi", "ami", "ari", "vmeasure" (scikit-learn's scores) or "const" (1 where they are equal).

    Raises:
      ValueError: the margin type is not known.
    """
    found = py_func(_score_function(margin_type), [labels, predictions], dtypes.float32, stateful=False, name=margin_type)
    found.set_shape([])
    return found


def compute_gt_cluster_score(pairwise_distances: TensorLike, labels: TensorLike) -> Tensor:
    """Minus the sum, over the classes, of the least sum of distances from one example of a class to the others."""
    classes, numbers = unique(labels)
    to_own = where_rows(equal(expand_dims(labels, 0), expand_dims(labels, 1)), pairwise_distances, zeros_like(pairwise_distances))
    return -1.0 * reduce_sum(unsorted_segment_min(reduce_sum(to_own, axis=0), numbers, size(classes)))


@export("contrib.losses.metric_learning.cluster_loss")
def cluster_loss(
    labels: TensorLike, embeddings: TensorLike, margin_multiplier: object, enable_pam_finetuning: bool = True, margin_type: str = "nmi",
    print_losses: bool = False,
) -> Tensor:  # fmt: skip
    """The hinge loss of the worst clusters against the true classes (Song et al., "Deep metric learning via facility location").

    Args:
      labels: integer [n, 1], the classes.
      embeddings: float32 [n, d], normalized.
      margin_multiplier: float32 scalar, what clusters gain that do not fit the classes at all.
      enable_pam_finetuning: whether clusters are searched for better medoids.
      margin_type: how the fit is measured: "nmi", "ami", "ari", "vmeasure" or "const".
      print_losses: whether each value is printed.

    Returns:
      A float32 scalar.

    Raises:
      ImportError: scikit-learn is not there.
      ValueError: the margin type is not known.
    """
    if not HAS_SKLEARN:
        raise ImportError("cluster_loss measures clusters with scikit-learn, which is not there: pip install scikit-learn")
    distances, classes = pairwise_distance(embeddings), squeeze(convert_to_tensor(labels))
    ids = number_range(shape(embeddings)[0])
    medoids = compute_augmented_facility_locations(distances, classes, ids, margin_multiplier, margin_type)
    if enable_pam_finetuning:
        medoids = compute_augmented_facility_locations_pam(distances, classes, margin_multiplier, margin_type, medoids)
    predicted = compute_facility_energy(distances, medoids)
    fit = compute_clustering_score(classes, get_cluster_assignment(distances, medoids), margin_type)
    true = compute_gt_cluster_score(distances, classes)
    loss = maximum(predicted + margin_multiplier * (1.0 - fit) - true, 0.0, name="clustering_loss")
    loss.set_shape([])
    if print_losses:
        loss = Print(loss, ["clustering_loss: ", loss, shape(loss)])
    for name, value in (("score_pred", predicted), (margin_type, fit), ("score_gt", true)):
        scalar(f"losses/{name}", value)
    return loss
