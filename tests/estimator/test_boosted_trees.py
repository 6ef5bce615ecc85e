"""Boosted trees against TensorFlow 1.15 (tests/oracle/record_canned.py): trees node for node, metrics, predictions."""

import pathlib

import pytest
from oracle import golden

import tfcompat as tf
from estimator import boosted_trees_programs as programs
from estimator.test_canned import check

RECORDED = golden.read(pathlib.Path(__file__).parent.parent / "golden" / "estimator" / "boosted_trees.json.gz")


@pytest.mark.parametrize("name", programs.PROGRAMS)
def test_boosted_trees(name, tmp_path):
    found = golden.unpack(golden.pack(programs.PROGRAMS[name](tf, str(tmp_path))))
    check(found, RECORDED["programs"][name], name, 2e-5)


def test_what_is_refused(tmp_path):
    assert programs.refusals(tf, str(tmp_path)) == RECORDED["refusals"]
