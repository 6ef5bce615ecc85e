"""Runs generated graphs in tfcompat and in TensorFlow 1.15 and counts where values, or the classes of errors, differ.

TF1_PYTHON=PYTHON PYTHONPATH=.:tests python -m generated.compare_graphs --graphs 20000 --seed 0 [--steps 50] [--edges] [--log FILE]

Graph NUMBER of seed S is drawn by the number S * 10**6 + NUMBER. TF1_PYTHON is the Python that has TensorFlow 1.15.5 (tests/oracle/README.md).
"""

import argparse
import collections
import os

import numpy as np

import tfcompat as tf
from generated.programs import Drawing, usages
from generated.two_programs import both

EACH = 200
"""So many graphs run in one process."""
TOLERANCE = {2: 2e-2, 4: 2e-4, 8: 1e-9}
"""By bytes of a real number: sums in another order, and other functions of the same accuracy."""


def drawn(bank, number, steps, at_edges):
    """A graph as (number, GraphDef, names of fetches), and the op types of the fetches."""
    with tf.Graph().as_default() as graph:
        drawing = Drawing(bank, number, steps, at_edges)
        fetched = drawing.build()
        return (number, graph.as_graph_def().SerializeToString(), [t.name for t in fetched]), [t.op.type for t in fetched]


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
    """(fetch, type, outcome here, outcome there) of each fetch; of the first fetch alone where a graph was not imported."""
    found = list(zip(fetches, types, ours, theirs))
    return found[:1] if "import" in (ours[0][0], theirs[0][0]) else found


def compare(bank, numbers, steps, at_edges, seconds, report):
    """Counts of outcomes of the graphs with these numbers."""
    counts = collections.Counter()
    made = [drawn(bank, number, steps, at_edges) for number in numbers]
    graphs = [graph for graph, _ in made if graph[2]]
    ours, theirs = both("run", graphs, seconds)
    for (number, _, fetches), types in made:
        if not fetches:
            counts["nothing to fetch"] += 1
            continue
        if isinstance(ours[number], str) or isinstance(theirs[number], str):
            word = "abort" if isinstance(ours[number], str) else "1.15 ends"
            counts[word] += 1
            report(f"{number}\t{word}\t{'+'.join(types)}\t{ours[number] if word == 'abort' else theirs[number]}")
            continue
        words = set()
        for fetch, kind, a, b in compared(fetches, types, ours[number], theirs[number]):
            found = difference(a, b)
            if found:
                words.add(found[0])
                report(f"{number}\t{found[0]}\t{kind} {fetch}\t{' '.join(found[1].split())}")
        counts.update(words or {"same"})
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
    bank = usages(options.families and options.families.split(","))
    counts = collections.Counter()
    with open(options.log or os.devnull, "w") as log:
        for first in range(0, options.graphs, EACH):
            numbers = range(options.seed * 10**6 + first, options.seed * 10**6 + min(first + EACH, options.graphs))
            counts += compare(bank, numbers, options.steps, options.edges, options.seconds, lambda line: print(line, file=log, flush=True))
    print(dict(counts))


if __name__ == "__main__":
    main()
