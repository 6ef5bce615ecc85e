"""Holds the rows of tests/cases at every place to TensorFlow 1.15: the same values, or an error of the same class.

TF1_PYTHON=PYTHON PYTHONPATH=.:tests python -m generated.compare_rows [--places unknown,loop] [--gradients] [--seconds N] [PREFIX ...]

TF1_PYTHON is the Python that has TensorFlow 1.15.5 (tests/oracle/README.md). A PREFIX is the beginning of rows' names, as `extremes/`.
Values of rows that draw random numbers are not compared: calls of one operation that run at the same time draw in any order.
"""

import argparse
import collections
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from generated.surroundings import PLACES, rows

WORKER = str(pathlib.Path(__file__).with_name("rows_worker.py"))
ROUGHLY = {2: 2e-2, 4: 2e-3}
"""The relative tolerance by the bytes of a number."""


def answers(options, folder):
    """What tfcompat and TensorFlow give, by the name of the variant."""
    programs = [(sys.executable, "tfcompat"), (os.environ["TF1_PYTHON"], "tensorflow")]
    with ThreadPoolExecutor() as threads:
        return list(threads.map(lambda program: _answers(*program, options, folder), programs))


def _answers(python, module, options, folder):
    arguments = [str(options.seconds), options.places, str(int(options.gradients)), ",".join(options.prefixes)]
    environment = {**os.environ, "GENERATED_MODULE": module, "TF_CPP_MIN_LOG_LEVEL": "3", "JAX_PLATFORMS": "cpu"}
    sink = os.path.join(folder, module)
    found = {}
    while True:
        command = [python, WORKER, sink, str(len(found)), *arguments]
        done = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        end = f"status {done.returncode}: {done.stderr[-300:].decode('utf8', 'replace')}"
        before = len(found)
        found.update(_read(sink, end))
        if not done.returncode:
            return found
        if len(found) == before:
            raise RuntimeError(f"{command} ended without a variant: {end}")


def _read(sink, end):
    """The answers in a file by name; that of a variant which ended its process is `end`."""
    found = {}
    with open(sink, "rb") as file:
        while True:
            try:
                given = pickle.load(file)
            except (EOFError, pickle.UnpicklingError):
                return found
            if isinstance(given, str):
                found.setdefault(given, ("end", end))
            else:
                found[given[0]] = given[1]


def close(want, have):
    """Whether two arrays are of one dtype and shape, and equal but for rounding."""
    if want.shape != have.shape or want.dtype.kind != have.dtype.kind:
        return False
    if want.dtype.kind not in "fc":
        return bool((want == have).all())
    rtol = ROUGHLY.get(want.dtype.itemsize, 1e-6)
    finite = np.abs(want[np.isfinite(want)])
    return want.dtype == have.dtype and np.allclose(have, want, rtol=rtol, atol=rtol * max(1.0, finite.max(initial=0.0)), equal_nan=True)


def verdict(want, have, is_random):
    """One word for what TensorFlow and tfcompat gave, and a text."""
    if want is None or have is None:
        return "same" if want is have else "row", "only one of them runs the row alone"
    kinds = want[0], have[0]
    if "end" in kinds:
        return ("aborts", have[1]) if kinds[1] == "end" else ("same", "")  # of a program that ends TensorFlow, nothing is asked
    if kinds == ("value", "value"):
        same = len(want[1]) == len(have[1]) and all(map(close, want[1], have[1]))
        return ("same" if same or is_random else "differs"), f"{str(want[1])[:150]} | {str(have[1])[:150]}"
    if kinds == ("error", "error"):
        return ("same" if want[1][0] in have[1] else "class"), f"{want[1][0]}: {want[2][:150]} | {have[1][0]}: {have[2][:150]}"
    return ("raises", f"{have[1][0]}: {have[2]}") if kinds[1] == "error" else ("passes", f"{want[1][0]}: {want[2]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prefixes", nargs="*", default=[""], metavar="PREFIX")
    parser.add_argument("--gradients", action="store_true")
    parser.add_argument("--places", default=",".join(PLACES))
    parser.add_argument("--seconds", type=int, default=40)
    options = parser.parse_args()
    seeded = tuple(case.id + " " for case in rows() if case.seed is not None)
    with tempfile.TemporaryDirectory() as folder:
        have, want = answers(options, folder)
    counts = collections.Counter()
    for name, given in want.items():
        word, text = verdict(given, have.get(name), name.startswith(seeded))
        counts[word] += 1
        if word != "same":
            print(word, name, " ".join(text.split()), flush=True)
    print(dict(counts))


if __name__ == "__main__":
    main()
