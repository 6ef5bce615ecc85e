"""What a failed check becomes: the error class of 1.15, the node, and the values."""

from __future__ import annotations

import numpy as np

from tfcompat._src.framework import checks, errors


def first_failure(found: list[checks.Check], flags: tuple) -> errors.OpError:
    """The error of the first check that is false."""
    _, oks, values = flags
    for check, ok, shown in zip(found, oks, values):
        if not bool(ok):
            return check.failure(check.merge_values([np.asarray(v) for v in shown]))
    raise RuntimeError("a check was reported as failed, but each of them holds")
