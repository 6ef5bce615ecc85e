"""Writes checkpoints of both versions with the real TensorFlow into tests/golden/checkpoint/.

Run with tensorflow==1.15.5 installed: python tests/oracle/record_checkpoints.py
"""

import hashlib
import json
import os
import sys
import tempfile

import numpy as np
import tensorflow as tf
from tensorflow.python import pywrap_tensorflow

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GOLDEN = os.path.join(TESTS, "golden", "checkpoint")
sys.path.insert(0, os.path.join(TESTS, "checkpoint"))

import graphs  # noqa: E402
import values  # noqa: E402

BFLOAT16 = tf.bfloat16.as_numpy_dtype


def constant(value):
    value = np.asarray(value)
    if value.dtype.fields:
        (name,) = value.dtype.names
        plain = value.view(value.dtype[0])
        return tf.bitcast(tf.constant(plain), tf.as_dtype(name))
    return tf.constant(value, tf.as_dtype(value.dtype))


def save(session, version, path, saved):
    names, specs, arrays = zip(*saved)
    tensors = [constant(a) for a in arrays]
    if version == 1:
        session.run(tf.raw_ops.SaveSlices(filename=path, tensor_names=names, shapes_and_slices=specs, data=tensors))
    else:
        session.run(tf.raw_ops.SaveV2(prefix=path, tensor_names=names, shape_and_slices=specs, tensors=tensors))


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def record_savers():
    found = {}
    for name in graphs.SAVERS:
        with tf.Graph().as_default() as graph:
            saver = graphs.build_saver(tf, name)
            found[name] = {"nodes": graphs.nodes(tf, graph), "saver_def": graphs.saver_def(saver)}
    return found


def record_objects():
    """Saves objects after three steps; their loss before and after one more."""
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.set_random_seed(3)
        checkpoint, step, loss = graphs.build_objects(tf)
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run(step)
        checkpoint.save(os.path.join(GOLDEN, "objects"), session=session)
        nodes = graphs.nodes(tf, graph)
        losses = [float(session.run(loss)), float(session.run([step, loss])[1]), float(session.run(loss))]
    os.remove(os.path.join(GOLDEN, "checkpoint"))
    return {"nodes": nodes, "losses": losses}


def main():
    facts = {"savers": record_savers(), "objects": record_objects()}
    with tf.Graph().as_default(), tf.Session() as session:
        for version in (1, 2):
            save(session, version, os.path.join(GOLDEN, f"v{version}"), values.tensors(version, BFLOAT16))
            save(session, version, os.path.join(GOLDEN, f"v{version}_parts"), values.parts())
        folder = tempfile.mkdtemp()
        names = values.many()
        prefix = os.path.join(folder, "many")
        tensors = [tf.constant(np.float32(i)) for i in range(len(names))]
        session.run(
            tf.raw_ops.SaveV2(prefix=prefix, tensor_names=names, shape_and_slices=[""] * len(names), tensors=tensors)
        )
        facts["many"] = {"index": digest(prefix + ".index"), "data": digest(prefix + ".data-00000-of-00001")}
    for version in ("v1", "v1_parts", "v2", "v2_parts"):
        reader = pywrap_tensorflow.NewCheckpointReader(os.path.join(GOLDEN, version))
        facts[version] = {
            "debug_string": reader.debug_string().decode("latin-1"),
            "shapes": reader.get_variable_to_shape_map(),
            "dtypes": {k: v.name for k, v in reader.get_variable_to_dtype_map().items()},
        }
    with open(os.path.join(GOLDEN, "facts.json"), "w") as file:
        json.dump(facts, file, sort_keys=True)
        file.write("\n")


if __name__ == "__main__":
    main()
