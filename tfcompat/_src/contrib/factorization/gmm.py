"""tf.contrib.factorization.GMM: a Gaussian mixture as an Estimator of contrib.learn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tfcompat._src.base.export import export
from tfcompat._src.contrib.factorization.gmm_graph import FULL_COVARIANCE, GmmAlgorithm, gmm
from tfcompat._src.contrib.framework.variables import local_variable
from tfcompat._src.contrib.learn.estimator import Estimator
from tfcompat._src.contrib.learn.model_fn import ModelFnOps
from tfcompat._src.estimator.canned.kmeans import InitializeClustersHook, joined_features
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.control.groups import with_dependencies
from tfcompat._src.variables.assign import assign_add
from tfcompat._src.variables.training_util import get_global_step


def _streaming_sum(value: object) -> tuple[Any, Any]:
    total = local_variable(constant(0.0))
    return total, total.assign_add(value)


@export("contrib.factorization.GMM")
class GMM(Estimator):
    """A Gaussian mixture.

    Args:
      num_clusters: number of Gaussians.
      model_dir: folder of the model.
      random_seed: seed of the choice of the first means.
      params: which parameters a step changes: letters "w" (weights), "m" (means), "c" (covariances).
      initial_clusters: the first means [clusters, dimensions], or "random".
      covariance_type: "full" or "diag".
      config: a RunConfig.
    """

    SCORES = "scores"
    LOG_LIKELIHOOD = "loss"
    ASSIGNMENTS = "assignments"

    def __init__(
        self, num_clusters, model_dir=None, random_seed=0, params="wmc", initial_clusters="random", covariance_type=FULL_COVARIANCE,
        config=None,
    ) -> None:  # fmt: skip
        self._mixture = (initial_clusters, num_clusters, random_seed, covariance_type, params)
        super().__init__(model_fn=self._model_builder(), model_dir=model_dir, config=config)

    def _model_builder(self) -> Callable:
        def model_fn(features: object, labels: object, mode: str, config: object) -> ModelFnOps:
            if labels is not None:
                raise AssertionError(labels)
            loss, scores, classes, step, init_op, is_initialized = gmm(joined_features(features), *self._mixture)
            return ModelFnOps(
                mode=mode,
                train_op=with_dependencies([step, assign_add(get_global_step(), 1)], loss),
                training_hooks=[InitializeClustersHook(init_op, is_initialized, config)],
                predictions={GMM.ASSIGNMENTS: classes[0][0]},
                eval_metric_ops={GMM.SCORES: scores, GMM.LOG_LIKELIHOOD: _streaming_sum(loss)},
                loss=loss,
            )

        return model_fn

    def predict_assignments(
        self, input_fn: Callable | None = None, batch_size: int | None = None, outputs: object = None
    ) -> Iterator[np.int64]:
        """Yields the most likely class of each point that an input function gives."""
        for prediction in self.predict(input_fn=input_fn, batch_size=batch_size, outputs=outputs):
            yield prediction[GMM.ASSIGNMENTS]

    def score(
        self, input_fn: Callable | None = None, batch_size: int | None = None, steps: int | None = None
    ) -> np.floating:
        """The logarithm of the sum of the likelihoods of the points that an input function gives."""
        results = self.evaluate(input_fn=input_fn, batch_size=batch_size, steps=steps)
        return np.log(np.sum(np.exp(results[GMM.SCORES])))

    def weights(self) -> np.ndarray:
        """The weights [clusters] of the latest checkpoint."""
        return self.get_variable_value(GmmAlgorithm.CLUSTERS_WEIGHT)

    def clusters(self) -> np.ndarray:
        """The means [clusters, dimensions] of the latest checkpoint."""
        return np.squeeze(self.get_variable_value(GmmAlgorithm.CLUSTERS_VARIABLE), 1)

    def covariances(self) -> np.ndarray:
        """The covariances [clusters, dimensions, dimensions] of the latest checkpoint; variances if diagonal."""
        return self.get_variable_value(GmmAlgorithm.CLUSTERS_COVS_VARIABLE)
