"""Decoders, and the loop that runs one step after another until every sequence has ended."""

from __future__ import annotations

import abc
import functools
from collections.abc import Callable
from typing import Any

from tfcompat._src.base import dtypes, nest
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.scopes import get_default_graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.engine.base_layer import Layer
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.ops.array.fill import fill, zeros_like
from tfcompat._src.ops.array.search import where
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.control.control_flow_util import GetContainingWhileContext
from tfcompat._src.ops.control.while_loop import while_loop
from tfcompat._src.ops.flow.tensor_array import TensorArray
from tfcompat._src.ops.math.compare import logical_not
from tfcompat._src.ops.math.reduce import reduce_all
from tfcompat._src.rnn.cell import zero_state_tensors
from tfcompat._src.rnn.steps import transpose_batch_time
from tfcompat._src.variables.scope import variable_scope


@export("contrib.seq2seq.Decoder")
class Decoder(abc.ABC):
    """What `tf.contrib.seq2seq.dynamic_decode` runs: it starts a batch of sequences and makes one step of each."""

    @property
    def batch_size(self) -> Any:
        """The number of sequences."""
        raise NotImplementedError

    @property
    def output_size(self) -> Any:
        """The sizes of a step's outputs without the batch: int, TensorShape, or a nest of them."""
        raise NotImplementedError

    @property
    def output_dtype(self) -> Any:
        """The dtypes of a step's outputs, in the structure of `output_size`."""
        raise NotImplementedError

    @abc.abstractmethod
    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        """What the first step needs: `(finished, inputs, state)`."""
        raise NotImplementedError

    @abc.abstractmethod
    def step(self, time: Any, inputs: Any, state: Any, name: str | None = None) -> tuple[Any, Any, Any, Any]:
        """One step: `(outputs, next_state, next_inputs, finished)`."""
        raise NotImplementedError

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: Any) -> tuple[Any, Any]:
        """Turns stacked outputs [time, batch, ...] and the last state into what `dynamic_decode` returns."""
        raise NotImplementedError

    @property
    def tracks_own_finished(self) -> bool:
        """Whether `finished` of a step may turn a finished sequence into one that goes on."""
        return False


def _create_zero_outputs(size: Any, dtype: Any, batch_size: Any) -> Any:
    """Returns zeros [batch_size, *size], in the structure of `size` and `dtype`."""
    return nest.map_structure(lambda each, kind: zero_state_tensors(each, batch_size, kind), size, dtype)


class BaseDecoder(Layer):
    """A Keras layer that decodes: calling it runs `dynamic_decode`.

    Args:
      output_time_major, impute_finished, maximum_iterations, parallel_iterations, swap_memory: see `dynamic_decode`.
      kwargs: arguments of tf.keras.layers.Layer.
    """

    def __init__(
        self, output_time_major: bool = False, impute_finished: bool = False, maximum_iterations: Any = None,
        parallel_iterations: int = 32, swap_memory: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        self.output_time_major = output_time_major
        self.impute_finished = impute_finished
        self.maximum_iterations = maximum_iterations
        self.parallel_iterations = parallel_iterations
        self.swap_memory = swap_memory
        super().__init__(**kwargs)

    def call(self, inputs: Any, initial_state: Any = None, **kwargs: Any) -> tuple[Any, Any, Any]:
        """What `dynamic_decode` gives; `inputs`, `initial_state` and `kwargs` go to `initialize`."""
        return dynamic_decode(
            self, output_time_major=self.output_time_major, impute_finished=self.impute_finished,
            maximum_iterations=self.maximum_iterations, parallel_iterations=self.parallel_iterations,
            swap_memory=self.swap_memory, decoder_init_input=inputs,
            decoder_init_kwargs={**kwargs, "initial_state": initial_state},
        )  # fmt: skip

    batch_size = Decoder.batch_size
    output_size = Decoder.output_size
    output_dtype = Decoder.output_dtype
    finalize = Decoder.finalize
    tracks_own_finished = Decoder.tracks_own_finished

    def initialize(self, inputs: Any, initial_state: Any = None, **kwargs: Any) -> tuple[Any, Any, Any]:
        """What the first step needs: `(finished, inputs, state)`."""
        raise NotImplementedError

    def step(self, time: Any, inputs: Any, state: Any) -> tuple[Any, Any, Any, Any]:
        """One step: `(outputs, next_state, next_inputs, finished)`."""
        raise NotImplementedError


@export("contrib.seq2seq.dynamic_decode")
def dynamic_decode(
    decoder, output_time_major=False, impute_finished=False, maximum_iterations=None, parallel_iterations=32,
    swap_memory=False, scope=None, **kwargs,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Runs a decoder until all sequences are finished.

    Args:
      decoder: a Decoder.
      output_time_major: whether outputs are [time, batch, ...] instead of [batch, time, ...].
      impute_finished: whether finished sequences keep their state and have zeros as outputs.
      maximum_iterations: int32 scalar, the largest number of steps; no limit by default.
      parallel_iterations, swap_memory: see tf.while_loop.
      scope: variable scope, "decoder" by default.
      kwargs: for a BaseDecoder `decoder_init_input` and `decoder_init_kwargs`, the arguments of its `initialize`.

    Returns:
      the outputs of all steps, the last state, and the lengths int32 [batch].

    Raises:
      TypeError: `decoder` is no Decoder, or takes an argument in `kwargs`. ValueError: `maximum_iterations` is no scalar.
    """
    if not isinstance(decoder, (Decoder, BaseDecoder)):
        raise TypeError(f"Expected decoder to be type Decoder, but saw: {type(decoder)}")
    if isinstance(decoder, BaseDecoder):
        first, options = kwargs.pop("decoder_init_input", None), kwargs.pop("decoder_init_kwargs", {})
        initialize = functools.partial(decoder.initialize, first, **options)
    else:
        initialize = decoder.initialize
    if kwargs:
        raise TypeError(f"dynamic_decode() of a Decoder takes no argument {sorted(kwargs)[0]!r}")
    with variable_scope(scope, "decoder") as entered:
        outer = get_default_graph()._get_control_flow_context()
        if GetContainingWhileContext(outer) is None and entered.caching_device is None:
            entered.set_caching_device(lambda op: op.device)
        if maximum_iterations is not None:
            maximum_iterations = convert_to_tensor(maximum_iterations, dtype=dtypes.int32, name="maximum_iterations")
            if maximum_iterations.shape.ndims != 0:
                raise ValueError("maximum_iterations must be a scalar")
        loop = _Loop(decoder, initialize, impute_finished, maximum_iterations)
        _, arrays, state, _, _, lengths = while_loop(
            loop.condition, loop.body, loop_vars=loop.start, parallel_iterations=parallel_iterations,
            maximum_iterations=maximum_iterations, swap_memory=swap_memory,
        )  # fmt: skip
        outputs = nest.map_structure(lambda array: array.stack(), arrays)
        try:
            outputs, state = decoder.finalize(outputs, state, lengths)
        except NotImplementedError:
            pass
        if not output_time_major:
            outputs = nest.map_structure(transpose_batch_time, outputs)
    return outputs, state, lengths


class _Loop:
    """The loop over steps; its variables are time, arrays of outputs, state, inputs, finished and lengths."""

    def __init__(self, decoder: Any, initialize: Callable, impute_finished: bool, limit: Tensor | None) -> None:
        self._decoder, self._impute_finished = decoder, impute_finished
        finished, inputs, state = initialize()
        self._zero_outputs = _create_zero_outputs(decoder.output_size, decoder.output_dtype, decoder.batch_size)
        if limit is not None:
            finished = raw.LogicalOr(finished, limit <= 0)
        lengths = zeros_like(finished, dtype=dtypes.int32)
        time = constant(0, dtype=dtypes.int32)
        arrays = nest.map_structure(self._array, decoder.output_size, decoder.output_dtype)
        self.start = (time, arrays, state, inputs, finished, lengths)

    def _array(self, size: object, dtype: object) -> TensorArray:
        shape = None
        if isinstance(size, TensorShape) and size.ndims != 0:
            batch = constant_value(convert_to_tensor(self._decoder.batch_size, name="batch_size"))
            shape = TensorShape([batch]).concatenate(size)
        return TensorArray(dtype=dtype, size=0, dynamic_size=True, element_shape=shape)

    def condition(self, time: object, arrays: object, state: object, inputs: object, finished: object, lengths: object) -> Tensor:
        return logical_not(reduce_all(finished))

    def body(self, time: Any, arrays: Any, state: Any, inputs: Any, finished: Any, lengths: object) -> tuple:
        outputs, next_state, next_inputs, ended = self._decoder.step(time, inputs, state)
        if not self._decoder.tracks_own_finished:
            ended = raw.LogicalOr(ended, finished)
        lengths = where(logical_not(finished), fill(shape_of(lengths), time + 1), lengths)
        nest.assert_same_structure(state, next_state)
        nest.assert_same_structure(arrays, outputs)
        nest.assert_same_structure(inputs, next_inputs)
        if self._impute_finished:
            outputs = nest.map_structure(lambda new, zero: where(finished, zero, new), outputs, self._zero_outputs)
            next_state = nest.map_structure(lambda new, old: _kept(finished, new, old), next_state, state)
        arrays = nest.map_structure(lambda array, output: array.write(time, output), arrays, outputs)
        return time + 1, arrays, next_state, next_inputs, ended, lengths


def _kept(finished: Tensor, new: Any, old: Any) -> Any:
    """The state of sequences that go on; TensorArrays and scalars always go on."""
    if isinstance(old, TensorArray):
        return new
    new.set_shape(old.shape)
    return new if new.shape.ndims == 0 else where(finished, old, new)
