"""Pushed tensors: workers of tfcompat send tensors over one open line to each worker that receives from them.

TensorFlow's workers request each tensor when they need it. A worker of tfcompat sends a tensor as soon as it is computed, without a request or
a message of its own. The tensors that a phase sends to one worker form a batch, which wakes the receiving thread once. All tasks of a session
learn which tasks push from the description of the devices (`PUSHES`).
"""

from __future__ import annotations

import functools
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

PUSHES = "tfcompat: pushes tensors, ends steps"
"""The physical_device_desc of the devices of a task that pushes tensors, accepts pushed ones, and ends a step when it is asked to run its last part."""
TENSORS, SENDER = "tfcompat-tensors", "tfcompat-task"
"""Metadata of a line of tensors: the value of GROUP, and the name whose value is the sender's task."""
_MESSAGE, _DEAD, _END = "proto", "dead", "end"
_REMEMBERED = 4096
"""How many keys, and descriptions of arrays, are remembered as they were parsed: most steps have the same ones."""


def pushing_tasks(devices: Iterable[messages.DeviceAttributes]) -> frozenset[str]:
    """Returns the tasks that push tensors, by the descriptions of their devices."""
    return frozenset(task_of(d.name) for d in devices if d.physical_device_desc == PUSHES)


def task_of(device: str) -> str:
    """Returns the task of a device name."""
    return device.partition("/device:")[0]


def device_of(device: str) -> str:
    """Returns the part of a device name after its task, e.g. "CPU:0"."""
    return device.partition("/device:")[2]


class TensorStreams:
    """The lines of a worker to and from other workers.

    Args:
      task: the worker's task. steps: its steps, to which received tensors go.
    """

    def __init__(self, task: str, steps: Steps) -> None:
        self._task, self._steps = task, steps
        self._largest = trust.largest_array()
        self._lock = threading.Lock()
        self._outboxes: dict[str, Outbox] = {}
        self.calls = StreamCalls(self._send_bytes, steps.end)

    def _send_bytes(self, address: str, key: str, text: str, data: bytes) -> None:
        self._outbox(address).send((key, text, as_array(data)))

    def send(self, address: str, number: int, tensors: list[tuple[str, Arrived]]) -> None:
        """Sends tensors of the step `number`, with their keys, to the worker at an address, as one batch.

        Raises:
          errors.UnavailableError: the worker does not answer. errors.ResourceExhaustedError: a tensor is too large.
        """
        items = [(key, *_packed(found)) for key, found in tensors]
        # The step's number precedes the first key, separated by a space.
        items[0] = f"{number} {items[0][0]}", *items[0][1:]
        # Checked here, where the error belongs to the step; the receiver would break the line.
        trust.require_array_size(max([array.nbytes for _, _, array in items]), self._largest)
        self._outbox(address).send(*items)

    def end(self, address: str, number: int) -> None:
        """Tells the worker at an address that a step has ended. Without a line nothing is sent: the worker ended its steps with the line."""
        with self._lock:
            outbox = self._outboxes.get(address)
        if outbox is not None and outbox.has_begun():
            outbox.send((f"{number} ", _END, np.zeros(0, np.uint8)))

    def interrupt(self) -> None:
        """Unblocks sends to workers that accept nothing, after a step was cancelled, by breaking their lines. Does not block."""
        with self._lock:
            outboxes = list(self._outboxes.values())
        for outbox in outboxes:
            outbox.interrupt()

    def _outbox(self, address: str) -> Outbox:
        with self._lock:
            # The line opens with the first send, outside of this lock.
            outbox = self._outboxes.get(address)
            if outbox is None:
                metadata = (GROUP, TENSORS), (SENDER, self._task)
                outbox = self._outboxes[address] = Outbox(address, metadata, lambda why: self._forget(address, why))
            return outbox

    def _forget(self, address: str, why: str) -> None:
        """Drops a broken line to a worker; the next tensor opens a new one. Fails the runs that the worker was asked for.

        Waits for tensors of that worker fail by `receive`, when the line in the other direction ends.
        """
        # The tensors that were sent may be lost; the receiver fails their steps, and the master then ends them.
        with self._lock:
            self._outboxes.pop(address, None)
        self.calls.lose_address(address, why)

    def receive(self, task: str, source: Source) -> None:
        """Receives from a worker until its line ends; then fails the steps that wait for its tensors.

        A batch is either a message about a run (see StreamCalls), the end of a step, or tensors of one.
        """
        # Identifies this line in the steps that it delivers to: a task may have opened another one since.
        stream = object()
        try:
            for batch in batches(source):
                if not self.calls.take(task, batch[0], lambda number: self._steps.reached(number, stream)):
                    self._arrive(batch, stream)
        except Exception as e:  # noqa: BLE001  (gRPC's request iterator may raise anything when a call breaks)
            reason = str(e) or "it has broken off"
        else:
            reason = "it has ended"
        self.calls.lose_task(task)
        self._steps.lose(task, stream, errors.UnavailableError(None, None, f"The stream of tensors from {task} has ended: {reason}"))

    def _arrive(self, batch: list[Parcel], stream: object) -> None:
        """Adds a batch of tensors to its step, or ends the step."""
        number, _, first = batch[0].key.partition(" ")
        if batch[0].description == _END:
            self._steps.end(int(number))
        else:
            keys = first, *[parcel.key for parcel in batch[1:]]
            self._steps.put(int(number), dict(zip(keys, map(_unpacked, batch))), stream)


def _packed(found: Arrived) -> tuple[str, NDArray]:
    """Returns the description of a tensor, "DTYPE FORM", and its bytes.

    FORM is the shape of raw numbers, "proto" for a TensorProto (strings, and dtypes that NumPy lacks), or "dead".
    """
    # A dead tensor has no bytes, but its receiver needs the dtype.
    base = found.dtype.base_dtype
    if found.is_dead:
        return f"{base.as_datatype_enum} {_DEAD}", np.zeros(0, np.uint8)
    if base == dtypes.string or not base.is_numpy_compatible:
        return f"{base.as_datatype_enum} {_MESSAGE}", np.frombuffer(wire.to_proto(found.value, base).SerializeToString(), np.uint8)
    # Numbers go as raw bytes, without the copies of a TensorProto. The shape is the value's, as ascontiguousarray makes a scalar a vector.
    array = np.ascontiguousarray(np.asarray(found.value).astype(wire.plain(base), copy=False))
    return _described(base, np.shape(found.value)), array


@functools.lru_cache(_REMEMBERED)
def _described(base: dtypes.DType, shape: tuple[int, ...]) -> str:
    """Returns the description of raw numbers: "" is the shape (), "3,4" the shape (3, 4)."""
    return f"{base.as_datatype_enum} {','.join(map(str, shape))}"


def _unpacked(parcel: Parcel) -> Arrived:
    """Decodes a tensor that `_packed` encoded; its array shares the parcel's memory."""
    dtype, numbers, form, shape = _parsed(parcel.description)
    if form == _DEAD:
        return Arrived(None, dtype, is_dead=True)
    if form == _MESSAGE:
        return Arrived(wire.from_proto(messages.TensorProto.FromString(parcel.data.tobytes())), dtype)
    return Arrived(parcel.data.view(numbers).reshape(shape), dtype)


@functools.lru_cache(_REMEMBERED)
def _parsed(description: str) -> tuple[dtypes.DType, np.dtype[np.generic], str, tuple[int, ...]]:
    """Parses a description; returns the tensor's dtype, that of its bytes, FORM, and the shape of raw numbers."""
    number, _, form = description.partition(" ")
    dtype = dtypes.as_dtype(int(number))
    if form in (_DEAD, _MESSAGE):
        return dtype, np.dtype(np.uint8), form, ()
    return dtype, np.dtype(dtype.as_numpy_dtype), form, tuple(int(size) for size in form.split(",") if size)


@functools.lru_cache(_REMEMBERED)
def _receiver_of(key: str) -> str:
    """Returns the task that receives the tensor of a key."""
    return task_of(parse_key(key).recv_device)


class Outgoing:
    """Routes the tensors that a step sends: pushes them, or keeps them for tasks that request them.

    Args:
      streams: of the worker. session: the worker session. number: of the step.
    """

    def __init__(self, streams: TensorStreams, session: WorkerSession, number: int) -> None:
        self._streams, self._session, self._number = streams, session, number

    def push(self, found: dict[str, Arrived]) -> dict[str, Arrived]:
        """Sends tensors, given by key, to receivers that accept pushed ones; returns the other tensors."""
        # One batch per receiver.
        kept: dict[str, Arrived] = {}
        pushed: dict[str, list[tuple[str, Arrived]]] = {}
        for key, one in found.items():
            address = self._session.pushed_to(_receiver_of(key))
            if address is None:
                kept[key] = one
            else:
                pushed.setdefault(address, []).append((key, one))
        for address, tensors in pushed.items():
            self._streams.send(address, self._number, tensors)
        return kept
