"""`tensorflow.python.eager.tape`: queries and records of the active gradient tapes of a thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfcompat._src.base import recorders
from tfcompat._src.base.default_stack import get_eager_graph
from tfcompat._src.base.recorders import stopped as stop_recording
from tfcompat._src.graph.eager_tensor import EagerOperation

__all__ = ["could_possibly_record", "record_operation", "should_record", "stop_recording", "variable_accessed"]


def could_possibly_record() -> bool:
    """Whether this thread has an active tape."""
    return bool(recorders.ACTIVE.recorders)


def should_record(tensors: Sequence[Any]) -> bool:
    """Whether an active tape watches one of these tensors, and so would record an operation on them."""
    return recorders.order(tensors) > 0


def variable_accessed(variable: Any) -> None:
    """Makes the tapes that watch accessed variables watch this one."""
    # Such a tape starts to watch a variable when it is asked whether it follows the handle.
    recorders.order([variable.handle])


def record_operation(op_type: str, output_tensors: Sequence[Any], input_tensors: Sequence[Any], backward_function: Callable[..., Any]) -> None:
    """Records a computation of `output_tensors` from `input_tensors` on the active tapes.

    Args:
      backward_function: maps the cotangents of the outputs to those of the inputs.
    """

    def gradient(op: object, *grads: Any) -> Any:
        return backward_function(*grads)

    recorders.record(EagerOperation.of_function(get_eager_graph(), list(input_tensors), list(output_tensors), gradient))
