"""Decoders over lists of inputs, one tensor per step: plain, with embeddings, and with attention."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tfcompat._src.base import dtypes, nest
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import dimension_value
from tfcompat._src.contrib.rnn.linear import Linear
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.constant import stop_gradient
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.array.join import concat, stack
from tfcompat._src.ops.array.shape import reshape
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.reduce import argmax, reduce_sum
from tfcompat._src.ops.math.unary import tanh
from tfcompat._src.ops.nn.bias import xw_plus_b
from tfcompat._src.ops.nn.conv_functions import conv2d
from tfcompat._src.ops.nn.embedding import embedding_lookup
from tfcompat._src.ops.nn.softmax import softmax
from tfcompat._src.variables.scope import get_variable, get_variable_scope, variable_scope


def feed_argmax(embedding: object, output_projection: Any = None, update_embedding: bool = True) -> Callable:
    """A loop function `(output, step) -> input`: the embedding of the most probable symbol.

    Args:
      embedding: [symbols, size].
      output_projection: (weights, biases) applied to outputs first, or None.
      update_embedding: whether gradients flow into the embedding.
    """

    def loop_function(prev: Tensor, _: object) -> Tensor:
        if output_projection is not None:
            prev = xw_plus_b(prev, output_projection[0], output_projection[1])
        found = embedding_lookup(embedding, argmax(prev, 1))
        return found if update_embedding else stop_gradient(found)

    return loop_function


def check_projection(output_projection: Any, num_symbols: int, dtype: Any) -> None:
    """Raises ValueError where (weights, biases) do not fit `num_symbols`."""
    weights, biases = (convert_to_tensor(part, dtype=dtype) for part in output_projection)
    weights.shape.assert_is_compatible_with([None, num_symbols])
    biases.shape.assert_is_compatible_with([num_symbols])


def _next_input(given: object, prev: object, step: int, loop_function: Callable | None) -> Any:
    if loop_function is None or prev is None:
        return given
    with variable_scope("loop_function", reuse=True):
        return loop_function(prev, step)


@export("contrib.legacy_seq2seq.rnn_decoder")
def rnn_decoder(
    decoder_inputs: Iterable, initial_state: object, cell: Any, loop_function: Callable | None = None, scope: object = None
) -> tuple[list, Any]:
    """Runs a cell over a list of inputs.

    Args:
      decoder_inputs: a list of tensors [batch, depth].
      initial_state: state of the cell.
      cell: an RNNCell.
      loop_function: `(output, step) -> input`; where it is given, all inputs but the first come from it.
      scope: variable scope, "rnn_decoder" by default.

    Returns:
      the list of outputs, and the last state.
    """
    with variable_scope(scope or "rnn_decoder"):
        state, outputs, prev = initial_state, [], None
        for i, given in enumerate(decoder_inputs):
            given = _next_input(given, prev, i, loop_function)
            if i > 0:
                get_variable_scope().reuse_variables()
            prev, state = cell(given, state)
            outputs.append(prev)
    return outputs, state


@export("contrib.legacy_seq2seq.embedding_rnn_decoder")
def embedding_rnn_decoder(
    decoder_inputs: list, initial_state: object, cell: object, num_symbols: int, embedding_size: int,
    output_projection: object = None, feed_previous: bool = False, update_embedding_for_previous: bool = True, scope: object = None,
) -> tuple[list, Any]:  # fmt: skip
    """`rnn_decoder` over the embeddings of symbols.

    Args:
      decoder_inputs: a list of int32 [batch].
      initial_state: state of the cell.
      cell: an RNNCell.
      num_symbols, embedding_size: of the embedding.
      output_projection: (weights [size, num_symbols], biases [num_symbols]) from outputs to symbols, or None.
      feed_previous: whether each step is fed the most probable symbol of the one before.
      update_embedding_for_previous: whether gradients flow into the embedding of fed symbols.
      scope: variable scope, "embedding_rnn_decoder" by default.

    Returns:
      the list of outputs, and the last state.

    Raises:
      ValueError: the projection does not fit.
    """
    with variable_scope(scope or "embedding_rnn_decoder") as entered:
        if output_projection is not None:
            check_projection(output_projection, num_symbols, entered.dtype)
        embedding = get_variable("embedding", [num_symbols, embedding_size])
        feed = feed_argmax(embedding, output_projection, update_embedding_for_previous) if feed_previous else None
        inputs = (embedding_lookup(embedding, symbols) for symbols in decoder_inputs)
        return rnn_decoder(inputs, initial_state, cell, loop_function=feed)


class _Heads:
    """The attention of several heads to the same states [batch, length, size].

    Scores are `v * tanh(W1 * state + W2 * query)`, with W1 as a 1 x 1 convolution of the states: Vinyals et al., "Grammar as a
    Foreign Language", 2014.
    """

    def __init__(self, states: Tensor, num_heads: int, dtype: object) -> None:
        self._length = dimension_value(states.shape[1]) or shape_of(states)[1]
        self._size, self._dtype = dimension_value(states.shape[2]), dtype
        self._states = reshape(states, [-1, self._length, 1, self._size])
        self._features, self._vectors = [], []
        for head in range(num_heads):
            weights = get_variable(f"AttnW_{head}", [1, 1, self._size, self._size], dtype=dtype)
            self._features.append(conv2d(self._states, weights, [1, 1, 1, 1], "SAME"))
            self._vectors.append(get_variable(f"AttnV_{head}", [self._size], dtype=dtype))

    def none(self, batch_size: Any) -> list[Tensor]:
        """Zeros [batch, size] per head, for the first step."""
        shape = stack([batch_size, self._size])
        found = [zeros(shape, dtype=self._dtype) for _ in self._vectors]
        for one in found:
            one.set_shape([None, self._size])
        return found

    def read(self, query: Any) -> list[Tensor]:
        """What each head reads for a query [batch, depth] (or a nest of them)."""
        if nest.is_nested(query):
            parts = nest.flatten(query)
            for part in parts:
                if part.shape.ndims:
                    part.shape.assert_has_rank(2)
            query = concat(parts, 1)
        return [self._read_one(head, query) for head in range(len(self._vectors))]

    def _read_one(self, head: int, query: Tensor) -> Tensor:
        with variable_scope(f"Attention_{head}"):
            y = reshape(Linear(query, self._size, True)(query), [-1, 1, 1, self._size])
            y = cast(y, self._dtype)
            scores = reduce_sum(self._vectors[head] * tanh(self._features[head] + y), [2, 3])
            weights = cast(softmax(cast(scores, dtype=dtypes.float32)), self._dtype)
            found = reduce_sum(reshape(weights, [-1, self._length, 1, 1]) * self._states, [1, 2])
            return reshape(found, [-1, self._size])


def _linear(parts: list[Tensor], size: Any, dtype: object) -> Tensor:
    parts = [cast(part, dtype) for part in parts]
    return Linear(parts, size, True)(parts)


@export("contrib.legacy_seq2seq.attention_decoder")
def attention_decoder(
    decoder_inputs: list, initial_state: object, attention_states: Any, cell: Any, output_size: int | None = None,
    num_heads: int = 1, loop_function: Callable | None = None, dtype: Any = None, scope: object = None,
    initial_state_attention: bool = False,
) -> tuple[list, Any]:  # fmt: skip
    """Runs a cell over a list of inputs, with attention to `attention_states` after each step.

    Args:
      decoder_inputs: a list of tensors [batch, depth].
      initial_state: state of the cell.
      attention_states: [batch, length, size]; the size is known.
      cell: an RNNCell.
      output_size: size of the outputs; that of the cell by default.
      num_heads: number of attention heads.
      loop_function: `(output, step) -> input`; where it is given, all inputs but the first come from it.
      dtype: element type, by default the scope's.
      scope: variable scope, "attention_decoder" by default.
      initial_state_attention: whether the first step sees the attention of the initial state instead of zeros.

    Returns:
      the list of outputs [batch, output_size], and the last state.

    Raises:
      ValueError: no inputs, no heads, or an unknown size.
    """
    if not decoder_inputs:
        raise ValueError("Must provide at least 1 input to attention decoder.")
    if num_heads < 1:
        raise ValueError("With less than 1 heads, use a non-attention decoder.")
    if dimension_value(attention_states.shape[2]) is None:
        raise ValueError(f"Shape[2] of attention_states must be known: {attention_states.shape}")
    output_size = cell.output_size if output_size is None else output_size
    with variable_scope(scope or "attention_decoder", dtype=dtype) as entered:
        dtype = entered.dtype
        batch_size = shape_of(decoder_inputs[0])[0]
        heads = _Heads(attention_states, num_heads, dtype)
        state, outputs, prev = initial_state, [], None
        attended = heads.none(batch_size)
        if initial_state_attention:
            attended = heads.read(initial_state)
        for i, given in enumerate(decoder_inputs):
            if i > 0:
                get_variable_scope().reuse_variables()
            given = _next_input(given, prev, i, loop_function)
            depth = given.shape.with_rank(2)[1]
            if depth.value is None:
                raise ValueError(f"Could not infer input size from input: {given.name}")
            cell_output, state = cell(_linear([given, *attended], depth, dtype), state)
            if i == 0 and initial_state_attention:
                with variable_scope(get_variable_scope(), reuse=True):
                    attended = heads.read(state)
            else:
                attended = heads.read(state)
            with variable_scope("AttnOutputProjection"):
                parts = [cast(cell_output, dtype), *attended]
                prev = Linear(parts, output_size, True)(parts)
            outputs.append(prev)
    return outputs, state


@export("contrib.legacy_seq2seq.embedding_attention_decoder")
def embedding_attention_decoder(
    decoder_inputs: list, initial_state: object, attention_states: object, cell: Any, num_symbols: int, embedding_size: int,
    num_heads: int = 1, output_size: int | None = None, output_projection: Any = None, feed_previous: bool = False,
    update_embedding_for_previous: bool = True, dtype: Any = None, scope: object = None, initial_state_attention: bool = False,
) -> tuple[list, Any]:  # fmt: skip
    """`attention_decoder` over the embeddings of symbols.

    Args:
      decoder_inputs: a list of int32 [batch].
      initial_state, attention_states, cell, num_heads, output_size, dtype, initial_state_attention: see `attention_decoder`.
      num_symbols, embedding_size, output_projection, feed_previous, update_embedding_for_previous: see
        `embedding_rnn_decoder`.
      scope: variable scope, "embedding_attention_decoder" by default.

    Returns:
      the list of outputs [batch, output_size], and the last state.

    Raises:
      ValueError: the projection does not fit.
    """
    output_size = cell.output_size if output_size is None else output_size
    if output_projection is not None:
        biases = convert_to_tensor(output_projection[1], dtype=dtype)
        biases.shape.assert_is_compatible_with([num_symbols])
    with variable_scope(scope or "embedding_attention_decoder", dtype=dtype):
        embedding = get_variable("embedding", [num_symbols, embedding_size])
        feed = feed_argmax(embedding, output_projection, update_embedding_for_previous) if feed_previous else None
        inputs = [embedding_lookup(embedding, symbols) for symbols in decoder_inputs]
        return attention_decoder(
            inputs, initial_state, attention_states, cell, output_size=output_size, num_heads=num_heads,
            loop_function=feed, initial_state_attention=initial_state_attention,
        )  # fmt: skip
