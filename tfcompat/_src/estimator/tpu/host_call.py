"""tf.contrib.tpu.TPUEstimatorSpec: a model whose metrics and summaries are functions of tensors."""

from __future__ import annotations

import inspect
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.estimator.model_fn import EstimatorSpec, _TPUEstimatorSpec
from tfcompat._src.estimator.util import fn_args
from tfcompat._src.platform import logging
from tfcompat._src.proto.messages import Summary
from tfcompat._src.summary.summary_writers import flush, summary_writer_initializer_op
from tfcompat._src.train.saving_hooks import StepCounterHook
from tfcompat._src.train.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook


@export("estimator.tpu.TPUEstimatorSpec", "contrib.tpu.TPUEstimatorSpec")
class TPUEstimatorSpec(_TPUEstimatorSpec):
    """The parts of a model that a TPUEstimator runs.

    Args:
      mode, predictions, loss, train_op, export_outputs, training_hooks, evaluation_hooks, prediction_hooks: as
        EstimatorSpec.
      eval_metrics: function of tensors that gives metrics as for EstimatorSpec, and its tensors in a list or dict.
      scaffold_fn: function that gives the Scaffold.
      host_call: function of tensors that gives summary operations, and its tensors in a list or dict.

    Raises:
      ValueError, TypeError, RuntimeError: a part is missing or of another kind.
    """

    def __new__(
        cls, mode: str, predictions: object = None, loss: object = None, train_op: object = None, eval_metrics: object = None,
        export_outputs: object = None, scaffold_fn: object = None, host_call: object = None, training_hooks: object = None,
        evaluation_hooks: object = None, prediction_hooks: object = None,
    ) -> TPUEstimatorSpec:  # fmt: skip
        _validate({"eval_metrics": eval_metrics, "host_call": host_call})
        return super().__new__(
            cls, mode, predictions, loss, train_op, eval_metrics, export_outputs, scaffold_fn, host_call,
            training_hooks, evaluation_hooks, prediction_hooks,
        )  # fmt: skip

    def as_estimator_spec(self) -> EstimatorSpec:
        """The EstimatorSpec of a model that runs on the CPU."""
        made = _called({"eval_metrics": self.eval_metrics, "host_call": self.host_call})
        hooks = (_OutfeedHostCallHook(made["host_call"]),) if "host_call" in made else ()
        return EstimatorSpec(
            mode=self.mode, predictions=self.predictions, loss=self.loss, train_op=self.train_op,
            eval_metric_ops=made.get("eval_metrics"), export_outputs=self.export_outputs,
            scaffold=self.scaffold_fn() if self.scaffold_fn else None, training_hooks=self.training_hooks + hooks,
            evaluation_hooks=self.evaluation_hooks + hooks, prediction_hooks=self.prediction_hooks + hooks,
        )  # fmt: skip


def _validate(host_calls: dict[str, Any]) -> None:
    """Raises ValueError, TypeError or RuntimeError for what is no pair of a function and its tensors; None is left
    out.
    """
    for name, call in host_calls.items():
        if call is None:
            continue
        if not isinstance(call, (tuple, list)):
            raise ValueError(f"{name} should be tuple or list")
        if len(call) != 2:
            raise ValueError(f"{name} should have two elements.")
        fn, tensors = call
        if not callable(fn):
            raise TypeError(f"{name}[0] should be callable.")
        if not isinstance(tensors, (tuple, list, dict)):
            raise ValueError(f"{name}[1] should be tuple or list, or dict.")
        if isinstance(tensors, dict):
            continue
        if inspect.getfullargspec(fn).varargs is None and len(tensors) != len(fn_args(fn)):
            raise RuntimeError(
                f"In TPUEstimatorSpec.{name}, length of tensors {len(tensors)} does not match method args of the "
                f"function, which takes {len(fn_args(fn))}."
            )


def _called(host_calls: dict[str, Any]) -> dict[str, Any]:
    """What the functions give for their tensors, by name."""
    found = {}
    for name, call in host_calls.items():
        if call is None:
            continue
        fn, tensors = call
        try:
            found[name] = fn(**tensors) if isinstance(tensors, dict) else fn(*tensors)
        except TypeError as error:
            if isinstance(tensors, dict):
                logging.warning(
                    "Exception while calling %s: %s. It is likely the tensors (%s[1]) do not match the function's arguments",
                    name, error, name,
                )  # fmt: skip
            raise
    return found


class _OutfeedHostCallHook(SessionRunHook):
    """Runs what a host call gave with each step, and starts and flushes the writers of its summaries."""

    def __init__(self, tensors: object) -> None:
        self._tensors = tensors

    def begin(self) -> None:
        self._init_ops = summary_writer_initializer_op()
        self._finalize_ops = [flush(writer=op.inputs[0]) for op in self._init_ops]

    def after_create_session(self, session: SessionLike, coord: object) -> None:
        session.run(self._init_ops)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._tensors)

    def end(self, session: SessionLike) -> None:
        session.run(self._finalize_ops)


class ExamplesPerSecondHook(StepCounterHook):
    """Logs steps and examples per second, and writes them as summaries.

    Args:
      batch_size: examples of a step.
      every_n_steps, every_n_secs, output_dir, summary_writer: as for StepCounterHook.
    """

    def __init__(
        self, batch_size: int, every_n_steps: int | None = 100, every_n_secs: float | None = None,
        output_dir: str | None = None, summary_writer: object = None,
    ) -> None:  # fmt: skip
        self._batch_size = batch_size
        super().__init__(every_n_steps, every_n_secs, output_dir, summary_writer)

    def _log_and_record(self, elapsed_steps: Any, elapsed_time: float, global_step: int) -> None:
        steps_per_sec = elapsed_steps / elapsed_time
        for tag, value in (("global_step/sec", steps_per_sec), ("examples/sec", self._batch_size * steps_per_sec)):
            if self._summary_writer is not None:
                self._summary_writer.add_summary(
                    Summary(value=[Summary.Value(tag=tag, simple_value=value)]), global_step
                )
            logging.info("%s: %g", tag, value)
