"""A server with the models of golden/serving, for all tests that do not change it; and the values of TensorFlow 1.15 for them."""

import json
import pathlib
import sys

import pytest

import tfcompat as tf  # noqa: F401  (all operations)
from tfcompat._src.serving.server import ModelServer, Settings

sys.path.insert(0, str(pathlib.Path(__file__).parent))  # the modules beside the tests
GOLDEN = pathlib.Path(__file__).parents[1] / "golden" / "serving"
CONFIG = """
model_config_list {
  config {
    name: "half" base_path: "%s/half_plus" model_platform: "tensorflow"
    model_version_policy { all {} }
    version_labels { key: "stable" value: 2 }
  }
  config { name: "types" base_path: "%s/types" model_platform: "tensorflow" }
}
""" % (GOLDEN, GOLDEN)


@pytest.fixture(scope="session")
def values():
    return json.loads((GOLDEN / "values.json").read_text())


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """A ModelServer at free ports of this machine; it looks at the disk once."""
    folder = tmp_path_factory.mktemp("serving")
    (folder / "models").write_text(CONFIG)
    (folder / "monitoring").write_text("prometheus_config { enable: true }")
    server = ModelServer(
        Settings(
            host="127.0.0.1", port=0, rest_api_port=0, file_system_poll_wait_seconds=0, max_num_load_retries=0,
            model_config_file=str(folder / "models"), monitoring_config_file=str(folder / "monitoring"), enable_grpc_healthcheck_service=True,
            rest_api_max_body_bytes=10**6,
        )  # fmt: skip
    )
    server.start()
    yield server
    server.stop()
