"""Programs of the documents that write for TensorBoard, run as a user runs them."""

from pathlib import Path

import children
import numpy as np
from google.protobuf import text_format
from programs import run_folder

import tfcompat as tf

PROGRAMS = Path(run_folder.__file__).parent / "summaries"


def run(name, folder):
    done = children.warm(*children.RUN, PROGRAMS / name, cwd=folder, PYTHONPATH=run_folder.program_path())
    assert done.returncode == 0, done.stderr


def test_two_writers(tmp_path):
    """Two curves of one summary, by two FileWriters."""
    run("two_writers.py", tmp_path)
    for name in ("plot_val", "plot_train"):
        (path,) = (tmp_path / "logs" / name).iterdir()
        events = list(tf.train.summary_iterator(str(path)))
        assert events[0].file_version == "brain.Event:2"
        assert [e.step for e in events[1:]] == list(range(100))
        assert {e.summary.value[0].tag for e in events[1:]} == {"loss"}
        assert np.unique([e.summary.value[0].simple_value for e in events[1:]]).size > 90


def test_projected_digits(tmp_path):
    """Embeddings, their labels and the configuration of TensorBoard's projector."""
    run_folder.make_mnist(tmp_path)
    run("projected_digits.py", tmp_path)
    projector = tf.contrib.tensorboard.plugins.projector
    text = (tmp_path / "logs" / "projector_config.pbtxt").read_text()
    (embedding,) = text_format.Parse(text, projector.ProjectorConfig()).embeddings
    assert embedding.tensor_name == "images:0"
    assert embedding.metadata_path == "logs/metadata.tsv"
    labels = (tmp_path / "logs" / "metadata.tsv").read_text().split()
    values = tf.train.load_variable(str(tmp_path / "logs" / "images.ckpt"), "images")
    assert values.shape == (len(labels), 784)
