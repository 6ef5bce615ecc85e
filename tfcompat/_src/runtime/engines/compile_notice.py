"""Tells a user at a terminal, once per process, that compiling took long, and whether the compiled program is cached on disk."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from time import monotonic

from tfcompat._src.base import jax_compat
from tfcompat._src.runtime.ir.plan import Cluster

SECONDS = 5.0
"""Compiling for less time is not reported."""


class Notice:
    """Whether this process has printed the notice."""

    was_given = False


@contextlib.contextmanager
def timed(cluster: Cluster) -> Iterator[None]:
    """Context manager around the compilation of a cluster: prints how long it took, if that was long and standard error is a terminal."""
    begin = monotonic()
    yield
    seconds = monotonic() - begin
    if seconds < SECONDS or Notice.was_given or sys.stderr is None or sys.stderr.closed or not sys.stderr.isatty():
        return
    Notice.was_given = True
    operations = sum(len(item.operations) for item in cluster.items)
    kept = "kept for the next run" if jax_compat.keeps_programs() else "not kept for the next run, as `tfcompat run` would do"
    # A terminal that has been closed does not fail the run.
    with contextlib.suppress(OSError):
        sys.stderr.write(f"tfcompat: compiled {operations} operations{_known_by(cluster)} in {seconds:.0f} s; {kept}\n")


def _known_by(cluster: Cluster) -> str:
    """Text that names a cluster by its last result or variable, for a user to recognize; "" if it has neither."""
    named = [t.op.name for t in cluster.outputs] or [op.name for op in (*cluster.updates, *cluster.overwrites)]
    return f" (for {named[-1]})" if named else ""
