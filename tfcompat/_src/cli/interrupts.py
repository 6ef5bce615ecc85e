"""Ctrl-C that Python would lose: it can strike while a weak reference's callback or a finalizer runs, which nothing can catch."""

from __future__ import annotations

import _thread
import signal
import sys
import threading
import time

AGAIN = 0.001
"""Seconds until the interrupt comes again: a callback takes less."""


def keep() -> None:
    """From now on a KeyboardInterrupt that Python can only print comes again, where the program can catch it."""
    before = sys.unraisablehook

    def hook(lost: sys.UnraisableHookArgs) -> None:
        is_of_signal = lost.exc_type is KeyboardInterrupt and threading.current_thread() is threading.main_thread()
        if is_of_signal and not sys.is_finalizing():
            _thread.start_new_thread(_interrupt, ())
        else:
            before(lost)

    sys.unraisablehook = hook


def _interrupt() -> None:
    time.sleep(AGAIN)
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
