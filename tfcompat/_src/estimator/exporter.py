"""tf.estimator.Exporter: when train_and_evaluate exports the model."""

from __future__ import annotations

import abc
import os
from collections.abc import Callable, Iterator
from typing import Any

from tfcompat._src.base import errors
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.estimator import garbage_collection
from tfcompat._src.estimator.model_fn import LOSS_METRIC_KEY
from tfcompat._src.estimator.util import fn_args
from tfcompat._src.io.events import summary_iterator
from tfcompat._src.platform import file_io, logging

_DIGITS_OF_A_TIME = 10


@export("estimator.Exporter", "compat.v2.estimator.Exporter")
class Exporter(abc.ABC):
    """Base class of what exports a model after evaluations."""

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """The name of the folder below "export"."""

    @abc.abstractmethod
    def export(
        self,
        estimator: Any,
        export_path: Any,
        checkpoint_path: Any,
        eval_result: dict[str, Any],
        is_the_final_export: bool,
    ) -> Any:
        """Exports a model, or not.

        Args:
          estimator: the Estimator.
          export_path: the folder to write to.
          checkpoint_path: the checkpoint.
          eval_result: the results of its evaluation.
          is_the_final_export: whether training is over.

        Returns:
          the path of what was written, None where nothing was.
        """


class _SavedModelExporter(Exporter):
    """Exports a SavedModel after each evaluation; arguments are those of FinalExporter."""

    def __init__(
        self,
        name: str,
        serving_input_receiver_fn: Callable | None,
        assets_extra: dict[str, str] | None = None,
        as_text: bool = False,
    ) -> None:
        self._name, self._serving_input_receiver_fn = name, serving_input_receiver_fn
        self._assets_extra, self._as_text = assets_extra, as_text

    @property
    def name(self) -> str:
        return self._name

    def export(
        self, estimator: Any, export_path: object, checkpoint_path: object, eval_result: object, is_the_final_export: bool
    ) -> Any:
        return estimator.export_saved_model(
            export_path, self._serving_input_receiver_fn, assets_extra=self._assets_extra, as_text=self._as_text,
            checkpoint_path=checkpoint_path,
        )  # fmt: skip


class _Wrapper(Exporter):
    """An Exporter that decides when a SavedModelExporter exports."""

    _saved_model_exporter: _SavedModelExporter

    @property
    def name(self) -> str:
        return self._saved_model_exporter.name


@export("estimator.FinalExporter", "compat.v2.estimator.FinalExporter")
class FinalExporter(_Wrapper):
    """Exports once, when training is over.

    Args:
      name: of the folder below "export".
      serving_input_receiver_fn: function that gives a ServingInputReceiver.
      assets_extra: paths of files to copy, by their path below "assets.extra".
      as_text: write the text form.
    """

    def __init__(
        self,
        name: str,
        serving_input_receiver_fn: Callable,
        assets_extra: dict[str, str] | None = None,
        as_text: bool = False,
    ) -> None:
        self._saved_model_exporter = _SavedModelExporter(name, serving_input_receiver_fn, assets_extra, as_text)

    def export(
        self, estimator: object, export_path: object, checkpoint_path: object, eval_result: object, is_the_final_export: bool
    ) -> Any:
        if not is_the_final_export:
            return None
        logging.info("Performing the final export in the end of training.")
        return self._saved_model_exporter.export(
            estimator, export_path, checkpoint_path, eval_result, is_the_final_export
        )


@export("estimator.LatestExporter", "compat.v2.estimator.LatestExporter")
class LatestExporter(_Wrapper):
    """Exports after each evaluation and keeps the latest.

    Args:
      name, serving_input_receiver_fn, assets_extra, as_text: as for FinalExporter.
      exports_to_keep: how many are kept, None for all.

    Raises:
      ValueError: `exports_to_keep` is not positive.
    """

    def __init__(
        self, name: str, serving_input_receiver_fn: Callable, assets_extra: dict[str, str] | None = None,
        as_text: bool = False, exports_to_keep: int | None = 5,
    ) -> None:  # fmt: skip
        self._saved_model_exporter = _SavedModelExporter(name, serving_input_receiver_fn, assets_extra, as_text)
        if exports_to_keep is not None and exports_to_keep <= 0:
            raise ValueError("`exports_to_keep`, if provided, must be positive number")
        self._exports_to_keep = exports_to_keep

    def export(
        self, estimator: object, export_path: object, checkpoint_path: object, eval_result: object, is_the_final_export: bool
    ) -> Any:
        made = self._saved_model_exporter.export(
            estimator, export_path, checkpoint_path, eval_result, is_the_final_export
        )
        _delete_old_exports(export_path, self._exports_to_keep)
        return made


def _loss_smaller(best_eval_result: dict[str, Any], current_eval_result: dict[str, Any]) -> bool:
    """Whether the loss of the current result is the smaller one; ValueError where one has no loss."""
    for name, result in (("best_eval_result", best_eval_result), ("current_eval_result", current_eval_result)):
        if not result or LOSS_METRIC_KEY not in result:
            raise ValueError(f"{name} cannot be empty or no loss is found in it.")
    return best_eval_result[LOSS_METRIC_KEY] > current_eval_result[LOSS_METRIC_KEY]


def _verify_compare_fn_args(compare_fn: Callable) -> None:
    names, wanted = set(fn_args(compare_fn)), ("best_eval_result", "current_eval_result")
    for name in wanted:
        if name not in names:
            raise ValueError(f"compare_fn ({compare_fn}) must include {name} argument.")
    if names - set(wanted):
        raise ValueError(f"compare_fn ({compare_fn}) has following not expected args: {list(names - set(wanted))}")


@export("estimator.BestExporter", "compat.v2.estimator.BestExporter")
class BestExporter(_Wrapper):
    """Exports after each evaluation that is the best so far.

    Args:
      name, serving_input_receiver_fn, assets_extra, as_text: as for FinalExporter.
      event_file_pattern: which event files below the model's folder hold earlier evaluations; None for none.
      compare_fn: function of `best_eval_result` and `current_eval_result` that says whether the latter is better.
      exports_to_keep: how many are kept, None for all.

    Raises:
      ValueError: `compare_fn` takes other arguments, or `exports_to_keep` is not positive.
    """

    def __init__(
        self, name: str = "best_exporter", serving_input_receiver_fn: Callable | None = None,
        event_file_pattern: str | None = "eval/*.tfevents.*", compare_fn: Callable = _loss_smaller,
        assets_extra: dict[str, str] | None = None, as_text: bool = False, exports_to_keep: int | None = 5,
    ) -> None:  # fmt: skip
        if compare_fn is None:
            raise ValueError("`compare_fn` must not be None.")
        _verify_compare_fn_args(compare_fn)
        self._compare_fn = compare_fn
        self._saved_model_exporter = _SavedModelExporter(name, serving_input_receiver_fn, assets_extra, as_text)
        self._event_file_pattern = event_file_pattern
        self._model_dir: str | None = None
        self._best_eval_result: dict[str, Any] | None = None
        if exports_to_keep is not None and exports_to_keep <= 0:
            raise ValueError(f"`exports_to_keep`, if provided, must be a positive number. Got {exports_to_keep}")
        self._exports_to_keep = exports_to_keep

    def export(
        self, estimator: Any, export_path: object, checkpoint_path: object, eval_result: Any, is_the_final_export: bool
    ) -> Any:
        if self._model_dir != estimator.model_dir and self._event_file_pattern:
            logging.info("Loading best metric from event files.")
            self._model_dir = estimator.model_dir
            self._best_eval_result = self._get_best_eval_result(os.path.join(self._model_dir, self._event_file_pattern))
        best = self._best_eval_result
        if best is not None and not self._compare_fn(best_eval_result=best, current_eval_result=eval_result):
            return None
        logging.info("Performing best model export.")
        self._best_eval_result = eval_result
        made = self._saved_model_exporter.export(
            estimator, export_path, checkpoint_path, eval_result, is_the_final_export
        )
        _delete_old_exports(export_path, self._exports_to_keep)
        return made

    def _get_best_eval_result(self, event_files: str) -> dict[str, Any] | None:
        """The best result in event files, None where there is none."""
        best = None
        for event in _events(event_files):
            result = scalar_results(event)
            if result and (best is None or self._compare_fn(best, result)):
                best = result
        return best


class StepsExporter(_Wrapper):
    """Exports at the first evaluation at or after each of some steps.

    Args:
      steps_to_keep: the steps.
      name, serving_input_receiver_fn, event_file_pattern, assets_extra, as_text: as for BestExporter.

    Raises:
      ValueError: there is no positive int among the steps.
    """

    def __init__(
        self, steps_to_keep: list[int], name: str = "steps_exporter", serving_input_receiver_fn: Callable | None = None,
        event_file_pattern: str | None = "eval/*.tfevents.*", assets_extra: dict[str, str] | None = None,
        as_text: bool = False,
    ) -> None:  # fmt: skip
        self._saved_model_exporter = _SavedModelExporter(name, serving_input_receiver_fn, assets_extra, as_text)
        self._event_file_pattern = event_file_pattern
        self._model_dir: str | None = None
        self._input_steps_to_keep = steps_to_keep
        steps = [step for step in steps_to_keep if isinstance(step, int) and step > 0]
        if not steps:
            raise ValueError("`steps_to_keep` list must have at least one positive integer")
        if steps != steps_to_keep:
            logging.warning(
                "Changed `steps_to_keep`, by omitting non-integer or less than 1 elements, to [%s]",
                ", ".join(map(str, steps)),
            )
        self._steps_to_keep = sorted(steps)
        self._steps_kept: list[int] = []

    def export(
        self, estimator: Any, export_path: object, checkpoint_path: object, eval_result: Any, is_the_final_export: bool
    ) -> Any:
        if not eval_result or GraphKeys.GLOBAL_STEP not in eval_result:
            raise ValueError(f"`eval_result` is empty, or does not have global step. Got eval_result: {eval_result}")
        if self._model_dir != estimator.model_dir and self._event_file_pattern:
            logging.info("Loads the steps that the model was already evaluated at,from event files")
            self._model_dir = estimator.model_dir
            self._steps_kept = sorted(self._get_kept_steps(os.path.join(self._model_dir, self._event_file_pattern)))
            if self._steps_kept:
                self._steps_to_keep = [step for step in self._steps_to_keep if step > self._steps_kept[-1]]
        step = eval_result[GraphKeys.GLOBAL_STEP]
        due = [each for each in self._steps_to_keep if each <= step]
        if not due:
            return None
        made = self._saved_model_exporter.export(
            estimator, export_path, checkpoint_path, eval_result, is_the_final_export
        )
        self._steps_to_keep = [each for each in self._steps_to_keep if each not in due]
        self._steps_kept.append(step)
        if due[:-1]:
            missed = ", ".join(map(str, due[:-1]))
            logging.warning("Missed steps [%s] for exporting, as no evaluation took place at them.", missed)
        if due[-1] == step:
            logging.info("Performing model export at step %d.", step)
        else:
            logging.warning(
                "Performing model export at step %d instead of %d, as no evaluation took place at step %d.",
                step,
                due[-1],
                due[-1],
            )
        return made

    def _get_kept_steps(self, event_files: str) -> list[int]:
        """The steps of the events in event files."""
        return list(dict.fromkeys(event.step for event in _events(event_files)))


def scalar_results(event: Any) -> dict[str, float]:
    """The simple values of the summary in an Event, by tag."""
    if not event.HasField("summary"):
        return {}
    return {value.tag: value.simple_value for value in event.summary.value if value.HasField("simple_value")}


def _events(pattern: str) -> Iterator[Any]:
    for path in file_io.glob(pattern):
        yield from summary_iterator(path)


def _export_version_parser(path: garbage_collection.Path) -> garbage_collection.Path | None:
    """A folder called by a time in seconds, with it as version; None for others."""
    name = os.path.basename(path.path)
    return path._replace(export_version=int(name)) if len(name) == _DIGITS_OF_A_TIME and name.isdigit() else None


def _delete_old_exports(export_dir_base: object, exports_to_keep: int | None) -> None:
    if exports_to_keep is None:
        return
    old = garbage_collection._negation(garbage_collection._largest_export_versions(exports_to_keep))
    for path in old(garbage_collection._get_paths(export_dir_base, parser=_export_version_parser)):
        try:
            file_io.rmtree(path.path)
        except errors.NotFoundError as error:
            logging.warning("Can not delete %s recursively: %s", path.path, error)
