"""tf.train.Supervisor: prepares a session, and saves and summarizes from threads while the program trains."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.scopes import add_to_collection, executing_eagerly, get_collection, get_default_graph
from tfcompat._src.nodes.meta_graph import create_meta_graph_def
from tfcompat._src.ops.control.groups import group
from tfcompat._src.platform import logging
from tfcompat._src.proto.messages import SessionLog
from tfcompat._src.summary.summary import merge_all
from tfcompat._src.summary.writer import FileWriter
from tfcompat._src.train import supervisor_threads
from tfcompat._src.train.coordinator import Coordinator, LooperThread
from tfcompat._src.train.graph_io import write_graph
from tfcompat._src.train.saver import Saver
from tfcompat._src.train.session_manager import SessionManager
from tfcompat._src.variables import collections, training_util

if TYPE_CHECKING:
    from tfcompat._src.graph.operation import Operation
    from tfcompat._src.graph.tensor import Tensor


@export("train.Supervisor")
class Supervisor:
    """Makes a session that is restored or initialized, and saves checkpoints and summaries from threads.

    Arguments that are `USE_DEFAULT` are taken from the collections of the graph, or made; None means none.

    Args:
      graph: by default the default graph; it is final afterwards.
      ready_op: string vector of the names of variables that have no value. ready_for_local_init_op: the same, before
        `local_init_op`.
      is_chief: whether this program initializes, saves and summarizes; others wait for it.
      init_op: operation that initializes the model. init_feed_dict: feeds for it. init_fn: function of the session, called
        after it.
      local_init_op: operation that initializes what is in no checkpoint. local_init_run_options: RunOptions for it.
      logdir: folder of checkpoints and summaries.
      summary_op: the summaries. saver: a Saver. global_step: the global step. summary_writer: a FileWriter.
      save_summaries_secs: seconds between summaries; 0 for none. save_model_secs: seconds between checkpoints; 0 for none.
      recovery_wait_secs: seconds between looks whether the model is ready.
      stop_grace_secs: seconds that threads have to stop.
      checkpoint_basename: what the names of checkpoints begin with.
      session_manager: a SessionManager.

    Raises:
      RuntimeError: with eager execution. ValueError: a variable of a program that is not the chief has no device.
    """

    USE_DEFAULT = 0

    def __init__(
        self, graph: Graph | None = None, ready_op: Any = USE_DEFAULT, ready_for_local_init_op: Any = USE_DEFAULT,
        is_chief: bool = True, init_op: object = USE_DEFAULT, init_feed_dict: dict | None = None,
        local_init_op: object = USE_DEFAULT, logdir: str | None = None, summary_op: Any = USE_DEFAULT,
        saver: object = USE_DEFAULT, global_step: object = USE_DEFAULT, save_summaries_secs: float = 120,
        save_model_secs: float = 600, recovery_wait_secs: float = 30, stop_grace_secs: float = 120,
        checkpoint_basename: str = "model.ckpt", session_manager: Any = None, summary_writer: Any = USE_DEFAULT,
        init_fn: Callable | None = None, local_init_run_options: Any = None,
    ) -> None:  # fmt: skip
        if executing_eagerly():
            raise RuntimeError("Supervisors are compatible with eager execution.")
        self._graph = graph = get_default_graph() if graph is None else graph
        with graph.as_default():
            self._ready_op = _given(ready_op, GraphKeys.READY_OP, collections.report_uninitialized_variables)
            self._ready_for_local_init_op = _given(ready_for_local_init_op, GraphKeys.READY_FOR_LOCAL_INIT_OP)
            self._init_op = _given(init_op, GraphKeys.INIT_OP, collections.global_variables_initializer)
            self._local_init_op = _given(local_init_op, GraphKeys.LOCAL_INIT_OP, _default_local_init_op)
            self._saver = _given(saver, GraphKeys.SAVERS, _default_saver)
            self._summary_op = _given(summary_op, GraphKeys.SUMMARY_OP, merge_all)
            self._global_step = _given(global_step, GraphKeys.GLOBAL_STEP, _default_global_step)
        self._init_feed_dict, self._init_fn = init_feed_dict, init_fn
        self._meta_graph_def = create_meta_graph_def(
            graph_def=graph.as_graph_def(add_shapes=True), saver_def=self._saver.saver_def if self._saver else None
        )
        self._is_chief = is_chief
        self._coord = Coordinator()
        self._stop_grace_secs = stop_grace_secs
        self._logdir = logdir if is_chief else None
        self._save_summaries_secs = save_summaries_secs if is_chief else None
        self._save_model_secs = save_model_secs if is_chief else None
        self._save_path = os.path.join(self._logdir, checkpoint_basename) if self._logdir else None
        self._summary_writer = self._make_summary_writer(summary_writer) if is_chief else None
        self._graph_added_to_summary = False
        self._session_manager = session_manager or SessionManager(
            local_init_op=self._local_init_op, ready_op=self._ready_op,
            ready_for_local_init_op=self._ready_for_local_init_op, graph=graph, recovery_wait_secs=recovery_wait_secs,
            local_init_run_options=local_init_run_options,
        )  # fmt: skip
        if not is_chief:
            _check_devices(graph)
        graph.finalize()

    def _make_summary_writer(self, given: object) -> Any:
        if given is not Supervisor.USE_DEFAULT:
            return given
        return FileWriter(self._logdir) if self._logdir else None

    # ---- properties ----

    @property
    def is_chief(self) -> bool:
        return self._is_chief

    @property
    def session_manager(self) -> Any:
        return self._session_manager

    @property
    def coord(self) -> Coordinator:
        return self._coord

    @property
    def init_op(self) -> Any:
        return self._init_op

    @property
    def init_feed_dict(self) -> dict | None:
        return self._init_feed_dict

    @property
    def ready_op(self) -> Any:
        return self._ready_op

    @property
    def ready_for_local_init_op(self) -> Any:
        return self._ready_for_local_init_op

    @property
    def summary_writer(self) -> Any:
        return self._summary_writer

    @property
    def summary_op(self) -> Any:
        return self._summary_op

    @property
    def save_summaries_secs(self) -> float | None:
        return self._save_summaries_secs

    @property
    def global_step(self) -> Any:
        return self._global_step

    @property
    def saver(self) -> Any:
        return self._saver

    @property
    def save_model_secs(self) -> float | None:
        return self._save_model_secs

    @property
    def save_path(self) -> str | None:
        return self._save_path

    # ---- sessions ----

    def prepare_or_wait_for_session(
        self, master: str = "", config: Any = None, wait_for_checkpoint: bool = False, max_wait_secs: float = 7200,
        start_standard_services: bool = True,
    ) -> Any:  # fmt: skip
        """A session that is ready, made by a chief and waited for by others.

        Args:
          master: target of the session. config: a ConfigProto.
          wait_for_checkpoint: wait until there is a checkpoint.
          max_wait_secs: seconds to wait at most.
          start_standard_services: start the threads that save and summarize, and the queue runners.

        Raises:
          RuntimeError: the model is not ready. errors.DeadlineExceededError: the chief did not make it ready in time.
        """
        self._coord.clear_stop()
        if self._summary_writer:
            self._summary_writer.reopen()
        if self._is_chief:
            sess = self._session_manager.prepare_session(
                master, init_op=self._init_op, saver=self._saver, checkpoint_dir=self._logdir,
                wait_for_checkpoint=wait_for_checkpoint, max_wait_secs=max_wait_secs, config=config,
                init_feed_dict=self._init_feed_dict, init_fn=self._init_fn,
            )  # fmt: skip
            self._write_graph()
            if start_standard_services:
                logging.info("Starting standard services.")
                self.start_standard_services(sess)
        else:
            sess = self._session_manager.wait_for_session(master, config=config, max_wait_secs=max_wait_secs)
        if start_standard_services:
            logging.info("Starting queue runners.")
            self.start_queue_runners(sess)
        return sess

    def _write_graph(self) -> None:
        if self._logdir:
            write_graph(self._graph.as_graph_def(add_shapes=True), self._logdir, "graph.pbtxt")
        if self._summary_writer and not self._graph_added_to_summary:
            self._summary_writer.add_graph(self._graph)
            self._summary_writer.add_meta_graph(self._meta_graph_def)
            self._graph_added_to_summary = True

    @contextlib.contextmanager
    def managed_session(
        self, master: str = "", config: object = None, start_standard_services: bool = True,
        close_summary_writer: bool = True,
    ) -> Iterator[Any]:  # fmt: skip
        """A context with a session from `prepare_or_wait_for_session`, which stops and closes everything at its end.

        An exception stops the threads and is raised again, but for OutOfRangeError, the end of an input.
        """
        sess = None
        try:
            sess = self.prepare_or_wait_for_session(master, config, start_standard_services=start_standard_services)
            yield sess
        except Exception as e:  # noqa: BLE001  (`stop` raises what is given here)
            self.request_stop(e)
        finally:
            try:
                self.stop(close_summary_writer=close_summary_writer)
            finally:
                if sess is not None:
                    sess.close()

    # ---- threads ----

    def start_standard_services(self, sess: SessionLike) -> list[LooperThread] | None:
        """Starts the threads that save and summarize.

        Returns:
          the threads; None where there is no `logdir`.

        Raises:
          RuntimeError: this program is not the chief.
        """
        if not self._is_chief:
            raise RuntimeError(
                "Only chief supervisor can start standard services. Because only chief supervisors can write events."
            )
        if not self._logdir:
            logging.warning("Standard services need a 'logdir' passed to the SessionManager")
            return None
        if self._global_step is not None and self._summary_writer:
            step = training_util.global_step(sess, self._global_step)
            self._summary_writer.add_session_log(SessionLog(status=SessionLog.START), step)
        threads: list[LooperThread] = []
        if self._save_summaries_secs and self._summary_writer:
            if self._summary_op is not None:
                threads.append(supervisor_threads.SVSummaryThread(self, sess))
            if self._global_step is not None:
                threads.append(supervisor_threads.SVStepCounterThread(self, sess))
        if self._saver and self._save_model_secs:
            threads.append(supervisor_threads.SVTimerCheckpointThread(self, sess))
        for thread in threads:
            thread.start()
        return threads

    def start_queue_runners(self, sess: SessionLike, queue_runners: Iterable[Any] | None = None) -> list[threading.Thread]:
        """Starts the threads of queue runners, by default of those of the graph; gives the threads."""
        if executing_eagerly():
            raise RuntimeError("Queues are not compatible with eager execution.")
        if queue_runners is None:
            queue_runners = self._graph.get_collection(GraphKeys.QUEUE_RUNNERS)
        return [t for r in queue_runners for t in r.create_threads(sess, coord=self._coord, daemon=True, start=True)]

    def loop(
        self, timer_interval_secs: float | None, target: Callable, args: Any = None, kwargs: dict | None = None
    ) -> LooperThread:
        """A started thread that calls `target(*args, **kwargs)` every so many seconds; see LooperThread."""
        return LooperThread.loop(self._coord, timer_interval_secs, target, args, kwargs)

    def stop(
        self, threads: Iterable[threading.Thread] | None = None, close_summary_writer: bool = True,
        ignore_live_threads: bool = False,
    ) -> None:  # fmt: skip
        """Stops the threads, waits for them and for `threads`, and closes the summary writer.

        Raises:
          RuntimeError: a thread did not stop, unless `ignore_live_threads`. What a thread raised comes first.
        """
        self._coord.request_stop()
        try:
            self._coord.join(
                threads, stop_grace_period_secs=self._stop_grace_secs, ignore_live_threads=ignore_live_threads
            )
        finally:
            if close_summary_writer and self._summary_writer:
                self._summary_writer.add_session_log(SessionLog(status=SessionLog.STOP))
                self._summary_writer.close()
                self._graph_added_to_summary = False

    def request_stop(self, ex: object = None) -> None:
        """Asks all threads to stop; see `Coordinator.request_stop`."""
        self._coord.request_stop(ex=ex)

    def should_stop(self) -> bool:
        """Whether a stop was asked for."""
        return self._coord.should_stop()

    def stop_on_exception(self) -> contextlib.AbstractContextManager[None]:
        """A context whose exceptions become `request_stop` calls."""
        return self._coord.stop_on_exception()

    def wait_for_stop(self) -> None:
        """Waits until a stop is asked for."""
        self._coord.wait_for_stop()

    def summary_computed(self, sess: SessionLike, summary: object, global_step: int | None = None) -> None:
        """Writes a summary that `sess` computed, at `global_step` or the present one.

        Raises:
          RuntimeError: there is no summary writer.
        """
        if not self._summary_writer:
            raise RuntimeError("Writing a summary requires a summary writer.")
        if global_step is None and self._global_step is not None:
            global_step = training_util.global_step(sess, self._global_step)
        self._summary_writer.add_summary(summary, global_step)

    PrepareSession = prepare_or_wait_for_session
    StartQueueRunners = start_queue_runners
    StartStandardServices = start_standard_services
    Stop = stop
    RequestStop = request_stop
    Loop = loop
    ShouldStop = should_stop
    StopOnException = stop_on_exception
    WaitForStop = wait_for_stop
    SummaryComputed = summary_computed


def _given(value: object, key: str, default: Callable[[], Any] = lambda: None) -> Any:
    """An argument; where it is USE_DEFAULT, the first element of a collection, or what `default` makes, put there."""
    if value is not Supervisor.USE_DEFAULT:
        return value
    found = get_collection(key)
    if len(found) > 1:
        logging.info("Found %d %s operations. Returning the first one.", len(found), key)
    if found:
        return found[0]
    made = default()
    if made is not None:
        add_to_collection(key, made)
    return made


def _default_local_init_op() -> Operation | None:
    return group(collections.local_variables_initializer(), collections.tables_initializer())


def _default_saver() -> Saver | None:
    return Saver() if collections.global_variables() else None


def _default_global_step() -> Tensor | None:
    try:
        step = get_default_graph().get_tensor_by_name("global_step:0")
    except KeyError:
        return None
    if step.dtype.base_dtype in (dtypes.int32, dtypes.int64):
        return step
    logging.warning("Found 'global_step' is not an int type: %s", step.dtype)
    return None


def _check_devices(graph: Graph) -> None:
    for op in graph.get_operations():
        if op.type in ("Variable", "VariableV2") and not op.device:
            raise ValueError(f"When using replicas, all Variables must have their device set: {op}")
