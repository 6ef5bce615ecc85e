"""A process of a group whose collectives are programs over all devices: `spmd.py ADDRESSES RANK WAY`, with TFCOMPAT_COORDINATOR. Prints JSON values."""

import json
import sys

import numpy as np

import tfcompat as tf
from tfcompat._src.base import jax_processes
from tfcompat._src.cluster import spmd
from tfcompat._src.cluster.peers import Peers
from tfcompat._src.runtime.devices.local_servers import LocalServer

addresses, rank, way = json.loads(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
server = LocalServer("worker", rank, tf.ConfigProto(), {("worker", i): address for i, address in enumerate(addresses)})
peers = Peers("test", rank, addresses)
server.services.groups.add(peers)
server.start()
LARGE = 10_000


def say(*values):
    print(json.dumps([np.asarray(v).tolist() if isinstance(v, np.ndarray) else v for v in values]), flush=True)


def whole(array):
    """The ends of an array all of whose elements but the first are the same, and its dtype and shape."""
    assert (array.ravel()[1:] == array.ravel()[-1]).all()
    return [array.ravel()[[0, -1]].tolist(), array.dtype.name, list(array.shape), array.flags.writeable]


def failure(pending):
    try:
        pending.result()
    except tf.errors.OpError as error:
        return [type(error).__name__, error.message]


def values(group):
    say(jax_processes.TRANSPORTS["test"])
    kinds = [np.float32, np.float64, np.int64, np.int32]
    begun = [group.all_reduce(kind.__name__, np.full((2, LARGE), rank + 2, kind), merge) for merge in ("Add", "Mul") for kind in kinds]
    say(*[whole(pending.result()) for pending in begun])
    say(group.all_reduce("half", np.full(2 * LARGE, rank + 2, np.float16), "Add").result()[-1:])
    for name, rows, kind in (("rows", rank + 1, np.int64), ("empty", rank, np.bool_), ("none", 0, np.float32)):
        joined = group.all_gather(name, np.full((rows, 2), rank, kind)).result()
        say(joined, joined.dtype.name, list(joined.shape))
    say(group.broadcast("one", np.full(3, rank), 1).result())
    names = [f"order{i}" for i in range(40)]
    begun = {name: group.all_reduce(name, np.full(LARGE, int(name[5:]) * (rank + 1)), "Add") for name in (names if rank else names[::-1])}
    say([int(begun[name].result()[0]) for name in names])
    say(failure(group.all_reduce("unlike", np.zeros(LARGE + rank), "Add")))
    say(failure(group.all_reduce("small", np.zeros(LARGE if rank else 1), "Add")))
    say(failure(group.all_gather("columns", np.zeros([1, 2 + rank]))))
    say(whole(group.all_reduce("after", np.ones(LARGE), "Add").result()))


def dying(group):
    """Process 1 is killed when both have said what they have; process 0 is told, lives on and is told again."""
    group.all_reduce("x", np.ones(LARGE), "Add").result()
    say("ready")
    if rank == 0:
        waiting = group.all_reduce("y", np.ones(LARGE), "Add")
        say(failure(waiting))
        say(failure(group.all_reduce("z", np.ones(LARGE), "Add")))
        say(tf.Session().run(tf.constant(1) + 1).item())
    sys.stdin.readline()


def leaving(group):
    """Process 0, which answers for jax.distributed, has nothing to do any more; process 1 still computes."""
    group.all_reduce("x", np.ones(LARGE), "Add").result()
    if rank == 1:
        say("ready")
        sys.stdin.readline()
        say(failure(group.all_reduce("y", np.ones(LARGE), "Add")))
        say(tf.Session().run(tf.constant(1) + 1).item())


found = spmd.group_of(peers)
{f.__name__: f for f in (values, dying, leaving)}[way](found)
found.close()
