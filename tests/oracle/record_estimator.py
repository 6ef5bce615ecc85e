"""Writes tests/golden/estimator with TensorFlow 1.15: `python tests/oracle/record_estimator.py`."""

import os
import sys
import tempfile

import tensorflow as tf

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(ROOT, "estimator"), os.path.dirname(os.path.abspath(__file__))]
import estimator_programs as programs  # noqa: E402
import estimator_refusals as refusals  # noqa: E402
import golden  # noqa: E402

FOLDER = os.path.join(ROOT, "golden", "estimator")
found = {name: programs.outcome(tf, program, tempfile.mkdtemp()) for name, program in programs.PROGRAMS.items()}
golden.write(os.path.join(FOLDER, "programs.json.gz"), found)
golden.write(os.path.join(FOLDER, "refusals.json.gz"), refusals.outcomes(tf))
