"""The categorical distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape, dimension_value
from tfcompat._src.distributions import util
from tfcompat._src.distributions.distribution import NOT_REPARAMETERIZED, Distribution, ScalarDistribution, parameter
from tfcompat._src.distributions.kullback_leibler import RegisterKL
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.fill import ones, ones_like, zeros_like
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.reorder import transpose
from tfcompat._src.ops.array.search import where
from tfcompat._src.ops.array.shape import rank, reshape, shape
from tfcompat._src.ops.composed.masks import sequence_mask
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.reduce import argmax, reduce_sum
from tfcompat._src.ops.nn.softmax import log_softmax, softmax, sparse_softmax_cross_entropy_with_logits
from tfcompat._src.ops.random.stateful import multinomial

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def _broadcast(event: Tensor, parameters: Tensor, dtype: object) -> tuple[Tensor, Tensor]:
    """(events [...], parameters [..., classes]) of one batch shape."""
    if event.dtype.is_floating:
        event = cast(event, dtype=dtypes.int32)
    elif not event.dtype.is_integer:
        raise TypeError(f"`value` should have integer `dtype` or `self.dtype` ({dtype})")
    batch = parameters.shape[:-1] if parameters.shape.ndims is not None else None
    if batch is None or not batch.is_fully_defined() or not event.shape.is_fully_defined() or batch != event.shape:
        parameters = parameters * ones_like(event[..., None], dtype=parameters.dtype)
        event = event * ones(shape(parameters)[:-1], dtype=event.dtype)
        if parameters.shape.ndims is not None:
            event.set_shape(parameters.shape[:-1])
    return event, parameters


@export("distributions.Categorical", "contrib.distributions.Categorical")
class Categorical(ScalarDistribution):
    """Class i with probability `probs[..., i]` = softmax(logits)[..., i].

    Args:
      logits: float Tensor [..., classes] of log-probabilities up to a constant.
      probs: float Tensor [..., classes], in place of `logits`.
      dtype: of samples.
      validate_args, allow_nan_stats, name: see `Distribution`.

    Raises:
      ValueError: both or neither of `logits` and `probs` are given.
    """

    def __init__(
        self, logits: TensorLike | None = None, probs: TensorLike | None = None, dtype: object = dtypes.int32, validate_args: bool = False,
        allow_nan_stats: bool = True, name: str = "Categorical",
    ) -> None:  # fmt: skip
        with name_scope(name, values=[logits, probs]) as name:
            self._logits, self._probs = util.get_logits_and_probs(
                logits=logits, probs=probs, validate_args=validate_args, multidimensional=True, name=name
            )
            if validate_args:
                self._logits = util.embed_check_categorical_event_shape(self._logits)
            self._set_sizes(self._logits.shape.with_rank_at_least(1))
        super().__init__(
            dtype=dtype, reparameterization_type=NOT_REPARAMETERIZED, validate_args=validate_args,
            allow_nan_stats=allow_nan_stats, graph_parents=[self._logits, self._probs], name=name,
        )  # fmt: skip

    def _set_sizes(self, known: TensorShape) -> None:
        """Tensors of the batch rank, the number of classes and the batch shape: constants where they are known."""
        if known.ndims is not None:
            self._batch_rank = convert_to_tensor(known.ndims - 1, dtype=dtypes.int32, name="batch_rank")
        else:
            with name_scope("batch_rank"):
                self._batch_rank = rank(self._logits) - 1
        sizes = shape(self._logits, name="logits_shape")
        if dimension_value(known[-1]) is not None:
            self._event_size = convert_to_tensor(dimension_value(known[-1]), dtype=dtypes.int32, name="event_size")
        else:
            with name_scope("event_size"):
                self._event_size = sizes[self._batch_rank]
        if known[:-1].is_fully_defined():
            self._batch_shape_val = constant(known[:-1].as_list(), dtype=dtypes.int32, name="batch_shape")
        else:
            with name_scope("batch_shape"):
                self._batch_shape_val = sizes[:-1]

    event_size = parameter("event_size", "The number of classes, an int32 scalar.")
    logits = parameter("logits", "The log-probabilities up to a constant.")
    probs = parameter("probs", "The probabilities.")
    _param_shapes = staticmethod(Distribution._param_shapes)

    def _batch_shape_tensor(self) -> Tensor:
        return identity(self._batch_shape_val)

    def _batch_shape(self) -> TensorShape:
        return self.logits.shape[:-1]

    def _sample_n(self, n: TensorLike, seed: int | None = None) -> Tensor:
        logits = self.logits
        if logits.shape.ndims != 2:
            logits = reshape(logits, [-1, self.event_size])
        draws = multinomial(
            logits, n, seed=seed, output_dtype=dtypes.int64 if self.dtype.size > 4 else dtypes.int32
        )
        draws = transpose(draws)
        return cast(reshape(draws, concat([[n], self.batch_shape_tensor()], 0)), self.dtype)

    def _checked(self, k: TensorLike) -> Tensor:
        k = convert_to_tensor(k, name="k")
        if self.validate_args:
            k = util.embed_check_integer_casting_closed(k, target_dtype=dtypes.int32)
        return k

    def _cdf(self, k: TensorLike) -> Tensor:
        k, probs = _broadcast(self._checked(k), self.probs, self.dtype.base_dtype)
        rows, flat = reshape(probs, (-1, self._event_size)), reshape(k, [-1])
        below = sequence_mask(flat, self._event_size)
        total = reduce_sum(where(below, rows, zeros_like(rows)), axis=-1)
        return reshape(total, shape(k))

    def _log_prob(self, k: TensorLike) -> Tensor:
        k, logits = _broadcast(self._checked(k), self.logits, self.dtype.base_dtype)
        return -sparse_softmax_cross_entropy_with_logits(labels=k, logits=logits)

    def _entropy(self) -> Tensor:
        return -reduce_sum(log_softmax(self.logits) * self.probs, axis=-1)

    def _mode(self) -> Tensor:
        found = cast(argmax(self.logits, axis=self._batch_rank), self.dtype)
        found.set_shape(self.batch_shape)
        return found


@RegisterKL(Categorical, Categorical)
def _kl_categorical_categorical(a: Categorical, b: Categorical, name: str | None = None) -> Tensor:
    with name_scope(name, "kl_categorical_categorical", values=[a.logits, b.logits]):
        difference = log_softmax(a.logits) - log_softmax(b.logits)
        return reduce_sum(softmax(a.logits) * difference, axis=-1)
