"""What is said where JAX lacks a name that is used."""

import children
import jax
import pytest

LACKING = """
import importlib
import sys

module, _, name = sys.argv[1].rpartition(".")
delattr(importlib.import_module(module), name)
import tfcompat
"""


@pytest.mark.parametrize("name", ["jax._src.xla_bridge.backends_are_initialized", "jax._src.compilation_cache.get_file_cache", "jax.extend.core.JaxprEqn"])
def test_a_name_that_jax_lacks_is_said(name):
    done = children.python("-c", LACKING, name)
    said = done.stderr.strip().splitlines()[-1]
    assert said.startswith(f"ImportError: JAX {jax.__version__} does not have a name that tfcompat uses: ")
    assert name.rpartition(".")[2] in said and "tfcompat works with jax>=" in said
