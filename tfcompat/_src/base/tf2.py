"""`tensorflow.python.tf2`: the note that a program has asked for TensorFlow 2 behaviour.

As in 1.15, only those who ask for it with `enabled` behave differently.
"""

from __future__ import annotations

import os

_force_enable: bool | None = None


def enable() -> None:
    """Notes that TensorFlow 2 behaviour is wanted."""
    global _force_enable
    _force_enable = True


def disable() -> None:
    """Notes that it is not wanted."""
    global _force_enable
    _force_enable = False


def enabled() -> bool:
    """What was noted last; by default what the environment variable TF2_BEHAVIOR says."""
    return os.getenv("TF2_BEHAVIOR", "0") != "0" if _force_enable is None else _force_enable
