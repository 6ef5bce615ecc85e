"""Programs under strategies, against TensorFlow 1.15 (tests/oracle/record_distribute.py)."""

import pathlib

import numpy as np
import pytest
from oracle import golden

import tfcompat as tf
from distribute import distribute_programs as programs

GOLDEN = golden.read(pathlib.Path(__file__).parent.parent / "golden" / "distribute" / "programs.json.gz")


@pytest.mark.parametrize("name", programs.PROGRAMS)
def test_program(name):
    found, wanted = programs.outcome(tf, programs.PROGRAMS[name]), GOLDEN[name]
    assert found.get("error") == wanted.get("error")
    if "error" not in wanted:
        assert found["nodes"] == wanted["nodes"]
        assert found["collections"] == wanted["collections"]
        for got, want in zip(found["values"], wanted["values"], strict=True):
            for a, b in zip(got, want, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-5)
