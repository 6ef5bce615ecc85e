"""Encoders and decoders over lists of inputs, and models with one graph per length."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes, nest
from tfcompat._src.base.export import export
from tfcompat._src.contrib.legacy_seq2seq.decoders import (
    check_projection,
    embedding_attention_decoder,
    embedding_rnn_decoder,
    feed_argmax,
    rnn_decoder,
)
from tfcompat._src.contrib.legacy_seq2seq.loss import sequence_loss, sequence_loss_by_example
from tfcompat._src.contrib.rnn.wrappers import EmbeddingWrapper, OutputProjectionWrapper
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.shape import reshape
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.control.cond import cond
from tfcompat._src.ops.nn.embedding import embedding_lookup
from tfcompat._src.rnn.cell import RNNCell
from tfcompat._src.rnn.static import static_rnn
from tfcompat._src.variables.scope import get_variable, get_variable_scope, variable_scope

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def _fed_or_given(feed_previous: TensorLike, decode: Callable, count: int) -> tuple[list, list]:
    """Outputs and flat state of `decode(True)` or `decode(False)`, chosen when the graph runs; variables are shared."""

    def branch(fed: bool) -> list:
        with variable_scope(get_variable_scope(), reuse=None if fed else True):
            outputs, state = decode(fed)
        return outputs + (nest.flatten(state) if nest.is_nested(state) else [state])

    found = cond(feed_previous, lambda: branch(True), lambda: branch(False))
    return found[:count], found[count:]


def _packed(structure: object, flat: list) -> Any:
    return nest.pack_sequence_as(structure, flat) if nest.is_nested(structure) else flat[0]


def _embedding_encoder(cell: object, inputs: list, num_symbols: int, embedding_size: int, dtype: object) -> tuple[list, Any]:
    wrapped = EmbeddingWrapper(cell, embedding_classes=num_symbols, embedding_size=embedding_size)
    return static_rnn(wrapped, inputs, dtype=dtype)


@export("contrib.legacy_seq2seq.basic_rnn_seq2seq")
def basic_rnn_seq2seq(
    encoder_inputs: list, decoder_inputs: list, cell: object, dtype: object = dtypes.float32, scope: object = None
) -> tuple[list, Any]:
    """An encoder, and a decoder that starts with its last state; the two have weights of their own.

    Args:
      encoder_inputs, decoder_inputs: lists of tensors [batch, depth].
      cell: an RNNCell.
      dtype: of the encoder's first state.
      scope: variable scope, "basic_rnn_seq2seq" by default.

    Returns:
      the list of outputs, and the last state.
    """
    with variable_scope(scope or "basic_rnn_seq2seq"):
        _, state = static_rnn(copy.deepcopy(cell), encoder_inputs, dtype=dtype)
        return rnn_decoder(decoder_inputs, state, cell)


@export("contrib.legacy_seq2seq.tied_rnn_seq2seq")
def tied_rnn_seq2seq(
    encoder_inputs: list, decoder_inputs: list, cell: object, loop_function: Callable | None = None,
    dtype: object = dtypes.float32, scope: object = None,
) -> tuple[list, Any]:  # fmt: skip
    """An encoder and a decoder with the same weights.

    Args:
      encoder_inputs, decoder_inputs, cell, dtype: see `basic_rnn_seq2seq`.
      loop_function: see `rnn_decoder`.
      scope: variable scope, "tied_rnn_seq2seq" by default.

    Returns:
      the list of outputs, and the last state.
    """
    with variable_scope("combined_tied_rnn_seq2seq"):
        scope = scope or "tied_rnn_seq2seq"
        _, state = static_rnn(cell, encoder_inputs, dtype=dtype, scope=scope)
        get_variable_scope().reuse_variables()
        return rnn_decoder(decoder_inputs, state, cell, loop_function=loop_function, scope=scope)


@export("contrib.legacy_seq2seq.embedding_rnn_seq2seq")
def embedding_rnn_seq2seq(
    encoder_inputs: list, decoder_inputs: list, cell: object, num_encoder_symbols: int, num_decoder_symbols: int,
    embedding_size: int, output_projection: object = None, feed_previous: TensorLike = False, dtype: object = None, scope: object = None,
) -> tuple[list, Any]:  # fmt: skip
    """An encoder and a decoder of symbols.

    Args:
      encoder_inputs, decoder_inputs: lists of int32 [batch].
      cell: an RNNCell.
      num_encoder_symbols, num_decoder_symbols, embedding_size: of the two embeddings.
      output_projection: (weights, biases) from outputs to symbols; without it the cell's outputs are projected.
      feed_previous: bool, or bool scalar Tensor: whether each step is fed the most probable symbol of the one before.
      dtype: of the encoder's first state, by default the scope's.
      scope: variable scope, "embedding_rnn_seq2seq" by default.

    Returns:
      the list of outputs, and the last state.
    """
    with variable_scope(scope or "embedding_rnn_seq2seq") as entered:
        if dtype is not None:
            entered.set_dtype(dtype)
        dtype = entered.dtype if dtype is None else dtype
        _, encoded = _embedding_encoder(copy.deepcopy(cell), encoder_inputs, num_encoder_symbols, embedding_size, dtype)
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_decoder_symbols)

        def decode(fed: bool, update: bool = False) -> tuple[list, Any]:
            return embedding_rnn_decoder(
                decoder_inputs, encoded, cell, num_decoder_symbols, embedding_size,
                output_projection=output_projection, feed_previous=fed, update_embedding_for_previous=update,
            )  # fmt: skip

        if isinstance(feed_previous, bool):
            return decode(feed_previous, update=True)
        outputs, state = _fed_or_given(feed_previous, decode, len(decoder_inputs))
        return outputs, _packed(encoded, state)


@export("contrib.legacy_seq2seq.embedding_tied_rnn_seq2seq")
def embedding_tied_rnn_seq2seq(
    encoder_inputs: list, decoder_inputs: list, cell: Any, num_symbols: int, embedding_size: int,
    num_decoder_symbols: int | None = None, output_projection: object = None, feed_previous: object = False, dtype: Any = None,
    scope: object = None,
) -> tuple[list, Any]:  # fmt: skip
    """An encoder and a decoder of the same symbols, with the same weights and embedding.

    Args:
      encoder_inputs, decoder_inputs, cell, embedding_size, output_projection, feed_previous, dtype: see
        `embedding_rnn_seq2seq`.
      num_symbols: of the embedding.
      num_decoder_symbols: how many symbols outputs are projected to; `num_symbols` by default.
      scope: variable scope, "embedding_tied_rnn_seq2seq" by default.

    Returns:
      the list of outputs, and the last state.

    Raises:
      ValueError: the projection does not fit.
    """
    with variable_scope(scope or "embedding_tied_rnn_seq2seq", dtype=dtype) as entered:
        dtype = entered.dtype
        if output_projection is not None:
            check_projection(output_projection, num_symbols, dtype)
        embedding = get_variable("embedding", [num_symbols, embedding_size], dtype=dtype)
        sources = [embedding_lookup(embedding, x) for x in encoder_inputs]
        given = [embedding_lookup(embedding, x) for x in decoder_inputs]
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_symbols if num_decoder_symbols is None else num_decoder_symbols)

        def decode(fed: bool, update: bool = False) -> tuple[list, Any]:
            feed = feed_argmax(embedding, output_projection, update) if fed else None
            return tied_rnn_seq2seq(sources, given, cell, loop_function=feed, dtype=dtype)

        if isinstance(feed_previous, bool):
            return decode(feed_previous, update=True)
        outputs, state = _fed_or_given(feed_previous, decode, len(decoder_inputs))
        return outputs, _packed(cell.zero_state(_common_batch_size(encoder_inputs), dtype), state)


def _common_batch_size(inputs: list) -> Any:
    """The batch size of a list of tensors: an int where the first one knows it, else a scalar Tensor."""
    size = inputs[0].shape[0]
    for other in inputs[1:]:
        size.merge_with(other.shape[0])
    return shape_of(inputs[0])[0] if size.value is None else size.value


@export("contrib.legacy_seq2seq.embedding_attention_seq2seq")
def embedding_attention_seq2seq(
    encoder_inputs: list, decoder_inputs: list, cell: Any, num_encoder_symbols: int, num_decoder_symbols: int,
    embedding_size: int, num_heads: int = 1, output_projection: object = None, feed_previous: object = False, dtype: Any = None,
    scope: object = None, initial_state_attention: bool = False,
) -> tuple[list, Any]:  # fmt: skip
    """An encoder of symbols, and a decoder with attention to its outputs.

    Args:
      encoder_inputs, decoder_inputs, cell, num_encoder_symbols, num_decoder_symbols, embedding_size, output_projection,
        feed_previous, dtype: see `embedding_rnn_seq2seq`.
      num_heads, initial_state_attention: see `attention_decoder`.
      scope: variable scope, "embedding_attention_seq2seq" by default.

    Returns:
      the list of outputs, and the last state.
    """
    with variable_scope(scope or "embedding_attention_seq2seq", dtype=dtype) as entered:
        dtype = entered.dtype
        encoder = copy.deepcopy(cell)
        outputs, encoded = _embedding_encoder(encoder, encoder_inputs, num_encoder_symbols, embedding_size, dtype)
        states = concat([reshape(output, [-1, 1, cell.output_size]) for output in outputs], 1)
        output_size = None
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_decoder_symbols)
            output_size = num_decoder_symbols

        def decode(fed: bool, update: bool = False) -> tuple[list, Any]:
            return embedding_attention_decoder(
                decoder_inputs, encoded, states, cell, num_decoder_symbols, embedding_size, num_heads=num_heads,
                output_size=output_size, output_projection=output_projection, feed_previous=fed,
                update_embedding_for_previous=update, initial_state_attention=initial_state_attention,
            )  # fmt: skip

        if isinstance(feed_previous, bool):
            return decode(feed_previous, update=True)
        outputs, state = _fed_or_given(feed_previous, decode, len(decoder_inputs))
        return outputs, _packed(encoded, state)


@export("contrib.legacy_seq2seq.one2many_rnn_seq2seq")
def one2many_rnn_seq2seq(
    encoder_inputs: list, decoder_inputs_dict: dict, enc_cell: object, dec_cells_dict: dict, num_encoder_symbols: int,
    num_decoder_symbols_dict: dict, embedding_size: int, feed_previous: TensorLike = False, dtype: object = None, scope: object = None,
) -> tuple[dict, dict]:  # fmt: skip
    """One encoder of symbols, and several decoders that start with its last state.

    Args:
      encoder_inputs: a list of int32 [batch].
      decoder_inputs_dict: lists of int32 [batch], by decoder name.
      enc_cell: RNNCell of the encoder. dec_cells_dict: RNNCells, by decoder name.
      num_encoder_symbols: int. num_decoder_symbols_dict: ints, by decoder name.
      embedding_size, feed_previous, dtype: see `embedding_rnn_seq2seq`.
      scope: variable scope, "one2many_rnn_seq2seq" by default.

    Returns:
      the lists of outputs and the last states, by decoder name.

    Raises:
      TypeError: a cell is none. ValueError: names differ.
    """
    if not isinstance(enc_cell, RNNCell):
        raise TypeError(f"enc_cell is not an RNNCell: {type(enc_cell)}")
    if set(dec_cells_dict) != set(decoder_inputs_dict):
        raise ValueError("keys of dec_cells_dict != keys of decodre_inputs_dict")
    for cell in dec_cells_dict.values():
        if not isinstance(cell, RNNCell):
            raise TypeError(f"dec_cell is not an RNNCell: {type(cell)}")
    outputs, states = {}, {}
    with variable_scope(scope or "one2many_rnn_seq2seq", dtype=dtype) as entered:
        _, encoded = _embedding_encoder(enc_cell, encoder_inputs, num_encoder_symbols, embedding_size, entered.dtype)
        for name, inputs in decoder_inputs_dict.items():
            with variable_scope(f"one2many_decoder_{name}"):
                outputs[name], states[name] = _one_decoder(
                    inputs, encoded, dec_cells_dict[name], num_decoder_symbols_dict[name], embedding_size, feed_previous
                )
    return outputs, states


def _one_decoder(
    inputs: list, encoded: object, cell: object, num_symbols: int, embedding_size: int, feed_previous: TensorLike
) -> tuple[list, Any]:
    cell = OutputProjectionWrapper(cell, num_symbols)

    def decode(fed: bool) -> tuple[list, Any]:
        return embedding_rnn_decoder(inputs, encoded, cell, num_symbols, embedding_size, feed_previous=fed)

    if isinstance(feed_previous, bool):
        return decode(feed_previous)
    outputs, state = _fed_or_given(feed_previous, decode, len(inputs))
    return outputs, _packed(encoded, state)


@export("contrib.legacy_seq2seq.model_with_buckets")
def model_with_buckets(
    encoder_inputs: list, decoder_inputs: list, targets: list, weights: list, buckets: list, seq2seq: Callable,
    softmax_loss_function: Callable | None = None, per_example_loss: bool = False, name: str | None = None,
) -> tuple[list, list]:  # fmt: skip
    """One model per pair of lengths, all with the same weights.

    Args:
      encoder_inputs, decoder_inputs: lists of tensors, one per step.
      targets, weights: lists of int and float [batch], one per step.
      buckets: list of (encoder length, decoder length), rising.
      seq2seq: `(encoder_inputs, decoder_inputs) -> (outputs, states)`.
      softmax_loss_function, per_example_loss: see `sequence_loss`, `sequence_loss_by_example`.
      name: name scope.

    Returns:
      the outputs and the losses of each bucket.

    Raises:
      ValueError: a list is shorter than the last bucket.
    """
    for what, given, length in (
        ("encoder_inputs", encoder_inputs, buckets[-1][0]), ("targets", targets, buckets[-1][1]), ("weights", weights, buckets[-1][1])
    ):  # fmt: skip
        if len(given) < length:
            raise ValueError(f"Length of {what} ({len(given)}) must be at least that of last bucket ({length}).")
    loss = sequence_loss_by_example if per_example_loss else sequence_loss
    losses, outputs = [], []
    with name_scope(name, "model_with_buckets", encoder_inputs + decoder_inputs + targets + weights):
        for i, (source_length, length) in enumerate(buckets):
            with variable_scope(get_variable_scope(), reuse=True if i > 0 else None):
                found, _ = seq2seq(encoder_inputs[:source_length], decoder_inputs[:length])
                outputs.append(found)
                losses.append(
                    loss(found, targets[:length], weights[:length], softmax_loss_function=softmax_loss_function)
                )
    return outputs, losses
