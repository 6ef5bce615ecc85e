"""AttentionWrapper: a cell that looks at a memory after each step."""

from __future__ import annotations

import collections
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes, nest
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape, dimension_value
from tfcompat._src.contrib.framework.shapes import with_same_shape
from tfcompat._src.contrib.seq2seq.attention import AttentionMechanism
from tfcompat._src.contrib.seq2seq.attention_scores import size_along
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.engine.base_layer import Layer
from tfcompat._src.layers.core import Dense
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.shape import expand_dims, squeeze
from tfcompat._src.ops.composed.check_ops import assert_equal
from tfcompat._src.ops.flow.tensor_array import TensorArray
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.rnn.cell import RNNCell, assert_like_rnncell, zero_state_tensors

if TYPE_CHECKING:
    from tfcompat._src.base.dtypes import DTypeLike

_FIELDS = ("cell_state", "attention", "time", "alignments", "alignment_history", "attention_state")


@export("contrib.seq2seq.AttentionWrapperState")
class AttentionWrapperState(collections.namedtuple("AttentionWrapperState", _FIELDS)):
    """The state of an AttentionWrapper.

    `cell_state`: of the wrapped cell; `attention`: the last attention [batch, size]; `time`: int32 scalar;
    `alignments`: the last weights [batch, memory time]; `alignment_history`: TensorArray of all weights, or ();
    `attention_state`: of the mechanism. The last three are tuples where there are several mechanisms.
    """

    def clone(self, **kwargs: Any) -> AttentionWrapperState:
        """This state with other fields in place of some, whose shapes are checked to be the same.

        Raises:
          ValueError: a shape differs.
        """

        def checked(old: object, new: object) -> Any:
            return with_same_shape(old, new) if isinstance(old, Tensor) and isinstance(new, Tensor) else new

        return nest.map_structure(checked, self, self._replace(**kwargs))


def _compute_attention(mechanism: Any, cell_output: Tensor, attention_state: Any, attention_layer: Any) -> tuple:
    """The attention of one mechanism, its weights, and its next state."""
    if isinstance(mechanism, Layer):
        alignments, next_state = mechanism([cell_output, attention_state])
    else:
        alignments, next_state = mechanism(cell_output, state=attention_state)
    context = squeeze(matmul(expand_dims(alignments, 1), mechanism.values), [1])
    attention = context if attention_layer is None else attention_layer(concat([cell_output, context], 1))
    return attention, alignments, next_state


def _joined(inputs: Tensor, attention: Tensor) -> Tensor:
    return concat([inputs, attention], -1)


def _as_tuple(value: object) -> tuple:
    return tuple(value) if isinstance(value, (list, tuple)) else (value,)


_TILE_HINT = "Are you using the BeamSearchDecoder?"
_NO_MATCH = "Non-matching batch sizes between the memory (encoder output) and "


@export("contrib.seq2seq.AttentionWrapper")
class AttentionWrapper(RNNCell):
    """A cell whose inputs and outputs hold the attention to one or several memories.

    Args:
      cell: an RNNCell.
      attention_mechanism: an AttentionMechanism, or a list of them.
      attention_layer_size: size of a Dense layer over cell output and context, or a list with one per mechanism; without
        it the attention is the context.
      alignment_history: whether the state keeps the weights of all steps.
      cell_input_fn: `(inputs, attention) -> cell inputs`; joins them by default.
      output_attention: whether the output is the attention instead of the cell's output.
      initial_cell_state: state of the cell in `zero_state`; zeros by default.
      name: name of the cell.
      attention_layer: layer (or list of layers) to use in place of `attention_layer_size`.
      attention_fn: `(mechanism, cell_output, attention_state, attention_layer) -> (attention, alignments, next_state)`.
      dtype: see RNNCell.

    Raises:
      TypeError, ValueError: an argument is not of its type, or numbers of mechanisms and layers differ.
    """

    def __init__(
        self, cell, attention_mechanism, attention_layer_size=None, alignment_history=False, cell_input_fn=None,
        output_attention=True, initial_cell_state=None, name=None, attention_layer=None, attention_fn=None, dtype=None,
    ) -> None:  # fmt: skip
        super().__init__(name=name, dtype=dtype)
        assert_like_rnncell("cell", cell)
        self._is_multi = isinstance(attention_mechanism, (list, tuple))
        self._attention_mechanisms = attention_mechanism if self._is_multi else (attention_mechanism,)
        self._check_mechanisms()
        if cell_input_fn is not None and not callable(cell_input_fn):
            raise TypeError(f"cell_input_fn must be callable, saw type: {type(cell_input_fn).__name__}")
        if attention_layer_size is not None and attention_layer is not None:
            raise ValueError("Only one of attention_layer_size and attention_layer should be set")
        self._cell = cell
        self._cell_input_fn = _joined if cell_input_fn is None else cell_input_fn
        self._attention_fn = _compute_attention if attention_fn is None else attention_fn
        self._output_attention, self._alignment_history = output_attention, alignment_history
        self._attention_layers, self._attention_layer_size = self._attention_layers_of(attention_layer_size, attention_layer)
        with name_scope(name, "AttentionWrapperInit"):
            self._initial_cell_state = self._checked_initial(initial_cell_state)

    def _check_mechanisms(self) -> None:
        expected = (
            "attention_mechanism must contain only instances of AttentionMechanism"
            if self._is_multi
            else "attention_mechanism must be an AttentionMechanism or list of multiple AttentionMechanism instances"
        )
        for mechanism in self._attention_mechanisms:
            if not isinstance(mechanism, AttentionMechanism):
                raise TypeError(f"{expected}, saw type: {type(mechanism).__name__}")

    def _attention_layers_of(self, sizes: object, layers: object) -> tuple[tuple | None, int]:
        """The attention layers, if there are any, and the size of the attention."""
        mechanisms = self._attention_mechanisms
        depths = [dimension_value(mechanism.values.shape[-1]) for mechanism in mechanisms]
        if sizes is not None:
            sizes = _as_tuple(sizes)
            _check_count("attention_layer_size", "integer", sizes, mechanisms)
            made = [
                Dense(size, name="attention_layer", use_bias=False, dtype=mechanism.dtype)
                for size, mechanism in zip(sizes, mechanisms)
            ]
            return tuple(made), sum(sizes)
        if layers is None:
            return None, sum(depths)
        layers = _as_tuple(layers)
        _check_count("attention_layer", "layer", layers, mechanisms)
        shapes = [layer.compute_output_shape([None, self._cell.output_size + d]) for layer, d in zip(layers, depths)]
        return layers, sum(dimension_value(shape[-1]) for shape in shapes)

    def _checked_initial(self, state: object) -> Any:
        if state is None:
            return None
        message = (
            f"When constructing AttentionWrapper {self._base_name}: {_NO_MATCH}initial_cell_state.  {_TILE_HINT}  You may need "
            "to tile your initial state via the tf.contrib.seq2seq.tile_batch function with argument multiple=beam_width."
        )
        batch_size = size_along(nest.flatten(state)[-1], 0)
        with control_dependencies(self._batch_size_checks(batch_size, message)):
            return nest.map_structure(lambda s: identity(s, name="check_initial_cell_state"), state)

    def _batch_size_checks(self, batch_size: object, message: str) -> list:
        return [assert_equal(batch_size, m.batch_size, message=message) for m in self._attention_mechanisms]

    def _item_or_tuple(self, items: Iterable) -> Any:
        found = tuple(items)
        return found if self._is_multi else found[0]

    @property
    def output_size(self) -> Any:
        return self._attention_layer_size if self._output_attention else self._cell.output_size

    @property
    def state_size(self) -> AttentionWrapperState:
        mechanisms, keeps = self._attention_mechanisms, self._alignment_history
        return AttentionWrapperState(
            cell_state=self._cell.state_size,
            time=TensorShape([]),
            attention=self._attention_layer_size,
            alignments=self._item_or_tuple(m.alignments_size for m in mechanisms),
            attention_state=self._item_or_tuple(m.state_size for m in mechanisms),
            alignment_history=self._item_or_tuple(m.alignments_size if keeps else () for m in mechanisms),
        )

    def zero_state(self, batch_size: object, dtype: DTypeLike) -> AttentionWrapperState:
        """The state before the first step, with `initial_cell_state` where that was given."""
        mechanisms = self._attention_mechanisms
        with name_scope(type(self).__name__ + "ZeroState", values=[batch_size]):
            cell_state = self._initial_cell_state
            if cell_state is None:
                cell_state = self._cell.get_initial_state(batch_size=batch_size, dtype=dtype)
            message = (
                f"When calling zero_state of AttentionWrapper {self._base_name}: {_NO_MATCH}the requested batch size.  "
                f"{_TILE_HINT}  If so, make sure your encoder output has been tiled to beam_width via "
                "tf.contrib.seq2seq.tile_batch, and the batch_size= argument passed to zero_state is batch_size * beam_width."
            )
            with control_dependencies(self._batch_size_checks(batch_size, message)):
                cell_state = nest.map_structure(lambda s: identity(s, name="checked_cell_state"), cell_state)
            alignments = [m.initial_alignments(batch_size, dtype) for m in mechanisms]
            return AttentionWrapperState(
                cell_state=cell_state,
                time=zeros([], dtype=dtypes.int32),
                attention=zero_state_tensors(self._attention_layer_size, batch_size, dtype),
                alignments=self._item_or_tuple(alignments),
                attention_state=self._item_or_tuple(m.initial_state(batch_size, dtype) for m in mechanisms),
                alignment_history=self._item_or_tuple(self._history(a.shape, dtype) for a in alignments),
            )

    def _history(self, shape: TensorShape, dtype: object) -> Any:
        return TensorArray(dtype, size=0, dynamic_size=True, element_shape=shape) if self._alignment_history else ()

    def call(self, inputs: Any, state: Any) -> tuple[Any, AttentionWrapperState]:
        if not isinstance(state, AttentionWrapperState):
            raise TypeError(
                f"Expected state to be instance of AttentionWrapperState. Received type {type(state)} instead."
            )
        cell_output, cell_state = self._cell(self._cell_input_fn(inputs, state.attention), state.cell_state)
        message = (
            f"When applying AttentionWrapper {self.name}: {_NO_MATCH}the query (decoder output).  {_TILE_HINT}  You may need to "
            "tile your memory input via the tf.contrib.seq2seq.tile_batch function with argument multiple=beam_width."
        )
        with control_dependencies(self._batch_size_checks(size_along(cell_output, 0), message)):
            cell_output = identity(cell_output, name="checked_cell_output")
        found = self._attend(cell_output, state)
        attention = concat([one.attention for one in found], 1)
        next_state = AttentionWrapperState(
            time=state.time + 1,
            cell_state=cell_state,
            attention=attention,
            attention_state=self._item_or_tuple(one.state for one in found),
            alignments=self._item_or_tuple(one.alignments for one in found),
            alignment_history=self._item_or_tuple(one.history for one in found),
        )
        return (attention if self._output_attention else cell_output), next_state

    def _attend(self, cell_output: Tensor, state: AttentionWrapperState) -> list[_Attended]:
        """What each mechanism finds."""
        states = state.attention_state if self._is_multi else [state.attention_state]
        histories = state.alignment_history if self._is_multi else [state.alignment_history]
        layers = self._attention_layers or [None] * len(states)
        found = []
        for mechanism, before, history, layer in zip(self._attention_mechanisms, states, histories, layers):
            attention, alignments, after = self._attention_fn(mechanism, cell_output, before, layer)
            kept = history.write(state.time, alignments) if self._alignment_history else ()
            found.append(_Attended(attention, alignments, after, kept))
        return found


_Attended = collections.namedtuple("_Attended", ("attention", "alignments", "state", "history"))


def _check_count(argument: str, what: str, given: tuple, mechanisms: Any) -> None:
    if len(given) != len(mechanisms):
        raise ValueError(
            f"If provided, {argument} must contain exactly one {what} per attention_mechanism, "
            f"saw: {len(given)} vs {len(mechanisms)}"
        )
