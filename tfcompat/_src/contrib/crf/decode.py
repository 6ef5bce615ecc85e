"""The best tag sequences of linear-chain conditional random fields: the Viterbi algorithm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import dimension_value
from tfcompat._src.contrib.crf.scores import TransitionCell, one_step_or_more, transitions_left
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.ops.array.join import concat, stack
from tfcompat._src.ops.array.shape import expand_dims, squeeze
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.array.slice import slice_ as slice_of
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.reduce import argmax, reduce_max
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.rnn.cell import RNNCell
from tfcompat._src.rnn.dynamic import dynamic_rnn

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@export("contrib.crf.viterbi_decode")
def viterbi_decode(score: np.ndarray, transition_params: np.ndarray) -> tuple[list, Any]:
    """The best tag sequence of one sequence of scores, in NumPy.

    Args:
      score: [time, tags], the unary scores.
      transition_params: [tags, tags].

    Returns:
      the list of tags, and their score.
    """
    best, came_from = score[0], []
    for unary in score[1:]:
        scores = best[:, None] + transition_params
        came_from.append(scores.argmax(0).astype(np.int32))
        best = (unary + scores.max(0)).astype(score.dtype)
    tags = [np.argmax(best)]
    for places in reversed(came_from):
        tags.append(places[tags[-1]])
    return tags[::-1], np.max(best)


@export("contrib.crf.CrfDecodeForwardRnnCell")
class CrfDecodeForwardRnnCell(TransitionCell):
    """One step of the Viterbi algorithm: the best tag before each tag (output) and the best score (state), [batch, tags].

    Args:
      transition_params: float [tags, tags].
    """

    def __call__(self, inputs: object, state: Any, scope: object = None) -> tuple[Tensor, Tensor]:
        scores = self._scores(state)
        best = inputs + reduce_max(scores, [1])
        return cast(argmax(scores, 1), dtype=dtypes.int32), best


@export("contrib.crf.CrfDecodeBackwardRnnCell")
class CrfDecodeBackwardRnnCell(RNNCell):
    """One step back: the best tag before the tag [batch, 1] of the state.

    Args:
      num_tags: int.
    """

    def __init__(self, num_tags: int) -> None:
        self._num_tags = num_tags

    state_size = property(lambda self: 1)
    output_size = property(lambda self: 1)

    def __call__(self, inputs: TensorLike, state: TensorLike, scope: object = None) -> tuple[Tensor, Tensor]:
        state = squeeze(state, axis=[1])
        places = stack([arange(shape_of(inputs)[0]), state], axis=1)
        tags = expand_dims(raw.GatherNd(inputs, places), axis=-1)
        return tags, tags


@export("contrib.crf.crf_decode")
def crf_decode(potentials: Any, transition_params: Any, sequence_length: Any) -> tuple[Tensor, Tensor]:
    """The best tag sequences.

    Args:
      potentials: float [batch, time, tags], the unary scores.
      transition_params: float [tags, tags].
      sequence_length: int [batch].

    Returns:
      int32 tags [batch, time] and their scores [batch].
    """

    def one() -> tuple[Tensor, Tensor]:
        scores = squeeze(potentials, [1])
        tags = expand_dims(argmax(scores, axis=1), 1)
        best = reduce_max(scores, axis=1)
        return cast(tags, dtype=dtypes.int32), best

    return one_step_or_more(potentials, one, lambda: _search(potentials, transition_params, sequence_length))


def _search(potentials: Tensor, transition_params: object, sequence_length: Any) -> tuple[Tensor, Tensor]:
    tags = dimension_value(potentials.shape[2])
    forward = CrfDecodeForwardRnnCell(transition_params)
    first = squeeze(slice_of(potentials, [0, 0, 0], [-1, 1, -1]), axis=[1])
    rest = slice_of(potentials, [0, 1, 0], [-1, -1, -1])
    lengths = transitions_left(sequence_length)
    came_from, last = dynamic_rnn(
        forward, inputs=rest, sequence_length=lengths, initial_state=first, time_major=False, dtype=dtypes.int32
    )
    came_from = raw.ReverseSequence(came_from, lengths, seq_dim=1)
    backward = CrfDecodeBackwardRnnCell(tags)
    end = expand_dims(cast(argmax(last, axis=1), dtype=dtypes.int32), axis=-1)
    found, _ = dynamic_rnn(
        backward, inputs=came_from, sequence_length=lengths, initial_state=end, time_major=False, dtype=dtypes.int32
    )
    found = concat([end, squeeze(found, axis=[2])], axis=1)
    found = raw.ReverseSequence(found, sequence_length, seq_dim=1)
    return found, reduce_max(last, axis=1)
