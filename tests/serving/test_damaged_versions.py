"""A version with damaged or missing files is not served, its status says why, and the version before it answers on."""

import pathlib
import shutil

import numpy as np
import pytest

import tfcompat as tf  # noqa: F401  (all operations)
from tfcompat._src.proto import messages
from tfcompat._src.serving import inference, server_config
from tfcompat._src.serving.manager import Loading, Manager
from tfcompat._src.serving.prepare import prepare
from tfcompat._src.serving.servable import Servable

CLASSIFIER = pathlib.Path(__file__).parents[1] / "golden" / "saved_model" / "classifier"


def load(name, version, path):
    servable = Servable(name, version, path, ["serve"])
    prepare(servable)
    return servable


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


@pytest.fixture
def served(tmp_path):
    """The folder of a model, whose version 1 is served, and its manager."""
    shutil.copytree(CLASSIFIER, tmp_path / "m" / "1")
    manager = Manager(Loading(load, poll_seconds=0, retries=0))
    manager.start(server_config.of_one_model("m", str(tmp_path / "m")))
    yield tmp_path / "m", manager
    manager.stop()


@pytest.mark.parametrize("file, damage", [
    ("assets/*", pathlib.Path.unlink), ("variables/variables.index", pathlib.Path.unlink), ("variables/variables.data*", pathlib.Path.unlink),
    ("saved_model.pb", pathlib.Path.unlink), ("saved_model.pb", cut), ("variables/variables.index", cut), ("variables/variables.data*", cut),
])  # fmt: skip
def test_the_old_version_answers_on(served, file, damage):
    base, manager = served
    shutil.copytree(CLASSIFIER, base.parent / "2")
    damage(next((base.parent / "2").glob(file)))
    (base.parent / "2").rename(base / "2")
    manager.poll()
    spec = messages.serving.ModelSpec(name="m")
    newer, older = manager.status(spec).model_version_status
    assert (newer.version, newer.state, older.version, older.state) == (2, 50, 1, 30)
    assert newer.status.error_code and newer.status.error_message
    with manager.use(spec) as servable:
        assert servable.version == 1
        inference.predict(servable, "serving_default", {"images": np.zeros([1, 8, 8, 3], np.float32)})
