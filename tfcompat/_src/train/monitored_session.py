"""tf.train.MonitoredTrainingSession: a session that initializes itself, calls hooks, recovers and stops."""

from __future__ import annotations

import abc
import inspect
import os
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import errors
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.graph.scopes import get_collection, get_default_graph
from tfcompat._src.platform import logging
from tfcompat._src.train.coordinator import Coordinator
from tfcompat._src.train.queue_runner import start_queue_runners
from tfcompat._src.train.saving_hooks import CheckpointSaverHook, StepCounterHook, SummarySaverHook
from tfcompat._src.train.scaffold import Scaffold
from tfcompat._src.train.session_manager import SessionManager
from tfcompat._src.train.session_run_hook import SessionRunHook
from tfcompat._src.train.session_wrappers import StepContext, _CoordinatedSession, _HookedSession, _RecoverableSession
from tfcompat._src.train.worker_context import get_current_worker_context

if TYPE_CHECKING:
    from typing import Self

    from tfcompat._src.proto import messages

USE_DEFAULT = object()
_DEFAULT_SAVE_SUMMARIES_STEPS = 100
_DEFAULT_SAVE_CHECKPOINT_SECS = 600
_STEPS_OF_COLLECTIVES = 1000


@export("train.SessionCreator")
class SessionCreator(abc.ABC):
    """Makes the sessions of a MonitoredSession."""

    @abc.abstractmethod
    def create_session(self) -> Any:
        """A new session that is ready to run."""
        raise NotImplementedError(f"create_session is not implemented for {self}.")


def _session_manager(scaffold: Scaffold) -> SessionManager:
    return SessionManager(
        local_init_op=scaffold.local_init_op, ready_op=scaffold.ready_op,
        ready_for_local_init_op=scaffold.ready_for_local_init_op, graph=get_default_graph(),
    )  # fmt: skip


@export("train.ChiefSessionCreator")
class ChiefSessionCreator(SessionCreator):
    """Makes sessions that are restored from a checkpoint or initialized.

    Args:
      scaffold: a Scaffold, by default a new one.
      master: target of the session. config: a ConfigProto.
      checkpoint_dir: folder whose latest checkpoint is restored. checkpoint_filename_with_path: a checkpoint itself.
    """

    def __init__(
        self, scaffold: Scaffold | None = None, master: str = "", config: Any = None, checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None,
    ) -> None:  # fmt: skip
        self._scaffold = scaffold or Scaffold()
        self._session_manager: SessionManager | None = None
        self._master, self._config = master, config
        self._checkpoint_dir = checkpoint_dir
        self._checkpoint_filename_with_path = checkpoint_filename_with_path

    def create_session(self) -> Any:
        scaffold = self._scaffold.finalize()
        self._session_manager = self._session_manager or _session_manager(scaffold)
        return self._session_manager.prepare_session(
            self._master, saver=scaffold.saver, checkpoint_dir=self._checkpoint_dir,
            checkpoint_filename_with_path=self._checkpoint_filename_with_path, config=self._config,
            init_op=scaffold.init_op, init_feed_dict=scaffold.init_feed_dict, init_fn=scaffold.init_fn,
        )  # fmt: skip


@export("train.WorkerSessionCreator")
class WorkerSessionCreator(SessionCreator):
    """Makes sessions that wait until the chief has initialized the model.

    Args:
      scaffold: a Scaffold, by default a new one.
      master: target of the session. config: a ConfigProto.
      max_wait_secs: seconds to wait at most.
    """

    def __init__(
        self, scaffold: Scaffold | None = None, master: str = "", config: Any = None, max_wait_secs: float = 30 * 60
    ) -> None:
        self._scaffold = scaffold or Scaffold()
        self._session_manager: SessionManager | None = None
        self._master, self._config = master, config
        self._max_wait_secs = max_wait_secs

    def create_session(self) -> Any:
        scaffold = self._scaffold.finalize()
        self._session_manager = self._session_manager or _session_manager(scaffold)
        return self._session_manager.wait_for_session(
            self._master, config=self._config, max_wait_secs=self._max_wait_secs
        )


class _CoordinatedSessionCreator(SessionCreator):
    """Makes sessions with hooks, queue runners and a Coordinator; `tf_sess` and `coord` are those of the last one."""

    def __init__(self, session_creator: Any, hooks: Iterable[SessionRunHook], stop_grace_period_secs: float) -> None:
        self._session_creator = session_creator
        self._hooks = hooks
        self._stop_grace_period_secs = stop_grace_period_secs
        self.coord: Coordinator | None = None
        self.tf_sess: Any = None

    def create_session(self) -> _CoordinatedSession:
        self.tf_sess = self._session_creator.create_session()
        self.coord = Coordinator(clean_stop_exception_types=[])
        if get_collection(GraphKeys.QUEUE_RUNNERS):
            start_queue_runners(sess=self.tf_sess, coord=self.coord)
        for hook in self._hooks:
            hook.after_create_session(self.tf_sess, self.coord)
        hooked = _HookedSession(self.tf_sess, self._hooks)
        return _CoordinatedSession(hooked, self.coord, self._stop_grace_period_secs)


def _default_creator() -> SessionCreator:
    """What makes sessions where nothing is named: of the task that a coordinator runs, or of this process."""
    context = get_current_worker_context()
    return ChiefSessionCreator() if context is None else context.session_creator()


class _MonitoredSession:
    """See MonitoredSession; `should_recover` says whether a lost session is replaced."""

    StepContext = StepContext

    def __init__(
        self, session_creator: Any, hooks: Iterable[SessionRunHook] | None, should_recover: bool,
        stop_grace_period_secs: float = 120,
    ) -> None:  # fmt: skip
        self._graph_was_finalized = get_default_graph().finalized
        self._hooks = hooks or []
        for hook in self._hooks:
            hook.begin()
        self._coordinated_creator = _CoordinatedSessionCreator(
            session_creator or _default_creator(), self._hooks, stop_grace_period_secs
        )
        self._sess: Any = (
            _RecoverableSession(self._coordinated_creator)
            if should_recover
            else self._coordinated_creator.create_session()
        )

    @property
    def graph(self) -> Any:
        """The graph; None after the session was closed."""
        sess = self._tf_sess()
        return None if sess is None else sess.graph

    def run(self, fetches: object, feed_dict: dict | None = None, options: object = None, run_metadata: messages.RunMetadata | None = None) -> Any:
        """Like `Session.run`, with hooks.

        Raises:
          RuntimeError: a hook has asked for a stop before, or a tensor is fed twice.
        """
        return self._sess.run(fetches, feed_dict=feed_dict, options=options, run_metadata=run_metadata)

    def run_step_fn(self, step_fn: Callable) -> Any:
        """Calls `step_fn(step_context)`, which may run parts of a step without hooks (`step_context.session.run`).

        Returns:
          what `step_fn` returns.

        Raises:
          ValueError: `step_fn` takes other arguments. StopIteration: it called `step_context.request_stop()`.
        """
        parameters = inspect.signature(step_fn).parameters.values()
        names = tuple(p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD))
        if names not in (("step_context",), ("self", "step_context")):
            raise ValueError(
                "`step_fn` may either have one `step_context` argument, or `self` and `step_context` arguments if it's an "
                f"instance method. Got {names} instead."
            )
        return self._sess.run_step_fn(step_fn, self._tf_sess(), run_with_hooks=None)

    def should_stop(self) -> bool:
        """Whether no further run should follow."""
        return self._sess is None or self._sess.should_stop()

    def close(self) -> None:
        """Calls the ends of the hooks, stops threads and closes the session.

        Raises:
          RuntimeError: it is closed already. What a thread raised comes first.
        """
        self._close_internal()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exception_type: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None
    ) -> bool:
        ended = exception_type in (None, errors.OutOfRangeError, StopIteration)
        self._close_internal(None if ended else exception_type)
        return ended

    def _close_internal(self, exception_type: type[BaseException] | None = None) -> None:
        creator = self._coordinated_creator
        try:
            if exception_type is None:
                for hook in self._hooks:
                    hook.end(creator.tf_sess)
        finally:
            try:
                if self._sess is None:
                    raise RuntimeError("Session is already closed.")
                self._sess.close()
            finally:
                self._sess = None
                creator.tf_sess = creator.coord = None
                if not self._graph_was_finalized:
                    get_default_graph()._unsafe_unfinalize()

    def _is_closed(self) -> bool:
        return self._coordinated_creator.tf_sess is None

    def _tf_sess(self) -> Any:
        return self._coordinated_creator.tf_sess


@export("train.MonitoredSession")
class MonitoredSession(_MonitoredSession):
    """A session with hooks that makes a new one where it is aborted; a `with` block ends quietly when the input ends.

    Args:
      session_creator: a SessionCreator, by default a ChiefSessionCreator.
      hooks: SessionRunHooks.
      stop_grace_period_secs: seconds that threads have to stop at the end.
    """

    def __init__(
        self, session_creator: object = None, hooks: Iterable[SessionRunHook] | None = None,
        stop_grace_period_secs: float = 120,
    ) -> None:  # fmt: skip
        super().__init__(session_creator, hooks, True, stop_grace_period_secs)


@export("train.SingularMonitoredSession")
class SingularMonitoredSession(_MonitoredSession):
    """A session with hooks that raises when it is aborted.

    Args:
      hooks: SessionRunHooks.
      scaffold, master, config, checkpoint_dir, checkpoint_filename_with_path: as for ChiefSessionCreator.
      stop_grace_period_secs: seconds that threads have to stop at the end.
    """

    def __init__(
        self, hooks: Iterable[SessionRunHook] | None = None, scaffold: Scaffold | None = None, master: str = "",
        config: object = None, checkpoint_dir: str | None = None, stop_grace_period_secs: float = 120,
        checkpoint_filename_with_path: str | None = None,
    ) -> None:  # fmt: skip
        creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir, checkpoint_filename_with_path)
        super().__init__(creator, hooks, False, stop_grace_period_secs)

    def raw_session(self) -> Any:
        """The Session itself, which runs without hooks."""
        return self._tf_sess()


@export("train.MonitoredTrainingSession")
def MonitoredTrainingSession(  # noqa: N802
    master: str = "", is_chief: bool = True, checkpoint_dir: str | None = None, scaffold: Scaffold | None = None,
    hooks: Iterable[SessionRunHook] | None = None, chief_only_hooks: Iterable[SessionRunHook] | None = None,
    save_checkpoint_secs: object = USE_DEFAULT, save_summaries_steps: object = USE_DEFAULT,
    save_summaries_secs: object = USE_DEFAULT, config: object = None, stop_grace_period_secs: float = 120,
    log_step_count_steps: int | None = 100, max_wait_secs: float = 7200, save_checkpoint_steps: object = USE_DEFAULT,
    summary_dir: str | None = None,
) -> MonitoredSession:  # fmt: skip
    """A MonitoredSession for training: a chief restores or initializes, saves checkpoints and writes summaries.

    Args:
      master: target of the session.
      is_chief: whether this program is the chief; a worker waits for it.
      checkpoint_dir: folder of checkpoints; None for no checkpoints.
      scaffold: a Scaffold. hooks: SessionRunHooks. chief_only_hooks: SessionRunHooks of a chief only.
      save_checkpoint_secs, save_checkpoint_steps: seconds or steps between checkpoints, by default 600 seconds.
      save_summaries_steps, save_summaries_secs: steps or seconds between summaries, by default 100 steps.
      config: a ConfigProto.
      stop_grace_period_secs: seconds that threads have to stop at the end.
      log_step_count_steps: steps between lines about the speed; None or 0 for none.
      max_wait_secs: seconds that a worker waits for the chief.
      summary_dir: folder of summaries, by default `checkpoint_dir`.
    """
    scaffold = scaffold or Scaffold()
    context = get_current_worker_context()
    creator: SessionCreator
    if context is not None:
        is_chief = context.is_chief
        creator = context.session_creator(scaffold, config, checkpoint_dir, max_wait_secs=max_wait_secs)
    elif is_chief:
        creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir)
    else:
        creator = WorkerSessionCreator(scaffold, master, config, max_wait_secs)
        return MonitoredSession(creator, hooks or [], stop_grace_period_secs)
    summaries = _interval(save_summaries_steps, save_summaries_secs, (_DEFAULT_SAVE_SUMMARIES_STEPS, None))
    checkpoints = _interval(save_checkpoint_steps, save_checkpoint_secs, (None, _DEFAULT_SAVE_CHECKPOINT_SECS))
    summary_dir = summary_dir or checkpoint_dir
    if context is not None:
        checkpoints = _steps_alone(context, checkpoints)
        checkpoint_dir = _folder(context, context.should_checkpoint, checkpoint_dir)
        summary_dir = _folder(context, context.should_save_summary, summary_dir)
    all_hooks = list(chief_only_hooks or ()) if is_chief else []
    if summary_dir and _is_positive(log_step_count_steps):
        all_hooks.append(StepCounterHook(every_n_steps=log_step_count_steps, output_dir=summary_dir))
    if summary_dir and any(map(_is_positive, summaries)):
        all_hooks.append(SummarySaverHook(*summaries, output_dir=summary_dir, scaffold=scaffold))
    if checkpoint_dir and any(map(_is_positive, checkpoints)):
        all_hooks.append(CheckpointSaverHook(checkpoint_dir, checkpoints[1], checkpoints[0], scaffold=scaffold))
    all_hooks.extend(hooks or ())
    return MonitoredSession(creator, all_hooks, stop_grace_period_secs)


def _is_collective(context: Any) -> bool:
    """Whether all workers have to make the same runs, those that save among them: their nodes wait for each other."""
    return type(context._strategy).__name__ in ("CollectiveAllReduceStrategy", "MultiWorkerMirroredStrategy")


def _steps_alone(context: object, checkpoints: tuple[Any, Any]) -> tuple[Any, Any]:
    """The interval of checkpoints in (steps, seconds), where seconds would have workers save at different steps."""
    if not _is_collective(context) or not checkpoints[1]:
        return checkpoints
    logging.warning("Collective ops may deadlock with `save_checkpoints_secs`: checkpoints are saved every 1000 steps instead.")
    return _STEPS_OF_COLLECTIVES, None


def _folder(context: Any, writes: bool, folder: str | None) -> str | None:
    """Where the task of this thread writes: a folder inside, where it has to make the runs but nobody needs its files."""
    if writes or not folder:
        return folder
    task = f"tmp_{context.task_type}_{context.task_id}" if context.task_type else "tmp"
    return os.path.join(folder, task) if _is_collective(context) else None


def _interval(steps: object, secs: object, default: tuple[Any, Any]) -> tuple[Any, Any]:
    """An interval in (steps, seconds), one of them None, where some are not given."""
    if steps is USE_DEFAULT and secs is USE_DEFAULT:
        return default
    return None if steps is USE_DEFAULT else steps, None if secs is USE_DEFAULT else secs


def _is_positive(interval: Any) -> bool:
    return bool(interval) and interval > 0
