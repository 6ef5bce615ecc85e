"""`tensorflow.python.eager.tape`: what the gradient tapes of a thread record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfcompat._src.base import recorders
from tfcompat._src.base.default_stack import get_eager_graph
from tfcompat._src.base.recorders import stopped as stop_recording
from tfcompat._src.graph.eager_tensor import EagerOperation

__all__ = ["could_possibly_record", "record_operation", "should_record", "stop_recording", "variable_accessed"]


def could_possibly_record() -> bool:
    """Whether there is a tape in this thread."""
    return bool(recorders.ACTIVE.recorders)


def should_record(tensors: Sequence[Any]) -> bool:
    """Whether a tape would record an operation on these tensors."""
    return recorders.order(tensors) > 0


def variable_accessed(variable: Any) -> None:
    """Lets the tapes that watch variables watch this one."""
    recorders.order([variable.handle])


def record_operation(op_type: str, output_tensors: Sequence[Any], input_tensors: Sequence[Any], backward_function: Callable[..., Any]) -> None:
    """Tells the tapes of operations that gave `output_tensors` of `input_tensors`: `backward_function(*grads)` is their derivative."""

    def gradient(op: object, *grads: Any) -> Any:
        return backward_function(*grads)

    recorders.record(EagerOperation.of_function(get_eager_graph(), list(input_tensors), list(output_tensors), gradient))
