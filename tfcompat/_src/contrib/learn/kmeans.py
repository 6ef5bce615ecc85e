"""tf.contrib.learn.KMeansClustering: k-means as an Estimator of contrib.learn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tfcompat._src.base.export import export
from tfcompat._src.contrib.factorization.clustering import KMeans
from tfcompat._src.contrib.learn.estimator import Estimator
from tfcompat._src.contrib.learn.model_fn import ModelFnOps
from tfcompat._src.estimator.canned import clustering
from tfcompat._src.estimator.canned.kmeans import InitializeClustersHook, LossRelativeChangeHook, joined_features
from tfcompat._src.ops.control.groups import with_dependencies
from tfcompat._src.ops.math.reduce import reduce_sum
from tfcompat._src.summary.summary import scalar
from tfcompat._src.train.session_run_hook import SessionRunHook
from tfcompat._src.variables.assign import assign_add
from tfcompat._src.variables.training_util import get_global_step


def _model(features: object, labels: object, mode: str, params: dict[str, Any], config: object) -> ModelFnOps:
    if labels is not None:
        raise AssertionError(labels)
    all_scores, indices, distances, is_initialized, init_op, training_op = KMeans(
        joined_features(features), **params["graph"]
    ).training_graph()
    step = assign_add(get_global_step(), 1)
    loss = reduce_sum(distances, name=KMeansClustering.LOSS_OP_NAME)
    scalar("loss/raw", loss)
    hooks: list[SessionRunHook] = [InitializeClustersHook(init_op, is_initialized, config)]
    if params["relative_tolerance"] is not None:
        hooks.append(LossRelativeChangeHook(loss, params["relative_tolerance"], stops_at_zero=True))
    return ModelFnOps(
        mode=mode,
        predictions={KMeansClustering.ALL_SCORES: all_scores[0], KMeansClustering.CLUSTER_IDX: indices[0]},
        eval_metric_ops={KMeansClustering.SCORES: loss},
        loss=loss,
        train_op=with_dependencies([training_op, step], loss),
        training_hooks=hooks,
    )


@export("contrib.learn.KMeansClustering")
class KMeansClustering(Estimator):
    """K-means clustering; arguments as tf.contrib.factorization.KMeansClustering."""

    SQUARED_EUCLIDEAN_DISTANCE = clustering.SQUARED_EUCLIDEAN_DISTANCE
    COSINE_DISTANCE = clustering.COSINE_DISTANCE
    RANDOM_INIT = clustering.RANDOM_INIT
    KMEANS_PLUS_PLUS_INIT = clustering.KMEANS_PLUS_PLUS_INIT
    SCORES = "scores"
    CLUSTER_IDX = "cluster_idx"
    CLUSTERS = clustering.CLUSTERS_VAR_NAME
    ALL_SCORES = "all_scores"
    LOSS_OP_NAME = "kmeans_loss"

    def __init__(
        self, num_clusters, model_dir=None, initial_clusters=clustering.RANDOM_INIT,
        distance_metric=clustering.SQUARED_EUCLIDEAN_DISTANCE, random_seed=0, use_mini_batch=True, mini_batch_steps_per_iteration=1,
        kmeans_plus_plus_num_retries=2, relative_tolerance=None, config=None,
    ) -> None:  # fmt: skip
        graph = dict(
            num_clusters=num_clusters, initial_clusters=initial_clusters, distance_metric=distance_metric,
            use_mini_batch=use_mini_batch, mini_batch_steps_per_iteration=mini_batch_steps_per_iteration,
            random_seed=random_seed, kmeans_plus_plus_num_retries=kmeans_plus_plus_num_retries,
        )  # fmt: skip
        params = {"graph": graph, "relative_tolerance": relative_tolerance}
        super().__init__(model_fn=_model, params=params, model_dir=model_dir, config=config)

    def predict_cluster_idx(self, input_fn: Callable | None = None) -> Iterator[np.int64]:
        """Yields the index of the nearest center for each point that an input function gives."""
        for prediction in self.predict(input_fn=input_fn, outputs=[self.CLUSTER_IDX]):
            yield prediction[self.CLUSTER_IDX]

    def score(self, input_fn: Callable | None = None, steps: int | None = None) -> np.floating:
        """The sum of the distances between the points and their nearest centers (squares, if Euclidean)."""
        return np.sum(self.evaluate(input_fn=input_fn, steps=steps)[self.SCORES])

    def transform(self, input_fn: Callable | None = None, as_iterable: bool = False) -> Any:
        """The distances [points, clusters] to all centers (squares, if Euclidean); an iterator of dicts if `as_iterable`."""
        found = self.predict(input_fn=input_fn, outputs=[self.ALL_SCORES], as_iterable=as_iterable)
        return found if as_iterable else found[self.ALL_SCORES]

    def clusters(self) -> np.ndarray:
        """The centers [clusters, dimensions] of the latest checkpoint."""
        return self.get_variable_value(self.CLUSTERS)
