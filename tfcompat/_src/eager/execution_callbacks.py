"""Callbacks that run after each eager operation, and those of 1.15 that look for infinities and NaN in the outputs."""

from __future__ import annotations

import contextlib
import enum
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base.export import export
from tfcompat._src.nodes import op_callbacks
from tfcompat._src.platform import logging

if TYPE_CHECKING:
    from tfcompat._src.graph.operation import Operation

ACTIVE: list[Callable[..., object]] = []
"""The callbacks, in the order in which they were added."""


@export("contrib.eager.ExecutionCallback")
class ExecutionCallback(enum.Enum):
    """What to do about an infinity or NaN."""

    IGNORE = "ignore"
    PRINT = "print"
    RAISE = "raise"
    WARN = "warn"


class InfOrNanError(Exception):
    """An output contains infinities or NaN.

    Args:
      op_type: type of the operation.
      op_name: its name, or None if it was given none.
      output_index: index of the output, from 0.
      num_outputs: number of the operation's outputs.
      value: of the output.
    """

    op_type = property(lambda self: self._op_type)
    op_name = property(lambda self: self._op_name)
    output_index = property(lambda self: self._output_index)
    num_outputs = property(lambda self: self._num_outputs)
    value = property(lambda self: self._value)

    def __init__(self, op_type: str, op_name: str | None, output_index: int, num_outputs: int, value: Any) -> None:
        self._op_type, self._op_name = op_type, op_name
        self._output_index, self._num_outputs, self._value = output_index, num_outputs, value
        counts = {"inf(s)": np.count_nonzero(np.isinf(value)), "nan(s)": np.count_nonzero(np.isnan(value))}
        listed = " and ".join(f"{count} {kind}" for kind, count in counts.items() if count)
        super().__init__(
            f"Output {output_index + 1} of {num_outputs} of TFE operation {op_type} (name: {op_name!r}) contains {listed} "
            f"out of a total of {np.size(value)} element(s). Tensor value: {value}"
        )


def call_all(op: Operation, name: str) -> None:
    """Calls all callbacks for an operation that has run."""
    attrs = op_callbacks.public_attrs(op)
    # A copy, since a callback may add or clear callbacks.
    for callback in list(ACTIVE):
        callback(op.type, list(op.inputs), attrs, list(op.outputs), None if name == op.type else name)


@contextlib.contextmanager
def also_calling(callbacks: Sequence[Callable[..., object]]) -> Iterator[None]:
    """A block after whose operations these callbacks are called too; raises TypeError if one is not callable."""
    for index, callback in enumerate(callbacks):
        if not callable(callback):
            raise TypeError(f"expected a function for post execution callback in index {index}, got {type(callback).__name__} instead")
    before = list(ACTIVE)
    ACTIVE.extend(callback for callback in callbacks if callback not in before)
    try:
        yield
    finally:
        ACTIVE[:] = before


@export("contrib.eager.add_execution_callback")
def add_execution_callback(callback: Callable[..., object]) -> None:
    """Adds a callback that is called after each eager operation.

    Args:
      callback: `callback(op_type, inputs, attrs, outputs, op_name)`: the type, lists of tensors, names and values of attributes
        alternately, and the operation's name or None.
    """
    ACTIVE.append(callback)


@export("contrib.eager.clear_execution_callbacks")
def clear_execution_callbacks() -> None:
    """Removes all callbacks."""
    ACTIVE.clear()


@export("contrib.eager.inf_nan_callback")
def inf_nan_callback(
    op_type: str, inputs: Sequence[Any], attrs: Sequence[Any], outputs: Sequence[Any], op_name: str | None, check_inf: bool = True,
    check_nan: bool = True, action: object = ExecutionCallback.RAISE,
) -> None:  # fmt: skip
    """A callback that looks for infinities and NaN in the outputs.

    Args:
      op_type, inputs, attrs, outputs, op_name: see `add_execution_callback`.
      check_inf, check_nan: which values to look for.
      action: an ExecutionCallback or its value: raise, print to standard output, or warn.

    Raises:
      InfOrNanError: there is one and `action` is RAISE. ValueError: there is one and `action` is IGNORE, or `action` is unknown.
    """
    action = ExecutionCallback(action)
    for index, output in enumerate(outputs):
        if not (output.dtype.is_floating or output.dtype.is_complex):
            continue
        value = output.numpy()
        if not (check_inf and np.any(np.isinf(value)) or check_nan and np.any(np.isnan(value))):
            continue
        error = InfOrNanError(op_type, op_name, index, len(outputs), value)
        # Ignoring means not to have the callback: as an action it is an error, as in 1.15.
        if action is ExecutionCallback.IGNORE:
            raise ValueError(
                f"Invalid action for inf_nan_callback: {action}. Valid actions are: {{PRINT | WARN | RAISE}}"
            )
        if action is ExecutionCallback.RAISE:
            raise error
        if action is ExecutionCallback.PRINT:
            print(f"Warning: {error}")
        else:
            logging.warn(str(error))


@export("contrib.eager.inf_callback")
def inf_callback(
    op_type: str, inputs: Sequence[Any], attrs: Sequence[Any], outputs: Sequence[Any], op_name: str | None,
    action: object = ExecutionCallback.RAISE,
) -> None:  # fmt: skip
    """`inf_nan_callback` for infinities only."""
    inf_nan_callback(op_type, inputs, attrs, outputs, op_name, check_nan=False, action=action)


@export("contrib.eager.nan_callback")
def nan_callback(
    op_type: str, inputs: Sequence[Any], attrs: Sequence[Any], outputs: Sequence[Any], op_name: str | None,
    action: object = ExecutionCallback.RAISE,
) -> None:  # fmt: skip
    """`inf_nan_callback` for NaN only."""
    inf_nan_callback(op_type, inputs, attrs, outputs, op_name, check_inf=False, action=action)


@export("contrib.eager.seterr")
def seterr(inf_or_nan: object = None) -> dict[str, ExecutionCallback]:
    """Sets what to do about infinities and NaN in results of eager operations.

    Args:
      inf_or_nan: an ExecutionCallback or its value; None changes nothing.

    Returns:
      the setting before, under the key "inf_or_nan".

    Raises:
      ValueError: there is no such action.
    """
    # The setting is not stored: it is the action of the last callback that is `inf_nan_callback`, plain or with an action bound to it.
    watching = [c for c in ACTIVE if getattr(c, "func", c) is inf_nan_callback]
    before = ExecutionCallback.IGNORE
    if watching:
        before = getattr(watching[-1], "keywords", {}).get("action", ExecutionCallback.RAISE)
    if inf_or_nan is not None:
        action = ExecutionCallback(inf_or_nan)
        ACTIVE[:] = [c for c in ACTIVE if c not in watching]
        if action is not ExecutionCallback.IGNORE:
            ACTIVE.append(functools.partial(inf_nan_callback, action=action))
    return {"inf_or_nan": before}


@export("contrib.eager.errstate")
@contextlib.contextmanager
def errstate(inf_or_nan: object = None) -> Iterator[None]:
    """A block in which `seterr(inf_or_nan)` holds."""
    before = seterr(inf_or_nan)
    try:
        yield
    finally:
        seterr(**before)
