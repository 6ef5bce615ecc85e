"""Packages of tf.contrib against TensorFlow 1.15 (tests/oracle/record_contrib.py)."""

import importlib
import math
import pathlib

import numpy as np
import pytest
from oracle import golden

import tfcompat as tf
from contrib import outcomes

FOLDER = pathlib.Path(__file__).parent.parent / "golden" / "contrib"
GOLDEN = {name: golden.read(FOLDER / f"{name}.json.gz") for name in outcomes.names()}
RTOL = 1e-5
"""float32 sums in another order; a file of programs may have its own RTOL, with the reason."""

tf.install_as_tensorflow()


def check(found, wanted, where, rtol):
    """The same nested values with the same dtypes, floats up to rounding."""
    if isinstance(wanted, dict):
        assert isinstance(found, dict) and sorted(found) == sorted(wanted), f"{where}: {found} and not {wanted}"
        for key in wanted:
            check(found[key], wanted[key], f"{where}.{key}", rtol)
    elif isinstance(wanted, list):
        assert len(found) == len(wanted), f"{where}: {found} and not {wanted}"
        for number, (a, b) in enumerate(zip(found, wanted, strict=True)):
            check(a, b, f"{where}[{number}]", rtol)
    elif isinstance(wanted, golden.Value):
        found = np.asarray(found)
        assert (found.shape, found.dtype.name) == (wanted.array.shape, wanted.dtype), where
        np.testing.assert_allclose(found, wanted.array, rtol=rtol, atol=rtol * np.abs(wanted.array).max(initial=0), err_msg=where)
    elif isinstance(wanted, float):
        assert found == pytest.approx(wanted, rel=rtol, abs=rtol) or math.isnan(wanted) and math.isnan(found), where
    else:
        assert found == wanted, where


@pytest.mark.parametrize(("name", "key"), [(name, key) for name in outcomes.names() for key in outcomes.programs(name)])
def test_program(name, key, tmp_path):
    rtol = getattr(importlib.import_module(f"contrib.{name}_programs"), "RTOL", RTOL)
    check(outcomes.outcome(tf, outcomes.programs(name)[key], str(tmp_path)), GOLDEN[name][key], f"{name}.{key}", rtol)


@pytest.mark.parametrize("name", outcomes.names())
def test_every_program_is_recorded(name):
    assert sorted(GOLDEN[name]) == sorted(outcomes.programs(name))
