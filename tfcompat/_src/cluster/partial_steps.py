"""partial_run of TensorFlow 1.15's masters: one run of a part, which goes on over several calls."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future

from tfcompat._src.cluster.cancellation import Cancellation
from tfcompat._src.cluster.rendezvous import Arrived
from tfcompat._src.cluster.threads import THREADS
from tfcompat._src.proto import messages

Result = tuple[dict[str, Arrived], messages.RunMetadata | None]


class PartialSteps:
    """The running parts, by step. The first call of a step starts the run, and the last one waits for its end.

    Feeds and fetches are exchanged on the master's own task, so that calls to other tasks carry no tensors.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[int, tuple[Future[Result], Cancellation]] = {}

    def call(self, number: int, run: Callable[[Cancellation], Result], is_last: bool, cancellation: Cancellation) -> Result:
        """Answers a call of a step.

        Args:
          number: the step's number. run: runs the part. is_last: whether this is the step's last call.
          cancellation: ends the run of the part.

        Returns:
          the result of `run` for the last call; no tensors and no metadata for others.

        Raises:
          errors.OpError: the part has failed.
        """
        with self._lock:
            if number not in self._running:
                whole = Cancellation()
                self._running[number] = THREADS.submit(run, whole), whole
            running, whole = self._running[number]
        cancellation.on_cancel(whole.cancel)
        if is_last:
            self.end(number)
            return running.result()
        if running.done():
            running.result()
        return {}, None

    def end(self, number: int) -> None:
        """Forgets a step."""
        with self._lock:
            self._running.pop(number, None)
