"""Functions of TensorFlow's own modules that tfcompat does not have say so by name, with the reason."""

import importlib

import pytest

from tfcompat._src.shim.internal import autograph_converters, parameter_server
from tfcompat._src.shim.real_modules import REAL_MODULES

PASSES = (
    "arg_defaults", "asserts", "break_statements", "call_trees", "conditional_expressions", "continue_statements", "control_flow", "directives",
    "function_scopes", "list_comprehensions", "lists", "logical_expressions", "return_statements", "slices",
)  # fmt: skip


@pytest.mark.parametrize("name", PASSES)
def test_passes_of_autograph(name):
    module = importlib.import_module(REAL_MODULES[f"tensorflow.python.autograph.converters.{name}"])
    assert module.transform is autograph_converters.transform
    with pytest.raises(NotImplementedError, match="converters.*transform"):
        module.transform(None, None)


def test_eager_parameter_servers():
    with pytest.raises(NotImplementedError, match="parameter_server_scope"):
        parameter_server.parameter_server_scope(is_chief=True, ps_job_name="ps", num_ps_tasks=1)
    with pytest.raises(NotImplementedError, match="SharedVariable"):
        parameter_server.SharedVariable(name="v", shape=[], dtype="float32", initializer=None)
