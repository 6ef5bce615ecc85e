"""TFLite_Detection_PostProcess, an op that TensorFlow does not have: converted and run. detection.json is what 1.15.5's Interpreter gave."""

import json
import pathlib

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.lite import reader
from tfcompat._src.lite.custom_options import read_map
from tfcompat._src.lite.errors import ConverterError

pytest.importorskip("flatbuffers")
BOXES, CLASSES = 30, 4
OPTIONS = {
    "max_detections": 10, "max_classes_per_detection": 1, "num_classes": CLASSES, "detections_per_class": 5, "nms_score_threshold": 0.4,
    "nms_iou_threshold": 0.5, "y_scale": 10.0, "x_scale": 10.0, "h_scale": 5.0, "w_scale": 5.0,
}  # fmt: skip
MODELS = {"fast": (False, 1), "regular": (True, 1), "nobg": (True, 0)}
RECORDED = json.loads((pathlib.Path(__file__).parent / "detection.json").read_text())


def converter(folder, is_regular, background, **changed):
    """Of a detector's last node, in a frozen graph whose boxes and scores are fed."""
    random = np.random.RandomState(0)
    anchors = np.concatenate([random.rand(BOXES, 2), 0.2 + 0.3 * random.rand(BOXES, 2)], 1).astype(np.float32)
    shape = [1, BOXES, CLASSES + background]
    with tf.Graph().as_default() as graph:
        tf.placeholder(tf.float32, [1, BOXES, 4], name="boxes")
        tf.sigmoid(tf.placeholder(tf.float32, shape, name="scores"), name="probabilities")
        tf.constant(anchors, name="anchors")
    definition = graph.as_graph_def()
    node = definition.node.add(name="post", op="TFLite_Detection_PostProcess", input=["boxes", "probabilities", "anchors"])
    for name, value in {**OPTIONS, **changed}.items():
        setattr(node.attr[name], "i" if isinstance(value, int) else "f", value)
    node.attr["use_regular_nms"].b = is_regular
    node.attr["_output_types"].list.type.extend([tf.float32.as_datatype_enum] * 4)
    (folder / "frozen.pb").write_bytes(definition.SerializeToString())
    outputs = ["post", "post:1", "post:2", "post:3"]
    return tf.lite.TFLiteConverter.from_frozen_graph(str(folder / "frozen.pb"), ["boxes", "scores"], outputs, {"boxes": [1, BOXES, 4], "scores": shape})


def run(content, background):
    interpreter = tf.lite.Interpreter(model_content=content)
    interpreter.allocate_tensors()
    random = np.random.RandomState(1)
    fed = {"boxes": random.randn(1, BOXES, 4), "scores": random.randn(1, BOXES, CLASSES + background)}
    for detail in interpreter.get_input_details():
        interpreter.set_tensor(detail["index"], fed[detail["name"]].astype(np.float32))
    interpreter.invoke()
    return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]


@pytest.mark.parametrize("name", list(MODELS))
def test_detections(tmp_path, name):
    """A suppression for all classes, one for each, and one for each without a background class."""
    is_regular, background = MODELS[name]
    made = converter(tmp_path, is_regular, background)
    made.allow_custom_ops = True
    content = made.convert()
    [operator] = [o for o in reader.read(content).operators() if o.builtin == "CUSTOM"]
    assert operator.custom_code == "TFLite_Detection_PostProcess"
    assert read_map(operator.custom_options) == {**OPTIONS, "nms_score_threshold": pytest.approx(0.4), "use_regular_nms": is_regular}
    for found, wanted in zip(run(content, background), RECORDED[name], strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=3e-7)


def test_several_classes_of_each_box(tmp_path):
    """Of each box its best classes stand in rows that follow each other."""
    made = converter(tmp_path, False, 1, max_classes_per_detection=2, max_detections=5)
    made.allow_custom_ops = True
    boxes, classes, scores, count = run(made.convert(), 1)
    assert boxes.shape == (1, 10, 4) and classes.shape == scores.shape == (1, 10) and count == 10
    np.testing.assert_array_equal(boxes[:, ::2], boxes[:, 1::2])
    assert (scores[:, ::2] >= scores[:, 1::2]).all() and (classes[:, ::2] != classes[:, 1::2]).all()
    np.testing.assert_allclose(scores[0, ::2], np.asarray(RECORDED["fast"][2])[0, :5], rtol=1e-6)


def test_custom_operators_must_be_allowed(tmp_path):
    with pytest.raises(ConverterError, match="need custom implementations: TFLite_Detection_PostProcess"):
        converter(tmp_path, False, 1).convert()


def test_a_threshold_out_of_range_is_said(tmp_path):
    made = converter(tmp_path, False, 1, nms_iou_threshold=1.5)
    made.allow_custom_ops = True
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"nms_iou_threshold must be in \(0, 1\], but is 1.5"):
        run(made.convert(), 1)
