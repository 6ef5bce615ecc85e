"""The graph of k-means: distances to centers, the choice of first centers, and the steps that move them.

Methods: Lloyd 1982; Sculley 2010 for batches; k-means++ (Arthur and Vassilvitskii 2007); k-MC2 (Bachem et al. 2016).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.estimator.canned.clustering_start import FirstCenters
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import colocate_with, control_dependencies
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.ops.array.constant import identity, placeholder_with_default
from tfcompat._src.ops.array.fill import ones, ones_like, zeros, zeros_like
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.reorder import transpose
from tfcompat._src.ops.array.search import unique
from tfcompat._src.ops.array.shape import rank, reshape, shape, size, squeeze
from tfcompat._src.ops.control.cond import cond
from tfcompat._src.ops.control.groups import group, no_op
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.math.reduce import reduce_sum
from tfcompat._src.ops.math.scan import add_n
from tfcompat._src.ops.math.segment import unsorted_segment_sum
from tfcompat._src.ops.math.unary import reciprocal, square
from tfcompat._src.ops.nn.moments import l2_normalize
from tfcompat._src.ops.random.seeds import get_seed
from tfcompat._src.variables.assign import assign, assign_sub, scatter_add
from tfcompat._src.variables.variable import Variable

SQUARED_EUCLIDEAN_DISTANCE = export("contrib.factorization.SQUARED_EUCLIDEAN_DISTANCE")("squared_euclidean")
COSINE_DISTANCE = export("contrib.factorization.COSINE_DISTANCE")("cosine")
RANDOM_INIT = export("contrib.factorization.RANDOM_INIT")("random")
KMEANS_PLUS_PLUS_INIT = export("contrib.factorization.KMEANS_PLUS_PLUS_INIT")("kmeans_plus_plus")
KMC2_INIT = "kmc2"
CLUSTERS_VAR_NAME = "clusters"


def _near(tensor: object) -> Any:
    return colocate_with(tensor, ignore_existing=True)


def check_choices(initial_clusters: object, known: Iterable[str], distance_metric: str) -> None:
    """Raises ValueError for the name of an unknown initialization or distance."""
    if isinstance(initial_clusters, str) and initial_clusters not in known:
        raise ValueError(f"Unsupported initialization algorithm '{initial_clusters}'")
    if distance_metric not in (SQUARED_EUCLIDEAN_DISTANCE, COSINE_DISTANCE):
        raise ValueError(f"Unsupported distance metric '{distance_metric}'")


class KMeans:
    """Builds the graph of k-means clustering.

    Args:
      inputs: float32 Tensor [points, dimensions], in random order, or a list of them.
      num_clusters: number of centers; not used where `initial_clusters` are numbers.
      initial_clusters: the first centers [clusters, dimensions]; a function of (list of inputs, number of missing centers) that gives
        some; or "random", "kmeans_plus_plus", "kmc2": the way to choose them among the inputs.
      distance_metric: "squared_euclidean" or "cosine".
      use_mini_batch: whether a step moves centers toward the points of a batch; else to the means of all points.
      mini_batch_steps_per_iteration: steps between two moves of the centers that points are assigned to.
      random_seed: seed of what is chosen at random.
      kmeans_plus_plus_num_retries: further points drawn for each center of k-means++; negative: 2 + log(num_clusters).
      kmc2_chain_length: points that a center of k-MC2 is chosen among.

    Raises:
      ValueError: no such initialization or distance.
    """

    def __init__(
        self, inputs, num_clusters, initial_clusters=RANDOM_INIT, distance_metric=SQUARED_EUCLIDEAN_DISTANCE, use_mini_batch=False,
        mini_batch_steps_per_iteration=1, random_seed=0, kmeans_plus_plus_num_retries=2, kmc2_chain_length=200,
    ) -> None:  # fmt: skip
        check_choices(initial_clusters, (RANDOM_INIT, KMEANS_PLUS_PLUS_INIT, KMC2_INIT), distance_metric)
        self._inputs = inputs if isinstance(inputs, list) else [inputs]
        self._num_clusters = num_clusters
        self._initial_clusters = initial_clusters
        self._is_cosine = distance_metric == COSINE_DISTANCE
        self._use_mini_batch = use_mini_batch
        self._steps = int(mini_batch_steps_per_iteration)
        self._seed = self._seed_of(random_seed)
        self._retries = kmeans_plus_plus_num_retries
        self._chain_length = kmc2_chain_length

    @staticmethod
    def _seed_of(random_seed: int | None) -> int | None:
        return get_seed(random_seed)[0]

    @staticmethod
    def _no_centers() -> Tensor:
        """The value of the centers before the first are chosen."""
        return placeholder_with_default([], shape=None)

    @property
    def _has_two_copies(self) -> bool:
        """Whether the centers that move are others than those that points are assigned to."""
        return self._use_mini_batch and self._steps > 1

    @property
    def _keeps_norm(self) -> bool:
        """Whether the centers have norm 1."""
        return self._is_cosine and (not self._use_mini_batch or self._has_two_copies)

    def training_graph(self) -> tuple[Any, Any, Any, Any, Any, Any]:
        """Adds the variables and operations to the graph.

        Returns:
          Lists with one entry per input: distances to all centers [points, clusters], index of the nearest one [points],
          distance to it [points]. Then the bool Variable whether all centers are chosen; the operation that chooses
          some, to be run until then; and the operation of a training step.
        """
        initial = self._initial_clusters
        if isinstance(initial, str) or callable(initial):
            num_clusters = convert_to_tensor(self._num_clusters)
        else:
            initial = convert_to_tensor(initial)
            num_clusters = shape(initial)[0]
        self._create_variables(num_clusters)
        init_op = FirstCenters(
            self._inputs, num_clusters, initial, self._is_cosine, self._seed, self._retries, self._chain_length,
            self._centers, self._moving, self._initialized,
        ).op()  # fmt: skip
        inputs, centers = self._inputs, self._centers
        if self._is_cosine:
            inputs = [self._normalized_near(points) for points in inputs]
            if not self._keeps_norm:
                centers = l2_normalize(centers, dim=1)
        all_distances, distances, indices = self._assignments(inputs, centers)
        if self._use_mini_batch:
            with control_dependencies([self._copy_moved_centers()]):
                training_op = self._move_toward(inputs, indices)
        else:
            training_op = self._move_to_means(inputs, indices, num_clusters)
        return all_distances, indices, distances, self._initialized, init_op, training_op

    def _create_variables(self, num_clusters: Tensor) -> None:
        empty = self._no_centers()
        self._centers = self._moving = Variable(empty, name=CLUSTERS_VAR_NAME, validate_shape=False)
        self._initialized = Variable(False, dtype=dtypes.bool, name="initialized")
        if self._has_two_copies:
            self._moving = Variable(empty, name="clusters_updated", validate_shape=False)
            self._steps_left = Variable(self._steps, dtype=dtypes.int64, name="update_in_steps")
            self._counts = Variable(zeros([num_clusters], dtype=dtypes.int64))
        elif self._use_mini_batch:
            self._counts = Variable(ones([num_clusters], dtype=dtypes.int64))

    @staticmethod
    def _normalized_near(points: Any) -> Tensor:
        with _near(points):
            return l2_normalize(points, dim=1)

    def _distances(self, points: Any, centers: Any) -> Tensor:
        """The distances between points [n, d] and centers [k, d]: [n, k]; cosine: all have norm 1."""
        with _near(points):
            if self._is_cosine:
                return 1 - matmul(points, centers, transpose_b=True)
            of_points = reduce_sum(square(points), 1, keepdims=True)
            products = 2 * matmul(points, centers, transpose_b=True)
            return of_points - products + transpose(reduce_sum(square(centers), 1, keepdims=True))

    def _assignments(self, inputs: list[Any], centers: Any) -> tuple[Any, Any, Any]:
        """For each of the inputs: distances to all centers, distance to the nearest one, its index."""
        all_distances = [self._distances(points, centers) for points in inputs]
        if self._is_cosine and not self._keeps_norm:
            centers = self._normalized_near(centers)
        nearest = []
        for points in inputs:
            with _near(points):
                index, distance = raw.NearestNeighbors(points, centers, 1)
                if self._is_cosine:
                    distance *= 0.5  # of points with norm 1 the squared distance is twice the cosine's
                distance = squeeze(distance, [-1])
                nearest.append((distance, squeeze(index, [-1])))
        distances, indices = zip(*nearest)
        return tuple(all_distances), distances, indices

    def _copy_moved_centers(self) -> Operation | Tensor:
        """After the last step of an iteration, copies the centers that moved, and counts from 0 again."""
        if not self._has_two_copies:
            return no_op()

        def copied() -> Tensor:
            with control_dependencies([assign(self._steps_left, self._steps - 1)]):
                with _near(self._moving):
                    moved = l2_normalize(self._moving, dim=1) if self._is_cosine else self._moving
                with _near(self._centers), control_dependencies([assign(self._centers, moved)]), _near(None):
                    with control_dependencies([assign(self._counts, zeros_like(self._counts))]):
                        return identity(self._steps_left)

        with _near(self._steps_left):
            return cond(self._steps_left <= 0, copied, lambda: assign_sub(self._steps_left, 1))

    def _move_toward(self, inputs: list[Any], indices: Iterable[Tensor]) -> Operation | None:
        """A step with batches: x += (sum of the k new points - k x) / (n + k) for a center x of n points."""
        updates: list[Any] = []
        for points, index in zip(inputs, indices):
            with _near(points):
                centers, place = unique(reshape(index, [-1]))
                count = size(centers)
                with _near(self._counts):
                    old_counts = gather(self._counts, centers)
                with _near(self._moving):
                    old = gather(self._moving, centers)
                new_counts = unsorted_segment_sum(ones_like(place, dtype=self._counts.dtype), place, count)
                change = unsorted_segment_sum(points, place, count)
                rows = reshape(count, [1])
                column = concat([rows, ones(reshape(rank(points) - 1, [1]), dtype=dtypes.int32)], 0)
                change -= cast(reshape(new_counts, column), points.dtype) * old
                change *= reshape(reciprocal(cast(old_counts + new_counts, points.dtype)), column)
            updates += [scatter_add(self._counts, centers, new_counts), scatter_add(self._moving, centers, change)]
        return group(*updates)

    def _move_to_means(self, inputs: list[Any], indices: Iterable[Tensor], num_clusters: Tensor) -> Tensor:
        """A step with all points: each center becomes their mean."""
        sums, counts = [], []
        epsilon = constant(1e-6, dtype=inputs[0].dtype)
        for points, index in zip(inputs, indices):
            with _near(points):
                sums.append(unsorted_segment_sum(points, index, num_clusters))
                column = reshape(ones(reshape(shape(points)[0], [-1])), [-1, 1])
                counts.append(unsorted_segment_sum(column, index, num_clusters))
        with _near(self._centers):
            centers = add_n(sums) / (cast(add_n(counts), sums[0].dtype) + epsilon)
            if self._is_cosine:
                centers = l2_normalize(centers, dim=1)
        return assign(self._centers, centers)
