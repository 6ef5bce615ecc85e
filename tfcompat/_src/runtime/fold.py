"""Fold: values that are known before anything runs: constants, and what NumPy twins make of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfcompat._src.base import errors
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.graph.constant_value import KnownShape, call_numpy_kernel, constant_of, is_constant
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor

MAX_FOLDED_ELEMENTS = 1 << 14


def fold(ops: list[Operation], fed: set[Tensor], given: dict[Tensor, NDArray] | None = None) -> dict[Tensor, NDArray]:
    """The tensors of `ops` that constants, and the `given` values, alone determine."""
    known: dict[Tensor, NDArray] = dict(given or {})
    for op in ops:
        if is_constant(op):
            value = constant_of(op)
            if op.outputs[0] not in fed and value is not None:
                known.setdefault(op.outputs[0], value)
        elif can_fold(op) and op.takes and all(_needs_no_run(c, known) for c in op.waits_for):
            values = [_value(op, i, t, known, fed) for i, t in enumerate(op.takes)]
            if all(v is not None for v in values) and not fed.intersection(op.outputs):
                known.update(zip(op.outputs, _folded(op, values)))
    return known


def _folded(op: Operation, values: Sequence[object]) -> tuple[NDArray, ...]:
    """The outputs of an operation; none where shapes do not fit, which the run reports when it comes to it."""
    try:
        return call_numpy_kernel(op, values)
    except (ValueError, errors.OpError):
        return ()


def _needs_no_run(op: Operation, known: dict[Tensor, NDArray]) -> bool:
    """Whether waiting for an operation is no waiting at all, so that users of its waiters need not wait either."""
    if op.spec.facts.does_nothing:
        return all(_needs_no_run(c, known) for c in op.waits_for)
    return bool(op.outputs) and all(t in known for t in op.outputs)


def can_fold(op: Operation) -> bool:
    """Whether an operation is pure, has a NumPy twin, and its outputs are not large."""
    spec = op.spec
    if spec.numpy_kernel is None or spec.effects.is_stateful or spec.effects.reads or spec.effects.writes:
        return False
    return all(_size(t) <= MAX_FOLDED_ELEMENTS for t in op.outputs)


def near_kernel(op: Operation) -> Callable[..., Any] | None:
    """A NumPy kernel that is equal but for rounding, for work on shapes that come once; None where there is none."""
    return op.spec.near if op.outputs and op.outputs[0].dtype.is_floating else None


def _size(tensor: Tensor) -> int:
    sizes = tensor._sizes
    if sizes is None:
        return 0
    size = 1
    for s in sizes:
        size *= s or 1
    return size


def _value(op: Operation, index: int, tensor: Tensor, known: dict[Tensor, NDArray], fed: set[Tensor]) -> NDArray | KnownShape | None:
    if index in op.spec.shape_only_positions and tensor not in fed:
        sizes = tensor._sizes
        if sizes is not None and None not in sizes:
            return KnownShape(tuple(s for s in sizes if s is not None), tensor.dtype.base_dtype.as_numpy_dtype)
    return known.get(tensor)
