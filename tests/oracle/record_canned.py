"""Writes tests/golden/estimator/{heads,canned,learn}.json.gz with TensorFlow 1.15: `python tests/oracle/record_canned.py`."""

import os
import sys
import tempfile

import tensorflow as tf

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [ROOT, os.path.dirname(os.path.abspath(__file__))]
import golden  # noqa: E402
from estimator import boosted_trees_programs, learn_programs  # noqa: E402
from estimator import canned_programs as programs  # noqa: E402

FOLDER = os.path.join(ROOT, "golden", "estimator")
heads = {
    kind: {
        name: {mode: programs.head_outcome(tf, case, mode, kind == "v2") for mode in programs.MODES}
        for name, case in getattr(programs, kind)(tf).items()
    }
    for kind in ("v1", "v2")
}
golden.write(os.path.join(FOLDER, "heads.json.gz"), heads)
canned = {
    name: programs.canned_outcome(tf, case, tempfile.mkdtemp()) for name, case in programs.canned(tf).items()
}
golden.write(os.path.join(FOLDER, "canned.json.gz"), canned)
learn = {name: program(tf, tempfile.mkdtemp()) for name, program in learn_programs.PROGRAMS.items()}
golden.write(os.path.join(FOLDER, "learn.json.gz"), learn)
trees = {name: program(tf, tempfile.mkdtemp()) for name, program in boosted_trees_programs.PROGRAMS.items()}
refused = boosted_trees_programs.refusals(tf, tempfile.mkdtemp())
golden.write(os.path.join(FOLDER, "boosted_trees.json.gz"), {"programs": trees, "refusals": refused})
