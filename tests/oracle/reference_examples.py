"""Runs the examples of docs/reference.txt in TensorFlow 1.15.5: what they print there is what the page shows.

    /path/to/tensorflow-1.15.5/bin/python tests/oracle/reference_examples.py
"""

import doctest
import logging
import os
import pathlib
import sys
import tempfile
import unittest
import warnings

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
warnings.simplefilter("ignore")
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

logging.disable(logging.WARNING)
path = pathlib.Path(__file__).parents[2] / "docs" / "reference.txt"
text = path.read_text().replace("\n\n", "\n\n\n")
names = {"np": np, "os": os, "tempfile": tempfile, "tf": tf, "unittest": unittest, "__name__": "__main__"}
example = doctest.DocTestParser().get_doctest(text, names, path.name, str(path), 0)
sys.exit(doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example).failed)
