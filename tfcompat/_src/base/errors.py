"""tf.errors: one exception class per status code of core/lib/core/error_codes.proto, and error texts that name a node's origin."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from typing import Any, Literal

from tfcompat._src.base.export import export
from tfcompat._src.base.node_like import Frame, NodeLike
from tfcompat._src.proto import messages

OK = export("errors.OK")(0)
CANCELLED = export("errors.CANCELLED")(1)
UNKNOWN = export("errors.UNKNOWN")(2)
INVALID_ARGUMENT = export("errors.INVALID_ARGUMENT")(3)
DEADLINE_EXCEEDED = export("errors.DEADLINE_EXCEEDED")(4)
NOT_FOUND = export("errors.NOT_FOUND")(5)
ALREADY_EXISTS = export("errors.ALREADY_EXISTS")(6)
PERMISSION_DENIED = export("errors.PERMISSION_DENIED")(7)
RESOURCE_EXHAUSTED = export("errors.RESOURCE_EXHAUSTED")(8)
FAILED_PRECONDITION = export("errors.FAILED_PRECONDITION")(9)
ABORTED = export("errors.ABORTED")(10)
OUT_OF_RANGE = export("errors.OUT_OF_RANGE")(11)
UNIMPLEMENTED = export("errors.UNIMPLEMENTED")(12)
INTERNAL = export("errors.INTERNAL")(13)
UNAVAILABLE = export("errors.UNAVAILABLE")(14)
DATA_LOSS = export("errors.DATA_LOSS")(15)
UNAUTHENTICATED = export("errors.UNAUTHENTICATED")(16)


@export("OpError", "errors.OpError")
class OpError(Exception):
    """An error while a node runs.

    Attributes: `message` (str), `error_code` (int, of tf.errors), `op` (the Operation, or None if the node is not in the program's
    graph), `node_def` (the NodeDef, or None). `drew_from`: the random counter of each operation at the start of the compiled call that
    failed, by operation name; None for another kind of step, or one without random numbers.
    """

    drew_from: Mapping[str, int] | None = None

    def __init__(self, node_def: messages.NodeDef | None, op: NodeLike | None, message: str, error_code: int | None) -> None:
        super().__init__()
        self._node_def = node_def
        self._op = op
        self._message = message
        self._error_code = error_code

    @property
    def message(self) -> str:
        return self._message

    @property
    def op(self) -> NodeLike | None:
        return self._op

    @property
    def error_code(self) -> int | None:
        return self._error_code

    @property
    def node_def(self) -> messages.NodeDef | None:
        return self._node_def

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the error without the op, which belongs to its graph."""
        # Classes with a code of their own take three arguments, the others also the code.
        code = (self._error_code,) if type(self).__init__ in (OpError.__init__, UnknownError.__init__) else ()
        return type(self), (self._node_def, None, self._message, *code)

    def at_node(self, node_def: messages.NodeDef | None, op: NodeLike | None, message: str | None = None) -> OpError:
        """Returns an error of the same class and code at another node, with another message if one is given."""
        kind, (_, _, text, *code) = self.__reduce__()
        copied: OpError = kind(node_def, op, text if message is None else message, *code)
        return copied

    def at_call(self, op_type: str, name: str | None) -> None:
        """Turns this into the error of an eager call: it has no node, and the message names the op type and the name argument."""
        self._op = self._node_def = None
        self._message += f" [Op:{op_type}]" + (f" name: {name}" if name else "")

    def name_node(self) -> None:
        """Adds the line with the failed node to the message, as an error has it that a run raises."""
        if self._op is not None:
            self._message = with_node(self._message, self._op)

    def __str__(self) -> str:
        if self._op is None:
            return self._message
        lines = [self._message, "", f"Original stack trace for '{self._op.name}':"]
        # Only the program's frames are shown, in the form of a Python traceback.
        for file, line, function, source in user_frames(self._op):
            lines.append(f'  File "{file}", line {line}, in {function}')
            if source:
                lines.append(f"    {source}")
        return "\n".join(lines) + "\n"


Maker = Callable[[messages.NodeDef | None, NodeLike | None, str], Exception]
"""A function of a NodeDef, a node and a message that returns an error: every error class with a fixed code is one."""

# Filled by the decorator `_register` of each class.
_CODE_TO_CLASS: dict[int, type[OpError]] = {}
_CLASS_TO_CODE: dict[type[OpError], int] = {}


def _register(code: int) -> Callable[[type[OpError]], type[OpError]]:
    def mark(cls: type[OpError]) -> type[OpError]:
        _CODE_TO_CLASS[code] = cls
        _CLASS_TO_CODE[cls] = code
        return cls

    return mark


# ---- one class per status code ----


@export("errors.CancelledError")
@_register(CANCELLED)
class CancelledError(OpError):
    """The operation was cancelled, for instance by closing its queue or session."""

    def __init__(self, node_def: messages.NodeDef | None, op: NodeLike | None, message: str) -> None:
        super().__init__(node_def, op, message, CANCELLED)


@export("errors.InvalidArgumentError")
@_register(INVALID_ARGUMENT)
class InvalidArgumentError(OpError):
    """An input has a value or shape that the operation does not take."""

    def __init__(self, node_def: messages.NodeDef | None, op: NodeLike | None, message: str) -> None:
        super().__init__(node_def, op, message, INVALID_ARGUMENT)


@export("errors.DeadlineExceededError")
@_register(DEADLINE_EXCEEDED)
class DeadlineExceededError(OpError):
    """The operation did not end within its time limit."""

    def __init__(self, node_def: messages.NodeDef | None, op: NodeLike | None, message: str) -> None:
        super().__init__(node_def, op, message, DEADLINE_EXCEEDED)


@export("errors.NotFoundError")
@_register(NOT_FOUND)
class NotFoundError(OpError):
    """A file, directory or other entity does not exist."""

    def __init__(self, node_def: messages.NodeDef | None, op: NodeLike | None, message: str) -> None:
        super().__init__(node_def, op, message, NOT_FOUND)


@export("errors.AlreadyExistsError")
@_register(ALREADY_EXISTS)
class AlreadyExistsError(OpError):
    """An entity that the operation should create exists already."""

    def __init__(self, node_def: messages.NodeDef | None, op: NodeLike | None, message: str) -> None:
        super().__init__(node_def, op, message, ALREADY_EXISTS)


@export("errors.PermissionDeniedError")
@_register(PERMISSION_DENIED)
class PermissionDeniedError(OpError):
    """The caller may not do this."""

    def __init__(self, node_def: messages.NodeDef | None, op: NodeLike | None, message: str) -> None:
        super().__init__(node_def, op, message, PERMISSION_DENIED)


@export("errors.UnauthenticatedError")
@_register(UNAUTHENTICATED)
class UnauthenticatedError(OpError):
    """The request has no valid credentials."""

    def __init__(self, node_def: messages.NodeDef | None, op: NodeLike | None, message: str) -> None:
        super().__init__(node_def, op, message, UNAUTHENTICATED)


@export("errors.ResourceExhaustedError")
@_register(RESOURCE_EXHAUSTED)
class ResourceExhaustedError(OpError):
    """Memory, disk or another resource is used up."""

    def __init__(self, node_def: messages.NodeDef | None, op: NodeLike | None, message: str) -> None:
        super().__init__(node_def, op, message, RESOURCE_EXHAUSTED)


@export("errors.FailedPreconditionError")
@_register(FAILED_PRECONDITION)
class FailedPreconditionError(OpError):
    """The system is not in the state that the operation needs, such as a variable without a value."""

    def __init__(self, node_def: messages.NodeDef | None, op: NodeLike | None, message: str) -> None:
        super().__init__(node_def, op, message, FAILED_PRECONDITION)


@export("errors.AbortedError")
@_register(ABORTED)
class AbortedError(OpError):
    """The operation was aborted, typically because of a concurrent action."""

    def __init__(self, node_def: messages.NodeDef | None, op: NodeLike | None, message: str) -> None:
        super().__init__(node_def, op, message, ABORTED)


@export("errors.OutOfRangeError")
@_register(OUT_OF_RANGE)
class OutOfRangeError(OpError):
    """The operation went past the valid range, such as the end of the input."""

    def __init__(self, node_def: messages.NodeDef | None, op: NodeLike | None, message: str) -> None:
        super().__init__(node_def, op, message, OUT_OF_RANGE)


@export("errors.UnimplementedError")
@_register(UNIMPLEMENTED)
class UnimplementedError(OpError):
    """The operation, or this use of it, is not implemented."""

    def __init__(self, node_def: messages.NodeDef | None, op: NodeLike | None, message: str) -> None:
        super().__init__(node_def, op, message, UNIMPLEMENTED)


@export("errors.InternalError")
@_register(INTERNAL)
class InternalError(OpError):
    """An invariant of the system is broken."""

    def __init__(self, node_def: messages.NodeDef | None, op: NodeLike | None, message: str) -> None:
        super().__init__(node_def, op, message, INTERNAL)


@export("errors.UnavailableError")
@_register(UNAVAILABLE)
class UnavailableError(OpError):
    """The runtime is currently not available."""

    def __init__(self, node_def: messages.NodeDef | None, op: NodeLike | None, message: str) -> None:
        super().__init__(node_def, op, message, UNAVAILABLE)


@export("errors.DataLossError")
@_register(DATA_LOSS)
class DataLossError(OpError):
    """Data is lost or corrupt beyond recovery."""

    def __init__(self, node_def: messages.NodeDef | None, op: NodeLike | None, message: str) -> None:
        super().__init__(node_def, op, message, DATA_LOSS)


@export("errors.UnknownError")
@_register(UNKNOWN)
class UnknownError(OpError):
    """An error without a better class."""

    def __init__(self, node_def: messages.NodeDef | None, op: NodeLike | None, message: str, error_code: int | None = UNKNOWN) -> None:
        super().__init__(node_def, op, message, error_code)


# ---- status codes and classes ----


@export("errors.exception_type_from_error_code")
def exception_type_from_error_code(error_code: int) -> type[OpError]:
    """Returns the error class of a status code; raises KeyError if the code has none."""
    return _CODE_TO_CLASS[error_code]


@export("errors.error_code_from_exception_type")
def error_code_from_exception_type(cls: type[OpError]) -> int | UnknownError:
    """Returns the status code of an error class; for another class warns and returns, as 1.15 does, an UnknownError object."""
    if cls in _CLASS_TO_CODE:
        return _CLASS_TO_CODE[cls]
    warnings.warn("Unknown class exception", stacklevel=2)
    return UnknownError(None, None, f"Unknown class exception: {cls}", None)


def of_code(error_code: int, node_def: messages.NodeDef | None, op: NodeLike | None, message: str) -> OpError:
    """Returns an error of the class of a status code; raises KeyError if the code has none."""
    return _CODE_TO_CLASS[error_code](node_def, op, message)  # type: ignore[call-arg]  # classes with a code of their own


def _make_specific_exception(node_def: messages.NodeDef | None, op: NodeLike | None, message: str, error_code: int) -> OpError:
    """Returns an error of the class of a status code; warns and returns an UnknownError if the code has no class."""
    if error_code in _CODE_TO_CLASS:
        return of_code(error_code, node_def, op, message)
    warnings.warn(f"Unknown error code: {error_code}", stacklevel=2)
    return UnknownError(node_def, op, message, error_code)


class Status:
    """The outcome of a call: `code` (of tf.errors) and `message`."""

    __slots__ = ("code", "message")

    def __init__(self) -> None:
        self.set(OK, "")

    def set(self, code: int, message: str) -> None:
        self.code = code
        self.message = message


@export("errors.raise_exception_on_not_ok_status")
class raise_exception_on_not_ok_status:  # noqa: N801
    """A context manager that yields a Status and raises its error at the end, unless the code is OK."""

    def __enter__(self) -> Status:
        self.status = Status()
        return self.status

    def __exit__(self, type_arg: object, value_arg: object, traceback_arg: object) -> Literal[False]:
        if self.status.code != OK:
            raise _make_specific_exception(None, None, self.status.message, self.status.code)
        return False


class InaccessibleTensorError(ValueError):
    """A tensor of an inner function graph used outside of it."""


class OperatorNotAllowedInGraphError(TypeError):
    """A Python operator, such as `bool()` or iteration, that needs a tensor's value while the graph is built."""


# ---- where a node was made ----

_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep


NODE_LINE = "\n\t [["
"""The beginning of the line of a message that names a node."""


def user_frames(op: NodeLike) -> list[Frame]:
    """Returns the (file, line, function, source line) frames that made `op`, outermost first, without tfcompat's own unless all are."""
    frames = [frame[:4] for frame in op.traceback]
    return [f for f in frames if not f[0].startswith(_PACKAGE)] or frames


def defined_at(op: NodeLike) -> str:
    """Returns "(defined at file:line)" for the innermost frame of the program that made `op`."""
    frames = user_frames(op)
    return f"(defined at {frames[-1][0]}:{frames[-1][1]})" if frames else "(defined at <unknown>)"


def with_node(message: str, op: NodeLike) -> str:
    """Returns `message` with 1.15's line that names the failed node and where the program made it, unless there is such a line."""
    return message if NODE_LINE in message else f"{message}{NODE_LINE}node {op.name} {defined_at(op)} ]]"
