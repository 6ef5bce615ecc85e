"""Runs a function for the task of a cluster that TF_CONFIG names: starts its server, prepares the strategy, and tells sessions about both."""

from __future__ import annotations

import contextlib
import copy
import json
import os
import threading
import time
from collections.abc import Callable
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.distribute import multi_worker_util
from tfcompat._src.platform import logging
from tfcompat._src.proto import messages
from tfcompat._src.runtime.session.session import Session
from tfcompat._src.train.cluster import ClusterSpec, Server
from tfcompat._src.train.coordinator import Coordinator
from tfcompat._src.train.monitored_session import ChiefSessionCreator, SessionCreator, WorkerSessionCreator
from tfcompat._src.train.scaffold import Scaffold
from tfcompat._src.train.worker_context import _worker_context, get_current_worker_context


class _TaskType:
    """The jobs of a cluster."""

    PS = "ps"
    WORKER = "worker"
    CHIEF = "chief"
    EVALUATOR = "evaluator"
    CLIENT = "client"


class CoordinatorMode:
    """How the tasks of a cluster come to run the function: one client runs it for all, or each task for itself."""

    STANDALONE_CLIENT = "standalone_client"
    INDEPENDENT_WORKER = "independent_worker"


class _Barrier(threading.Barrier):
    """Where the workers of a client wait for each other; their number is its argument."""


class _WorkerContext:
    """What a function learns about its task, while it runs: `get_current_worker_context()`.

    Args:
      strategy: the strategy, configured for the task. cluster_spec: a ClusterSpec, or None for local training.
      task_type, task_id: the task. session_config: a ConfigProto. rpc_layer: the protocol in targets.
      worker_barrier: waits for the other workers, where there is one.

    Attributes: the arguments, and what the strategy says of this task.
    """

    def __init__(
        self, strategy: Any, cluster_spec: ClusterSpec | None, task_type: str | None, task_id: int | None, session_config: object = None,
        rpc_layer: str | None = "grpc", worker_barrier: Any = None,
    ) -> None:  # fmt: skip
        self._strategy, self._cluster_spec, self._session_config = strategy, cluster_spec, session_config
        self._barrier = worker_barrier
        self.task_type, self.task_id = task_type, task_id
        jobs = cluster_spec.as_dict() if cluster_spec else {}
        self.num_workers = len(jobs.get(_TaskType.WORKER, ())) + len(jobs.get(_TaskType.CHIEF, ()))
        first = _TaskType.CHIEF if _TaskType.CHIEF in jobs else _TaskType.WORKER
        self.is_chief = not jobs or task_type in (_TaskType.EVALUATOR, None) or (task_type, task_id or 0) == (first, 0)
        prefix = f"{rpc_layer}://" if rpc_layer else ""
        self.master_target = prefix + jobs[task_type or first][task_id or 0] if jobs else ""

    def __enter__(self) -> None:
        if get_current_worker_context() is not None:
            raise ValueError(f"You cannot run distribute coordinator in a `worker_fn`: {self.task_type}, {self.task_id}")
        _worker_context.current = self

    def __exit__(self, *error: object) -> None:
        _worker_context.current = None

    @property
    def session_config(self) -> Any:
        """A copy of the ConfigProto."""
        return copy.deepcopy(self._session_config)

    @property
    def cluster_spec(self) -> Any:
        """A copy of the ClusterSpec."""
        return copy.deepcopy(self._cluster_spec)

    @property
    def distributed_mode(self) -> bool:
        """Whether other tasks train with this one."""
        return bool(self._cluster_spec) and self.task_type != _TaskType.EVALUATOR

    @property
    def has_barrier(self) -> bool:
        """Whether `wait_for_other_workers` waits."""
        return self._barrier is not None

    def wait_for_other_workers(self) -> None:
        """Waits until all workers have called this, where they are threads of one client."""
        if self._barrier is not None:
            self._barrier.wait()

    @property
    def experimental_should_init(self) -> bool:
        """Whether this task initializes variables."""
        return bool(self._strategy.extended.experimental_should_init)

    @property
    def should_checkpoint(self) -> bool:
        """Whether this task writes checkpoints."""
        return bool(self._strategy.extended.should_checkpoint)

    @property
    def should_save_summary(self) -> bool:
        """Whether this task writes summaries."""
        return bool(self._strategy.extended.should_save_summary)

    def session_creator(
        self, scaffold: Scaffold | None = None, config: Any = None, checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None, max_wait_secs: float = 7200,
    ) -> SessionCreator:  # fmt: skip
        """Makes sessions of this task, that initialize variables or wait for who does; arguments as of ChiefSessionCreator."""
        session_config = self._session_config
        if config:
            session_config = copy.deepcopy(config)
            session_config.MergeFrom(self._session_config)
        if self._strategy is None or self.experimental_should_init:
            return ChiefSessionCreator(scaffold, self.master_target, session_config, checkpoint_dir, checkpoint_filename_with_path)
        return WorkerSessionCreator(scaffold, self.master_target, session_config, max_wait_secs)


_thread_local = threading.local()
"""The server that this thread has started for its task, as a process can start no second one there."""


class _ServerOfEnvironment:
    """The server of a task that runs already: the environment "google" starts one for each task, which a session wakes.

    Args:
      target: of its sessions. session_config: theirs.
    """

    def __init__(self, target: str, session_config: messages.ConfigProto | None) -> None:
        self._target, self._session_config = target, session_config

    def start(self) -> None:
        """Opens a session on it, and keeps that."""
        logging.info("Creating a remote session to start a TensorFlow server, target = %r, session_config=%r", self._target, self._session_config)
        self._session = Session(self._target, config=self._session_config)

    def join(self) -> None:
        """Waits until the process ends."""
        while True:
            time.sleep(5)


def _run_std_server(
    cluster_spec: ClusterSpec, task_type: str | None, task_id: int | None, session_config: messages.ConfigProto | None = None,
    rpc_layer: str | None = None, environment: str | None = None,
) -> Server | _ServerOfEnvironment:  # fmt: skip
    """The started server of a task: that of before, where this thread has started one.

    Raises:
      ValueError: it is of another task.
    """
    server: Server | _ServerOfEnvironment | None = getattr(_thread_local, "server", None)
    if server is None and environment == "google":
        address = cluster_spec.task_address(task_type, task_id)
        server = _thread_local.server = _ServerOfEnvironment(f"{rpc_layer}://{address}" if rpc_layer else address, session_config)
        server.start()
        _thread_local.task = task_type, task_id
    elif server is None:
        jobs = cluster_spec.as_dict()
        alone = {_TaskType.EVALUATOR: jobs.get(_TaskType.EVALUATOR)}
        together = {job: tasks for job, tasks in jobs.items() if job != _TaskType.EVALUATOR}
        spec = ClusterSpec(alone if task_type == _TaskType.EVALUATOR else together)
        server = _thread_local.server = Server(spec, task_type, task_id, protocol=rpc_layer, config=session_config)
        _thread_local.task = task_type, task_id
    elif _thread_local.task != (task_type, task_id):
        raise ValueError(f"This thread has the server of {_thread_local.task}, and cannot have that of {task_type}, {task_id} too.")
    return server


def _run_single_worker(
    worker_fn: Callable[[Any], Any], strategy: Any, cluster_spec: ClusterSpec | None, task_type: str | None, task_id: int | None,
    session_config: object, rpc_layer: str | None = "", worker_barrier: _Barrier | None = None, coord: Coordinator | None = None,
) -> Any:  # fmt: skip
    """Calls a function with a copy of the strategy that is configured for a task, in the context of that; `coord` gets what it raises."""
    session_config, strategy = copy.deepcopy(session_config), copy.deepcopy(strategy)
    if task_type != _TaskType.EVALUATOR:
        strategy.configure(session_config, cluster_spec, task_type, task_id)
    elif strategy:
        strategy.configure(session_config)
    with _WorkerContext(strategy, cluster_spec, task_type, task_id, session_config, rpc_layer, worker_barrier):
        with contextlib.nullcontext() if coord is None else coord.stop_on_exception():
            return worker_fn(strategy)


def _run_client(
    worker_fn: Callable[[Any], Any], strategy: Any, eval_fn: Callable[[Any], Any], eval_strategy: object, spec: ClusterSpec,
    session_config: messages.ConfigProto, rpc_layer: str,
) -> Any:  # fmt: skip
    """Calls the functions of all workers and of the evaluator, in threads, against the servers of a cluster.

    Where the strategy has one graph for all workers, there is one call for them, whose result it returns.
    """
    coord = Coordinator()
    calls = [(eval_fn, eval_strategy, spec, _TaskType.EVALUATOR, 0)] if _TaskType.EVALUATOR in spec.jobs else []
    barrier = None
    if strategy.extended.experimental_between_graph:
        workers = [(job, i) for job in (_TaskType.CHIEF, _TaskType.WORKER) for i in range(len(spec.as_dict().get(job, ())))]
        calls += [(worker_fn, strategy, spec, *task) for task in workers]
        barrier = _Barrier(len(workers))
    threads = [
        threading.Thread(target=_run_single_worker, args=(*call, session_config, rpc_layer, barrier if call[0] is worker_fn else None, coord))
        for call in calls
    ]
    for thread in threads:
        thread.start()
    result = None if barrier else _run_single_worker(worker_fn, strategy, spec, None, None, session_config, rpc_layer, coord=coord)
    coord.join(threads)
    return result


def run_distribute_coordinator(
    worker_fn: Callable[[Any], Any], strategy: object, eval_fn: Callable[[Any], Any] | None = None, eval_strategy: object = None,
    mode: str = CoordinatorMode.STANDALONE_CLIENT, cluster_spec: object = None, task_type: str | None = None, task_id: int | None = None,
    session_config: messages.ConfigProto | None = None, rpc_layer: str = "grpc",
) -> Any:  # fmt: skip
    """Calls `worker_fn(strategy)` for a task, or is its server.

    Args:
      worker_fn: trains. strategy: its strategy, which is copied and told about the task.
      eval_fn, eval_strategy: in place of these, for an evaluator.
      mode: INDEPENDENT_WORKER: each task of the cluster calls this. STANDALONE_CLIENT: a client, which is no task of the cluster, calls the
        functions of all workers in its threads; the tasks, where they call this, are servers.
      cluster_spec, task_type, task_id: the cluster and the task, by default as TF_CONFIG says.
      session_config: a ConfigProto. rpc_layer: the protocol in targets.

    Returns:
      what the function returns; a parameter server does not return.

    Raises:
      ValueError: the mode or the task is none.
    """
    tf_config = json.loads(os.environ.get("TF_CONFIG", "{}"))
    if not cluster_spec:
        cluster_spec, task = tf_config.get("cluster", {}), tf_config.get("task", {})
        if task:
            task_type, task_id = task.get("type", task_type), int(task.get("index", task_id))
    rpc_layer = tf_config.get("rpc_layer", rpc_layer)
    environment = tf_config.get("environment")
    session_config = copy.deepcopy(session_config) if session_config else messages.ConfigProto(allow_soft_placement=True)
    if not cluster_spec:
        logging.info("Running local Distribute Coordinator.")
        _run_single_worker(worker_fn, strategy, None, None, None, session_config, rpc_layer)
        if eval_fn:
            return _run_single_worker(eval_fn, eval_strategy, None, None, None, session_config, rpc_layer)
        logging.warning("Skipped evaluation since `eval_fn` is not passed in.")
        return None
    spec = multi_worker_util.normalize_cluster_spec(cluster_spec)
    if mode == CoordinatorMode.STANDALONE_CLIENT and task_type in (_TaskType.CLIENT, None):
        return _run_client(worker_fn, strategy, eval_fn or worker_fn, eval_strategy, spec, session_config, rpc_layer)
    if mode == CoordinatorMode.STANDALONE_CLIENT:
        return _server_of_task(strategy, eval_strategy, spec, task_type, task_id, session_config, rpc_layer, environment).join()
    if mode != CoordinatorMode.INDEPENDENT_WORKER:
        raise ValueError(f"Unexpected coordinator mode: {mode!r}")
    logging.info("Running Distribute Coordinator with cluster_spec = %r, task = %r, %r", spec.as_dict(), task_type, task_id)
    return _run_task(worker_fn, strategy, eval_fn or worker_fn, eval_strategy, spec, task_type, task_id, session_config, rpc_layer, environment)


def _run_task(
    worker_fn: Callable[[Any], Any], strategy: Any, eval_fn: Callable[[Any], Any], eval_strategy: object, spec: ClusterSpec,
    task_type: str | None, task_id: int | None, session_config: messages.ConfigProto, rpc_layer: str, environment: str | None,
) -> Any:  # fmt: skip
    """Does the part of a task of a cluster; see `run_distribute_coordinator`."""
    server = _server_of_task(strategy, eval_strategy, spec, task_type, task_id, session_config, rpc_layer, environment)
    if task_type == _TaskType.EVALUATOR:
        return _run_single_worker(eval_fn, eval_strategy, spec, task_type, task_id, session_config, rpc_layer)
    if task_type not in (_TaskType.CHIEF, _TaskType.WORKER, _TaskType.PS):
        raise ValueError(f"Unexpected task_type: {task_type!r}")
    if task_type == _TaskType.PS:
        return server.join()
    if strategy.extended.experimental_between_graph:
        return _run_single_worker(worker_fn, strategy, spec, task_type, task_id, session_config, rpc_layer)
    if _WorkerContext(strategy, spec, task_type, task_id).is_chief:
        return _run_single_worker(worker_fn, strategy, spec, None, None, session_config, rpc_layer)
    return server.join()


def _server_of_task(
    strategy: Any, eval_strategy: Any, spec: ClusterSpec, task_type: str | None, task_id: int | None, session_config: Any, rpc_layer: str,
    environment: str | None,
) -> Server | _ServerOfEnvironment:  # fmt: skip
    """The started server of a task with the settings of its strategy.

    These stay in `session_config`, with which the task's sessions are configured once more, as in 1.15; device filters do not.
    """
    if task_type != _TaskType.EVALUATOR:
        copy.deepcopy(strategy).configure(session_config, spec, task_type, task_id)
    elif eval_strategy:
        eval_strategy.configure(session_config)
    del session_config.device_filters[:]
    return _run_std_server(
        cluster_spec=spec, task_type=task_type, task_id=task_id, session_config=session_config, rpc_layer=rpc_layer, environment=environment
    )


@export("contrib.distribute.run_standard_tensorflow_server")
def run_standard_tensorflow_server(session_config: messages.ConfigProto | None = None) -> Server:
    """Starts the server of the task that TF_CONFIG names, and returns it.

    Args:
      session_config: a ConfigProto; the leader of collective operations is added to a copy of it.

    Raises:
      ValueError: TF_CONFIG names no cluster with a chief or workers, or no task.
    """
    tf_config = json.loads(os.environ.get("TF_CONFIG", "{}"))
    for key in ("cluster", "task"):
        if key not in tf_config:
            raise ValueError(f'"{key}" is not found in TF_CONFIG.')
    spec, task = multi_worker_util.normalize_cluster_spec(tf_config["cluster"]), tf_config["task"]
    if "type" not in task:
        raise ValueError('"task_type" is not found in the `task` part of TF_CONFIG.')
    leader = next((job for job in (_TaskType.CHIEF, _TaskType.WORKER) if job in spec.jobs), None)
    if leader is None:
        raise ValueError("You must have `chief` or `worker` jobs in the `cluster_spec`.")
    of_server = copy.deepcopy(session_config) if session_config else messages.ConfigProto()
    of_server.experimental.collective_group_leader = f"/job:{leader}/replica:0/task:0"
    rpc_layer = tf_config.get("rpc_layer", "grpc")
    server = _run_std_server(
        cluster_spec=spec, task_type=task["type"], task_id=int(task.get("index", 0)), session_config=of_server, rpc_layer=rpc_layer
    )
    server.start()
    return server
