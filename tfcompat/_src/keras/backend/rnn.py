"""The recurrence of tf.keras.backend: a function applied to each step of a sequence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.base import dtypes, nest
from tfcompat._src.base.export import export
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.array.fill import zeros_like
from tfcompat._src.ops.array.join import stack, tile, unstack
from tfcompat._src.ops.array.reorder import reverse, transpose
from tfcompat._src.ops.array.search import where
from tfcompat._src.ops.array.shape import expand_dims
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.control.while_loop import while_loop
from tfcompat._src.ops.flow.tensor_array import TensorArray
from tfcompat._src.ops.math.cast import cast


@export("keras.backend.rnn")
def rnn(
    step_function: Callable, inputs: object, initial_states: object, go_backwards: bool = False, mask: Any = None,
    constants: Any = None, unroll: bool = False, input_length: object = None, time_major: bool = False,
    zero_output_for_mask: bool = False,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Applies `step_function(input, states) -> (output, new states)` to each step of a sequence.

    Args:
      inputs: nest of tensors [batch, time, ...].
      initial_states: list of nests of tensors [batch, ...].
      go_backwards: whether to begin at the last step.
      mask: [batch, time]; where it is false, the output and the states of the step before are repeated.
      constants: list of tensors that each step gets behind its states.
      unroll: whether to build the steps one by one instead of a loop; their number must be known.
      input_length: the number of steps at most.
      time_major: whether inputs, mask and outputs are [time, batch, ...].
      zero_output_for_mask: whether a masked step gives zeros.

    Returns:
      the last output, the outputs [batch, time, ...], and the last states.

    Raises:
      ValueError: an input has a rank below 3; the number of steps to unroll is unknown; or a masked loop has no states.
    """
    if not time_major:
        inputs = nest.map_structure(_swap_batch_and_time, inputs)
    first = nest.flatten(inputs)[0]
    steps, batch = first.shape.as_list()[:2]
    time_steps = shape_of(first)[0]
    for x in nest.flatten(inputs):
        x.shape.with_rank_at_least(3)
    if mask is not None:
        mask = mask if mask.dtype == dtypes.bool else cast(mask, dtypes.bool)
        mask = expand_dims(mask, -1) if len(mask.shape) == 2 else mask
        mask = mask if time_major else _swap_batch_and_time(mask)
    walk = _Steps(step_function, tuple(constants or ()), go_backwards, zero_output_for_mask)
    if unroll:
        if not steps:
            raise ValueError("Unrolling requires a fixed number of timesteps.")
        last_output, outputs, states = walk.unrolled(inputs, initial_states, mask, steps)
    else:
        last_output, outputs, states = walk.loop(inputs, initial_states, mask, time_steps, input_length)

    def with_static_sizes(output: object) -> Any:
        if isinstance(output, Tensor):
            output.set_shape([steps, batch, *output.shape.as_list()[2:]])
        return output

    outputs = nest.map_structure(with_static_sizes, outputs)
    return last_output, outputs if time_major else nest.map_structure(_swap_batch_and_time, outputs), states


def _swap_batch_and_time(x: Any) -> Tensor:
    return transpose(x, [1, 0, *range(2, len(x.shape))])


def _expand_mask(mask: Any, like: Any, fixed_dimensions: int = 1) -> Tensor:
    """`mask` repeated to the shape of `like`, which it has in its first dimensions."""
    for _ in range(len(like.shape) - len(mask.shape)):
        mask = expand_dims(mask, -1)
    return tile(mask, [1] * fixed_dimensions + like.shape.as_list()[fixed_dimensions:])


class _Steps:
    """How the steps of one recurrence are made."""

    def __init__(self, function: Callable, constants: tuple, go_backwards: bool, zero_output_for_mask: bool) -> None:
        self._function, self._constants = function, constants
        self._go_backwards, self._zero_output = go_backwards, zero_output_for_mask

    def _step(self, inputs: Any, states: Any) -> tuple[Any, Any]:
        return self._function(inputs, tuple(states) + self._constants)

    # ---- unrolled ----

    def _split(self, x: Any) -> list[Tensor]:
        parts = unstack(x)
        return parts[::-1] if self._go_backwards else parts

    def unrolled(self, inputs: Any, states: Any, mask: Any, steps: int) -> tuple[Any, Any, Any]:
        states = tuple(states)
        split = [self._split(x) for x in nest.flatten(inputs)]
        masks = None if mask is None else self._split(mask)
        outputs: list[Any] = []
        for i in range(steps):
            output, new_states = self._step(nest.pack_sequence_as(inputs, [parts[i] for parts in split]), states)
            if masks is not None:
                chosen = _expand_mask(masks[i], output)
                output = where(chosen, output, outputs[-1] if outputs else zeros_like(output))
                new_states = [where(_expand_mask(masks[i], new), new, old) for old, new in zip(states, new_states)]
            states = new_states
            outputs.append(output)
        last, stacked = outputs[-1], stack(outputs)
        if masks is not None and self._zero_output:
            last = where(_expand_mask(masks[-1], last), last, zeros_like(last))
            stacked = where(_expand_mask(mask, stacked, fixed_dimensions=2), stacked, zeros_like(stacked))
        return last, stacked, states

    # ---- a loop ----

    def _array_of(self, x: Any, size: Any, name: str) -> TensorArray:
        return TensorArray(dtype=x.dtype, size=size, tensor_array_name=name)

    def loop(self, inputs: Any, initial_states: Any, mask: Any, size: Any, limit: Any) -> tuple[Any, Any, Any]:
        flat = nest.flatten(inputs)
        arrays = [self._array_of(x, size, f"input_ta_{i}") for i, x in enumerate(flat)]
        arrays = [ta.unstack(reverse(x, [0]) if self._go_backwards else x) for ta, x in zip(arrays, flat)]
        example, _ = self._step(nest.pack_sequence_as(inputs, [x[0] for x in flat]), initial_states)
        outputs = tuple(
            TensorArray(dtype=x.dtype, size=size, element_shape=x.shape, tensor_array_name=f"output_ta_{i}")
            for i, x in enumerate(nest.flatten(example))
        )
        time = constant(0, dtype="int32", name="time")
        states = tuple(initial_states)
        kept: tuple[Any, ...] = ()
        if mask is not None:
            if not states:
                raise ValueError(
                    "No initial states provided! When using masking in an RNN, you should provide initial states (and "
                    "your step function should return as its first state at time `t` the output at time `t-1`)."
                )
            masks = self._array_of(mask, size, "mask_ta").unstack(reverse(mask, [0]) if self._go_backwards else mask)
            zeros = tuple(zeros_like(x) for x in nest.flatten(example))
            kept = (zeros,)

        def body(time: Any, outputs: Any, *rest: Any) -> tuple[Any, ...]:
            before, states = rest[: len(kept)], rest[len(kept) :]
            x = nest.pack_sequence_as(inputs, [ta.read(time) for ta in arrays])
            now = masks.read(time) if kept else None
            output, new_states = self._step(x, states)
            flat_output, flat_states, flat_new = (nest.flatten(part) for part in (output, states, new_states))
            if kept:
                alternatives = zeros if self._zero_output else nest.flatten(before[0])
                chosen = [_expand_mask(now, x) for x in flat_output]
                flat_output = [where(c, x, other) for c, x, other in zip(chosen, flat_output, alternatives)]
            for old, new in zip(flat_states, flat_new):
                if isinstance(new, Tensor):
                    new.set_shape(old.shape)
            if kept:
                chosen = [_expand_mask(now, x) for x in flat_states]
                flat_new = [where(c, new, old) for c, new, old in zip(chosen, flat_new, flat_states)]
            written = tuple(ta.write(time, x) for ta, x in zip(outputs, flat_output))
            packed = nest.pack_sequence_as(new_states if kept else initial_states, flat_new)
            return (time + 1, written, *((tuple(flat_output),) if kept else ()), *packed)

        final = while_loop(
            cond=lambda time, *_: time < size, body=body, loop_vars=(time, outputs, *kept, *states),
            maximum_iterations=limit, parallel_iterations=32, swap_memory=True,
        )  # fmt: skip
        stacked = [ta.stack() for ta in final[1]]
        last = nest.pack_sequence_as(example, [x[-1] for x in stacked])
        return last, nest.pack_sequence_as(example, stacked), final[2 + len(kept) :]
