"""`tensorflow.python.util.keyword_args`: functions that take named arguments only."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tfcompat._src.shim.internal.decorator_utils import validate_callable


def keyword_args_only(func: Callable[..., Any]) -> Callable[..., Any]:
    """A function that raises ValueError where it is called with positional arguments.

    Raises:
      ValueError: `func` cannot be called.
    """
    validate_callable(func, "keyword_args_only")

    @functools.wraps(func)
    def named_only(*args: Any, **kwargs: Any) -> Any:
        if args:
            raise ValueError(f"Must use keyword args to call {func.__name__}.")
        return func(**kwargs)

    return named_only
