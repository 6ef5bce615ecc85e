"""Signatures with sparse tensors: TensorFlow Serving asks a TensorInfo for its name only, which is empty in that of a sparse tensor.

The text is what a DirectSession of TensorFlow 1.15.5 says to a feed or a fetch of that name.
"""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.base import errors
from tfcompat._src.serving import inference
from tfcompat._src.serving.prepare import prepare
from tfcompat._src.serving.servable import Servable

ONE = np.ones(1, np.float32)
TEXT = "Tensor :0, specified in either feed_devices or fetch_devices was not found in the Graph"


@pytest.fixture(scope="module")
def servable(tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("sparse") / "1")
    info = tf.saved_model.build_tensor_info
    with tf.Graph().as_default(), tf.Session() as sess:
        sparse, dense = tf.sparse_placeholder(tf.float32, [None, 4]), tf.placeholder(tf.float32, [None])
        total = tf.sparse.reduce_sum(sparse, 1)
        column = tf.sparse.from_dense(tf.expand_dims(dense, 1))
        tensors = {
            "serving_default": ({"s": info(sparse)}, {"y": info(total)}), "column": ({"x": info(dense)}, {"s": info(column)}),
            "dense": ({"x": info(dense)}, {"y": info(dense + 1.0)}),
        }  # fmt: skip
        signatures = {
            key: tf.saved_model.build_signature_def(inputs, outputs, tf.saved_model.PREDICT_METHOD_NAME)
            for key, (inputs, outputs) in tensors.items()
        }
        builder = tf.saved_model.Builder(folder)
        builder.add_meta_graph_and_variables(sess, ["serve"], signatures)
        builder.save()
    servable = Servable("sparse", 1, folder, ["serve"])
    prepare(servable, (1, 4))
    yield servable
    servable.close()


@pytest.mark.parametrize("signature, key", [("serving_default", "s"), ("column", "x")])
def test_a_signature_with_a_sparse_tensor_answers_as_tensorflow_serving_does(servable, signature, key):
    with pytest.raises(errors.InvalidArgumentError) as e:
        inference.predict(servable, signature, {key: ONE})
    assert e.value.message == TEXT


def test_other_signatures_of_the_model_are_served(servable):
    assert inference.predict(servable, "dense", {"x": ONE})["y"] == [2.0]
