"""Uses files of names beyond ASCII in the folder that is given: `names_beyond_ascii.py FOLDER`; prints what was found, in ASCII."""

import json
import os
import sys

import tfcompat as tf

folder = os.path.join(sys.argv[1], "mod\u00e8le_\u4e2d")


def model(features, labels, mode):
    weight = tf.get_variable("w", [], initializer=tf.zeros_initializer())
    loss = (weight - 3.0) ** 2
    return tf.estimator.EstimatorSpec(
        mode, loss=loss, train_op=tf.train.GradientDescentOptimizer(0.1).minimize(loss, tf.train.get_global_step())
    )


for _ in range(2):
    tf.estimator.Estimator(model, folder).train(lambda: tf.data.Dataset.from_tensors(1.0).repeat(), steps=5)
records = os.path.join(folder, "\u00e9.tfrecord")
with tf.io.TFRecordWriter(records) as writer:
    writer.write(b"one")
with tf.gfile.Open(os.path.join(folder, "\u00fc.txt"), "w") as file:
    file.write("text")
print(
    json.dumps(
        {
            "checkpoint": os.path.relpath(tf.train.latest_checkpoint(folder), sys.argv[1]),
            "records": [record.decode() for record in tf.python_io.tf_record_iterator(records)],
            "names": [name for name in tf.gfile.ListDirectory(folder) if not name.isascii()],
            "matches": [os.path.basename(name) for name in tf.gfile.Glob(folder + "/*.txt")],
            "walked": [os.path.relpath(where, sys.argv[1]) for where, _, _ in tf.gfile.Walk(folder)],
        }
    )
)
