"""Variable operations in eager mode that run directly on the variables of the process, without a program."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.base.dtypes import cpp_name
from tfcompat._src.eager.program import VariableHandle, handle_key
from tfcompat._src.eager.state import EagerState
from tfcompat._src.graph.eager_tensor import EagerOperation
from tfcompat._src.runtime.state.variable_state import variable_key


def _make_handle(state: EagerState, op: EagerOperation) -> list[Any]:
    """Makes a handle; its variable is dropped when the handle is garbage."""
    if not op.attrs["shared_name"]:
        op.attrs = {**op.attrs, "shared_name": op.name.encode()}
    handle = VariableHandle(variable_key(op))
    # In eager mode a variable lives as long as its handle.
    weakref.finalize(handle, _forget, state, handle.key)
    return [handle]


def _forget(state: EagerState, key: str) -> None:
    """Drops the variable of a key."""
    state.variables.pop(key, None)
    state.writes.pop(key, None)


def _read(state: EagerState, op: EagerOperation) -> list[Any]:
    """Returns a variable's current value. The returned array shares the buffer, and while it lives keeps the buffer from being donated."""
    value = _value_of(state, op)
    return [value if isinstance(value, np.ndarray) else np.asarray(value)]


def _value_of(state: EagerState, op: EagerOperation) -> Any:
    """Returns the value of the variable that an operation reads; raises 1.15's errors for a wrong dtype or an uninitialized variable."""
    handle = op.takes[0]._value
    value = state.variables.get(handle.key) if isinstance(handle, VariableHandle) else None
    wanted = op.attrs["dtype"]
    if value is not None and op.takes[0]._op.attrs["dtype"] is not wanted:
        held = op.takes[0]._op.attrs["dtype"]
        raise errors.InvalidArgumentError(
            None, None, f"Trying to read variable with wrong dtype. Expected {cpp_name(wanted.name)} got {cpp_name(held.name)}."
        )
    if value is None:
        name = getattr(handle, "key", str(handle)).lstrip("/")
        raise errors.FailedPreconditionError(
            None, None,
            f"Error while reading resource variable {name} from Container: localhost. This could mean that the variable was "
            f"uninitialized. Not found: Resource localhost/{name}/N10tensorflow3VarE does not exist.",
        )  # fmt: skip
    return value


def _assign(state: EagerState, op: EagerOperation) -> list[Any]:
    """Replaces a variable's value. A NumPy array is copied, since the program may change it; arrays of JAX are immutable."""
    handle, value = op.takes[0], op.takes[1]
    wanted = handle._op.attrs["dtype"]
    if value.dtype is not wanted:
        raise errors.InvalidArgumentError(
            None, None,
            f"Trying to assign variable with wrong dtype. Expected {cpp_name(wanted.name)} got {cpp_name(value.dtype.name)}.",
        )  # fmt: skip
    state.writes[handle_key(handle)] += 1
    state.variables[handle_key(handle)] = np.array(value._value) if isinstance(value._value, np.ndarray) else np.asarray(value._value)
    return []


def _destroy(state: EagerState, op: EagerOperation) -> list[Any]:
    """Drops a variable; raises NotFoundError for a missing one unless `ignore_lookup_error`."""
    handle = op.takes[0]._value
    if isinstance(handle, VariableHandle) and state.variables.pop(handle.key, None) is not None:
        return []
    if not op.attrs["ignore_lookup_error"]:
        name = getattr(handle, "key", str(handle)).lstrip("/")
        raise errors.NotFoundError(None, None, f"Resource localhost/{name}/N10tensorflow3VarE does not exist.")
    return []


DIRECT: dict[str, Callable[[EagerState, EagerOperation], list[Any]]] = {
    "VarHandleOp": _make_handle,
    "ReadVariableOp": _read,
    "AssignVariableOp": _assign,
    "DestroyResourceOp": _destroy,
}
"""How to make, read, replace and destroy variables, by op type."""
