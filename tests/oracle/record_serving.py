"""Records SavedModels of TensorFlow 1.15 for tests of serving, and what Session.run gives for them: golden/serving/.

    python tests/oracle/record_serving.py        # TensorFlow 1.15
"""

import json
import os
import shutil

import numpy as np
import tensorflow as tf

HERE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "golden", "serving")
info = tf.saved_model.build_tensor_info
signature = tf.saved_model.build_signature_def
X = [80.0, 20.0, 0.1]


def write(folder, sess, signatures):
    builder = tf.saved_model.builder.SavedModelBuilder(os.path.join(HERE, folder))
    builder.add_meta_graph_and_variables(sess, ["serve"], signature_def_map=signatures, strip_default_attrs=True)
    builder.save()


def half_plus(add):
    """Version `add` of a model that gives x / 2 + add, of numbers and of Examples."""
    with tf.Graph().as_default(), tf.Session() as sess:
        examples = tf.placeholder(tf.string, [None], name="examples")
        parsed = tf.parse_example(examples, {"x": tf.FixedLenFeature([1], tf.float32)})
        a, b = tf.Variable(0.5, name="a"), tf.Variable(float(add), name="b")
        x = tf.placeholder(tf.float32, [None], name="x")
        y = tf.add(a * x, b, name="y")
        of_examples = tf.add(a * parsed["x"], b, name="of_examples")
        classes = tf.as_string(tf.concat([tf.round(of_examples), tf.zeros_like(of_examples)], 1), precision=0)
        scores = tf.concat([of_examples, -of_examples], 1)
        sess.run(tf.global_variables_initializer())
        inputs = {"inputs": info(examples)}
        write("half_plus/%08d" % add, sess, {
            "serving_default": signature({"x": info(x)}, {"y": info(y)}, "tensorflow/serving/predict"),
            "regress": signature(inputs, {"outputs": info(of_examples)}, "tensorflow/serving/regress"),
            "scores": signature(inputs, {"scores": info(scores)}, "tensorflow/serving/classify"),
            "classify": signature(inputs, {"scores": info(scores), "classes": info(classes)}, "tensorflow/serving/classify"),
        })
        made = [example(v) for v in X]
        found = sess.run([y, of_examples, scores, classes], {x: X, examples: made})
        return {"y": found[0].tolist(), "regress": found[1].ravel().tolist(), "scores": found[2].tolist(),
                "classes": [[c.decode() for c in row] for row in found[3]]}


def example(x):
    feature = tf.train.Feature(float_list=tf.train.FloatList(value=[x]))
    return tf.train.Example(features=tf.train.Features(feature={"x": feature})).SerializeToString()


TYPES = {
    "f": (tf.float32, [[0.1, 1e-7], [3e9, 2.0]]), "d": (tf.float64, [0.1, 1e300]), "i": (tf.int32, [7, -8]), "l": (tf.int64, [2**62, -1]),
    "u": (tf.uint8, [250, 3]), "b": (tf.bool, [True, False]), "s": (tf.string, ["a\"b", "\u00e4\n"]), "s_bytes": (tf.string, [b"\xff\x00", b""]),
}


def types():
    """A model with an input of each kind, and an output of each that is another value."""
    with tf.Graph().as_default(), tf.Session() as sess:
        given = {key: tf.placeholder(dtype, [None, 2] if key == "f" else [None], name=key) for key, (dtype, _) in TYPES.items()}
        third = tf.Variable(3.0, name="third")
        made = {"f": given["f"] / third, "d": given["d"] / 3, "i": given["i"] * 2, "l": given["l"] + 1, "u": given["u"] + 1,
                "b": tf.logical_not(given["b"]), "s": tf.string_join([given["s"], "!"]), "s_bytes": tf.string_join([given["s_bytes"], "!"])}
        sess.run(tf.global_variables_initializer())
        write("types/1", sess, {"serving_default": signature(
            {k: info(v) for k, v in given.items()}, {k: info(v) for k, v in made.items()}, "tensorflow/serving/predict")})
        found = sess.run(made, {given[key]: value for key, (_, value) in TYPES.items()})
        return {key: np.vectorize(lambda v: v.hex() if isinstance(v, bytes) else v, otypes="O")(v).tolist() for key, v in found.items()}


def main():
    shutil.rmtree(HERE, ignore_errors=True)
    values = {"half_plus": {str(add): half_plus(add) for add in (2, 3)}, "types": types()}
    with open(os.path.join(HERE, "values.json"), "w") as f:
        json.dump(values, f, indent=1, sort_keys=True)


if __name__ == "__main__":
    main()
