"""Cells of recurrent networks before TensorFlow 1.0: their weights belong to the variable scope of each call, under the names of that time.

So one cell that a list holds twice has weights of its own at both places, a cell shares weights where its scope is reused, and checkpoints
of that time have the names that these weights have.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from typing import Any

from tfcompat._src.base import nest
from tfcompat._src.cli.tf0.operations import dropout, embedding_lookup, split
from tfcompat._src.cli.tf0.version import CURRENT
from tfcompat._src.graph.scopes import device
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.shape import reshape
from tfcompat._src.ops.math.clip import clip_by_value
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.math.unary import sigmoid, tanh
from tfcompat._src.ops.nn.bias import bias_add
from tfcompat._src.rnn.basic_cells import LSTMStateTuple
from tfcompat._src.rnn.cell import assert_like_rnncell, zero_state_tensors
from tfcompat._src.variables.initializers import Constant, RandomUniform, Zeros
from tfcompat._src.variables.scope import get_variable, get_variable_scope, variable_scope

Activation = Callable[[Any], Tensor]


def linear(args: Any, output_size: Any, bias: bool, bias_start: float = 0.0, scope: Any = None) -> Tensor:
    """The sum of matrices [batch, depth], each multiplied by weights, and of a bias that starts as `bias_start`."""
    if args is None or (nest.is_nested(args) and not args):
        raise ValueError("`args` must be specified")
    args = list(args) if nest.is_nested(args) else [args]
    shapes = [each.shape.as_list() for each in args]
    if any(len(shape) != 2 for shape in shapes):
        raise ValueError(f"Linear is expecting 2D arguments: {shapes}")
    if not all(shape[1] for shape in shapes):
        raise ValueError(f"Linear expects shape[1] of arguments: {shapes}")
    dtype = args[0].dtype
    with variable_scope(scope or "Linear"):
        weights = get_variable("Matrix", [sum(shape[1] for shape in shapes), output_size], dtype=dtype)
        product = matmul(args[0] if len(args) == 1 else concat(args, 1), weights)
        if not bias:
            return product
        added = get_variable("Bias", [output_size], dtype=dtype, initializer=Constant(bias_start, dtype=dtype))
    return product + added


class RNNCell:
    """One step of a recurrent network: `output, state = cell(inputs, state, scope)`.

    A subclass has `state_size` and `output_size`, and makes its variables in `scope`, or in one of its class's name.
    """

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        raise NotImplementedError("Abstract method")

    @property
    def state_size(self) -> Any:
        raise NotImplementedError("Abstract method")

    @property
    def output_size(self) -> Any:
        raise NotImplementedError("Abstract method")

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """Zeros [batch, size] in the structure of `state_size`."""
        return zero_state_tensors(self.state_size, batch_size, dtype)

    def _scope(self, scope: Any, **settings: Any) -> Any:
        return variable_scope(scope or type(self).__name__, **settings)


class _Units(RNNCell):
    """A cell whose state and output have one size."""

    def __init__(self, num_units: int, input_size: object = None, activation: Activation = tanh) -> None:
        self._num_units, self._activation = num_units, activation
        warn_of_input_size(self, input_size)

    state_size = output_size = property(lambda self: self._num_units)  # type: ignore[assignment]


def warn_of_input_size(cell: RNNCell, input_size: object) -> None:
    if input_size is not None:
        logging.getLogger("tensorflow").warning("%s: The input_size parameter is deprecated.", cell)


class BasicRNNCell(_Units):
    """`activation(W * [input, state] + b)`."""

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        with self._scope(scope):
            output = self._activation(linear([inputs, state], self._num_units, True))
        return output, output


class GRUCell(_Units):
    """Cho et al., 2014: gates to reset the state and to update it."""

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        with self._scope(scope):
            with variable_scope("Gates"):
                gates = linear([inputs, state], 2 * self._num_units, True, 1.0)
                reset, update = map(sigmoid, split(gates, 2, 1))
            with variable_scope("Candidate"):
                candidate = self._activation(linear([inputs, reset * state], self._num_units, True))
            state = update * state + (1 - update) * candidate
        return state, state


class _LSTM(RNNCell):
    """A cell with two parts of its state: a tuple of them, or one tensor [batch, size of both]."""

    def __init__(self, sizes: tuple[int, int], forget_bias: float, state_is_tuple: bool | None, activation: Activation) -> None:
        self._num_units, self._sizes = sizes[0], sizes
        self._forget_bias, self._activation = forget_bias, activation
        self._state_is_tuple = CURRENT.lstm_state_is_tuple() if state_is_tuple is None else state_is_tuple

    @property
    def state_size(self) -> Any:
        return LSTMStateTuple(*self._sizes) if self._state_is_tuple else sum(self._sizes)

    @property
    def output_size(self) -> Any:
        return self._sizes[1]

    def _parts(self, state: Any) -> Any:
        return state if self._state_is_tuple else split(state, list(self._sizes), 1)

    def _state(self, c: Tensor, h: Tensor) -> Any:
        return LSTMStateTuple(c, h) if self._state_is_tuple else concat([c, h], 1)


class BasicLSTMCell(_LSTM):
    """Zaremba et al., 2014: an LSTM without projection and without connections from its state to its gates."""

    def __init__(
        self, num_units: int, forget_bias: float = 1.0, input_size: object = None, state_is_tuple: bool | None = None, activation: Activation = tanh
    ) -> None:
        super().__init__((num_units, num_units), forget_bias, state_is_tuple, activation)
        warn_of_input_size(self, input_size)

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        with self._scope(scope):
            c, h = self._parts(state)
            write, new, forget, read = split(linear([inputs, h], 4 * self._num_units, True), 4, 1)
            c = c * sigmoid(forget + self._forget_bias) + sigmoid(write) * self._activation(new)
            h = self._activation(c) * sigmoid(read)
            return h, self._state(c, h)


class LSTMCell(_LSTM):
    """Sak et al., 2014: an LSTM with connections from its state to its gates, and a projection of its output, where they are asked for."""

    def __init__(
        self, num_units: int, input_size: object = None, use_peepholes: bool = False, cell_clip: float | None = None, initializer: Any = None,
        num_proj: int | None = None, proj_clip: float | None = None, num_unit_shards: int = 1, num_proj_shards: int = 1, forget_bias: float = 1.0,
        state_is_tuple: bool | None = None, activation: Activation = tanh,
    ) -> None:  # fmt: skip
        super().__init__((num_units, num_proj or num_units), forget_bias, state_is_tuple, activation)
        warn_of_input_size(self, input_size)
        self._use_peepholes, self._cell_clip, self._initializer = use_peepholes, cell_clip, initializer
        self._num_proj, self._proj_clip = num_proj, proj_clip
        self._num_unit_shards, self._num_proj_shards = num_unit_shards, num_proj_shards

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        dtype, units = inputs.dtype, self._num_units
        depth = inputs.shape.with_rank(2).as_list()[1]
        if depth is None:
            raise ValueError("Could not infer input size from inputs.get_shape()[-1]")
        with self._scope(scope, initializer=self._initializer):
            c, h = self._parts(state)
            weights = sharded("W", [depth + self._sizes[1], 4 * units], dtype, self._num_unit_shards)
            bias = get_variable("B", [4 * units], dtype=dtype, initializer=Zeros())
            write, new, forget, read = split(bias_add(matmul(concat([inputs, h], 1), weights), bias), 4, 1)
            forget = forget + self._forget_bias
            peep_forget = peep_write = peep_read = None
            if self._use_peepholes:
                peep_forget, peep_write, peep_read = (get_variable(f"W_{gate}_diag", [units], dtype=dtype) for gate in "FIO")
                forget, write = forget + peep_forget * c, write + peep_write * c
            c = sigmoid(forget) * c + sigmoid(write) * self._activation(new)
            c = _clipped(c, self._cell_clip)
            h = sigmoid(read if peep_read is None else read + peep_read * c) * self._activation(c)
            if self._num_proj is not None:
                h = matmul(h, sharded("W_P", [units, self._num_proj], dtype, self._num_proj_shards))
                h = _clipped(h, self._proj_clip)
            return h, self._state(c, h)


def _clipped(value: Tensor, limit: float | None) -> Tensor:
    return value if limit is None else clip_by_value(value, -limit, limit)


def sharded(name: str, shape: Sequence[int], dtype: Any, count: int) -> Any:
    """A matrix in `count` variables, `name_0` and so on, with the rows that are left over in the first ones."""
    if count > shape[0]:
        raise ValueError(f"Too many shards: shape={shape}, num_shards={count}")
    rows, over = divmod(shape[0], count)
    parts = [get_variable(f"{name}_{i}", [rows + (i < over), *shape[1:]], dtype=dtype) for i in range(count)]
    return parts[0] if count == 1 else concat(parts, 0, name=f"{name}/concat")


class _Wrapper(RNNCell):
    """A cell that changes what goes into another one, or what comes out of it."""

    def __init__(self, cell: Any) -> None:
        assert_like_rnncell("cell", cell)
        self._cell = cell

    @property
    def state_size(self) -> Any:
        return self._cell.state_size

    @property
    def output_size(self) -> Any:
        return self._cell.output_size


class OutputProjectionWrapper(_Wrapper):
    """A cell whose outputs are projected."""

    def __init__(self, cell: Any, output_size: int) -> None:
        super().__init__(cell)
        if output_size < 1:
            raise ValueError(f"Parameter output_size must be > 0: {output_size}.")
        self._output_size = output_size

    @property
    def output_size(self) -> Any:
        return self._output_size

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        output, state = self._cell(inputs, state)
        with self._scope(scope):
            return linear(output, self._output_size, True), state


class InputProjectionWrapper(_Wrapper):
    """A cell whose inputs are projected."""

    def __init__(self, cell: Any, num_proj: int, input_size: object = None) -> None:
        super().__init__(cell)
        warn_of_input_size(self, input_size)
        self._num_proj = num_proj

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        with self._scope(scope):
            projected = linear(inputs, self._num_proj, True)
        return self._cell(projected, state)


class DropoutWrapper(_Wrapper):
    """A cell with dropout of its inputs and outputs."""

    def __init__(self, cell: Any, input_keep_prob: Any = 1.0, output_keep_prob: Any = 1.0, seed: int | None = None) -> None:
        super().__init__(cell)
        for which, value in (("input", input_keep_prob), ("output", output_keep_prob)):
            if isinstance(value, float) and not 0 <= value <= 1:
                raise ValueError(f"Parameter {which}_keep_prob must be between 0 and 1: {value}")
        self._input_keep_prob, self._output_keep_prob, self._seed = input_keep_prob, output_keep_prob, seed

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        output, state = self._cell(self._dropped(inputs, self._input_keep_prob), state, scope)
        return self._dropped(output, self._output_keep_prob), state

    def _dropped(self, value: Any, keep_prob: Any) -> Any:
        return value if isinstance(keep_prob, float) and keep_prob >= 1 else dropout(value, keep_prob, seed=self._seed)


class EmbeddingWrapper(_Wrapper):
    """A cell that takes numbers of symbols, and gives another one their embeddings."""

    def __init__(self, cell: Any, embedding_classes: int, embedding_size: int, initializer: Any = None) -> None:
        super().__init__(cell)
        if embedding_classes <= 0 or embedding_size <= 0:
            raise ValueError(f"Both embedding_classes and embedding_size must be > 0: {embedding_classes}, {embedding_size}.")
        self._shape, self._initializer = [embedding_classes, embedding_size], initializer

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        with self._scope(scope), device("/cpu:0"):
            limit = math.sqrt(3)  # for a variance of 1
            initializer = self._initializer or get_variable_scope().initializer or RandomUniform(-limit, limit)
            dtype = (state[0] if type(state) is tuple else state).dtype
            embedding = get_variable("embedding", self._shape, initializer=initializer, dtype=dtype)
            embedded = embedding_lookup(embedding, reshape(inputs, [-1]))
        return self._cell(embedded, state)


class MultiRNNCell(RNNCell):
    """A cell of several, one above the other: each has a scope of its own, also where the list holds one cell several times."""

    def __init__(self, cells: Sequence[Any], state_is_tuple: bool | None = None) -> None:
        if not cells:
            raise ValueError("Must specify at least one cell for MultiRNNCell.")
        self._cells = cells
        self._state_is_tuple = CURRENT.lstm_state_is_tuple() if state_is_tuple is None else state_is_tuple
        if not self._state_is_tuple and any(nest.is_nested(cell.state_size) for cell in cells):
            raise ValueError(
                f"Some cells return tuples of states, but the flag state_is_tuple is not set.  State sizes are: {[cell.state_size for cell in cells]}"
            )

    @property
    def state_size(self) -> Any:
        sizes = tuple(cell.state_size for cell in self._cells)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> Any:
        return self._cells[-1].output_size

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        with self._scope(scope):
            if self._state_is_tuple and not nest.is_nested(state):
                raise ValueError(f"Expected state to be a tuple of length {len(self.state_size)}, but received: {state}")
            states = state if self._state_is_tuple else split(state, [cell.state_size for cell in self._cells], 1)
            new_states = []
            for number, (cell, before) in enumerate(zip(self._cells, states, strict=True)):
                with variable_scope(f"Cell{number}"):
                    inputs, after = cell(inputs, before)
                    new_states.append(after)
            return inputs, tuple(new_states) if self._state_is_tuple else concat(new_states, 1)


NAMES: dict[str, Any] = {
    cell.__name__: cell
    for cell in (
        RNNCell, BasicRNNCell, GRUCell, BasicLSTMCell, LSTMCell, OutputProjectionWrapper, InputProjectionWrapper, DropoutWrapper, EmbeddingWrapper,
        MultiRNNCell, LSTMStateTuple,
    )
} | {"_linear": linear, "linear": linear}  # fmt: skip
