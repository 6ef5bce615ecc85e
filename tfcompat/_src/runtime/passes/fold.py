"""Constant folding: a stage of planning that evaluates operations on constants with their NumPy kernels.

One pass in topological order. Operations with a static input shape fold too if they need only the shape (`Shape`, `Size`, `Rank`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfcompat._src.base import errors
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.graph.constant_value import KnownShape, call_numpy_kernel, constant_of, is_constant
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor

MAX_FOLDED_ELEMENTS = 1 << 14
"""Most elements of a folded output: larger ones would make plans and programs large, e.g. `tf.zeros` of a variable's shape."""


def fold(ops: list[Operation], fed: set[Tensor], given: dict[Tensor, NDArray] | None = None) -> dict[Tensor, NDArray]:
    """Returns the values of the tensors of `ops` that depend on constants only.

    Args:
      ops: in topological order. fed: tensors that a run replaces, so that they are never known. given: values that count as constants.
    """
    known: dict[Tensor, NDArray] = dict(given or {})
    for op in ops:
        # A fed Const has the value of its feed. `setdefault`: given values win.
        if is_constant(op):
            value = constant_of(op)
            if op.outputs[0] not in fed and value is not None:
                known.setdefault(op.outputs[0], value)
        # An operation that waits for one with effects (a check, a write) is not folded: its users would lose that control edge.
        elif can_fold(op) and op.takes and all(_needs_no_run(c, known) for c in op.waits_for):
            values = [_value(op, i, t, known, fed) for i, t in enumerate(op.takes)]
            if all(v is not None for v in values) and not fed.intersection(op.outputs):
                known.update(zip(op.outputs, _folded(op, values)))
    return known


def _folded(op: Operation, values: Sequence[object]) -> tuple[NDArray, ...]:
    """Evaluates an operation; returns () if its kernel rejects the values, so that the error is raised when the operation runs, if it does."""
    # A branch that is never taken may hold such an operation.
    try:
        return call_numpy_kernel(op, values)
    except (ValueError, errors.OpError):
        return ()


def _needs_no_run(op: Operation, known: dict[Tensor, NDArray]) -> bool:
    """Whether a control edge from `op` orders nothing: a NoOp after such operations, or one whose outputs are all known."""
    if op.spec.facts.does_nothing:
        return all(_needs_no_run(c, known) for c in op.waits_for)
    return bool(op.outputs) and all(t in known for t in op.outputs)


def can_fold(op: Operation) -> bool:
    """Whether an operation has a NumPy kernel, no effects, and no output with more than MAX_FOLDED_ELEMENTS elements."""
    spec = op.spec
    if spec.numpy_kernel is None or spec.effects.is_stateful or spec.effects.reads or spec.effects.writes:
        return False
    return all(_size(t) <= MAX_FOLDED_ELEMENTS for t in op.outputs)


def near_kernel(op: Operation) -> Callable[..., Any] | None:
    """Returns the NumPy kernel of a floating-point operation that equals its device kernel but for rounding, or None."""
    results = op.outputs or op.takes[-1:]
    return op.spec.near if results and results[0].dtype.is_floating else None


def _size(tensor: Tensor) -> int:
    """Returns the number of elements of a tensor, with sizes that are unknown or 0 as 1; 0 for an unknown rank."""
    # The limit applies to static sizes only: an output of unknown size is folded whenever its inputs are known.
    sizes = tensor._sizes
    if sizes is None:
        return 0
    size = 1
    for s in sizes:
        size *= s or 1
    return size


def _value(op: Operation, index: int, tensor: Tensor, known: dict[Tensor, NDArray], fed: set[Tensor]) -> NDArray | KnownShape | None:
    """Returns the value of an input, its static shape if the op needs no more, or None if it is not known."""
    # A feed may have another shape than the static one of its tensor's producer.
    if index in op.spec.shape_only_positions and tensor not in fed:
        sizes = tensor._sizes
        if sizes is not None and None not in sizes:
            return KnownShape(tuple(s for s in sizes if s is not None), tensor.dtype.base_dtype.as_numpy_dtype)
    return known.get(tensor)
