"""Groups of devices that collective nodes name by a group_key, and their formation at run time.

One task is the leader (ConfigProto.experimental.collective_group_leader; without one, each task leads its own groups). The first collective of
each device tells the leader its group_key and group_size, by CompleteGroup of TensorFlow's WorkerService. The leader answers all devices once
group_size of them have joined. A device that joins a complete group has restarted, or has lost its peers: it begins a new group with that key.
"""

from __future__ import annotations

import secrets
import threading
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from tfcompat._src.base import errors
from tfcompat._src.base.device import DeviceSpec
from tfcompat._src.base.run_limits import is_cancelled, may_wait, seconds_left
from tfcompat._src.cluster import spmd
from tfcompat._src.cluster.cancellation import Cancellation
from tfcompat._src.cluster.channel import WORKER, RemoteService
from tfcompat._src.cluster.exchange import Group
from tfcompat._src.cluster.peers import Groups, Peers
from tfcompat._src.cluster.threads import THREADS
from tfcompat._src.proto import messages
from tfcompat._src.runtime.devices.local_servers import task_name

if TYPE_CHECKING:
    from tfcompat._src.runtime.devices.local_servers import LocalServer

_LOOK_SECONDS = 1.0


class Members(NamedTuple):
    """The devices of a complete group, sorted by task, and a unique name of the group."""

    devices: tuple[str, ...]
    name: str

    @property
    def tasks(self) -> list[str]:
        """The tasks of the devices, without repetition. The index of a task is its rank."""
        return list(dict.fromkeys(map(_task_of, self.devices)))


def _task_of(device: str) -> str:
    return device.partition("/device:")[0]


@dataclass
class _Forming:
    """A group that devices are joining: its size, the devices so far, and the future of the complete group."""

    size: int
    devices: set[str] = field(default_factory=set)
    members: Future[Members] = field(default_factory=Future)


class Leader:
    """Forms groups out of the devices that join."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._forming: dict[int, _Forming] = {}

    def join(self, key: int, size: int, device: str) -> Future[Members]:
        """Adds a device to a group; returns the future of the complete group.

        Raises:
          errors.InternalError: the group has another size.
        """
        with self._lock:
            # A complete group's key may be used again: the device has restarted, or has left the group.
            group = self._forming.get(key)
            if group is None or group.members.done():
                group = self._forming[key] = _Forming(size)
            if group.size != size:
                raise errors.InternalError(
                    None, None, f"Device {device} is joining a group with size {size}, but that group has size {group.size} (group_key={key})"
                )
            # A set: a repeated CompleteGroup of one device counts once.
            group.devices.add(device)
            if len(group.devices) == size:
                group.members.set_result(Members(tuple(sorted(group.devices, key=_order)), secrets.token_hex(8)))
            return group.members


def _order(device: str) -> tuple[str, int, str]:
    """Sort key: by job, task number and device."""
    job, _, number = _task_of(device).rpartition(":")
    return job, int(number), device


class Membership:
    """The membership of a server's task in a group of devices.

    Args:
      groups: of the server. leader: the address of the leader's server; None if this one leads.
      key, size: of the group.
    """

    def __init__(self, groups: CollectiveGroups, leader: str | None, key: int, size: int) -> None:
        self._groups, self._leader, self._key, self._size = groups, leader, key, size
        self._lock = threading.Lock()
        self._joined: dict[str, Future[Members]] = {}
        self._group: Group | None = None
        self.members = Members((), "")

    def join(self, device: str) -> bool:
        """Joins with a device of this task, and waits until the group is complete; returns False instead if this thread may not wait.

        Raises:
          errors.CancelledError, errors.DeadlineExceededError: the run was cancelled, or is out of time.
          errors.OpError: the leader cannot be reached, or the group has another size.
        """
        # Each device asks once; later collectives of the group use the same future.
        device = self._groups.whole_name(device)
        with self._lock:
            if device not in self._joined:
                self._joined[device] = self._ask(device)
            found = self._joined[device]
        # A short timeout: cancellation does not complete the future.
        while not found.done():
            if not may_wait():
                return False
            left = seconds_left()
            if is_cancelled() or (left is not None and left <= 0):
                kind = errors.CancelledError if is_cancelled() else errors.DeadlineExceededError
                raise kind(None, None, f"The device {device} waited for all {self._size} devices of the collective group {self._key}.")
            try:
                found.result(_LOOK_SECONDS if left is None else min(left, _LOOK_SECONDS))
            except TimeoutError:
                continue
        self.members = found.result()
        return True

    def _ask(self, device: str) -> Future[Members]:
        """Tells the leader that a device joins."""
        if self._leader is None:
            return self._groups.leader.join(self._key, self._size, device)
        # CompleteGroup replies when the group is complete, so the call needs a thread.
        return THREADS.submit(self._ask_other, device)

    def _ask_other(self, device: str) -> Members:
        reply = RemoteService(self._leader or "", WORKER).call(
            "CompleteGroup", group_key=self._key, group_size=self._size, device_type="CPU", device_name=[device]
        )
        return Members(tuple(reply.device_name), reply.communicator_key.decode())

    @property
    def own_devices(self) -> list[str]:
        """The devices of this task in the group."""
        return [device for device in self.members.devices if _task_of(device) == self._groups.task]

    @property
    def group(self) -> Group:
        """The collective operations with the other tasks of the group; made on first use, once the group is complete."""
        with self._lock:
            if self._group is None:
                self._group = self._groups.group_of(self.members)
            return self._group


class CollectiveGroups:
    """The memberships of a server's task, by group_key, and the leader that serves other tasks.

    Args:
      server: the LocalServer. groups: where lines of other processes find their group.
    """

    def __init__(self, server: LocalServer, groups: Groups) -> None:
        self.task, self._config = server.task_name, server.config
        self._addresses = {task_name(*task): address for task, address in server.addresses.items()}
        self._groups = groups
        self.leader = Leader()
        self._lock = threading.Lock()
        self._memberships: dict[int, Membership] = {}

    def whole_name(self, device: str) -> str:
        """Completes the name of a device of this task; the default is CPU:0."""
        own = DeviceSpec.from_string(f"{self.task}/device:CPU:0")
        whole: str = own.make_merged_spec(DeviceSpec.from_string(device)).to_string()
        return whole

    def membership(self, key: int, size: int, config: messages.ConfigProto) -> Membership:
        """Returns this task's membership in a group.

        Args:
          key, size: of the group. config: a session's ConfigProto.
        """
        with self._lock:
            if key not in self._memberships:
                # The session's setting, else the server's. The leader may be this task.
                named = config.experimental.collective_group_leader or self._config.experimental.collective_group_leader
                leader = None if named in ("", self.task) else self._addresses[named]
                self._memberships[key] = Membership(self, leader, key, size)
            return self._memberships[key]

    def group_of(self, members: Members) -> Group:
        """Connects this task to the others of a complete group."""
        # All tasks have the members in one order, which gives the ranks.
        tasks = members.tasks
        peers = Peers(members.name, tasks.index(self.task), [self._addresses[task] for task in tasks])
        self._groups.add(peers)
        return spmd.group_of(peers)

    def leave(self, key: int) -> None:
        """Leaves a group because a process of it has ended. The next collective with this key joins a new group."""
        # Closed outside of the lock: that waits up to 10 seconds for arrays on their way.
        with self._lock:
            membership = self._memberships.pop(key, None)
        if membership is not None and membership.members.devices:
            self._groups.remove(membership.group.peers)
            membership.group.close()

    def complete(self, key: int, size: int, device: str, cancellation: Cancellation) -> Members:
        """Serves CompleteGroup: joins with a device of another task, and waits until the group is complete.

        Raises:
          errors.CancelledError: the caller gave up. errors.InternalError: the group has another size.
        """
        found = self.leader.join(key, size, device)
        # Set by completion and by cancellation, whichever comes first.
        either = threading.Event()
        found.add_done_callback(lambda _: either.set())
        cancellation.on_cancel(either.set)
        either.wait()
        if not found.done():
            raise errors.CancelledError(None, None, f"The device {device} gave up waiting for its group (group_key={key}).")
        return found.result()
