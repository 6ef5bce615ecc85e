"""The settings of the process that tfcompat changes, and when it does.

An import changes none. The first session, or the first eager operation, applies those that a library needs (docs/library.md lists them), and
`tfcompat run` all. TFCOMPAT_KEEP_PROCESS leaves some as they are: names with commas between them, or "all".
"""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable, Mapping
from types import MappingProxyType

from tfcompat._src.base import jax_compat

_KEPT = frozenset(os.environ.get("TFCOMPAT_KEEP_PROCESS", "").replace(" ", "").split(","))


def _quiet_jax() -> None:
    """JAX logs missing backends at level INFO, and traces at DEBUG; a program that turns these levels on means its own lines."""
    if logging.getLogger("jax").level == logging.NOTSET:  # JAX_LOGGING_LEVEL sets it
        logging.getLogger("jax").setLevel(logging.WARNING)


def _quiet_forks() -> None:
    """JAX warns of every fork because of its threads, and Python from 3.12 on because of any threads.

    A forked process that runs no operations needs no JAX, and one that does gets an error of its own.
    """
    warnings.filterwarnings("ignore", r"os\.fork\(\) was called", RuntimeWarning)
    warnings.filterwarnings("ignore", r"This process \(pid=\d+\) is multi-threaded, use of fork\(\)", DeprecationWarning)


OF_LIBRARY: Mapping[str, Callable[[], None]] = MappingProxyType({
    "malloc": jax_compat.keep_freed_memory,
    "gc_callback": jax_compat.free_arrays_in_c,
    "source_names": jax_compat.keep_source_names_utf8,
    "fork": jax_compat.prepare_for_forks,
})  # fmt: skip
"""By name, what the first session changes."""
OF_COMMAND: Mapping[str, Callable[[], None]] = MappingProxyType({**OF_LIBRARY, "jax_logger": _quiet_jax, "fork_warnings": _quiet_forks})
"""By name, what `tfcompat run` changes."""
_applied: set[str] = set()


def apply(settings: Mapping[str, Callable[[], None]] = OF_LIBRARY) -> None:
    """Applies settings that are not applied yet and that the user does not keep."""
    if _applied >= settings.keys():
        return
    for name, change in settings.items():
        if name not in _applied:
            _applied.add(name)
            if name not in _KEPT and "all" not in _KEPT:
                change()
