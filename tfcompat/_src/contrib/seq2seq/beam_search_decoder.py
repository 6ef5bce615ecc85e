"""BeamSearchDecoder: the most probable sequences that a search with several beams finds."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes, nest
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.contrib.seq2seq.basic_decoder import output_size_of
from tfcompat._src.contrib.seq2seq.beam_search_step import (
    BeamSearchDecoderOutput,
    BeamSearchDecoderState,
    _beam_search_step,
    attention_weights,
    require_known_rank,
)
from tfcompat._src.contrib.seq2seq.decoder import BaseDecoder, Decoder
from tfcompat._src.contrib.seq2seq.helpers import embedding_function, start_and_end
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.engine.base_layer import Layer
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.array.gather import one_hot
from tfcompat._src.ops.array.join import concat, stack, tile
from tfcompat._src.ops.array.reorder import transpose
from tfcompat._src.ops.array.search import where
from tfcompat._src.ops.array.shape import expand_dims, reshape
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.array.shape import size as size_of
from tfcompat._src.ops.composed.indexing import gather_nd
from tfcompat._src.ops.composed.masks import sequence_mask
from tfcompat._src.ops.control.cond import Assert, cond
from tfcompat._src.ops.flow.tensor_array import TensorArray
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import equal
from tfcompat._src.ops.math.reduce import reduce_all, reduce_max
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.ops.nn.gather_tree import gather_tree
from tfcompat._src.platform import logging
from tfcompat._src.rnn.cell import assert_like_rnncell

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.dtypes import DTypeLike

_FINAL_FIELDS = ["predicted_ids", "beam_search_decoder_output"]


@export("contrib.seq2seq.FinalBeamSearchDecoderOutput")
class FinalBeamSearchDecoderOutput(collections.namedtuple("FinalBeamDecoderOutput", _FINAL_FIELDS)):
    """`predicted_ids`: int32 [batch, time, beams], best first; `beam_search_decoder_output`: what the steps gave."""


@export("contrib.seq2seq.tile_batch")
def tile_batch(t: object, multiplier: int, name: str | None = None) -> Any:
    """Repeats each batch entry of a tensor (or of a nest of them) `multiplier` times.

    Args:
      t: Tensor [batch, ...], or a nest of them.
      multiplier: int.
      name: name scope.

    Returns:
      Tensors [batch * multiplier, ...] in the structure of `t`.

    Raises:
      ValueError: a rank is unknown, or a tensor is a scalar.
    """
    with name_scope(name, "tile_batch", nest.flatten(t) + [multiplier]):
        return nest.map_structure(lambda part: _repeated(part, multiplier), t)


def _repeated(t: TensorLike, multiplier: int) -> Tensor:
    t = convert_to_tensor(t, name="t")
    sizes, rank = shape_of(t), t.shape.ndims
    if rank is None or rank < 1:
        raise ValueError("t must have statically known rank")
    batch = t.shape.dims[0].value
    tiled = tile(expand_dims(t, 1), [1, multiplier] + [1] * (rank - 1))
    tiled = reshape(tiled, concat(([sizes[0] * multiplier], sizes[1:]), 0))
    tiled.set_shape(TensorShape([None if batch is None else batch * multiplier]).concatenate(t.shape[1:]))
    return tiled


def gather_tree_from_array(t: Tensor, parent_ids: Tensor, sequence_length: Tensor) -> Tensor:
    """What each beam's sequence passed through, from what each step's beams held.

    Args:
      t: Tensor [time, batch * beams, ...] or [time, batch, beams, ...].
      parent_ids: int32 [time, batch, beams].
      sequence_length: int [batch, beams].

    Returns:
      a Tensor of the shape of `t`.
    """
    time, batch, width = (parent_ids.shape.dims[i].value or shape_of(parent_ids)[i] for i in range(3))
    beams = tile(expand_dims(expand_dims(arange(width), 0), 0), [time, batch, 1])
    longest = cast(reduce_max(sequence_length, axis=1), dtypes.int32)
    sorted_beams = gather_tree(beams, parent_ids, max_sequence_lengths=longest, end_token=width + 1)
    inside = transpose(sequence_mask(sequence_length, maxlen=time), perm=[2, 0, 1])
    sorted_beams = where(inside, sorted_beams, beams)
    times = tile(reshape(arange(time), [-1, 1, 1]), [1, batch, width])
    entries = transpose(tile(reshape(arange(batch), [-1, 1, 1]), [1, time, width]), perm=[1, 0, 2])
    places = stack([times, entries, sorted_beams], -1)
    sizes = shape_of(t)
    return reshape(gather_nd(reshape(t, [time, batch, width, -1]), places), sizes)


_REORDER = (
    "Consider setting reorder_tensor_arrays to False to disable TensorArray reordering during the beam search."
)


def _check_static_batch_beam_maybe(shape: TensorShape, batch_size: int | None, beam_width: int) -> bool:
    """Whether elements of this static shape may be [batch, beams], or a vector [batch * beams]; warns where not."""
    first = shape.dims[0].value
    second = shape.dims[1].value if shape.ndims >= 2 else None
    if batch_size is None or first is None:
        return True
    if first == batch_size * beam_width and (second is None or (first, second) == (batch_size, beam_width)):
        return True
    logging.warn(
        "TensorArray reordering expects elements to be reshapable to %s which is incompatible with the current shape %s. %s",
        TensorShape([batch_size, beam_width, None]), shape, _REORDER,
    )  # fmt: skip
    return False


def _check_batch_beam(t: Tensor, batch_size: Any, beam_width: int) -> Any:
    """Asserts that elements [time, ...] of `t` are [batch * beams, ...] or [batch, beams, ...]."""
    sizes = shape_of(t)
    fits = equal(sizes[1], batch_size * beam_width)
    if t.shape.ndims != 2:
        fits = raw.LogicalOr(fits, raw.LogicalAnd(equal(sizes[1], batch_size), equal(sizes[2], beam_width)))
    text = "TensorArray reordering expects elements to be reshapable to [batch_size, beam_size, -1] which is incompatible "
    return Assert(fits, [f"{text}with the dynamic shape of {t.name} elements. {_REORDER}"])


class _BeamSearch:
    """What both decoders with beams have in common: the search, without where it starts."""

    def _set_search(
        self, cell: Any, beam_width: int, output_layer: Any, length_penalty_weight: object, coverage_penalty_weight: object, reorder_tensor_arrays: bool
    ) -> None:
        assert_like_rnncell("cell", cell)
        if output_layer is not None and not isinstance(output_layer, Layer):
            raise TypeError(f"output_layer must be a Layer, received: {type(output_layer)}")
        self._cell, self._output_layer, self._beam_width = cell, output_layer, beam_width
        self._length_penalty_weight, self._coverage_penalty_weight = length_penalty_weight, coverage_penalty_weight
        self._reorder_tensor_arrays = reorder_tensor_arrays

    def _set_start(self, start_tokens: TensorLike, end_token: TensorLike, initial_state: Any) -> None:
        self._start_tokens, self._end_token = start_and_end(start_tokens, end_token)
        self._batch_size = size_of(start_tokens)
        self._initial_cell_state = nest.map_structure(self._split_state, initial_state, self._cell.state_size)
        self._start_tokens = tile(expand_dims(self._start_tokens, 1), [1, self._beam_width])
        self._start_inputs = self._embedding_fn(self._start_tokens)
        self._finished = self._first_beam(False, True, dtypes.bool)

    def _first_beam(self, first: TensorLike, others: TensorLike, dtype: DTypeLike) -> Tensor:
        """[batch, beams] with one value for the first beam and one for the others."""
        rows = zeros([self._batch_size], dtype=dtypes.int32)
        if dtype != dtypes.bool:
            first, others = convert_to_tensor(first, dtype=dtype), convert_to_tensor(others, dtype=dtype)
        return one_hot(rows, depth=self._beam_width, on_value=first, off_value=others, dtype=dtype)

    @property
    def batch_size(self) -> Tensor:
        return self._batch_size

    @property
    def tracks_own_finished(self) -> bool:
        """True: beams change places, so that a finished one can be followed by one that goes on."""
        return True

    @property
    def output_size(self) -> BeamSearchDecoderOutput:
        width = TensorShape([self._beam_width])
        return BeamSearchDecoderOutput(scores=width, predicted_ids=width, parent_ids=width)

    @property
    def output_dtype(self) -> BeamSearchDecoderOutput:
        dtype = nest.flatten(self._initial_cell_state)[0].dtype
        scores = nest.map_structure(lambda _: dtype, output_size_of(self._cell, self._output_layer))
        return BeamSearchDecoderOutput(scores=scores, predicted_ids=dtypes.int32, parent_ids=dtypes.int32)

    def _first_step(self) -> tuple[Any, Any, Any]:
        dtype = nest.flatten(self._initial_cell_state)[0].dtype
        log_probs = self._first_beam(0.0, -np.inf, dtype)
        attended = attention_weights(self._initial_cell_state, self._coverage_penalty_weight)
        state = BeamSearchDecoderState(
            cell_state=self._initial_cell_state,
            log_probs=log_probs,
            finished=self._finished,
            lengths=zeros([self._batch_size, self._beam_width], dtype=dtypes.int64),
            accumulated_attention_probs=() if attended is None else attended,
        )
        return self._finished, self._start_inputs, state

    def step(self, time: Any, inputs: Any, state: Any, name: str | None = None) -> tuple[Any, Any, Any, Any]:
        sizes = self._cell.state_size
        with name_scope(name, "BeamSearchDecoderStep", [time, inputs, state]):
            inputs = nest.map_structure(lambda x: self._merge(x, x.shape[2:]), inputs)
            cell_state = nest.map_structure(self._merge_state, state.cell_state, sizes)
            outputs, cell_state = self._cell(inputs, cell_state)
            outputs = nest.map_structure(lambda x: self._split(x, x.shape[1:]), outputs)
            cell_state = nest.map_structure(self._split_state, cell_state, sizes)
            if self._output_layer is not None:
                outputs = self._output_layer(outputs)
            found, state = _beam_search_step(
                time, outputs, cell_state, state, self._batch_size, self._beam_width, self._end_token,
                self._length_penalty_weight, self._coverage_penalty_weight,
            )  # fmt: skip
            next_inputs = cond(
                reduce_all(state.finished), lambda: self._start_inputs, lambda: self._embedding_fn(found.predicted_ids)
            )
        return found, state, next_inputs, state.finished

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: object) -> tuple[Any, Any]:
        longest = cast(reduce_max(final_state.lengths, axis=1), dtypes.int32)
        ids = gather_tree(
            outputs.predicted_ids, outputs.parent_ids, max_sequence_lengths=longest, end_token=self._end_token
        )
        if self._reorder_tensor_arrays:
            cell_state = nest.map_structure(
                lambda t: self._sorted_array(t, outputs.parent_ids, final_state.lengths), final_state.cell_state
            )
            final_state = final_state._replace(cell_state=cell_state)
        return FinalBeamSearchDecoderOutput(beam_search_decoder_output=outputs, predicted_ids=ids), final_state

    # ---- between [batch, beams, ...] and [batch * beams, ...] ----

    def _merge(self, t: Tensor, size: object) -> Tensor:
        size = _static_size(size)
        known = constant_value(self._batch_size)
        sizes = shape_of(t)
        merged = reshape(t, concat(([self._batch_size * self._beam_width], sizes[2:]), 0))
        merged.set_shape(TensorShape([None if known is None else known * self._beam_width]).concatenate(size))
        return merged

    def _split(self, t: Tensor, size: object) -> Tensor:
        size = _static_size(size)
        sizes = shape_of(t)
        split = reshape(t, concat(([self._batch_size, self._beam_width], sizes[1:]), 0))
        wanted = TensorShape([constant_value(self._batch_size), self._beam_width]).concatenate(size)
        if not split.shape.is_compatible_with(wanted):
            raise ValueError(
                "Unexpected behavior when reshaping between beam width and batch size.  The reshaped tensor has shape: "
                f"{split.shape}.  We expected it to have shape (batch_size, beam_width, depth) == {wanted}.  Perhaps you "
                "forgot to create a zero_state with batch_size=encoder_batch_size * beam_width?"
            )
        split.set_shape(wanted)
        return split

    def _merge_state(self, t: Any, size: Any) -> Any:
        if isinstance(t, TensorArray):
            return t
        require_known_rank(t)
        return self._merge(t, size) if t.shape.ndims >= 2 else t

    def _split_state(self, t: Any, size: Any) -> Any:
        if isinstance(t, TensorArray):
            return t
        require_known_rank(t)
        return self._split(t, size) if t.shape.ndims >= 1 else t

    def _sorted_array(self, t: object, parent_ids: Tensor, lengths: Tensor) -> Any:
        """The elements of a TensorArray in the state, as the returned beams saw them."""
        if not isinstance(t, TensorArray):
            return t
        shape = t.element_shape
        if shape.ndims is None or shape.ndims < 1:
            logging.warn(
                "The TensorArray %s in the cell state is not amenable to sorting based on the beam search result. For a "
                "TensorArray to be sorted, its elements shape must be defined and have at least a rank of 1, "
                "but saw shape: %s",
                t.handle.name, shape,
            )  # fmt: skip
            return t
        if not _check_static_batch_beam_maybe(shape, constant_value(self._batch_size), self._beam_width):
            return t
        t = t.stack()
        with control_dependencies([_check_batch_beam(t, self._batch_size, self._beam_width)]):
            return gather_tree_from_array(t, parent_ids, lengths)



@export("contrib.seq2seq.BeamSearchDecoder")
class BeamSearchDecoder(_BeamSearch, Decoder):
    """Decodes with a beam search: in each step the `beam_width` best continuations of all beams are kept.

    The state of an AttentionWrapper must be made for batch_size * beam_width sequences, of memory repeated by `tile_batch`.

    Args:
      cell: an RNNCell.
      embedding: function of ids, or the `params` of tf.nn.embedding_lookup.
      start_tokens: int32 [batch].
      end_token: int32 scalar.
      initial_state: state of the cell for batch * beam_width sequences.
      beam_width: int, beams per sequence.
      output_layer: layer from cell outputs to logits, or None.
      length_penalty_weight: power of the length that log probabilities are divided by; 0 for none.
      coverage_penalty_weight: weight of the penalty for memory that was not attended to; 0 for none.
      reorder_tensor_arrays: whether TensorArrays in the last state are sorted as the returned beams are.

    Raises:
      TypeError: cell or layer is none. ValueError: `start_tokens` is no vector, `end_token` no scalar, or a state does not fit.
    """

    def __init__(
        self, cell, embedding, start_tokens, end_token, initial_state, beam_width, output_layer=None,
        length_penalty_weight=0.0, coverage_penalty_weight=0.0, reorder_tensor_arrays=True,
    ) -> None:  # fmt: skip
        self._set_search(cell, beam_width, output_layer, length_penalty_weight, coverage_penalty_weight, reorder_tensor_arrays)
        self._embedding_fn = embedding_function(embedding)
        self._set_start(start_tokens, end_token, initial_state)

    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        return self._first_step()


class BeamSearchDecoderV2(_BeamSearch, BaseDecoder):
    """The beam search of BeamSearchDecoder as a Keras layer: where it starts is given when it is called.

    Args:
      embedding_fn: function of ids, or None where `initialize` is given an embedding.
      kwargs: arguments of BaseDecoder. The other arguments are those of BeamSearchDecoder.

    Raises:
      TypeError: cell or layer is none. ValueError: `embedding_fn` cannot be called.
    """

    def __init__(
        self, cell, beam_width, embedding_fn=None, output_layer=None, length_penalty_weight=0.0, coverage_penalty_weight=0.0,
        reorder_tensor_arrays=True, **kwargs,
    ) -> None:  # fmt: skip
        super().__init__(**kwargs)
        self._set_search(cell, beam_width, output_layer, length_penalty_weight, coverage_penalty_weight, reorder_tensor_arrays)
        if embedding_fn is not None and not callable(embedding_fn):
            raise ValueError(f"embedding_fn is expected to be a callable, got {type(embedding_fn)}")
        self._given_function = embedding_fn

    def initialize(self, embedding: object, start_tokens: object, end_token: object, initial_state: object) -> tuple[Any, Any, Any]:
        """What the first step needs: `(finished, inputs, state)`.

        Args:
          embedding: `params` of tf.nn.embedding_lookup, or None where the decoder has a function.
          start_tokens: int32 [batch]. end_token: int32 scalar.
          initial_state: state of the cell for batch * beam_width sequences.

        Raises:
          ValueError: there is an embedding and a function, `start_tokens` is no vector, or `end_token` no scalar.
        """
        if (embedding is None) == (self._given_function is None):
            raise ValueError("embedding and embedding_fn cannot be provided at same time, and one of them is needed")
        self._embedding_fn = self._given_function or embedding_function(embedding)
        self._set_start(start_tokens, end_token, initial_state)
        return self._first_step()


def _static_size(size: object) -> TensorShape:
    return TensorShape(constant_value(size) if isinstance(size, Tensor) else size)
