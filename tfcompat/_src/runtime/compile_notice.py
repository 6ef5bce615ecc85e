"""Says on a terminal, once, that compiling took long: whoever waits learns why, and whether the next run waits again."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from time import monotonic

from tfcompat._src.base import jax_compat
from tfcompat._src.runtime.plan import Cluster

SECONDS = 5.0
"""What takes less is not spoken of."""


class Notice:
    """Whether this process has said it."""

    was_given = False


@contextlib.contextmanager
def timed(cluster: Cluster) -> Iterator[None]:
    """A block that compiles a cluster; afterwards, says how long that took if standard error is a terminal."""
    begin = monotonic()
    yield
    seconds = monotonic() - begin
    if seconds < SECONDS or Notice.was_given or sys.stderr is None or sys.stderr.closed or not sys.stderr.isatty():
        return
    Notice.was_given = True
    operations = sum(len(item.operations) for item in cluster.items)
    kept = "kept for the next run" if jax_compat.keeps_programs() else "not kept for the next run, as `tfcompat run` would do"
    with contextlib.suppress(OSError):  # a terminal that has gone away ends no run
        sys.stderr.write(f"tfcompat: compiled {operations} operations{_known_by(cluster)} in {seconds:.0f} s; {kept}\n")


def _known_by(cluster: Cluster) -> str:
    """A result or a variable that names a cluster to a person."""
    named = [t.op.name for t in cluster.outputs] or [op.name for op in (*cluster.updates, *cluster.overwrites)]
    return f" (for {named[-1]})" if named else ""
