"""Screens of the profiler against those of TensorFlow 1.15.5, which `profiles.py` has recorded."""

import json
import pathlib
import sys

import profiles
import pytest

import tfcompat as tf
from tfcompat._src.debug.cli.profile_analyzer_cli import ProfileAnalyzer

SCREENS = json.loads((pathlib.Path(profiles.RECORDED) / "profiles.json").read_text())


def test_screens_of_the_profiler(monkeypatch):
    monkeypatch.chdir(profiles.RECORDED)
    monkeypatch.setitem(sys.modules, "tensorflow", tf)
    for command, found, expected in zip(profiles.COMMANDS, profiles.screens(tf, ProfileAnalyzer), SCREENS, strict=True):
        assert json.loads(json.dumps(found)) == expected, command


def test_a_run_without_times():
    with pytest.raises(ValueError, match="No RunMetadata passed for profile analysis"):
        ProfileAnalyzer(tf.Graph(), None)
