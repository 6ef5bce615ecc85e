"""Functions that are told of operations when they are made or run, and may put other tensors in the place of a node's outputs."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence

from tfcompat._src.base import dtypes
from tfcompat._src.graph import attr_values
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor

Callback = Callable[..., Sequence[Tensor] | None]


class _State(threading.local):
    """The callbacks of a thread, innermost last, and whether one of them is being called."""

    def __init__(self) -> None:
        self.callback_stack: list[Callback] = []
        self.is_calling = False


_state = _State()


def op_callback(callback_fn: Callback) -> contextlib.AbstractContextManager[None]:
    """A context in which a function is told of what the thread adds to graphs or runs at once.

    Args:
      callback_fn: function `(op_type, inputs, attrs, outputs, op_name=None, graph=None)` with tuples of tensors, and of names and
        values of attributes in turn; name and graph are None where operations run at once. Of a node it may return as many tensors as
        there are outputs, which take their place.

    Raises:
      ValueError: it cannot be called.
    """
    if not callable(callback_fn):
        raise ValueError(f"Callback function passed to op_callback() is expected to be callable, but is not. Received {callback_fn}")
    return _entered(callback_fn)


@contextlib.contextmanager
def _entered(callback_fn: Callback) -> Iterator[None]:
    _state.callback_stack.append(callback_fn)
    try:
        yield
    finally:
        _state.callback_stack.pop()


def should_invoke_op_callbacks() -> bool:
    """Whether this thread has callbacks, and is in none of them."""
    return bool(_state.callback_stack) and not _state.is_calling


def outputs_for(op: Operation) -> list[Tensor]:
    """What stands for the outputs of a new operation; ValueError where a callback returns another number of them."""
    if not should_invoke_op_callbacks():
        return op.outputs
    runs = op.graph.executes
    attrs = public_attrs(op) if runs else tuple(part for item in op.node_def.attr.items() for part in item)
    outputs = op.outputs
    _state.is_calling = True
    try:
        for callback in reversed(_state.callback_stack):
            name, graph = (None, None) if runs else (op.name, op.graph)
            given = callback(op.type, tuple(op.inputs), attrs, tuple(outputs), op_name=name, graph=graph)
            if given is None or runs:
                continue
            if len(given) != len(outputs):
                raise ValueError(
                    f"The op callback returned {len(given)} tensors, which does not match the original number of outputs of op "
                    f"{op.name} ({len(outputs)})."
                )
            outputs = list(given)
    finally:
        _state.is_calling = False
    return outputs


def public_attrs(op: Operation) -> tuple[object, ...]:
    """The names and values of the attributes of an operation that has run, in turn."""
    return tuple(part for name, value in op.attrs.items() for part in (name, _public(value)))


def _public(value: object) -> object:
    return value.as_datatype_enum if isinstance(value, dtypes.DType) else attr_values.to_public(value)
