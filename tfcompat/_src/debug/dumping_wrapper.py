"""`DumpingDebugWrapperSession`: a session whose runs leave dumps in folders."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable
from typing import Any

from tfcompat._src.debug import dump_files
from tfcompat._src.debug.framework import NonInteractiveDebugWrapperSession
from tfcompat._src.io.debug_files import METADATA_FILE_PREFIX
from tfcompat._src.platform import file_io
from tfcompat._src.proto import messages


class DumpingDebugWrapperSession(NonInteractiveDebugWrapperSession):
    """A session that dumps the watched tensors of each run into a folder of its own, `SESSION_ROOT/run_MICROSECONDS_COUNT`.

    Args:
      sess: the tf.Session or MonitoredSession. session_root: a folder that is empty or does not exist yet.
      watch_fn: a function of the fetches and feeds of a run that returns WatchOptions; None watches everything.
      thread_name_filter: a regular expression; runs in threads whose names do not begin with a match are let through.
      pass_through_operrors: whether an OpError is raised; it is else the run's result.
      log_usage: makes no difference.

    Raises:
      ValueError: `session_root` is a file, or a folder that is not empty.
    """

    def __init__(
        self, sess: object, session_root: str, watch_fn: Callable[[Any, Any], Any] | None = None, thread_name_filter: str | None = None,
        pass_through_operrors: bool | None = None, log_usage: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(sess, watch_fn, thread_name_filter, pass_through_operrors)
        self._session_root = os.path.expanduser(session_root)
        if not file_io.exists(self._session_root):
            file_io.makedirs(self._session_root)
        elif not file_io.isdir(self._session_root):
            raise ValueError(f"session_root path points to a file: {self._session_root}")
        elif file_io.listdir(self._session_root):
            raise ValueError(f"session_root path points to a non-empty directory: {self._session_root}")
        self._counter = itertools.count()

    def prepare_run_debug_urls(self, fetches: object, feed_dict: Any) -> list[str]:
        """Makes the folder of a run, writes into it what is fetched and fed, and returns its URL."""
        folder = os.path.join(self._session_root, f"run_{time.time_ns() // 1000}_{next(self._counter)}")
        file_io.makedirs(folder)
        keys = repr(feed_dict.keys()) if feed_dict else repr(feed_dict)
        for tag, text in ((dump_files.FETCHES_INFO_FILE_TAG, repr(fetches)), (dump_files.FEED_KEYS_INFO_FILE_TAG, keys)):
            event = messages.Event(log_message=messages.LogMessage(message=text))
            with file_io.FileIO(os.path.join(folder, METADATA_FILE_PREFIX + tag), "wb") as file:
                file.write(event.SerializeToString())
        return [f"file://{folder}"]
