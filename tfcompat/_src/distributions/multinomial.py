"""The multinomial distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.distributions import util
from tfcompat._src.distributions.dirichlet import checked_counts
from tfcompat._src.distributions.distribution import NOT_REPARAMETERIZED, Distribution, parameter
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.diagonal import matrix_set_diag
from tfcompat._src.ops.array.fill import ones_like
from tfcompat._src.ops.array.gather import one_hot
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.reorder import transpose
from tfcompat._src.ops.array.shape import reshape, shape
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.math.reduce import reduce_sum
from tfcompat._src.ops.nn.softmax import log_softmax
from tfcompat._src.ops.random import stateful
from tfcompat._src.variables.functional import map_fn

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@export("distributions.Multinomial", "contrib.distributions.Multinomial")
class Multinomial(Distribution):
    """Counts of `total_count` draws of classes with probabilities `probs` = softmax(logits).

    Args:
      total_count: float Tensor [...] of numbers of draws.
      logits: float Tensor [..., classes] of log-probabilities up to a constant.
      probs: float Tensor [..., classes], in place of `logits`.
      validate_args, allow_nan_stats, name: see `Distribution`.

    Raises:
      ValueError: both or neither of `logits` and `probs` are given.
    """

    def __init__(
        self, total_count: TensorLike, logits: TensorLike | None = None, probs: TensorLike | None = None, validate_args: bool = False,
        allow_nan_stats: bool = True, name: str = "Multinomial",
    ) -> None:  # fmt: skip
        with name_scope(name, values=[total_count, logits, probs]) as name:
            self._total_count = convert_to_tensor(total_count, name="total_count")
            if validate_args:
                self._total_count = util.embed_check_nonnegative_integer_form(self._total_count)
            self._logits, self._probs = util.get_logits_and_probs(
                logits=logits, probs=probs, multidimensional=True, validate_args=validate_args, name=name
            )
            self._mean_val = self._total_count[..., None] * self._probs
        super().__init__(
            dtype=self._probs.dtype, reparameterization_type=NOT_REPARAMETERIZED, validate_args=validate_args,
            allow_nan_stats=allow_nan_stats, graph_parents=[self._total_count, self._logits, self._probs], name=name,
        )  # fmt: skip

    total_count = parameter("total_count", "The number of draws.")
    logits = parameter("logits", "The log-probabilities up to a constant.")
    probs = parameter("probs", "The probabilities of the classes.")

    def _batch_shape_tensor(self) -> Tensor:
        return shape(self._mean_val)[:-1]

    def _batch_shape(self) -> TensorShape:
        return self._mean_val.shape.with_rank_at_least(1)[:-1]

    def _event_shape_tensor(self) -> Tensor:
        return shape(self._mean_val)[-1:]

    def _event_shape(self) -> TensorShape:
        return self._mean_val.shape.with_rank_at_least(1)[-1:]

    def _sample_n(self, n: object, seed: int | None = None) -> Tensor:
        draws = cast(self.total_count, dtype=dtypes.int32)
        k = self.event_shape_tensor()[0]
        draws = ones_like(self.logits[..., 0], dtype=draws.dtype) * draws
        logits = ones_like(draws[..., None], dtype=self.logits.dtype) * self.logits
        rows, counts = reshape(logits, [-1, k]), n * reshape(draws, [-1])

        def of_one_batch_member(arguments: list) -> Tensor:
            row, count = arguments
            classes = stateful.multinomial(row[None, ...], count, seed)
            classes = reshape(classes, shape=[n, -1])
            return reduce_sum(one_hot(classes, depth=k), axis=-2)

        found = map_fn(of_one_batch_member, [rows, counts], dtype=self.dtype)
        found = transpose(found, perm=[1, 0, 2])
        return reshape(found, concat([[n], self.batch_shape_tensor(), [k]], 0))

    def _log_prob(self, counts: Tensor) -> Tensor:
        return self._log_unnormalized_prob(counts) - self._log_normalization(counts)

    def _log_unnormalized_prob(self, counts: Tensor) -> Tensor:
        counts = self._maybe_assert_valid_sample(counts)
        return reduce_sum(counts * log_softmax(self.logits), -1)

    def _log_normalization(self, counts: Tensor) -> Tensor:
        counts = self._maybe_assert_valid_sample(counts)
        return -util.log_combinations(self.total_count, counts)

    def _mean(self) -> Tensor:
        return identity(self._mean_val)

    def _wide_probs(self) -> Tensor:
        return self.probs * ones_like(self.total_count)[..., None]

    def _covariance(self) -> Tensor:
        p = self._wide_probs()
        return matrix_set_diag(-matmul(self._mean_val[..., None], p[..., None, :]), self._variance())

    def _variance(self) -> Tensor:
        p = self._wide_probs()
        return self._mean_val - self._mean_val * p

    def _maybe_assert_valid_sample(self, counts: Tensor) -> Tensor:
        message = "counts must sum to `self.total_count`"
        return checked_counts(counts, self.total_count, message) if self.validate_args else counts
