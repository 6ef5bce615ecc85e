"""What `tfcompat run` restores for a program: names, functions, NumPy's rule of promotion, sources, modules of other packages."""

from __future__ import annotations

import logging
import multiprocessing
import multiprocessing.context
import os
import sys
import warnings

import numpy as np

from tfcompat._src.base import promotion
from tfcompat._src.cli.legacy import messages, names, numpy_functions, packages, python_functions, sources


def fork_children() -> None:
    """Makes children by fork on Linux, as Python did until 3.14, unless the program chooses another way."""
    default = multiprocessing.context._default_context
    if sys.platform == "linux" and default._default_context.get_start_method() != "fork":
        default._default_context = multiprocessing.get_context("fork")


def quieten() -> None:
    """Silences what a program of 2019 did not see: JAX's log lines below warnings, and Python's warnings of old string escapes."""
    if logging.getLogger("jax").level == logging.NOTSET and not os.environ.get("JAX_LOGGING_LEVEL"):
        logging.getLogger("jax").setLevel(logging.WARNING)
    for text in (r".*invalid (octal )?escape sequence", '"is( not)?" with '):
        warnings.filterwarnings("ignore", text, SyntaxWarning, append=True)


def restore() -> None:
    """Applies all of it to this process. Calling it again does nothing."""
    if any(isinstance(finder, names.Finder) for finder in sys.meta_path):
        return
    np.set_printoptions(legacy="1.21")
    fork_children()
    quieten()
    for part in (names, python_functions, numpy_functions, sources, packages, messages):
        part.restore()
    if promotion.CAN_BE_OLD:
        promotion.be_old()
