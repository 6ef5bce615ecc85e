"""What runs in and beside branches, run after run, equals 1.15: values, state, streams and errors."""

import json
from pathlib import Path

import branch_outcomes
import branch_programs  # noqa: F401  (adds its programs)
import numpy as np
import pytest
import routing_programs  # noqa: F401  (the same)
from branch_kinds import PROGRAMS

import tfcompat as tf
from tfcompat._src.ops.control import branch_ops

RECORDED = json.loads((Path(__file__).resolve().parent.parent / "golden" / "runtime" / "branches.json").read_text())


class Flow:
    switch = staticmethod(branch_ops.switch)
    switch_ref = staticmethod(branch_ops.switch_ref_or_tensor)
    merge = staticmethod(branch_ops.merge)


@pytest.mark.parametrize("engine", ["interpret", "compile"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_each_run_gives_what_1_15_gives(name, engine, monkeypatch):
    monkeypatch.setenv("TFCOMPAT_ENGINE", engine)
    found = branch_outcomes.outcomes(PROGRAMS[name], tf, Flow)
    assert len(found) == len(RECORDED[name])
    for number, (here, there) in enumerate(zip(found, RECORDED[name])):
        _compare(here, there, number)


def _compare(here, there, number):
    if isinstance(there, dict) or isinstance(here, dict):
        assert here == there, f"run {number}"
    elif isinstance(there, list) and any(isinstance(t, (list, type(None))) for t in there):
        assert len(here) == len(there)
        for h, t in zip(here, there):
            _compare(h, t, number)
    elif there is None or isinstance(there, str) or isinstance(there, list) and there and isinstance(there[0], str):
        assert here == there, f"run {number}"
    else:
        np.testing.assert_allclose(here, there, rtol=1e-6, err_msg=f"run {number}")
