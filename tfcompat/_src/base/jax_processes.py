"""Joins this process to a group of processes whose programs span the devices of all (`jax.distributed`), if the environment asks for it.

TFCOMPAT_COORDINATOR is "host:port" of the first process, TFCOMPAT_PROCESS "NUMBER/COUNT". TFCOMPAT_COLLECTIVES chooses how the arrays of
processes are combined: "lines", over the connections of servers; "jax", by programs over all devices; "auto", by the faster of both.
`tfcompat launch --collectives` sets all three.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import socket
import time

import jax

from tfcompat._src.base import jax_compat, jax_threads

COLLECTIVES, COORDINATOR, PROCESS = "TFCOMPAT_COLLECTIVES", "TFCOMPAT_COORDINATOR", "TFCOMPAT_PROCESS"
LINES, AUTO, JAX = "lines", "auto", "jax"
WAYS = (LINES, AUTO, JAX)
TRANSPORTS: dict[str, str] = {}
"""The transport of each group of processes to which this one belongs, by the group's name; `explain` shows it."""

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_MEET_SECONDS, _LEFT_SECONDS = 60.0, 300.0
"""Timeouts in seconds: of processes for each other at the start, and of the first process for the others at exit."""


class _State:
    """`way`: the member of WAYS on which the joined processes have agreed; None before `join`."""

    way: str | None = None


_state = _State()


def _wanted() -> str:
    """Returns the member of WAYS that the environment asks for, "auto" by default.

    Raises:
      ValueError: it asks for something else.
    """
    way = os.environ.get(COLLECTIVES) or AUTO
    if way not in WAYS:
        raise ValueError(f"The environment variable {COLLECTIVES} is {way!r}; set it to one of {', '.join(WAYS)}.")
    return way


def joined() -> str | None:
    """Returns the way on which the joined processes have agreed, "auto" or "jax"; None if this process has joined none."""
    return _state.way


def join() -> None:
    """Joins the other processes and waits for them, if the environment asks for it.

    Afterwards the variables are removed from the environment, so that child processes do not try to join.

    Raises:
      ValueError: the environment variables are invalid or incomplete.
      RuntimeError: JAX has started already, or the other processes do not join, or ask for another way.
    """
    coordinator, wanted = os.environ.get(COORDINATOR), _wanted()
    if wanted == JAX and not coordinator:
        raise ValueError(f"{COLLECTIVES} is {JAX!r}, but {COORDINATOR} is not set; start the program with `tfcompat launch --collectives jax`.")
    # Nothing asks for JAX's processes; servers connect by themselves.
    if not coordinator or wanted == LINES:
        return
    text = os.environ.get(PROCESS, "")
    numbers = re.fullmatch(r"(\d+)/(\d+)", text)
    if numbers is None or int(numbers[1]) >= int(numbers[2]):
        raise ValueError(f"{PROCESS} is {text!r}; with {COORDINATOR} it must be the number of this process and the count of all, such as 0/2.")
    # JAX reads its processes when its backends start.
    if jax_compat.backends_are_up():
        raise RuntimeError(
            f"{COORDINATOR} asks for programs over the devices of several processes, but JAX has already started in this one; run the "
            "program with `tfcompat run`, or make its server or call hvd.init() before any operation runs."
        )
    _join(coordinator.rpartition(":")[0], coordinator, int(numbers[1]), int(numbers[2]), wanted)
    _state.way = wanted
    for name in (COLLECTIVES, COORDINATOR, PROCESS):
        os.environ.pop(name, None)


def _join(host: str, coordinator: str, number: int, count: int, wanted: str) -> None:
    """Joins the group, and makes the first process, whose coordinator the others need, exit after them.

    Each other process keeps a connection to the first one; it breaks when that process exits, even if it is killed.
    """
    # The settings that join_processes exchanges carry the port of the first process.
    # The first process listens before it joins, so that its port can be among the settings.
    door = None if number else socket.create_server((host if host in _LOOPBACK else "", 0), backlog=count)
    port = door.getsockname()[1] if door else 0
    told = [settings.split() for settings in jax_compat.join_processes(coordinator, count, number, f"{wanted} {port}")]
    if door is not None:
        door.settimeout(_MEET_SECONDS)
        with door:
            jax_threads.AT_CLOSE.append(functools.partial(_outlast, [door.accept()[0] for _ in range(count - 1)]))
    else:
        jax_threads.AT_CLOSE.append(functools.partial(_leave, socket.create_connection((host, int(told[0][1])), _MEET_SECONDS)))
    # The processes compare their settings after joining: one that goes another way would leave the others waiting.
    other = next((i for i, (way, _) in enumerate(told) if way != wanted), None)
    if other is not None:
        raise RuntimeError(f"{COLLECTIVES} is {wanted!r} in process {number} but {told[other][0]!r} in process {other}; set it alike in all.")


def _leave(first: socket.socket) -> None:
    """Runs at exit of the other processes: disconnects from the coordinator, then tells the first process by closing the connection."""
    jax.distributed.shutdown()
    first.close()


def _outlast(others: list[socket.socket]) -> None:
    """Runs at exit of the first process: waits until all others have left or died."""
    deadline = time.monotonic() + _LEFT_SECONDS
    for other in others:
        with contextlib.suppress(OSError):  # a reset connection, or the deadline: that process is not waited for
            other.settimeout(max(deadline - time.monotonic(), 0.01))
            other.recv(1)
