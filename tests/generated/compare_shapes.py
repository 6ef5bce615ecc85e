"""Holds static shapes to TensorFlow 1.15's: every operation of the tables, with inputs of other and of less known shapes.

TF1_PYTHON=PYTHON PYTHONPATH=.:tests python -m generated.compare_shapes [--families nn_conv,linalg] [--usages 4] [--log FILE] [--record]

TF1_PYTHON is the Python that has TensorFlow 1.15.5 (tests/oracle/README.md). An error that only one of them raises counts as a
difference. --record writes a sample with 1.15's answers to tests/golden/shapes.json.gz, which test_shapes.py compares.
"""

import argparse
import collections
import os
import pathlib
import random

import deviations
from oracle import golden

import tfcompat as tf
from generated.programs import usages
from generated.two_programs import both
from tfcompat._src.nodes import raw

PATH = pathlib.Path(__file__).resolve().parents[1] / "golden/shapes.json.gz"
SAMPLE = 3000
MOST_BYTES = 1200
"""The largest GraphDef of the sample."""


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


def variants(usage, pairs):
    """(label, GraphDef, outputs): the usage as it is; each input alone with another shape, or with a value that is not known; and so
    many times two inputs at once, drawn with a fixed seed.
    """
    try:
        base, inputs, outputs = node(usage)
    except (TypeError, ValueError, tf.errors.OpError):  # rows of bad input, and of nodes without a public signature
        return
    others = [list(other_shapes(sizes)) for _, sizes, _ in usage.inputs]
    changes = [()] + [((i, *other),) for i, found in enumerate(others) for other in found]
    draw = random.Random(f"{usage.type}{usage.attrs}{others}")
    for _ in range(pairs if len(inputs) > 1 else 0):
        changes.append(tuple((i, *draw.choice(others[i])) for i in sorted(draw.sample(range(len(inputs)), 2))))
    for change in changes:
        changed = tf.GraphDef()
        changed.CopyFrom(base)
        for i, _, sizes in change:
            _replace(next(n for n in changed.node if n.name == inputs[i]), usage.inputs[i][0], sizes)
        yield " and ".join(f"input {i} {label} {sizes}" for i, label, sizes in change) or "as used", changed, outputs


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


def difference(kind, ours, theirs):
    """In a word how two answers for an operation of a type differ, or None; "known" where the deviations list it."""
    if isinstance(theirs, str):
        return "1.15 ends"
    word = "ends" if isinstance(ours, str) else _difference(ours, theirs)
    return "known" if word in deviations.SHAPES.get(kind, ((), ""))[0] else word


def _difference(ours, theirs):
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


def record(kinds, graphs, theirs):
    """Writes a sample, as many of each operation type as there are, up to a common number."""
    rows = collections.defaultdict(list)
    for number, graph_def, outputs in graphs:
        if len(graph_def) <= MOST_BYTES and not isinstance(theirs[number], str):
            answer = theirs[number]
            rows[kinds[number]].append([graph_def, outputs, list(answer[:1]) if isinstance(answer, tuple) else answer])
    draw = random.Random(0)
    for found in rows.values():
        draw.shuffle(found)
    by_turns = sorted(((i, kind, row) for kind, found in rows.items() for i, row in enumerate(found)), key=lambda entry: entry[:2])
    golden.write(str(PATH), [[kind, *row] for _, kind, row in by_turns[:SAMPLE]])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--families", help="the tables whose operations are used; all by default")
    parser.add_argument("--usages", type=int, default=4, help="the most usages of an operation")
    parser.add_argument("--pairs", type=int, default=4, help="how often two inputs of a usage are changed at once")
    parser.add_argument("--seconds", type=float, default=3600, help="the limit for a process")
    parser.add_argument("--log", help="a file that gets a line for each difference")
    parser.add_argument("--record", action="store_true", help="write the sample that test_shapes.py compares")
    options = parser.parse_args()
    tf.logging.set_verbosity(tf.logging.FATAL)
    kinds, labels, graphs = [], [], []
    for kind, uses in usages(options.families and options.families.split(","), computed=False).items():
        for usage in uses[:: max(1, len(uses) // options.usages)][: options.usages]:
            for label, graph_def, outputs in variants(usage, options.pairs):
                kinds.append(kind)
                labels.append(f"{label} of {[i[1] for i in usage.inputs]} {usage.attrs}")
                graphs.append((len(graphs), graph_def.SerializeToString(), outputs))
    counts = collections.Counter()
    ours, theirs = both("shapes", graphs, options.seconds)
    with open(options.log or os.devnull, "w") as log:
        for number, (kind, label) in enumerate(zip(kinds, labels)):
            word = difference(kind, ours[number], theirs[number])
            counts[word or "same"] += 1
            if word and word != "known":
                print(f"{word}\t{kind}\t{label}\ttfcompat {ours[number]}\t1.15 {theirs[number]}".replace("\n", " "), file=log)
    print(dict(counts))
    if options.record:
        record(kinds, graphs, theirs)


if __name__ == "__main__":
    main()
