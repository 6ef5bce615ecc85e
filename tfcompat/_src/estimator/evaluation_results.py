"""Results of evaluations: as lines of the log and as summaries."""

from __future__ import annotations

from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from tfcompat._src.base import dtypes
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.graph.tensor_proto import make_tensor_proto
from tfcompat._src.platform import logging
from tfcompat._src.proto.messages import Summary
from tfcompat._src.summary.writer import FileWriterCache


def _dict_to_str(dictionary: dict[str, Any]) -> str:
    return ", ".join(f"{key} = {value!s}" for key, value in sorted(dictionary.items()) if not isinstance(value, bytes))


def _write_dict_to_summary(output_dir: str, dictionary: dict[str, Any], current_global_step: int) -> None:
    """Logs the results of an evaluation and writes them as summaries; those with a type that has none are left out."""
    logging.info("Saving dict for global step %d: %s", current_global_step, _dict_to_str(dictionary))
    summary = Summary()
    for key, value in dictionary.items():
        if value is not None and key != GraphKeys.GLOBAL_STEP:
            _add_value(summary, key, value)
    _write(output_dir, summary, current_global_step)


def _add_value(summary: Any, key: str, value: Any) -> None:
    if isinstance(value, (np.float32, float)):
        summary.value.add(tag=key, simple_value=float(value))
    elif isinstance(value, (np.int64, np.int32, int)):
        summary.value.add(tag=key, simple_value=int(value))
    elif isinstance(value, bytes):
        try:
            parts = Summary.FromString(value).value
        except DecodeError:
            logging.warning("Skipping summary for %s, cannot parse string to Summary.", key)
            return
        for number, part in enumerate(parts):
            part.tag = f"{key}/{number}"
        summary.value.extend(parts)
    elif isinstance(value, np.ndarray):
        summary.value.add(tag=key, node_name=key, tensor=make_tensor_proto(value))
        logging.info(
            "Summary for np.ndarray is not visible in Tensorboard by default. Consider using a Tensorboard plugin for "
            "visualization (see https://github.com/tensorflow/tensorboard-plugin-example/blob/master/README.md for "
            "more information)."
        )
    else:
        logging.warning(
            "Skipping summary for %s, must be a float, np.float32, np.int64, np.int32 or int or np.ndarray or a "
            "serialized string "
            "of Summary.", key,
        )  # fmt: skip


def _write_checkpoint_path_to_summary(output_dir: str, checkpoint_path: str, current_global_step: int) -> None:
    """Logs which checkpoint was evaluated, and writes it as the summary "checkpoint_path"."""
    tag = "checkpoint_path"
    logging.info("Saving '%s' summary for global step %d: %s", tag, current_global_step, checkpoint_path)
    tensor = make_tensor_proto(checkpoint_path, dtype=dtypes.string)
    _write(output_dir, Summary(value=[Summary.Value(tag=tag, tensor=tensor)]), current_global_step)


def _write(output_dir: str, summary: object, step: int) -> None:
    writer = FileWriterCache.get(output_dir)
    writer.add_summary(summary, step)
    writer.flush()
