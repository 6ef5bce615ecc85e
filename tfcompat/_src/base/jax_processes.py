"""This process as one of several whose programs are over the devices of all: `jax.distributed`, where the environment asks for it.

TFCOMPAT_COORDINATOR is "host:port" where the first of them answers, TFCOMPAT_PROCESS "NUMBER/COUNT". TFCOMPAT_COLLECTIVES says what brings the
arrays of processes together: "lines", the connections of servers; "jax", programs over all devices; "auto", these where they are faster.
`tfcompat launch --collectives` sets all of them.
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
"""How the arrays of each group of processes that this one is in come together, by the group's name, as `explain` shows it."""


_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_MEET_SECONDS, _LEFT_SECONDS = 60.0, 300.0
"""How long processes wait for each other at the beginning, and the first one for the others at the end."""


class _State:
    """What the processes that this one has joined have agreed on: one of WAYS; None before that."""

    way: str | None = None


_state = _State()


def _wanted() -> str:
    """What brings arrays together, as the environment says it.

    Raises:
      ValueError: it says something else.
    """
    found = os.environ.get(COLLECTIVES) or AUTO
    if found not in WAYS:
        raise ValueError(f"{COLLECTIVES} is {found!r}; it is to be one of {', '.join(WAYS)}")
    return found


def joined() -> str | None:
    """What the processes that this one has joined have agreed on, "auto" or "jax"; None where it has joined none."""
    return _state.way


def join() -> None:
    """Joins the others and waits for them, where the environment asks for it. Then it asks no more: processes that this one starts are others.

    Raises:
      ValueError: the environment says what cannot be. RuntimeError: JAX has started, or the others do not come, or are to do it another way.
    """
    coordinator, wanted = os.environ.get(COORDINATOR), _wanted()
    if wanted == JAX and not coordinator:
        raise ValueError(f"{COLLECTIVES} is {JAX!r}, but there is no {COORDINATOR}: start the program by `tfcompat launch --collectives jax`")
    if not coordinator or wanted == LINES:
        return
    text = os.environ.get(PROCESS, "")
    numbers = re.fullmatch(r"(\d+)/(\d+)", text)
    if numbers is None or int(numbers[1]) >= int(numbers[2]):
        raise ValueError(f"{PROCESS} is {text!r}; beside {COORDINATOR} it is to be the number of this process and the count of all, as 0/2")
    if jax_compat.backends_are_up():
        raise RuntimeError(
            f"{COORDINATOR} asks for programs over the devices of several processes, but JAX has started in this one: run the program by "
            "`tfcompat run`, or make its server, or call hvd.init(), before anything else"
        )
    _join(coordinator.rpartition(":")[0], coordinator, int(numbers[1]), int(numbers[2]), wanted)
    _state.way = wanted
    for name in (COLLECTIVES, COORDINATOR, PROCESS):
        os.environ.pop(name, None)


def _join(host: str, coordinator: str, number: int, count: int, wanted: str) -> None:
    """Joins, and has the first process, which the others need as long as they are there, end after them.

    Each of the others keeps a connection to it, which ends with it, however that may be.
    """
    door = None if number else socket.create_server((host if host in _LOOPBACK else "", 0), backlog=count)
    port = door.getsockname()[1] if door else 0
    told = [settings.split() for settings in jax_compat.join_processes(coordinator, count, number, f"{wanted} {port}")]
    if door is not None:
        door.settimeout(_MEET_SECONDS)
        with door:
            jax_threads.AT_CLOSE.append(functools.partial(_outlast, [door.accept()[0] for _ in range(count - 1)]))
    else:
        jax_threads.AT_CLOSE.append(functools.partial(_leave, socket.create_connection((host, int(told[0][1])), _MEET_SECONDS)))
    other = next((i for i, (found, _) in enumerate(told) if found != wanted), None)
    if other is not None:
        raise RuntimeError(f"{COLLECTIVES} is {wanted!r} in process {number} and {told[other][0]!r} in process {other}: it is to be the same in all")


def _leave(first: socket.socket) -> None:
    """Needs the first process no more."""
    jax.distributed.shutdown()
    first.close()


def _outlast(others: list[socket.socket]) -> None:
    """Waits until all others have left, or have died."""
    deadline = time.monotonic() + _LEFT_SECONDS
    for other in others:
        with contextlib.suppress(OSError):  # a connection that breaks off is one that has ended
            other.settimeout(max(deadline - time.monotonic(), 0.01))
            other.recv(1)
