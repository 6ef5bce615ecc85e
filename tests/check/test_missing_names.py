"""What is said of a name that tfcompat lacks: TensorFlow 1.15 has it or has not, never both, and no nonsense is proposed."""

import traceback

import pytest

import tfcompat as tf
from tfcompat._src.base import missing, tf1_names

LACKING = {
    "contrib.tpu.keras_to_tpu_model": "tfcompat has no tf.contrib.tpu.keras_to_tpu_model: it is not built yet.",
    "no_such_name": "tfcompat has no tf.no_such_name: TensorFlow 1.15 does not have it.",
    "mul": "tfcompat has no tf.mul: TensorFlow 1.0 renamed it; use tf.multiply.",
    "nn.sofmax": "tfcompat has no tf.nn.sofmax: TensorFlow 1.15 does not have it; did you mean tf.nn.softmax?",
    "raw_ops.NoSuchOp": "tfcompat has no tf.raw_ops.NoSuchOp: TensorFlow 1.15 does not have it.",
    "keras.layers.RandomFlip": "tfcompat has no tf.keras.layers.RandomFlip: TensorFlow 1.15 does not have it.",
}


def get(path):
    found = tf
    for name in path.split("."):
        found = getattr(found, name)
    return found


@pytest.mark.parametrize("path", LACKING)
def test_a_lacking_name_says_why(path):
    with pytest.raises(AttributeError) as raised:
        get(path)
    assert str(raised.value) == LACKING[path]
    assert "".join(traceback.format_exception(raised.value)).rstrip().endswith(LACKING[path])


def test_names_of_1_15_are_those_of_the_real_program():
    for path in ("nn.relu", "compat.v1.nn.relu", "contrib.slim.conv2d", "keras.layers.Dense", "compat.v2.nn.relu", "lite.TFLiteConverter"):
        assert tf1_names.has(path) is True
    for path in ("foo", "nn.foo", "no_space.deep.foo", "keras.layers.RandomFlip"):
        assert tf1_names.has(path) is False
    assert tf1_names.has("python.ops.foo") is None


def test_names_elsewhere_are_proposed():
    assert tf1_names.nearest("nn.placeholder") == "placeholder"
    assert tf1_names.nearest("xyzzy") is None
    assert "did you mean" not in missing.reason("estimator.experimental.LinearSDCA")
