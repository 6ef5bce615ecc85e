"""Holds static shapes to TensorFlow 1.15's: every operation of the tables, with inputs of other and of less known shapes.

TF1_PYTHON=PYTHON PYTHONPATH=.:tests python -m generated.compare_shapes [--families nn_conv,linalg] [--usages 4] [--log FILE]

TF1_PYTHON is the Python that has TensorFlow 1.15.5 (tests/oracle/README.md). An error that only one of them raises counts as a difference.
"""

import argparse
import collections
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile

import tfcompat as tf
from generated.programs import usages
from tfcompat._src.nodes import raw

WORKER = str(pathlib.Path(__file__).with_name("shape_worker.py"))


def node(usage):
    """A graph of one operation, whose inputs are constants where the usage knows values, as (GraphDef, names of inputs, names of outputs)."""
    with tf.Graph().as_default() as graph:
        inputs = [_given(*given) for given in usage.inputs]
        arguments, start = [], 0
        for length in usage.lengths:
            arguments.append(inputs[start] if length is None else inputs[start : start + length])
            start += 1 if length is None else length
        made = tf.nest.flatten(raw.function(usage.type)(*arguments, **usage.attrs))
        return graph.as_graph_def(), [t.op.name for t in inputs], [t.name for t in made if isinstance(t, tf.Tensor)]


def _given(dtype, sizes, value):
    return tf.placeholder(dtype, sizes) if value is None else tf.constant(value, dtype)


def variants(usage):
    """(label, GraphDef, outputs): the usage as it is, then each input alone with another shape, or with a value that is not known."""
    try:
        base, inputs, outputs = node(usage)
    except (TypeError, ValueError, tf.errors.OpError):  # rows of bad input, and of nodes without a public signature
        return
    yield "as used", base, outputs
    for i, name in enumerate(inputs):
        for label, sizes in other_shapes(usage.inputs[i][1]):
            changed = tf.GraphDef()
            changed.CopyFrom(base)
            _replace(next(n for n in changed.node if n.name == name), usage.inputs[i][0], sizes)
            yield f"input {i} {label} {sizes}", changed, outputs


def other_shapes(sizes):
    """Labels and shapes near a shape."""
    yield "unknown", None
    if sizes is None:
        return
    yield "without value", sizes
    yield "one axis more", (2, *sizes)
    yield "unknown sizes", (None,) * len(sizes)
    for axis, size in enumerate(sizes):
        yield f"axis {axis} unknown", (*sizes[:axis], None, *sizes[axis + 1 :])
        yield f"axis {axis} longer", (*sizes[:axis], (size or 0) + 1, *sizes[axis + 1 :])
    if sizes:
        yield "one axis fewer", sizes[1:]


def _replace(placed, dtype, sizes):
    name = placed.name
    placed.Clear()
    placed.name, placed.op = name, "Placeholder"
    placed.attr["dtype"].type = tf.as_dtype(dtype).as_datatype_enum
    placed.attr["shape"].shape.CopyFrom(tf.TensorShape(sizes).as_proto())


def answers(python, module, graphs):
    """What a program infers for each graph."""
    with tempfile.TemporaryDirectory() as folder:
        source, sink = os.path.join(folder, "graphs"), os.path.join(folder, "answers")
        with open(source, "wb") as file:
            pickle.dump(graphs, file, 2)
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", "JAX_PLATFORMS": "cpu"}
        subprocess.run([python, WORKER, module, source, sink], env=environment, capture_output=True, check=True)
        with open(sink, "rb") as file:
            return pickle.load(file)


def difference(ours, theirs):
    """In a word how two answers differ, or None."""
    if isinstance(ours, tuple) or isinstance(theirs, tuple):
        if not isinstance(ours, tuple):
            return "refused there"
        if not isinstance(theirs, tuple):
            return "refused here"
        return None if ours[0] == theirs[0] else "class"
    if ours == theirs:
        return None
    if all(map(_holds, ours, theirs)):
        return "less known here"
    return "more known here" if all(map(_holds, theirs, ours)) else "other"


def _holds(wide, narrow):
    """Whether a shape allows all that another allows."""
    return wide is None or (narrow is not None and len(wide) == len(narrow) and all(w is None or w == n for w, n in zip(wide, narrow)))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--families", help="the tables whose operations are used; all by default")
    parser.add_argument("--usages", type=int, default=4, help="the most usages of an operation")
    parser.add_argument("--log", help="a file that gets a line for each difference")
    options = parser.parse_args()
    tf.logging.set_verbosity(tf.logging.FATAL)
    labels, graphs = [], []
    for kind, uses in usages(options.families and options.families.split(","), computed=False).items():
        for usage in uses[:: max(1, len(uses) // options.usages)][: options.usages]:
            for label, graph_def, outputs in variants(usage):
                labels.append(f"{kind}\t{label} of {[i[1] for i in usage.inputs]} {usage.attrs}")
                graphs.append((graph_def.SerializeToString(), outputs))
    counts = collections.Counter()
    ours, theirs = answers(sys.executable, "tfcompat", graphs), answers(os.environ["TF1_PYTHON"], "tensorflow", graphs)
    with open(options.log or os.devnull, "w") as log:
        for label, a, b in zip(labels, ours, theirs):
            word = difference(a, b)
            counts[word or "same"] += 1
            if word:
                print(f"{word}\t{label}\ttfcompat {a}\t1.15 {b}".replace("\n", " "), file=log)
    print(dict(counts))


if __name__ == "__main__":
    main()
