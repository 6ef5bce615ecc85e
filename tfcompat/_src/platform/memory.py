"""How much memory this machine has."""

from __future__ import annotations

import functools
import os


@functools.cache
def total() -> int:
    """Bytes of memory that this machine has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
