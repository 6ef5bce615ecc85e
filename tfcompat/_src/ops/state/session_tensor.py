"""Tensors that stay in a Session between its runs, and their handles."""

from __future__ import annotations

import itertools
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes, errors
from tfcompat._src.base.export import export
from tfcompat._src.base.host_context import HostContext
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import EXTERNAL, HOST, NotDifferentiable, op
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import colocate_with, device
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.ops.array.constant import placeholder

if TYPE_CHECKING:
    from tfcompat._src.base.dtypes import DTypeLike

_NO_GRADIENT = NotDifferentiable("the tensor lies in the Session")


class _Store(dict[bytes, np.ndarray]):
    """The tensors that a Session keeps, by their name. It lives as long as the Session is open."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers = itertools.count()


class TensorHandle(bytes):
    """The name of a tensor in a Session, which keeps the tensor while this object lives.

    A run that fetches `get_session_handle(t)` gives one. It can be fed in the place of a value; its `handle` is fed to the
    placeholder of `get_session_tensor`.
    """

    def __new__(cls, handle: bytes, dtype: dtypes.DType, store: _Store) -> TensorHandle:
        made = super().__new__(cls, handle)
        made._dtype, made._store, made._kept = dtype, weakref.ref(store), False
        return made

    @property
    def handle(self) -> str:
        """The name as text."""
        return self.decode()

    def __str__(self) -> str:
        return self.handle

    def get_raw_handle(self) -> bytes:
        """The name; the Session keeps the tensor from now on until it is deleted."""
        self._kept = True
        return bytes(self)

    def eval(self) -> Any:
        """The value of the tensor, in an array of its own; TypeError where it was deleted."""
        return np.array(self._values()[bytes(self)])[()]

    to_numpy_array = eval

    def value_for(self, tensor: Tensor) -> Any:
        """The value, to be fed for `tensor`; InvalidArgumentError where its dtype is another."""
        if tensor.dtype.base_dtype != self._dtype:
            raise errors.InvalidArgumentError(
                None, None, f"Expects arg[0] to be {tensor.dtype.base_dtype.name} but {self._dtype.name} is provided"
            )
        return self.eval()

    def delete(self) -> None:
        """Lets the tensor go; TypeError where that has happened before."""
        del self._values()[bytes(self)]

    def _values(self) -> _Store:
        values = self._store()
        if values is None or bytes(self) not in values:
            raise TypeError(f"Persistent tensor {self.handle} may have already been deleted.")
        return values

    def __del__(self) -> None:
        values = self._store()
        if values is not None and not self._kept:
            values.pop(bytes(self), None)


def _store_of(context: HostContext) -> _Store:
    return context.run.resources.setdefault("session tensors", _Store())


def _keep(context: HostContext, value: np.ndarray) -> np.ndarray:
    run, node, store = context.run, context.op, _store_of(context)
    name = f"{node.name};{next(store.numbers)};{run.devices[0].name}".encode()
    store[name] = np.array(value)
    found = np.empty((), object)
    found[()] = TensorHandle(name, node.attrs["T"], store)
    return found


def _get(context: HostContext, handle: np.ndarray) -> np.ndarray:
    found = _store_of(context).get(bytes(handle[()]))
    if found is None:
        raise errors.InvalidArgumentError(None, None, f"The tensor with handle '{handle[()].decode()}' is not in the session store.")
    return found


def _delete(context: HostContext, handle: np.ndarray) -> tuple:
    if _store_of(context).pop(bytes(handle[()]), None) is None:
        raise errors.InvalidArgumentError(
            None, None, f"Failed to delete a tensor with handle '{handle[()].decode()}' in the session store."
        )
    return ()


for _name, _type in (("GetSessionHandle", "string"), ("GetSessionHandleV2", "resource")):
    op(_name, f"(value: T, *, T: type) -> (handle: {_type})", shape=si.scalar, kernel=_keep, gradient=_NO_GRADIENT, side=HOST,
       effects=EXTERNAL, context=True)  # fmt: skip
op("GetSessionTensor", "(handle: string, *, dtype: type) -> (value: dtype)", shape=si.unknown, kernel=_get, gradient=_NO_GRADIENT,
   side=HOST, effects=EXTERNAL, context=True)  # fmt: skip
op("DeleteSessionTensor", "(handle: string) -> ()", shape=si.no_outputs, kernel=_delete, gradient=_NO_GRADIENT, side=HOST,
   effects=EXTERNAL, context=True)  # fmt: skip


@export("get_session_handle")
def get_session_handle(data: Tensor, name: str | None = None) -> Tensor:
    """A scalar string tensor: a run that fetches it keeps `data` in the Session and gives a TensorHandle.

    Args:
      data: tensor to keep.
      name: name of the operation.

    Raises:
      TypeError: `data` is no tensor.
    """
    if not isinstance(data, Tensor):
        raise TypeError("`data` must be of type Tensor.")
    with colocate_with(data):
        return raw.GetSessionHandle(data, name=name)


@export("get_session_tensor")
def get_session_tensor(handle: str | bytes, dtype: DTypeLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """A tensor that a Session keeps, for use in other runs.

    Args:
      handle: the handle of such a tensor, which says where its device is.
      dtype: element type of the tensor.
      name: name of the operation.

    Returns:
      (placeholder to feed a handle to, the tensor).
    """
    with device(_device_of(handle)):
        holder = placeholder(dtypes.string)
        return holder, raw.GetSessionTensor(holder, dtype=dtypes.as_dtype(dtype), name=name)


@export("delete_session_tensor")
def delete_session_tensor(handle: str | bytes, name: str | None = None) -> tuple[Tensor, Operation]:
    """An operation that makes a Session let go of a tensor.

    Args:
      handle: the handle of such a tensor, which says where its device is.
      name: name of the operation.

    Returns:
      (placeholder to feed a handle to, the operation).
    """
    with device(_device_of(handle)):
        holder = placeholder(dtypes.string)
        return holder, raw.DeleteSessionTensor(holder, name=name)


def _device_of(handle: str | bytes) -> str:
    """The device in the text of a handle."""
    return (handle.decode() if isinstance(handle, bytes) else handle).split(";")[-1]
