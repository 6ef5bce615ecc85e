"""Hooks that write files: checkpoints, summaries, the speed of training, profiles."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.graph.scopes import get_collection, get_default_graph
from tfcompat._src.nodes.meta_graph import create_meta_graph_def
from tfcompat._src.platform import file_io, logging
from tfcompat._src.profiler.timeline import Timeline
from tfcompat._src.proto.messages import RunOptions, SessionLog, Summary
from tfcompat._src.summary.writer import FileWriterCache
from tfcompat._src.train.basic_session_run_hooks import global_step_read
from tfcompat._src.train.graph_io import write_graph
from tfcompat._src.train.hook_timers import SecondOrStepTimer
from tfcompat._src.train.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from tfcompat._src.variables.training_util import get_global_step

_LINES_ABOUT_A_STEP_THAT_STANDS_STILL = 5


@export(
    "train.CheckpointSaverListener",
    "estimator.CheckpointSaverListener",
    "compat.v2.estimator.CheckpointSaverListener",
)
class CheckpointSaverListener:
    """Base class of what a CheckpointSaverHook calls around its saves."""

    def begin(self) -> None:
        """Called before the session is made."""

    def before_save(self, session: SessionLike, global_step_value: int) -> None:
        """Called before a checkpoint is written."""

    def after_save(self, session: SessionLike, global_step_value: int) -> bool | None:
        """Called after a checkpoint was written; true asks for a stop of the training."""

    def end(self, session: SessionLike, global_step_value: int) -> None:
        """Called at the end, after the last checkpoint."""


@export("train.CheckpointSaverHook", "estimator.CheckpointSaverHook", "compat.v2.estimator.CheckpointSaverHook")
class CheckpointSaverHook(SessionRunHook):
    """Saves a checkpoint at the beginning, every so many steps or seconds, and at the end.

    Args:
      checkpoint_dir: the folder.
      save_secs: seconds between checkpoints. save_steps: steps between them.
      saver: a Saver. scaffold: a Scaffold that has one; by default the Saver of the collection SAVERS.
      checkpoint_basename: what file names begin with.
      listeners: CheckpointSaverListeners.

    Raises:
      ValueError: not exactly one interval, or both `saver` and `scaffold`, are given.
    """

    def __init__(
        self, checkpoint_dir: str, save_secs: float | None = None, save_steps: int | None = None, saver: Any = None,
        checkpoint_basename: str = "model.ckpt", scaffold: Any = None,
        listeners: Iterable[CheckpointSaverListener] | None = None,
    ) -> None:  # fmt: skip
        logging.info("Create CheckpointSaverHook.")
        if saver is not None and scaffold is not None:
            raise ValueError("You cannot provide both saver and scaffold.")
        self._saver, self._scaffold = saver, scaffold
        self._checkpoint_dir = checkpoint_dir
        self._save_path = os.path.join(checkpoint_dir, checkpoint_basename)
        self._timer = SecondOrStepTimer(save_secs, save_steps)
        self._listeners = list(listeners or ())
        self._steps_per_run = 1

    def _set_steps_per_run(self, steps_per_run: int) -> None:
        self._steps_per_run = steps_per_run

    def begin(self) -> None:
        self._summary_writer = FileWriterCache.get(self._checkpoint_dir)
        self._global_step_tensor = global_step_read("CheckpointSaverHook")
        for listener in self._listeners:
            listener.begin()

    def after_create_session(self, session: SessionLike, coord: object) -> None:
        global_step = session.run(self._global_step_tensor)
        graph = get_default_graph()
        graph_def = graph.as_graph_def(add_shapes=True)
        write_graph(graph_def, self._checkpoint_dir, "graph.pbtxt")
        saver = self._get_saver()
        self._summary_writer.add_graph(graph)
        self._summary_writer.add_meta_graph(
            create_meta_graph_def(graph_def=graph_def, saver_def=saver.saver_def if saver else None)
        )
        self._save(session, global_step)
        self._timer.update_last_triggered_step(global_step)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._global_step_tensor)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        step = _step_to_act_on(self, run_context, run_values.results)
        if step is None:
            return
        self._timer.update_last_triggered_step(step)
        if self._save(run_context.session, step):
            run_context.request_stop()

    def end(self, session: SessionLike) -> None:
        last_step = session.run(self._global_step_tensor)
        if last_step != self._timer.last_triggered_step():
            self._save(session, last_step)
        for listener in self._listeners:
            listener.end(session, last_step)

    def _save(self, session: SessionLike, step: int) -> bool:
        """Saves a checkpoint; gives whether a listener asks for a stop."""
        logging.info("Saving checkpoints for %d into %s.", step, self._save_path)
        for listener in self._listeners:
            listener.before_save(session, step)
        self._get_saver().save(session, self._save_path, global_step=step)
        log = SessionLog(status=SessionLog.CHECKPOINT, checkpoint_path=self._save_path)
        self._summary_writer.add_session_log(log, step)
        stopping = [listener for listener in self._listeners if listener.after_save(session, step)]
        for listener in stopping:
            logging.info("A CheckpointSaverListener requested that training be stopped. listener: %s", listener)
        return bool(stopping)

    def _get_saver(self) -> Any:
        if self._saver is not None:
            return self._saver
        if self._scaffold is not None:
            return self._scaffold.saver
        savers = get_collection(GraphKeys.SAVERS)
        if not savers:
            raise RuntimeError(
                f"No items in collection {GraphKeys.SAVERS}. Please add a saver to the collection or provide a saver or scaffold."
            )
        if len(savers) > 1:
            raise RuntimeError(
                f"More than one item in collection {GraphKeys.SAVERS}. Please indicate which one to use by passing it to the constructor."
            )
        self._saver = savers[0]
        return self._saver


def _step_to_act_on(hook: Any, run_context: SessionRunContext, stale_step: int) -> int | None:
    """The global step after a run where it is time for a hook to act, else None; `stale_step` was read before the update."""
    if not hook._timer.should_trigger_for_step(stale_step + hook._steps_per_run):
        return None
    step = run_context.session.run(hook._global_step_tensor)
    return step if hook._timer.should_trigger_for_step(step) else None


@export("train.StepCounterHook", "estimator.StepCounterHook", "compat.v2.estimator.StepCounterHook")
class StepCounterHook(SessionRunHook):
    """Logs steps per second, and writes them as summary "global_step/sec".

    Args:
      every_n_steps: steps between two values. every_n_secs: seconds between them.
      output_dir: the folder of a FileWriter. summary_writer: a FileWriter itself.

    Raises:
      ValueError: not exactly one interval is given.
    """

    def __init__(
        self, every_n_steps: int | None = 100, every_n_secs: float | None = None, output_dir: str | None = None,
        summary_writer: Any = None,
    ) -> None:  # fmt: skip
        if (every_n_steps is None) == (every_n_secs is None):
            raise ValueError("exactly one of every_n_steps and every_n_secs should be provided.")
        self._timer = SecondOrStepTimer(every_n_secs, every_n_steps)
        self._summary_writer = summary_writer
        self._output_dir = output_dir
        self._last_global_step: int | None = None
        self._steps_per_run = 1

    def _set_steps_per_run(self, steps_per_run: int) -> None:
        self._steps_per_run = steps_per_run

    def begin(self) -> None:
        if self._summary_writer is None and self._output_dir:
            self._summary_writer = FileWriterCache.get(self._output_dir)
        self._global_step_tensor = global_step_read("StepCounterHook")
        self._summary_tag = get_global_step().op.name + "/sec"

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._global_step_tensor)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        stale_step = run_values.results
        step = _step_to_act_on(self, run_context, stale_step)
        if step is not None:
            seconds, steps = self._timer.update_last_triggered_step(step)
            if seconds is not None:
                self._log_and_record(steps, seconds, step)
        if stale_step == self._last_global_step:
            logging.log_first_n(
                logging.WARN,
                "It seems that global step (tf.train.get_global_step) has not been increased. Current value (could be stable): %s "
                "vs previous value: %s. You could increase the global step by passing tf.train.get_global_step() to "
                "Optimizer.apply_gradients or Optimizer.minimize.",
                _LINES_ABOUT_A_STEP_THAT_STANDS_STILL, stale_step, self._last_global_step,
            )  # fmt: skip
        self._last_global_step = stale_step

    def _log_and_record(self, elapsed_steps: Any, elapsed_time: float, global_step: int) -> None:
        """Logs and writes the speed of `elapsed_steps` steps in `elapsed_time` seconds."""
        steps_per_sec = elapsed_steps / elapsed_time
        if self._summary_writer is not None:
            summary = Summary(value=[Summary.Value(tag=self._summary_tag, simple_value=steps_per_sec)])
            self._summary_writer.add_summary(summary, global_step)
        logging.info("%s: %g", self._summary_tag, steps_per_sec)


@export("train.SummarySaverHook", "estimator.SummarySaverHook", "compat.v2.estimator.SummarySaverHook")
class SummarySaverHook(SessionRunHook):
    """Writes summaries in the first run and then every so many steps or seconds.

    Args:
      save_steps: steps between two. save_secs: seconds between them.
      output_dir: the folder of a FileWriter. summary_writer: a FileWriter itself.
      scaffold: a Scaffold that has a summary op. summary_op: the op itself, or a list of them.

    Raises:
      ValueError: not exactly one of the intervals, or of `scaffold` and `summary_op`, is given.
    """

    def __init__(
        self, save_steps: int | None = None, save_secs: float | None = None, output_dir: str | None = None,
        summary_writer: Any = None, scaffold: Any = None, summary_op: Any = None,
    ) -> None:  # fmt: skip
        if (scaffold is None) == (summary_op is None):
            raise ValueError("Exactly one of scaffold or summary_op must be provided.")
        self._summary_op, self._scaffold = summary_op, scaffold
        self._summary_writer = summary_writer
        self._output_dir = output_dir
        self._timer = SecondOrStepTimer(save_secs, save_steps)

    def begin(self) -> None:
        if self._summary_writer is None and self._output_dir:
            self._summary_writer = FileWriterCache.get(self._output_dir)
        self._next_step: int | None = None
        self._global_step_tensor = global_step_read("SummarySaverHook")

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        self._request_summary = self._next_step is None or self._timer.should_trigger_for_step(self._next_step)
        requests = {"global_step": self._global_step_tensor}
        summary_op = self._get_summary_op() if self._request_summary else None
        if summary_op is not None:
            requests["summary"] = summary_op
        return SessionRunArgs(requests)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if not self._summary_writer:
            return
        global_step = run_values.results["global_step"] + 1
        if self._request_summary:
            global_step = run_context.session.run(self._global_step_tensor)
            if self._next_step is None:
                self._summary_writer.add_session_log(SessionLog(status=SessionLog.START), global_step)
            self._timer.update_last_triggered_step(global_step)
            for summary in run_values.results.get("summary", ()):
                self._summary_writer.add_summary(summary, global_step)
        self._next_step = global_step + 1

    def end(self, session: SessionLike | None = None) -> None:
        if self._summary_writer:
            self._summary_writer.flush()

    def _get_summary_op(self) -> list | None:
        found = self._summary_op if self._summary_op is not None else self._scaffold.summary_op
        return found if found is None or isinstance(found, list) else [found]


@export("train.ProfilerHook", "estimator.ProfilerHook", "compat.v2.estimator.ProfilerHook", "contrib.hooks.ProfilerHook")
class ProfilerHook(SessionRunHook):
    """Writes a timeline, "timeline-STEP.json", and the RunMetadata of a run every so many steps or seconds.

    Args:
      save_steps: steps between two. save_secs: seconds between them.
      output_dir: the folder.
      show_dataflow: whether arrows lead from nodes to those that use their values.
      show_memory: whether tensors and the bytes in use are shown.

    Raises:
      ValueError: not exactly one interval is given.
    """

    def __init__(
        self, save_steps: int | None = None, save_secs: float | None = None, output_dir: str = "",
        show_dataflow: bool = True, show_memory: bool = False,
    ) -> None:  # fmt: skip
        self._output_file = os.path.join(output_dir, "timeline-{}.json")
        self._file_writer = FileWriterCache.get(output_dir)
        self._show_dataflow, self._show_memory = show_dataflow, show_memory
        self._timer = SecondOrStepTimer(save_secs, save_steps)

    def begin(self) -> None:
        self._next_step: int | None = None
        self._global_step_tensor = global_step_read("ProfilerHook")

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        self._request_summary = self._next_step is not None and self._timer.should_trigger_for_step(self._next_step)
        options = RunOptions(trace_level=RunOptions.FULL_TRACE) if self._request_summary else None
        return SessionRunArgs({"global_step": self._global_step_tensor}, options=options)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        stale_step = run_values.results["global_step"]
        if self._next_step is None:
            self._timer.update_last_triggered_step(stale_step)
        global_step = stale_step + 1
        if self._request_summary:
            global_step = run_context.session.run(self._global_step_tensor)
            self._timer.update_last_triggered_step(global_step)
            self._save(global_step, self._output_file.format(global_step), run_values.run_metadata.step_stats)
            self._file_writer.add_run_metadata(run_values.run_metadata, f"step_{global_step}")
        self._next_step = global_step + 1

    def _save(self, step: int, save_path: str, step_stats: object) -> None:
        logging.info("Saving timeline for %d into '%s'.", step, save_path)
        trace = Timeline(step_stats).generate_chrome_trace_format(self._show_dataflow, self._show_memory)
        file_io.write_string_to_file(save_path, trace)
