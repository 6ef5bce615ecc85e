"""Op callbacks: functions called with each operation that is made or run, which may replace the outputs of a node."""

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
    """A thread's callbacks, innermost last, and whether one of them is running."""

    def __init__(self) -> None:
        self.callback_stack: list[Callback] = []
        self.is_calling = False


_state = _State()


def op_callback(callback_fn: Callback) -> contextlib.AbstractContextManager[None]:
    """Returns a context in which a function is called for each operation that this thread adds to a graph or runs eagerly.

    Args:
      callback_fn: function `(op_type, inputs, attrs, outputs, op_name=None, graph=None)` of tuples of tensors; `attrs` has names and values
        of attributes alternately; `op_name` and `graph` are None in eager mode. For a node it may return as many tensors as there are
        outputs, which replace them.

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
    """Returns whether this thread has callbacks and is not inside one of them."""
    return bool(_state.callback_stack) and not _state.is_calling


def outputs_for(op: Operation) -> list[Tensor]:
    """Returns the outputs of a new operation, as callbacks may have replaced them.

    Raises:
      ValueError: a callback returns a wrong number of tensors.
    """
    if not should_invoke_op_callbacks():
        return op.outputs
    runs = op.graph.executes
    attrs = public_attrs(op) if runs else tuple(part for item in op.node_def.attr.items() for part in item)
    outputs = op.outputs
    # Operations that a callback makes are not reported, or it would call itself without end.
    _state.is_calling = True
    try:
        # Innermost first; each one sees the outputs as earlier ones have replaced them.
        for callback in reversed(_state.callback_stack):
            name, graph = (None, None) if runs else (op.name, op.graph)
            replacements = callback(op.type, tuple(op.inputs), attrs, tuple(outputs), op_name=name, graph=graph)
            if replacements is None or runs:
                continue
            if len(replacements) != len(outputs):
                raise ValueError(
                    f"The op callback returned {len(replacements)} tensors, which does not match the original number of outputs of op "
                    f"{op.name} ({len(outputs)})."
                )
            outputs = list(replacements)
    finally:
        _state.is_calling = False
    return outputs


def public_attrs(op: Operation) -> tuple[object, ...]:
    """Returns names and values of an eager operation's attributes, alternately."""
    return tuple(part for name, value in op.attrs.items() for part in (name, _public(value)))


def _public(value: object) -> object:
    return value.as_datatype_enum if isinstance(value, dtypes.DType) else attr_values.to_public(value)
