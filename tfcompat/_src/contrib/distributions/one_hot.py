"""One-hot categorical distributions, and their relaxations to the simplex."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.contrib.distributions.bijectors.elementwise import Exp, Sigmoid
from tfcompat._src.contrib.distributions.location_scale import Logistic
from tfcompat._src.distributions import util
from tfcompat._src.distributions.distribution import FULLY_REPARAMETERIZED, NOT_REPARAMETERIZED, Distribution, parameter
from tfcompat._src.distributions.kullback_leibler import RegisterKL
from tfcompat._src.distributions.transformed_distribution import TransformedDistribution
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.diagonal import matrix_set_diag
from tfcompat._src.ops.array.fill import ones, ones_like, zeros
from tfcompat._src.ops.array.gather import one_hot
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.reorder import transpose
from tfcompat._src.ops.array.shape import rank, reshape, shape
from tfcompat._src.ops.composed.check_ops import assert_near, assert_non_positive, assert_positive
from tfcompat._src.ops.control.groups import with_dependencies
from tfcompat._src.ops.math.binary import div
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.math.reduce import argmax, reduce_logsumexp, reduce_sum
from tfcompat._src.ops.math.special import lgamma
from tfcompat._src.ops.math.unary import log
from tfcompat._src.ops.nn.softmax import log_softmax, softmax, softmax_cross_entropy_with_logits
from tfcompat._src.ops.random.stateful import multinomial, random_uniform

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


class _OverClasses(Distribution):
    """A distribution of vectors over classes with logits [..., classes]."""

    event_size = parameter("event_size", "The number of classes, an int32 scalar.")
    logits = parameter("logits", "The log-probabilities up to a constant.")
    probs = parameter("probs", "The probabilities of the classes.")

    def _set_sizes(self) -> None:
        ndims = self._logits.shape.with_rank_at_least(1).ndims
        if ndims is not None:
            self._batch_rank = convert_to_tensor(ndims - 1, dtype=dtypes.int32, name="batch_rank")
        else:
            with name_scope("batch_rank"):
                self._batch_rank = rank(self._logits) - 1
        with name_scope("event_size"):
            self._event_size = shape(self._logits)[-1]

    def _batch_shape_tensor(self) -> Tensor:
        return shape(self.logits)[:-1]

    def _batch_shape(self) -> TensorShape:
        return self.logits.shape[:-1]

    def _event_shape_tensor(self) -> Tensor:
        return shape(self.logits)[-1:]

    def _event_shape(self) -> TensorShape:
        return self.logits.shape.with_rank_at_least(1)[-1:]

    def _wide(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """(`x`, logits) of one shape."""
        logits = self.logits
        known = x.shape.is_fully_defined() and logits.shape.is_fully_defined()
        if not known or x.shape != logits.shape:
            logits = ones_like(x, dtype=logits.dtype) * logits
            x = ones_like(logits, dtype=x.dtype) * x
        return x, logits

    def _checked_sample(self, x: Tensor) -> Tensor:
        if not self.validate_args:
            return x
        negative = assert_non_positive(x)
        return with_dependencies([negative, assert_near(zeros([], dtype=self.dtype), reduce_logsumexp(x, axis=[-1]))], x)


@export("contrib.distributions.OneHotCategorical")
class OneHotCategorical(_OverClasses):
    """The one-hot vector of a class with probabilities `probs` = softmax(logits).

    Args:
      logits, probs: float Tensor [..., classes], one of the two.
      dtype: of samples.
      validate_args, allow_nan_stats, name: see `Distribution`.
    """

    def __init__(
        self, logits: TensorLike | None = None, probs: TensorLike | None = None, dtype: object = dtypes.int32, validate_args: bool = False,
        allow_nan_stats: bool = True, name: str = "OneHotCategorical",
    ) -> None:  # fmt: skip
        with name_scope(name, values=[logits, probs]) as name:
            self._logits, self._probs = util.get_logits_and_probs(
                name=name, logits=logits, probs=probs, validate_args=validate_args, multidimensional=True
            )
            self._set_sizes()
        super().__init__(
            dtype=dtype, reparameterization_type=NOT_REPARAMETERIZED, validate_args=validate_args,
            allow_nan_stats=allow_nan_stats, graph_parents=[self._logits, self._probs], name=name,
        )  # fmt: skip

    def _sample_n(self, n: TensorLike, seed: int | None = None) -> Tensor:
        sizes, logits = concat([[n], shape(self.logits)], 0), self.logits
        if logits.shape.ndims != 2:
            logits = reshape(logits, [-1, self.event_size])
        classes = transpose(multinomial(logits, n, seed=seed))
        return reshape(one_hot(classes, self.event_size, dtype=self.dtype), sizes)

    def _log_prob(self, x: Tensor) -> Tensor:
        x, logits = self._wide(self._checked_sample(x))
        sizes = shape(reduce_sum(logits, -1))
        rows, x_rows = reshape(logits, [-1, self.event_size]), reshape(x, [-1, self.event_size])
        return reshape(-softmax_cross_entropy_with_logits(labels=x_rows, logits=rows), sizes)

    def _entropy(self) -> Tensor:
        return -reduce_sum(log_softmax(self.logits) * self.probs, axis=-1)

    def _mode(self) -> Tensor:
        found = one_hot(argmax(self.logits, axis=self._batch_rank), self.event_size, dtype=self.dtype)
        found.set_shape(self.logits.shape)
        return found

    def _covariance(self) -> Tensor:
        p = self.probs
        return matrix_set_diag(-matmul(p[..., None], p[..., None, :]), self._variance())

    def _variance(self) -> Tensor:
        return self.probs * (1.0 - self.probs)


@RegisterKL(OneHotCategorical, OneHotCategorical)
def _kl_one_hot(a: OneHotCategorical, b: OneHotCategorical, name: str | None = None) -> Tensor:
    with name_scope(name, "kl_categorical_categorical", values=[a.logits, b.logits]):
        probs = softmax(a.logits)
        return reduce_sum(probs * (log_softmax(a.logits) - log_softmax(b.logits)), axis=-1)


@export("contrib.distributions.ExpRelaxedOneHotCategorical")
class ExpRelaxedOneHotCategorical(_OverClasses):
    """The logarithm of softmax((logits + Gumbel noise) / temperature) (Maddison et al. 2016, Jang et al. 2016).

    Args:
      temperature: positive scalar.
      logits, probs: float Tensor [..., classes], one of the two.
      dtype: of samples, by default that of the logits.
      validate_args, allow_nan_stats, name: see `Distribution`.
    """

    def __init__(
        self, temperature: TensorLike, logits: TensorLike | None = None, probs: TensorLike | None = None, dtype: object = None, validate_args: bool = False,
        allow_nan_stats: bool = True, name: str = "ExpRelaxedOneHotCategorical",
    ) -> None:  # fmt: skip
        with name_scope(name, values=[logits, probs, temperature]) as name:
            self._logits, self._probs = util.get_logits_and_probs(
                name=name, logits=logits, probs=probs, validate_args=validate_args, multidimensional=True
            )
            if dtype is None:
                dtype = self._logits.dtype
                if not validate_args:
                    temperature = cast(temperature, dtype)
            with control_dependencies([assert_positive(temperature)] if validate_args else []):
                self._temperature = identity(temperature, name="temperature")
                self._temperature_2d = reshape(temperature, [-1, 1], name="temperature_2d")
            self._set_sizes()
        super().__init__(
            dtype=dtype, reparameterization_type=FULLY_REPARAMETERIZED, validate_args=validate_args,
            allow_nan_stats=allow_nan_stats, graph_parents=[self._logits, self._probs, self._temperature], name=name,
        )  # fmt: skip

    temperature = parameter("temperature", "The temperature.")

    def _sample_n(self, n: object, seed: int | None = None) -> Tensor:
        sizes = concat([[n], shape(self.logits)], 0)
        rows = reshape(self.logits * ones(sizes, dtype=self.dtype), [-1, self.event_size])
        tiny = np.finfo(self.dtype.as_numpy_dtype).tiny
        uniform = random_uniform(shape(rows), minval=tiny, maxval=1.0, dtype=self.dtype, seed=seed)
        noisy = div(-log(-log(uniform)) + rows, self._temperature_2d)
        return reshape(log_softmax(noisy), sizes)

    def _log_prob(self, x: Tensor) -> Tensor:
        x, logits = self._wide(self._checked_sample(x))
        sizes = shape(reduce_sum(logits, axis=[-1]))
        rows, x_rows = reshape(logits, [-1, self.event_size]), reshape(x, [-1, self.event_size])
        k = cast(self.event_size, x.dtype)
        constant_part = lgamma(k) + (k - 1.0) * log(self.temperature)
        unnormalized = reduce_sum(log_softmax(rows - x_rows * self._temperature_2d), [-1], keepdims=False)
        return reshape(constant_part + unnormalized, sizes)


@export("contrib.distributions.RelaxedOneHotCategorical")
class RelaxedOneHotCategorical(TransformedDistribution):
    """The exponential of `ExpRelaxedOneHotCategorical`, with the same arguments."""

    def __init__(
        self, temperature: object, logits: object = None, probs: object = None, dtype: object = None, validate_args: bool = False,
        allow_nan_stats: bool = True, name: str = "RelaxedOneHotCategorical",
    ) -> None:  # fmt: skip
        logarithm = ExpRelaxedOneHotCategorical(
            temperature, logits=logits, probs=probs, dtype=dtype, validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
        )  # fmt: skip
        super().__init__(logarithm, Exp(), name=name)


@export("contrib.distributions.RelaxedBernoulli")
class RelaxedBernoulli(TransformedDistribution):
    """sigmoid((logits + logistic noise) / temperature).

    Args:
      temperature: positive Tensor.
      logits, probs: float Tensor, one of the two.
      validate_args, allow_nan_stats, name: see `Distribution`.
    """

    def __init__(
        self, temperature: TensorLike, logits: TensorLike | None = None, probs: TensorLike | None = None, validate_args: bool = False,
        allow_nan_stats: bool = True, name: str = "RelaxedBernoulli",
    ) -> None:  # fmt: skip
        with name_scope(name, values=[logits, probs, temperature]) as name:
            with control_dependencies([assert_positive(temperature)] if validate_args else []):
                self._temperature = identity(temperature, name="temperature")
            self._logits, self._probs = util.get_logits_and_probs(
                logits=logits, probs=probs, validate_args=validate_args
            )
            noisy = Logistic(
                self._logits / self._temperature, 1.0 / self._temperature, validate_args=validate_args,
                allow_nan_stats=allow_nan_stats, name=name + "/Logistic",
            )  # fmt: skip
            super().__init__(noisy, Sigmoid(validate_args=validate_args), validate_args=validate_args, name=name)

    temperature = parameter("temperature", "The temperature.")
    logits = parameter("logits", "The log-odds of 1.")
    probs = parameter("probs", "The probability of 1.")

    @staticmethod
    def _param_shapes(sample_shape: TensorLike) -> dict[str, Tensor]:
        return {"logits": convert_to_tensor(sample_shape, dtype=dtypes.int32)}
