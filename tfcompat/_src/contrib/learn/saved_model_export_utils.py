"""tf.contrib.learn's export of SavedModels: signatures, folders and export strategies."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from tfcompat._src.base import dtypes, errors
from tfcompat._src.base.export import export
from tfcompat._src.contrib.layers.feature_column_ops import create_feature_spec_for_parsing
from tfcompat._src.contrib.learn import gc, input_fn_utils
from tfcompat._src.contrib.learn.export_strategy import ExportStrategy
from tfcompat._src.contrib.learn.keys import MetricKey, PredictionKey, ProblemType
from tfcompat._src.estimator.estimator import Estimator as CoreEstimator
from tfcompat._src.estimator.receivers import build_parsing_serving_input_receiver_fn
from tfcompat._src.io.events import summary_iterator
from tfcompat._src.platform import file_io, logging
from tfcompat._src.saved_model import signature_def_utils
from tfcompat._src.saved_model.model_utils import export_utils
from tfcompat._src.saved_model.signature_constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from tfcompat._src.train.checkpoint_management import latest_checkpoint

DEFAULT_INPUT_ALTERNATIVE_KEY = "default_input_alternative"
FEATURES_INPUT_ALTERNATIVE_KEY = "features_input_alternative"
_FALLBACK_DEFAULT_OUTPUT_ALTERNATIVE_KEY = "default_output_alternative"
_CLASSIFICATIONS = (ProblemType.CLASSIFICATION, ProblemType.LOGISTIC_REGRESSION)
get_timestamped_export_dir = export_utils.get_timestamped_export_dir
get_temp_export_dir = export_utils.get_temp_export_dir


def _classes_and_scores(outputs: dict[str, Any]) -> tuple[Any, Any]:
    classes, scores = outputs.get(PredictionKey.CLASSES), outputs.get(PredictionKey.SCORES)
    if classes is not None and classes.dtype != dtypes.string:
        classes = None
    return classes, outputs.get(PredictionKey.PROBABILITIES) if scores is None else scores


def build_standardized_signature_def(
    input_tensors: dict[str, Any], output_tensors: dict[str, Any], problem_type: int
) -> Any:
    """The SignatureDef of a model: for one input a classification or regression where its type says so, else a prediction.

    Raises:
      ValueError: there is no input or no output.
    """
    if not input_tensors:
        raise ValueError("input_tensors must be provided.")
    if not output_tensors:
        raise ValueError("output_tensors must be provided.")
    if len(input_tensors) == 1:
        examples, first = next(iter(input_tensors.values())), next(iter(output_tensors.values()))
        classes, scores = _classes_and_scores(output_tensors)
        found = classes is not None or scores is not None
        if problem_type in _CLASSIFICATIONS and (found or len(output_tensors) == 1):
            if not found:
                classes, scores = (first, None) if first.dtype == dtypes.string else (None, first)
            return signature_def_utils.classification_signature_def(examples, classes, scores)
        if problem_type == ProblemType.LINEAR_REGRESSION and len(output_tensors) == 1:
            return signature_def_utils.regression_signature_def(examples, first)
    return signature_def_utils.predict_signature_def(input_tensors, output_tensors)


def get_input_alternatives(input_ops: Any) -> tuple[dict[str, Any], Any]:
    """What a model can be fed, by name, and its features; ValueError where there are none."""
    alternatives = {}
    if isinstance(input_ops, input_fn_utils.InputFnOps):
        features, _, alternatives[DEFAULT_INPUT_ALTERNATIVE_KEY] = input_ops
    else:
        features, _ = input_ops
    if not features:
        raise ValueError("Features must be defined.")
    return alternatives, features


def get_output_alternatives(model_fn_ops: Any, default_output_alternative_key: str | None = None) -> tuple[dict, Any]:
    """What a model gives, by name, and the name of the default; ValueError where that is unknown or not clear."""
    outputs = model_fn_ops.output_alternatives
    if default_output_alternative_key:
        if default_output_alternative_key in (outputs or ()):
            return outputs, default_output_alternative_key
        available = sorted(outputs) if outputs else []
        raise ValueError(
            f"Requested default_output_alternative: {default_output_alternative_key}, "
            f"but available output_alternatives are: {available}"
        )
    if not outputs:
        predictions = model_fn_ops.predictions
        if not isinstance(predictions, dict):
            predictions = {PredictionKey.GENERIC: predictions}
        key = _FALLBACK_DEFAULT_OUTPUT_ALTERNATIVE_KEY
        return {key: (ProblemType.UNSPECIFIED, predictions)}, key
    if len(outputs) == 1:
        return outputs, next(iter(outputs))
    raise ValueError(
        f"Please specify a default_output_alternative.  Available output_alternatives are: {sorted(outputs)}"
    )


def build_all_signature_defs(
    input_alternatives: dict[str, Any], output_alternatives: dict[Any, Any], actual_default_output_alternative_key: object
) -> dict[str, Any]:
    """A SignatureDef for each input with each output, and the default one; ValueError without a default input."""
    signatures = {
        f"{input_key}:{output_key or 'None'}": build_standardized_signature_def(inputs, outputs, problem_type)
        for input_key, inputs in input_alternatives.items()
        for output_key, (problem_type, outputs) in output_alternatives.items()
    }
    default_inputs = input_alternatives.get(DEFAULT_INPUT_ALTERNATIVE_KEY)
    if not default_inputs:
        raise ValueError("A default input_alternative must be provided.")
    problem_type, outputs = output_alternatives[actual_default_output_alternative_key]
    signatures[DEFAULT_SERVING_SIGNATURE_DEF_KEY] = build_standardized_signature_def(default_inputs, outputs, problem_type)
    return signatures


def _export_version_parser(path: gc.Path) -> gc.Path | None:
    name = os.path.basename(path.path)
    return path._replace(export_version=int(name)) if len(name) == 10 and name.isdigit() else None


def get_most_recent_export(export_dir_base: object) -> gc.Path | None:
    """The newest export in a folder."""
    found = gc.largest_export_versions(1)(gc.get_paths(export_dir_base, parser=_export_version_parser))
    return next(iter(found), None)


def garbage_collect_exports(export_dir_base: object, exports_to_keep: int | None) -> None:
    """Removes all but the newest exports in a folder; nothing where the number is None."""
    if exports_to_keep is None:
        return
    old = gc.negation(gc.largest_export_versions(exports_to_keep))
    for path in old(gc.get_paths(export_dir_base, parser=_export_version_parser)):
        try:
            file_io.rmtree(path.path)
        except errors.NotFoundError as error:
            logging.warning("Can not delete %s recursively: %s", path.path, error)


@export("contrib.learn.make_export_strategy", "contrib.learn.utils.make_export_strategy")
def make_export_strategy(
    serving_input_fn: Callable, default_output_alternative_key: str | None = None, assets_extra: Any = None,
    as_text: bool = False, exports_to_keep: int | None = 5, strip_default_attrs: bool | None = None,
) -> ExportStrategy:  # fmt: skip
    """The strategy "Servo", which exports SavedModels.

    Args:
      serving_input_fn: function that gives an InputFnOps, or for a tf.estimator.Estimator a ServingInputReceiver.
      default_output_alternative_key: which output is the default signature.
      assets_extra: dict of files to copy, source by path in assets.extra.
      as_text: whether the model is written as text.
      exports_to_keep: how many exports are kept; None for all.
      strip_default_attrs: whether attributes with default values are left out.

    Raises:
      ValueError: when exporting, a tf.estimator.Estimator comes with a default output.
    """

    def export_fn(
        estimator: Any, export_dir_base: object, checkpoint_path: object = None, strip_default_attrs: bool = False
    ) -> Any:
        output = {"default_output_alternative_key": default_output_alternative_key}
        if isinstance(estimator, CoreEstimator):
            if default_output_alternative_key is not None:
                raise ValueError(
                    "default_output_alternative_key is not supported in core Estimator. "
                    f"Given: {default_output_alternative_key}"
                )
            output = {}
        result = estimator.export_savedmodel(
            export_dir_base, serving_input_fn, assets_extra=assets_extra, as_text=as_text,
            checkpoint_path=checkpoint_path, strip_default_attrs=bool(strip_default_attrs), **output,
        )  # fmt: skip
        garbage_collect_exports(export_dir_base, exports_to_keep)
        return result

    return ExportStrategy("Servo", export_fn, strip_default_attrs)


def make_parsing_export_strategy(
    feature_columns: object, default_output_alternative_key: str | None = None, assets_extra: object = None, as_text: bool = False,
    exports_to_keep: int | None = 5, target_core: bool = False, strip_default_attrs: bool | None = None,
) -> ExportStrategy:  # fmt: skip
    """The strategy "Servo" for models that read serialized Examples with the features of `feature_columns`.

    `target_core` says that the model is a tf.estimator.Estimator; see `make_export_strategy` for the rest.
    """
    features = create_feature_spec_for_parsing(feature_columns)
    build = build_parsing_serving_input_receiver_fn if target_core else input_fn_utils.build_parsing_serving_input_fn
    return make_export_strategy(
        build(features), default_output_alternative_key, assets_extra, as_text, exports_to_keep, strip_default_attrs
    )


def _default_compare_fn(curr_best_eval_result: Any, cand_eval_result: Any) -> bool:
    """Whether the candidate's loss is smaller; ValueError where there is none."""
    for name, result in (("curr_best_eval_result", curr_best_eval_result), ("cand_eval_result", cand_eval_result)):
        if not result or MetricKey.LOSS not in result:
            raise ValueError(f"{name} cannot be empty or no loss is found in it.")
    return curr_best_eval_result[MetricKey.LOSS] > cand_eval_result[MetricKey.LOSS]


class BestModelSelector:
    """Says whether an evaluation is the best so far.

    Args:
      event_file_pattern: pattern of files with earlier evaluations.
      compare_fn: function of the best and another result: whether the other one is better.
    """

    def __init__(self, event_file_pattern: str | None = None, compare_fn: Callable | None = None) -> None:
        self._compare_fn = compare_fn or _default_compare_fn
        self._best_eval_result = self._get_best_eval_result(event_file_pattern)

    def update(self, checkpoint_path: object, eval_result: object) -> tuple[Any, Any]:
        """Both arguments where the result is the best so far, else ("", None); ValueError where one is missing."""
        if not checkpoint_path:
            raise ValueError("Checkpoint path is empty.")
        if eval_result is None:
            raise ValueError(f"{checkpoint_path} has empty evaluation results.")
        if self._best_eval_result is not None and not self._compare_fn(self._best_eval_result, eval_result):
            return "", None
        self._best_eval_result = eval_result
        return checkpoint_path, eval_result

    def _get_best_eval_result(self, event_files: str | None) -> Any:
        best = None
        for path in file_io.glob(event_files) if event_files else ():
            for event in summary_iterator(path):
                if event.HasField("summary"):
                    result = {v.tag: v.simple_value for v in event.summary.value if v.HasField("simple_value")}
                    if best is None or self._compare_fn(best, result):
                        best = result
        return best


def make_best_model_export_strategy(
    serving_input_fn: Callable, exports_to_keep: int | None = 1, model_dir: str | None = None,
    event_file_pattern: str | None = None, compare_fn: Callable | None = None,
    default_output_alternative_key: str | None = None, strip_default_attrs: bool | None = None,
) -> ExportStrategy:  # fmt: skip
    """A strategy that exports the best model so far; arguments as make_export_strategy and BestModelSelector have them."""
    strategy = make_export_strategy(
        serving_input_fn, default_output_alternative_key, exports_to_keep=exports_to_keep,
        strip_default_attrs=strip_default_attrs,
    )  # fmt: skip
    pattern = os.path.join(model_dir, event_file_pattern) if model_dir and event_file_pattern else None
    selector = BestModelSelector(pattern, compare_fn)

    def export_fn(estimator: Any, export_dir_base: Any, checkpoint_path: Any, eval_result: Any = None) -> Any:
        path, result = selector.update(checkpoint_path or latest_checkpoint(estimator.model_dir), eval_result)
        if not path or result is None:
            return ""
        return strategy.export(estimator, os.path.join(export_dir_base, os.path.basename(path)), path, result)

    return ExportStrategy("best_model", export_fn)


def _new_folder(base: str, prefix: str, what: str) -> str:
    path = os.path.join(base, prefix + str(int(time.time())))
    if file_io.exists(path):
        raise RuntimeError(f"Failed to obtain {what} directory")
    file_io.makedirs(path)
    return path


def extend_export_strategy(
    base_export_strategy: ExportStrategy, post_export_fn: Callable, post_export_name: str | None = None
) -> ExportStrategy:
    """A strategy that passes each export on to a function.

    Args:
      base_export_strategy: makes the export.
      post_export_fn: function of the export's folder and a folder to write to, that gives a folder in the latter.
      post_export_name: name of the strategy; by default that of `base_export_strategy`.

    Raises:
      RuntimeError, ValueError: when exporting, a folder exists, or the function gives another folder.
    """

    def export_fn(estimator: object, export_dir_base: Any, checkpoint_path: object = None) -> str:
        base_dir = _new_folder(export_dir_base, "temp-base-export-", "base export")
        exported = base_export_strategy.export(estimator, base_dir, checkpoint_path)
        post_dir = _new_folder(export_dir_base, "temp-post-export-", "temp export")
        made = post_export_fn(exported, post_dir)
        if not made.startswith(post_dir):
            raise ValueError(f"post_export_fn must return a sub-directory of {post_dir}")
        final = os.path.join(export_dir_base, os.path.relpath(made, post_dir))
        if file_io.exists(final):
            raise RuntimeError("Failed to obtain final export directory")
        file_io.rename(made, final)
        file_io.rmtree(base_dir)
        file_io.rmtree(post_dir)
        return final

    return ExportStrategy(post_export_name or base_export_strategy.name, export_fn)
