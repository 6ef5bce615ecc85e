"""`python -m benchmarks.clusters`: one short round of training, and how figures are made."""

import json
import sys

import pytest

from benchmarks.clusters import KINDS, ClusterError, figure, running

REPORTS = [{"steps": 100.0, "median": 0.02, "updates": 40.0}, {"steps": 50.0, "median": 0.04, "updates": 39.0}]
TFCOMPAT = [sys.executable, "-m", "tfcompat", "run"]


@pytest.mark.parametrize("name, expected", [("mlp", 150.0), ("sync", 40.0), ("empty", 30.0)])
def test_figures_are_steps_updates_or_milliseconds(name, expected) -> None:
    assert KINDS[name].figure(REPORTS) == pytest.approx(expected)


def test_less_milliseconds_and_more_steps_are_faster() -> None:
    assert (KINDS["empty"].ratio(2.0, 3.0), KINDS["mlp"].ratio(30.0, 20.0)) == (1.5, 1.5)


@pytest.mark.parametrize("name", ["word2vec", "sync"])
def test_a_cluster_of_two_workers_takes_steps(name) -> None:
    with running(TFCOMPAT, name, 2, 0.5, 0.1) as tasks:
        assert [task.answer() for task in tasks] == ["ready\n"] * 2
        for task in tasks:
            task.go()
        reports = [json.loads(task.answer()) for task in tasks]
    assert all(set(report) == {"steps", "median", "updates"} and report["steps"] > 0 and report["median"] > 0 for report in reports)


def test_a_task_that_ends_says_what_it_wrote() -> None:
    with pytest.raises(ClusterError, match="there is no file"):
        figure([sys.executable, "-c", "raise SystemExit('there is no file')"], "empty", 1, 0.1, 0.1)
