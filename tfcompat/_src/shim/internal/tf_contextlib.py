"""`tensorflow.python.util.tf_contextlib`: `contextlib.contextmanager` as a TensorFlow decorator, which `unwrap` sees through."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from tfcompat._src.shim.internal.tf_decorator import make_decorator


def contextmanager(target: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: makes a context manager from a generator function."""
    return make_decorator(target, contextlib.contextmanager(target), "contextmanager")
