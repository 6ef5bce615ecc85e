"""Runs drawn training programs in tfcompat and in TensorFlow 1.15 and counts where nodes, losses, variables or errors differ.

TF1_PYTHON=PYTHON PYTHONPATH=.:tests python -m generated.compare_training --programs 500 --seed 0 [--log FILE] [--record]

Program NUMBER of seed S is drawn by the number S * 10**6 + NUMBER. Where losses differ, the program runs again here with fed numbers moved by a
rounding, and in 1.15: losses that move as much say nothing ("unstable").
"""

import argparse
import collections
import os
import pathlib
import sys

import numpy as np
from oracle import golden

from generated.two_programs import answers, both

PATH = pathlib.Path(__file__).resolve().parent.parent / "golden/drawn_training.json.gz"
WORKER = str(pathlib.Path(__file__).with_name("training_worker.py"))
EACH = 50
"""So many programs run in one process."""
TOLERANCE = 1e-4
MOVES = (1, 2)
RECORDED = 12


def close(a, b):
    return np.allclose(a, b, rtol=TOLERANCE, atol=TOLERANCE / 10, equal_nan=True)


def difference(ours, theirs):
    """In a word and a text how two outcomes differ, or None."""
    if isinstance(ours, str) or isinstance(theirs, str):
        return ("abort", ours) if isinstance(ours, str) else ("1.15 ends", theirs)
    a, b = ours.get("error"), theirs.get("error")
    if a or b:
        same = a and b and a[0] == b[0] and ours["stage"] == theirs["stage"]
        word = "class" if a and b else "raises here" if a else "passes here"
        return None if same else (word, f"1.15 {theirs['stage']} {b}, tfcompat {ours['stage']} {a}")
    for one, other in zip(ours.get("nodes", ()), theirs.get("nodes", ())):
        if tuple(one) != tuple(other):
            return "nodes", f"1.15 {other}, tfcompat {one}"
    if len(ours.get("nodes", ())) != len(theirs.get("nodes", ())):
        return "nodes", f"1.15 {len(theirs['nodes'])}, tfcompat {len(ours['nodes'])}"
    if not close(ours["losses"], theirs["losses"]):
        return "losses", f"1.15 {theirs['losses']}, tfcompat {ours['losses']}"
    for one, other in zip(ours["variables"], theirs["variables"]):
        if [*one[:2], list(one[2])] != [*other[:2], list(other[2])]:
            return "variables", f"1.15 {other}, tfcompat {one}"
        if not np.allclose(one[3:], other[3:], rtol=10 * TOLERANCE, atol=TOLERANCE, equal_nan=True):
            return "values", f"1.15 {other}, tfcompat {one}"
    return None


def unstable(numbers, ours, theirs, seconds):
    """Those programs whose losses or variables move more than is allowed when what is fed moves by a rounding, or when 1.15 runs again."""
    if not numbers:
        return set()
    moved = answers(sys.executable, "tfcompat", "run", [((number, move),) for number in numbers for move in MOVES], seconds, WORKER)
    again = answers(os.environ["TF1_PYTHON"], "tensorflow", "run", [((number, 0),) for number in numbers], seconds, WORKER)
    found = [(key, outcome, ours) for key, outcome in moved.items()] + [(key, outcome, theirs) for key, outcome in again.items()]
    return {key[0] for key, outcome, first in found if not isinstance(outcome, str) and difference(outcome, first[key[0], 0])}


def compare(numbers, seconds, report):
    """Counts of outcomes of the programs with these numbers, and TensorFlow's outcomes of those that both agree on."""
    ours, theirs = both("run", [((number, 0),) for number in numbers], seconds, WORKER)
    found = {number: difference(ours[number, 0], theirs[number, 0]) for number in numbers}
    moving = unstable([n for n, different in found.items() if different and different[0] in ("losses", "values")], ours, theirs, seconds)
    counts, agreed = collections.Counter(), {}
    for number, different in found.items():
        if different is None:
            counts["same error" if "error" in theirs[number, 0] else "same"] += 1
            agreed[number] = theirs[number, 0]
        elif number in moving:
            counts["unstable"] += 1
        else:
            counts[different[0]] += 1
        if different or "error" in theirs[number, 0]:
            word, text = different or ("same error", str(theirs[number, 0]["error"]))
            word, layers = "unstable" if number in moving else word, ours[number, 0]
            report(f"{number}\t{word}\t{' '.join(layers['layers']) if isinstance(layers, dict) else '?'}\t{' '.join(text.split())}")
    return counts, agreed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=1200, help="the limit for a process")
    parser.add_argument("--log", help="a file that gets a line for each difference, and each error of both")
    parser.add_argument("--record", action="store_true", help="write the sample that test_training.py compares")
    options = parser.parse_args()
    counts, agreed = collections.Counter(), {}
    with open(options.log or os.devnull, "w") as log:
        for first in range(0, options.programs, EACH):
            numbers = range(options.seed * 10**6 + first, options.seed * 10**6 + min(first + EACH, options.programs))
            counted, same = compare(numbers, options.seconds, lambda line: print(line, file=log, flush=True))
            counts += counted
            agreed.update(same)
    print(dict(counts))
    if options.record:
        rows = {number: {key: found[key] for key in ("losses", "variables")} for number, found in agreed.items() if "error" not in found}
        golden.write(PATH, dict(list(rows.items())[:RECORDED]))


if __name__ == "__main__":
    main()
