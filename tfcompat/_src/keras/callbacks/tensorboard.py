"""The callback that writes event files for TensorBoard."""

from __future__ import annotations

import os
from typing import Any

import jax
import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.backend.config import image_data_format
from tfcompat._src.keras.backend.session import get_graph, get_session, learning_phase
from tfcompat._src.keras.backend.values import int_shape
from tfcompat._src.keras.callbacks.base import Callback
from tfcompat._src.keras.engine.training_data import standardize_input_data
from tfcompat._src.keras.utils.io_utils import optional_module
from tfcompat._src.nodes.indexed_slices import IndexedSlices
from tfcompat._src.ops.array.constant import placeholder
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.array.reorder import transpose
from tfcompat._src.ops.array.shape import reshape, squeeze
from tfcompat._src.proto.messages import Summary
from tfcompat._src.summary import summary
from tfcompat._src.summary.writer import FileWriter
from tfcompat._src.train.saver import Saver
from tfcompat._src.variables.assign import assign
from tfcompat._src.variables.variable import Variable

NO_METRICS = ("batch", "size", "num_steps")


@export("keras.callbacks.TensorBoard")
class TensorBoard(Callback):
    """Writes the graph, metrics, histograms of weights and outputs, and embeddings to event files.

    Args:
      log_dir: the folder.
      histogram_freq: number of epochs between two histograms, which need validation data; 0 makes none.
      batch_size: of `embeddings_data`.
      write_graph: whether the graph is written.
      write_grads: whether histograms of gradients are made too.
      write_images: whether weights are drawn.
      embeddings_freq: number of epochs between two checkpoints of embeddings; 0 makes none.
      embeddings_layer_names: the layers whose outputs are saved; by default those of class Embedding.
      embeddings_metadata: the file of the labels, or a dict of them by layer.
      embeddings_data: arrays to embed.
      update_freq: "batch", "epoch", or the number of samples after which metrics are written.
      profile_batch: number of the batch that is profiled, into plugins/profile; 0: none.
    """

    def __init__(
        self, log_dir: str = "./logs", histogram_freq: int = 0, batch_size: int = 32, write_graph: bool = True,
        write_grads: bool = False, write_images: bool = False, embeddings_freq: int = 0,
        embeddings_layer_names: Any = None, embeddings_metadata: Any = None, embeddings_data: Any = None,
        update_freq: Any = "epoch", profile_batch: int = 2,
    ) -> None:  # fmt: skip
        super().__init__()
        self.log_dir, self.histogram_freq, self.batch_size = log_dir, histogram_freq, batch_size
        self.write_graph, self.write_grads, self.write_images = write_graph, write_grads, write_images
        self.embeddings_freq, self.embeddings_layer_names = embeddings_freq, embeddings_layer_names
        self.embeddings_metadata, self.embeddings_data = embeddings_metadata, embeddings_data
        self.update_freq = 1 if update_freq == "batch" else update_freq
        self.merged: Any = None
        self._total_batches_seen = self._total_val_batches_seen = 0
        self._samples_seen = self._samples_seen_at_last_write = 0
        self._profile_batch, self._is_profiling = profile_batch, False
        self._chief_worker_only = True

    def set_model(self, model: Any) -> None:
        super().set_model(model)
        self._init_writer(model)
        if self.histogram_freq and self.merged is None:
            for layer in model.layers:
                self._add_summaries(model, layer)
        self.merged = summary.merge_all()
        if self.embeddings_freq and self.embeddings_data is not None:
            self._make_embeddings(model)

    def _init_writer(self, model: Any) -> None:
        self.writer = FileWriter(self.log_dir, get_graph()) if self.write_graph else FileWriter(self.log_dir)

    # ---- histograms ----

    def _add_summaries(self, model: Any, layer: Any) -> None:
        for weight in layer.weights:
            name = weight.name.replace(":", "_")
            summary.histogram(name, weight)
            if self.write_images:
                _draw(name, weight)
        if self.write_grads:
            for weight in layer.trainable_weights:
                grads = model.optimizer.get_gradients(model.total_loss, weight)
                values = [g.values if isinstance(g, IndexedSlices) else g for g in grads]
                summary.histogram(f"{weight.name.replace(':', '_')}_grad", values)
        if hasattr(layer, "output"):
            several = isinstance(layer.output, list)
            for i, output in enumerate(layer.output if several else [layer.output]):
                summary.histogram(f"{layer.name}_out_{i}" if several else f"{layer.name}_out", output)

    def _fetch_callback(self, value: Any) -> None:
        self.writer.add_summary(value, self._total_val_batches_seen)
        self._total_val_batches_seen += 1

    def on_epoch_begin(self, epoch: int, logs: dict | None = None) -> None:
        if self.histogram_freq and epoch % self.histogram_freq == 0:
            self.model._make_test_function()
            test = self.model.test_function
            if not any(f is self.merged for f in test.fetches):
                test.fetches.append(self.merged)
                test.fetch_callbacks[self.merged] = self._fetch_callback

    def _remove_histograms(self) -> None:
        test = self.model.test_function
        test.fetches[:] = [f for f in test.fetches if f is not self.merged]
        test.fetch_callbacks.pop(self.merged, None)

    # ---- metrics ----

    def _write_custom_summaries(self, step: int, logs: dict[str, Any]) -> None:
        for name, value in logs.items():
            found = Summary()
            found.value.add(tag=name, simple_value=float(value))
            self.writer.add_summary(found, step)
        self.writer.flush()

    def on_train_begin(self, logs: dict | None = None) -> None:
        if self._profile_batch == 1:
            self._start_profile()

    def on_batch_end(self, batch: int, logs: dict | None = None) -> None:
        logs = logs or {}
        self._samples_seen += logs.get("size", 1)
        if self.update_freq != "epoch" and self._samples_seen - self._samples_seen_at_last_write >= self.update_freq:
            metrics = {f"batch_{name}": value for name, value in logs.items() if name not in NO_METRICS}
            self._write_custom_summaries(self._total_batches_seen, metrics)
            self._samples_seen_at_last_write = self._samples_seen
        self._total_batches_seen += 1
        if self._is_profiling:
            self._stop_profile()
        elif self._total_batches_seen == self._profile_batch - 1:
            self._start_profile()

    def on_epoch_end(self, epoch: int, logs: dict | None = None) -> None:
        metrics = {f"epoch_{name}": value for name, value in (logs or {}).items() if name not in NO_METRICS}
        self._write_custom_summaries(epoch if self.update_freq == "epoch" else self._samples_seen, metrics)
        if self.histogram_freq:
            self._remove_histograms()
        if not self.embeddings_freq:
            return
        if self.embeddings_data is None:
            raise ValueError("To visualize embeddings, embeddings_data must be provided.")
        if epoch % self.embeddings_freq == 0:
            self._save_embeddings(epoch)

    def on_train_end(self, logs: dict | None = None) -> None:
        if self._is_profiling:
            self._stop_profile()
        self.writer.close()

    def _start_profile(self) -> None:
        jax.profiler.start_trace(self.log_dir)
        self._is_profiling = True

    def _stop_profile(self) -> None:
        jax.profiler.stop_trace()
        self._is_profiling = False

    # ---- embeddings ----

    def _make_embeddings(self, model: Any) -> None:
        """Makes a variable for the outputs of each layer, filled batch by batch, and describes them for TensorBoard."""
        self.embeddings_data = standardize_input_data(self.embeddings_data, model.input_names)
        names = self.embeddings_layer_names or [x.name for x in model.layers if type(x).__name__ == "Embedding"]
        self.batch_id, self.step = placeholder(dtypes.int32), placeholder(dtypes.int32)
        self.assign_embeddings = []
        made: dict[str, Any] = {}
        for layer in model.layers:
            if layer.name in names:
                size = int(np.prod(layer.output.shape.as_list()[1:]))
                rows = reshape(layer.output, (self.step, size))
                kept = Variable(zeros((self.embeddings_data[0].shape[0], size)), name=f"{layer.name}_embedding")
                made[layer.name] = kept
                self.assign_embeddings.append(assign(kept[self.batch_id : self.batch_id + self.step], rows))
        self.saver = Saver(list(made.values()))
        metadata = self.embeddings_metadata
        files = dict.fromkeys(made, metadata) if isinstance(metadata, str) else metadata or {}
        projector = optional_module("tensorboard.plugins.projector", "TensorBoard with embeddings")
        config = projector.ProjectorConfig()
        for name, kept in made.items():
            config.embeddings.add(tensor_name=kept.name, metadata_path=files.get(name, ""))
        projector.visualize_embeddings(self.log_dir, config)

    def _save_embeddings(self, epoch: int) -> None:
        session = get_session()
        inputs = self.model.input if isinstance(self.model.input, list) else [self.model.input]
        for start in range(0, len(self.embeddings_data[0]), self.batch_size):
            batch = slice(start, start + self.batch_size)
            feed = {x: data[batch] for x, data in zip(inputs, self.embeddings_data)}
            feed.update({self.batch_id: start, self.step: len(self.embeddings_data[0][batch])})
            if isinstance(learning_phase(), Tensor):
                feed[learning_phase()] = False
            session.run(self.assign_embeddings, feed_dict=feed)
        self.saver.save(session, os.path.join(self.log_dir, "keras_embedding.ckpt"), epoch)


def _draw(name: str, weight: Any) -> None:
    """Adds a summary of a weight as an image; weights of more than three dimensions have none."""
    images = as_images(weight)
    if images is not None:
        summary.image(name, images)


def as_images(weight: Any) -> Tensor | None:
    """A weight as images [n, height, width, 1]; None where it has more than three dimensions."""
    image = squeeze(weight)
    sizes = int_shape(image)
    if len(sizes) == 1:
        return reshape(image, [1, sizes[0], 1, 1])
    if len(sizes) == 2:
        if sizes[0] > sizes[1]:
            image = transpose(image)
        return reshape(image, [1, min(sizes), max(sizes), 1])
    if len(sizes) == 3:
        if image_data_format() == "channels_last":
            image = transpose(image, perm=[2, 0, 1])
        return reshape(image, [*int_shape(image), 1])
    return None
