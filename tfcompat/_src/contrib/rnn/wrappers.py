"""Cells around a cell: embedding, projections, highway connections, attention over the last outputs, compilation."""

from __future__ import annotations

import math
from typing import Any

from tfcompat._src.base import nest
from tfcompat._src.base.export import export
from tfcompat._src.contrib.compiler.jit import experimental_jit_scope
from tfcompat._src.contrib.rnn.linear import Linear
from tfcompat._src.graph import op_spec
from tfcompat._src.graph.scopes import device, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.shape import expand_dims, reshape
from tfcompat._src.ops.array.slice import slice_ as slice_of
from tfcompat._src.ops.math.reduce import reduce_sum
from tfcompat._src.ops.math.unary import sigmoid, tanh
from tfcompat._src.ops.nn.bias import xw_plus_b
from tfcompat._src.ops.nn.conv_functions import conv2d
from tfcompat._src.ops.nn.embedding import embedding_lookup
from tfcompat._src.ops.nn.softmax import softmax
from tfcompat._src.platform import logging
from tfcompat._src.rnn.basic_cells import warn_of_joined_state
from tfcompat._src.rnn.cell import RNNCell, assert_like_rnncell
from tfcompat._src.variables.initializers import Constant, RandomUniform
from tfcompat._src.variables.scope import get_variable, get_variable_scope, variable_scope


class _Around(RNNCell):
    """A cell around another, with its sizes and its zero state."""

    def __init__(self, cell: Any, reuse: Any = None) -> None:
        super().__init__(_reuse=reuse)
        self._cell = cell

    state_size = property(lambda self: self._cell.state_size)
    output_size = property(lambda self: self._cell.output_size)

    def zero_state(self, batch_size: object, dtype: object) -> Any:
        with name_scope(type(self).__name__ + "ZeroState", values=[batch_size]):
            return self._cell.zero_state(batch_size, dtype)


@export("contrib.rnn.EmbeddingWrapper")
class EmbeddingWrapper(_Around):
    """A cell whose inputs are the embeddings of integers.

    Args:
      cell: an RNNCell.
      embedding_classes: number of symbols. embedding_size: size of their vectors.
      initializer: of the embeddings; the scope's, or uniform in [-sqrt(3), sqrt(3)], by default.
      reuse: whether the variables must exist.

    Raises:
      TypeError: `cell` is no cell. ValueError: a number is not positive.
    """

    def __init__(self, cell, embedding_classes, embedding_size, initializer=None, reuse=None) -> None:
        super().__init__(cell, reuse)
        assert_like_rnncell("cell", cell)
        if embedding_classes <= 0 or embedding_size <= 0:
            raise ValueError(
                f"Both embedding_classes and embedding_size must be > 0: {embedding_classes}, {embedding_size}."
            )
        self._embedding_classes, self._embedding_size = embedding_classes, embedding_size
        self._initializer = initializer

    def call(self, inputs: Tensor, state: Any) -> tuple[Any, Any]:
        with device("/cpu:0"):
            initializer = self._initializer or get_variable_scope().initializer
            if not initializer:
                initializer = RandomUniform(-math.sqrt(3), math.sqrt(3))
            embedding = get_variable(
                "embedding", [self._embedding_classes, self._embedding_size], initializer=initializer,
                dtype=(state[0] if isinstance(state, tuple) else state).dtype,
            )  # fmt: skip
            return self._cell(embedding_lookup(embedding, reshape(inputs, [-1])), state)


@export("contrib.rnn.InputProjectionWrapper")
class InputProjectionWrapper(_Around):
    """A cell whose inputs are projected first.

    Args:
      cell: an RNNCell.
      num_proj: size of the projected inputs.
      activation: function of them, or None.
      input_size: not used.
      reuse: whether the variables must exist.
    """

    def __init__(self, cell, num_proj, activation=None, input_size=None, reuse=None) -> None:
        super().__init__(cell, reuse)
        if input_size is not None:
            logging.warn("%s: The input_size parameter is deprecated.", self)
        assert_like_rnncell("cell", cell)
        self._num_proj, self._activation, self._linear = num_proj, activation, None

    def call(self, inputs: Tensor, state: Any) -> tuple[Any, Any]:
        self._linear = self._linear or Linear(inputs, self._num_proj, True)
        projected = self._linear(inputs)
        return self._cell(self._activation(projected) if self._activation else projected, state)


@export("contrib.rnn.OutputProjectionWrapper")
class OutputProjectionWrapper(_Around):
    """A cell whose outputs are projected.

    Args:
      cell: an RNNCell.
      output_size: size of the projected outputs.
      activation: function of them, or None.
      reuse: whether the variables must exist.

    Raises:
      ValueError: `output_size` is not positive.
    """

    def __init__(self, cell, output_size, activation=None, reuse=None) -> None:
        super().__init__(cell, reuse)
        assert_like_rnncell("cell", cell)
        if output_size < 1:
            raise ValueError(f"Parameter output_size must be > 0: {output_size}.")
        self._output_size, self._activation, self._linear = output_size, activation, None

    output_size = property(lambda self: self._output_size)

    def call(self, inputs: Tensor, state: Any) -> tuple[Any, Any]:
        output, new_state = self._cell(inputs, state)
        self._linear = self._linear or Linear(output, self._output_size, True)
        projected = self._linear(output)
        return self._activation(projected) if self._activation else projected, new_state


@export("contrib.rnn.HighwayWrapper")
class HighwayWrapper(_Around):
    """A cell whose outputs are mixed with its inputs by gates; Srivastava, Greff and Schmidhuber, arXiv 1505.00387.

    Args:
      cell: an RNNCell whose outputs have the shape of its inputs.
      couple_carry_transform_gates: whether the weight of the outputs is 1 less that of the inputs.
      carry_bias_init: initial bias of the gate of the inputs; its negative for the other.
    """

    def __init__(self, cell, couple_carry_transform_gates=True, carry_bias_init=1.0) -> None:
        super().__init__(cell)
        self._coupled, self._carry_bias_init = couple_carry_transform_gates, carry_bias_init

    def _gate(self, x: Tensor, name: str, bias: float) -> Tensor:
        size = x.shape.with_rank(2).as_list()[1]
        weights = get_variable(f"{name}_w", [size, size])
        return sigmoid(xw_plus_b(x, weights, get_variable(f"{name}_b", [size], initializer=Constant(bias))))

    def _highway(self, x: Tensor, output: Tensor) -> Tensor:
        carry = self._gate(x, "carry", self._carry_bias_init)
        transform = 1 - carry if self._coupled else self._gate(x, "transform", -self._carry_bias_init)
        return x * carry + output * transform

    def __call__(self, inputs: object, state: object, scope: object = None) -> tuple[Any, Any]:
        outputs, new_state = self._cell(inputs, state, scope=scope)
        nest.assert_same_structure(inputs, outputs)
        nest.map_structure(lambda i, o: i.shape.assert_is_compatible_with(o.shape), inputs, outputs)
        return nest.map_structure(self._highway, inputs, outputs), new_state


@export("contrib.rnn.CompiledWrapper")
class CompiledWrapper(_Around):
    """A cell whose nodes say that XLA should compile them.

    Args:
      cell: an RNNCell.
      compile_stateful: whether stateful ops too.
    """

    def __init__(self, cell, compile_stateful=False) -> None:
        super().__init__(cell)
        self._compile_stateful = compile_stateful

    def __call__(self, inputs: object, state: object, scope: object = None) -> tuple[Any, Any]:
        compiled = self._compile_stateful or (lambda node: not op_spec.get(node.op).effects.is_stateful)
        with experimental_jit_scope(compile_ops=compiled):
            return self._cell(inputs, state, scope=scope)


@export("contrib.rnn.AttentionCellWrapper")
class AttentionCellWrapper(RNNCell):
    """A cell that attends to its last outputs; Cheng, Dong and Lapata, arXiv 1601.06733.

    Args:
      cell: an RNNCell.
      attn_length: number of outputs that are kept.
      attn_size: size of the outputs; by default the cell's. attn_vec_size: of the features; by default `attn_size`.
      input_size: of the inputs of `cell`; by default that of the inputs.
      state_is_tuple: whether the state is the tuple (state of the cell, attention, kept outputs).
      reuse: whether the variables must exist.

    Raises:
      TypeError: `cell` is no cell. ValueError: the cell's state is a tuple and `state_is_tuple` is not set, or
      `attn_length` is not positive.
    """

    def __init__(
        self, cell, attn_length, attn_size=None, attn_vec_size=None, input_size=None, state_is_tuple=True, reuse=None
    ) -> None:
        super().__init__(_reuse=reuse)
        assert_like_rnncell("cell", cell)
        if nest.is_nested(cell.state_size) and not state_is_tuple:
            raise ValueError(
                "Cell returns tuple of states, but the flag state_is_tuple is not set. "
                f"State size is: {cell.state_size}"
            )
        if attn_length <= 0:
            raise ValueError(f"attn_length should be greater than zero, got {attn_length}")
        warn_of_joined_state(self, state_is_tuple)
        self._cell, self._state_is_tuple, self._input_size = cell, state_is_tuple, input_size
        self._attn_length = attn_length
        self._attn_size = cell.output_size if attn_size is None else attn_size
        self._attn_vec_size = self._attn_size if attn_vec_size is None else attn_vec_size
        self._linear1 = self._linear2 = self._linear3 = None

    @property
    def state_size(self) -> Any:
        sizes = (self._cell.state_size, self._attn_size, self._attn_size * self._attn_length)
        return sizes if self._state_is_tuple else sum(sizes)

    output_size = property(lambda self: self._attn_size)

    def _parts(self, state: Any) -> tuple[Any, Tensor, Tensor]:
        if self._state_is_tuple:
            return state
        own, size = self._cell.state_size, self._attn_size
        return (
            slice_of(state, [0, 0], [-1, own]), slice_of(state, [0, own], [-1, size]),
            slice_of(state, [0, own + size], [-1, size * self._attn_length]),
        )  # fmt: skip

    def call(self, inputs: Tensor, state: Any) -> tuple[Tensor, Any]:
        state, attns, attn_states = self._parts(state)
        attn_states = reshape(attn_states, [-1, self._attn_length, self._attn_size])
        input_size = inputs.shape.as_list()[1] if self._input_size is None else self._input_size
        self._linear1 = self._linear1 or Linear([inputs, attns], input_size, True)
        output, new_state = self._cell(self._linear1([inputs, attns]), state)
        query = concat(nest.flatten(new_state), 1) if self._state_is_tuple else new_state
        new_attns, kept = self._attention(query, attn_states)
        with variable_scope("attn_output_projection"):
            self._linear2 = self._linear2 or Linear([output, new_attns], self._attn_size, True)
            output = self._linear2([output, new_attns])
        kept = reshape(concat([kept, expand_dims(output, 1)], 1), [-1, self._attn_length * self._attn_size])
        parts = (new_state, new_attns, kept)
        return output, parts if self._state_is_tuple else concat(list(parts), 1)

    def _attention(self, query: Tensor, attn_states: Tensor) -> tuple[Tensor, Tensor]:
        length, size, vec_size = self._attn_length, self._attn_size, self._attn_vec_size
        with variable_scope("attention"):
            k = get_variable("attn_w", [1, 1, size, vec_size])
            v = get_variable("attn_v", [vec_size])
            hidden = reshape(attn_states, [-1, length, 1, size])
            features = conv2d(hidden, k, [1, 1, 1, 1], "SAME")
            self._linear3 = self._linear3 or Linear(query, vec_size, True)
            y = reshape(self._linear3(query), [-1, 1, 1, vec_size])
            weights = softmax(reduce_sum(v * tanh(features + y), [2, 3]))
            read = reduce_sum(reshape(weights, [-1, length, 1, 1]) * hidden, [1, 2])
            return reshape(read, [-1, size]), slice_of(attn_states, [0, 1, 0], [-1, -1, -1])
