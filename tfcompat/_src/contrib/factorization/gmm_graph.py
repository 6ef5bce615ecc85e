"""tf.contrib.factorization.gmm: Gaussian mixtures by expectation maximization (Dempster, Laird, Rubin 1977)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import colocate_with, control_dependencies
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.diagonal import diag, diag_part, matrix_diag_part
from tfcompat._src.ops.array.fill import ones
from tfcompat._src.ops.array.join import concat, stack, tile
from tfcompat._src.ops.array.reorder import transpose
from tfcompat._src.ops.array.shape import expand_dims, reshape, shape, squeeze
from tfcompat._src.ops.composed.check_ops import assert_less_equal
from tfcompat._src.ops.control.cond import cond
from tfcompat._src.ops.control.groups import group, no_op, with_dependencies
from tfcompat._src.ops.linalg.decompose import cholesky
from tfcompat._src.ops.linalg.solve import matrix_triangular_solve
from tfcompat._src.ops.math.binary import div, squared_difference
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.math.reduce import argmax, reduce_logsumexp, reduce_mean, reduce_sum
from tfcompat._src.ops.math.scan import add_n
from tfcompat._src.ops.math.unary import exp, log, square
from tfcompat._src.ops.nn.embedding import embedding_lookup
from tfcompat._src.ops.random.stateful import random_uniform
from tfcompat._src.variables.assign import assign
from tfcompat._src.variables.variable import Variable

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_EPSILON = np.finfo(float).eps
_LEAST_VARIANCE = 1e-3
FULL_COVARIANCE = "full"
DIAG_COVARIANCE = "diag"


def _covariance(points: TensorLike, is_diagonal: bool) -> Tensor:
    """The covariance [d, d] of points [n, d]; their variances [1, d] if diagonal."""
    count = cast(shape(points)[0], dtypes.float32)
    centered = points - reduce_mean(points, 0, keepdims=True)
    if is_diagonal:
        return reduce_sum(square(centered), 0, keepdims=True) / (count - 1)
    return matmul(centered, centered, transpose_a=True) / (count - 1)


def _random_points(shards: list[Any], count: int, seed: int | None) -> Tensor:
    """`count` points of the shards."""
    total = add_n([shape(points)[0] for points in shards])
    with control_dependencies([assert_less_equal(count, total)]):
        indices = random_uniform([count], minval=0, maxval=cast(total, dtypes.int64), seed=seed, dtype=dtypes.int64)
    indices %= cast(total, dtypes.int64)
    return embedding_lookup(shards, indices, partition_strategy="div")


@export("contrib.factorization.GmmAlgorithm")
class GmmAlgorithm:
    """The graph of a Gaussian mixture: its variables, the choice of first values, and a step of expectation maximization.

    Args:
      data: list of float32 Tensors [points, dimensions].
      num_classes: number of Gaussians.
      initial_means: Tensor [num_classes, dimensions]; by default random points.
      params: which parameters a step changes: letters "w" (weights), "m" (means), "c" (covariances).
      covariance_type: "full" or "diag".
      random_seed: seed of the choice of points.

    Raises:
      Exception: another covariance type.
    """

    CLUSTERS_WEIGHT = "alphas"
    CLUSTERS_VARIABLE = "clusters"
    CLUSTERS_COVS_VARIABLE = "clusters_covs"

    def __init__(
        self, data, num_classes, initial_means=None, params="wmc", covariance_type=FULL_COVARIANCE, random_seed=0
    ) -> None:  # fmt: skip
        if covariance_type not in (DIAG_COVARIANCE, FULL_COVARIANCE):
            raise Exception(f"programmer error: Invalid covariance type: {covariance_type}")
        self._params, self._count = params, num_classes
        self._is_diagonal = covariance_type == DIAG_COVARIANCE
        self._dimensions = shape(data[0])[1]
        self._least = diag(ones(stack([self._dimensions]))) * _LEAST_VARIANCE
        self._create_variables()
        self._init_ops = self._choose(data, initial_means, random_seed)
        self._log_evidence: list[Tensor] = []
        self._memberships: list[Tensor] = []
        sums = [self._expectation(points) for points in data]
        self._train_ops = self._maximization(*zip(*sums))
        self._log_likelihood = reduce_logsumexp([reduce_logsumexp(each) for each in self._log_evidence])
        by_point = [evidence + log(w) for evidence, w in zip(self._log_evidence, self._memberships)]
        self._scores = squeeze(reduce_logsumexp(by_point, axis=2, keepdims=True), axis=0)

    def _create_variables(self) -> None:
        empty = constant([], dtype=dtypes.float32)
        self._means = Variable(empty, name=self.CLUSTERS_VARIABLE, validate_shape=False)
        self._covs = Variable(empty, name=self.CLUSTERS_COVS_VARIABLE, validate_shape=False)
        weights = tile([1.0 / self._count], [self._count])
        self._alpha = Variable(weights, name=self.CLUSTERS_WEIGHT, validate_shape=False)
        self._initialized = Variable(False, dtype=dtypes.bool, name="initialized")

    def _choose(self, data: list[Any], initial_means: object, seed: int | None) -> list[Operation]:
        """The operations that give means and covariances their first values, where they have none."""
        means = expand_dims(_random_points(data, self._count, seed) if initial_means is None else initial_means, 1)
        covariance = _covariance(data[0], self._is_diagonal) + self._least
        if self._is_diagonal:
            covs = tile(expand_dims(diag_part(covariance), 0), [self._count, 1])
        else:
            covs = tile(expand_dims(covariance, 0), [self._count, 1, 1])
        with colocate_with(self._initialized):
            initialized = with_dependencies([means, covs], identity(self._initialized))
        return [self._assign_first(initialized, self._means, means), self._assign_first(initialized, self._covs, covs)]

    def _assign_first(self, initialized: Tensor, variable: TensorLike, value: Tensor) -> Operation:
        with colocate_with(variable):
            assigned = assign(variable, value, validate_shape=False)
            assigned = with_dependencies([assigned], assign(self._initialized, True))
            return cond(initialized, no_op, lambda: assigned).op

    def _log_densities(self, points: Tensor) -> Tensor:
        """The logarithms of the densities [n, classes] of points [1, n, d]."""
        if self._is_diagonal:
            log_determinants = reduce_sum(log(self._covs + _LEAST_VARIANCE), 1, keepdims=True)
            squares = squared_difference(points, self._means)
            precisions = expand_dims(1.0 / (self._covs + _LEAST_VARIANCE), 2)
            distances = transpose(squeeze(matmul(squares, precisions), [2]))
            return -0.5 * (
                cast(self._dimensions, dtypes.float32) * log(2.0 * np.pi) + transpose(log_determinants) + distances
            )
        difference = points - self._means
        root = cholesky(self._covs + self._least)
        log_determinants = 2.0 * reduce_sum(log(matrix_diag_part(root)), 1)
        squares = square(matrix_triangular_solve(root, transpose(difference, perm=[0, 2, 1]), lower=True))
        distances = transpose(reduce_sum(squares, 1))
        return -0.5 * (distances + cast(self._dimensions, dtypes.float32) * log(2.0 * np.pi) + log_determinants)

    def _expectation(self, points: TensorLike) -> tuple[Tensor, Tensor, Tensor]:
        """Sums over points [n, d], weighted by membership: of 1 [1, k], of points [k, 1, d], of squares [k, d, d]."""
        count = shape(points)[0]
        points = expand_dims(points, 0)
        log_joint = self._log_densities(points) + log(self._alpha)
        log_evidence = reduce_logsumexp(log_joint, axis=1, keepdims=True)
        w = reshape(exp(expand_dims(log_joint, 0) - log_evidence), stack([count, self._count]))
        self._log_evidence.append(log_evidence)
        self._memberships.append(w)
        total = reduce_sum(w, 0, keepdims=True)
        of_points = expand_dims(matmul(w, squeeze(points, [0]), transpose_a=True), 1)
        repeated = concat([points for _ in range(self._count)], 0)
        columns = transpose(repeated, perm=[0, 2, 1])
        weighted = concat([expand_dims(columns[k, :, :] * w[:, k], 0) for k in range(self._count)], 0)
        return total, of_points, matmul(weighted, repeated)

    def _maximization(self, totals: Any, sums: Any, squares: Any) -> list[Any]:
        """The operations that assign the parameters of greatest likelihood, given the sums over each shard."""
        with control_dependencies(self._memberships):
            points_in = squeeze(add_n(list(totals)), axis=[0])
            updates: list[Any] = [no_op() if "w" not in self._params else self._assign_weights(points_in, len(totals))]
            points_in = reshape(points_in, [self._count, 1, 1])
            means_op = (
                no_op() if "m" not in self._params else self._means.assign(div(add_n(list(sums)), points_in + _EPSILON))
            )
            with control_dependencies([means_op]):
                covs = self._covariances_from(add_n(list(squares)) / (points_in + _EPSILON))
                if "c" in self._params:
                    with control_dependencies([means_op, covs]):
                        updates.append(assign(self._covs, covs, validate_shape=False))
        return updates

    def _assign_weights(self, points_in: Tensor, shards: int) -> Any:
        mean = points_in / shards
        return self._alpha.assign(mean / (cast(reduce_sum(mean), dtypes.float32) + _EPSILON))

    def _covariances_from(self, squares: Tensor) -> Tensor:
        """The covariances, of the means of the points' squares [k, d, d]."""
        covs = []
        for k in range(self._count):
            mean = self._means.value()[k, :, :]
            of_mean = matmul(mean, mean, transpose_a=True)
            cov = squares[k, :, :] - of_mean + self._least
            covs.append(expand_dims(diag_part(cov) if self._is_diagonal else cov, 0))
        return concat(covs, 0)

    def init_ops(self) -> Operation | None:
        """The operation that chooses the first means and covariances."""
        return group(*self._init_ops)

    def training_ops(self) -> Operation | None:
        """The operation of a step; without "c" in `params` the means stay, too."""
        return group(*self._train_ops)

    def is_initialized(self) -> Any:
        """The bool Variable whether the first values are chosen."""
        return self._initialized

    def alphas(self) -> Any:
        """The Variable of the weights [num_classes]."""
        return self._alpha

    def clusters(self) -> Any:
        """The Variable of the means [num_classes, 1, dimensions]."""
        return self._means

    def covariances(self) -> Any:
        """The Variable of the covariances [num_classes, dimensions, dimensions]; of the variances if diagonal."""
        return self._covs

    def assignments(self) -> list[Tensor]:
        """For each shard the most likely class [points] of its points."""
        return [argmax(w, 1) for w in self._memberships]

    def scores(self) -> Tensor:
        """The log likelihood of each point."""
        return self._scores

    def log_likelihood_op(self) -> Tensor:
        """The logarithm of the sum of the likelihoods of all points."""
        return self._log_likelihood


@export("contrib.factorization.gmm")
def gmm(
    inp: object, initial_clusters: object, num_clusters: int, random_seed: int | None, covariance_type: str = FULL_COVARIANCE,
    params: str = "wmc",
) -> tuple[Tensor, Tensor, list[list[Tensor]], Any, Any, Any]:  # fmt: skip
    """Builds the graph of a Gaussian mixture.

    Args:
      inp: float32 Tensor [points, dimensions], or a list of them.
      initial_clusters: the first means [clusters, dimensions], or "random": points are chosen, as for a Tensor.
      num_clusters, random_seed, covariance_type, params: as for GmmAlgorithm.

    Returns:
      log likelihood, log likelihoods of the points, [classes of the points], operation of a step, operation that chooses
      the first values, and the Variable whether they are chosen.
    """
    means = None
    if not isinstance(initial_clusters, Tensor) and not (
        isinstance(initial_clusters, str) and initial_clusters == "random"
    ):
        means = constant(initial_clusters, dtype=dtypes.float32)
    mixture = GmmAlgorithm(
        inp if isinstance(inp, list) else [inp], num_clusters, means, params, covariance_type, random_seed
    )
    assignments, scores, loss = mixture.assignments(), mixture.scores(), mixture.log_likelihood_op()
    return loss, scores, [assignments], mixture.training_ops(), mixture.init_ops(), mixture.is_initialized()
