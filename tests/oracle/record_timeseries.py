"""Writes tests/golden/estimator/timeseries.json.gz with TensorFlow 1.15: `python tests/oracle/record_timeseries.py`."""

import importlib
import os
import sys
import tempfile

import tensorflow as tf

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(ROOT, "estimator"), os.path.dirname(os.path.abspath(__file__))]
import golden  # noqa: E402
import timeseries_programs as programs  # noqa: E402
import timeseries_values as values  # noqa: E402


def modules(name):
    return importlib.import_module("tensorflow.contrib.timeseries.python.timeseries." + name)


def record():
    found = {name: programs.outcome(tf, modules, program, tempfile.mkdtemp()) for name, program in programs.PROGRAMS.items()}
    found.update({name: values.values(tf, modules, table) for name, table in values.TABLES.items()})
    found["batches"] = values.batches(tf, tempfile.mkdtemp())
    found["refusals"] = values.refusals(tf, modules, tempfile.mkdtemp())
    return found


golden.write(os.path.join(ROOT, "golden", "estimator", "timeseries.json.gz"), record())
