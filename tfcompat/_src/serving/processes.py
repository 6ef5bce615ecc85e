"""Several processes behind the same ports: the kernel gives each connection to one of them (SO_REUSEPORT).

Each finds and loads versions by itself. They share no interpreter lock, and tell each other their counts over sockets in a folder.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys
import tempfile
import threading
import time
from typing import Any

from tfcompat._src.serving import metrics

_PAUSE = 1.0
"""Seconds before a process that was killed is started again."""
_LONGEST_WAIT = 5.0
"""Seconds for another process to tell its counts; one that does not is left out."""


class Group:
    """What one of several processes knows of the others.

    Args:
      folder: where their sockets are. index: which one this is, of `count`. lifeline: a pipe that ends with the process that started them.
    """

    def __init__(self, folder: str, index: int, count: int, lifeline: int) -> None:
        self._folder, self._index, self._count, self._lifeline = folder, index, count, lifeline

    def start(self) -> None:
        """Begins to tell counts, and to watch for the end of the process that started the group, with which this one ends."""
        path = self._path(self._index)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)  # of a process that was killed
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen()
        for work, argument in ((_tell, listener), (_follow, self._lifeline)):
            threading.Thread(target=work, args=(argument,), name=f"tfcompat-serving{work.__name__}", daemon=True).start()

    def totals(self) -> metrics.Totals:
        """The metrics of all processes, summed."""
        others = (self._of(index) for index in range(self._count) if index != self._index)
        return metrics.totals(filter(None, others))

    def _path(self, index: int) -> str:
        return os.path.join(self._folder, str(index))

    def _of(self, index: int) -> metrics.Totals | None:
        """The metrics of another process; None where it is being started."""
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(_LONGEST_WAIT)
                connection.connect(self._path(index))
                with connection.makefile("rb") as file:
                    told = json.load(file)
        except (OSError, ValueError):
            return None
        return {name: {tuple(labels): value for labels, value in values} for name, values in told.items()}


def _tell(listener: socket.socket) -> None:
    while True:
        connection, _ = listener.accept()
        told = {name: list(values.items()) for name, values in metrics.totals().items()}
        with connection, contextlib.suppress(OSError):
            connection.sendall(json.dumps(told).encode())


def _follow(lifeline: int) -> None:
    os.read(lifeline, 1)  # nothing is ever written
    os.kill(os.getpid(), signal.SIGTERM)


class _Supervisor:
    """The process that starts the others."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._pids: dict[int, int] = {}
        self._is_ending = False
        self._folder = tempfile.mkdtemp(prefix="tfcompat-serving-")
        self._lifeline, self._held = os.pipe()

    def run(self) -> Group | int:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._end)
        for index in range(self._count):
            if self._fork(index):
                return self._group(index)
        status = 0
        while self._pids:
            pid, ended = os.wait()
            index, code = self._pids.pop(pid), os.waitstatus_to_exitcode(ended)
            if self._is_ending or code >= 0:  # one that ends by itself could not start, or was told to end
                status = max(status, code)
                self._end()
                continue
            sys.stderr.write(f"A process of the server was ended by {signal.Signals(-code).name}; another is started.\n")
            time.sleep(_PAUSE)
            if not self._is_ending and self._fork(index):
                return self._group(index)
        for name in os.listdir(self._folder):
            os.unlink(os.path.join(self._folder, name))
        os.rmdir(self._folder)
        return status

    def _fork(self, index: int) -> bool:
        """Starts a process; whether this is the one."""
        pid = os.fork()
        if pid:
            self._pids[pid] = index
            if self._is_ending:  # told between the two
                os.kill(pid, signal.SIGTERM)
        return not pid

    def _group(self, index: int) -> Group:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        os.close(self._held)
        return Group(self._folder, index, self._count, self._lifeline)

    def _end(self, *_: Any) -> None:
        self._is_ending = True
        for pid in self._pids:
            with contextlib.suppress(ProcessLookupError):  # it has just ended
                os.kill(pid, signal.SIGTERM)


def start(count: int) -> Group | int:
    """Starts `count` processes by forking this one, and again those that are killed.

    Returns:
      in each of them its Group; in this one, when all have ended by SIGTERM or because one could not start, the exit status.
    """
    return _Supervisor(count).run()


def reserve(host: str, port: int) -> socket.socket:
    """A socket that keeps a port, 0 for a free one, for the processes of this group: it does not listen.

    Raises:
      OSError: another program listens there.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    held = socket.socket(family)
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        held.bind((host, port))
    except OSError:
        held.close()
        raise
    return held
