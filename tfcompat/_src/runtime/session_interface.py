"""The base class of all that runs graphs as a tf.Session does."""

from __future__ import annotations

from typing import Any


class SessionInterface:
    """What has the methods of a session: tf.Session, and the sessions of the debugger around one."""

    @property
    def graph(self) -> Any:
        """The tf.Graph."""
        raise NotImplementedError("graph")

    @property
    def sess_str(self) -> Any:
        """The target."""
        raise NotImplementedError("sess_str")

    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        """Computes `fetches`, as tf.Session.run."""
        raise NotImplementedError("run")

    def partial_run_setup(self, fetches: Any, feeds: Any = None) -> Any:
        """Prepares a run in several parts, as tf.Session.partial_run_setup."""
        raise NotImplementedError("partial_run_setup")

    def partial_run(self, handle: Any, fetches: Any, feed_dict: Any = None) -> Any:
        """Runs a part, as tf.Session.partial_run."""
        raise NotImplementedError("partial_run")
