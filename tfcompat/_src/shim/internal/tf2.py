"""`tensorflow.python.tf2`: the note that a program has asked for TensorFlow 2 behaviour.

As in 1.15, only those who ask for it with `enabled` behave differently.
"""

from __future__ import annotations

import os

_state: list[bool] = []


def enable() -> None:
    """Notes that TensorFlow 2 behaviour is wanted."""
    _state[:] = [True]


def disable() -> None:
    """Notes that it is not wanted."""
    _state[:] = [False]


def enabled() -> bool:
    """What was noted last; by default what the environment variable TF2_BEHAVIOR says."""
    return _state[0] if _state else os.getenv("TF2_BEHAVIOR", "0") != "0"
