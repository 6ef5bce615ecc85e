"""tf.estimator.WarmStartSettings: where the variables of an Estimator take their first values from."""

from __future__ import annotations

from typing import Any, NamedTuple

from tfcompat._src.base.export import export
from tfcompat._src.platform import file_io, logging
from tfcompat._src.saved_model import files


class _Settings(NamedTuple):
    ckpt_to_initialize_from: Any
    vars_to_warm_start: Any = ".*"
    var_name_to_vocab_info: Any = None
    var_name_to_prev_var_name: Any = None


@export("estimator.WarmStartSettings", "compat.v2.estimator.WarmStartSettings")
class WarmStartSettings(_Settings):
    """Where variables take their first values from; the arguments are those of tf.train.warm_start.

    Args:
      ckpt_to_initialize_from: a checkpoint, or a folder of checkpoints.
      vars_to_warm_start: regular expression, or list of names or variables; None for vocabularies only.
      var_name_to_vocab_info: dict of VocabInfo by name of variable.
      var_name_to_prev_var_name: dict of names in the checkpoint by name of variable.

    Raises:
      ValueError: no checkpoint.
    """

    def __new__(
        cls, ckpt_to_initialize_from: object, vars_to_warm_start: object = ".*", var_name_to_vocab_info: object = None,
        var_name_to_prev_var_name: object = None,
    ) -> WarmStartSettings:  # fmt: skip
        if not ckpt_to_initialize_from:
            raise ValueError("`ckpt_to_initialize_from` MUST be set in WarmStartSettings")
        return super().__new__(
            cls,
            ckpt_to_initialize_from,
            vars_to_warm_start,
            var_name_to_vocab_info or {},
            var_name_to_prev_var_name or {},
        )


def _variables_index(saved_model_dir: object) -> str:
    return files.get_variables_path(saved_model_dir) + ".index"


def _get_saved_model_ckpt(saved_model_dir: object) -> str:
    """The checkpoint of a SavedModel; ValueError where there is none."""
    if not file_io.exists(_variables_index(saved_model_dir)):
        raise ValueError(f"Directory provided has an invalid SavedModel format: {saved_model_dir}")
    return files.get_variables_path(saved_model_dir)


def _get_default_warm_start_settings(warm_start_from: object) -> WarmStartSettings | None:
    """The settings of a path or of settings; ValueError for anything else but None."""
    if warm_start_from is None or isinstance(warm_start_from, WarmStartSettings):
        return warm_start_from
    if not isinstance(warm_start_from, (str, bytes)):
        raise ValueError(
            f"warm_start_from must be a string or a WarmStartSettings, instead got {type(warm_start_from)}"
        )
    if file_io.exists(_variables_index(warm_start_from)):
        logging.info("Warm-starting from a SavedModel")
        return WarmStartSettings(files.get_variables_path(warm_start_from))
    return WarmStartSettings(warm_start_from)
