"""BasicDecoder: a cell, a helper that feeds it, and perhaps a layer on top."""

from __future__ import annotations

import collections
from typing import Any

from tfcompat._src.base import nest
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.contrib.seq2seq.decoder import BaseDecoder, Decoder
from tfcompat._src.contrib.seq2seq.helpers import Helper
from tfcompat._src.contrib.seq2seq.sampler import Sampler
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.keras.engine import base_layer
from tfcompat._src.layers.scoped_layer import Layer
from tfcompat._src.rnn.cell import assert_like_rnncell


@export("contrib.seq2seq.BasicDecoderOutput")
class BasicDecoderOutput(collections.namedtuple("BasicDecoderOutput", ("rnn_output", "sample_id"))):
    """`rnn_output`: what the cell (and the layer on it) gives; `sample_id`: the sample taken of it."""


def output_size_of(cell: Any, output_layer: Any) -> Any:
    """The sizes, without the batch, of a cell's outputs after a layer."""
    if output_layer is None:
        return cell.output_size
    batched = nest.map_structure(lambda size: TensorShape([None]).concatenate(size), cell.output_size)
    return nest.map_structure(lambda shape: shape[1:], output_layer.compute_output_shape(batched))


@export("contrib.seq2seq.BasicDecoder")
class BasicDecoder(Decoder):
    """Runs a cell; a helper samples from its outputs and gives its inputs.

    Args:
      cell: an RNNCell.
      helper: a Helper.
      initial_state: tensors in the structure of `cell.state_size`.
      output_layer: a tf.layers.Layer applied to the cell's outputs, or None.

    Raises:
      TypeError: an argument is not of its type.
    """

    def __init__(self, cell: Any, helper: Helper, initial_state: object, output_layer: object = None) -> None:
        assert_like_rnncell("cell", cell)
        if not isinstance(helper, Helper):
            raise TypeError(f"helper must be a Helper, received: {type(helper)}")
        if output_layer is not None and not isinstance(output_layer, Layer):
            raise TypeError(f"output_layer must be a Layer, received: {type(output_layer)}")
        self._cell, self._helper = cell, helper
        self._initial_state, self._output_layer = initial_state, output_layer

    @property
    def batch_size(self) -> None:
        return self._helper.batch_size

    @property
    def output_size(self) -> BasicDecoderOutput:
        return BasicDecoderOutput(output_size_of(self._cell, self._output_layer), self._helper.sample_ids_shape)

    @property
    def output_dtype(self) -> BasicDecoderOutput:
        dtype = nest.flatten(self._initial_state)[0].dtype
        outputs = nest.map_structure(lambda _: dtype, output_size_of(self._cell, self._output_layer))
        return BasicDecoderOutput(outputs, self._helper.sample_ids_dtype)

    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        return self._helper.initialize() + (self._initial_state,)

    def step(self, time: object, inputs: Any, state: Any, name: str | None = None) -> tuple[Any, Any, Any, Any]:
        with name_scope(name, "BasicDecoderStep", [time, inputs, state]):
            outputs, new_state = self._cell(inputs, state)
            if self._output_layer is not None:
                outputs = self._output_layer(outputs)
            samples = self._helper.sample(time=time, outputs=outputs, state=new_state)
            finished, next_inputs, next_state = self._helper.next_inputs(
                time=time, outputs=outputs, state=new_state, sample_ids=samples
            )
        return BasicDecoderOutput(outputs, samples), next_state, next_inputs, finished


class BasicDecoderV2(BaseDecoder):
    """Runs a cell; a sampler samples from its outputs and gives its inputs.

    Args:
      cell: an RNNCell or a cell of Keras.
      sampler: a Sampler.
      output_layer: a Keras layer applied to the cell's outputs, or None.
      kwargs: arguments of BaseDecoder.

    Raises:
      TypeError: an argument is not of its type.
    """

    def __init__(self, cell: Any, sampler: Sampler, output_layer: Any = None, **kwargs: Any) -> None:
        assert_like_rnncell("cell", cell)
        if not isinstance(sampler, Sampler):
            raise TypeError(f"sampler must be a Sampler, received: {sampler}")
        if output_layer is not None and not isinstance(output_layer, base_layer.Layer):
            raise TypeError(f"output_layer must be a Layer, received: {output_layer}")
        self.cell, self.sampler, self.output_layer = cell, sampler, output_layer
        super().__init__(**kwargs)

    def initialize(self, inputs: object, initial_state: object = None, **kwargs: Any) -> tuple[Any, Any, Any]:
        self._cell_dtype = nest.flatten(initial_state)[0].dtype
        return self.sampler.initialize(inputs, **kwargs) + (initial_state,)

    @property
    def batch_size(self) -> None:
        return self.sampler.batch_size

    def _rnn_output_size(self) -> Any:
        size = TensorShape(self.cell.output_size)
        if self.output_layer is None:
            return size
        return self.output_layer.compute_output_shape(TensorShape([None]).concatenate(size))[1:]

    @property
    def output_size(self) -> BasicDecoderOutput:
        return BasicDecoderOutput(rnn_output=self._rnn_output_size(), sample_id=self.sampler.sample_ids_shape)

    @property
    def output_dtype(self) -> BasicDecoderOutput:
        return BasicDecoderOutput(self._cell_dtype, self.sampler.sample_ids_dtype)

    def step(self, time: object, inputs: Any, state: Any) -> tuple[Any, Any, Any, Any]:
        outputs, new_state = self.cell(inputs, state)
        if self.output_layer is not None:
            outputs = self.output_layer(outputs)
        samples = self.sampler.sample(time=time, outputs=outputs, state=new_state)
        finished, next_inputs, next_state = self.sampler.next_inputs(
            time=time, outputs=outputs, state=new_state, sample_ids=samples
        )
        return BasicDecoderOutput(outputs, samples), next_state, next_inputs, finished
