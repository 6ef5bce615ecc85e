"""Finds the first node of a run that has made an infinity or a NaN, and describes it: its line in the program and its inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from tfcompat._src.base import errors, tracebacks
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.graph.constant_value import is_constant
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor

Values = dict[Tensor, object]


class FirstNotFinite:
    """An observer of a debugged run that keeps the node, first in creation order, with an infinity or a NaN. Constants do not count.

    Args:
      value_of: (tensor, values of the run so far) -> its value.

    Attributes:
      error: an error that describes the node, or None.
    """

    def __init__(self, value_of: Callable[[Tensor, Values], object]) -> None:
        self._value_of = value_of
        self._first: Operation | None = None
        self.error: errors.InvalidArgumentError | None = None

    def see(self, tensor: Tensor, values: Values, name: str | None = None) -> None:
        """Called for each tensor of the run; `name` is given for fed tensors."""
        # The order of creation, not of execution: independent nodes run in an order that a user does not know.
        op = tensor.op
        if (is_constant(op) and not name) or (self._first is not None and self._first.order <= op.order):
            return
        value = self._value_of(tensor, values)
        if not isinstance(value, (np.ndarray, np.generic)) or not np.issubdtype(value.dtype, np.number) or np.isfinite(value).all():
            return
        self._first = op
        inputs = {} if name else {t: self._value_of(t, values) for t in op.takes}
        self.error = errors.InvalidArgumentError(op.node_def, op, _description(tensor, np.asarray(value), bool(name), inputs))


def _description(tensor: Tensor, value: NDArray, is_fed: bool, inputs: Mapping[Tensor, object]) -> str:
    """The error message: how many elements are not finite, the user's line that made the node, and the range of each input."""
    op = tensor.op
    counts = [(int(np.isnan(value).sum()), "NaN"), (int(np.isinf(value).sum()), "infinite")]
    kinds = " and ".join(f"{count} {kind}" for count, kind in counts if count)
    origin = "was fed with" if is_fed else "is the first in creation order that has"
    lines = [f"{tensor.name} (op type {op.type}) {origin} elements that are not finite: {kinds} of {value.size}."]
    # The innermost frame that is not tfcompat's own.
    user_frame = next(((file, line, text) for file, line, _, text in reversed(op.traceback) if not tracebacks.is_own(file)), None)
    if user_frame is not None:
        lines.append(f'  made in File "{user_frame[0]}", line {user_frame[1]}: {user_frame[2] or ""}'.rstrip(": "))
    lines += [f"  input {t.name}: {_ranges(given)}" for t, given in inputs.items()]
    return "\n".join(lines)


def _ranges(value: object) -> str:
    """Describes an input: its dtype, shape, the range of its finite elements, and how many are not finite."""
    if not isinstance(value, (np.ndarray, np.generic)):
        return "no array"
    value = np.asarray(value)
    text = f"{value.dtype} of shape {value.shape}"
    if not np.issubdtype(value.dtype, np.number):
        return text
    is_finite = np.isfinite(value)
    finite = np.abs(value[is_finite]) if np.iscomplexobj(value) else value[is_finite]
    if finite.size:
        text += f", from {finite.min():g} to {finite.max():g}" + (" in absolute value" if np.iscomplexobj(value) else "")
    return text + (f", {value.size - finite.size} not finite" if finite.size < value.size else "")
