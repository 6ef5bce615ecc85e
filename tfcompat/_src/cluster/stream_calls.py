"""RunGraph over lines: masters and workers of tfcompat send these requests and replies over the lines of their tensors.

A call of gRPC costs as much as a small step; a line has no threads between sender and receiver. Every message has the request_id as its key. The
description is "run ADDRESS" with the address that the reply goes to, "last ADDRESS" if the worker then ends the step, "ran" for a reply, and
"stop" to cancel a request.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.cluster.cancellation import Cancellation
from tfcompat._src.cluster.peers import Parcel
from tfcompat._src.cluster.threads import THREADS
from tfcompat._src.proto import messages

RUN, LAST, RAN, STOP = "run", "last", "ran", "stop"
Send = Callable[[str, str, str, bytes], None]
"""Sends bytes to a worker. Arguments: its address, a key, a description, the bytes."""


class StreamCall:
    """A request that was sent; the interface of channel.Call, as far as RunGraph needs it.

    Args:
      stop: tells the worker to cancel the request.
    """

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        self._lock = threading.Lock()
        self._callback: Callable[[StreamCall], None] | None = None
        self._outcome: bytes | errors.OpError | None = None

    def set(self, outcome: bytes | errors.OpError) -> None:
        """Completes the call with a serialized reply or an error. The first outcome wins."""
        with self._lock:
            if self._outcome is not None:
                return
            self._outcome, callback = outcome, self._callback
        if callback is not None:
            callback(self)

    def when_done(self, callback: Callable[[StreamCall], None]) -> None:
        """Calls `callback` once the call is complete; at once, in this thread, if it is."""
        # Under the lock, so that exactly one of `set` and this method calls back.
        with self._lock:
            self._callback = callback
            is_done = self._outcome is not None
        if is_done:
            callback(self)

    def result(self) -> messages.RunGraphResponse:
        """Returns the reply of a complete call, or raises its errors.OpError. Does not wait: see `when_done`."""
        if isinstance(self._outcome, errors.OpError):
            raise self._outcome
        return messages.RunGraphResponse.FromString(self._outcome or b"")

    def cancel(self) -> None:
        """Completes the call with CancelledError, and tells the worker to stop."""
        self.set(errors.CancelledError(None, None, "The call was cancelled"))
        THREADS.submit(self._stop)  # in another thread: a send may block


class StreamCalls:
    """Both ends of these requests: those that this process has sent, and those that it serves.

    Args:
      send: sends to other workers. end: ends a step of this worker, by number.

    Attributes: `answer` serves a RunGraphRequest; the server's Services set it.
    """

    answer: Callable[[messages.RunGraphRequest, Cancellation], messages.RunGraphResponse]

    def __init__(self, send: Send, end: Callable[[int], None]) -> None:
        self._send, self._end = send, end
        self._lock = threading.Lock()
        self._asked: dict[str, tuple[str, StreamCall]] = {}
        self._running: dict[tuple[str, str], Cancellation] = {}

    def begin(self, address: str, reply_to: str, request: messages.RunGraphRequest, is_last: bool) -> StreamCall:
        """Sends a request to a worker.

        Args:
          address: of the worker. reply_to: the address that it replies to.
          is_last: whether nobody needs anything of the step from this worker afterwards, so that it ends the step when it has run the part.

        Raises:
          errors.UnavailableError: the worker cannot be reached.
        """
        key = str(request.request_id)

        # A reply that has come, or a line that broke, leaves nothing to stop.
        def stop() -> None:
            with self._lock:
                known = self._asked.pop(key, None)
            if known is not None:
                self._send(address, key, STOP, b"")

        # request_id is random, so keys of several masters do not collide.
        call = StreamCall(stop)
        # Recorded before it is sent: the reply may come before `_send` returns.
        with self._lock:
            self._asked[key] = address, call
        try:
            self._send(address, key, f"{LAST if is_last else RUN} {reply_to}", request.SerializeToString())
        except BaseException:
            with self._lock:
                self._asked.pop(key, None)
            raise
        return call

    def take(self, task: str, parcel: Parcel, reach: Callable[[int], object]) -> bool:
        """Handles a parcel of a task if it belongs to these requests; returns whether it does.

        `reach` is called with the step of a request, so that the step ends if the task's line does.

        Raises:
          google.protobuf.message.DecodeError: a request is malformed.
        """
        kind, _, reply_to = parcel.description.partition(" ")
        # The thread of the line must not block: runs go to other threads.
        if kind in (RUN, LAST):
            request = messages.RunGraphRequest.FromString(parcel.data.tobytes())
            reach(request.step_id)
            cancellation = Cancellation()
            with self._lock:
                self._running[task, parcel.key] = cancellation
            THREADS.submit(self._serve, task, parcel.key, request, reply_to, kind == LAST, cancellation)
        elif kind == RAN:
            # A call that was cancelled is not in the table any more: its reply is dropped.
            with self._lock:
                _, call = self._asked.pop(parcel.key, ("", None))
            if call is not None:
                call.set(parcel.data.tobytes())
        elif kind == STOP:
            self._cancel([(task, parcel.key)])
        return kind in (RUN, LAST, RAN, STOP)

    def _serve(
        self, task: str, key: str, request: messages.RunGraphRequest, reply_to: str, is_last: bool, cancellation: Cancellation
    ) -> None:  # fmt: skip
        """Runs a part and sends the reply. Errors of the run are in the reply's body."""
        try:
            reply = self.answer(request, cancellation)
        finally:
            cancellation.over()
            with self._lock:
                self._running.pop((task, key), None)
            if is_last:
                self._end(request.step_id)
        self._send(reply_to, key, RAN, reply.SerializeToString())

    def _cancel(self, runs: list[tuple[str, str]]) -> None:
        with self._lock:
            found = [self._running[run] for run in runs if run in self._running]
        for cancellation in found:
            cancellation.cancel()

    def lose_task(self, task: str) -> None:
        """Cancels the runs for a task whose line has ended."""
        with self._lock:
            runs = [run for run in self._running if run[0] == task]
        self._cancel(runs)

    def lose_address(self, address: str, why: str) -> None:
        """Fails the requests to a worker to which the line has broken."""
        with self._lock:
            lost = [key for key, (asked, _) in self._asked.items() if asked == address]
            calls = [self._asked.pop(key)[1] for key in lost]
        for call in calls:
            call.set(errors.UnavailableError(None, None, f"The worker at {address} cannot be reached any more: {why}"))


def as_array(data: bytes) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    """Returns bytes as an array, without a copy."""
    return np.frombuffer(data, np.uint8)
