"""Tensors that tfcompat's workers push to each other: each has one open stream to every other one that it sends to.

TensorFlow's workers ask for each tensor when they need it. Between workers of tfcompat a tensor leaves as soon as it is there: no request, no
message of its own, its bytes are copied once. What a phase sends to a worker is received as a whole, which wakes who waits for it once. Which
tasks push is told to all of a session when it begins, by `PUSHES` in the description of their devices.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from tfcompat._src.base import dtypes, errors
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.cluster import trust, wire
from tfcompat._src.cluster.lines import Source
from tfcompat._src.cluster.peers import GROUP, Outbox, Parcel, batches
from tfcompat._src.cluster.rendezvous import Arrived, Steps, parse_key
from tfcompat._src.cluster.stream_calls import StreamCalls, as_array
from tfcompat._src.proto import messages

if TYPE_CHECKING:
    from tfcompat._src.cluster.worker import WorkerSession

PUSHES = "tfcompat: pushes tensors"
"""The description of the devices of a task that pushes tensors, and takes pushed ones."""
TENSORS, SENDER = "tfcompat-tensors", "tfcompat-task"
"""The group that a stream of tensors names, and the metadata that names its task."""
_MESSAGE, _DEAD, _END = "proto", "dead", "end"


def pushing_tasks(devices: Iterable[messages.DeviceAttributes]) -> frozenset[str]:
    """The tasks of devices that push."""
    return frozenset(task_of(d.name) for d in devices if d.physical_device_desc == PUSHES)


def task_of(device: str) -> str:
    """The task of a device."""
    return device.partition("/device:")[0]


def device_of(device: str) -> str:
    """The name of a device on its task."""
    return device.partition("/device:")[2]


class TensorStreams:
    """The streams of a worker.

    Args:
      task: its name. steps: its steps, where tensors arrive.
    """

    def __init__(self, task: str, steps: Steps) -> None:
        self._task, self._steps = task, steps
        self._lock = threading.Lock()
        self._outboxes: dict[str, Outbox] = {}
        self.calls = StreamCalls(self._send_bytes)

    def _send_bytes(self, address: str, key: str, text: str, data: bytes) -> None:
        self._outbox(address).send((key, text, as_array(data)))

    def send(self, address: str, number: int, tensors: list[tuple[str, Arrived]]) -> None:
        """Sends tensors of a step, with their keys, to the worker at an address. The first key has the number of the step before it.

        Raises:
          errors.UnavailableError: it does not answer. errors.ResourceExhaustedError: a tensor is too large.
        """
        items = [(key, *_packed(found)) for key, found in tensors]
        items[0] = f"{number} {items[0][0]}", *items[0][1:]
        trust.require_array_size(max(array.nbytes for _, _, array in items))
        self._outbox(address).send(*items)

    def end(self, address: str, number: int) -> None:
        """Has the worker at an address end a step. Where no stream leads there any more, it has ended the steps of that one itself."""
        with self._lock:
            outbox = self._outboxes.get(address)
        if outbox is not None and outbox.has_begun():
            outbox.send((f"{number} ", _END, np.zeros(0, np.uint8)))

    def interrupt(self) -> None:
        """Has nobody wait for workers that take nothing of what is sent to them, as a step was cancelled; does not wait itself."""
        with self._lock:
            outboxes = list(self._outboxes.values())
        for outbox in outboxes:
            outbox.interrupt()

    def _outbox(self, address: str) -> Outbox:
        with self._lock:
            outbox = self._outboxes.get(address)
            if outbox is None:
                metadata = (GROUP, TENSORS), (SENDER, self._task)
                outbox = self._outboxes[address] = Outbox(address, metadata, lambda why: self._forget(address, why))
            return outbox

    def _forget(self, address: str, why: str) -> None:
        """The next tensor begins a new stream; those who wait for tensors of the other worker see the end of its stream themselves."""
        with self._lock:
            self._outboxes.pop(address, None)
        self.calls.lose_address(address, why)

    def receive(self, task: str, source: Source) -> None:
        """Takes the tensors of a worker until its stream ends, which fails the steps that wait for more of them."""
        stream = object()
        try:
            for batch in batches(source):
                if not self.calls.take(task, batch[0], lambda number: self._steps.reached(number, stream)):
                    self._arrive(batch, stream)
        except Exception as e:  # noqa: BLE001  (a stream that breaks off raises what gRPC likes)
            reason = str(e) or "it has broken off"
        else:
            reason = "it has ended"
        self.calls.lose_task(task)
        self._steps.lose(task, stream, errors.UnavailableError(None, None, f"The stream of tensors from {task} has ended: {reason}"))

    def _arrive(self, batch: list[Parcel], stream: object) -> None:
        number, _, first = batch[0].key.partition(" ")
        if batch[0].description == _END:
            self._steps.end(int(number))
        else:
            keys = first, *[parcel.key for parcel in batch[1:]]
            self._steps.put(int(number), dict(zip(keys, map(_unpacked, batch))), stream)


def _packed(found: Arrived) -> tuple[str, NDArray]:
    """A text that describes a tensor, and its bytes."""
    base = found.dtype.base_dtype
    if found.is_dead:
        return f"{base.as_datatype_enum} {_DEAD}", np.zeros(0, np.uint8)
    if base == dtypes.string or not base.is_numpy_compatible:
        return f"{base.as_datatype_enum} {_MESSAGE}", np.frombuffer(wire.to_proto(found.value, base).SerializeToString(), np.uint8)
    array = np.ascontiguousarray(np.asarray(found.value).astype(wire.plain(base), copy=False))
    return f"{base.as_datatype_enum} {','.join(map(str, np.shape(found.value)))}", array


def _unpacked(parcel: Parcel) -> Arrived:
    number, _, form = parcel.description.partition(" ")
    dtype = dtypes.as_dtype(int(number))
    if form == _DEAD:
        return Arrived(None, dtype, is_dead=True)
    if form == _MESSAGE:
        return Arrived(wire.from_proto(messages.TensorProto.FromString(parcel.data.tobytes())), dtype)
    shape = [int(size) for size in form.split(",") if size]
    return Arrived(parcel.data.view(dtype.as_numpy_dtype).reshape(shape), dtype)


class Outgoing:
    """Where the tensors of a step in one session go: to workers that tensors are pushed to, or to who asks for them.

    Args:
      streams: of the worker. session: of a master. number: the step.
    """

    def __init__(self, streams: TensorStreams, session: WorkerSession, number: int) -> None:
        self._streams, self._session, self._number = streams, session, number

    def push(self, found: dict[str, Arrived]) -> dict[str, Arrived]:
        """Sends tensors, by key, to the workers that they are for, as far as those take pushed ones; the others."""
        kept: dict[str, Arrived] = {}
        pushed: dict[str, list[tuple[str, Arrived]]] = {}
        for key, one in found.items():
            address = self._session.pushed_to(task_of(parse_key(key).recv_device))
            if address is None:
                kept[key] = one
            else:
                pushed.setdefault(address, []).append((key, one))
        for address, tensors in pushed.items():
            self._streams.send(address, self._number, tensors)
        return kept
