"""Collectives as programs over the devices of all processes of a group: one device of each, and gloo, NCCL or ICI between them.

The programs must begin in one order in all processes, and runs reach their collectives in any order. So all processes tell each other over their
lines what they have been asked for, and the first, when all have been asked for the same, says what comes next (as Horovod's coordinator does:
Sergeev and Del Balso 2018, arXiv:1802.05799). What does not fit is an error by then, and no program has begun.
"""

from __future__ import annotations

import functools
import itertools
import math
import queue
import threading
from collections.abc import Callable
from typing import Literal, NamedTuple, TypeAlias

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from tfcompat._src.base import errors, jax_compat, jax_processes
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.cluster.exchange import SMALL_BYTES, Group, Pending, description, mismatch, rows_of
from tfcompat._src.cluster.peers import Parcel, Peers
from tfcompat._src.platform import logging

Kind: TypeAlias = Literal["Add", "Mul", "Join"]
_AXIS = "processes"
_NOTHING = np.zeros(0, np.uint8)


class Transport(NamedTuple):
    """What brings the arrays of a group together: programs on these devices, or none and so lines. `text` says which, and why."""

    devices: tuple[jax.Device, ...]
    text: str


def transport(rank: int, size: int) -> Transport:
    """What brings the arrays of a group together: all processes of the group find the same.

    Args:
      rank: of this process in the group. size: of the group.

    Raises:
      errors.FailedPreconditionError: the environment asks for programs, which cannot be.
    """
    way = jax_processes.joined()
    if way is None:
        return Transport((), "lines of servers, as jax.distributed is off")
    count, number = jax.process_count(), jax.process_index()
    firsts = [next(d for d in jax.devices() if d.process_index == i) for i in range(count)]
    kinds = sorted({d.device_kind for d in firsts})
    if size == count and rank != number:
        why = f"process {rank} of the group is process {number} of jax.distributed"
        raise errors.FailedPreconditionError(None, None, f"{why}: {jax_processes.PROCESS} is to number the tasks in the order of the cluster")
    if size != count:
        why = f"the group has {size} processes and jax.distributed {count}"
    elif len(kinds) > 1:
        why = f"the processes have unlike devices: {', '.join(kinds)}"
    elif way == jax_processes.AUTO and firsts[0].platform == "cpu":
        why = f"on CPUs they are faster than {jax_compat.collective_library('cpu')}"
    else:
        return Transport(tuple(firsts), f"programs over {size} {kinds[0]} devices, by {jax_compat.collective_library(firsts[0].platform)}")
    if way == jax_processes.JAX:
        raise errors.FailedPreconditionError(None, None, f"{jax_processes.COLLECTIVES} is {way!r}, but {why}")
    return Transport((), f"lines of servers, as {why}")


def group_of(peers: Peers) -> Group:
    """The operations of one process with the others, by what `transport` chooses."""
    found = transport(peers.rank, peers.size)
    logging.info("The group %r of %d processes uses %s", peers.group, peers.size, found.text)
    if peers.size > 1:
        jax_processes.TRANSPORTS[peers.group] = found.text
    return SpmdGroup(peers, found.devices) if found.devices else Group(peers)


class _Call:
    """An operation that this process has been asked for.

    Args:
      key: by which processes mean the same. pending: its result.
      run: makes the result, of what all others have said of their arrays.
    """

    def __init__(self, key: str, size: int, pending: Pending, run: Callable[[list[str]], NDArray]) -> None:
        self.key, self.pending, self.run = key, pending, run
        self.said = [""] * size
        self._waited_for = Pending(key, size)
        self._lock = threading.Lock()
        self.is_known, self.has_failed = threading.Event(), False

    def hear(self, rank: int, text: str) -> bool:
        """Takes what a process says of its array; whether all have."""
        self.said[rank] = text
        is_last = self._waited_for.arrived()
        if is_last:
            self.is_known.set()
        return is_last

    def fail(self, error: errors.OpError) -> None:
        """Ends the call by an error, before its program has begun."""
        self.has_failed = True
        self.pending.fail(error)
        self.is_known.set()


class SpmdGroup(Group):
    """The operations of one process with the others, as programs where arrays are large.

    Args:
      peers: the lines of the group. devices: one of each process.
    """

    def __init__(self, peers: Peers, devices: tuple[jax.Device, ...]) -> None:
        super().__init__(peers)
        self._programs = _Programs(devices, peers.rank)
        self._asked: dict[str, _Call] = {}
        self._asking = threading.Condition()
        self._lost: errors.OpError | None = None
        self._begun = 0
        self._order: queue.SimpleQueue[Parcel | errors.OpError | None] = queue.SimpleQueue()
        threading.Thread(target=self._work, name="tfcompat-collectives", daemon=True).start()

    def all_reduce(self, name: str, array: NDArray, merge: str) -> Pending:
        what = f"{merge} of {description(array)}"
        if array.nbytes <= SMALL_BYTES:
            return super().all_reduce(name, array, merge)
        kind: Kind = "Mul" if merge == "Mul" else "Add"

        def run(said: list[str]) -> NDArray:
            return self._programs(kind, array.reshape(-1)).reshape(array.shape)

        return self._ask(name, what, run, lambda text: text == what)

    def all_gather(self, name: str, array: NDArray) -> Pending:
        what = description(array)

        def run(said: list[str]) -> NDArray:
            rows = [rows_of(text, array) or 0 for text in said]
            row = math.prod(array.shape[1:]) * array.itemsize
            room = 1 << max(0, max(rows) * row - 1).bit_length()
            own = np.zeros(room, np.uint8)
            own[: array.nbytes] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            found = self._programs("Join", own).reshape(self.size, room)
            joined: NDArray = np.concatenate([part[: count * row] for part, count in zip(found, rows)]).view(array.dtype)
            return joined.reshape((sum(rows), *array.shape[1:]))

        return self._ask(name, what, run, lambda text: rows_of(text, array) is not None)

    def _ask(self, name: str, what: str, run: Callable[[list[str]], NDArray], fits: Callable[[str], bool]) -> Pending:
        """Tells the others that this process is asked for an operation; its result. `fits` says whether another one's array does."""
        pending = Pending(name, 1)
        call = _Call(self._key(name), self.size, pending, run)
        with self._asking:
            if self._lost is not None:
                call.fail(self._lost)
            self._asked[call.key] = call
            self._asking.notify_all()

        def then(rank: int, parcel: Parcel | errors.OpError) -> None:
            if isinstance(parcel, errors.OpError):
                call.fail(parcel)
            elif not fits(parcel.description):
                call.fail(mismatch(name, self.rank, what, rank, parcel.description))
            else:
                self._hear(call, rank, parcel.description)

        for rank in self.peers.others:
            self.peers.send(rank, f"{call.key}/x", what, _NOTHING)
        for rank in self.peers.others:
            self.peers.expect(rank, f"{call.key}/x", functools.partial(then, rank))
        self._hear(call, self.rank, what)
        return pending

    def _hear(self, call: _Call, rank: int, text: str) -> None:
        if call.hear(rank, text) and self.rank == 0 and not call.has_failed:
            with self._asking:
                number, self._begun = self._begun, self._begun + 1
                self._order.put(Parcel("", call.key, _NOTHING))
                for other in self.peers.others:
                    self.peers.send(other, f"next#{number}", call.key, _NOTHING)

    def _work(self) -> None:
        """Runs programs in the order that the first process says."""
        for number in itertools.count():
            if self.rank:
                self.peers.expect(0, f"next#{number}", self._order.put)
            found = self._order.get()
            if not isinstance(found, Parcel):
                self._end(found)
                return
            with self._asking:
                while found.description not in self._asked:
                    self._asking.wait()
                call = self._asked.pop(found.description)
            call.is_known.wait()
            if not call.has_failed:
                self._run(call)

    def _run(self, call: _Call) -> None:
        try:
            call.pending.set(call.run(call.said))
        except (ValueError, RuntimeError) as e:  # what JAX raises where a process is gone
            text = f"A process of the group {self.peers.group!r} cannot be reached any more: {e}"
            call.pending.fail(errors.UnavailableError(None, None, text))

    def _end(self, error: errors.OpError | None) -> None:
        """Begins no more programs, as the first process has gone, or this one leaves the group."""
        with self._asking:
            self._lost = error or errors.CancelledError(None, None, f"This process has left the group {self.peers.group!r}")
            for call in self._asked.values():
                call.fail(self._lost)

    def close(self) -> None:
        super().close()
        self._order.put(None)


class _Programs:
    """Programs over one device of each process, by what they do, the dtype and the length of the arrays.

    Args:
      devices: in the order of the ranks. rank: of this process.
    """

    def __init__(self, devices: tuple[jax.Device, ...], rank: int) -> None:
        self._own, self._count = devices[rank], len(devices)
        self._split = NamedSharding(Mesh(np.array(devices), (_AXIS,)), PartitionSpec(_AXIS))
        kinds: tuple[Kind, ...] = ("Add", "Mul", "Join")
        self._made = {kind: self._program(kind) for kind in kinds}

    def _program(self, kind: Kind) -> Callable[[jax.Array], jax.Array]:
        def local(row: jax.Array) -> jax.Array:
            if kind == "Add":
                total: jax.Array = jax.lax.psum(row[0], _AXIS)
                return total
            rows: jax.Array = jax.lax.all_gather(row[0], _AXIS)
            return rows.prod(0, dtype=rows.dtype) if kind == "Mul" else rows

        return jax.jit(jax.shard_map(local, mesh=self._split.mesh, in_specs=PartitionSpec(_AXIS), out_specs=PartitionSpec(), check_vma=False))

    def __call__(self, kind: Kind, vector: NDArray) -> NDArray:
        """What becomes of the vectors of all processes, each of the same length."""
        with jax_compat.x64():
            own = jax.device_put(vector[None], self._own)
            rows = jax.make_array_from_single_device_arrays((self._count, *vector.shape), self._split, [own])
            return jax_compat.to_numpy(self._made[kind](rows).addressable_data(0))
