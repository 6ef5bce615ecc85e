"""Parts that run while their master, TensorFlow 1.15's, calls several times: the steps of partial_run."""

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
    """The parts that run, by their step: the first call of a step begins to run it, the last one waits for its end.

    The nodes that take what the client feeds, and give what it fetches, are on the task of its master, so calls bring and take nothing.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[int, tuple[Future[Result], Cancellation]] = {}

    def call(self, number: int, run: Callable[[Cancellation], Result], is_last: bool, cancellation: Cancellation) -> Result:
        """Answers a call.

        Args:
          number: the step. run: runs the part. is_last: whether no more calls come.
          cancellation: tells the part to stop.

        Returns:
          what `run` returns if the call is the last one, else nothing by key, and no metadata.

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
