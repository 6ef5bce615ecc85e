"""What the package says of itself, and the distribution that answers to the name `tensorflow`."""

import pathlib
import re
import sys
import tomllib

import children
import pytest

import tfcompat as tf
from tfcompat._src.runtime.devices.hardware import HARDWARE

ROOT = pathlib.Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_accelerators_come_with_the_same_jax():
    supported = next(each.removeprefix("jax") for each in PROJECT["dependencies"] if each.startswith("jax>"))
    extras = PROJECT["optional-dependencies"]
    assert extras["gpu"] == [f"jax[cuda13]{supported}"] and extras["tpu"] == [f"jax[tpu]{supported}"]


def test_doctor_advises_what_the_extras_install():
    for name, extra in [("NVIDIA GPU", "gpu"), ("TPU", "tpu")]:
        (advice,) = [hardware.advice for hardware in HARDWARE if hardware.name == name]
        (installed,) = PROJECT["optional-dependencies"][extra]
        assert advice.startswith(f'pip install "{installed.partition(">")[0]}"')


def test_the_distribution_named_tensorflow():
    project = tomllib.loads((ROOT / "packaging/tensorflow/pyproject.toml").read_text())["project"]
    assert (project["name"], project["version"]) == ("tensorflow", tf.__version__)
    assert project["dependencies"] == [PROJECT["name"]] and project["requires-python"] == PROJECT["requires-python"]
    assert "Private :: Do Not Upload" in project["classifiers"], "an index must refuse it"
    assert not any(each.startswith("tensorflow") for each in PROJECT["dependencies"]), "it is never installed by default"


def test_the_module_named_tensorflow_is_tfcompat():
    program = "from tensorflow.python.framework import ops; import tensorflow, tfcompat; print(tensorflow is tfcompat, ops.Graph is tfcompat.Graph)"
    done = children.warm("-c", program, PYTHONPATH=str(ROOT / "packaging/tensorflow"))
    assert done.stdout == "True True\n", done.stderr


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="its collector has no such generations")
def test_no_collection_goes_through_what_was_imported():
    done = children.python("-c", "import gc, tfcompat; print(*(len(gc.get_objects(g)) for g in range(3)))")
    youngest, middle, oldest = map(int, done.stdout.split())
    assert youngest + middle < 10_000 < oldest, done


def test_workflows_try_each_python_that_the_readme_names():
    first, last = re.search(r"Python 3\.(\d+) to 3\.(\d+)", (ROOT / "README.md").read_text()).groups()
    wanted = [f"3.{minor}" for minor in range(int(first), int(last) + 1)]
    workflow = (ROOT / ".github/workflows/tests.yml").read_text()
    assert re.search(r"^ +python: \[(.*)\]$", workflow, re.MULTILINE)[1] == ", ".join(f'"{each}"' for each in wanted)
    assert PROJECT["requires-python"] == f">={wanted[0]}"


def test_versions_agree():
    version = PROJECT["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"\n## {version}" in (ROOT / "CHANGELOG.md").read_text()
