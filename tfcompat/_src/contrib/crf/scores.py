"""Linear-chain conditional random fields: Lafferty et al., 2001. Scores of tag sequences, and their likelihood."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import dimension_value
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.array.fill import fill, zeros_like
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.search import where
from tfcompat._src.ops.array.shape import expand_dims, reshape, squeeze
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.array.slice import slice_ as slice_of
from tfcompat._src.ops.composed.indexing import gather_nd
from tfcompat._src.ops.composed.masks import sequence_mask
from tfcompat._src.ops.control.cond import smart_cond
from tfcompat._src.ops.math.binary import maximum
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import equal, less_equal
from tfcompat._src.ops.math.reduce import reduce_logsumexp, reduce_sum
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.rnn.cell import RNNCell
from tfcompat._src.rnn.dynamic import dynamic_rnn
from tfcompat._src.variables.scope import get_variable

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def one_step_or_more(inputs: Tensor, one: Callable, more: Callable) -> Any:
    """`one()` where sequences [batch, time, ...] have one entry, else `more()`."""
    return smart_cond(equal(dimension_value(inputs.shape[1]) or shape_of(inputs)[1], 1), true_fn=one, false_fn=more)


def transitions_left(sequence_lengths: Tensor) -> Tensor:
    """One less than each length, and not less than 0."""
    return maximum(constant(0, dtype=sequence_lengths.dtype), sequence_lengths - 1)


def _zero_if_empty(values: Tensor, sequence_lengths: Tensor) -> Tensor:
    return where(less_equal(sequence_lengths, 0), zeros_like(values), values)


class TransitionCell(RNNCell):
    """What the cells over the tags share: the transition scores [1, tags, tags].

    Args:
      transition_params: float [tags, tags].
    """

    def __init__(self, transition_params: Any) -> None:
        self._transition_params = expand_dims(transition_params, 0)
        self._num_tags = dimension_value(transition_params.shape[0])

    state_size = property(lambda self: self._num_tags)
    output_size = property(lambda self: self._num_tags)

    def _scores(self, state: Tensor) -> Tensor:
        """Scores [batch, tags before, tags] of a state [batch, tags] and a transition from it."""
        return expand_dims(state, 2) + self._transition_params


@export("contrib.crf.CrfForwardRnnCell")
class CrfForwardRnnCell(TransitionCell):
    """One step of the forward algorithm: outputs and state are log sums of scores [batch, tags].

    Args:
      transition_params: float [tags, tags].
    """

    def __call__(self, inputs: Any, state: Any, scope: object = None) -> tuple[Tensor, Tensor]:
        alphas = inputs + reduce_logsumexp(self._scores(state), [1])
        return alphas, alphas


@export("contrib.crf.crf_unary_score")
def crf_unary_score(tag_indices: Any, sequence_lengths: Any, inputs: TensorLike) -> Tensor:
    """The sum of the unary scores of tag sequences.

    Args:
      tag_indices: int [batch, time].
      sequence_lengths: int [batch].
      inputs: float [batch, time, tags].

    Returns:
      float [batch].
    """
    batch, time, tags = (shape_of(inputs)[i] for i in range(3))
    flat = reshape(inputs, [-1])
    places = expand_dims(arange(batch) * time * tags, 1)
    places += expand_dims(arange(time) * tags, 0)
    if tag_indices.dtype == dtypes.int64:
        places = cast(places, dtypes.int64)
    chosen = reshape(gather(flat, reshape(places + tag_indices, [-1])), [batch, time])
    return reduce_sum(chosen * _mask(tag_indices, sequence_lengths), 1)


def _mask(tag_indices: Tensor, sequence_lengths: Tensor) -> Tensor:
    return sequence_mask(sequence_lengths, maxlen=shape_of(tag_indices)[1], dtype=dtypes.float32)


@export("contrib.crf.crf_binary_score")
def crf_binary_score(tag_indices: Any, sequence_lengths: Any, transition_params: Any) -> Tensor:
    """The sum of the transition scores of tag sequences.

    Args:
      tag_indices: int [batch, time].
      sequence_lengths: int [batch].
      transition_params: float [tags, tags].

    Returns:
      float [batch].
    """
    tags = transition_params.shape[0]
    count = shape_of(tag_indices)[1] - 1
    start = slice_of(tag_indices, [0, 0], [-1, count])
    end = slice_of(tag_indices, [0, 1], [-1, count])
    places = start * tags + end
    chosen = gather(reshape(transition_params, [-1]), places)
    mask = slice_of(_mask(tag_indices, sequence_lengths), [0, 1], [-1, -1])
    return reduce_sum(chosen * mask, 1)


@export("contrib.crf.crf_sequence_score")
def crf_sequence_score(inputs: Any, tag_indices: Any, sequence_lengths: Any, transition_params: TensorLike) -> Tensor:
    """The scores of tag sequences: unary and transition scores.

    Args:
      inputs: float [batch, time, tags], the unary scores.
      tag_indices: int [batch, time].
      sequence_lengths: int [batch].
      transition_params: float [tags, tags].

    Returns:
      float [batch].
    """

    def one() -> Tensor:
        dtype = tag_indices.dtype
        rows = reshape(arange(shape_of(inputs, out_type=dtype)[0], dtype=dtype), [-1, 1])
        scores = gather_nd(squeeze(inputs, [1]), concat([rows, tag_indices], axis=1))
        return _zero_if_empty(scores, sequence_lengths)

    def more() -> Tensor:
        unary = crf_unary_score(tag_indices, sequence_lengths, inputs)
        return unary + crf_binary_score(tag_indices, sequence_lengths, transition_params)

    return one_step_or_more(inputs, one, more)


@export("contrib.crf.crf_multitag_sequence_score")
def crf_multitag_sequence_score(inputs: Any, tag_bitmap: TensorLike, sequence_lengths: object, transition_params: object) -> Tensor:
    """The log of the sum of exp(score) over all tag sequences that a bitmap allows.

    Args:
      inputs: float [batch, time, tags], the unary scores.
      tag_bitmap: bool [batch, time, tags], the allowed tags.
      sequence_lengths: int [batch].
      transition_params: float [tags, tags].

    Returns:
      float [batch].
    """

    def allowed() -> Tensor:
        return where(tag_bitmap, inputs, fill(shape_of(inputs), float("-inf")))

    return one_step_or_more(
        inputs,
        lambda: reduce_logsumexp(allowed(), axis=[1, 2], keepdims=False),
        lambda: crf_log_norm(allowed(), sequence_lengths, transition_params),
    )


@export("contrib.crf.crf_log_norm")
def crf_log_norm(inputs: Any, sequence_lengths: Any, transition_params: object) -> Tensor:
    """The log of the sum of exp(score) over all tag sequences, by the forward algorithm.

    Args:
      inputs: float [batch, time, tags], the unary scores.
      sequence_lengths: int [batch].
      transition_params: float [tags, tags].

    Returns:
      float [batch]; 0 for empty sequences.
    """
    first = squeeze(slice_of(inputs, [0, 0, 0], [-1, 1, -1]), [1])

    def one() -> Tensor:
        return _zero_if_empty(reduce_logsumexp(first, [1]), sequence_lengths)

    def more() -> Tensor:
        rest = slice_of(inputs, [0, 1, 0], [-1, -1, -1])
        cell = CrfForwardRnnCell(transition_params)
        lengths = transitions_left(sequence_lengths)
        _, alphas = dynamic_rnn(cell, rest, sequence_length=lengths, initial_state=first, dtype=dtypes.float32)
        return _zero_if_empty(reduce_logsumexp(alphas, [1]), sequence_lengths)

    return one_step_or_more(inputs, one, more)


@export("contrib.crf.crf_log_likelihood")
def crf_log_likelihood(
    inputs: Any, tag_indices: TensorLike, sequence_lengths: object, transition_params: TensorLike | None = None
) -> tuple[Tensor, Any]:
    """The log likelihood of tag sequences.

    Args:
      inputs: float [batch, time, tags], the unary scores.
      tag_indices: int [batch, time].
      sequence_lengths: int [batch].
      transition_params: float [tags, tags]; by default a new variable "transitions".

    Returns:
      float [batch], and `transition_params`.
    """
    tags = dimension_value(inputs.shape[2])
    if transition_params is None:
        transition_params = get_variable("transitions", [tags, tags])
    scores = crf_sequence_score(inputs, tag_indices, sequence_lengths, transition_params)
    return scores - crf_log_norm(inputs, sequence_lengths, transition_params), transition_params
