"""tf.contrib.slim.learning: an operation that trains, and a loop under a Supervisor."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import errors
from tfcompat._src.base.export import export
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.contrib.training import training
from tfcompat._src.contrib.training.training import clip_gradient_norms, multiply_gradients
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.scopes import control_dependencies, get_default_graph, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.control.groups import group
from tfcompat._src.ops.math.binary import floormod
from tfcompat._src.ops.math.compare import equal, greater_equal
from tfcompat._src.platform import file_io, logging
from tfcompat._src.profiler.timeline import Timeline
from tfcompat._src.proto.messages import RunMetadata, RunOptions
from tfcompat._src.summary.summary import merge_all
from tfcompat._src.train.optimizer import Optimizer
from tfcompat._src.train.saver import Saver
from tfcompat._src.train.supervisor import Supervisor
from tfcompat._src.train.sync_replicas_optimizer import SyncReplicasOptimizer
from tfcompat._src.variables import collections, training_util

if TYPE_CHECKING:
    from tfcompat._src.graph.operation import Operation
    from tfcompat._src.proto import messages

_USE_DEFAULT = 0
_SECONDS_BETWEEN_LOOKS = 1.0


@export("contrib.slim.learning.add_gradients_summaries")
def add_gradients_summaries(grads_and_vars: training.GradsAndVars) -> list[Tensor]:
    """The histogram and the norm of each gradient as summaries "VARIABLE/gradient" and "VARIABLE/gradient_norm"."""
    return training.gradient_summaries(grads_and_vars, "/")


@export("contrib.slim.learning.create_train_op")
def create_train_op(
    total_loss: Tensor, optimizer: Optimizer, global_step: object = _USE_DEFAULT, update_ops: object = None,
    variables_to_train: list | None = None, clip_gradient_norm: float = 0, summarize_gradients: bool = False,
    gate_gradients: int = Optimizer.GATE_OP, aggregation_method: object = None, colocate_gradients_with_ops: bool = False,
    gradient_multipliers: dict | None = None, check_numerics: bool = True,
) -> Tensor:  # fmt: skip
    """A tensor that makes a step of training and gives the loss.

    Args:
      clip_gradient_norm: the largest norm of a gradient; 0 for no limit.
      gradient_multipliers: factors of gradients by variable or name.
      others: see `tf.contrib.training.create_train_op`.
    """

    def transform(gradients: training.GradsAndVars) -> training.GradsAndVars:
        if gradient_multipliers:
            with name_scope("multiply_grads"):
                gradients = multiply_gradients(gradients, gradient_multipliers)
        if clip_gradient_norm > 0:
            with name_scope("clip_grads"):
                gradients = clip_gradient_norms(gradients, clip_gradient_norm)
        return gradients

    return training.create_train_op(
        total_loss, optimizer, global_step, update_ops, variables_to_train, transform, summarize_gradients,
        gate_gradients, aggregation_method, colocate_gradients_with_ops, check_numerics,
    )  # fmt: skip


@export("contrib.slim.learning.train_step")
def train_step(sess: SessionLike, train_op: object, global_step: object, train_step_kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """Makes one step, and logs or traces it.

    Args:
      sess: the session.
      train_op: the training operation. global_step: the global step.
      train_step_kwargs: `should_stop`, `should_log` and `should_trace`, bool tensors; `logdir`, folder of traces;
        `summary_writer`, a FileWriter that gets the RunMetadata of traced steps. All may be left out.

    Returns:
      the loss, and whether to stop.

    Raises:
      ValueError: `should_trace` without `logdir`.
    """
    started = time.time()
    options = metadata = None
    if "should_trace" in train_step_kwargs:
        if "logdir" not in train_step_kwargs:
            raise ValueError("logdir must be present in train_step_kwargs when should_trace is present")
        if sess.run(train_step_kwargs["should_trace"]):
            options, metadata = RunOptions(trace_level=RunOptions.FULL_TRACE), RunMetadata()
    loss, step = sess.run([train_op, global_step], options=options, run_metadata=metadata)
    seconds = time.time() - started
    if metadata is not None:
        _write_trace(metadata, step, train_step_kwargs)
    if "should_log" in train_step_kwargs and sess.run(train_step_kwargs["should_log"]):
        logging.info("global step %d: loss = %.4f (%.3f sec/step)", step, loss, seconds)
    should_stop = sess.run(train_step_kwargs["should_stop"]) if "should_stop" in train_step_kwargs else False
    return loss, should_stop


def _write_trace(metadata: Any, step: int, train_step_kwargs: dict[str, Any]) -> None:
    filename = os.path.join(train_step_kwargs["logdir"], f"tf_trace-{step}.json")
    logging.info("Writing trace to %s", filename)
    file_io.write_string_to_file(filename, Timeline(metadata.step_stats).generate_chrome_trace_format())
    if "summary_writer" in train_step_kwargs:
        train_step_kwargs["summary_writer"].add_run_metadata(metadata, f"run_metadata-{step}")


@export("contrib.slim.learning.train")
def train(
    train_op: object, logdir: str | None, train_step_fn: Callable = train_step, train_step_kwargs: Any = _USE_DEFAULT,
    log_every_n_steps: int = 1, graph: Graph | None = None, master: str = "", is_chief: bool = True,
    global_step: object = None, number_of_steps: int | None = None, init_op: object = _USE_DEFAULT,
    init_feed_dict: dict | None = None, local_init_op: object = _USE_DEFAULT, init_fn: Callable | None = None,
    ready_op: object = _USE_DEFAULT, summary_op: object = _USE_DEFAULT, save_summaries_secs: float = 600,
    summary_writer: Any = _USE_DEFAULT, startup_delay_steps: int = 0, saver: object = None,
    save_interval_secs: float = 600, sync_optimizer: object = None, session_config: messages.ConfigProto | None = None,
    session_wrapper: Callable | None = None, trace_every_n_steps: int | None = None, ignore_live_threads: bool = False,
) -> Any:  # fmt: skip
    """Trains under a Supervisor until a step, the number of steps, or the end of the input stops it.

    Args:
      train_op: the training operation; see `create_train_op`.
      logdir: folder of checkpoints and summaries; None for none.
      train_step_fn: function of (session, train_op, global_step, train_step_kwargs) that gives the loss and whether to stop.
      train_step_kwargs: dict for it; by default that of `train_step`.
      log_every_n_steps: steps between lines; 0 for none. trace_every_n_steps: steps between traces; None for none.
      graph: by default the default graph.
      number_of_steps: the global step to stop at; None for no limit.
      startup_delay_steps: the global step that a worker, not a chief, waits for.
      saver: a Saver, by default a new one.
      sync_optimizer: a SyncReplicasOptimizer or a list of them.
      session_config: a ConfigProto.
      session_wrapper: function of the session that gives the one to use.
      ignore_live_threads: whether threads that do not end are logged only.
      others: see `tf.train.Supervisor`; `save_interval_secs` is its `save_model_secs`.

    Returns:
      the loss of the last step, None where there was none.

    Raises:
      ValueError: arguments do not go together.
    """
    sync_optimizers = sync_optimizer if sync_optimizer is None or isinstance(sync_optimizer, list) else [sync_optimizer]
    _check(
        train_op, logdir, summary_op, saver, trace_every_n_steps, sync_optimizers, startup_delay_steps, number_of_steps
    )
    graph = graph or get_default_graph()
    chief_queue_runners: list[Any] = []
    init_tokens_op: list[Any] = []
    with graph.as_default():
        if global_step is None:
            global_step = training_util.get_or_create_global_step()
        saver = saver or Saver()
        _check_sync_optimizers(sync_optimizers)
        with name_scope("init_ops"):
            init_op = _default(init_op, collections.global_variables_initializer)
            ready_op = _default(ready_op, collections.report_uninitialized_variables)
            local_init_op = _default(local_init_op, _local_initializer)
            ready_for_local_init_op = None
            if sync_optimizers:
                local_init_op, ready_for_local_init_op = _sync_init_ops(sync_optimizers, local_init_op, is_chief)
        summary_op = _default(summary_op, merge_all)
        if is_chief and sync_optimizers:
            init_tokens_op = [optimizer.get_init_tokens_op() for optimizer in sync_optimizers]
            chief_queue_runners = [optimizer.get_chief_queue_runner() for optimizer in sync_optimizers]
        if _is_default(train_step_kwargs):
            traces = trace_every_n_steps if is_chief else None
            train_step_kwargs = _step_kwargs(global_step, number_of_steps, log_every_n_steps, traces, logdir)
    sv = Supervisor(
        graph=graph, is_chief=is_chief, logdir=logdir, init_op=init_op, init_feed_dict=init_feed_dict,
        local_init_op=local_init_op, ready_for_local_init_op=ready_for_local_init_op, ready_op=ready_op,
        summary_op=summary_op, summary_writer=summary_writer, global_step=global_step, saver=saver,
        save_summaries_secs=save_summaries_secs, save_model_secs=save_interval_secs, init_fn=init_fn,
    )  # fmt: skip
    if summary_writer is not None:
        train_step_kwargs["summary_writer"] = sv.summary_writer

    def prepare(sess: SessionLike) -> list:
        """Starts what runs besides the training; gives the threads of the queue runners."""
        if is_chief and logdir:
            sv.start_standard_services(sess)
        elif not is_chief and startup_delay_steps > 0:
            _wait_for_step(sess, global_step, min(startup_delay_steps, number_of_steps or sys.maxsize))
        threads = sv.start_queue_runners(sess)
        logging.info("Starting Queues.")
        if init_tokens_op:
            sv.start_queue_runners(sess, chief_queue_runners)
            sess.run(init_tokens_op)
        return threads

    total_loss = None
    while True:
        try:
            with sv.managed_session(master, start_standard_services=False, config=session_config) as sess:
                logging.info("Starting Session.")
                if session_wrapper is not None:
                    logging.info("Wrapping session with wrapper function: %s", session_wrapper)
                    sess = session_wrapper(sess)
                threads = prepare(sess)
                try:
                    while not sv.should_stop():
                        total_loss, should_stop = train_step_fn(sess, train_op, global_step, train_step_kwargs)
                        if should_stop:
                            logging.info("Stopping Training.")
                            sv.request_stop()
                except errors.OutOfRangeError as e:
                    logging.info("Caught OutOfRangeError. Stopping Training. %s", e)
                if logdir and sv.is_chief:
                    logging.info("Finished training! Saving model to disk.")
                    sv.saver.save(sess, sv.save_path, global_step=sv.global_step)
                    sv.stop(threads, close_summary_writer=True, ignore_live_threads=ignore_live_threads)
            return total_loss
        except errors.AbortedError:
            logging.info("Retrying training!")


def _check(
    train_op: object, logdir: str | None, summary_op: object, saver: object, trace_every_n_steps: int | None,
    sync_optimizers: list | None, startup_delay_steps: int, number_of_steps: int | None,
) -> None:  # fmt: skip
    if train_op is None:
        raise ValueError("train_op cannot be None.")
    if logdir is None:
        given = (
            (not _is_default(summary_op), "summary_op"), (saver is not None, "saver"),
            (trace_every_n_steps is not None, "trace_every_n_steps"),
        )  # fmt: skip
        for is_given, name in given:
            if is_given:
                raise ValueError(f"Cannot provide {name} because logdir=None")
    if sync_optimizers is not None and startup_delay_steps > 0:
        raise ValueError("startup_delay_steps must be zero when sync_optimizer is supplied.")
    if number_of_steps is not None and number_of_steps <= 0:
        raise ValueError("`number_of_steps` must be either None or a positive number.")


def _check_sync_optimizers(sync_optimizers: list | None) -> None:
    for optimizer in sync_optimizers or ():
        if not isinstance(optimizer, SyncReplicasOptimizer):
            raise ValueError("`sync_optimizer` must be a tf.train.SyncReplicasOptimizer.")


def _is_default(value: object) -> bool:
    return isinstance(value, int) and value == _USE_DEFAULT


def _default(value: object, make: Callable[[], Any]) -> Any:
    return make() if _is_default(value) else value


def _local_initializer() -> Operation | None:
    return group(collections.local_variables_initializer(), collections.tables_initializer())


def _sync_init_ops(sync_optimizers: list, local_init_op: object, is_chief: bool) -> tuple[Any, Any]:
    """The local initializer of replicas that work together, run after the given one, and what tells that it may run."""
    with control_dependencies([local_init_op] if local_init_op is not None else []):
        inits = [opt.chief_init_op if is_chief else opt.local_step_init_op for opt in sync_optimizers]
        found = group(*inits)
    return found, group(*[opt.ready_for_local_init_op for opt in sync_optimizers])


def _step_kwargs(
    global_step: object, number_of_steps: int | None, log_every_n_steps: int, trace_every_n_steps: int | None,
    logdir: str | None,
) -> dict[str, Any]:  # fmt: skip
    """What `train_step` is given by default."""
    found: dict[str, Any] = {}
    with name_scope("train_step"):
        found["should_stop"] = greater_equal(global_step, number_of_steps) if number_of_steps else constant(False)
        if log_every_n_steps > 0:
            found["should_log"] = equal(floormod(global_step, log_every_n_steps), 0)
        if trace_every_n_steps is not None:
            found["should_trace"] = equal(floormod(global_step, trace_every_n_steps), 0)
            found["logdir"] = logdir
    return found


def _wait_for_step(sess: SessionLike, global_step: object, step: int) -> None:
    while training_util.global_step(sess, global_step) < step:
        time.sleep(_SECONDS_BETWEEN_LOOKS)
