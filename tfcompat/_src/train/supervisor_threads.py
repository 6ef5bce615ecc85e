"""The threads of a Supervisor: summaries, steps per second, checkpoints."""

from __future__ import annotations

import math
import time
from typing import Any

from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.platform import logging
from tfcompat._src.proto.messages import SessionLog, Summary
from tfcompat._src.train.coordinator import LooperThread
from tfcompat._src.variables import training_util

_LINES_ABOUT_SPEED = 10


class SVSummaryThread(LooperThread):
    """Runs the summary op and writes what it gives.

    Args:
      sv: the Supervisor. sess: its session.
    """

    def __init__(self, sv: Any, sess: SessionLike) -> None:
        super().__init__(sv.coord, sv.save_summaries_secs)
        self._sv, self._sess = sv, sess

    def run_loop(self) -> None:
        sv = self._sv
        fetches = [sv.summary_op] if sv.global_step is None else [sv.summary_op, sv.global_step]
        summary, *step = self._sess.run(fetches)
        if sv.summary_writer:
            global_step = step[0] if step else None
            logging.info("Recording summary at step %s.", global_step)
            sv.summary_writer.add_summary(summary, global_step)


class SVStepCounterThread(LooperThread):
    """Writes steps per second as summary "global_step/sec".

    Args:
      sv: the Supervisor. sess: its session.
      step_counter: the counter, by default the global step.
    """

    def __init__(self, sv: Any, sess: SessionLike, step_counter: Any = None) -> None:
        super().__init__(sv.coord, sv.save_summaries_secs)
        self._sv, self._sess = sv, sess
        self._step_counter = sv.global_step if step_counter is None else step_counter
        self._summary_tag = f"{self._step_counter.op.name}/sec"
        self._last_time, self._last_step = 0.0, 0

    def start_loop(self) -> None:
        self._last_time = time.time()
        self._last_step = training_util.global_step(self._sess, self._step_counter)

    def run_loop(self) -> None:
        step, now = training_util.global_step(self._sess, self._step_counter), time.time()
        steps, seconds = step - self._last_step, now - self._last_time
        self._last_step, self._last_time = step, now
        steps_per_sec = steps / seconds if seconds > 0 else math.inf
        if self._sv.summary_writer:
            summary = Summary(value=[Summary.Value(tag=self._summary_tag, simple_value=steps_per_sec)])
            self._sv.summary_writer.add_summary(summary, step)
        logging.log_first_n(logging.INFO, "%s: %g", _LINES_ABOUT_SPEED, self._summary_tag, steps_per_sec)


class SVTimerCheckpointThread(LooperThread):
    """Saves checkpoints.

    Args:
      sv: the Supervisor. sess: its session.
    """

    def __init__(self, sv: Any, sess: SessionLike) -> None:
        super().__init__(sv.coord, sv.save_model_secs)
        self._sv, self._sess = sv, sess

    def run_loop(self) -> None:
        sv = self._sv
        logging.info("Saving checkpoint to path %s", sv.save_path)
        sv.saver.save(self._sess, sv.save_path, global_step=sv.global_step)
        if sv.summary_writer and sv.global_step is not None:
            log = SessionLog(status=SessionLog.CHECKPOINT, checkpoint_path=sv.save_path)
            sv.summary_writer.add_session_log(log, training_util.global_step(self._sess, sv.global_step))
