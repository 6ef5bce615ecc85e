"""Programs of many runs in one session give, run by run, what TensorFlow 1.15.5 gave: a sample that generated/sequences.py has recorded.

With `--long`, and TF1_PYTHON naming a Python that has TensorFlow 1.15.5, further seeds are recorded and compared without end.
"""

import itertools
import json
import os
import sys

import pytest
from long_run import LongRun, count
from oracle import golden

import tfcompat as tf
from generated import sequence_drawing, sequence_programs, sequence_shrinker, sequences
from tfcompat._src.runtime.engines import choice

ROWS = golden.read(str(sequences.PATH))
FIRST_LONG = 10**6


def found_for(seed, row):
    program = sequence_drawing.draw(seed)
    assert sequences.digest(program) == row["digest"], "record the sample again: generated/sequences.py --sample"
    return sequences.differences(program, json.loads(json.dumps(sequences.outcome(tf, program))), row)


SEEDS = sorted(map(int, ROWS))
EACH = [(seed, "interpret") for seed in SEEDS] + [(seed, "compile") for seed in SEEDS[:: count(5, 1)]]
"""Compiling takes ten times as long, and so few of the programs are compiled."""


@pytest.mark.parametrize("seed,engine", EACH)
def test_runs_give_what_tensorflow_gives(seed, engine, monkeypatch):
    monkeypatch.setattr(choice, "ENGINE", engine)
    assert not found_for(seed, ROWS[str(seed)])


def test_sample_has_the_constructs_that_it_is_for():
    programs = [sequence_drawing.draw(int(seed)) for seed in ROWS]
    text = "\n".join(program.text() for program in programs)
    for word in ("tf.cond", "tf.case", "tf.switch_case", "raw_ops.Merge", "while_loop", "map_fn", "scan", "TensorArray", "grad(", "towers", "scatter_", "get_next",
                 "py_func", "dequeue", "random_", "dropout", "SparseTensor", "string_", "np.arange(1500)", "make_callable", "assign_add"):  # fmt: skip
        assert word in text, word
    assert min(len(program.runs) for program in programs) >= 12
    assert sum("error" in run for row in ROWS.values() for run in row["runs"]) > 50


def test_a_wrong_number_a_missing_error_and_a_wrong_shape_are_differences():
    seed, row = next((int(seed), row) for seed, row in ROWS.items() if "error" not in row["runs"][-1])
    program = sequence_drawing.draw(seed)
    for change in ({"error": ["ValueError", ""]}, {"values": [["float32", [7], [0.0] * 7]] * len(row["runs"][-1]["values"])}):
        changed = dict(row, runs=row["runs"][:-1] + [change])
        assert [number for number, *_ in sequences.differences(program, changed, row)][:1] == [len(row["runs"]) - 1]
    assert not sequences.differences(program, row, row)


class Pretended:
    """A worker whose values are 1, but 2 where a run fetches `t3` after one that fetched `t2`, if it is wrong."""

    def __init__(self, is_wrong):
        self.is_wrong = is_wrong

    def outcome(self, program):
        found, before = [], set()
        for run in program.runs:
            value = 2 if self.is_wrong and "t3" in run.fetches and "t2" in before else 1
            found.append({"values": [["int32", [], [value]]] * len(run.fetches)})
            before.update(run.fetches)
        return {"refused": {}, "runs": found}


def test_shrinking_keeps_the_two_runs_that_a_difference_needs():
    kind = ("int32", ())
    statements = [sequence_programs.Statement("t%d" % i, "tf.constant(%d)" % i, kind) for i in range(1, 9)]
    runs = [sequence_programs.Run("run", ["t%d" % (i % 8 + 1), "t%d" % (i % 5 + 1)], []) for i in range(24)]
    program = sequence_programs.Program(statements, runs, "None", 0)
    smallest = sequence_shrinker.Shrinker(Pretended(True), Pretended(False)).shrink(program)
    assert [run.fetches for run in smallest.runs] == [["t2"], ["t3"]]
    assert [s.name for s in smallest.statements] == ["t2", "t3"]


@pytest.mark.skipif(not (LongRun.is_on and os.environ.get("TF1_PYTHON")), reason="for hours; needs --long, and TF1_PYTHON with TensorFlow 1.15")
def test_seeds_without_end_give_what_tensorflow_gives():
    theirs, ours = sequence_shrinker.Worker(os.environ["TF1_PYTHON"]), sequence_shrinker.Worker(sys.executable)
    for seed in itertools.count(FIRST_LONG):
        program = sequence_drawing.draw(seed)
        expected = theirs.outcome(program)
        if expected is not None:
            found = ours.outcome(program)
            assert found is not None, f"seed {seed} ends the process"
            assert not sequences.differences(program, found, expected), f"python -m generated.sequence_shrinker {seed}"
