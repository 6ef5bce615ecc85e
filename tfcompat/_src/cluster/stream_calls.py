"""Runs of parts that workers of tfcompat ask each other for over the streams of their tensors, which is quicker than a call of gRPC.

What asks for a run has its number as key, and as description where the answer goes; what answers one, and what takes one back, has the number alone.
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

RUN, RAN, STOP = "run", "ran", "stop"
Send = Callable[[str, str, str, bytes], None]
"""Sends bytes to the worker at an address: the address, a key, a description, the bytes."""


class StreamCall:
    """A run that was asked for."""

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        self._lock = threading.Lock()
        self._callback: Callable[[StreamCall], None] | None = None
        self._outcome: bytes | errors.OpError | None = None

    def set(self, outcome: bytes | errors.OpError) -> None:
        """Gives the answer, or the error in place of it; the first one counts."""
        with self._lock:
            if self._outcome is not None:
                return
            self._outcome, callback = outcome, self._callback
        if callback is not None:
            callback(self)

    def when_done(self, callback: Callable[[StreamCall], None]) -> None:
        """Calls back when `result` has something to give."""
        with self._lock:
            self._callback = callback
            is_done = self._outcome is not None
        if is_done:
            callback(self)

    def result(self) -> messages.RunGraphResponse:
        """The answer, once there is one; errors.OpError: why there is none."""
        if isinstance(self._outcome, errors.OpError):
            raise self._outcome
        return messages.RunGraphResponse.FromString(self._outcome or b"")

    def cancel(self) -> None:
        """Has the worker stop, and `result` raise CancelledError."""
        self.set(errors.CancelledError(None, None, "The call was cancelled"))
        THREADS.submit(self._stop)  # the line may be full


class StreamCalls:
    """The runs that a worker has asked for, and those that it makes for others.

    Args:
      send: sends to other workers.

    Attributes: `answer` makes a RunGraphResponse of a RunGraphRequest; it is set by who has the services.
    """

    answer: Callable[[messages.RunGraphRequest, Cancellation], messages.RunGraphResponse]

    def __init__(self, send: Send) -> None:
        self._send = send
        self._lock = threading.Lock()
        self._asked: dict[str, tuple[str, StreamCall]] = {}
        self._running: dict[tuple[str, str], Cancellation] = {}

    def begin(self, address: str, reply_to: str, request: messages.RunGraphRequest) -> StreamCall:
        """Asks the worker at an address for a run; it answers to `reply_to`.

        Raises:
          errors.UnavailableError: it cannot be reached.
        """
        key = str(request.request_id)

        def stop() -> None:
            with self._lock:
                known = self._asked.pop(key, None)
            if known is not None:
                self._send(address, key, STOP, b"")

        call = StreamCall(stop)
        with self._lock:
            self._asked[key] = address, call
        try:
            self._send(address, key, f"{RUN} {reply_to}", request.SerializeToString())
        except BaseException:
            with self._lock:
                self._asked.pop(key, None)
            raise
        return call

    def take(self, task: str, parcel: Parcel, reach: Callable[[int], object]) -> bool:
        """Takes what a task has sent, if it is of runs; whether it is. `reach` is told the steps of runs.

        Raises:
          google.protobuf.message.DecodeError: it is no request.
        """
        kind, _, reply_to = parcel.description.partition(" ")
        if kind == RUN:
            request = messages.RunGraphRequest.FromString(parcel.data.tobytes())
            reach(request.step_id)
            cancellation = Cancellation()
            with self._lock:
                self._running[task, parcel.key] = cancellation
            THREADS.submit(self._serve, task, parcel.key, request, reply_to, cancellation)
        elif kind == RAN:
            with self._lock:
                _, call = self._asked.pop(parcel.key, ("", None))
            if call is not None:
                call.set(parcel.data.tobytes())
        elif kind == STOP:
            self._cancel([(task, parcel.key)])
        return kind in (RUN, RAN, STOP)

    def _serve(self, task: str, key: str, request: messages.RunGraphRequest, reply_to: str, cancellation: Cancellation) -> None:
        try:
            reply = self.answer(request, cancellation)
        finally:
            cancellation.over()
            with self._lock:
                self._running.pop((task, key), None)
        self._send(reply_to, key, RAN, reply.SerializeToString())

    def _cancel(self, runs: list[tuple[str, str]]) -> None:
        with self._lock:
            found = [self._running[run] for run in runs if run in self._running]
        for cancellation in found:
            cancellation.cancel()

    def lose_task(self, task: str) -> None:
        """Stops what runs for a task that sends no more."""
        with self._lock:
            runs = [run for run in self._running if run[0] == task]
        self._cancel(runs)

    def lose_address(self, address: str, why: str) -> None:
        """Fails what the worker at an address was asked for, as it takes nothing more."""
        with self._lock:
            lost = [key for key, (asked, _) in self._asked.items() if asked == address]
            calls = [self._asked.pop(key)[1] for key in lost]
        for call in calls:
            call.set(errors.UnavailableError(None, None, f"The worker at {address} cannot be reached any more: {why}"))


def as_array(data: bytes) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    """Bytes as an array that is sent."""
    return np.frombuffer(data, np.uint8)
