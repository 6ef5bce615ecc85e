"""tf.train.SessionRunHook: what is called around the runs of a MonitoredSession."""

from __future__ import annotations

from typing import Any, NamedTuple

from tfcompat._src.base.export import export
from tfcompat._src.base.session_like import SessionLike


@export("train.SessionRunHook", "estimator.SessionRunHook", "compat.v2.estimator.SessionRunHook")
class SessionRunHook:
    """Base class of hooks; a subclass overrides the methods that it needs."""

    def begin(self) -> None:
        """Called once before the session is made; nodes may still be added to the default graph."""

    def after_create_session(self, session: SessionLike, coord: Any) -> None:
        """Called with each new session, also after a recovery, and its Coordinator; the graph is final."""

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Called before each run; gives a SessionRunArgs with what to add to it, or None."""
        return None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Called after each run that raised nothing, with the values that this hook asked for."""

    def end(self, session: SessionLike) -> None:
        """Called at the end, with the session, unless it ends with an error."""


@export("train.SessionRunArgs", "estimator.SessionRunArgs", "compat.v2.estimator.SessionRunArgs")
class SessionRunArgs(NamedTuple):
    """What a run is given: `fetches`, `feed_dict` and `options` as for `Session.run`."""

    fetches: Any
    feed_dict: Any = None
    options: Any = None


@export("train.SessionRunValues", "estimator.SessionRunValues", "compat.v2.estimator.SessionRunValues")
class SessionRunValues(NamedTuple):
    """What a run gave: `results` for the fetches of a hook (None for none), `options` and `run_metadata` messages."""

    results: Any
    options: Any
    run_metadata: Any


@export("train.SessionRunContext", "estimator.SessionRunContext", "compat.v2.estimator.SessionRunContext")
class SessionRunContext:
    """A run as hooks see it.

    Args:
      original_args: SessionRunArgs with what the caller gave.
      session: the Session that runs it.
    """

    def __init__(self, original_args: SessionRunArgs, session: SessionLike) -> None:
        self._original_args = original_args
        self._session = session
        self._stop_requested = False

    @property
    def original_args(self) -> SessionRunArgs:
        return self._original_args

    @property
    def session(self) -> Any:
        return self._session

    @property
    def stop_requested(self) -> bool:
        return self._stop_requested

    def request_stop(self) -> None:
        """Asks that no further run follows: `should_stop()` of the MonitoredSession is true from now on."""
        self._stop_requested = True
