"""tf.contrib.tensorboard.plugins.projector: what TensorBoard's view of embeddings is told."""

from __future__ import annotations

import os
from typing import Any

from google.protobuf import text_format

from tfcompat._src.base.export import export
from tfcompat._src.platform import file_io
from tfcompat._src.proto import pool

projector_config_pb2 = export("contrib.tensorboard.plugins.projector.projector_config_pb2")(
    pool.module("tensorflow/contrib/tensorboard/plugins/projector/projector_config.proto")
)

@export("contrib.tensorboard.plugins.projector.visualize_embeddings")
def visualize_embeddings(summary_writer: Any, config: Any) -> None:
    """Writes a ProjectorConfig message as `projector_config.pbtxt` into the folder of a FileWriter.

    Raises:
      ValueError: the writer has no folder.
    """
    logdir = summary_writer.get_logdir()
    if logdir is None:
        raise ValueError("Summary writer must have a logdir")
    file_io.write_string_to_file(os.path.join(logdir, "projector_config.pbtxt"), text_format.MessageToString(config))
