"""tf.contrib.training: evaluating each new checkpoint."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.platform import logging
from tfcompat._src.summary.summary import merge_all
from tfcompat._src.summary.writer import FileWriterCache
from tfcompat._src.train.basic_session_run_hooks import FinalOpsHook
from tfcompat._src.train.checkpoint_utils import checkpoints_iterator
from tfcompat._src.train.evaluation import _get_or_create_eval_step, add_eval_step, run_until_stopped, tell_eval_step
from tfcompat._src.train.monitored_session import ChiefSessionCreator, MonitoredSession
from tfcompat._src.train.session_run_hook import SessionRunHook
from tfcompat._src.variables import training_util
from tfcompat._src.variables.assign import assign_add

_TIME_FORMAT = "%Y-%m-%d-%H:%M:%S"


@export("contrib.training.SummaryAtEndHook")
class SummaryAtEndHook(SessionRunHook):
    """Writes summaries at the end of a session.

    Args:
      log_dir: the folder of a FileWriter. summary_writer: a FileWriter itself.
      summary_op: the summaries, by default all of the graph. feed_dict: feeds for them.

    Raises:
      ValueError: neither a folder nor a writer is given.
    """

    def __init__(
        self, log_dir: str | None = None, summary_writer: Any = None, summary_op: Any = None,
        feed_dict: dict | None = None,
    ) -> None:  # fmt: skip
        if log_dir is None and summary_writer is None:
            raise ValueError("One of log_dir or summary_writer should be used.")
        self._log_dir, self._summary_writer = log_dir, summary_writer
        self._summary_op, self._replace_summary_op = summary_op, summary_op is None
        self._feed_dict = feed_dict

    def begin(self) -> None:
        if self._replace_summary_op:
            self._summary_op = merge_all()
        self._global_step = training_util.get_or_create_global_step()

    def after_create_session(self, session: SessionLike, coord: object) -> None:
        if self._summary_writer is None and self._log_dir:
            self._summary_writer = FileWriterCache.get(self._log_dir)

    def end(self, session: SessionLike) -> None:
        if self._summary_op is not None:
            step = training_util.global_step(session, self._global_step)
            summary = session.run(self._summary_op, self._feed_dict)
            if self._summary_writer:
                self._summary_writer.add_summary(summary, step)
        if self._summary_writer:
            self._summary_writer.flush()


@export("contrib.training.evaluate_repeatedly")
def evaluate_repeatedly(
    checkpoint_dir: str, master: str = "", scaffold: Any = None, eval_ops: object = None, feed_dict: dict | None = None,
    final_ops: object = None, final_ops_feed_dict: dict | None = None, eval_interval_secs: float = 60,
    hooks: list | None = None, config: Any = None, max_number_of_evaluations: int | None = None,
    timeout: float | None = None, timeout_fn: Callable[[], bool] | None = None,
) -> Any:  # fmt: skip
    """Evaluates each new checkpoint of a folder.

    Args:
      checkpoint_dir: the folder.
      master: target of the sessions. scaffold: a Scaffold. config: a ConfigProto.
      eval_ops: fetches of each step. feed_dict: feeds for them.
      final_ops: fetches at the end of each evaluation. final_ops_feed_dict: feeds for them.
      eval_interval_secs: seconds from the start of one evaluation to the next, at least.
      hooks: SessionRunHooks, such as a StopAfterNEvalsHook; a FinalOpsHook is added to this list.
      max_number_of_evaluations: how many; None for no limit.
      timeout: seconds to wait for a checkpoint; None for no limit. timeout_fn: called then; true ends the evaluations.

    Returns:
      what `final_ops` gave in the last evaluation, None where there are none.
    """
    eval_step = _get_or_create_eval_step()
    hooks = hooks or []
    if eval_ops is not None:
        update_eval_step = assign_add(eval_step, 1)
        tell_eval_step(hooks, update_eval_step)
        eval_ops = add_eval_step(eval_ops, update_eval_step)
    final_ops_hook = FinalOpsHook(final_ops, final_ops_feed_dict)
    hooks.append(final_ops_hook)
    checkpoints = checkpoints_iterator(checkpoint_dir, eval_interval_secs, timeout, timeout_fn)
    for number, checkpoint_path in enumerate(checkpoints, start=1):
        creator = ChiefSessionCreator(scaffold, master, config, checkpoint_filename_with_path=checkpoint_path)
        with MonitoredSession(session_creator=creator, hooks=hooks) as session:
            logging.info("Starting evaluation at %s", time.strftime(_TIME_FORMAT, time.gmtime()))
            run_until_stopped(session, eval_ops, feed_dict)
            logging.info("Finished evaluation at %s", time.strftime(_TIME_FORMAT, time.gmtime()))
        if number == max_number_of_evaluations:
            break
    return final_ops_hook.final_ops_values
