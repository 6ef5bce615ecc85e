"""The TensorBoard callback of TensorFlow 2's Keras: what it writes, as TensorFlow 1.15.5 wrote it."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.eager.mode import eager_mode

TensorBoard = tf.compat.v2.keras.callbacks.TensorBoard
OF_WEIGHTS = [
    ("c/kernel_0", "histo", 0), ("c/kernel_0/image/0", "image", 0), ("c/kernel_0/image/1", "image", 0),
    ("c/bias_0", "histo", 0), ("c/bias_0/image/0", "image", 0),
    ("d/kernel_0", "histo", 0), ("d/kernel_0/image/0", "image", 0), ("d/bias_0", "histo", 0),
]  # fmt: skip


def batches(*steps):
    return [("batch_loss", "simple_value", step) for step in steps]


def fit(callback):
    layers = tf.keras.layers
    model = tf.keras.models.Sequential(
        [layers.Conv2D(2, (3, 3), input_shape=(4, 4, 1), name="c"), layers.Flatten(), layers.Dense(1, name="d")]
    )
    model.compile("sgd", "mse")
    x, y = np.ones((10, 4, 4, 1), np.float32), np.ones((10, 1), np.float32)
    model.fit(x, y, batch_size=2, epochs=2, validation_data=(x, y), callbacks=[callback], verbose=0)


def written(folder):
    """(tag, kind, step) of the summaries in a folder, and what else is in its events."""
    events = [e for file in sorted(folder.glob("events*")) for e in tf.train.summary_iterator(str(file))]
    values = [(v.tag, v.WhichOneof("value"), e.step) for e in events for v in e.summary.value]
    return values, [e.WhichOneof("what") for e in events if e.WhichOneof("what") != "summary"]


def test_metrics_weights_and_images_of_operations_that_run_at_once(tmp_path):
    with eager_mode():
        fit(TensorBoard(str(tmp_path), histogram_freq=2, write_images=True, update_freq=2, profile_batch=0))
    values, others = written(tmp_path / "train")
    assert others == ["file_version", "graph_def"]
    epochs = [("epoch_loss", "simple_value", 0), ("epoch_loss", "simple_value", 1)]
    assert values == [("keras", "tensor", 0), *batches(0, 2, 4), epochs[0], *OF_WEIGHTS, *batches(5, 7, 9), epochs[1]]
    assert written(tmp_path / "validation") == (epochs, ["file_version"])


def test_metrics_of_epochs_in_a_session(tmp_path):
    with tf.Graph().as_default():
        fit(TensorBoard(str(tmp_path)))
    assert [v[0] for v in written(tmp_path / "train")[0]] == ["keras", "epoch_loss", "epoch_loss"]
    assert [v[0] for v in written(tmp_path / "validation")[0]] == ["epoch_loss", "epoch_loss"]


def test_arguments_of_the_other_callback_are_passed_over_unknown_ones_are_not():
    TensorBoard("logs", batch_size=8)
    with pytest.raises(ValueError, match="wrong"):
        TensorBoard("logs", wrong=1)
