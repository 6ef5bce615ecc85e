"""Names of files are UTF-8 on the disk, as in TensorFlow, where Python takes the system's names for ASCII too."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

import tfcompat

PROGRAM = pathlib.Path(__file__).with_name("names_beyond_ascii.py")
ROOT = os.path.dirname(os.path.dirname(tfcompat.__file__))


@pytest.mark.parametrize(
    "language", [{"LANG": "C.UTF-8"}, {"LANG": "C"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}]
)
def test_training_records_and_listing(tmp_path, language):
    environment = {name: value for name, value in os.environ.items() if name not in ("LANG", "LC_ALL", "LC_CTYPE")}
    command = [sys.executable, str(PROGRAM), str(tmp_path)]
    done = subprocess.run(
        command, env={**environment, **language, "PYTHONPATH": ROOT}, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    assert json.loads(done.stdout.splitlines()[-1]) == {
        "checkpoint": "modèle_中/model.ckpt-10",
        "records": ["one"],
        "names": ["é.tfrecord", "ü.txt"],
        "matches": ["ü.txt"],
        "walked": ["modèle_中"],
    }
    assert "é.tfrecord" in os.listdir(tmp_path / "modèle_中")
