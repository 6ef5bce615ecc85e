"""Runs the case tables under TensorFlow 1.15.5 and writes tests/golden/cases/<family>.json.gz.

.venv-tf1/bin/python tests/oracle/record_cases.py [family ...]
"""

import importlib
import os
import sys
import traceback
import warnings

warnings.simplefilter("ignore")
os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
sys.path.insert(0, TESTS)

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from cases import observe  # noqa: E402

from oracle import describe, golden  # noqa: E402

tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.ERROR)
HELPERS = ("__init__", "table", "observe")


def families():
    """Names of the table modules."""
    names = sorted(name[:-3] for name in os.listdir(os.path.join(TESTS, "cases")) if name.endswith(".py"))
    return [name for name in names if name not in HELPERS]


def session():
    """A Session with one thread, so that no value depends on a race."""
    return tf.Session(config=tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1))


def fetch_values(case, inputs, outputs, tensors):
    """What the case's own run, or fetching its tensors, gives."""
    with session() as sess:
        observe.initialise(tf, sess)
        feed = observe.feed_for(case, inputs)
        if case.run:
            return case.run(tf, sess, outputs, feed)
        return sess.run([t for _, t in tensors], feed)


def record_gradients(case, inputs, outputs, values):
    """Values in the run that also computes the gradients, and [name, kind, gradient] for each."""
    grads = observe.gradient_tensors(tf, case, inputs, outputs, [np.shape(v) for v in values])
    fetched = [observe.gradient_fetch(g) for _, g in grads if g is not None]
    with session() as sess:
        observe.initialise(tf, sess)
        flat = [t for _, t in observe.flat_outputs(tf, outputs)]
        values, found = sess.run([flat, fetched], observe.feed_for(case, inputs))
    found, result = iter(found), []
    sizes = {v.name: v.shape.as_list() for v in tf.trainable_variables()}
    sizes.update({key: array.shape for key, array in case.arrays.items()})
    for key, grad in grads:
        kind = observe.gradient_kind(grad)
        array = None if grad is None else observe.dense_gradient(kind, next(found), sizes[key])
        result.append([key, kind, array])
    return values, result


def record_error(case):
    """Class, message and stage of the exception that the case raises."""
    stage = "build"
    try:
        with tf.Graph().as_default():
            inputs, outputs, _ = observe.build(tf, case)
            stage = "run"
            fetch_values(case, inputs, outputs, observe.flat_outputs(tf, outputs))
    except Exception as error:
        return dict(describe.exception(error), stage=stage)
    raise AssertionError(case.id + " raises nothing")


def record(case):
    """Everything that the checks of one case need."""
    if case.error:
        return record_error(case)
    with tf.Graph().as_default() as graph:
        inputs, outputs, start = observe.build(tf, case)
        tensors = observe.flat_outputs(tf, outputs)
        entry = {
            "nodes": observe.node_list(graph, start),
            "collections": observe.collections(tf),
            "outputs": [[path, t.name] for path, t in tensors],
            "plain": observe.plain_outputs(tf, outputs),
            "partial": observe.static_shapes(tf, case),
        }
        if case.fetch:
            values = fetch_values(case, inputs, outputs, tensors)
            entry["gradients"] = []
            if case.grad:
                values, entry["gradients"] = record_gradients(case, inputs, outputs, values)
            entry["values"] = [[path, leaf] for path, leaf in describe.leaves(values)]
    return entry


def main(names):
    """Records the families; returns the number of cases that could not be recorded."""
    failed = 0
    for family in names or families():
        table = importlib.import_module("cases." + family).TABLE
        entries = {}
        for case in table.cases:
            try:
                entries[case.id] = record(case)
            except Exception:
                failed += 1
                print("FAILED " + case.id)
                traceback.print_exc(limit=-4)
        path = os.path.join(TESTS, "golden", "cases", family + ".json.gz")
        golden.write(path, entries)
        print("%-20s %4d cases %7d bytes" % (family, len(entries), os.path.getsize(path)))
    return failed


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1:]) else 0)
