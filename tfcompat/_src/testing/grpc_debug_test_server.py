"""A server of the debugger for tests: it keeps what debugged runs send, in memory or as files of a dump."""

from __future__ import annotations

import collections
import functools
import json
import os
import socket
import tempfile
import threading
import time
from collections.abc import Iterable
from typing import Any

import grpc

from tfcompat._src.debug import dump_files
from tfcompat._src.debug.grpc_debug_server import EventListenerBaseServicer, EventListenerBaseStreamHandler
from tfcompat._src.io import debug_files
from tfcompat._src.proto import messages

Watch = tuple[str, int, str]
"""Node name, output slot, debug op."""
_START_SECONDS = 10
"""How long the start of a server may take."""


class EventListenerTestStreamHandler(EventListenerBaseStreamHandler):
    """Keeps the messages of one stream.

    Args:
      dump_dir: the folder of dumps; None or "" keeps them in the servicer. event_listener_servicer: an EventListenerTestServicer.
    """

    def __init__(self, dump_dir: str | None, event_listener_servicer: EventListenerTestServicer) -> None:
        super().__init__()
        self._dump_dir, self._servicer = dump_dir, event_listener_servicer
        self._path: str | None = None
        self._graphs: list[tuple[messages.GraphDef, str, int]] = []
        if dump_dir:
            os.makedirs(dump_dir, exist_ok=True)

    def on_core_metadata_event(self, event: messages.Event) -> None:
        """Keeps what is known of a run; the path of its URL says in which folder below `dump_dir` its dump is."""
        self._servicer.toggle_watch()
        if not self._dump_dir:
            self._servicer.core_metadata_json_strings.append(event.log_message.message)
            return
        self._path = os.path.join(self._dump_dir, json.loads(event.log_message.message)["grpc_path"].removeprefix("/"))
        for graph in self._graphs:
            self._write_graph(*graph)
        self._write(f"{debug_files.METADATA_FILE_PREFIX}{debug_files.CORE_METADATA_TAG}_{int(event.wall_time)}", event)

    def on_graph_def(self, graph_def: messages.GraphDef, device_name: str, wall_time: int) -> None:
        """Keeps the graph of a device; of a dump it is written when the folder is known."""
        if not self._dump_dir:
            self._servicer.partition_graph_defs.append(graph_def)
        elif self._path is None:
            self._graphs.append((graph_def, device_name, wall_time))
        else:
            self._write_graph(graph_def, device_name, wall_time)

    def on_value_event(self, event: messages.Event) -> Any:
        """Keeps a tensor; an EventReply at a breakpoint."""
        value = event.summary.value[0]
        node, slot, debug_op = value.node_name.split(":")
        if self._dump_dir:
            device = json.loads(value.metadata.plugin_data.content)["device"]
            folder = dump_files.device_name_to_device_path(device)
            self._write(os.path.join(folder, f"{node}_{slot}_{debug_op}_{debug_files.now()}"), event)
            return None
        self._servicer.debug_tensor_values[value.node_name].append(dump_files.load_tensor_from_event(event))
        return messages.EventReply() if (node, int(slot), debug_op) in self._servicer.breakpoints else None

    def _write_graph(self, graph_def: messages.GraphDef, device: str, microseconds: int) -> None:
        content, number = debug_files.graph_content(graph_def)
        name = f"{debug_files.METADATA_FILE_PREFIX}{debug_files.GRAPH_FILE_TAG}{debug_files.HASH_TAG}{number}_{microseconds}"
        event = messages.Event(graph_def=content, wall_time=microseconds)
        self._write(os.path.join(dump_files.device_name_to_device_path(device), name), event)

    def _write(self, name: str, event: messages.Event) -> None:
        path = os.path.join(self._path or self._dump_dir or "", name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(event.SerializeToString())


class EventListenerTestServicer(EventListenerBaseServicer):
    """A server that keeps what it gets.

    Args:
      server_port: the port. dump_dir: the folder of dumps; None or "" keeps them in memory.
      toggle_watch_on_core_metadata: watches that are asked for in every other run.

    Attributes:
      core_metadata_json_strings, partition_graph_defs: as they came.
      debug_tensor_values: lists of values by watch key.
    """

    def __init__(self, server_port: int, dump_dir: str | None, toggle_watch_on_core_metadata: Iterable[Watch] | None = None) -> None:
        super().__init__(server_port, functools.partial(EventListenerTestStreamHandler, dump_dir, self))
        self._toggled = {watch: False for watch in toggle_watch_on_core_metadata or ()}
        self.clear_data()

    def clear_data(self) -> None:
        """Forgets what has come."""
        self.core_metadata_json_strings: list[str] = []
        self.partition_graph_defs: list[messages.GraphDef] = []
        self.debug_tensor_values: dict[str, list[Any]] = collections.defaultdict(list)
        self._tracebacks: list[messages.CallTraceback] = []
        self._sources: list[messages.DebuggedSourceFile] = []

    def toggle_watch(self) -> None:
        """Asks for the watches that were given, or no longer for them."""
        for watch, is_on in self._toggled.items():
            (self.request_unwatch if is_on else self.request_watch)(*watch)
            self._toggled[watch] = not is_on

    def SendTracebacks(self, request: messages.CallTraceback, context: object) -> Any:
        """Keeps a traceback."""
        self._tracebacks.append(request)
        return messages.EventReply()

    def SendSourceFiles(self, request: messages.DebuggedSourceFiles, context: object) -> Any:
        """Keeps source files."""
        self._sources.extend(request.source_files)
        return messages.EventReply()

    def query_op_traceback(self, op_name: str) -> list[tuple[str, int, str]]:
        """Returns where a node was made: file, line and function of each frame; ValueError for an unknown node."""
        for traceback in self._tracebacks:
            for entry in traceback.graph_traceback.log_entries:
                if entry.name == op_name:
                    return _frames(entry.code_def, traceback.graph_traceback.id_to_string)
        raise ValueError(f"Op '{op_name}' does not exist in the tracebacks received by the debug server.")

    def query_origin_stack(self) -> list[list[tuple[str, int, str]]]:
        """Returns where each run was started, as `query_op_traceback`."""
        return [_frames(traceback.origin_stack, traceback.origin_id_to_string) for traceback in self._tracebacks]

    def query_call_types(self) -> list[int]:
        """Returns the values of CallTraceback.CallType that have come."""
        return [traceback.call_type for traceback in self._tracebacks]

    def query_call_keys(self) -> list[str]:
        """Returns the names of feeds and fetches that have come; see `get_run_key`."""
        return [traceback.call_key for traceback in self._tracebacks]

    def query_graph_versions(self) -> list[int]:
        """Returns the versions of graphs that have come."""
        return [traceback.graph_version for traceback in self._tracebacks]

    def query_source_file_line(self, file_path: str, lineno: int) -> str:
        """Returns a line, counted from 1, of a file; ValueError where it has not come."""
        if not self._sources:
            raise ValueError("This debug server has not received any source file contents yet.")
        for source in self._sources:
            if source.file_path == file_path:
                line: str = source.lines[lineno - 1]
                return line
        raise ValueError(f"Source file at path {file_path} has not been received by the debug server")


def _frames(code_def: Any, texts: Any) -> list[tuple[str, int, str]]:
    return [(texts[trace.file_id], trace.lineno, texts[trace.function_id]) for trace in code_def.traces]


def start_server_on_separate_thread(
    dump_to_filesystem: bool = True, server_start_delay_sec: float = 0.0, poll_server: bool = False, blocking: bool = True,
    toggle_watch_on_core_metadata: Iterable[Watch] | None = None,
) -> tuple[int, str, str | None, threading.Thread, EventListenerTestServicer]:  # fmt: skip
    """Starts a server in a thread of its own.

    Args:
      dump_to_filesystem: whether it keeps dumps in a temporary folder. server_start_delay_sec: when it starts, in seconds from now.
      poll_server: whether to wait until it runs. blocking: whether the thread lives until the server is stopped.
      toggle_watch_on_core_metadata: watches that are asked for in every other run.

    Returns:
      the port, the URL, the folder or None, the thread, the server.

    Raises:
      ValueError: it did not start.
    """
    port = _unused_port()
    folder = tempfile.mkdtemp() if dump_to_filesystem else None
    server = EventListenerTestServicer(port, folder, toggle_watch_on_core_metadata)

    def run() -> None:
        time.sleep(server_start_delay_sec)
        server.run_server(blocking=blocking)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    if poll_server:
        _wait_for(port)
    return port, f"grpc://localhost:{port}", folder, thread, server


def _unused_port() -> int:
    with socket.socket() as found:
        found.bind(("localhost", 0))
        port: int = found.getsockname()[1]
        return port


def _wait_for(port: int) -> None:
    with grpc.insecure_channel(f"localhost:{port}") as channel:
        try:
            grpc.channel_ready_future(channel).result(_START_SECONDS)
        except grpc.FutureTimeoutError:
            raise ValueError(f"Failed to start test gRPC debug server at port {port}") from None
