"""tf.contrib.factorization.KMeans."""

from __future__ import annotations

from tfcompat._src.estimator.canned import clustering
from tfcompat._src.framework import dtypes
from tfcompat._src.framework.convert import constant
from tfcompat._src.framework.export import export
from tfcompat._src.framework.tensor import Tensor


@export("contrib.factorization.KMeans")
class KMeans(clustering.KMeans):
    __doc__ = clustering.KMeans.__doc__

    @staticmethod
    def _seed_of(random_seed: int | None) -> int | None:
        return random_seed

    @staticmethod
    def _no_centers() -> Tensor:
        return constant([], dtype=dtypes.float32)
