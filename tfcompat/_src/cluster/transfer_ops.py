"""The ops _Send and _Recv (and _HostSend, _HostRecv): put a tensor into the step's rendezvous, or take one from it."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base import dtypes, errors
from tfcompat._src.cluster import rendezvous, wire
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import EXTERNAL, HOST, WAITING, Facts, NotDifferentiable, op
from tfcompat._src.graph.operation import Operation

SEND, RECV = ("_Send", "_HostSend"), ("_Recv", "_HostRecv")
_ATTRS = "tensor_name: string, send_device: string, send_device_incarnation: int, recv_device: string, client_terminated: bool = False"
_NO_GRADIENT = NotDifferentiable("the tensor goes to another task")


def key_of(node: Operation) -> str:
    """Returns the rendezvous key of a _Send or _Recv node."""
    # The incarnation is an unsigned number in a signed attribute.
    attrs = node.attrs
    send, receive, name = (attrs[key].decode() for key in ("send_device", "recv_device", "tensor_name"))
    return str(rendezvous.Key(send, attrs["send_device_incarnation"] % (1 << 64), receive, name))


def key_on(device: bytes, name: str) -> str:
    """The key under which nodes of one device, named as text of attributes is, send and receive a tensor of a name."""
    return str(rendezvous.Key(device.decode(), 0, device.decode(), name))


def _send(context: Any, tensor: Any) -> tuple[()]:
    dtype: dtypes.DType = context.op.attrs["T"]
    rendezvous.current().put(key_of(context.op), rendezvous.Arrived(wire.on_host(tensor), dtype))
    return ()


def _receive(context: Any) -> Any:
    key = key_of(context.op)
    return received(key, rendezvous.current().take(key))


def received(key: str, found: rendezvous.Arrived) -> Any:
    """Returns a received value.

    Raises:
      errors.UnimplementedError: the tensor is dead. Parts that are cut into phases never see one (see settled.py).
    """
    if found.is_dead:
        raise errors.UnimplementedError(
            None, None, f"tfcompat cannot receive a tensor of a branch that was not taken here: {key}. Place the conditional on one task, or "
            "connect the session to a master of tfcompat."
        )  # fmt: skip
    return found.value


for _name in SEND:
    op(_name, f"(tensor: T, *, T: type, {_ATTRS}) -> ()", shape=si.no_outputs, gradient=_NO_GRADIENT, kernel=_send, side=HOST,
       effects=EXTERNAL, context=True)  # fmt: skip
# A _Recv is a placeholder for the runtime: a phase feeds it with the received value.
for _name in RECV:
    op(_name, f"(*, tensor_type: type, {_ATTRS}) -> (tensor: tensor_type)", shape=si.unknown, gradient=_NO_GRADIENT, kernel=_receive,
       side=HOST, effects=WAITING, facts=Facts(is_placeholder=True), context=True)  # fmt: skip
