"""The protocol of sessions: tf.Session, and the wrappers that hooks and monitored training make."""

from __future__ import annotations

from typing import Any, Protocol


class SessionLike(Protocol):
    """An object that runs parts of a graph."""

    @property
    def graph(self) -> Any:
        """The tf.Graph that the session runs."""

    def run(self, fetches: object, feed_dict: dict[Any, Any] | None = None, options: object = None, run_metadata: object = None) -> Any:
        """Runs the graph and returns the values of `fetches`, as tf.Session.run."""
