"""tf.estimator.experimental.KMeans: k-means clustering as an Estimator."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.estimator.canned import clustering
from tfcompat._src.estimator.estimator import Estimator
from tfcompat._src.estimator.model_fn import EstimatorSpec
from tfcompat._src.feature_column.input_layer import input_layer
from tfcompat._src.graph.scopes import colocate_with, get_collection
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.metrics.mean import mean
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.control.groups import with_dependencies
from tfcompat._src.ops.math.reduce import reduce_sum
from tfcompat._src.platform import logging
from tfcompat._src.saved_model.model_utils.export_output import PredictOutput
from tfcompat._src.saved_model.signature_constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from tfcompat._src.summary.summary import scalar
from tfcompat._src.train.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from tfcompat._src.variables.assign import assign_add
from tfcompat._src.variables.training_util import get_global_step


class LossRelativeChangeHook(SessionRunHook):
    """Stops when the loss changes by less than `tolerance` times 1 + its last absolute value.

    Args:
      loss: scalar Tensor.
      tolerance: a number.
      stops_at_zero: whether a loss that was 0 counts.
    """

    def __init__(self, loss: Tensor, tolerance: float, stops_at_zero: bool = False) -> None:
        self._loss, self._tolerance, self._stops_at_zero = loss, tolerance, stops_at_zero
        self._last: Any = None

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._loss)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        loss, last = run_values.results, self._last
        self._last = loss
        if last is None or (last == 0 and not self._stops_at_zero):
            return
        if abs(loss - last) / (1 + abs(last)) < self._tolerance:
            run_context.request_stop()


class InitializeClustersHook(SessionRunHook):
    """Runs an operation until a variable says that all clusters are chosen; workers wait for the chief.

    The chief then saves a checkpoint: where the choice takes all the input, no step does.

    Args:
      init_op: the operation.
      is_initialized: bool Variable.
      config: the RunConfig.
    """

    def __init__(self, init_op: Any, is_initialized: Any, config: Any) -> None:
        self._init_op, self._is_initialized, self._config = init_op, is_initialized, config

    def after_create_session(self, session: SessionLike, coord: object) -> None:
        has_chosen = False
        while not self._is_ready(session):
            if not self._config.is_chief:
                time.sleep(1)
                continue
            has_chosen = True
            try:
                session.run(self._init_op)
            except RuntimeError as e:
                logging.info(e)
        savers = get_collection(GraphKeys.SAVERS)
        if has_chosen and savers and self._config.model_dir:
            savers[0].save(session, os.path.join(self._config.model_dir, "model.ckpt"), global_step=get_global_step())

    def _is_ready(self, session: SessionLike) -> bool:
        try:
            return session.run(self._is_initialized)
        except RuntimeError as e:
            logging.info(e)
            return False


def joined_features(features: object) -> Any:
    """The features of a dict side by side, by name; anything else as it is."""
    if not isinstance(features, dict):
        return features
    keys = sorted(features)
    with colocate_with(features[keys[0]]):
        return concat([features[key] for key in keys], axis=1)


def chosen_features(features: object, feature_columns: object) -> Any:
    """The points that columns make of a dict of features; without columns, the features side by side."""
    return input_layer(features, feature_columns) if isinstance(features, dict) and feature_columns else joined_features(features)


def _model(
    features: object, mode: str, config: object, graph: Callable[..., clustering.KMeans], relative_tolerance: float | None,
    feature_columns: object,
) -> EstimatorSpec:  # fmt: skip
    points = chosen_features(features, feature_columns)
    all_distances, indices, distances, is_initialized, init_op, training_op = graph(inputs=points).training_graph()
    loss = reduce_sum(distances)
    scalar("loss/raw", loss)
    training_op = with_dependencies([training_op, assign_add(get_global_step(), 1)], loss)
    hooks: list[SessionRunHook] = [InitializeClustersHook(init_op, is_initialized, config)]
    if relative_tolerance is not None:
        hooks.append(LossRelativeChangeHook(loss, relative_tolerance))
    predictions = {KMeansClustering.ALL_DISTANCES: all_distances[0], KMeansClustering.CLUSTER_INDEX: indices[0]}
    return EstimatorSpec(
        mode=mode,
        predictions=predictions,
        loss=loss,
        train_op=training_op,
        eval_metric_ops={KMeansClustering.SCORE: mean(loss)},
        training_hooks=hooks,
        export_outputs={
            **{key: PredictOutput(value) for key, value in predictions.items()},
            DEFAULT_SERVING_SIGNATURE_DEF_KEY: PredictOutput(indices[0]),
        },
    )


@export("estimator.experimental.KMeans")
class KMeansClustering(Estimator):
    """K-means clustering.

    Args:
      num_clusters: number of centers; not used where `initial_clusters` are numbers.
      model_dir: folder of the model.
      initial_clusters: the first centers [clusters, dimensions]; a function of (list of inputs, number of missing centers)
        that gives some; or "random" or "kmeans_plus_plus": the way to choose them among the inputs.
      distance_metric: "squared_euclidean" or "cosine".
      seed: seed of what is chosen at random.
      use_mini_batch: whether a step moves centers toward the points of a batch; else to the means of all points.
      mini_batch_steps_per_iteration: steps between two moves of the centers that points are assigned to.
      kmeans_plus_plus_num_retries: further points drawn for each center of k-means++; negative: 2 + log(num_clusters).
      relative_tolerance: training stops when the loss changes by less than this times 1 + the loss.
      config: a RunConfig.
      feature_columns: columns that give the points, where the features are a dict; by default all features side by side.

    Raises:
      ValueError: no such initialization or distance.
    """

    SQUARED_EUCLIDEAN_DISTANCE = clustering.SQUARED_EUCLIDEAN_DISTANCE
    COSINE_DISTANCE = clustering.COSINE_DISTANCE
    RANDOM_INIT = clustering.RANDOM_INIT
    KMEANS_PLUS_PLUS_INIT = clustering.KMEANS_PLUS_PLUS_INIT
    SCORE = "score"
    CLUSTER_INDEX = "cluster_index"
    ALL_DISTANCES = "all_distances"
    CLUSTER_CENTERS_VAR_NAME = clustering.CLUSTERS_VAR_NAME
    _graph: type[clustering.KMeans] = clustering.KMeans

    def __init__(
        self, num_clusters, model_dir=None, initial_clusters=clustering.RANDOM_INIT,
        distance_metric=clustering.SQUARED_EUCLIDEAN_DISTANCE, seed=None, use_mini_batch=True, mini_batch_steps_per_iteration=1,
        kmeans_plus_plus_num_retries=2, relative_tolerance=None, config=None, feature_columns=None,
    ) -> None:  # fmt: skip
        clustering.check_choices(initial_clusters, (self.RANDOM_INIT, self.KMEANS_PLUS_PLUS_INIT), distance_metric)
        graph = functools.partial(
            self._graph, num_clusters=num_clusters, initial_clusters=initial_clusters, distance_metric=distance_metric,
            use_mini_batch=use_mini_batch, mini_batch_steps_per_iteration=mini_batch_steps_per_iteration, random_seed=seed,
            kmeans_plus_plus_num_retries=kmeans_plus_plus_num_retries,
        )  # fmt: skip

        def model_fn(features: object, mode: str, config: object) -> EstimatorSpec:
            return _model(features, mode, config, graph, relative_tolerance, feature_columns)

        self._gives_roots = distance_metric == clustering.SQUARED_EUCLIDEAN_DISTANCE
        super().__init__(model_fn=model_fn, model_dir=model_dir, config=config)

    def _predictions(self, input_fn: Callable, key: str) -> Iterator[Any]:
        for prediction in self.predict(input_fn=input_fn, predict_keys=[key]):
            yield prediction[key]

    def predict_cluster_index(self, input_fn: Callable) -> Iterator[np.int64]:
        """Yields the index of the nearest center for each point that an input function gives."""
        return self._predictions(input_fn, self.CLUSTER_INDEX)

    def score(self, input_fn: Callable) -> float:
        """The sum of the distances between the points of the first batch and their nearest centers (squares, if Euclidean)."""
        return self.evaluate(input_fn=input_fn, steps=1)[self.SCORE]

    def transform(self, input_fn: Callable) -> Iterator[np.ndarray]:
        """Yields the distances to all centers for each point that an input function gives."""
        for distances in self._predictions(input_fn, self.ALL_DISTANCES):
            yield np.sqrt(distances) if self._gives_roots else distances

    def cluster_centers(self) -> np.ndarray:
        """The centers [clusters, dimensions] of the latest checkpoint."""
        return self.get_variable_value(self.CLUSTER_CENTERS_VAR_NAME)
