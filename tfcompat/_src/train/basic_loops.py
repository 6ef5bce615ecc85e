"""tf.train.basic_train_loop."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tfcompat._src.base import errors
from tfcompat._src.base.export import export
from tfcompat._src.train.supervisor import Supervisor


@export("train.basic_train_loop")
def basic_train_loop(
    supervisor: Supervisor, train_step_fn: Callable, args: Iterable[Any] | None = None, kwargs: dict | None = None,
    master: str = "",
) -> None:  # fmt: skip
    """Calls `train_step_fn(session, *args, **kwargs)` until the supervisor stops; with a new session after AbortedError.

    Args:
      supervisor: a Supervisor.
      train_step_fn: one step. args, kwargs: further arguments for it.
      master: target of the session.
    """
    while True:
        try:
            with supervisor.managed_session(master) as sess:
                while not supervisor.should_stop():
                    train_step_fn(sess, *(args or ()), **(kwargs or {}))
            return
        except errors.AbortedError:
            continue
