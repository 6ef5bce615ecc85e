"""Runs generated graphs in tfcompat and in TensorFlow 1.15 and counts where values, or the classes of errors, differ.

TF1_PYTHON=PYTHON PYTHONPATH=.:tests python -m generated.compare_graphs --graphs 20000 --seed 0 [--steps 50] [--edges] [--log FILE]

Graph NUMBER of seed S is drawn by the number S * 10**6 + NUMBER. TF1_PYTHON is the Python that has TensorFlow 1.15.5 (tests/oracle/README.md).

Of what 1.15 does not determine (UNDETERMINED, UNCHECKED), and of what is computed of that, only the form is compared. Where values differ,
the graph runs again here with constants that are moved by less than what is allowed: values that move as much say nothing ("unstable").
Graphs with operations that 1.15 has no kernel for are counted apart ("no kernel").
"""

import argparse
import collections
import os
import sys

import numpy as np

import tfcompat as tf
from generated.programs import Drawing, usages
from generated.two_programs import answers, both

EACH = 50
"""So many graphs run in one process."""
TOLERANCE = {2: 2e-2, 4: 2e-4, 8: 1e-9}
"""By bytes of a real number: sums in another order, and other functions of the same accuracy."""


LEFT_OUT = {
    "XlaClusterOutput": "1.15 has no kernel for it on CPUs",
    "FractionalAvgPoolGrad": "1.15 reads past the end of sequences that are not those of a pooling",
    "FractionalMaxPoolGrad": "1.15 ends the process where sequences are not those of a pooling",
}
UNDETERMINED = {
    "FusedBatchNormGrad": (3, 4), "FusedBatchNormGradV2": (3, 4), "FusedBatchNormGradV3": (3, 4), "FusedBatchNormV3": (5,), "SelfAdjointEigV2": (1,),
    "BatchSelfAdjointEigV2": (1,), "SingleImageRandomDotStereograms": (0,), "Svd": (1, 2),
}  # fmt: skip
"""Outputs that nothing writes, that are random, or whose signs are free."""
UNCHECKED = {
    **dict.fromkeys(("TanhGrad", "SigmoidGrad", "SqrtGrad", "RsqrtGrad", "ReciprocalGrad", "InvGrad"), (0, 1)),
    **dict.fromkeys(("MaxPoolGrad", "MaxPoolGradV2"), (1, 2)), **dict.fromkeys(("MaxPoolGradGrad", "MaxPoolGradGradV2"), (0, 2)),
}  # fmt: skip
"""Two inputs of op types whose kernels in 1.15 take other sizes for equal ones, and read what lies behind the smaller one."""
MOVES = 3
"""How often a graph runs again with constants moved."""


def drawn(bank, number, steps, at_edges):
    """A graph as (number, GraphDef, names of fetches), the op types of the fetches, and the names of those that are not determined."""
    with tf.Graph().as_default() as graph:
        drawing = Drawing(bank, number, steps, at_edges)
        fetched = drawing.build()
        message, free = graph.as_graph_def(), undetermined(graph)
        return (number, message.SerializeToString(), [t.name for t in fetched]), [t.op.type for t in fetched], free


def undetermined(graph):
    """The names of tensors whose values 1.15 does not determine."""
    found = set()
    for op in graph.get_operations():
        outputs = op.outputs if any(t.name in found for t in op.inputs) else [op.outputs[i] for i in _free_outputs(op)]
        found.update(t.name for t in outputs)
    return found


def _free_outputs(op):
    pair = [op.inputs[i]._sizes for i in UNCHECKED.get(op.type, ())]
    if pair and pair[0] != pair[1] or op.type in ("TopK", "TopKV2") and not op.get_attr("sorted"):
        return range(len(op.outputs))
    if op.type.startswith("FusedBatchNorm") and "Grad" not in op.type and not op.get_attr("is_training"):
        return range(1, len(op.outputs))
    return UNDETERMINED.get(op.type, ())


def moved(graph_def, draw):
    """The graph with each floating constant moved by a fiftieth of the tolerance."""
    message = tf.GraphDef.FromString(graph_def)
    for node in message.node:
        if node.op == "Const" and tf.as_dtype(node.attr["dtype"].type).name in ("float16", "float32", "float64", "complex64", "complex128"):
            value = tf.make_ndarray(node.attr["value"].tensor)
            step = max(TOLERANCE[value.real.dtype.itemsize] / 50, 2 * np.finfo(value.dtype).eps)
            with np.errstate(all="ignore"):
                value = (value * (1 + step * draw.choice([-1, 1], value.shape))).astype(value.dtype)
            node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(value))
    return message.SerializeToString()


def difference(ours, theirs):
    """In a word and a text how two outcomes differ, or None."""
    if ours[0] != theirs[0]:
        return f"{theirs[0]}_for_{ours[0]}", f"1.15 {_said(theirs)}, tfcompat {_said(ours)}"
    if ours[0] != "value":
        return None if ours[1] == theirs[1] else ("class", f"1.15 {_said(theirs)}, tfcompat {_said(ours)}")
    a, b = np.asarray(ours[1]), np.asarray(theirs[1])
    if a.dtype != b.dtype or a.shape != b.shape:
        return "form", f"1.15 {b.dtype}{b.shape}, tfcompat {a.dtype}{a.shape}"
    return None if _near(a, b) else ("values", f"1.15 {b.ravel()[:8]}, tfcompat {a.ravel()[:8]}")


def form(a):
    """What of an array does not hang on its values."""
    return np.zeros(np.shape(a), np.asarray(a).dtype)


def _said(outcome):
    return repr(outcome[1:])[:300] if outcome[0] != "value" else f"value {np.asarray(outcome[1]).ravel()[:4]}"


def _near(a, b):
    if a.dtype.kind in "OSU" or a.dtype.kind in "iub":
        return np.array_equal(a, b)
    size = a.dtype.itemsize // (2 if a.dtype.kind == "c" else 1)
    wide = np.complex128 if a.dtype.kind == "c" else np.float64
    a, b = a.astype(wide), b.astype(wide)
    finite = np.abs(b[np.isfinite(b)])
    tolerance = TOLERANCE[size]
    return np.allclose(a, b, rtol=tolerance, atol=tolerance * max(finite.max(initial=0), 1), equal_nan=True)


def compared(fetches, types, ours, theirs):
    """(position, fetch, type, outcome here, outcome there) of each fetch; of the first alone where a graph was not imported."""
    found = list(zip(range(len(fetches)), fetches, types, ours, theirs))
    return found[:1] if "import" in (ours[0][0], theirs[0][0]) else found


def differences(fetches, types, free, ours, theirs):
    """(position, fetch, type, word, text) of each fetch that differs."""
    found = []
    for position, fetch, kind, a, b in compared(fetches, types, ours, theirs):
        if fetch in free and "import" not in (a[0], b[0]):
            if (a[0], b[0]) != ("value", "value"):
                continue
            a, b = ("value", form(a[1])), ("value", form(b[1]))
        different = difference(a, b)
        if different:
            found.append((position, fetch, kind, *different))
    return found


def unstable(graphs, ours, seconds):
    """The (number, position) of fetches that move more than is allowed when constants move by less."""
    draw = np.random.RandomState(0)
    again = [((g[0], i), moved(g[1], draw), g[2]) for g in graphs for i in range(MOVES)]
    found = answers(sys.executable, "tfcompat", "run", again, seconds) if again else {}
    return {
        (number, position)
        for (number, _), outcomes in found.items()
        if not isinstance(outcomes, str)
        for position, outcome in enumerate(outcomes)
        if difference(outcome, ours[number][position])
    }


def compare(bank, numbers, steps, at_edges, seconds, report):
    """Counts of outcomes of the graphs with these numbers."""
    counts, found = collections.Counter(), {}
    made = [drawn(bank, number, steps, at_edges) for number in numbers]
    graphs = [graph for graph, *_ in made if graph[2]]
    ours, theirs = both("run", graphs, seconds)
    for (number, _, fetches), types, free in made:
        if not fetches:
            counts["nothing to fetch"] += 1
        elif isinstance(ours[number], str) or isinstance(theirs[number], str):
            word = "abort" if isinstance(ours[number], str) else "1.15 ends"
            counts[word] += 1
            report(f"{number}\t{word}\t{'+'.join(types)}\t{ours[number] if word == 'abort' else theirs[number]}")
        elif any("No OpKernel was registered" in outcome[-1] for outcome in theirs[number] if outcome[0] == "error"):
            counts["no kernel"] += 1
        else:
            found[number] = differences(fetches, types, free, ours[number], theirs[number])
    moving = unstable([g for g in graphs if any(d[3] != "form" for d in found.get(g[0], ()))], ours, seconds)
    for number, different in found.items():
        different = [("unstable" if (number, position) in moving else word, kind, fetch, text) for position, fetch, kind, word, text in different]
        counts.update({word for word, *_ in different} or {"same"})
        for word, kind, fetch, text in different:
            if word != "unstable":
                report(f"{number}\t{word}\t{kind} {fetch}\t{' '.join(text.split())}")
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=50, help="the most operations of a graph")
    parser.add_argument("--edges", action="store_true", help="some inputs are NaN, infinite, or at the ends of their types")
    parser.add_argument("--seconds", type=float, default=600, help="the limit for a process")
    parser.add_argument("--families", help="the tables whose operations are used; all by default")
    parser.add_argument("--log", help="a file that gets a line for each difference")
    options = parser.parse_args()
    tf.logging.set_verbosity(tf.logging.FATAL)
    bank = {kind: uses for kind, uses in usages(options.families and options.families.split(",")).items() if kind not in LEFT_OUT}
    counts = collections.Counter()
    with open(options.log or os.devnull, "w") as log:
        for first in range(0, options.graphs, EACH):
            numbers = range(options.seed * 10**6 + first, options.seed * 10**6 + min(first + EACH, options.graphs))
            counts += compare(bank, numbers, options.steps, options.edges, options.seconds, lambda line: print(line, file=log, flush=True))
    print(dict(counts))


if __name__ == "__main__":
    main()
