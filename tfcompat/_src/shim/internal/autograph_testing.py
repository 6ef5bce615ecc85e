"""`tensorflow.python.autograph.utils.testing`: a small module in place of TensorFlow."""

from __future__ import annotations

import types

from tfcompat._src.shim.modules import find

_PARTS = ("tensorflow.python.ops.gen_math_ops", "tensorflow.python.ops.math_ops", "tensorflow.python.framework.ops")


def fake_tf() -> types.ModuleType:
    """A new module named `tensorflow` with what the modules of mathematical functions and of graphs have."""
    made = types.ModuleType("tensorflow")
    for part in map(find, _PARTS):
        names = [name for name in dir(part) if hasattr(part, name)]
        vars(made).update({name: getattr(part, name) for name in names})
    return made
