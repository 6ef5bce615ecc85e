"""The machines on which `tfcompat launch` starts tasks, and what it has them run."""

from __future__ import annotations

import os
import shlex
import socket
from collections.abc import Iterable
from typing import NamedTuple

SSH = "TFCOMPAT_SSH"
_SSH = "ssh -o BatchMode=yes"
_PASSED = ("TF_CONFIG", "HOROVOD_", "TFCOMPAT_", "PYTHONPATH", "PYTHONUNBUFFERED", "JAX_", "XLA_FLAGS")
"""Variables of the environment, or how their names begin, that tasks on other machines get."""


class Node(NamedTuple):
    """A machine, and how many tasks it takes."""

    host: str
    slots: int

    @property
    def is_here(self) -> bool:
        """Whether it is this machine."""
        return self.host in ("localhost", "127.0.0.1", "::1", socket.gethostname())


def read_nodes(path: str) -> list[Node]:
    """The machines of a file: `HOST` or `HOST slots=N` in a line, after `#` a remark.

    Raises:
      ValueError: a line says something else. OSError: the file cannot be read.
    """
    with open(path, encoding="utf-8") as file:
        lines = [line.partition("#")[0].split() for line in file]
    found = []
    for number, words in enumerate(lines, 1):
        if words:
            text = "1" if len(words) == 1 else words[1].removeprefix("slots=") if words[1].startswith("slots=") else ""
            found.append(_node(words[0], text if len(words) < 3 else "", f"line {number} of {path}: {' '.join(words)!r}", "HOST slots=N"))
    return found


def parse_hosts(text: str) -> list[Node]:
    """The machines of `HOST:N,HOST:N`, as horovodrun takes them; ValueError where it says something else."""
    found = []
    for part in text.split(","):
        host, colon, slots = part.strip().rpartition(":")
        found.append(_node(host if colon else slots, slots if colon else "1", repr(part), "HOST:N"))
    return found


def _node(host: str, slots: str, place: str, form: str) -> Node:
    if not host or host.startswith("-") or not slots.isdigit() or int(slots) < 1:
        raise ValueError(f"{place} is to be a machine and how many tasks it takes, as {form}")
    return Node(host, int(slots))


def assigned(nodes: Iterable[Node], count: int) -> list[Node]:
    """The machine of each of `count` tasks: each machine is filled before the next one.

    Raises:
      ValueError: there are more tasks than the machines take.
    """
    places = [node for node in nodes for _ in range(node.slots)]
    if len(places) < count:
        raise ValueError(f"{count} tasks do not fit on machines that take {len(places)}: name more, or more slots")
    return places[:count]


def ports(nodes: list[Node], first: int) -> list[int]:
    """A port for each of some tasks, by their machines: on each machine they count from `first`."""
    return [first + [other.host for other in nodes[:i]].count(node.host) for i, node in enumerate(nodes)]


def local_numbers(nodes: list[Node]) -> list[tuple[int, int, int, int]]:
    """For each of some tasks, by their machines: its number there, how many are there, the machine's number, how many machines there are.

    As Horovod counts, machines are those that have as many tasks, or more, as its number says.
    """
    hosts = [node.host for node in nodes]
    found = []
    for i, host in enumerate(hosts):
        rank = hosts[:i].count(host)
        across = [other for other in dict.fromkeys(hosts) if hosts.count(other) > rank]
        found.append((rank, hosts.count(host), across.index(host), len(across)))
    return found


def remote_command(node: Node, command: list[str], settings: dict[str, str], passed: Iterable[str], grace: float) -> list[str]:
    """What starts a command on another machine, in this folder's path there, with the environment that it needs.

    It ends when its input does: then the command is asked to end, and killed after `grace` seconds.
    """
    wanted = {name: value for name, value in os.environ.items() if name.startswith(_PASSED) or name in passed} | settings
    words = ["env", *(f"{name}={value}" for name, value in wanted.items()), *command]
    script = (
        f"cd {shlex.quote(os.getcwd())} || exit 1; exec 3<&0; {shlex.join(words)} 3<&- < /dev/null & task=$!; "
        f"(cat <&3 > /dev/null; kill -TERM $task; sleep {grace:g}; kill -KILL $task) 2> /dev/null & watch=$!; "
        "wait $task; status=$?; kill $watch 2> /dev/null; exit $status"
    )
    return [*shlex.split(os.environ.get(SSH, _SSH)), node.host, f"exec sh -c {shlex.quote(script)}"]
