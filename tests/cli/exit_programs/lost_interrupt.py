"""An interrupt that strikes in the callback of a weak reference, out of which no exception comes."""

import signal
import threading
import weakref


class Held:
    pass


def callback(_):
    signal.raise_signal(signal.SIGINT)
    for _ in range(10):
        pass


held = Held()
watched = weakref.ref(held, callback)
try:
    del held
    threading.Event().wait(60)
    print("lost")
except KeyboardInterrupt:
    print("interrupted")
