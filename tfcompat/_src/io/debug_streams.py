"""Sends a debugger's dump to a server, as Event messages in a stream: `debug_files` for URLs "grpc://HOST:PORT/PATH".

The server's replies open and close gates: a debug op with the attribute gated_grpc sends only while the server asks for its tensor
(READ_ONLY), and a breakpoint (READ_WRITE) has the run wait for one more reply.
"""

from __future__ import annotations

import functools
import json
import queue
import threading
import time
from collections.abc import Iterator
from typing import Any

import grpc

from tfcompat._src.base import errors, run_limits
from tfcompat._src.io import debug_files, debug_service
from tfcompat._src.platform import logging
from tfcompat._src.proto import messages

SCHEME = "grpc://"
LARGEST = 4000 * 1024
"""Bytes of a tensor or graph in one message; larger ones are sent in several."""
CONNECTION_SECONDS = 900
"""How long a run waits for the server, as in TensorFlow 1.15."""
_WAITING = 16
"""Most messages that wait to be sent."""
_POLL_SECONDS = 0.2
"""How often a run that waits looks at its time limit."""
_StateChange = messages.EventReply.DebugOpStateChange
_open_gates: dict[tuple[str, str], int] = {}
"""The states of debug ops that servers have asked for, by address and watch key: READ_ONLY or READ_WRITE."""
_streams: dict[str, _Stream] = {}
_lock = threading.Lock()


@functools.cache
def _channel(address: str) -> grpc.Channel:
    return grpc.insecure_channel(address, options=[*debug_service.OPTIONS, ("grpc.max_reconnect_backoff_ms", 1000)])


def _wait_for(channel: grpc.Channel, address: str) -> None:
    """Waits until a server answers."""
    ready = grpc.channel_ready_future(channel)
    end = time.monotonic() + CONNECTION_SECONDS
    try:
        while True:
            run_limits.require_time()
            try:
                return ready.result(_POLL_SECONDS)
            except grpc.FutureTimeoutError:
                if time.monotonic() > end:
                    text = f"Failed to connect to gRPC channel at {address} within a timeout of {CONNECTION_SECONDS} s."
                    raise errors.FailedPreconditionError(None, None, text) from None
    finally:
        ready.cancel()


class _Stream:
    """The stream of one URL, which lives until the end of a run.

    Raises:
      errors.FailedPreconditionError: no server answers. errors.DeadlineExceededError: the time of the run is over before.
    """

    def __init__(self, url: str) -> None:
        self._url, self._address = url, _address(url)
        channel = _channel(self._address)
        _wait_for(channel, self._address)
        self._waiting: queue.Queue[messages.Event | None] = queue.Queue(_WAITING)
        self._call = debug_service.EventListenerStub(channel).SendEvents(self._requests())

    def _requests(self) -> Iterator[messages.Event]:
        while True:
            event = self._waiting.get()
            if event is None:
                return
            yield event

    def send(self, event: messages.Event, receives: bool = False) -> None:
        """Sends a message, and waits for a reply if it `receives` one; CancelledError where the server has ended the stream."""
        while self._call.is_active():
            try:
                self._waiting.put(event, timeout=_POLL_SECONDS)
                break
            except queue.Full:
                run_limits.require_time()
        else:
            raise errors.CancelledError(None, None, f"Write event to stream URL {self._url} failed: {_reason(self._call)}")
        if receives:
            self.receive()

    def receive(self) -> bool:
        """Does what a reply of the server says; False where the stream has ended."""
        try:
            reply = next(self._call)
        except StopIteration:
            return False
        except grpc.RpcError as e:
            logging.error(f"The debug server at {self._address} has ended the stream: {_reason(e)}")
            return False
        for change in reply.debug_op_state_changes:
            _change_gate(self._address, change)
        return True

    def close(self) -> None:
        """Ends the stream when the server has replied to all."""
        if self._call.is_active():
            self._waiting.put(None)
        while self.receive():
            pass


def _reason(call: Any) -> str:
    return f"{call.code().name}: {call.details()}"


def _address(url: str) -> str:
    return url[len(SCHEME) :].partition("/")[0]


def _change_gate(address: str, change: Any) -> None:
    key = (address, f"{change.node_name}:{change.output_slot}:{change.debug_op}")
    with _lock:
        if change.state != _StateChange.DISABLED:
            _open_gates[key] = change.state
        elif _open_gates.pop(key, None) is None:
            logging.error(f"Attempt to disable a watch key that is not currently enabled at {SCHEME}{address}: {key[1]}")


def is_open(url: str, watch_key: str) -> bool:
    """Whether the server of a URL asks for the tensors of gated debug ops with this watch key: "NODE:SLOT:DEBUGOP"."""
    return (_address(url), watch_key) in _open_gates


def _stream(url: str) -> _Stream:
    with _lock:
        if url not in _streams:
            _streams[url] = _Stream(url)
        return _streams[url]


def close(url: str) -> None:
    """Ends the stream of a URL, if there is one."""
    with _lock:
        stream = _streams.pop(url, None)
    if stream is not None:
        stream.close()


def write_tensor(url: str, device: str, name: str, debug_op: str, proto: messages.TensorProto, microseconds: int) -> None:
    """Sends one tensor; waits for a reply of the server if that has a breakpoint here. Arguments are as for `debug_files.write_tensor`.

    Raises:
      errors.FailedPreconditionError: no server answers, or a string is larger than a message. errors.InternalError: the server has ended the
        stream.
    """
    stream, key = _stream(url), f"{name}:{debug_op}"
    parts = _parts(proto, key)
    for index, part in enumerate(parts):
        _publish(stream, url, debug_files.tensor_event(device, name, debug_op, part, microseconds, len(parts), index))
    if _open_gates.get((_address(url), key)) == _StateChange.READ_WRITE:
        stream.receive()


def _publish(stream: _Stream, url: str, event: messages.Event) -> None:
    try:
        stream.send(event)
    except errors.CancelledError as e:
        raise errors.InternalError(None, None, f"Publishing to the debug target URL {url} failed: {e.message}") from e


def _parts(proto: messages.TensorProto, key: str) -> list[messages.TensorProto]:
    """Tensors with the same dtype and shape, whose contents joined are that of a tensor."""
    if len(proto.tensor_content) > LARGEST:
        content = proto.tensor_content
        found = [_part(proto, tensor_content=content[start : start + LARGEST]) for start in range(0, len(content), LARGEST)]
        return found
    if sum(map(len, proto.string_val)) <= LARGEST:
        return [proto]
    groups: list[list[bytes]] = [[]]
    size = 0
    for index, text in enumerate(proto.string_val):
        if len(text) > LARGEST:
            described = f"string value at index {index} from debug node {key} does not fit gRPC message size limit ({LARGEST})"
            raise errors.FailedPreconditionError(None, None, described)
        if size + len(text) > LARGEST:
            groups.append([])
            size = 0
        groups[-1].append(text)
        size += len(text)
    return [_part(proto, string_val=group) for group in groups]


def _part(proto: messages.TensorProto, **content: object) -> messages.TensorProto:
    return messages.TensorProto(dtype=proto.dtype, tensor_shape=proto.tensor_shape, **content)


def write_graph(url: str, device: str, graph_def: messages.GraphDef) -> None:
    """Sends the graph of a device, in parts that begin with "HASH,DEVICE,MICROSECONDS|INDEX|COUNT|"; raises as `write_tensor`."""
    content, number = debug_files.graph_content(graph_def)
    now = debug_files.now()
    count = max(1, -(-len(content) // LARGEST))
    for index in range(count):
        head = f"{number},{device},{now}|{index}|{count}|".encode()
        event = messages.Event(wall_time=float(now), graph_def=head + content[index * LARGEST : (index + 1) * LARGEST])
        _stream(url).send(event, receives=index == count - 1)


def write_core_metadata(url: str, metadata: dict[str, Any]) -> None:
    """Sends what is known of a run, with the path of the URL as `grpc_path`; raises as `write_tensor`."""
    _, slash, path = url[len(SCHEME) :].partition("/")
    event = messages.Event(wall_time=float(debug_files.now()))
    event.log_message.message = json.dumps({**metadata, "grpc_path": slash + path}, separators=(",", ":"))
    _stream(url).send(event, receives=True)
