"""What code that is given a session may ask of it: a tf.Session, or one of the wrappers that hooks and monitored training make."""

from __future__ import annotations

from typing import Any, Protocol


class SessionLike(Protocol):
    """Runs parts of a graph."""

    @property
    def graph(self) -> Any:
        """The tf.Graph."""

    def run(self, fetches: object, feed_dict: dict[Any, Any] | None = None, options: object = None, run_metadata: object = None) -> Any:
        """Computes `fetches`, as tf.Session.run."""
