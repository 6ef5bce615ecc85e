"""`tensorflow.python.util.lock_util`: a lock that is shared within a group of threads and exclusive between groups."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator


class GroupLock:
    """A lock that any number of threads of one group hold together, while those of the other groups wait.

    Raises:
      ValueError: `num_groups` is less than 1.
    """

    # Not fair: a group can keep others waiting as long as its threads come in before the last one leaves, as in 1.15.

    def __init__(self, num_groups: int = 2) -> None:
        if num_groups < 1:
            raise ValueError(f"num_groups must be a positive integer, got {num_groups}")
        self._ready = threading.Condition(threading.Lock())
        self._num_groups = num_groups
        self._group_member_counts = [0] * num_groups

    def group(self, group_id: int) -> contextlib.AbstractContextManager[None]:
        """Returns a context manager that holds the lock for a group."""
        self._validate_group_id(group_id)
        return self._held(group_id)

    @contextlib.contextmanager
    def _held(self, group_id: int) -> Iterator[None]:
        self.acquire(group_id)
        try:
            yield
        finally:
            self.release(group_id)

    def acquire(self, group_id: int) -> None:
        """Waits until no other group holds the lock, and takes it."""
        self._validate_group_id(group_id)
        # All holders are of this group if its count is the sum of all counts.
        with self._ready:
            self._ready.wait_for(lambda: sum(self._group_member_counts) == self._group_member_counts[group_id])
            self._group_member_counts[group_id] += 1

    def release(self, group_id: int) -> None:
        """Releases the lock once; the last release of a group wakes the waiting threads."""
        self._validate_group_id(group_id)
        with self._ready:
            self._group_member_counts[group_id] -= 1
            if self._group_member_counts[group_id] == 0:
                self._ready.notify_all()

    def _validate_group_id(self, group_id: int) -> None:
        if not 0 <= group_id < self._num_groups:
            raise ValueError(f"group_id={group_id} should be between 0 and num_groups={self._num_groups}")
