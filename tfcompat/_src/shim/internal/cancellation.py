"""`tensorflow.python.eager.cancellation`: cancels running function calls from another thread."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tfcompat._src.base import errors, run_limits


class CancellationManager:
    """Cancels the calls of functions that `get_cancelable_function` returned."""

    def __init__(self) -> None:
        self._is_cancelled = False

    @property
    def is_cancelled(self) -> bool:
        """Whether `start_cancel` has been called."""
        return self._is_cancelled

    def start_cancel(self) -> None:
        """Cancels blocked calls, which raise CancelledError, and all later ones."""
        self._is_cancelled = True

    def get_cancelable_function(self, concrete_function: Callable[..., Any]) -> Callable[..., Any]:
        """Returns a function that calls a concrete function, and raises CancelledError after `start_cancel` was called."""

        @functools.wraps(concrete_function.__call__)  # type: ignore[operator]  # a concrete function, which is taken as an object
        def cancelable(*args: Any, **kwargs: Any) -> Any:
            if self._is_cancelled:
                raise errors.CancelledError(None, None, f"[Op:{concrete_function.name}]")  # type: ignore[attr-defined]  # as above
            # Operations that block (a dequeue) poll this condition. There is no time limit (0).
            with run_limits.within(0, lambda: self._is_cancelled):
                return concrete_function(*args, **kwargs)

        return cancelable
