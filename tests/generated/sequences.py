"""Drawn programs of many runs in one session: recorded from TensorFlow 1.15, compared here. Python 3.7 reads this.

    PYTHONPATH=tests PYTHON -m generated.sequences --record 0:2000 > FILE           with the Python that has TensorFlow 1.15.5
    PYTHONPATH=.:tests python -m generated.sequences --compare FILE [--seeds 0:50]  with tfcompat's; TFCOMPAT_ENGINE says the engine
    PYTHONPATH=.:tests python -m generated.sequences --compare FILE --sample 40     and keeps seeds that agree for test_sequences.py
    PYTHONPATH=.:tests python -m generated.sequences --script SEED                  prints a program

`generated.sequence_shrinker` prints the smallest program for a difference.
"""

import argparse
import base64
import collections
import hashlib
import importlib
import json
import os
import pathlib
import pickle
import sys
import time
import warnings

import numpy as np
from oracle import golden

from generated import sequence_drawing
from generated.sequence_programs import PRELUDE

PATH = pathlib.Path(__file__).resolve().parent.parent / "golden/sequences.json.gz"
MOST_VALUES = 24
"""An array with more elements is described by a digest, or, where its numbers are rounded, by some elements and a sum."""
TOLERANCE = {"float16": 1e-2, "float32": 2e-5, "float64": 1e-10}
"""For a tensor of one operation; other roundings add up with the operations that it depends on."""
DEEP = 10


def described(value):
    """What is compared of a fetched value, as JSON holds it: [dtype, sizes, elements or digest]."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, dict):
        return [described(value[key]) for key in sorted(value)]
    if isinstance(value, (list, tuple)):
        return [described(v) for v in value]
    array = np.asarray(value)
    dtype, items = array.dtype.name, array.ravel()
    if dtype == "object" or array.dtype.kind in "SU":
        dtype = "object"
        items = np.array([v.decode("latin-1") if isinstance(v, bytes) else str(v) for v in items.tolist()], object)
    is_rounded = array.dtype.kind in "fc"
    if is_rounded:
        items = items.astype(np.float64)
    if items.size > MOST_VALUES:
        if not is_rounded:
            return [dtype, list(array.shape), hashlib.sha1(repr(items.tolist()).encode()).hexdigest()[:12]]
        with np.errstate(all="ignore"):
            items = np.concatenate([items[:: -(-items.size // (MOST_VALUES - 1))], [items.sum() / items.size]])
    numbers = [float("%.9g" % v) if dtype == "float32" else v for v in items.tolist()]
    return [dtype, list(array.shape), numbers]


def outcome(tf, program):
    """What a program gives: {"refused": {name: class of the error that its statement raised}, "runs": [values, or [class, text] of an error]}."""
    space, refused, found = {"tf": tf, "np": np}, {}, []
    with tf.Graph().as_default():
        exec(PRELUDE, space)
        tf.set_random_seed(program.graph_seed)
        for statement in program.statements:
            if statement.uses() & set(refused):
                refused[statement.name] = "needs"
                continue
            try:
                exec("\n".join(statement.lines()), space)
            except Exception as e:  # noqa: BLE001 (compared)
                refused[statement.name] = [type(e).__name__, str(e).split("\n")[0][:200]]
        left = program.runs_without(set(refused))
        with tf.Session(config=eval(program.config, space)) as space["s"]:
            for run in left:
                try:
                    found.append({"values": described(eval(run.line(), space))})
                except Exception as e:  # noqa: BLE001 (compared)
                    found.append({"error": [type(e).__name__, str(e).split("\n")[0][:200]]})
    return {"refused": refused, "runs": found}


def digest(program):
    return hashlib.sha1(program.text().encode()).hexdigest()[:10]


def near(a, b, tolerance):
    """Whether two descriptions of a value say the same; numbers may differ by a tolerance."""
    if not isinstance(a, list) or not isinstance(b, list):
        return a == b
    if not (len(a) == len(b) == 3 and isinstance(b[0], str) and b[0] in TOLERANCE):
        return len(a) == len(b) and all(near(x, y, tolerance) for x, y in zip(a, b))
    if a[:2] != b[:2] or len(a[2]) != len(b[2]):
        return False
    one, other = np.array(a[2], np.float64), np.array(b[2], np.float64)
    finite = np.abs(other[np.isfinite(other)])
    allowed = TOLERANCE[b[0]] * tolerance
    with np.errstate(all="ignore"):
        return bool(np.allclose(one, other, rtol=allowed, atol=allowed * max(1.0, finite.max() if finite.size else 0.0), equal_nan=True))


def depth(program):
    """The tolerance's factor, which grows with the program."""
    return 1 + len(program.statements) / DEEP


def differences(program, ours, theirs):
    """(run, word, text) of whatever differs; run is None for a statement."""
    found = []
    for name in sorted(set(ours["refused"]) | set(theirs["refused"])):
        a, b = ours["refused"].get(name), theirs["refused"].get(name)
        if (a and a[0]) != (b and b[0]):
            found.append((None, "statement", "%s: tfcompat %s, 1.15 %s" % (name, a, b)))
    if found:
        return found
    for number, (run, a, b) in enumerate(zip(program.runs_without(set(theirs["refused"])), ours["runs"], theirs["runs"])):
        word = _word(a.get("error"), b.get("error"))
        if word:
            found.append((number, word, "tfcompat %s, 1.15 %s" % (a, b)))
        elif "error" in a:
            continue
        elif not near(a["values"], b["values"], depth(program)):
            fetches = sorted(run.fetches) if run.call == "dict" else run.fetches
            for fetch, one, other in zip(fetches, a["values"], b["values"]):
                if not near(one, other, depth(program)):
                    found.append((number, "value", "%s: tfcompat %s, 1.15 %s" % (fetch, one, other)))
    return found


def _word(ours, theirs):
    """How the errors of a run differ, or None."""
    if ours and theirs:
        return None if ours[0] == theirs[0] else "%s for %s" % (ours[0], theirs[0])
    return "raises %s" % ours[0] if ours else "passes %s" % theirs[0] if theirs else None


def seeds(text):
    """The seeds that "3:10" or "5,7,9" names."""
    if ":" in text:
        return range(*map(int, text.split(":")))
    return [int(part) for part in text.split(",")]


def record(tf, numbers, sink):
    """Writes a line for each seed before it runs, and one with what it gives after."""
    for seed in numbers:
        program = sequence_drawing.draw(seed)
        print(json.dumps({"seed": seed, "begun": digest(program)}), file=sink, flush=True)
        print(json.dumps(dict(outcome(tf, program), seed=seed, digest=digest(program))), file=sink, flush=True)


def recorded(lines, numbers=None):
    """The recorded outcomes of lines by seed, of these seeds or of all."""
    rows = [json.loads(line) for line in lines if line.startswith("{")]
    return {row["seed"]: row for row in rows if "runs" in row and (numbers is None or row["seed"] in numbers)}


def compare(tf, rows, report):
    """Counts of programs, runs and differences, and the seeds without differences."""
    counts, agreeing = collections.Counter(), []
    for seed, row in rows.items():
        program = sequence_drawing.draw(seed)
        if digest(program) != row["digest"]:
            raise ValueError("Seed %d was recorded from another program: record it again." % seed)
        report("# %d" % seed)
        start = time.time()
        ours = json.loads(json.dumps(outcome(tf, program)))
        found = differences(program, ours, row)
        counts.update(programs=1, runs=len(row["runs"]), differing=bool(found), errors=sum("error" in run for run in row["runs"]))
        counts.update({word for _, word, _ in found})
        agreeing += [] if found else [seed]
        for number, word, text in found[:6]:
            report("%d\t%s\t%s\t%s" % (seed, number, word, text[:400]))
        if time.time() - start > 30:
            report("%d\tslow\t%.0f s" % (seed, time.time() - start))
    return counts, agreeing


def serve(tf, source, sink):
    """Answers each line, a pickled program, with a line of what it gives."""
    for line in source:
        print(json.dumps(outcome(tf, pickle.loads(base64.b64decode(line)))), file=sink, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", metavar="SEEDS", help="as 0:100 or 3,5: run them with `tensorflow` and write what they give")
    parser.add_argument("--compare", metavar="FILE", help="run the recorded seeds with tfcompat and print what differs")
    parser.add_argument("--sample", type=int, default=0, metavar="COUNT", help="keep so many seeds that agree as the sample of the tests")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--seeds", help="of those recorded, only these")
    parser.add_argument("--script", type=int, metavar="SEED", help="print the program of a seed")
    options = parser.parse_args()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    warnings.simplefilter("ignore")
    if options.script is not None:
        print(sequence_drawing.draw(options.script).script())
        return
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # libraries print there
    tf = importlib.import_module("tensorflow" if options.record or sys.version_info < (3, 8) else "tfcompat")
    tf.logging.set_verbosity(tf.logging.FATAL)
    if options.serve:
        serve(tf, sys.stdin, answers)
    elif options.record:
        record(tf, seeds(options.record), answers)
    else:
        with open(options.compare) as source:
            rows = recorded(source, options.seeds and seeds(options.seeds))
        counts, agreeing = compare(tf, rows, lambda line: print(line, file=answers, flush=True))
        print(dict(counts), file=answers)
        if options.sample:
            golden.write(PATH, {seed: rows[seed] for seed in agreeing[: options.sample]})


if __name__ == "__main__":
    main()
