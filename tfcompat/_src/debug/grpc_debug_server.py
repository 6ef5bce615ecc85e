"""Servers of the debugger: they get tensors and graphs of debugged runs over gRPC, and say which tensors they want."""

from __future__ import annotations

import collections
import json
import queue
import threading
from collections.abc import Callable, Iterator
from concurrent import futures
from typing import Any

import grpc

from tfcompat._src.debug import debug_graphs
from tfcompat._src.io import debug_service
from tfcompat._src.platform import logging
from tfcompat._src.proto import messages

DebugWatch = collections.namedtuple("DebugWatch", ["node_name", "output_slot", "debug_op"])
_StateChange = messages.EventReply.DebugOpStateChange
_THREADS = 10
"""Of a server: as many streams at a time, as in TensorFlow 1.15."""


class EventListenerBaseStreamHandler:
    """What a server does with the messages of one stream; a subclass has the methods."""

    def on_core_metadata_event(self, event: messages.Event) -> Any:
        """Called with what is known of a run, as JSON in `event.log_message.message`; may return an EventReply."""
        raise NotImplementedError("on_core_metadata_event() is not implemented in the base servicer class")

    def on_graph_def(self, graph_def: messages.GraphDef, device_name: str, wall_time: int) -> Any:
        """Called with the graph of a device and the time in microseconds; may return an EventReply."""
        raise NotImplementedError("on_graph_def() is not implemented in the base servicer class")

    def on_value_event(self, event: messages.Event) -> Any:
        """Called with a tensor in `event.summary.value[0]`; must return an EventReply at a breakpoint, where the run waits for it."""
        raise NotImplementedError("on_value_event() is not implemented in the base servicer class")


class EventListenerBaseServicer(debug_service.EventListenerServicer):
    """A server of the debugger.

    Args:
      server_port: the port. stream_handler_class: makes an EventListenerBaseStreamHandler for each stream.
    """

    def __init__(self, server_port: int, stream_handler_class: Callable[[], Any]) -> None:
        self._server_port, self._stream_handler_class = server_port, stream_handler_class
        self._server_lock = threading.Lock()
        self._server_started = False
        self._stopped = threading.Event()
        self._debug_ops_state_change_queue: queue.Queue[Any] = queue.Queue()
        self._gated_grpc_debug_watches: set[DebugWatch] = set()
        self._breakpoints: set[tuple[str, int, str]] = set()

    # ---- calls of the service ----

    def SendEvents(self, request_iterator: Iterator[messages.Event], context: object) -> Iterator[Any]:
        """Hands the messages of a stream to its handler, large ones when all their parts have come.

        Yields:
          a reply to each graph, to what is known of the run, and to tensors where the handler gives one.

        Raises:
          ValueError: a stream tells of more than one run.
        """
        graphs, tensors = _Parts(), _Parts()
        handler = None
        is_known = False
        for event in request_iterator:
            handler = handler or self._stream_handler_class()
            if event.summary.value:
                whole = _whole_tensor(event, tensors)
                reply = None if whole is None else handler.on_value_event(whole)
                if reply is not None:
                    yield self._with_state_changes(reply)
            elif event.graph_def:
                found = _whole_graph(event, graphs)
                if found is not None:
                    self._note_gated(found[0])
                    yield self._with_state_changes(handler.on_graph_def(*found))
            elif event.log_message.message:
                if is_known:
                    raise ValueError("Expected one core metadata event; received multiple")
                is_known = True
                yield self._with_state_changes(handler.on_core_metadata_event(event))

    def SendTracebacks(self, request: messages.CallTraceback, context: Any) -> Any:
        """Called with where a run was started, and where the nodes of its graph were made."""
        return messages.EventReply()

    def SendSourceFiles(self, request: messages.DebuggedSourceFiles, context: Any) -> Any:
        """Called with source files of the program."""
        return messages.EventReply()

    def _with_state_changes(self, reply: Any = None) -> Any:
        """A reply with the changes that were asked for since the last one."""
        reply = reply or messages.EventReply()
        while not self._debug_ops_state_change_queue.empty():
            change = self._debug_ops_state_change_queue.get()
            key = (change.node_name, change.output_slot, change.debug_op)
            if change.state == _StateChange.READ_WRITE:
                self._breakpoints.add(key)
            elif key in self._breakpoints:
                self._breakpoints.discard(key)
            elif change.state == _StateChange.DISABLED:
                logging.warning(f"Attempting to remove a non-existent debug node key: {key}")
            reply.debug_op_state_changes.append(change)
        return reply

    def _note_gated(self, graph_def: messages.GraphDef) -> None:
        for node in graph_def.node:
            if debug_graphs.is_debug_node(node.name) and node.attr["gated_grpc"].b:
                name, slot, _, debug_op = debug_graphs.parse_debug_node_name(node.name)
                self._gated_grpc_debug_watches.add(DebugWatch(name, slot, debug_op))

    # ---- the server ----

    def run_server(self, blocking: bool = True) -> None:
        """Starts the server; returns after `stop_server` if `blocking`, else at once.

        Raises:
          ValueError: it has been started or stopped before.
        """
        with self._server_lock:
            if self._stopped.is_set():
                raise ValueError("Server has already stopped")
            if self._server_started:
                raise ValueError("Server has already started running")
            self.server = grpc.server(futures.ThreadPoolExecutor(_THREADS), options=debug_service.OPTIONS)
            debug_service.add_EventListenerServicer_to_server(self, self.server)
            self.server.add_insecure_port(f"[::]:{self._server_port}")
            self.server.start()
            self._server_started = True
        if blocking:
            self._stopped.wait()

    def stop_server(self, grace: float = 1.0) -> threading.Event:
        """Stops the server for good.

        Args:
          grace: how many seconds streams may go on.

        Returns:
          an event that is set when the server has stopped.

        Raises:
          ValueError: it does not run.
        """
        with self._server_lock:
            if not self._server_started:
                raise ValueError("Server has not started running")
            if self._stopped.is_set():
                raise ValueError("Server has already stopped")
            self._stopped.set()
            return self.server.stop(grace=grace)

    # ---- which tensors it wants ----

    def request_watch(self, node_name: str, output_slot: int, debug_op: str, breakpoint: bool = False) -> None:
        """Asks for a tensor of which a debug op is gated.

        Args:
          node_name, output_slot, debug_op: the watch. breakpoint: whether runs wait there for a reply.
        """
        self._request(_StateChange.READ_WRITE if breakpoint else _StateChange.READ_ONLY, node_name, output_slot, debug_op)

    def request_unwatch(self, node_name: str, output_slot: int, debug_op: str) -> None:
        """Asks no longer for a tensor."""
        self._request(_StateChange.DISABLED, node_name, output_slot, debug_op)

    def _request(self, state: int, node_name: str, output_slot: int, debug_op: str) -> None:
        self._debug_ops_state_change_queue.put(_StateChange(state=state, node_name=node_name, output_slot=output_slot, debug_op=debug_op))

    @property
    def breakpoints(self) -> set[tuple[str, int, str]]:
        """The watches at which runs wait: node name, output slot, debug op."""
        return self._breakpoints

    def gated_grpc_debug_watches(self) -> list[DebugWatch]:
        """Returns the gated watches of all graphs that have come."""
        return list(self._gated_grpc_debug_watches)


class _Parts:
    """Parts of messages that have come so far."""

    def __init__(self) -> None:
        self._of: dict[Any, dict[int, Any]] = {}

    def add(self, key: object, index: int, count: int, part: object) -> list[Any] | None:
        """Keeps a part; returns all when the last has come."""
        found = self._of.setdefault(key, {})
        found[index] = part
        if len(found) < count:
            return None
        del self._of[key]
        return [found[i] for i in range(count)]


def _whole_tensor(event: messages.Event, tensors: _Parts) -> Any:
    """The message of a tensor; None while parts of it are still to come."""
    value = event.summary.value[0]
    about = json.loads(value.metadata.plugin_data.content)
    if about["numChunks"] <= 1:
        return event
    parts = tensors.add((about["device"], value.node_name, event.wall_time), about["chunkIndex"], about["numChunks"], value.tensor)
    if parts is None:
        return None
    whole = messages.Event()
    whole.CopyFrom(event)
    tensor = whole.summary.value[0].tensor
    tensor.tensor_content = b"".join(part.tensor_content for part in parts)
    tensor.string_val[:] = [text for part in parts for text in part.string_val]
    return whole


def _whole_graph(event: messages.Event, graphs: _Parts) -> tuple[messages.GraphDef, str, int] | None:
    """A graph, its device and its time; None while parts of it are still to come."""
    head, index, count, content = event.graph_def.split(b"|", 3)
    parts = graphs.add(head, int(index), int(count), content)
    if parts is None:
        return None
    _, device, microseconds = head.decode().split(",")
    return messages.GraphDef.FromString(b"".join(parts)), device, int(microseconds)
