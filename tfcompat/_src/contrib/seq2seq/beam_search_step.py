"""One step of a beam search: scores of all continuations, and the best of them."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes, nest
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.contrib.seq2seq.attention_wrapper import AttentionWrapperState
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.fill import fill, ones_like
from tfcompat._src.ops.array.gather import gather, one_hot
from tfcompat._src.ops.array.join import concat, tile
from tfcompat._src.ops.array.search import where
from tfcompat._src.ops.array.shape import expand_dims, reshape
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.flow.tensor_array import TensorArray
from tfcompat._src.ops.math.binary import div, floormod, minimum
from tfcompat._src.ops.math.cast import cast, to_int64
from tfcompat._src.ops.math.compare import equal, logical_not
from tfcompat._src.ops.math.reduce import reduce_mean, reduce_sum
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.ops.math.unary import log
from tfcompat._src.ops.nn.softmax import log_softmax
from tfcompat._src.ops.nn.top_k import top_k

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_STATE_FIELDS = ("cell_state", "log_probs", "finished", "lengths", "accumulated_attention_probs")


@export("contrib.seq2seq.BeamSearchDecoderState")
class BeamSearchDecoderState(collections.namedtuple("BeamSearchDecoderState", _STATE_FIELDS)):
    """State of the cell, and of each beam [batch, beams]: log probability, whether it has ended, and its length."""


@export("contrib.seq2seq.BeamSearchDecoderOutput")
class BeamSearchDecoderOutput(collections.namedtuple("BeamSearchDecoderOutput", ("scores", "predicted_ids", "parent_ids"))):
    """Score, id, and the beam that it goes on from, of each beam of a step, [batch, beams]."""


def require_known_rank(t: Tensor) -> None:
    if t.shape.ndims is None:
        raise ValueError(f"Expected tensor ({t}) to have known rank, but ndims == None.")


def _beam_search_step(
    time: object, logits: Tensor, next_cell_state: object, beam_state: BeamSearchDecoderState, batch_size: Tensor, beam_width: int,
    end_token: Any, length_penalty_weight: Any, coverage_penalty_weight: Any,
) -> tuple[BeamSearchDecoderOutput, BeamSearchDecoderState]:  # fmt: skip
    """Chooses the best continuations of the beams.

    Args:
      time: int32 scalar.
      logits: [batch, beams, classes].
      next_cell_state: state of the cell after this step, [batch, beams, ...].
      beam_state: of the search before it.
      batch_size, beam_width, end_token, length_penalty_weight, coverage_penalty_weight: see `_Step`.
    """
    step = _Step(batch_size, beam_width, end_token, length_penalty_weight, coverage_penalty_weight)
    return step.choose(time, logits, next_cell_state, beam_state)


class _Step:
    """What all parts of a step need to know.

    Args:
      batch_size: int32 scalar Tensor.
      beam_width: int, beams per sequence.
      end_token: int32 scalar Tensor.
      length_penalty_weight: power of the length that log probabilities are divided by; 0 for none.
      coverage_penalty_weight: weight of the penalty for memory that no step attended to; 0 for none.
    """

    def __init__(
        self, batch_size: Tensor, beam_width: int, end_token: Tensor, length_penalty_weight: object, coverage_penalty_weight: object
    ) -> None:
        self._batch_size, self._beam_width, self._end_token = batch_size, beam_width, end_token
        self._length_penalty_weight, self._coverage_penalty_weight = length_penalty_weight, coverage_penalty_weight

    def choose(
        self, time: TensorLike, logits: Tensor, cell_state: object, state: BeamSearchDecoderState
    ) -> tuple[BeamSearchDecoderOutput, BeamSearchDecoderState]:
        batch, width = self._batch_size, self._beam_width
        goes_on = logical_not(state.finished)
        masked = _mask_probs(log_softmax(logits), self._end_token, state.finished)
        totals = expand_dims(state.log_probs, 2) + masked
        classes = logits.shape.dims[-1].value or shape_of(logits)[-1]
        lengths = self._lengths(classes, goes_on, state.lengths)
        attended = self._attended(cell_state, goes_on, state)
        scores = self._scores(totals, lengths, state.finished, attended)

        convert_to_tensor(time, name="time")
        flat = reshape(scores, [batch, -1])
        best, places = top_k(flat, k=convert_to_tensor(width, dtype=dtypes.int32, name="beam_width"))
        for chosen in (best, places):
            chosen.set_shape([constant_value(batch), width])
        log_probs = self._gather(places, totals, width * classes, [-1], name="next_beam_probs")
        words = cast(floormod(places, classes, name="next_beam_word_ids"), dtypes.int32)
        parents = cast(places / classes, dtypes.int32, name="next_beam_parent_ids")

        had_ended = self._gather(parents, state.finished, width, [-1])
        finished = raw.LogicalOr(had_ended, equal(words, self._end_token), name="next_beam_finished")
        longer = cast(logical_not(had_ended), dtypes.int64)
        next_lengths = self._gather(parents, state.lengths, width, [-1]) + longer
        next_attended = ()
        if attended is not None:
            rows = [batch * width, -1]
            next_attended = self._gather(parents, attended, width, rows, name="next_accumulated_attention_probs")
        next_cell_state = nest.map_structure(lambda t: self._gather_state(parents, t), cell_state)
        next_state = BeamSearchDecoderState(next_cell_state, log_probs, finished, next_lengths, next_attended)
        return BeamSearchDecoderOutput(scores=best, predicted_ids=words, parent_ids=parents), next_state

    def _lengths(self, classes: TensorLike, goes_on: Tensor, lengths: Tensor) -> Tensor:
        """The length [batch, beams, classes] of each continuation; the end token adds nothing."""
        added = one_hot(
            indices=fill([self._batch_size, self._beam_width], self._end_token), depth=classes, on_value=to_int64(0),
            off_value=to_int64(1), dtype=dtypes.int64,
        )  # fmt: skip
        added *= expand_dims(cast(goes_on, dtypes.int64), 2)
        return added + expand_dims(lengths, 2)

    def _attended(self, cell_state: object, goes_on: Tensor, state: BeamSearchDecoderState) -> Any:
        """The weights that each entry of the memory had so far, [batch, beams, memory time], where they are needed."""
        weights = attention_weights(cell_state, self._coverage_penalty_weight)
        if weights is None:
            return None
        weights *= expand_dims(cast(goes_on, dtypes.float32), 2)
        return state.accumulated_attention_probs + weights

    def _scores(self, totals: Tensor, lengths: Tensor, finished: Tensor, attended: TensorLike) -> Tensor:
        scores = totals / cast(length_penalty(lengths, self._length_penalty_weight), dtype=totals.dtype)
        weight = convert_to_tensor(self._coverage_penalty_weight, name="coverage_penalty_weight")
        if weight.shape.ndims != 0:
            raise ValueError(f"coverage_penalty_weight should be a scalar, but saw shape: {weight.shape}")
        if constant_value(weight) == 0.0:
            return scores
        if attended is None:
            raise ValueError("accumulated_attention_probs can be None only if coverage penalty is disabled.")
        attended = where(equal(attended, 0.0), ones_like(attended), attended)
        penalty = reduce_sum(log(minimum(attended, 1.0)), 2)
        penalty *= cast(finished, dtypes.float32)
        return scores + expand_dims(penalty * weight, 2)

    def _gather_state(self, parents: Tensor, state: Any) -> Any:
        """The states of the chosen parents; TensorArrays, vectors and scalars stay."""
        rows = [self._batch_size * self._beam_width, -1]
        if isinstance(state, TensorArray):
            return state
        require_known_rank(state)
        return state if state.shape.ndims < 2 else self._gather(parents, state, self._beam_width, rows)

    def _gather(self, places: Tensor, source: Tensor, range_size: object, rows: list, name: str | None = None) -> Tensor:
        """`source`, of which each batch entry has `range_size` rows, at `places` [batch, beams]."""
        with name_scope(name, "tensor_gather_helper"):
            starts = expand_dims(arange(self._batch_size) * range_size, 1)
            places = reshape(places + starts, [-1])
            found = gather(reshape(source, rows), places)
            kept = 1 + len(rows)
            sizes = shape_of(source)[:kept]
            known = TensorShape([constant_value(self._batch_size)]).concatenate(source.shape[1:kept])
            found = reshape(found, sizes, name="output")
            found.set_shape(known)
            return found


def _mask_probs(probs: Tensor, eos_token: TensorLike, finished: Tensor) -> Tensor:
    """Log probabilities [batch, beams, classes], where finished beams can only add the end token."""
    classes, dtype = shape_of(probs)[2], probs.dtype
    row = one_hot(eos_token, classes, dtype=dtype, on_value=convert_to_tensor(0.0, dtype=dtype), off_value=dtype.min)
    rows = tile(reshape(row, [1, 1, -1]), concat([shape_of(finished), [1]], 0))
    return where(tile(expand_dims(finished, 2), [1, 1, classes]), rows, probs)


def length_penalty(lengths: Tensor, penalty_factor: TensorLike) -> Tensor | float:
    """((5 + lengths) / 6) ** penalty_factor: Wu et al., "Google's Neural Machine Translation System", 2016, section 7."""
    penalty_factor = convert_to_tensor(penalty_factor, name="penalty_factor")
    penalty_factor.set_shape(())
    if constant_value(penalty_factor) == 0:
        return 1.0
    return div((5.0 + cast(lengths, dtypes.float32)) ** penalty_factor, (5.0 + 1.0) ** penalty_factor)


def attention_weights(cell_state: object, coverage_penalty_weight: object) -> Any:
    """The weights [batch, beams, memory time] of the last step, averaged over mechanisms; None without a coverage penalty.

    Raises:
      ValueError: no part of the state is that of an AttentionWrapper.
    """
    if coverage_penalty_weight == 0.0:
        return None
    is_one = isinstance(cell_state, AttentionWrapperState)
    parts = [cell_state] if is_one else cell_state if isinstance(cell_state, tuple) else ()
    found = [_mean(part.alignments) for part in parts if isinstance(part, AttentionWrapperState)]
    if not found:
        raise ValueError("coverage_penalty_weight must be 0.0 if no cell is attentional.")
    return found[0] if len(found) == 1 else _mean(tuple(found))


def _mean(weights: object) -> Any:
    if not isinstance(weights, tuple):
        return weights
    return reduce_mean(concat([expand_dims(w, -1) for w in weights], -1), -1)
