"""Training loops do, log, write and build what they do with TensorFlow 1.15.5."""

import json
from pathlib import Path

import pytest
from oracle import golden
from train import training_scripts

import tfcompat as tf

WANTED = golden.read(Path(__file__).resolve().parent.parent / "golden" / "training.json.gz")


@pytest.fixture(scope="module")
def observed(tmp_path_factory):
    """What can be seen of a script here; each runs once."""
    found = {}

    def of(name):
        if name not in found:
            folder = str(tmp_path_factory.mktemp(name))
            found[name] = json.loads(json.dumps(training_scripts.observe(tf, name, folder)))
        return found[name]

    return of


@pytest.mark.parametrize("name", sorted(WANTED))
@pytest.mark.parametrize("aspect", ["result", "log", "nodes", "files", "events"])
def test_script(observed, name, aspect):
    assert observed(name)[aspect] == WANTED[name][aspect]
