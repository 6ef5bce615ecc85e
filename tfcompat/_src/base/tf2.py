"""`tensorflow.python.tf2`: the switch for TensorFlow 2 behaviour.

As in 1.15, the switch changes nothing by itself: only code that reads `enabled()` behaves differently.
"""

from __future__ import annotations

import os

_force_enable: bool | None = None


def enable() -> None:
    """Turns TensorFlow 2 behaviour on."""
    global _force_enable
    _force_enable = True


def disable() -> None:
    """Turns TensorFlow 2 behaviour off."""
    global _force_enable
    _force_enable = False


def enabled() -> bool:
    """Returns whether TensorFlow 2 behaviour is on; until it is set, the environment variable TF2_BEHAVIOR decides."""
    return os.getenv("TF2_BEHAVIOR", "0") != "0" if _force_enable is None else _force_enable
