"""The processes of a Horovod program: which one this is, of how many, and their streams.

`tfcompat launch --np N SCRIPT` starts them, with the variables of `horovodrun` in their environment, and TFCOMPAT_PEERS: where each
one listens, in the order of their ranks. A program that is started alone is one process of one.
"""

from __future__ import annotations

import atexit
import os
import warnings

import numpy as np

from tfcompat._src.base import jax_processes
from tfcompat._src.cluster import spmd
from tfcompat._src.cluster.exchange import Group
from tfcompat._src.cluster.peers import Peers
from tfcompat._src.platform import logging
from tfcompat._src.proto import messages
from tfcompat._src.runtime.devices.local_servers import LocalServer

PEERS = "TFCOMPAT_PEERS"
Average, Sum, Adasum = 0, 1, 2
"""What becomes of the tensors of all processes; the numbers are Horovod's."""


class _State:
    """What `init` has made: the group of the processes, and the server that they send to."""

    group: Group | None = None
    server: LocalServer | None = None


_state = _State()


def init(comm: object = None) -> None:
    """Waits for all processes of the program; does nothing where that was done.

    Args:
      comm: None or an empty list, for all processes.

    Raises:
      ValueError: `comm` names some of the processes, or is an MPI communicator. errors.UnknownError: its port is taken.
    """
    if comm is not None and comm != []:
        raise ValueError("tfcompat's Horovod has no communicators: all processes take part, call hvd.init() without `comm`")
    if _state.group is not None:
        return
    addresses = os.environ.get(PEERS, "").split(",")
    rank, size = _number("HOROVOD_RANK", 0), _number("HOROVOD_SIZE", 1)
    if size > 1 and len(addresses) != size:
        raise ValueError(f"HOROVOD_SIZE is {size}, but {PEERS} has {len(addresses)} addresses: start the program by `tfcompat launch --np {size}`")
    jax_processes.join()
    peers = Peers("horovod", rank, addresses)
    if size > 1:
        tasks = {("worker", i): address for i, address in enumerate(addresses)}
        _state.server = LocalServer("worker", rank, messages.ConfigProto(), tasks)
        _state.server.services.groups.add(peers)
        _state.server.start()
    _state.group = spmd.group_of(peers)
    atexit.register(shutdown)
    _state.group.all_gather("init", np.array([rank])).result()
    logging.info("Horovod: process %d of %d", rank, size)


def shutdown() -> None:
    """Leaves the other processes; does nothing where `init` was not called."""
    group, _state.group = _state.group, None
    if group is not None:
        group.close()
    if _state.server is not None and group is not None:
        _state.server.services.groups.remove(group.peers)


def _number(name: str, default: int) -> int:
    return int(os.environ.get(name, default))


def group() -> Group:
    """The processes.

    Raises:
      ValueError: `init` was not called.
    """
    if _state.group is None:
        raise ValueError("Horovod has not been initialized; use hvd.init().")
    return _state.group


def size() -> int:
    """How many processes there are; ValueError before `init`."""
    return group().size


def rank() -> int:
    """Which of all processes this is, from 0; ValueError before `init`."""
    return group().rank


def local_size() -> int:
    """How many processes there are on this machine; ValueError before `init`."""
    return _number("HOROVOD_LOCAL_SIZE", group().size)


def local_rank() -> int:
    """Which of the processes on this machine this is, from 0; ValueError before `init`."""
    return _number("HOROVOD_LOCAL_RANK", group().rank)


def is_homogeneous() -> bool:
    """Whether each machine has equally many processes; ValueError before `init`."""
    return size() % local_size() == 0


def mpi_threads_supported() -> bool:
    """Whether MPI may be used beside Horovod by several threads: there is no MPI; ValueError before `init`."""
    group()
    return False


def mpi_enabled() -> bool:
    """Whether MPI connects the processes: never."""
    return False


def mpi_built() -> bool:
    """Whether MPI may connect the processes: never."""
    return False


def gloo_enabled() -> bool:
    """Whether the processes are connected without MPI: always, as with Gloo."""
    return True


def gloo_built() -> bool:
    """Whether the processes may be connected without MPI: always, as with Gloo."""
    return True


def nccl_built() -> bool:
    """Whether NCCL connects GPUs: never."""
    return False


def ddl_built() -> bool:
    """Whether IBM's DDL connects GPUs: never."""
    return False


def ccl_built() -> bool:
    """Whether oneCCL connects processes: never."""
    return False


def handle_average_backwards_compatibility(op: int | None, average: bool | None) -> int:
    """The reduction that the newer argument `op` and the older one `average` mean, Average where both are None.

    Raises:
      ValueError: both are given.
    """
    if op is not None and average is not None:
        raise ValueError("The op parameter supersedes average. Please provide only one of them.")
    if average is not None:
        warnings.warn("Parameter `average` has been replaced with `op` and will be removed in v0.21.0", DeprecationWarning, stacklevel=3)
        return Average if average else Sum
    return Average if op is None else op


def check_num_rank_power_of_2(num_rank: int) -> bool:
    """Whether a number of processes is a power of two."""
    return num_rank > 0 and num_rank & (num_rank - 1) == 0
