"""`tensorflow.python.autograph.utils.testing`: a small module that replaces TensorFlow in tests of AutoGraph."""

from __future__ import annotations

import types

from tfcompat._src.shim.modules import find

_PARTS = ("tensorflow.python.ops.gen_math_ops", "tensorflow.python.ops.math_ops", "tensorflow.python.framework.ops")


def fake_tf() -> types.ModuleType:
    """Makes a module named `tensorflow` with the names of 1.15's `gen_math_ops`, `math_ops` and `ops`."""
    made = types.ModuleType("tensorflow")
    for part in map(find, _PARTS):
        names = [name for name in dir(part) if hasattr(part, name)]
        vars(made).update({name: getattr(part, name) for name in names})
    return made
