"""Stacks: resources that operations push tensors onto and pop them from."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.base.dtypes import as_dtype
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import EXTERNAL, HOST, Effects, NotDifferentiable, op
from tfcompat._src.graph.tensor import shape_text
from tfcompat._src.ops.flow.list_value import dtype_text, invalid

if TYPE_CHECKING:
    from tfcompat._src.base.dtypes import DTypeLike

STACK, PUSH, POP = "StackV2", "StackPushV2", "StackPopV2"
"""The op types of what the forward loops of gradients push onto, and the backward loops pop from."""
STACKS = frozenset((STACK, PUSH, POP))
_MAKES = Effects(external=True, creates=True)


class Stack:
    """Tensors of one dtype, of which the last is taken first; up to `limit`, where that is not negative."""

    shape, ndim = (), 0

    def __init__(self, dtype: Any, name: str, limit: int) -> None:
        self._dtype, self._name, self._limit = dtype, name, limit
        self._elements: list[np.ndarray] = []
        self._lock = threading.Lock()
        self._is_closed = False

    def push(self, element: np.ndarray, dtype: DTypeLike) -> np.ndarray:
        with self._lock:
            self._require_open()
            if dtype != self._dtype:
                raise invalid(f"Must have type {as_dtype(self._dtype).as_datatype_enum} but got {as_dtype(dtype).as_datatype_enum}")
            if 0 <= self._limit <= len(self._elements):
                raise invalid(f"Stack[{self._name}] overflowed its max_size ({self._limit})")
            self._elements.append(np.array(element) if isinstance(element, np.ndarray) else element)
        return element

    def pop(self, dtype: object) -> np.ndarray:
        with self._lock:
            self._require_open()
            if not self._elements:
                raise invalid(f"Stack[{self._name}] is empty when calling Pop().")
            if dtype != self._dtype:
                raise errors.InternalError(
                    None, None, f"Output 0 of type {dtype_text(self._dtype)} does not match declared output type {dtype_text(dtype)}"
                )
            return self._elements.pop()

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            self._elements.clear()

    def _require_open(self) -> None:
        if self._is_closed:
            raise invalid(f"Stack[{self._name}] has already been closed.")


def _make(*limit, elem_type, stack_name):
    if limit and limit[0].ndim:
        raise invalid(f"Stack size must be a scalar, but had shape: {shape_text(limit[0].shape)}")
    return Stack(elem_type, stack_name, int(limit[0]) if limit else -1)


def _close(handle):
    handle.close()
    return ()


for _version, _handle, _size in (("V2", "resource", "max_size: int32, "), ("", "Ref(string)", "")):
    _no_gradient = NotDifferentiable("1.15 has no gradient here", raises=_version == "V2")
    op(
        f"Stack{_version}", f'({_size}*, elem_type: type, stack_name: string = "") -> (handle: {_handle})',
        shape=lambda c: [(2,)], gradient=_no_gradient, side=HOST, effects=_MAKES,
        kernel=_make,
    )  # fmt: skip
    op(
        f"StackPush{_version}", f"(handle: {_handle}, elem: T, *, T: type, swap_memory: bool = False) -> (output: T)",
        shape=si.unchanged_from(1), gradient=_no_gradient, side=HOST, effects=EXTERNAL,
        kernel=lambda handle, elem, *, T: handle.push(elem, T),
    )  # fmt: skip
    op(
        f"StackPop{_version}", f"(handle: {_handle}, *, elem_type: type) -> (elem: elem_type)", shape=si.unknown,
        gradient=_no_gradient, side=HOST, effects=EXTERNAL, kernel=lambda handle, *, elem_type: handle.pop(elem_type),
    )  # fmt: skip
    op(
        f"StackClose{_version}", f"(handle: {_handle}) -> ()", shape=si.no_outputs, gradient=_no_gradient, side=HOST,
        effects=EXTERNAL, kernel=_close,
    )  # fmt: skip
