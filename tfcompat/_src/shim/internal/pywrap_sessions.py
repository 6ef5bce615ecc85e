"""`tensorflow.python.pywrap_tensorflow`: sessions, their devices, statuses and constants by the functions of TensorFlow's C interface."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tfcompat._src.base import errors
from tfcompat._src.graph.constant_value import known_value
from tfcompat._src.runtime.devices import DeviceAttributes
from tfcompat._src.runtime.session import Session

if TYPE_CHECKING:
    from tfcompat._src.graph.graph import Graph


class _SessionOptions(NamedTuple):
    """Where a session runs, and with which settings."""

    target: bytes | None
    config: Any


def TF_NewSessionOptions(target: bytes | None = None, config: object = None) -> _SessionOptions:
    """The options of a session.

    Args:
      target: the server to connect to, None for this process. config: a ConfigProto or None.

    Raises:
      TypeError: `target` is no bytes.
    """
    if target is not None and not isinstance(target, bytes):
        raise TypeError(f"expected bytes, {type(target).__name__} found")
    return _SessionOptions(target, config)


def TF_NewSession(graph: Any, opts: _SessionOptions) -> Session:
    """A session of a graph."""
    return Session((opts.target or b"").decode(), graph, opts.config)


def TF_CloseSession(session: Session) -> None:
    """Ends a session; nothing where it has ended."""
    session.close()


TF_DeleteSession = TF_CloseSession


def TF_SessionListDevices(session: Session) -> list[DeviceAttributes]:
    """The devices of a session, for the functions TF_DeviceList*."""
    return session.list_devices()


def TF_DeleteDeviceList(list: list[DeviceAttributes]) -> None:  # noqa: A002
    """Forgets what TF_SessionListDevices gave."""
    list.clear()


def TF_DeviceListCount(list: list[DeviceAttributes]) -> int:  # noqa: A002
    """The number of devices."""
    return len(list)


def _device(devices: list[DeviceAttributes], index: int) -> DeviceAttributes:
    if not 0 <= index < len(devices):
        raise errors.InvalidArgumentError(None, None, "index out of bounds")
    return devices[index]


def TF_DeviceListName(list: list[DeviceAttributes], index: int) -> str:  # noqa: A002
    """The full name of a device; InvalidArgumentError where there is none with this index."""
    return _device(list, index).name


def TF_DeviceListType(list: list[DeviceAttributes], index: int) -> str:  # noqa: A002
    """"CPU", "GPU" or "TPU"; InvalidArgumentError where there is no device with this index."""
    return _device(list, index).device_type


def TF_DeviceListMemoryBytes(list: list[DeviceAttributes], index: int) -> int:  # noqa: A002
    """The memory of a device in bytes; InvalidArgumentError where there is no device with this index."""
    return _device(list, index).memory_limit_bytes


def TF_DeviceListIncarnation(list: list[DeviceAttributes], index: int) -> int:  # noqa: A002
    """A number that another device in its place would not have; InvalidArgumentError where there is no device with this index."""
    return _device(list, index).incarnation


def TF_NewStatus() -> errors.Status:
    """A status: OK."""
    return errors.Status()


def TF_SetStatus(status: errors.Status, code: int, message: str) -> None:
    """Sets the code and message of a status."""
    status.set(code, message)


def TF_GetCode(status: errors.Status) -> int:
    """The error code of a status, 0 for OK."""
    return status.code


def TF_Message(status: errors.Status) -> str:
    """The message of a status, "" for OK."""
    return status.message


def TF_TryEvaluateConstant_wrapper(graph: Graph, output: Any) -> Any:
    """The value of a tensor of a graph that depends on constants and known shapes only, else None; a scalar as a NumPy scalar."""
    name, index = output  # of `Tensor._as_tf_output`
    value = known_value(graph.get_operation_by_name(name).outputs[index])
    return None if value is None else value[()]
