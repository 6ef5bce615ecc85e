"""Sends tracebacks and source files to servers of the debugger."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import grpc

from tfcompat._src.debug.common import GRPC_URL_PREFIX
from tfcompat._src.debug.source_utils import UNCOMPILED_SOURCE_SUFFIXES, guess_is_tensorflow_py_library
from tfcompat._src.graph.graph import Graph
from tfcompat._src.io import debug_service
from tfcompat._src.platform import file_io
from tfcompat._src.profiler.op_log import merge_default_with_oplog
from tfcompat._src.proto import messages

Addresses = str | Sequence[str]


def send_graph_tracebacks(destinations: Addresses, run_key: str, origin_stack: Sequence[Any], graph: Graph, send_source: bool = True) -> None:
    """Sends where a run was started and where the nodes of its graph were made.

    Args:
      destinations: one address "HOST:PORT" or several, with or without "grpc://". run_key: names of feeds and fetches; see `get_run_key`.
      origin_stack: what `traceback.extract_stack()` gives. graph: the tf.Graph.
      send_source: whether the program's source files are sent, too.

    Raises:
      grpc.RpcError: a server does not answer.
    """
    traceback = messages.CallTraceback(
        call_type=messages.CallTraceback.GRAPH_EXECUTION, call_key=run_key, graph_version=graph.version,
        graph_traceback=merge_default_with_oplog(graph, add_trainable_var=False),
    )  # fmt: skip
    _send(destinations, traceback, origin_stack, send_source)


def send_eager_tracebacks(destinations: Addresses, origin_stack: Sequence[Any], send_source: bool = True) -> None:
    """Sends where an operation was run eagerly; arguments as for `send_graph_tracebacks`."""
    _send(destinations, messages.CallTraceback(call_type=messages.CallTraceback.EAGER_EXECUTION), origin_stack, send_source)


def _send(destinations: Addresses, traceback: messages.CallTraceback, origin_stack: Sequence[Any], send_source: bool) -> None:
    _fill_origin_stack(traceback, origin_stack)
    files: set[str] = set()
    if send_source:
        nodes = traceback.graph_traceback
        files |= _files_of_program((entry.code_def for entry in nodes.log_entries), nodes.id_to_string)
        files |= _files_of_program([traceback.origin_stack], traceback.origin_id_to_string)
    sources = [_source(path) for path in sorted(files)]
    for address in [destinations] if isinstance(destinations, str) else destinations:
        channel = grpc.insecure_channel(address.removeprefix(GRPC_URL_PREFIX), options=debug_service.OPTIONS)
        stub = debug_service.EventListenerStub(channel)
        stub.SendTracebacks(traceback)
        for source in sources:
            stub.SendSourceFiles(source)
        channel.close()


def _fill_origin_stack(traceback: messages.CallTraceback, stack: Sequence[Any]) -> None:
    """Puts a stack into a message, in which strings have numbers."""
    ids: dict[str | None, int] = {None: 0}
    for file, line, function, source in stack:
        file_id, function_id, line_id = (ids.setdefault(text, len(ids)) for text in (file, function, source))
        traceback.origin_stack.traces.add(file_id=file_id, lineno=line, function_id=function_id, line_id=line_id)
    for text, number in ids.items():
        traceback.origin_id_to_string[number] = text or ""


def _files_of_program(stacks: Iterable[Any], texts: Mapping[int, str]) -> set[str]:
    """The source files of stacks that exist and are not this library's."""
    paths = {texts[trace.file_id] for stack in stacks for trace in stack.traces}
    return {p for p in paths if p.endswith(UNCOMPILED_SOURCE_SUFFIXES) and not guess_is_tensorflow_py_library(p) and file_io.exists(p)}


def _source(path: str) -> messages.DebuggedSourceFiles:
    """A message with one source file; without its lines where it cannot be read as text."""
    stat = file_io.stat(path)
    found = messages.DebuggedSourceFiles()
    source = found.source_files.add(host=socket.gethostname(), file_path=path, last_modified=stat.mtime_nsec, bytes=stat.length)
    try:
        with open(path, encoding="utf-8") as file:
            source.lines.extend(file.read().splitlines())
    except (OSError, UnicodeDecodeError):
        source.ClearField("lines")
    return found
