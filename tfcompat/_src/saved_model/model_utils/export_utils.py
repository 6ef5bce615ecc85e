"""Signatures, tags and folders of exported models."""

from __future__ import annotations

import os
import time
from typing import Any

from tfcompat._src.platform import logging
from tfcompat._src.platform.compat import as_bytes
from tfcompat._src.saved_model import signature_constants, tag_constants
from tfcompat._src.saved_model.model_utils import export_output, mode_keys
from tfcompat._src.saved_model.model_utils.mode_keys import KerasModeKeys, ModeKeyMap
from tfcompat._src.saved_model.signature_def_utils import is_valid_signature

_DEFAULT_KEY = signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY
EXPORT_TAG_MAP = ModeKeyMap(**{
    KerasModeKeys.PREDICT: [tag_constants.SERVING],
    KerasModeKeys.TRAIN: [tag_constants.TRAINING],
    KerasModeKeys.TEST: [tag_constants.EVAL],
})  # fmt: skip
SIGNATURE_KEY_MAP = ModeKeyMap(**{
    KerasModeKeys.PREDICT: _DEFAULT_KEY,
    KerasModeKeys.TRAIN: signature_constants.DEFAULT_TRAIN_SIGNATURE_DEF_KEY,
    KerasModeKeys.TEST: signature_constants.DEFAULT_EVAL_SIGNATURE_DEF_KEY,
})  # fmt: skip
SINGLE_FEATURE_DEFAULT_NAME = "feature"
SINGLE_RECEIVER_DEFAULT_NAME = "input"
SINGLE_LABEL_DEFAULT_NAME = "label"
MAX_DIRECTORY_CREATION_ATTEMPTS = 10
_METHODS = {
    signature_constants.CLASSIFY_METHOD_NAME: "Classify",
    signature_constants.REGRESS_METHOD_NAME: "Regress",
    signature_constants.PREDICT_METHOD_NAME: "Predict",
    signature_constants.SUPERVISED_TRAIN_METHOD_NAME: "Train",
    signature_constants.SUPERVISED_EVAL_METHOD_NAME: "Eval",
}


def build_all_signature_defs(
    receiver_tensors: object, export_outputs: dict[str | None, Any], receiver_tensors_alternatives: dict | None = None,
    serving_only: bool = True,
) -> dict[str, Any]:  # fmt: skip
    """SignatureDefs by name, for every pair of inputs and outputs that fit; logs which do not.

    Args:
      receiver_tensors: tensor, or dict of tensors.
      export_outputs: dict of ExportOutput by signature name.
      receiver_tensors_alternatives: dict of further inputs; their signatures are called "input:output".
      serving_only: leave out those that a server refuses.

    Raises:
      ValueError: `export_outputs` is no dict.
    """
    if not isinstance(export_outputs, dict):
        raise ValueError(f"export_outputs must be a dict and not{type(export_outputs)}")
    found, excluded = {}, {}
    receivers = [("", receiver_tensors)]
    receivers += [(f"{name or 'None'}:", tensors) for name, tensors in (receiver_tensors_alternatives or {}).items()]
    for prefix, tensors in receivers:
        named = tensors if isinstance(tensors, dict) else {SINGLE_RECEIVER_DEFAULT_NAME: tensors}
        for key, output in export_outputs.items():
            name = f"{prefix}{key or 'None'}"
            try:
                found[name] = output.as_signature_def(named)
            except ValueError as error:
                excluded[name] = str(error)
    _log_signatures(found, excluded)
    return {name: s for name, s in found.items() if is_valid_signature(s)} if serving_only else found


def _log_signatures(found: dict[str, Any], excluded: dict[str, str]) -> None:
    by_method: dict[str, list[str]] = {method: [] for method in _METHODS}
    for name, signature in found.items():
        by_method.setdefault(signature.method_name, []).append(name)
    for method, names in by_method.items():
        logging.info(f"Signatures INCLUDED in export for {_METHODS.get(method, method)}: {names or 'None'}")
    if excluded:
        logging.info("Signatures EXCLUDED from export because they cannot be be served via TensorFlow Serving APIs:")
        for name, message in excluded.items():
            logging.info(f"'{name}' : {message}")
    if not found:
        logging.warn("Export includes no signatures!")
    elif _DEFAULT_KEY not in found:
        logging.warn("Export includes no default signature!")


def get_timestamped_export_dir(export_dir_base: str | bytes) -> bytes:
    """The path of a folder below `export_dir_base` that does not exist, called by the time in seconds.

    Raises:
      RuntimeError: ten such folders in a row exist.
    """
    for attempt in range(1, MAX_DIRECTORY_CREATION_ATTEMPTS + 1):
        path = os.path.join(as_bytes(export_dir_base), as_bytes(str(int(time.time()))))
        if not os.path.exists(path):
            return path
        time.sleep(1)
        logging.warn(
            f"Directory {path!r} already exists; retrying (attempt {attempt}/{MAX_DIRECTORY_CREATION_ATTEMPTS})"
        )
    raise RuntimeError(
        f"Failed to obtain a unique export directory name after {MAX_DIRECTORY_CREATION_ATTEMPTS} attempts."
    )


def get_temp_export_dir(timestamped_export_dir: str | bytes) -> bytes:
    """The path beside `timestamped_export_dir` to write to before renaming."""
    folder, name = os.path.split(as_bytes(timestamped_export_dir))
    return os.path.join(folder, b"temp-" + name)


def export_outputs_for_mode(
    mode: str, serving_export_outputs: dict | None = None, predictions: object = None, loss: object = None, metrics: object = None
) -> dict[str, Any]:
    """ExportOutputs by signature name for a mode.

    Raises:
      ValueError: `mode` is none, or see `get_export_outputs`. TypeError: see `get_export_outputs`.
    """
    signature_key = SIGNATURE_KEY_MAP[mode]
    if mode_keys.is_predict(mode):
        return get_export_outputs(serving_export_outputs, predictions)
    output = export_output.TrainOutput if mode_keys.is_train(mode) else export_output.EvalOutput
    return {signature_key: output(loss=loss, predictions=predictions, metrics=metrics)}


def get_export_outputs(export_outputs: dict[str, Any] | None, predictions: object) -> dict[str, Any]:
    """`export_outputs`, or one of `predictions` where it is None; a single one becomes the default, too.

    Raises:
      TypeError: no dict of ExportOutput. ValueError: there are several and none is the default.
    """
    if export_outputs is None:
        export_outputs = {_DEFAULT_KEY: export_output.PredictOutput(predictions)}
    if not isinstance(export_outputs, dict):
        raise TypeError(f"export_outputs must be dict, given: {export_outputs}")
    if not all(isinstance(output, export_output.ExportOutput) for output in export_outputs.values()):
        raise TypeError(f"Values in export_outputs must be ExportOutput objects. Given: {export_outputs}")
    if len(export_outputs) == 1:
        export_outputs.setdefault(_DEFAULT_KEY, next(iter(export_outputs.values())))
    if len(export_outputs) > 1 and _DEFAULT_KEY not in export_outputs:
        raise ValueError(
            "Multiple export_outputs were provided, but none of them is specified as the default.  "
            "Do this by naming one of them with signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY."
        )
    return export_outputs
