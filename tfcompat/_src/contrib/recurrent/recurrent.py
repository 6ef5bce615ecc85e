"""tf.contrib.recurrent.Recurrent: a loop over time whose states are all kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes, nest
from tfcompat._src.base.export import export
from tfcompat._src.gradients.custom_gradient import custom_gradient
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.fill import zeros_like
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.search import where
from tfcompat._src.ops.array.shape import expand_dims, squeeze
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.control.while_loop import while_loop
from tfcompat._src.ops.flow.tensor_array import TensorArray
from tfcompat._src.ops.math.binary import maximum
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import equal

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def _row(struct: object, t: TensorLike) -> Any:
    return nest.map_structure(lambda x: gather(x, t), struct)


def _arrays(like: object, size: object) -> Any:
    return nest.map_structure(lambda x: TensorArray(x.dtype, size=size, element_shape=x.shape), like)


def _written(arrays: object, t: object, values: object) -> Any:
    return nest.map_structure(lambda array, value: array.write(t, value), arrays, values)


def _stacked(arrays: object) -> Any:
    return nest.map_structure(lambda array: array.stack(), arrays)


def _as_gradient(x: Tensor, found: Tensor | None) -> Tensor:
    """A gradient with the shape of what it is the gradient of; zeros for None."""
    if found is None:
        return zeros_like(x)
    found.set_shape(x.shape)
    return found


def _forward(theta: object, state0: object, inputs: object, cell_fn: Callable, extras: object, span: tuple, steps: TensorLike) -> tuple:
    """The states and extras of all steps, zeros where there was no step, and the last state."""
    start, stop = span

    def body(t: Tensor, state: object, states: object, kept: object) -> tuple:
        new, more = cell_fn(theta, state, _row(inputs, t))
        nest.assert_same_structure(state, new)
        nest.map_structure(lambda n, o: n.set_shape(o.shape), new, state)
        return t + 1, new, _written(states, t, new), _written(kept, t, more)

    _, last, states, kept = while_loop(
        lambda t, *_: t < stop, body, (start, state0, _arrays(state0, steps), _arrays(extras, steps)),
        maximum_iterations=steps,
    )  # fmt: skip
    return _stacked(states), last, _stacked(kept)


def _backward(
    theta: object, state0: object, inputs: object, states: object, kept: object, grads: Any, cell_grad: Callable, span: tuple,
    steps: TensorLike,
) -> Any:  # fmt: skip
    """The gradients of theta, state0 and inputs, step by step backward through `cell_grad`."""
    start, stop = span
    d_states, d_last = grads

    def body(t: Tensor, d_theta: object, d_state: object, d_inputs: object) -> tuple:
        before = nest.map_structure(
            lambda first, all_: where(equal(t, start), first, gather(all_, maximum(t - 1, 0))), state0, states
        )
        d_state = nest.map_structure(lambda a, b: a + gather(b, t), d_state, d_states)
        now = _row(inputs, t)
        d_now = cell_grad(theta, before, now, _row(kept, t), d_state)
        d_now = [nest.map_structure(_as_gradient, of, found) for found, of in zip(d_now, (theta, before, now))]
        d_theta = nest.map_structure(lambda a, b: a + b, d_theta, d_now[0])
        return t - 1, d_theta, d_now[1], _written(d_inputs, t, d_now[2])

    rows = nest.map_structure(lambda x: TensorArray(x.dtype, size=steps, element_shape=x.shape[1:]), inputs)
    first = (stop - 1, nest.map_structure(zeros_like, theta), d_last, rows)
    _, d_theta, d_state0, d_inputs = while_loop(lambda t, *_: t >= start, body, first, maximum_iterations=steps)
    return d_theta, d_state0, _stacked(d_inputs)


@export("contrib.recurrent.Recurrent")
def Recurrent(
    theta: object, state0: object, inputs: object, cell_fn: Callable, cell_grad: Callable | None = None, extras: object = None,
    max_input_length: object = None, use_tpu: bool = False, aligned_end: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """Applies `cell_fn` along the first dimension of the inputs.

    Args:
      theta: nest of weights. state0: nest of the initial state. inputs: nest of Tensors [time, ...].
      cell_fn: function of (theta, state, inputs of a step) that gives the new state and a nest of extras.
      cell_grad: function of (theta, state, inputs, extras, gradient of the new state) that gives the gradients of
        theta, state and inputs; by default `cell_fn` is differentiated.
      extras: an example of the extras; by default found by a call of `cell_fn`.
      max_input_length: number of steps, a scalar; by default all.
      use_tpu: written for TPUs in TensorFlow; the result is the same.
      aligned_end: whether the steps are the last ones, else the first.

    Returns:
      the states of all steps [time, ...], zeros where there was no step, and the last state.
    """
    state0 = nest.map_structure(convert_to_tensor, state0)
    inputs = nest.map_structure(convert_to_tensor, inputs)
    first = nest.flatten(inputs)[0]
    if cell_grad is None and max_input_length is None and first.shape.as_list()[0] == 1:
        state, _ = cell_fn(theta, state0, nest.map_structure(lambda x: squeeze(x, axis=0), inputs))
        return nest.map_structure(lambda x: expand_dims(x, axis=0), state), state
    steps = shape_of(first)[0]
    length = steps if max_input_length is None else cast(max_input_length, dtypes.int32)
    span = (steps - length, steps) if aligned_end else (zeros_like(length), length)
    if cell_grad is None:
        return _forward(theta, state0, inputs, lambda *args: (cell_fn(*args)[0], []), [], span, steps)[:2]
    if extras is None:
        _, extras = cell_fn(theta, state0, _row(inputs, 0))
    given = nest.map_structure(convert_to_tensor, (theta, state0, inputs))

    @custom_gradient
    def run(*flat: Tensor) -> tuple[Any, Callable]:
        own_theta, own_state0, own_inputs = nest.pack_sequence_as(given, list(flat))
        states, last, kept = _forward(own_theta, own_state0, own_inputs, cell_fn, extras, span, steps)

        def gradient(*grads: Tensor) -> list[Tensor]:
            packed = nest.pack_sequence_as((state0, state0), list(grads))
            found = _backward(own_theta, own_state0, own_inputs, states, kept, packed, cell_grad, span, steps)
            return nest.flatten(found)

        return nest.flatten((states, last)), gradient

    return nest.pack_sequence_as((state0, state0), list(run(*nest.flatten(given))))
