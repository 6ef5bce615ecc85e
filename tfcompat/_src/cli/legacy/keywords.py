"""Functions that take keywords which they took under another name, or which no longer mean anything."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

Tables = dict[str, Callable[[Any], dict[Any, dict[str, Any]]]]
"""Module -> given the module, owner -> names and their values."""


def taking(
    function: Callable[..., Any], renamed: Mapping[str, str] = {}, ignored: tuple[str, ...] = (), defaults: Mapping[str, Any] = {}  # noqa: B006
) -> Callable[..., Any]:
    """A function that takes keywords by their earlier names.

    Args:
      function: the function of today.
      renamed: earlier name -> name of today.
      ignored: keywords without effect on what is computed, that are dropped.
      defaults: keywords that had another default.

    Returns:
      A function with the signature of `function`.
    """

    @functools.wraps(function)
    def wrapped(*arguments: Any, **options: Any) -> Any:
        for old, new in renamed.items():
            if old in options:
                options[new] = options.pop(old)
        for name in ignored:
            options.pop(name, None)
        return function(*arguments, **{**defaults, **options})

    return wrapped
