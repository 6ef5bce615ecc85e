"""The callback of TensorFlow 2's Keras that writes event files for TensorBoard, at once."""

from __future__ import annotations

import collections
import contextlib
import os
from collections.abc import Iterator
from typing import Any

import jax

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.eager.mode import eager_mode
from tfcompat._src.graph.scopes import executing_eagerly, init_scope
from tfcompat._src.keras.backend.session import get_graph
from tfcompat._src.keras.backend.values import get_value
from tfcompat._src.keras.callbacks.base import Callback
from tfcompat._src.keras.callbacks.tensorboard import NO_METRICS, as_images
from tfcompat._src.keras.utils.io_utils import optional_module
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.platform import logging
from tfcompat._src.summary import summary_ops_v2
from tfcompat._src.summary.recording import STATE, always_record_summaries
from tfcompat._src.summary.summary_writers import create_file_writer_v2
from tfcompat._src.variables.variable import Variable

_TRAIN, _VALIDATION = "train", "validation"
_OF_V1 = {
    "write_grads": "no gradients are written", "batch_size": "the batches of the fit are used",
    "embeddings_layer_names": "all Embedding layers are shown", "embeddings_data": "all variables of Embedding layers are shown",
}  # fmt: skip


@export("compat.v2.keras.callbacks.TensorBoard")
class TensorBoard(Callback):
    """Writes the graph, metrics, weights and embeddings to event files, those of training and of validation into folders of their own.

    Args:
      log_dir: the folder.
      histogram_freq: number of epochs between two histograms of weights; 0 makes none.
      write_graph: whether the graph and the model's configuration are written.
      write_images: whether weights are drawn with the histograms.
      update_freq: "batch", "epoch", or the number of batches after which metrics, and summaries of layers, are written.
      profile_batch: number of the batch that is profiled where operations run at once, into plugins/profile; 0: none.
      embeddings_freq: number of epochs between two checkpoints of embeddings; 0 makes none.
      embeddings_metadata: the file of the labels, or a dict of them by layer.
      **kwargs: arguments of the callback of `tf.keras` that this one passes over, with a warning.

    Raises:
      ValueError: an unknown argument.
    """

    def __init__(
        self, log_dir: str = "logs", histogram_freq: int = 0, write_graph: bool = True, write_images: bool = False,
        update_freq: Any = "epoch", profile_batch: int = 2, embeddings_freq: int = 0, embeddings_metadata: Any = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        if unknown := set(kwargs) - set(_OF_V1):
            raise ValueError(f"Unrecognized arguments in `TensorBoard` Callback: {unknown}")
        for name in filter(kwargs.get, _OF_V1):
            logging.warning(f"`{name}` is not used by the TensorBoard callback of TensorFlow 2: {_OF_V1[name]}.")
        self.log_dir, self.histogram_freq = log_dir, histogram_freq
        self.write_graph, self.write_images = write_graph, write_images
        self.update_freq = 1 if update_freq == "batch" else update_freq
        self.embeddings_freq, self.embeddings_metadata = embeddings_freq, embeddings_metadata
        self._profile_batch, self._is_profiling = profile_batch, False
        self._writers: dict[str, Any] = {}
        self._batches_seen: dict[str, Any] = {}
        self._chief_worker_only = True

    def set_model(self, model: Any) -> None:
        super().set_model(model)
        self._close_writers()
        if self.write_graph:
            with self._writing(_TRAIN):
                if not model.run_eagerly:
                    serialized = get_graph().as_graph_def(add_shapes=True).SerializeToString()
                    summary_ops_v2.graph_summary(convert_to_tensor(serialized, dtypes.string), step=0)
                if model._is_graph_network or type(model).__name__ == "Sequential":
                    summary_ops_v2.keras_model("keras", model, step=0)
        if self.embeddings_freq:
            self._describe_embeddings()
        self._before = STATE.writer, STATE.recording, STATE.step

    # ---- writers ----

    def _writer(self, run: str) -> Any:
        """The writer of a folder below `log_dir`, which is made where there is none yet."""
        if run not in self._writers:
            self._writers[run] = create_file_writer_v2(os.path.join(self.log_dir, run))
        return self._writers[run]

    @contextlib.contextmanager
    def _writing(self, run: str) -> Iterator[None]:
        """A block in which all summaries are written at once to the folder of a run."""
        with eager_mode(), self._writer(run).as_default(), always_record_summaries():
            yield

    def _close_writers(self) -> None:
        with eager_mode():
            for writer in self._writers.values():
                writer.close()
        self._writers.clear()

    def _lend_writer(self, run: str) -> None:
        """Has the summaries that layers make written at each `update_freq`-th batch."""
        if self.update_freq == "epoch":
            return
        step = self._batches_seen[run]
        STATE.writer, STATE.step = self._writer(run), step
        STATE.recording = lambda: raw.Equal(convert_to_tensor(step, dtypes.int64) % self.update_freq, convert_to_tensor(0, dtypes.int64))

    def _count_batch(self, run: str) -> None:
        seen = self._batches_seen[run]
        if isinstance(seen, Variable):
            seen.assign_add(1)
        else:
            self._batches_seen[run] += 1

    # ---- what Keras calls ----

    def on_train_begin(self, logs: dict | None = None) -> None:
        with init_scope():
            at_once = executing_eagerly()
        # Summaries in functions need a step that changes; where steps run in a session there are none.
        self._batches_seen = {run: Variable(0, dtype=dtypes.int64) if at_once else 0 for run in (_TRAIN, _VALIDATION)}
        if self._profile_batch == 1:
            self._start_profile()

    def on_test_begin(self, logs: dict | None = None) -> None:
        if self._batches_seen:
            self._lend_writer(_VALIDATION)

    def on_epoch_begin(self, epoch: int, logs: dict | None = None) -> None:
        self._lend_writer(_TRAIN)

    def on_train_batch_end(self, batch: int, logs: dict | None = None) -> None:
        seen = self._batches_seen[_TRAIN]
        if self.update_freq != "epoch" and batch % self.update_freq == 0:
            self._write_metrics(logs, "batch_", seen)
        is_next = executing_eagerly() and int(get_value(seen) if isinstance(seen, Variable) else seen) == self._profile_batch - 2
        self._count_batch(_TRAIN)
        if self._is_profiling:
            self._stop_profile()
        elif is_next:
            self._start_profile()

    def on_test_batch_end(self, batch: int, logs: dict | None = None) -> None:
        if self.update_freq != "epoch" and self._batches_seen:
            self._count_batch(_VALIDATION)

    def on_epoch_end(self, epoch: int, logs: dict | None = None) -> None:
        self._write_metrics(logs, "epoch_", epoch)
        if self.histogram_freq and epoch % self.histogram_freq == 0:
            self._write_weights(epoch)
        if self.embeddings_freq and epoch % self.embeddings_freq == 0:
            self.model.save_weights(os.path.join(self.log_dir, _TRAIN, f"keras_embedding.ckpt-{epoch}"))

    def on_train_end(self, logs: dict | None = None) -> None:
        if self._is_profiling:
            self._stop_profile()
        self._close_writers()
        STATE.writer, STATE.recording, STATE.step = self._before

    # ---- what is written ----

    def _write_metrics(self, logs: dict | None, prefix: str, step: Any) -> None:
        """Writes metrics by name, those of validation to a folder of their own."""
        of_runs: dict[str, dict[str, Any]] = collections.defaultdict(dict)
        for name, value in (logs or {}).items():
            if name not in NO_METRICS:
                run = _VALIDATION if name.startswith("val_") else _TRAIN
                of_runs[run][prefix + name.removeprefix("val_")] = value
        for run, values in of_runs.items():
            with self._writing(run):
                for name, value in values.items():
                    summary_ops_v2.scalar(name, value, step=step)

    def _write_weights(self, epoch: int) -> None:
        named = [(w.name.replace(":", "_"), get_value(w)) for layer in self.model.layers for w in layer.weights]
        with self._writing(_TRAIN):
            for name, value in named:
                summary_ops_v2.histogram(name, value, step=epoch)
                images = as_images(convert_to_tensor(value)) if self.write_images else None
                if images is not None:
                    summary_ops_v2.image(name, images, step=epoch)

    def _describe_embeddings(self) -> None:
        """Tells TensorBoard's projector of the variables of Embedding layers."""
        projector = optional_module("tensorboard.plugins.projector", "TensorBoard with embeddings")
        config, metadata = projector.ProjectorConfig(), self.embeddings_metadata
        layers = [layer for layer in self.model.layers if type(layer).__name__ == "Embedding"]
        files = dict.fromkeys((layer.name for layer in layers), metadata) if isinstance(metadata, str) else metadata or {}
        if unknown := set(files) - {layer.name for layer in layers}:
            raise ValueError(f"Unrecognized `Embedding` layer names passed to `embeddings_metadata`: {sorted(unknown)}")
        for layer in layers:
            config.embeddings.add(tensor_name=layer.embeddings.name, metadata_path=files.get(layer.name, ""))
        projector.visualize_embeddings(self.log_dir, config)

    def _start_profile(self) -> None:
        jax.profiler.start_trace(os.path.join(self.log_dir, _TRAIN))
        self._is_profiling = True

    def _stop_profile(self) -> None:
        jax.profiler.stop_trace()
        self._is_profiling = False
