"""Sessions whose runs send what is watched to servers over gRPC."""

from __future__ import annotations

import signal
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any

from tfcompat._src.debug import common, source_remote
from tfcompat._src.debug.framework import NonInteractiveDebugWrapperSession, WatchOptions
from tfcompat._src.graph.graph import Graph

Addresses = str | list[str]


def publish_traceback(debug_server_urls: Addresses, graph: Graph, feed_dict: object, fetches: object, old_graph_version: int) -> int:
    """Sends the tracebacks of a graph and the program's source files, if the graph has grown.

    Args:
      debug_server_urls: one address or several. graph: the tf.Graph. feed_dict, fetches: those of the run.
      old_graph_version: the version of the graph that was sent before, or -1.

    Returns:
      the version of the graph that was sent last.
    """
    if graph.version <= old_graph_version:
        return old_graph_version
    key = common.get_run_key(feed_dict, fetches)
    source_remote.send_graph_tracebacks(debug_server_urls, key, traceback.extract_stack(), graph, send_source=True)
    return graph.version


def gated_watch_fn(fetches: object, feeds: object) -> WatchOptions:
    """Watches everything, each tensor as soon as the server asks for it."""
    return WatchOptions(debug_ops=["DebugIdentity(gated_grpc=true)"])


class GrpcDebugWrapperSession(NonInteractiveDebugWrapperSession):
    """A session that sends the watched tensors of each run to servers.

    Args:
      sess: the tf.Session or MonitoredSession.
      grpc_debug_server_addresses: one "HOST:PORT" or a list of them, with or without "grpc://".
      watch_fn: a function of the fetches and feeds of a run that returns WatchOptions; None watches everything.
      thread_name_filter: a regular expression; runs in threads whose names do not begin with a match are let through.
      log_usage: makes no difference.

    Raises:
      TypeError: an address is not a str.
    """

    def __init__(
        self, sess: Any, grpc_debug_server_addresses: Addresses, watch_fn: Callable[[Any, Any], Any] | None = None,
        thread_name_filter: str | None = None, log_usage: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(sess, watch_fn, thread_name_filter)
        given = grpc_debug_server_addresses
        if not isinstance(given, str | list):
            raise TypeError(f"Expected type str or list in grpc_debug_server_addresses, received type {type(given)}")
        self._grpc_debug_server_urls = [_url(address) for address in ([given] if isinstance(given, str) else given)]

    def prepare_run_debug_urls(self, fetches: object, feed_dict: object) -> list[str]:
        """Returns the URLs of the servers."""
        return self._grpc_debug_server_urls


def _url(address: str) -> str:
    if not isinstance(address, str):
        raise TypeError(f"Expected type str in list grpc_debug_server_addresses, received type {type(address)}")
    return common.GRPC_URL_PREFIX + address.removeprefix(common.GRPC_URL_PREFIX)


def _ask_to_quit(number: int, frame: object) -> None:
    """Asks on the terminal whether an interrupt ends the program."""
    while True:
        answer = input("\nSIGINT received. Quit program? (Y/n): ").strip()
        if answer in ("", "Y", "y"):
            sys.exit(0)
        if answer in ("N", "n"):
            return


def register_signal_handler() -> None:
    """Has an interrupt ask before it ends the program, as a run may wait at a breakpoint; other threads than the main one cannot set this."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, _ask_to_quit)


class TensorBoardDebugWrapperSession(GrpcDebugWrapperSession):
    """A session for the debugger of TensorBoard: it watches everything, and sends the tensors that the server asks for.

    Args:
      sess, grpc_debug_server_addresses, thread_name_filter, log_usage: as for GrpcDebugWrapperSession.
      send_traceback_and_source_code: whether the server is told where nodes were made, and gets the program's source files.
    """

    def __init__(
        self, sess: object, grpc_debug_server_addresses: Addresses, thread_name_filter: str | None = None,
        send_traceback_and_source_code: bool = True, log_usage: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(sess, grpc_debug_server_addresses, gated_watch_fn, thread_name_filter, log_usage)
        self._send_traceback_and_source_code = send_traceback_and_source_code
        self._sent_graph_version = -1
        register_signal_handler()

    def run(self, fetches: object, feed_dict: object = None, *args: Any, **kwargs: Any) -> Any:
        """Runs as `BaseDebugWrapperSession.run`, after the tracebacks of new nodes are sent."""
        if self._send_traceback_and_source_code:
            sent = publish_traceback(self._grpc_debug_server_urls, self.graph, feed_dict, fetches, self._sent_graph_version)
            self._sent_graph_version = sent
        return super().run(fetches, feed_dict, *args, **kwargs)
