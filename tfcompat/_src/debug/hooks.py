"""`DumpingDebugHook`: the debugger for MonitoredSession and Estimator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.debug.debug_utils import watch_graph
from tfcompat._src.debug.dumping_wrapper import DumpingDebugWrapperSession
from tfcompat._src.proto import messages
from tfcompat._src.train.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook


class DumpingDebugHook(SessionRunHook):
    """A hook that has the runs of a MonitoredSession or Estimator leave dumps.

    Args:
      session_root, watch_fn, thread_name_filter, log_usage: as for DumpingDebugWrapperSession.
    """

    def __init__(
        self, session_root: str, watch_fn: Callable[[Any, Any], Any] | None = None, thread_name_filter: str | None = None, log_usage: bool = True
    ) -> None:  # fmt: skip
        self._session_root, self._watch_fn, self._thread_name_filter, self._log_usage = session_root, watch_fn, thread_name_filter, log_usage
        self._session_wrapper: DumpingDebugWrapperSession | None = None

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Adds the watches of a run to its options."""
        is_first = self._session_wrapper is None
        if self._session_wrapper is None:
            self._session_wrapper = DumpingDebugWrapperSession(
                run_context.session, self._session_root, self._watch_fn, self._thread_name_filter, log_usage=self._log_usage
            )
        wrapper = self._session_wrapper
        wrapper.increment_run_call_count()
        options = messages.RunOptions()
        if not wrapper._is_disabled_thread():
            given = run_context.original_args
            urls, watched = wrapper._prepare_run_watch_config(given.fetches, given.feed_dict)
            watch_graph(options, run_context.session.graph, debug_urls=urls, reset_disk_byte_usage=is_first, **vars(watched))
        return SessionRunArgs(None, None, options)
