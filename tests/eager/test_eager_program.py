"""Eager execution against what TensorFlow 1.15.5 gives for the same program."""

import json
from pathlib import Path

import children
import numpy as np
import pytest

HERE = Path(__file__).resolve().parent
WANTED = json.loads((HERE.parent / "golden/eager_program.json").read_text())
PROGRAM = """
import json, sys
sys.path.insert(0, sys.argv[1])
import tfcompat as tf
import eager_program
tf.enable_eager_execution()
print(json.dumps(eager_program.results(tf)))
"""


@pytest.fixture(scope="module")
def found():
    """What the program gives in a process where eager execution is on."""
    done = children.warm("-c", PROGRAM, HERE)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def flat(value):
    return [x for v in value for x in flat(v)] if isinstance(value, list) else [value]


@pytest.mark.parametrize("part", WANTED)
def test_part(part, found):
    np.testing.assert_allclose(flat(found[part]), flat(WANTED[part]), rtol=2e-6)


def test_all_parts_ran(found):
    assert found.keys() == WANTED.keys()
