"""Runs a function once per replica, each in a thread of its own, one at a time; they meet in `merge_call`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.distribute.device_map import replica_number
from tfcompat._src.distribute.replica_context import ReplicaContext
from tfcompat._src.distribute.shared_variable_creator import make_fn
from tfcompat._src.distribute.values import regroup, select_replica
from tfcompat._src.graph.scopes import control_dependencies, device, get_default_graph, name_scope
from tfcompat._src.nodes.convert import constant
from tfcompat._src.summary.recording import STATE as SUMMARIES
from tfcompat._src.variables.scope import get_variable_scope, variable_scope
from tfcompat._src.variables.variable import creator_stack, variable_creator_scope


class _Stopped(BaseException):
    """Ends a waiting replica after another one failed."""


class ThreadReplicaContext(ReplicaContext):
    """The context of a replica that runs in a `_Replica` thread."""

    def _merge_call(self, merge_fn: Callable, args: tuple, kwargs: dict) -> Any:
        return threading.current_thread().wait_for_merge(merge_fn, args, kwargs)

    @property
    def devices(self) -> tuple[str, ...]:
        self._require()
        return (self._strategy.extended.worker_devices[replica_number(self)],)


class _Replica(threading.Thread):
    """One replica: runs until it is done or wants to merge, and then waits for its next turn.

    Args:
      strategy, index, where: the strategy, the replica's number and its device.
      creator: makes its variables. fn: called without arguments.
    """

    def __init__(self, strategy: Any, index: int, where: str, creator: Callable, fn: Callable[[], Any]) -> None:
        super().__init__(name=f"replica_{index}", daemon=True)
        self._strategy, self._index, self._where, self._creator, self._fn = strategy, index, where, creator, fn
        self.graph = get_default_graph()
        self._creators = list(creator_stack(self.graph))
        self._variable_scope = get_variable_scope()
        self._summaries = vars(SUMMARIES).copy()
        scope = self.graph.get_name_scope()
        self._name_scope = (scope + "/" if scope else "") + (f"replica_{index}/" if index else "")
        self._turn, self._paused = threading.Event(), threading.Event()
        self._ended = False
        self.done = False
        self.result: Any = None
        self.error: BaseException | None = None
        self.merge_fn: Callable | None = None

    def step(self) -> None:
        """Lets the replica run until it is done or wants to merge; raises what it raised."""
        self._paused.clear()
        self._turn.set()
        self._paused.wait()
        if self.error is not None:
            raise self.error

    def end(self) -> None:
        """Ends the thread, wherever it is."""
        self._ended = True
        self._turn.set()
        self.join()

    def _wait(self) -> None:
        self._turn.wait()
        self._turn.clear()
        if self._ended:
            raise _Stopped

    def run(self) -> None:
        try:
            self._wait()
            self.result = self._call()
            self.done = True
        except _Stopped:
            pass
        except BaseException as e:  # noqa: BLE001  (raised again in the main thread)
            self.error = e
        finally:
            self._paused.set()

    def _call(self) -> Any:
        with self.graph.as_default():
            creator_stack(self.graph)[:] = self._creators
            vars(SUMMARIES).update(self._summaries)
            number = constant(self._index, dtypes.int32)
            with (
                ThreadReplicaContext(self._strategy, number), device(self._where), name_scope(self._name_scope),
                variable_scope(self._variable_scope, reuse=self._index > 0), variable_creator_scope(self._creator),
            ):  # fmt: skip
                return self._fn()

    def wait_for_merge(self, merge_fn: Callable, args: tuple, kwargs: dict) -> Any:
        """Called in the replica: hands over to the main thread, and gives what it made for this replica.

        Raises:
          RuntimeError: the replica is building another graph.
        """
        if get_default_graph() is not self.graph:
            raise RuntimeError(
                "`merge_call` called while defining a new graph or a tf.function. Wrap the whole call of "
                "`strategy.experimental_run_v2` in the function, instead of calling a function in each replica."
            )
        self.merge_fn, self.merge_args, self.merge_kwargs = merge_fn, args, kwargs
        scope = self.graph.get_name_scope()
        self.scopes = (scope + "/" if scope else scope, get_variable_scope(), self.graph._current_control_dependencies())
        self._paused.set()
        self._wait()
        return self.merge_result


def call_for_each_replica(strategy: object, devices: Sequence[str], fn: Callable, args: tuple, kwargs: dict) -> Any:
    """Results of `fn` in all replicas, with PerReplica values at the leaves.

    Args:
      strategy: the strategy. devices: one for each replica.
      fn, args, kwargs: what to call; each replica gets its component of distributed values.

    Raises:
      RuntimeError: the replicas do not call `merge_call` equally often.
    """
    get_default_graph().switch_to_thread_local()
    store: dict[str, list] = {}
    replicas = []
    for i, where in enumerate(devices):
        mine, mine_by_name = select_replica(i, args), select_replica(i, kwargs)
        call = lambda a=mine, k=mine_by_name: fn(*a, **k)  # noqa: E731
        replicas.append(_Replica(strategy, i, where, make_fn(store, i), call))
    for replica in replicas:
        replica.start()
    try:
        while not replicas[-1].done:
            for replica in replicas:
                replica.step()
            if any(replica.done for replica in replicas) and not all(replica.done for replica in replicas):
                raise RuntimeError("Some replicas made a different number of replica_context().merge_call() calls.")
            if not replicas[0].done:
                _merge(strategy, devices, replicas)
    finally:
        for replica in replicas:
            replica.end()
    return regroup(devices, [replica.result for replica in replicas])


def _merge(strategy: object, devices: Sequence[str], replicas: list[_Replica]) -> None:
    """Calls the function that the replicas want to merge with, and gives each replica its part of the result."""
    args = regroup(devices, [replica.merge_args for replica in replicas])
    kwargs = regroup(devices, [replica.merge_kwargs for replica in replicas])
    scope, variables, _ = replicas[0].scopes
    waited_for = sorted({op for replica in replicas for op in replica.scopes[2]}, key=lambda op: op._id)
    with name_scope(scope), control_dependencies(waited_for), variable_scope(variables):
        result = replicas[0].merge_fn(strategy, *args, **kwargs)
    for i, replica in enumerate(replicas):
        replica.merge_result = select_replica(i, result)
