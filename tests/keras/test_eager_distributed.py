"""Keras models under strategies train as in 1.15.5."""

import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent


@pytest.mark.parametrize("program", ["eager_distributed", "distributed_inputs", "autocast_variables"])
def test_what_1_15_5_prints(program):
    done = subprocess.run([sys.executable, "-m", "tfcompat", "run", HERE / f"{program}.py"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == (HERE / f"{program}_expected.txt").read_text()
