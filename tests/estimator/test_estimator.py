"""Estimators against TensorFlow 1.15 (tests/oracle/record_estimator.py)."""

import pathlib

import numpy as np
import pytest
from oracle import golden

import tfcompat as tf
from estimator import estimator_programs as programs
from estimator import estimator_refusals as refusals

FOLDER = pathlib.Path(__file__).parent.parent / "golden" / "estimator"
GOLDEN = golden.read(FOLDER / "programs.json.gz")
REFUSALS = golden.read(FOLDER / "refusals.json.gz")


def check(found, wanted, where):
    """The same nested values, floats up to rounding."""
    if isinstance(wanted, float):
        np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=1e-5, err_msg=where)
    elif isinstance(wanted, dict):
        assert sorted(found) == sorted(wanted), where
        for key in wanted:
            check(found[key], wanted[key], f"{where}.{key}")
    elif isinstance(wanted, list):
        assert len(found) == len(wanted), f"{where}: {found} and not {wanted}"
        for i, (a, b) in enumerate(zip(found, wanted, strict=True)):
            check(a, b, f"{where}[{i}]")
    else:
        assert found == wanted, where


@pytest.mark.parametrize("name", programs.PROGRAMS)
def test_program(name, tmp_path):
    found = programs.outcome(tf, programs.PROGRAMS[name], str(tmp_path))
    check(found["found"], GOLDEN[name]["found"], name)
    assert found["lines"] == GOLDEN[name]["lines"]


@pytest.fixture(scope="module")
def refused():
    return refusals.outcomes(tf)


@pytest.mark.parametrize("name", refusals.specs(tf))
def test_what_is_refused(name, refused):
    assert refused["raised"][name] == REFUSALS["raised"][name]


@pytest.mark.parametrize("number", range(len(refusals.SETTINGS)))
def test_configuration_of_the_environment(number, refused):
    assert refused["configs"][number] == REFUSALS["configs"][number]
