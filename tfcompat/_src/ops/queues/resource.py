"""What queues, barriers, staging areas, accumulators and readers share: one object per Session and name, and waiting."""

from __future__ import annotations

import itertools
import threading
import time
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tfcompat._src.base import dtypes, errors
from tfcompat._src.base.host_context import HostContext
from tfcompat._src.base.run_limits import MustWait, is_cancelled, may_wait, seconds_left

if TYPE_CHECKING:
    from tfcompat._src.graph.operation import Operation

_numbers = itertools.count()


def as_declared(node: Operation, values: tuple, first: int = 0) -> tuple:
    """`values`, which have the dtypes that `node` declares of its outputs from number `first` on.

    Raises:
      errors.InvalidArgumentError: they are not as many. errors.InternalError: one has another dtype.
    """
    wanted = [output.dtype for output in node.outputs[first:]]
    if len(values) != len(wanted):
        raise invalid(f"Mismatch stage/unstage: {len(values)} vs. {len(wanted)}")
    for place, (value, dtype) in enumerate(zip(values, wanted), start=first):
        found = _dtype_of(value)
        if found != dtype and not (found == dtypes.string and dtype in (dtypes.variant, dtypes.resource)):
            have, want = (dtypes.cpp_name(d.name) for d in (found, dtype))
            raise errors.InternalError(
                None, None, f"Output {place} of type {have} does not match declared output type {want} for node node {node.name}"
            )
    return values


def _dtype_of(value: np.ndarray) -> dtypes.DType:
    """The dtype of a kept value; objects are taken for strings."""
    return dtypes.string if value.dtype.kind in "OSU" else dtypes.as_dtype(value.dtype)


def invalid(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, text)


def cancelled(text: str) -> errors.CancelledError:
    return errors.CancelledError(None, None, text)


class SharedResource:
    """State of a Session that several nodes and threads use; whatever changes it holds `lock`.

    `name`, for messages, is the shared name or one made of a number and the node's name. `users` are the nodes that were found to fit, `sessions` those that run such nodes.
    """

    shape, ndim = (), 0
    """A handle is a scalar tensor."""

    def __init__(self) -> None:
        self.name = ""
        self.users: set[Any] = set()
        self.sessions: weakref.WeakSet[Any] = weakref.WeakSet()
        self.lock = threading.Lock()
        self.changed = threading.Condition(self.lock)
        self._waiting: dict[threading.Condition, int] = {}
        self._cancelled = False

    def wait(
        self, ready: Callable[[], Any], what: str, changed: threading.Condition | None = None, until: float | None = None
    ) -> None:
        """Waits, while `lock` is let go, until `ready()`.

        Args:
          ready: called with the lock held.
          what: the name of the operation, for errors.
          changed: the condition that is notified; by default that of the whole resource.
          until: when, on the clock of `time.monotonic`, waiting ends in any case.

        Raises:
          MustWait: it may not wait. errors.CancelledError: the session is closed. errors.DeadlineExceededError: the time limit of the run is over.
        """
        if not ready() and not may_wait():
            raise MustWait
        changed = changed or self.changed
        self._waiting[changed] = self._waiting.get(changed, 0) + 1
        try:
            while not ready():
                left = seconds_left()
                # First: a session on a server that is closed ends its runs, and with them the resources of its own.
                if is_cancelled():
                    raise cancelled(f"{what} operation was cancelled by Session::Close()")
                if self._cancelled:
                    raise cancelled(f"{what} operation was cancelled")
                if left is not None and left <= 0:
                    raise errors.DeadlineExceededError(None, None, "Timed out waiting for notification")
                if until is not None:
                    rest = until - time.monotonic()
                    if rest <= 0:
                        return
                    left = rest if left is None else min(left, rest)
                changed.wait(left)
        finally:
            self._waiting[changed] -= 1
            if not self._waiting[changed]:
                del self._waiting[changed]

    def cancel(self) -> None:
        """Lets go of all waiting threads, now and later."""
        with self.lock:
            self._cancelled = True
        self.wake()

    def wake(self) -> None:
        """Has all waiting threads look again whether they are to wait on."""
        with self.lock:
            for changed in self._waiting:
                changed.notify_all()


R = TypeVar("R", bound=SharedResource)


def shared_resource(
    context: HostContext, kind: str, make: Callable[[], R], check: Callable[[R], None] | None = None, by_node_name: bool = False
) -> R:  # fmt: skip
    """Returns the resource that a node names; the node's first run makes it.

    Sessions on one server share what has a shared name. What has none belongs to the session and ends with it, except for the kinds that
    TensorFlow 1.15 names after their node.

    Args:
      context: of the kernel that runs; its node has the attributes `container` and `shared_name`.
      kind: resources of different kinds may share a name.
      make: makes a resource.
      check: raises where another node's resource of this name does not fit the node.
      by_node_name: whether the node's name takes the place of a shared name.
    """
    op, run = context.op, context.run
    container, shared = op.attrs["container"], op.attrs["shared_name"].decode()
    key = f"{container.decode()}/{kind}/{shared or '_' + op._name}"
    resources = context.resources if shared or by_node_name else run.resources
    found = resources.get(key)
    if found is None:
        made = make()
        made.name = shared or f"_{next(_numbers)}_{op._name}"
        found = resources.setdefault(key, made)
        if found is made:
            made.users.add(op)
            if resources is run.resources:
                run.resources_life.on_close(found.cancel)
    if run.life not in found.sessions:
        found.sessions.add(run.life)
        run.life.on_close(found.wake)
    if op not in found.users:
        if check is not None:
            check(found)
        found.users.add(op)
    return found
