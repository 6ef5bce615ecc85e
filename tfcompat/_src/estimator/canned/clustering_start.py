"""The first centers of k-means, chosen from one batch or several."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.graph.scopes import control_dependencies
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.shape import reshape, shape, squeeze
from tfcompat._src.ops.composed.check_ops import assert_equal, assert_greater_equal, assert_positive
from tfcompat._src.ops.control.cond import cond
from tfcompat._src.ops.control.groups import no_op
from tfcompat._src.ops.control.while_loop import while_loop
from tfcompat._src.ops.math.binary import maximum, minimum
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import equal, less
from tfcompat._src.ops.math.scan import add_n
from tfcompat._src.ops.nn.embedding import embedding_lookup
from tfcompat._src.ops.nn.moments import l2_normalize
from tfcompat._src.ops.random.stateful import random_uniform
from tfcompat._src.variables.assign import assign

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


class FirstCenters:
    """Builds the operation that adds centers until there are `num_clusters`.

    Args:
      inputs: list of Tensors [points, dimensions].
      num_clusters: integer Tensor.
      initial_clusters, random_seed, num_retries, chain_length: as in `KMeans`.
      is_cosine: whether centers get norm 1.
      centers: Variable with those chosen so far.
      moving: Variable that repeats them; `centers` where there is no other.
      initialized: bool Variable that says whether all are chosen.
    """

    def __init__(
        self, inputs, num_clusters, initial_clusters, is_cosine, random_seed, num_retries, chain_length, centers, moving, initialized
    ) -> None:  # fmt: skip
        self._inputs, self._num_clusters, self._initial_clusters = inputs, num_clusters, initial_clusters
        self._is_cosine, self._seed, self._retries, self._chain_length = (
            is_cosine,
            random_seed,
            num_retries,
            chain_length,
        )
        self._centers, self._moving, self._initialized = centers, moving, initialized
        self._chosen = shape(centers)[0]
        self._missing = num_clusters - self._chosen
        self._points = add_n([shape(points)[0] for points in inputs])

    def op(self) -> Tensor:
        """The operation; it fails where all centers are chosen and the Variable does not say so."""
        return cond(equal(self._missing, 0), lambda: assert_equal(self._initialized, True), self._choose)

    def _choose(self) -> Tensor:
        with control_dependencies([assert_positive(self._missing)]):
            still_missing = self._choose_by_chains() if self._way == "kmc2" else self._choose_at_once()
            return cond(equal(still_missing, 0), lambda: assign(self._initialized, True), no_op)

    @property
    def _way(self) -> str | None:
        """The name of the way to choose, or None."""
        return self._initial_clusters if isinstance(self._initial_clusters, str) else None

    def _with_metric(self, centers: TensorLike) -> Any:
        return l2_normalize(centers, dim=1) if self._is_cosine else centers

    def _assign(self, centers: Tensor) -> Tensor:
        """What the centers are when they have been assigned."""
        assigned = assign(self._centers, centers, validate_shape=False)
        if self._moving is not self._centers:
            assigned = assign(self._moving, assigned, validate_shape=False)
        return assigned

    def _missing_from(self, centers: Tensor) -> Tensor:
        return self._num_clusters - shape(centers)[0]

    def _choose_at_once(self) -> Tensor:
        found = self._with_metric(self._candidates())
        centers = cond(equal(self._chosen, 0), lambda: found, lambda: concat([self._centers, found], 0))
        return self._missing_from(self._assign(centers))

    def _candidates(self) -> Any:
        if self._way == "random":
            return cond(self._points <= self._missing, lambda: concat(self._inputs, 0), self._random)
        if self._way is not None:
            with control_dependencies([assert_greater_equal(self._points, self._missing)]):
                return self._kmeans_plus_plus()
        if callable(self._initial_clusters):
            return self._initial_clusters(self._inputs, self._missing)
        with control_dependencies([assert_equal(self._missing, shape(self._initial_clusters)[0])]):
            return self._initial_clusters

    def _random(self) -> Tensor:
        size = reshape(self._missing, [-1])
        limit = cast(self._points, dtypes.int64)
        indices = random_uniform(size, minval=0, maxval=limit, seed=self._seed, dtype=dtypes.int64)
        return embedding_lookup(self._inputs, indices, partition_strategy="div")

    def _kmeans_plus_plus(self) -> Tensor:
        """Points of the first of the inputs."""
        points = self._with_metric(self._inputs[0])
        return raw.KmeansPlusPlusInitialization(points, cast(self._missing, dtypes.int64), self._seed, self._retries)

    def _choose_by_chains(self) -> Tensor:
        """One center for each part of the first of the inputs that is as long as a chain, at least one."""
        points = self._inputs[0]
        parts = cast(shape(points)[0] / self._chain_length, dtype=dtypes.int32)
        count = maximum(minimum(self._missing, parts), 1)

        def with_another(i: Tensor, _: Tensor) -> tuple[Tensor, Tensor]:
            centers = cond(
                equal(self._chosen, 0),
                lambda: self._with_metric(reshape(points[0], [1, -1])),
                lambda: self._from_chain(i),
            )
            assigned = self._assign(centers)
            return i + 1, self._missing_from(assigned)

        _, missing = while_loop(lambda i, _: less(i, count), with_another, [0, 0])
        return missing

    def _from_chain(self, i: Tensor) -> Tensor:
        """The centers and another, which the i-th chain ends at."""
        start = i * self._chain_length
        end = start + self._chain_length
        part = self._inputs[0][start:end]
        _, distances = raw.NearestNeighbors(part, self._centers, 1)
        index = raw.KMC2ChainInitialization(squeeze(distances), self._seed)
        return concat([self._centers, self._with_metric(reshape(part[index], [1, -1]))], 0)
