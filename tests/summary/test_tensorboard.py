"""TensorBoard's own event loader reads what tfcompat writes."""

import numpy as np
import pytest
from google.protobuf import text_format

import tfcompat as tf
from tfcompat.contrib.tensorboard.plugins import projector

accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
tensor_util = pytest.importorskip("tensorboard.util.tensor_util")


@pytest.fixture
def loaded(tmp_path):
    """The events of a small run, in TensorBoard."""
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.placeholder(tf.float32, [6], name="x")
        with tf.name_scope("layer"), tf.device("/device:CPU:0"):
            tf.summary.scalar("loss", tf.reduce_sum(x))
            tf.summary.histogram("values", x)
        tf.summary.image("picture", tf.reshape(x, [1, 2, 3, 1]))
        tf.summary.audio("sound", tf.reshape(x, [1, 6]), 8000)
        tf.summary.text("words", tf.constant("some *words*"))
        merged = tf.summary.merge_all()
        writer = tf.summary.FileWriter(str(tmp_path), graph)
        for step in range(3):
            metadata = tf.RunMetadata()
            options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
            value = np.arange(6, dtype=np.float32) * step
            writer.add_summary(session.run(merged, {x: value}, options, metadata), step)
            writer.add_run_metadata(metadata, f"step {step}", step)
        writer.close()
    found = accumulator.EventAccumulator(str(tmp_path), size_guidance={accumulator.TENSORS: 0})
    return found.Reload()


def test_kinds_of_events(loaded):
    tags = loaded.Tags()
    assert tags["graph"] and tags["meta_graph"]
    assert tags["run_metadata"] == ["step 0", "step 1", "step 2"]


def test_scalars(loaded):
    if "layer/loss" in loaded.Tags()["scalars"]:
        found = [e.value for e in loaded.Scalars("layer/loss")]
    else:
        found = [float(tensor_util.make_ndarray(e.tensor_proto)) for e in loaded.Tensors("layer/loss")]
    assert found == [0.0, 15.0, 30.0]


def test_text_and_graph(loaded):
    assert tensor_util.make_ndarray(loaded.Tensors("words")[0].tensor_proto).item() == b"some *words*"
    graph = loaded.Graph()
    assert {"x", "layer/loss", "layer/values", "picture"} <= {n.name for n in graph.node}
    shapes = {n.name: n.attr["_output_shapes"].list.shape for n in graph.node}
    assert [d.size for d in shapes["x"][0].dim] == [6]
    assert {n.name: n.device for n in graph.node}["layer/loss"] == "/device:CPU:0"


def test_histograms_images_and_sounds_are_there(loaded):
    known = {tag for kind in ("histograms", "images", "audio", "tensors") for tag in loaded.Tags()[kind]}
    assert {"layer/values", "picture/image/0", "sound/audio/0"} <= known


def test_run_metadata(loaded):
    stats = loaded.RunMetadata("step 1").step_stats
    names = {n.node_name for d in stats.dev_stats for n in d.node_stats}
    assert {"layer/loss", "picture"} <= names


def test_projector(tmp_path):
    config_pb2 = pytest.importorskip("tensorboard.plugins.projector.projector_config_pb2")
    config = projector.ProjectorConfig(model_checkpoint_path="model.ckpt")
    embedding = config.embeddings.add(tensor_name="words:0", metadata_path="words.tsv")
    embedding.sprite.image_path = "sprite.png"
    embedding.sprite.single_image_dim.extend([8, 8])
    writer = tf.summary.FileWriter(str(tmp_path))
    projector.visualize_embeddings(writer, config)
    writer.close()
    read = text_format.Parse((tmp_path / "projector_config.pbtxt").read_text(), config_pb2.ProjectorConfig())
    (found,) = read.embeddings
    assert (read.model_checkpoint_path, found.tensor_name, found.metadata_path) == ("model.ckpt", "words:0", "words.tsv")
    assert (found.sprite.image_path, list(found.sprite.single_image_dim)) == ("sprite.png", [8, 8])
