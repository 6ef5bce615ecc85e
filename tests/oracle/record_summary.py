"""Writes tests/golden/summary with TensorFlow 1.15.5: record and event files, how damaged ones read, timelines, profiles.

.venv-tf1/bin/python tests/oracle/record_summary.py
"""

import json
import os
import sys
import tempfile

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, TESTS)

import tensorflow as tf  # noqa: E402
from summary import shared  # noqa: E402
from tensorflow.python.client import timeline  # noqa: E402

from oracle import golden  # noqa: E402


def read(path):
    with open(path, "rb") as source:
        return source.read()


def record_files(folder):
    """Bytes of files of the records, by compression and options."""
    found = {}
    for name, options in shared.OPTIONS:
        path = os.path.join(folder, name)
        with tf.io.TFRecordWriter(path, tf.io.TFRecordOptions(**options)) as writer:
            for record in shared.RECORDS:
                writer.write(record)
        found[name] = read(path)
    return found


def event_file(folder):
    """Bytes of an event file with all kinds of event."""
    shared.write_events(tf, folder)
    (name,) = os.listdir(folder)
    return read(os.path.join(folder, name))


def step():
    """The StepStats of a run on two CPU devices, serialized."""
    with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        x = tf.random_normal([100, 50])
        with tf.device("/cpu:1"):
            values, places = tf.nn.top_k(tf.nn.relu(tf.matmul(x, x, transpose_b=True)), 3)
        metadata = tf.RunMetadata()
        session.run([values, places], options=tf.RunOptions(trace_level=3), run_metadata=metadata)
    return metadata.step_stats.SerializeToString()


def main():
    with tempfile.TemporaryDirectory() as folder:
        files = record_files(folder)
        damage = {name: shared.damaged(tf, files[name], options, folder) for name, options in shared.DAMAGED}
    with tempfile.TemporaryDirectory() as folder:
        events = event_file(folder)
    stats = step()
    traces = shared.traces(timeline, tf.RunMetadata.FromString(b"\n" + shared.varint(len(stats)) + stats).step_stats)
    with tempfile.TemporaryDirectory() as folder:
        profiles = shared.profiles(tf, folder)
    golden.write(
        os.path.join(TESTS, "golden", "summary", "summary.json.gz"),
        {
            "files": files,
            "damage": damage,
            "events": events,
            "step_stats": stats,
            "traces": [json.dumps(trace, sort_keys=True) for trace in traces],
            "profiles": profiles,
        },
    )


if __name__ == "__main__":
    main()
