"""`python -m benchmarks.paths`: every path takes a step, and the command prints a line for each that is asked for."""

import subprocess
import sys

import numpy as np
import pytest

import tfcompat as tf
from benchmarks import paths
from benchmarks.subjects import ROOT, environment
from benchmarks.workloads.path import PATHS

SLOW = ("tensor_forest", "ctc_beam_search", "nce_loss_adam", "sampled_softmax_adam")


@pytest.mark.parametrize("path", [p for p in PATHS if not p.startswith("eager_") and p not in SLOW])
def test_a_step_of_a_path(path):
    with tf.Graph().as_default():
        assert np.isfinite(np.concatenate([np.ravel(x) for x in PATHS[path](tf)() if isinstance(x, (np.ndarray, np.generic))])).all()


def test_the_command_prints_a_line_for_each_path():
    command = [sys.executable, "-m", "benchmarks.paths", "eager_add", "unsorted_segment_sum", "--rounds", "1", "--warm-up", "0", "--seconds", "0"]
    done = subprocess.run(command, env={**environment(), "TF1_PYTHON": ""}, cwd=ROOT, capture_output=True, text=True, check=True)
    header, *lines = done.stdout.splitlines()
    assert header.split()[:2] == ["path", "tfcompat,"]
    assert [line.split()[0] for line in lines] == ["eager_add", "unsorted_segment_sum"]
    assert all(float(line.split()[1]) > 0 for line in lines)


def test_a_path_that_does_not_exist_is_refused(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["paths", "no_path"])
    with pytest.raises(SystemExit):
        paths.main()
    assert "unknown: no_path" in capsys.readouterr().err
