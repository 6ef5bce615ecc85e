"""tf.contrib.learn.monitors: what watches a training step by step, before there were SessionRunHooks."""

from __future__ import annotations

import copy
import os
import time
from collections.abc import Iterable
from typing import Any

import numpy as np

from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.contrib.learn.base_monitors import BaseMonitor, EveryN, extract_output
from tfcompat._src.estimator.estimator import Estimator as CoreEstimator
from tfcompat._src.estimator.util import fn_args
from tfcompat._src.graph.scopes import get_collection, get_default_graph
from tfcompat._src.platform import logging
from tfcompat._src.proto.messages import SessionLog, Summary
from tfcompat._src.summary.writer import FileWriter, FileWriterCache
from tfcompat._src.train.basic_session_run_hooks import as_graph_element
from tfcompat._src.train.checkpoint_management import latest_checkpoint
from tfcompat._src.train.session_run_hook import SessionRunArgs, SessionRunHook
from tfcompat._src.variables.training_util import get_global_step


@export("contrib.learn.monitors.StopAtStep")
class StopAtStep(BaseMonitor):
    """Stops after a number of steps, or at a step.

    Args:
      num_steps: how many steps. last_step: the last step.

    Raises:
      ValueError: not exactly one is given.
    """

    def __init__(self, num_steps=None, last_step=None) -> None:
        super().__init__()
        if num_steps is None and last_step is None:
            raise ValueError("One of num_steps or last_step must be specified.")
        if num_steps is not None and last_step is not None:
            raise ValueError("Only one of num_steps or last_step can be specified.")
        self._num_steps, self._last_step = num_steps, last_step

    @property
    def run_on_all_workers(self) -> bool:
        return True

    def step_begin(self, step) -> list[Any]:
        super().step_begin(step)
        if self._last_step is None:
            self._last_step = step + self._num_steps - 1
        return []

    def step_end(self, step, output) -> bool:
        super().step_end(step, output)
        return step >= self._last_step


@export("contrib.learn.monitors.PrintTensor")
class PrintTensor(EveryN):
    """Logs tensors every so many steps.

    Args:
      tensor_names: names of tensors, or dict of them by label.
      every_n: steps between lines. first_n: how many first steps are logged all.
    """

    def __init__(self, tensor_names, every_n=100, first_n=1) -> None:
        super().__init__(every_n, first_n)
        self._tensor_names = tensor_names if isinstance(tensor_names, dict) else {item: item for item in tensor_names}

    def every_n_step_begin(self, step) -> list[Any]:
        super().every_n_step_begin(step)
        return list(self._tensor_names.values())

    def every_n_step_end(self, step, outputs) -> None:
        super().every_n_step_end(step, outputs)
        logging.info("Step %d: %s", step, _shown(self._tensor_names, outputs))


def _shown(names: dict[str, Any], outputs: dict[Any, Any]) -> str:
    return ", ".join(f"{tag} = {extract_output(outputs, name)!s}" for tag, name in names.items() if name in outputs)


@export("contrib.learn.monitors.LoggingTrainable")
class LoggingTrainable(EveryN):
    """Logs trainable variables every so many steps; `scope` says which, others as PrintTensor."""

    def __init__(self, scope=None, every_n=100, first_n=1) -> None:
        super().__init__(every_n, first_n)
        self._scope, self._names = scope, {}

    def every_n_step_begin(self, step) -> list[Any]:
        super().every_n_step_begin(step)
        variables = get_collection(GraphKeys.TRAINABLE_VARIABLES, scope=self._scope)
        self._names = {variable.name: variable.value().name for variable in variables}
        return list(self._names.values())

    def every_n_step_end(self, step, outputs) -> None:
        super().every_n_step_end(step, outputs)
        logging.info("Logging Trainable: Step %d: %s", step, _shown(self._names, outputs))


@export("contrib.learn.monitors.SummarySaver")
class SummarySaver(EveryN):
    """Writes summaries every so many steps.

    Args:
      summary_op: the summary; by default that of `scaffold`.
      save_steps: steps between summaries.
      output_dir: folder; by default that of the estimator.
      summary_writer: a FileWriter, instead.
      scaffold: a Scaffold.
    """

    def __init__(self, summary_op, save_steps=100, output_dir=None, summary_writer=None, scaffold=None) -> None:
        super().__init__(every_n_steps=save_steps)
        self._summary_op, self._summary_writer, self._scaffold = summary_op, summary_writer, scaffold
        if summary_writer is None and output_dir:
            self._summary_writer = FileWriter(output_dir)

    def set_estimator(self, estimator) -> None:
        super().set_estimator(estimator)
        if self._summary_writer is None:
            self._summary_writer = FileWriter(estimator.model_dir)

    def every_n_step_begin(self, step) -> list[Any]:
        super().every_n_step_begin(step)
        if self._summary_op is None and self._scaffold is not None:
            self._summary_op = self._scaffold.summary_op
        return [] if self._summary_op is None else [self._summary_op]

    def every_n_step_end(self, step, outputs) -> bool:
        super().every_n_step_end(step, outputs)
        if self._summary_op is not None and self._summary_writer:
            self._summary_writer.add_summary(extract_output(outputs, self._summary_op), step)
        return False

    def end(self, session=None) -> None:
        super().end(session=session)
        if self._summary_writer:
            self._summary_writer.flush()


@export("contrib.learn.monitors.ValidationMonitor")
class ValidationMonitor(EveryN):
    """Evaluates every so many steps where there is a new checkpoint, and stops where the model gets no better.

    Args:
      x, y, input_fn, batch_size, eval_steps, metrics, hooks, name: as Evaluable.evaluate has them.
      every_n_steps: steps between evaluations.
      early_stopping_rounds: steps without a better model after which training stops; None for none.
      early_stopping_metric: name of the metric that says what is better.
      early_stopping_metric_minimize: whether smaller is better.
      check_interval_secs: seconds between looks for a checkpoint.

    Raises:
      ValueError: there is no input.
    """

    def __init__(
        self, x=None, y=None, input_fn=None, batch_size=None, eval_steps=None, every_n_steps=100, metrics=None, hooks=None,
        early_stopping_rounds=None, early_stopping_metric="loss", early_stopping_metric_minimize=True, name=None,
        check_interval_secs=5,
    ) -> None:  # fmt: skip
        super().__init__(every_n_steps=every_n_steps, first_n_steps=-1)
        if x is None and input_fn is None:
            raise ValueError("Either x or input_fn should be provided.")
        self.x, self.y, self.input_fn, self.batch_size, self.eval_steps = x, y, input_fn, batch_size, eval_steps
        self.metrics, self.hooks, self.name = metrics, hooks, name
        self.early_stopping_rounds = early_stopping_rounds
        self.early_stopping_metric = early_stopping_metric
        self.early_stopping_metric_minimize = early_stopping_metric_minimize
        self._best_value_step = self._best_value = self._best_metrics = None
        self._early_stopped = False
        self._latest_path = self._latest_path_step = self._last_checkpoint_check_time = None
        self._check_interval_secs = check_interval_secs

    @property
    def early_stopped(self) -> bool:
        return self._early_stopped

    @property
    def best_step(self) -> int | None:
        return self._best_value_step

    @property
    def best_value(self) -> None:
        return self._best_value

    @property
    def best_metrics(self) -> None:
        return self._best_metrics

    def _evaluate_estimator(self) -> dict[str, Any]:
        only_learn = {"x": self.x, "y": self.y, "batch_size": self.batch_size, "metrics": self.metrics}
        common = {"input_fn": self.input_fn, "steps": self.eval_steps, "hooks": self.hooks, "name": self.name}
        if not isinstance(self._estimator, CoreEstimator):
            return self._estimator.evaluate(**only_learn, **common)
        if any(value is not None for value in only_learn.values()):
            raise ValueError(
                "tf.estimator.Estimator does not support following arguments: x, y, batch_size, metrics. "
                "Should set as `None` in ValidationMonitor"
            )
        return self._estimator.evaluate(**common)

    def _new_checkpoint(self, step: int) -> bool:
        now, last = time.time(), self._last_checkpoint_check_time
        if self._check_interval_secs is not None and last is not None and now - last <= self._check_interval_secs:
            return False
        self._last_checkpoint_check_time = now
        path = latest_checkpoint(self._estimator.model_dir)
        if path is None or path == self._latest_path:
            return False
        self._latest_path, self._latest_path_step = path, step
        return True

    def every_n_step_end(self, step, outputs) -> bool:
        super().every_n_step_end(step, outputs)
        if self._estimator is None:
            raise ValueError("Missing call to set_estimator.")
        if not self._new_checkpoint(step):
            return False
        results = self._evaluate_estimator()
        shown = ", ".join(f"{name} = {value!s}" for name, value in results.items())
        logging.info("Validation (step %d): %s", step, shown)
        return self.early_stopping_rounds is not None and self._stops(step, results)

    def _stops(self, step: int, results: dict[str, Any]) -> bool:
        """Whether the best evaluation is too many steps ago."""
        if self.early_stopping_metric not in results:
            raise ValueError(f"Metric {self.early_stopping_metric} missing from outputs {set(results)}.")
        value, best = results[self.early_stopping_metric], self._best_value
        if best is None or (value < best if self.early_stopping_metric_minimize else value > best):
            self._best_value, self._best_metrics, self._best_value_step = value, copy.deepcopy(results), step
        if step - self._best_value_step < self.early_stopping_rounds:
            return False
        logging.info(
            "Stopping. Best step: %s with %s = %s.", self._best_value_step, self.early_stopping_metric, self._best_value
        )
        self._early_stopped = True
        return True


@export("contrib.learn.monitors.CaptureVariable")
class CaptureVariable(EveryN):
    """Keeps the values of a variable every so many steps, by step in `values`; arguments as PrintTensor."""

    def __init__(self, var_name, every_n=100, first_n=1) -> None:
        super().__init__(every_n, first_n)
        self._var_name, self._var_values = var_name, {}

    @property
    def values(self) -> dict[int, Any]:
        return self._var_values

    def every_n_step_begin(self, step) -> list[Any]:
        super().every_n_step_begin(step)
        return [self._var_name]

    def every_n_step_end(self, step, outputs) -> None:
        super().every_n_step_end(step, outputs)
        self._var_values[step] = extract_output(outputs, self._var_name)


@export("contrib.learn.monitors.get_default_monitors")
def get_default_monitors(
    loss_op=None, summary_op=None, save_summary_steps=100, output_dir=None, summary_writer=None
) -> list[BaseMonitor]:
    """The monitors that log a loss and write summaries, of those that are given."""
    monitors: list[BaseMonitor] = []
    if loss_op is not None:
        monitors.append(PrintTensor(tensor_names={"loss": loss_op.name}))
    if summary_op is not None:
        monitors.append(SummarySaver(summary_op, save_summary_steps, output_dir, summary_writer))
    return monitors


@export("contrib.learn.monitors.GraphDump")
class GraphDump(BaseMonitor):
    """Keeps the first output of each operation of each step, by step in `data`.

    Args:
      ignore_ops: types of operations that are left out.
    """

    IGNORE_OPS = ["Const", "Assign", "Identity", "Placeholder", "RandomUniform", "Cast", "RestoreSlice"]

    def __init__(self, ignore_ops=None) -> None:
        super().__init__()
        self._ignore_ops, self._data = ignore_ops or GraphDump.IGNORE_OPS, {}
        self._tensors: list[Any] = []

    def begin(self, max_steps=None) -> None:
        super().begin(max_steps=max_steps)
        wanted = [op for op in get_default_graph().get_operations() if op.type not in self._ignore_ops]
        for op in wanted:
            logging.info("op=%s name=%s.", op.type, op.name)
        self._tensors = [op.outputs[0] for op in wanted if op.outputs]

    def step_begin(self, step) -> list[Any]:
        super().step_begin(step)
        return self._tensors

    def step_end(self, step, output) -> None:
        super().step_end(step, output)
        self._data[step] = output

    @property
    def data(self) -> dict[int, Any]:
        return self._data

    def compare(self, other_dump, step, atol=1e-06) -> tuple[list[str], dict[str, Any]]:
        """The names of equal values of two dumps at a step, and the differences of others; ValueError where one is missing."""
        matched, different = [], {}
        mine, theirs = self.data.get(step, {}), other_dump.data.get(step, {})
        for key in mine:
            if not isinstance(key, str):
                continue
            if key not in theirs:
                raise ValueError(f"{key} missing at step {step}.")
            value, other = extract_output(mine, key), extract_output(theirs, key)
            if isinstance(value, str):
                continue
            is_array = isinstance(value, np.ndarray)
            if np.allclose(value, other, atol=atol) if is_array else value == other:
                matched.append(key)
            else:
                different[key] = value - other if is_array else (value, other)
        return matched, different


@export("contrib.learn.monitors.ExportMonitor")
class ExportMonitor(EveryN):
    """Exports the model every so many steps and at the end, in the format of the time before SavedModels.

    Args:
      every_n_steps: steps between exports.
      export_dir: folder of all versions.
      input_fn: function without arguments that gives (features, labels); by default serialized Examples are parsed.
      input_feature_key: key of the serialized Examples in features.
      exports_to_keep: how many of the latest versions are kept.
      signature_fn: function of examples, features and predictions that gives (Signature message, dict of them).
      default_batch_size: size of the batch that is served, None: any.
    """

    def __init__(
        self, every_n_steps, export_dir, input_fn=None, input_feature_key=None, exports_to_keep=5, signature_fn=None,
        default_batch_size=1,
    ) -> None:  # fmt: skip
        super().__init__(every_n_steps=every_n_steps)
        self._export_dir, self._exports_to_keep, self._signature_fn = export_dir, exports_to_keep, signature_fn
        self._input_fn, self._input_feature_key = input_fn, input_feature_key
        self._default_batch_size, self._last_export_dir = default_batch_size, None

    export_dir = property(lambda self: self._export_dir)
    exports_to_keep = property(lambda self: self._exports_to_keep)
    signature_fn = property(lambda self: self._signature_fn)

    @property
    def last_export_dir(self) -> bytes | None:
        """The folder of the last export."""
        return self._last_export_dir

    def every_n_step_end(self, step, outputs) -> None:
        """Exports; ValueError for a tf.estimator.Estimator."""
        super().every_n_step_end(step, outputs)
        self._export("Skipping exporting because the existing checkpoint has already been exported.")

    def end(self, session=None) -> None:
        """Exports the last checkpoint, where there is one; ValueError for a tf.estimator.Estimator."""
        super().end(session=session)
        if latest_checkpoint(self._estimator.model_dir) is None:
            logging.info("Skipping export at the end since model has not been saved yet.")
            return
        self._export("Skipping exporting for the same step.")

    def _export(self, when_there: str) -> None:
        if isinstance(self._estimator, CoreEstimator):
            raise ValueError(
                "ExportMonitor does not support tf.estimator.Estimator. Please pass an ExportStrategy to Experiment instead."
            )
        try:
            self._last_export_dir = self._estimator.export(
                self.export_dir, exports_to_keep=self.exports_to_keep, signature_fn=self.signature_fn,
                input_fn=self._input_fn, default_batch_size=self._default_batch_size,
                input_feature_key=self._input_feature_key, use_deprecated_input_fn=self._input_fn is None,
            )  # fmt: skip
        except RuntimeError:
            logging.info(when_there)


@export("contrib.learn.monitors.CheckpointSaver")
class CheckpointSaver(BaseMonitor):
    """Saves checkpoints every so many steps or seconds.

    Args:
      checkpoint_dir: folder.
      save_secs, save_steps: seconds or steps between checkpoints.
      saver: a Saver; by default that of `scaffold`.
      checkpoint_basename: name of the files.
      scaffold: a Scaffold.

    Raises:
      ValueError: not exactly one of `save_secs` and `save_steps` is given.
    """

    def __init__(
        self, checkpoint_dir, save_secs=None, save_steps=None, saver=None, checkpoint_basename="model.ckpt", scaffold=None
    ) -> None:
        logging.info("Create CheckpointSaver.")
        super().__init__()
        self._saver, self._scaffold, self._save_secs, self._save_steps = saver, scaffold, save_secs, save_steps
        self._summary_writer = FileWriterCache.get(checkpoint_dir)
        self._save_path = os.path.join(checkpoint_dir, checkpoint_basename)
        self._last_saved_time = self._last_begin_step = self._last_saved_step = None
        if save_steps is None and save_secs is None:
            raise ValueError("Either save_steps or save_secs should be provided")
        if save_steps is not None and save_secs is not None:
            raise ValueError("Can not provide both save_steps and save_secs.")

    def begin(self, max_steps=None) -> None:
        super().begin(max_steps)
        self._last_saved_time = self._last_begin_step = self._last_saved_step = None

    def step_begin(self, step) -> list[Any]:
        super().step_begin(step)
        self._last_begin_step = step
        return []

    def post_step(self, step, session) -> None:
        super().post_step(step, session)
        if self._last_saved_time is None:
            self._save(step, session)
        if self._save_steps is not None and step >= self._last_saved_step + self._save_steps:
            self._save(step, session)
        if self._save_secs is not None and time.time() >= self._last_saved_time + self._save_secs:
            self._save(step, session)

    def end(self, session=None) -> None:
        super().end(session)
        self._save(self._last_begin_step, session)

    def _save(self, step: int, session: SessionLike) -> None:
        if step == self._last_saved_step:
            return
        logging.info("Saving checkpoints for %d into %s.", step, self._save_path)
        self._last_saved_time, self._last_saved_step = time.time(), step
        saver = self._scaffold.saver if self._saver is None else self._saver
        saver.save(session, self._save_path, global_step=step)
        log = SessionLog(status=SessionLog.CHECKPOINT, checkpoint_path=self._save_path)
        self._summary_writer.add_session_log(log, step)


@export("contrib.learn.monitors.StepCounter")
class StepCounter(EveryN):
    """Writes the number of steps a second as a summary; arguments as SummarySaver."""

    def __init__(self, every_n_steps=100, output_dir=None, summary_writer=None) -> None:
        super().__init__(every_n_steps=every_n_steps)
        self._summary_tag, self._summary_writer = "global_step/sec", summary_writer
        self._last_reported_step = self._last_reported_time = None
        if summary_writer is None and output_dir:
            self._summary_writer = FileWriterCache.get(output_dir)

    def set_estimator(self, estimator) -> None:
        super().set_estimator(estimator)
        if self._summary_writer is None:
            self._summary_writer = FileWriterCache.get(estimator.model_dir)

    def every_n_step_end(self, current_step, outputs) -> None:
        now = time.time()
        if self._last_reported_time is not None and self._summary_writer:
            speed = (current_step - self._last_reported_step) / (now - self._last_reported_time)
            summary = Summary(value=[Summary.Value(tag=self._summary_tag, simple_value=speed)])
            self._summary_writer.add_summary(summary, current_step)
        self._last_reported_step, self._last_reported_time = current_step, now


@export("contrib.learn.NanLossDuringTrainingError", "contrib.learn.monitors.NanLossDuringTrainingError")
class NanLossDuringTrainingError(RuntimeError):
    """A loss became NaN."""

    def __str__(self) -> str:
        return "NaN loss during training."


@export("contrib.learn.monitors.NanLoss")
class NanLoss(EveryN):
    """Stops or fails where the loss is NaN.

    Args:
      loss_tensor: the loss.
      every_n_steps: steps between looks.
      fail_on_nan_loss: whether NanLossDuringTrainingError is raised.
    """

    def __init__(self, loss_tensor, every_n_steps=100, fail_on_nan_loss=True) -> None:
        super().__init__(every_n_steps=every_n_steps)
        self._loss_tensor, self._fail_on_nan_loss = loss_tensor, fail_on_nan_loss

    def every_n_step_begin(self, step) -> list[Any]:
        super().every_n_step_begin(step)
        return [self._loss_tensor]

    def every_n_step_end(self, step, outputs) -> bool:
        super().every_n_step_end(step, outputs)
        if not np.isnan(extract_output(outputs, self._loss_tensor)):
            return False
        message = "Model diverged with loss = NaN."
        if self._fail_on_nan_loss:
            logging.error(message)
            raise NanLossDuringTrainingError
        logging.warning(message)
        return True


@export("contrib.learn.monitors.RunHookAdapterForMonitors")
class RunHookAdapterForMonitors(SessionRunHook):
    """Monitors as one SessionRunHook."""

    def __init__(self, monitors: Iterable[BaseMonitor]) -> None:
        self._monitors = list(monitors)
        self._last_step = self._global_step_tensor = None

    def begin(self) -> None:
        self._last_step, self._global_step_tensor = None, get_global_step()
        for monitor in self._monitors:
            monitor.begin(max_steps=None)

    def before_run(self, run_context) -> SessionRunArgs:
        if self._last_step is None:
            self._last_step = run_context.session.run(self._global_step_tensor) + 1
        request, wanted = {"step": self._global_step_tensor}, []
        for monitor in self._monitors:
            fetches = monitor.step_begin(self._last_step)
            if fetches and not isinstance(fetches, list):
                raise ValueError("Monitor.step_begin should return a list.")
            wanted.extend(fetches or ())
        if wanted:
            request["monitors"] = {fetch: as_graph_element(fetch) for fetch in wanted}
        return SessionRunArgs(request)

    def after_run(self, run_context, run_values) -> None:
        outputs = run_values.results.get("monitors", {})
        for monitor in self._monitors:
            if monitor.step_end(self._last_step, outputs):
                run_context.request_stop()
        for monitor in self._monitors:
            monitor.post_step(self._last_step, run_context.session)
        self._last_step = run_values.results["step"] + 1

    def end(self, session) -> None:
        self._last_step = None
        for monitor in self._monitors:
            monitor.end(**({"session": session} if "session" in fn_args(monitor.end) else {}))


@export("contrib.learn.monitors.replace_monitors_with_hooks")
def replace_monitors_with_hooks(monitors_or_hooks: Any, estimator: Any) -> list[SessionRunHook]:
    """SessionRunHooks for monitors and hooks; a worker that is not the chief runs only the monitors that say so."""
    hooks = [hook for hook in monitors_or_hooks or () if isinstance(hook, SessionRunHook)]
    monitors = [monitor for monitor in monitors_or_hooks or () if not isinstance(monitor, SessionRunHook)]
    if not estimator.config.is_chief:
        monitors = [monitor for monitor in monitors if monitor.run_on_all_workers]
    for monitor in monitors:
        monitor.set_estimator(estimator)
    return [*hooks, RunHookAdapterForMonitors(monitors)] if monitors else hooks
