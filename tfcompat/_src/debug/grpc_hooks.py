"""`GrpcDebugHook` and `TensorBoardDebugHook`: streams of the debugger for MonitoredSession and Estimator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.debug import grpc_wrapper
from tfcompat._src.debug.debug_utils import watch_graph
from tfcompat._src.debug.grpc_wrapper import Addresses, GrpcDebugWrapperSession
from tfcompat._src.proto import messages
from tfcompat._src.train.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook


class GrpcDebugHook(SessionRunHook):
    """A hook that has the runs of a MonitoredSession or Estimator send what is watched to servers.

    Args:
      grpc_debug_server_addresses, watch_fn, thread_name_filter, log_usage: as for GrpcDebugWrapperSession.
    """

    def __init__(
        self, grpc_debug_server_addresses: Addresses, watch_fn: Callable[[Any, Any], Any] | None = None, thread_name_filter: str | None = None,
        log_usage: bool = True,
    ) -> None:  # fmt: skip
        given = grpc_debug_server_addresses
        self._addresses = given if isinstance(given, list) else [given]
        self._watch_fn, self._thread_name_filter, self._log_usage = watch_fn, thread_name_filter, log_usage
        self._wrapper: GrpcDebugWrapperSession | None = None

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Adds the watches of a run to its options."""
        if self._wrapper is None:
            self._wrapper = GrpcDebugWrapperSession(
                run_context.session, self._addresses, self._watch_fn, self._thread_name_filter, self._log_usage
            )
        options = messages.RunOptions()
        if not self._wrapper._is_disabled_thread():
            given = run_context.original_args
            urls, watched = self._wrapper._prepare_run_watch_config(given.fetches, given.feed_dict)
            watch_graph(options, run_context.session.graph, debug_urls=urls, **vars(watched))
        return SessionRunArgs(None, None, options)


class TensorBoardDebugHook(GrpcDebugHook):
    """A hook for the debugger of TensorBoard: it watches everything, and sends the tensors that the server asks for.

    Args:
      grpc_debug_server_addresses, thread_name_filter, send_traceback_and_source_code, log_usage: as for TensorBoardDebugWrapperSession.
    """

    def __init__(
        self, grpc_debug_server_addresses: Addresses, thread_name_filter: str | None = None, send_traceback_and_source_code: bool = True,
        log_usage: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(grpc_debug_server_addresses, grpc_wrapper.gated_watch_fn, thread_name_filter, log_usage)
        self._send_traceback_and_source_code = send_traceback_and_source_code
        self._sent_graph_version = -1
        grpc_wrapper.register_signal_handler()

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Sends the tracebacks of new nodes, and adds the watches of a run to its options."""
        if self._send_traceback_and_source_code:
            given = run_context.original_args
            self._sent_graph_version = grpc_wrapper.publish_traceback(
                self._addresses, run_context.session.graph, given.feed_dict, given.fetches, self._sent_graph_version
            )
        return super().before_run(run_context)
