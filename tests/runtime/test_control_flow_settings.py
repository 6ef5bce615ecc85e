"""Which environment variables make branches and loops nodes that run functions, as TensorFlow 1.15.5 reads them."""

import runpy

import pytest

from tfcompat._src.ops.control import control_flow_util


@pytest.mark.parametrize(
    ("variables", "is_on"),
    [
        ({}, False),
        ({"TF2_BEHAVIOR": "1"}, True),
        ({"TF_ENABLE_CONTROL_FLOW_V2": "1"}, True),
        ({"TF_ENABLE_CONTROL_FLOW_V2": "0", "TF2_BEHAVIOR": "1"}, False),
    ],
)
def test_environment(variables, is_on, monkeypatch):
    for name in ("TF2_BEHAVIOR", "TF_ENABLE_CONTROL_FLOW_V2"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert runpy.run_path(control_flow_util.__file__)["ENABLE_CONTROL_FLOW_V2"] is is_on
