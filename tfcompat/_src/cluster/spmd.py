"""Collectives as SPMD programs over one device of each process of a group, with gloo, NCCL or ICI between the devices.

All processes must start the programs in one order, but runs reach their collectives in any order. So each process announces its calls to the
others over lines, and rank 0 announces the next program once all processes have made the same call (a coordinator as in Horovod: Sergeev and
Del Balso 2018, arXiv:1802.05799). Arrays that do not match are detected by these announcements, before a program starts.
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
    """How a group exchanges arrays: by programs on `devices`, or over lines if there are none. `text` says which, and why."""

    devices: tuple[jax.Device, ...]
    text: str


def transport(rank: int, size: int) -> Transport:
    """Chooses how a group exchanges arrays; the choice is the same in all its processes.

    Args:
      rank: of this process in the group. size: of the group.

    Raises:
      errors.FailedPreconditionError: the ranks differ from those of jax.distributed, or the environment requires programs and they cannot be used.
    """
    # Only facts that all processes share may decide, or some would run programs and others wait at lines.
    way = jax_processes.joined()
    if way is None:
        return Transport((), "lines of servers, as jax.distributed is off")
    count, number = jax.process_count(), jax.process_index()
    firsts = [next(d for d in jax.devices() if d.process_index == i) for i in range(count)]
    kinds = sorted({d.device_kind for d in firsts})
    # Programs index devices by rank, so a group's ranks must be those of jax.distributed.
    if size == count and rank != number:
        why = f"process {rank} of the group is process {number} of jax.distributed"
        raise errors.FailedPreconditionError(None, None, f"{why}: let {jax_processes.PROCESS} number the tasks in the order of the cluster.")
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
    """Makes the Group of some peers, with the transport that `transport` chooses, and logs the choice."""
    found = transport(peers.rank, peers.size)
    logging.info("The group %r of %d processes uses %s", peers.group, peers.size, found.text)
    if peers.size > 1:
        jax_processes.TRANSPORTS[peers.group] = found.text
    return SpmdGroup(peers, found.devices) if found.devices else Group(peers)


class _Call:
    """A collective call of this process that waits for the other processes and for its turn.

    Args:
      key: identifies the call in all processes. size: of the group. pending: the result.
      run: runs the program; gets the descriptions of all processes' arrays, in the order of the ranks.
    """

    def __init__(self, key: str, size: int, pending: Pending, run: Callable[[list[str]], NDArray]) -> None:
        self.key, self.pending, self.run = key, pending, run
        self.said = [""] * size
        self._waited_for = Pending(key, size)
        self._lock = threading.Lock()
        self.is_known, self.has_failed = threading.Event(), False

    def hear(self, rank: int, text: str) -> bool:
        """Records a process's description of its array; returns whether it was the last one."""
        self.said[rank] = text
        is_last = self._waited_for.arrived()
        if is_last:
            self.is_known.set()
        return is_last

    def fail(self, error: errors.OpError) -> None:
        """Completes the call with an error; its program does not start."""
        self.has_failed = True
        self.pending.fail(error)
        self.is_known.set()


class SpmdGroup(Group):
    """A Group that runs all-gathers, and all-reduces of large arrays, as programs. A thread starts them in the order that rank 0 announces.

    Args:
      peers: the lines of the group. devices: one of each process, by rank.
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
        # A program costs more than the exchange of a small array over lines.
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
            # Programs need arrays of one size: bytes, padded to a power of two, so that few sizes are compiled.
            room = 1 << max(0, max(rows) * row - 1).bit_length()
            own = np.zeros(room, np.uint8)
            own[: array.nbytes] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            found = self._programs("Join", own).reshape(self.size, room)
            joined: NDArray = np.concatenate([part[: count * row] for part, count in zip(found, rows)]).view(array.dtype)
            return joined.reshape((sum(rows), *array.shape[1:]))

        return self._ask(name, what, run, lambda text: rows_of(text, array) is not None)

    def _ask(self, name: str, what: str, run: Callable[[list[str]], NDArray], fits: Callable[[str], bool]) -> Pending:
        """Announces a call to the other processes; returns its result.

        Args:
          name: of the operation. what: the description of this process's array. run: see _Call.
          fits: whether another process's description matches.
        """
        # Recorded before it is announced: rank 0 may schedule it as soon as the announcements are out.
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

        # An announcement is a parcel without data, whose description is that of the array.
        for rank in self.peers.others:
            self.peers.send(rank, f"{call.key}/x", what, _NOTHING)
        for rank in self.peers.others:
            self.peers.expect(rank, f"{call.key}/x", functools.partial(then, rank))
        self._hear(call, self.rank, what)
        return pending

    def _hear(self, call: _Call, rank: int, text: str) -> None:
        """Records an announcement; rank 0 then schedules the call if it was the last one."""
        # Under the lock, so that this process and all others get the calls in one order.
        if call.hear(rank, text) and self.rank == 0 and not call.has_failed:
            with self._asking:
                number, self._begun = self._begun, self._begun + 1
                self._order.put(Parcel("", call.key, _NOTHING))
                for other in self.peers.others:
                    self.peers.send(other, f"next#{number}", call.key, _NOTHING)

    def _work(self) -> None:
        """Runs programs in the order that rank 0 announces, until it or this process leaves."""
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
            # Rank 0 may announce the call before this process has heard of it from all others.
            call.is_known.wait()
            if not call.has_failed:
                self._run(call)

    def _run(self, call: _Call) -> None:
        try:
            call.pending.set(call.run(call.said))
        except (ValueError, RuntimeError) as e:  # JAX's errors when a process has gone
            text = f"A process of the group {self.peers.group!r} cannot be reached any more: {e}"
            call.pending.fail(errors.UnavailableError(None, None, text))

    def _end(self, error: errors.OpError | None) -> None:
        """Fails all calls, present and future ones: rank 0 has gone, or this process leaves the group."""
        with self._asking:
            self._lost = error or errors.CancelledError(None, None, f"This process has left the group {self.peers.group!r}")
            for call in self._asked.values():
                call.fail(self._lost)

    def close(self) -> None:
        super().close()
        self._order.put(None)


class _Programs:
    """Compiled programs over one device of each process: sum, product, or concatenation of vectors of one length.

    Args:
      devices: by rank. rank: of this process.
    """

    def __init__(self, devices: tuple[jax.Device, ...], rank: int) -> None:
        self._own, self._count = devices[rank], len(devices)
        self._split = NamedSharding(Mesh(np.array(devices), (_AXIS,)), PartitionSpec(_AXIS))
        # jax.jit compiles each for the dtypes and lengths that come.
        kinds: tuple[Kind, ...] = ("Add", "Mul", "Join")
        self._made = {kind: self._program(kind) for kind in kinds}

    def _program(self, kind: Kind) -> Callable[[jax.Array], jax.Array]:
        def local(row: jax.Array) -> jax.Array:
            if kind == "Add":
                total: jax.Array = jax.lax.psum(row[0], _AXIS)
                return total
            # There is no product collective: all rows are gathered and multiplied on each device.
            rows: jax.Array = jax.lax.all_gather(row[0], _AXIS)
            return rows.prod(0, dtype=rows.dtype) if kind == "Mul" else rows

        # The result is the same on all devices, which shard_map's check cannot prove for all_gather.
        return jax.jit(jax.shard_map(local, mesh=self._split.mesh, in_specs=PartitionSpec(_AXIS), out_specs=PartitionSpec(), check_vma=False))

    def __call__(self, kind: Kind, vector: NDArray) -> NDArray:
        """Runs a program on the vectors of all processes, which have one length and dtype; returns its result."""
        # One global array with a row per process; each process holds its own row.
        with jax_compat.x64():
            own = jax.device_put(vector[None], self._own)
            rows = jax.make_array_from_single_device_arrays((self._count, *vector.shape), self._split, [own])
            return jax_compat.to_numpy(self._made[kind](rows).addressable_data(0))
