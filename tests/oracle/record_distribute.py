"""Writes tests/golden/distribute/programs.json.gz with TensorFlow 1.15: `python tests/oracle/record_distribute.py`."""

import os
import sys

import tensorflow as tf

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(ROOT, "distribute"), os.path.dirname(os.path.abspath(__file__))]
import distribute_programs as programs  # noqa: E402
import golden  # noqa: E402

found = {name: programs.outcome(tf, program) for name, program in programs.PROGRAMS.items()}
golden.write(os.path.join(ROOT, "golden", "distribute", "programs.json.gz"), found)
