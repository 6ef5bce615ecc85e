"""`tensorflow.python.util.tf_contextlib`: context managers that say what they are made of."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from tfcompat._src.shim.internal.tf_decorator import make_decorator


def contextmanager(target: Callable[..., Any]) -> Callable[..., Any]:
    """A context manager made of a generator function."""
    return make_decorator(target, contextlib.contextmanager(target), "contextmanager")
