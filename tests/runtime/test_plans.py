"""Where the operations of forty small programs run, and by which rule: a change of policy is seen here."""

import json

import plan_programs
import pytest

KEPT = json.loads(plan_programs.GOLDEN.read_text())


def test_every_program_is_kept():
    assert sorted(KEPT) == sorted(plan_programs.PROGRAMS)
    assert len(KEPT) >= 40


@pytest.mark.parametrize("name", plan_programs.PROGRAMS)
def test_operations_run_where_they_did(name):
    assert plan_programs.plan_of(name) == KEPT[name], "if that is meant: python tests/runtime/plan_programs.py"
