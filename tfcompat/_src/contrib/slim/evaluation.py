"""tf.contrib.slim.evaluation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base.export import export
from tfcompat._src.contrib.training import evaluation
from tfcompat._src.summary.summary import merge_all
from tfcompat._src.train import checkpoint_utils
from tfcompat._src.train.evaluation import _evaluate_once, _StopAfterNEvalsHook
from tfcompat._src.train.saver import Saver
from tfcompat._src.train.scaffold import Scaffold
from tfcompat._src.train.session_run_hook import SessionRunHook

if TYPE_CHECKING:
    from tfcompat._src.proto import messages

_USE_DEFAULT = 0

checkpoints_iterator = export("contrib.slim.evaluation.checkpoints_iterator")(checkpoint_utils.checkpoints_iterator)
wait_for_new_checkpoint = export("contrib.slim.evaluation.wait_for_new_checkpoint")(
    checkpoint_utils.wait_for_new_checkpoint
)


def _hooks(
    num_evals: int, logdir: str, summary_op: object, summary_feeds: dict | None, hooks: Any
) -> list[SessionRunHook]:
    """The hooks of an evaluation: they stop it, write summaries, and do what the caller's do."""
    summary_op = merge_all() if isinstance(summary_op, int) and summary_op == _USE_DEFAULT else summary_op
    found: list[SessionRunHook] = [_StopAfterNEvalsHook(num_evals)]
    if summary_op is not None:
        found.append(evaluation.SummaryAtEndHook(log_dir=logdir, summary_op=summary_op, feed_dict=summary_feeds))
    return [*found, *(hooks or ())]


@export("contrib.slim.evaluation.evaluate_once")
def evaluate_once(
    master: str, checkpoint_path: str, logdir: str, num_evals: int = 1, initial_op: object = None,
    initial_op_feed_dict: dict | None = None, eval_op: object = None, eval_op_feed_dict: dict | None = None,
    final_op: object = None, final_op_feed_dict: dict | None = None, summary_op: object = _USE_DEFAULT,
    summary_op_feed_dict: dict | None = None, variables_to_restore: object = None, session_config: messages.ConfigProto | None = None,
    hooks: object = None,
) -> Any:  # fmt: skip
    """Evaluates a checkpoint.

    Args:
      master: target of the session.
      checkpoint_path: the checkpoint. logdir: folder of the summaries.
      num_evals: how often `eval_op` runs.
      initial_op, eval_op, final_op: what runs first, in each step and at the end, each with its feed_dict.
      summary_op: the summaries, by default all of the graph, None for none, with its feed_dict.
      variables_to_restore: by default all.
      session_config: a ConfigProto. hooks: SessionRunHooks.

    Returns:
      what `final_op` gave, None where there is none.
    """
    all_hooks = _hooks(num_evals, logdir, summary_op, summary_op_feed_dict, hooks)
    saver = None if variables_to_restore is None else Saver(variables_to_restore)
    return _evaluate_once(
        checkpoint_path, master=master,
        scaffold=Scaffold(init_op=initial_op, init_feed_dict=initial_op_feed_dict, saver=saver), eval_ops=eval_op,
        feed_dict=eval_op_feed_dict, final_ops=final_op, final_ops_feed_dict=final_op_feed_dict, hooks=all_hooks,
        config=session_config,
    )  # fmt: skip


@export("contrib.slim.evaluation.evaluation_loop")
def evaluation_loop(
    master: str, checkpoint_dir: str, logdir: str, num_evals: int = 1, initial_op: object = None,
    initial_op_feed_dict: dict | None = None, init_fn: Callable | None = None, eval_op: object = None,
    eval_op_feed_dict: dict | None = None, final_op: object = None, final_op_feed_dict: dict | None = None,
    summary_op: object = _USE_DEFAULT, summary_op_feed_dict: dict | None = None, variables_to_restore: object = None,
    eval_interval_secs: float = 60, max_number_of_evaluations: int | None = None, session_config: messages.ConfigProto | None = None,
    timeout: float | None = None, timeout_fn: Callable[[], bool] | None = None, hooks: object = None,
) -> Any:  # fmt: skip
    """Evaluates each new checkpoint of a folder.

    Args:
      checkpoint_dir: the folder.
      init_fn: function of (scaffold, session) that is called after `initial_op`.
      eval_interval_secs, max_number_of_evaluations, timeout, timeout_fn: see `tf.contrib.training.evaluate_repeatedly`.
      others: see `evaluate_once`.

    Returns:
      what `final_op` gave in the last evaluation, None where there is none.
    """
    all_hooks = _hooks(num_evals, logdir, summary_op, summary_op_feed_dict, hooks)
    saver = None if variables_to_restore is None else Saver(variables_to_restore)
    return evaluation.evaluate_repeatedly(
        checkpoint_dir, master=master,
        scaffold=Scaffold(init_op=initial_op, init_feed_dict=initial_op_feed_dict, init_fn=init_fn, saver=saver),
        eval_ops=eval_op, feed_dict=eval_op_feed_dict, final_ops=final_op, final_ops_feed_dict=final_op_feed_dict,
        eval_interval_secs=eval_interval_secs, hooks=all_hooks, config=session_config,
        max_number_of_evaluations=max_number_of_evaluations, timeout=timeout, timeout_fn=timeout_fn,
    )  # fmt: skip
