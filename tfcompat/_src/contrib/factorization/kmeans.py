"""tf.contrib.factorization.KMeansClustering: k-means as an Estimator of the core."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from tfcompat._src.base.export import export
from tfcompat._src.contrib.factorization.clustering import KMeans
from tfcompat._src.estimator.canned import clustering, kmeans


@export("contrib.factorization.KMeansClustering")
class KMeansClustering(kmeans.KMeansClustering):
    """As tf.estimator.experimental.KMeans, but `random_seed` is used as it is, and `transform` gives squared Euclidean distances."""

    _graph = KMeans

    def __init__(
        self, num_clusters, model_dir=None, initial_clusters=clustering.RANDOM_INIT,
        distance_metric=clustering.SQUARED_EUCLIDEAN_DISTANCE, random_seed=0, use_mini_batch=True, mini_batch_steps_per_iteration=1,
        kmeans_plus_plus_num_retries=2, relative_tolerance=None, config=None, feature_columns=None,
    ) -> None:  # fmt: skip
        super().__init__(
            num_clusters, model_dir, initial_clusters, distance_metric, random_seed, use_mini_batch, mini_batch_steps_per_iteration,
            kmeans_plus_plus_num_retries, relative_tolerance, config, feature_columns,
        )  # fmt: skip

    def transform(self, input_fn: Callable) -> Iterator[np.ndarray]:
        """Yields the distances to all centers for each point that an input function gives (squares, if Euclidean)."""
        return self._predictions(input_fn, self.ALL_DISTANCES)
