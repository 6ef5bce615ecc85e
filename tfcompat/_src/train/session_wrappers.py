"""The layers of a MonitoredSession: hooks, threads, recovery."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import errors
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.platform import logging
from tfcompat._src.proto.messages import RunMetadata, RunOptions
from tfcompat._src.train.coordinator import Coordinator
from tfcompat._src.train.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues

if TYPE_CHECKING:
    from tfcompat._src.proto import messages

PREEMPTION_ERRORS = (errors.AbortedError, errors.UnavailableError)
_OFTEN = (
    "This error may also occur due to a gRPC failure caused by high memory or network bandwidth usage in the parameter servers. "
    "If this error occurs repeatedly, try increasing the number of parameter servers assigned to the job. Error: %s"
)
_NEW_SESSION = (
    "This may be due to a preemption in a connected worker or parameter server. The current session will be closed and a new "
    "session will be created. " + _OFTEN
)


class StepContext:
    """What a function that is run by `run_step_fn` works with.

    Args:
      session: the Session, which runs without hooks.
      run_with_hooks_fn: the `run` of the MonitoredSession.
    """

    def __init__(self, session: SessionLike, run_with_hooks_fn: Callable) -> None:
        self._session = session
        self._run_with_hooks_fn = run_with_hooks_fn

    @property
    def session(self) -> Any:
        return self._session

    def run_with_hooks(self, *args: Any, **kwargs: Any) -> Any:
        """Like `MonitoredSession.run`."""
        return self._run_with_hooks_fn(*args, **kwargs)

    def request_stop(self) -> None:
        """Ends the step function and the training.

        Raises:
          StopIteration: always.
        """
        raise StopIteration("step_fn has requested the iterations to stop.")


class _WrappedSession:
    """A session, or another layer, that it runs and closes; `should_stop` asks the layers from the outside in."""

    def __init__(self, sess: SessionLike) -> None:
        self._sess = sess

    @property
    def graph(self) -> None:
        return self._sess.graph

    @property
    def sess_str(self) -> Any:
        return self._sess.sess_str

    def should_stop(self) -> bool:
        """Whether no further run should follow."""
        if self._check_stop() or not self._sess:
            return True
        return isinstance(self._sess, _WrappedSession) and self._sess.should_stop()

    def _check_stop(self) -> bool:
        """Whether this layer wants to stop."""
        return False

    def close(self) -> None:
        """Closes what is inside, once."""
        sess, self._sess = self._sess, None
        if not sess:
            return
        try:
            sess.close()
        except PREEMPTION_ERRORS as e:
            logging.warning(
                "An error occurred when attempting to close the session. This may be due to a preemption in a connected worker or "
                "parameter server. Error: %s", e,
            )  # fmt: skip

    def run(self, *args: Any, **kwargs: Any) -> Any:
        return self._sess.run(*args, **kwargs)

    def run_step_fn(self, step_fn: Callable, raw_session: Any, run_with_hooks: Callable | None) -> Any:
        """Calls `step_fn` with a StepContext of `raw_session` and `run_with_hooks`, by default `run` of this layer."""
        return step_fn(StepContext(raw_session, run_with_hooks or self.run))


class _RecoverableSession(_WrappedSession):
    """Makes a new session, and runs again, when a run is aborted or a worker is lost.

    Args:
      sess_creator: its `create_session()` gives sessions.
    """

    def __init__(self, sess_creator: Any) -> None:
        self._sess_creator = sess_creator
        super().__init__(self._create_session())

    def _create_session(self) -> Any:
        while True:
            try:
                return self._sess_creator.create_session()
            except PREEMPTION_ERRORS as e:
                logging.info(
                    "An error was raised while a session was being created. This may be due to a preemption of a connected worker "
                    "or parameter server. A new session will be created. " + _OFTEN, e,
                )  # fmt: skip

    def _check_stop(self) -> bool:
        try:
            return self._sess._check_stop() if self._sess else True
        except PREEMPTION_ERRORS as e:
            logging.info("An error was raised while considering whether the session is complete. " + _NEW_SESSION, e)
            self.close()
            self._sess = self._create_session()
            return False
        except Exception:  # noqa: BLE001  (a thread failed: its error is raised when the session is closed)
            return True

    def run(self, fetches: object, feed_dict: dict | None = None, options: object = None, run_metadata: messages.RunMetadata | None = None) -> Any:
        return self._recovering(
            lambda sess: sess.run(fetches, feed_dict=feed_dict, options=options, run_metadata=run_metadata)
        )

    def run_step_fn(self, step_fn: Callable, raw_session: object, run_with_hooks: Callable | None) -> Any:
        return self._recovering(lambda sess: sess.run_step_fn(step_fn, raw_session, sess.run))

    def _recovering(self, action: Callable[[Any], Any]) -> Any:
        """What `action` gives for the session, for a new one again and again where that is lost."""
        while True:
            try:
                if not self._sess:
                    self._sess = self._create_session()
                return action(self._sess)
            except PREEMPTION_ERRORS as e:
                logging.info("An error was raised. " + _NEW_SESSION, e)
                self.close()


class _CoordinatedSession(_WrappedSession):
    """Stops, when it is closed, the threads of a Coordinator, and hands on what these raised.

    Args:
      sess: what it runs.
      coord: the Coordinator.
      stop_grace_period_secs: seconds that threads have to stop.
    """

    def __init__(self, sess: SessionLike, coord: Coordinator, stop_grace_period_secs: float = 120) -> None:
        super().__init__(sess)
        self._coord = coord
        self._stop_grace_period_secs = stop_grace_period_secs

    def _check_stop(self) -> bool:
        self._coord.raise_requested_exception()
        return self._coord.should_stop()

    def close(self) -> None:
        self._coord.request_stop()
        try:
            self._coord.join(stop_grace_period_secs=self._stop_grace_period_secs, ignore_live_threads=True)
        finally:
            super().close()

    def run(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return self._sess.run(*args, **kwargs)
        except PREEMPTION_ERRORS:
            raise
        except Exception as original:
            # A lost worker that a thread saw first is the cause of what was raised here.
            try:
                self._coord.raise_requested_exception()
            except PREEMPTION_ERRORS:
                raise
            except Exception:  # noqa: BLE001
                raise original from None
            raise


class _HookedSession(_WrappedSession):
    """Calls hooks before and after each run.

    Args:
      sess: what it runs.
      hooks: SessionRunHooks.
    """

    def __init__(self, sess: SessionLike, hooks: Iterable[SessionRunHook]) -> None:
        super().__init__(sess)
        self._hooks = hooks
        self._should_stop = False

    def _check_stop(self) -> bool:
        return self._should_stop

    def run(self, fetches: object, feed_dict: dict | None = None, options: object = None, run_metadata: messages.RunMetadata | None = None) -> Any:
        if self.should_stop():
            raise RuntimeError("Run called even after should_stop requested.")
        context = SessionRunContext(SessionRunArgs(fetches, feed_dict), self._sess)
        options = options or RunOptions()
        run_metadata = run_metadata or RunMetadata()
        all_fetches: dict[Any, Any] = {"caller": fetches}
        feed_dict = self._call_before_run(context, all_fetches, feed_dict, options)
        results = super().run(fetches=all_fetches, feed_dict=feed_dict, options=options, run_metadata=run_metadata)
        for hook in self._hooks:
            hook.after_run(context, SessionRunValues(results.get(hook), options, run_metadata))
        self._should_stop = self._should_stop or context.stop_requested
        return results["caller"]

    def _call_before_run(
        self, context: SessionRunContext, all_fetches: dict[Any, Any], feed_dict: dict | None, options: object
    ) -> dict | None:
        """Adds what hooks ask for to the fetches and options of a run; gives its feeds."""
        hook_feeds: dict[Any, Any] = {}
        for hook in self._hooks:
            request = hook.before_run(context)
            if request is None:
                continue
            if request.fetches is not None:
                all_fetches[hook] = request.fetches
            if request.feed_dict:
                _require_disjoint(hook_feeds, request.feed_dict, "Same tensor is fed by two hooks.")
                hook_feeds.update(request.feed_dict)
            if request.options:
                _merge_run_options(options, request.options)
        if not hook_feeds:
            return feed_dict
        _require_disjoint(feed_dict or {}, hook_feeds, "Same tensor is fed by a SessionRunHook and user.")
        return {**hook_feeds, **(feed_dict or {})}


def _require_disjoint(feeds: dict, more_feeds: dict, text: str) -> None:
    twice = [tensor for tensor in feeds if tensor in more_feeds]
    if twice:
        raise RuntimeError(f"{text} Conflict(s): {twice}")


def _merge_run_options(options: Any, more: Any) -> None:
    """Adds to a RunOptions message what another one asks for."""
    for field in ("trace_level", "timeout_in_ms", "inter_op_thread_pool"):
        setattr(options, field, max(getattr(options, field), getattr(more, field)))
    for field in ("output_partition_graphs", "report_tensor_allocations_upon_oom"):
        setattr(options, field, getattr(options, field) or getattr(more, field))
    debug = options.debug_options
    debug.debug_tensor_watch_opts.extend(more.debug_options.debug_tensor_watch_opts)
    debug.reset_disk_byte_usage = debug.reset_disk_byte_usage or more.debug_options.reset_disk_byte_usage
