"""Programs with Python control flow over tensors; the files run under TensorFlow 1.15 and under tfcompat alike.

Each program is called with the module `tf` in a new graph and gives a structure of tensors and Python values.
"""

from autograph.programs import (  # noqa: F401
    callers,
    calls_of_builtins,
    conditionals,
    for_loops,
    functions,
    lists,
    logic,
    returns,
    while_loops,
)
from autograph.programs.registry import PROGRAMS  # noqa: F401
