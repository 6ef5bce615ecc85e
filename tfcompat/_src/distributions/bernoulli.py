"""The Bernoulli distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.distributions import util
from tfcompat._src.distributions.distribution import NOT_REPARAMETERIZED, ScalarDistribution, parameter
from tfcompat._src.distributions.kullback_leibler import RegisterKL
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.fill import ones_like
from tfcompat._src.ops.array.shape import shape
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import less
from tfcompat._src.ops.math.unary import sigmoid
from tfcompat._src.ops.nn.activation import softplus
from tfcompat._src.ops.nn.loss import sigmoid_cross_entropy_with_logits
from tfcompat._src.ops.random.stateful import random_uniform

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@export("distributions.Bernoulli", "contrib.distributions.Bernoulli")
class Bernoulli(ScalarDistribution):
    """1 with probability `probs` = sigmoid(logits), else 0.

    Args:
      logits: float Tensor of log-odds.
      probs: float Tensor in [0, 1], in place of `logits`.
      dtype: of samples.
      validate_args, allow_nan_stats, name: see `Distribution`.

    Raises:
      ValueError: both or neither of `logits` and `probs` are given.
    """

    def __init__(
        self, logits: TensorLike | None = None, probs: TensorLike | None = None, dtype: object = dtypes.int32, validate_args: bool = False,
        allow_nan_stats: bool = True, name: str = "Bernoulli",
    ) -> None:  # fmt: skip
        with name_scope(name) as name:
            self._logits, self._probs = util.get_logits_and_probs(
                logits=logits, probs=probs, validate_args=validate_args, name=name
            )
        super().__init__(
            dtype=dtype, reparameterization_type=NOT_REPARAMETERIZED, validate_args=validate_args,
            allow_nan_stats=allow_nan_stats, graph_parents=[self._logits, self._probs], name=name,
        )  # fmt: skip

    logits = parameter("logits", "The log-odds of 1.")
    probs = parameter("probs", "The probability of 1.")

    @classmethod
    def _param_shapes(cls, sample_shape: TensorLike) -> dict[str, Tensor]:
        return {"logits": convert_to_tensor(sample_shape, dtype=dtypes.int32)}

    def _batch_shape_tensor(self) -> Tensor:
        return shape(self._logits)

    def _batch_shape(self) -> TensorShape:
        return self._logits.shape

    def _sample_n(self, n: object, seed: int | None = None) -> Tensor:
        uniform = random_uniform(self._sample_shape(n), seed=seed, dtype=self.probs.dtype)
        return cast(less(uniform, self.probs), self.dtype)

    def _log_prob(self, event: Tensor) -> Tensor:
        if self.validate_args:
            event = util.embed_check_integer_casting_closed(event, target_dtype=dtypes.bool)
        event, logits = cast(event, self.logits.dtype), self.logits
        is_same = event.shape.is_fully_defined() and logits.shape.is_fully_defined() and event.shape == logits.shape
        if not is_same:
            logits, event = ones_like(event) * logits, ones_like(logits) * event
        return -sigmoid_cross_entropy_with_logits(labels=event, logits=logits)

    def _entropy(self) -> Tensor:
        return -self.logits * (sigmoid(self.logits) - 1) + softplus(-self.logits)

    def _mean(self) -> Tensor:
        return identity(self.probs)

    def _variance(self) -> Tensor:
        return self._mean() * (1.0 - self.probs)

    def _mode(self) -> Tensor:
        return cast(self.probs > 0.5, self.dtype)


@RegisterKL(Bernoulli, Bernoulli)
def _kl_bernoulli_bernoulli(a: Bernoulli, b: Bernoulli, name: str | None = None) -> Tensor:
    with name_scope(name, "kl_bernoulli_bernoulli", values=[a.logits, b.logits]):
        of_one = softplus(-b.logits) - softplus(-a.logits)
        of_zero = softplus(b.logits) - softplus(a.logits)
        return sigmoid(a.logits) * of_one + sigmoid(-a.logits) * of_zero
