"""`tensorflow.python.pywrap_tensorflow`: TensorFlow's C API for sessions, their devices, statuses and constants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tfcompat._src.base import errors
from tfcompat._src.graph.constant_value import known_value
from tfcompat._src.runtime.devices.devices import DeviceAttributes
from tfcompat._src.runtime.session.session import Session

if TYPE_CHECKING:
    from tfcompat._src.graph.graph import Graph


class _SessionOptions(NamedTuple):
    """The target and configuration of a session."""

    target: bytes | None
    config: Any


def TF_NewSessionOptions(target: bytes | None = None, config: object = None) -> _SessionOptions:
    """Makes the options of a session.

    Args:
      target: the server to connect to, or None for this process. config: a ConfigProto or None.

    Raises:
      TypeError: `target` is not bytes.
    """
    if target is not None and not isinstance(target, bytes):
        raise TypeError(f"expected bytes, {type(target).__name__} found")
    return _SessionOptions(target, config)


def TF_NewSession(graph: Any, opts: _SessionOptions) -> Session:
    """Makes a session of a graph."""
    return Session((opts.target or b"").decode(), graph, opts.config)


def TF_CloseSession(session: Session) -> None:
    """Closes a session, unless it is closed."""
    session.close()


TF_DeleteSession = TF_CloseSession


def TF_SessionListDevices(session: Session) -> list[DeviceAttributes]:
    """Returns the devices of a session, for the functions TF_DeviceList*."""
    return session.list_devices()


def TF_DeleteDeviceList(list: list[DeviceAttributes]) -> None:  # noqa: A002
    """Clears a list of TF_SessionListDevices, which frees it in C."""
    list.clear()


def TF_DeviceListCount(list: list[DeviceAttributes]) -> int:  # noqa: A002
    """Returns the number of devices."""
    return len(list)


def _device(devices: list[DeviceAttributes], index: int) -> DeviceAttributes:
    """Returns a device; raises InvalidArgumentError if the index is negative or too large, where a list would count from its end or raise."""
    if not 0 <= index < len(devices):
        raise errors.InvalidArgumentError(None, None, "index out of bounds")
    return devices[index]


def TF_DeviceListName(list: list[DeviceAttributes], index: int) -> str:  # noqa: A002
    """Returns the full name of a device; raises InvalidArgumentError if there is none with this index."""
    return _device(list, index).name


def TF_DeviceListType(list: list[DeviceAttributes], index: int) -> str:  # noqa: A002
    """Returns "CPU", "GPU" or "TPU"; raises InvalidArgumentError if there is no device with this index."""
    return _device(list, index).device_type


def TF_DeviceListMemoryBytes(list: list[DeviceAttributes], index: int) -> int:  # noqa: A002
    """Returns the memory limit of a device in bytes; raises InvalidArgumentError if there is no device with this index."""
    return _device(list, index).memory_limit_bytes


def TF_DeviceListIncarnation(list: list[DeviceAttributes], index: int) -> int:  # noqa: A002
    """Returns a random number that identifies this incarnation of a device; raises InvalidArgumentError if there is none with this index."""
    return _device(list, index).incarnation


def TF_NewStatus() -> errors.Status:
    """Makes a status with the code OK."""
    return errors.Status()


def TF_SetStatus(status: errors.Status, code: int, message: str) -> None:
    """Sets the code and message of a status."""
    status.set(code, message)


def TF_GetCode(status: errors.Status) -> int:
    """Returns the error code of a status, 0 for OK."""
    return status.code


def TF_Message(status: errors.Status) -> str:
    """Returns the message of a status, "" for OK."""
    return status.message


def TF_TryEvaluateConstant_wrapper(graph: Graph, output: Any) -> Any:
    """Returns the value of a tensor that depends on constants and static shapes only (a scalar as a NumPy scalar), else None.

    Args:
      output: the node's name and the output's index, as `Tensor._as_tf_output` returns them.
    """
    name, index = output
    value = known_value(graph.get_operation_by_name(name).outputs[index])
    return None if value is None else value[()]
