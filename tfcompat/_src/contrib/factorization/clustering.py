"""tf.contrib.factorization.KMeans."""

from __future__ import annotations

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.estimator.canned import clustering
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant


@export("contrib.factorization.KMeans")
class KMeans(clustering.KMeans):
    __doc__ = clustering.KMeans.__doc__

    @staticmethod
    def _seed_of(random_seed: int | None) -> int | None:
        return random_seed

    @staticmethod
    def _no_centers() -> Tensor:
        return constant([], dtype=dtypes.float32)
