"""`tfcompat doctor`."""

import re

import jax
import pytest

from tfcompat._src.base import errors
from tfcompat._src.cli import doctor, timed_training
from tfcompat._src.runtime.devices.hardware import Hardware
from tfcompat._src.runtime.engines import choice


def test_report(capsys, monkeypatch):
    monkeypatch.setenv("TFCOMPAT_VIRTUAL_GPUS", "2")
    monkeypatch.setattr(doctor, "HARDWARE", ())
    assert doctor.main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert f"JAX {jax.__version__}" in lines[0] and "  TFCOMPAT_VIRTUAL_GPUS=2" in lines
    assert "/job:localhost/replica:0/task:0/device:GPU:1: cpu standing in; computes: ok, on GPU:1" in lines
    assert "  without tf.device: ok, on GPU:0" in lines and '  with tf.device("/cpu:0"): ok, on CPU:0' in lines
    (line,) = [line for line in lines if "/device:TPU:0" in line]
    assert "InvalidArgumentError" in line and line.endswith("allow_soft_placement=True ok, on GPU:0")


def test_missing_plugin_is_said(capsys, monkeypatch, tmp_path):
    (tmp_path / "chip0").touch()
    there = Hardware("GPU", "Test GPU", ((str(tmp_path), r"chip\d+"),), "no-such-plugin", "pip install it")
    monkeypatch.setattr(doctor, "HARDWARE", (there,))
    assert doctor.main([]) == 1
    assert "Test GPU: 1 in this machine, but JAX has no plugin for them. To get it: pip install it" in capsys.readouterr().out


def test_unused_plugin_is_said(capsys, monkeypatch, tmp_path):
    (tmp_path / "chip0").touch()
    there = Hardware("GPU", "Test GPU", ((str(tmp_path), r"chip\d+"),), "jax", "pip install it")
    monkeypatch.setattr(doctor, "HARDWARE", (there,))
    assert doctor.main([]) == 1
    assert f"JAX does not use them although jax {jax.__version__} is installed" in capsys.readouterr().out


@pytest.fixture
def no_hardware(monkeypatch):
    monkeypatch.setattr(doctor, "HARDWARE", ())


def test_compiled_training_is_timed(no_hardware, capsys, compile_counter):
    before, engine = compile_counter.count, choice.ENGINE
    assert doctor.main([]) == 0
    assert compile_counter.count > before and choice.ENGINE == engine
    (line,) = re.findall("^Training: .*", capsys.readouterr().out, re.MULTILINE)
    found = re.fullmatch(r"Training: 50 steps on CPU:0, loss 1\.000 -> (0\.\d+); the first took [\d.]+ s with compiling, the others [\d.]+ ms each", line)
    assert float(found[1]) < 1


def test_training_that_fails_is_said(no_hardware, capsys, monkeypatch):
    def fail():
        raise errors.ResourceExhaustedError(None, None, "no memory\nmore")

    monkeypatch.setattr(timed_training, "train", fail)
    assert doctor.main([]) == 1
    assert "Training: fails: no memory\n" in capsys.readouterr().out


def test_training_that_learns_nothing_is_a_fault(no_hardware, monkeypatch):
    monkeypatch.setattr(timed_training, "train", lambda: timed_training.Training("CPU:0", 1.0, 0.1, (1.0, 1.0)))
    assert doctor.main([]) == 1
