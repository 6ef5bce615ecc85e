"""The numbers that a trace computes from sizes in NumPy: what a graph makes of `tf.shape`, as the length of a sequence or a predicate.

A trace that is derived from traces for other sizes (`latency/trace_family.py`) holds the numbers that polynomials of the sizes give. A program may compute
others: `tf.shape(x)[0] % 10` is no polynomial, though nine traces in a row may show one. So every operation that a trace evaluated is evaluated
again for the sizes of a derived trace, and each of its results must be what the polynomials say.
"""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from tfcompat._src.base import checks, errors
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.graph.constant_value import KnownShape, call_numpy_kernel
from tfcompat._src.graph.operation import Operation
from tfcompat._src.ops.flow.array_origin import is_length
from tfcompat._src.runtime.latency.merged_traces import At, Differing, Fit, Sizes, merged_array

Reference: TypeAlias = tuple[int, int]
"""A result of an earlier operation: its position, and which of its outputs."""


@dataclass(frozen=True)
class Folded:
    """An operation whose results are numbers while tracing.

    Attributes:
      inputs: those of its NumPy kernel, of which it takes the values or only the shapes; None if that kernel has not computed the results.
      results: NumPy arrays.
    """

    op: Operation
    inputs: tuple[NDArray | KnownShape, ...] | None
    results: tuple[NDArray, ...]


_NOTED: contextvars.ContextVar[list[Folded] | None] = contextvars.ContextVar("noted", default=None)


@contextlib.contextmanager
def noting() -> Iterator[list[Folded]]:
    """Collects the operations that are evaluated in NumPy inside of a `with` block."""
    noted: list[Folded] = []
    token = _NOTED.set(noted)
    try:
        yield noted
    finally:
        _NOTED.reset(token)


def note(op: Operation, inputs: Sequence[object] | None, results: Sequence[object]) -> None:
    """Notes the results of an operation while tracing, if all are NumPy values.

    Args:
      inputs: those of the NumPy kernel, traced where only shapes are used; None if that kernel has not computed the results.
    """
    noted = _NOTED.get()
    if noted is None or not results or not all(isinstance(r, (np.ndarray, np.generic)) for r in results):
        return
    # Identity matters: an input is known by the array that an earlier operation gave.
    given = None
    if inputs is not None:
        given = tuple([v if isinstance(v, (np.ndarray, np.generic)) else _shape_of(op, i, v) for i, v in enumerate(inputs)])
    noted.append(Folded(op, given, tuple(results)))  # type: ignore[arg-type]  # NumPy scalars are arrays here


def _shape_of(op: Operation, position: int, value: object) -> KnownShape:
    return KnownShape(tuple(getattr(value, "shape", ())), op.takes[position].dtype.base_dtype.as_numpy_dtype)


class FoldedNumbers:
    """The operations that traces of one program for several sizes have evaluated, as a check for other sizes.

    Args:
      fit: to the sizes. noted: the operations of each trace.

    Raises:
      Differing: the traces evaluated other operations, or a number varies and nothing tells how.
    """

    def __init__(self, fit: Fit, noted: Sequence[Sequence[Folded]]) -> None:
        if len({len(each) for each in noted}) > 1:
            raise Differing("other numbers are computed for other sizes")
        self._steps: list[tuple[Operation, list[Reference | At], list[At]]] = []
        # Which results vary, by the identity of the array in the first trace; and their values in all traces.
        self._varying: dict[int, Reference] = {}
        self._values: list[tuple[Reference, list[NDArray]]] = []
        for position, alike in enumerate(zip(*noted, strict=True)):
            self._add(fit, position, alike)

    def _add(self, fit: Fit, position: int, alike: Sequence[Folded]) -> None:
        """Adds one operation, as all traces evaluated it."""
        op = alike[0].op
        if any(each.op is not op for each in alike):
            raise Differing(f"{op.name} is not computed for all sizes")
        where = f"a number that {op.name} computes"
        results = list(zip(*(each.results for each in alike), strict=True))
        inputs_of_each = [each.inputs for each in alike if each.inputs is not None]
        if len(inputs_of_each) < len(alike):
            # Nothing evaluates this again. The length of a TensorArray is the number that it was made with.
            if not is_length(op) and any(not _are_equal(values) for values in results):
                raise Differing(f"{where} varies, and depends on more than sizes")
            return
        inputs = [self._input(fit, values, where) for values in zip(*inputs_of_each, strict=True)]
        if not any(varies for _, varies in inputs):
            return
        self._steps.append((op, [given for given, _ in inputs], [merged_array(fit, values, where) for values in results]))
        for output, values in enumerate(results):
            reference = len(self._steps) - 1, output
            self._varying[id(values[0])] = reference
            self._values.append((reference, list(values)))

    def _input(self, fit: Fit, values: Sequence[NDArray | KnownShape], where: str) -> tuple[Reference | At, bool]:
        """Returns an input as an earlier result, or as a function of the sizes; and whether the sizes matter to it."""
        first = values[0]
        if isinstance(first, KnownShape):
            shapes = [np.array(v.shape, np.int64) for v in values]
            shape, dtype = merged_array(fit, shapes, where), first.dtype
            return (lambda sizes: KnownShape(tuple(map(int, shape(sizes))), dtype)), not _are_equal(shapes)
        arrays = [v for v in values if not isinstance(v, KnownShape)]
        reference = self._varying.get(id(first))
        if reference is not None:
            return reference, True
        if _are_equal(arrays):
            return (lambda sizes: first), False
        # A copy of an earlier result is known by its values.
        same = next((r for r, others in reversed(self._values) if all(map(_is_same, arrays, others))), None)
        if same is None:
            raise Differing(f"an input of {where} varies, and nothing tells how")
        return same, True

    def agree(self, sizes: Sizes) -> bool:
        """Whether the operations, evaluated for these sizes, give what polynomials of the sizes say."""
        computed: list[tuple[NDArray, ...]] = []
        for op, inputs, results in self._steps:
            given = [at(sizes) if callable(at) else computed[at[0]][at[1]] for at in inputs]
            try:
                with checks.at_once():
                    computed.append(call_numpy_kernel(op, given))
            except (errors.OpError, ValueError, TypeError):
                return False
            if not all(_is_same(value, np.asarray(at(sizes))) for value, at in zip(computed[-1], results)):
                return False
        return True


def _is_same(one: NDArray, other: NDArray) -> bool:
    return np.shape(one) == np.shape(other) and np.array_equal(one, other)


def _are_equal(arrays: Sequence[NDArray]) -> bool:
    return all(_is_same(a, arrays[0]) for a in arrays)
