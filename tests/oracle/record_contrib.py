"""Writes tests/golden/contrib/*.json.gz with TensorFlow 1.15: `python tests/oracle/record_contrib.py [name ...]`."""

import os
import sys
import tempfile

import tensorflow as tf

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [ROOT]
from contrib import outcomes  # noqa: E402

from oracle import golden  # noqa: E402

for name in sys.argv[1:] or outcomes.names():
    found = {key: outcomes.outcome(tf, program, tempfile.mkdtemp()) for key, program in outcomes.programs(name).items()}
    golden.write(os.path.join(ROOT, "golden", "contrib", name + ".json.gz"), found)
    raised = {key: found[key]["raises"] for key in found if isinstance(found[key], dict) and "raises" in found[key]}
    print("%s: %d programs; raise: %s" % (name, len(found), raised))
