"""`tensorflow.python.distribute.multi_worker_test_base`: clusters in one process, and tests whose tasks are threads or processes of their own."""

from __future__ import annotations

import contextlib
import copy
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any
from unittest import mock

import tfcompat as tf
from tfcompat._src.base import nest
from tfcompat._src.distribute import distribute_coordinator
from tfcompat._src.eager.mode import eager_mode, graph_mode
from tfcompat._src.proto import messages
from tfcompat._src.testing.local_cluster import free_addresses

_JOBS = ("chief", "worker", "ps", "evaluator")

original_run_std_server = distribute_coordinator._run_std_server

_taken: set[str] = set()
_taking = threading.Lock()

_servers: list[Any] = []
"""What `create_in_process_cluster` has started: it serves as long as the process lives."""


def _new_addresses(count: int) -> list[str]:
    """Addresses of this machine that no earlier call has given."""
    with _taking:
        found: list[str] = []
        while len(found) < count:
            found += [address for address in free_addresses(count - len(found)) if address not in _taken]
            _taken.update(found)
        return found


def pick_unused_port() -> int:
    """A port of this machine that nothing uses and that no earlier call has given."""
    return int(_new_addresses(1)[0].rsplit(":", 1)[1])


def create_cluster_spec(has_chief: bool = False, num_workers: int = 1, num_ps: int = 0, has_eval: bool = False, test_obj: object = None) -> dict:
    """The dict of a cluster at ports of this machine that nothing uses; nothing is started.

    Arguments:
      has_chief, has_eval: whether there is a job "chief", "evaluator", of one task.
      num_workers, num_ps: how many tasks the jobs "worker" and "ps" have; a job of none is left out.
      test_obj: the test that asks, which 1.15 takes and does not use.
    """
    counts = zip(_JOBS, (int(has_chief), num_workers, num_ps, int(has_eval)))
    return {job: _new_addresses(count) for job, count in counts if count}


def create_in_process_cluster(
    num_workers: int, num_ps: int, has_chief: bool = False, has_eval: bool = False, rpc_layer: str = "grpc"
) -> dict[str, list[str]]:
    """Starts the servers of a cluster in this process and gives its dict.

    Arguments:
      num_workers, num_ps: how many tasks the jobs "worker" and "ps" have.
      has_chief, has_eval: whether there is a job "chief", "evaluator", of one task.
      rpc_layer: the protocol, "grpc".
    """
    cluster = create_cluster_spec(has_chief, num_workers, num_ps, has_eval)
    worker_config = tf.ConfigProto()
    worker_config.experimental.collective_group_leader = f"/job:{'chief' if has_chief else 'worker'}/replica:0/task:0"
    ps_config = tf.ConfigProto(device_count={"GPU": 0})
    configs = {"chief": worker_config, "worker": worker_config, "ps": ps_config, "evaluator": tf.ConfigProto()}
    spec = tf.train.ClusterSpec(cluster)
    for job, addresses in cluster.items():
        _servers.extend(tf.train.Server(spec, job, task, rpc_layer, configs[job]) for task in range(len(addresses)))
    return cluster


@contextlib.contextmanager
def skip_if_grpc_server_cant_be_started(test_obj: Any) -> Iterator[None]:
    """Skips a test whose server gets no port."""
    try:
        yield
    except tf.errors.UnknownError as error:
        if "Could not start gRPC server" not in error.message:
            raise
        test_obj.test_skipped_reason = "Cannot start std servers."
        test_obj.skipTest(test_obj.test_skipped_reason)


def _in_mode(is_eager: bool, function: Callable[..., Any], *args: object, **kwargs: object) -> Any:
    with eager_mode() if is_eager else graph_mode():
        return function(*args, **kwargs)


class MultiWorkerTestBase(tf.test.TestCase):
    """Tests with sessions of a cluster of two workers and one ps in this process."""

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls._cluster_spec = create_in_process_cluster(num_workers=2, num_ps=1)
        cls._default_target = "grpc://" + cls._cluster_spec["worker"][0]

    def setUp(self) -> None:
        self._thread_local = threading.local()
        self._coord = tf.train.Coordinator()

    @contextlib.contextmanager
    def session(self, graph: Any = None, config: Any = None, target: str | None = None) -> Iterator[Any]:
        """A session of the cluster, or of `target`, which ends with the `with` block."""
        with tf.Session(self._target(target), graph, self._create_config(config)) as session:
            yield session

    @contextlib.contextmanager
    def cached_session(self, graph: object = None, config: object = None, target: str | None = None) -> Iterator[Any]:
        """The session of this thread, made at the first call: `config` and `target` count there only, and the graph is the default one."""
        if getattr(self._thread_local, "cached_session", None) is None:
            self._thread_local.cached_session = tf.Session(self._target(target), None, self._create_config(config))
        session = self._thread_local.cached_session
        with session.graph.as_default(), session.as_default():
            yield session

    def _target(self, target: str | None) -> str:
        return self._default_target if target is None else target

    def _create_config(self, config: Any) -> Any:
        """A config of its own, under which the graph is not rewritten."""
        config = tf.ConfigProto(allow_soft_placement=True) if config is None else copy.deepcopy(config)
        config.graph_options.optimizer_options.opt_level = -1
        config.graph_options.rewrite_options.constant_folding = messages.RewriterConfig.OFF
        return config

    def _run_client(
        self, client_fn: Callable, task_type: str, task_id: int, num_gpus: int, eager_mode: bool, *args: Any, **kwargs: Any
    ) -> None:
        with self._coord.stop_on_exception():
            _in_mode(eager_mode, client_fn, task_type, task_id, num_gpus, *args, **kwargs)

    def _run_between_graph_clients(self, client_fn: Callable, cluster_spec: dict, num_gpus: int, *args: Any, **kwargs: Any) -> None:
        """Calls `client_fn(task_type, task_id, num_gpus, ...)` in a thread for each chief and worker, and raises what one of them raises."""
        threads = [
            threading.Thread(target=self._run_client, args=(client_fn, job, task, num_gpus, tf.executing_eagerly(), *args), kwargs=kwargs)
            for job in ("chief", "worker")
            for task in range(len(cluster_spec.get(job, [])))
        ]
        for thread in threads:
            thread.start()
        self._coord.join(threads)


class MockOsEnv(MutableMapping):
    """An environment in which each thread has a TF_CONFIG of its own; it begins empty."""

    def __init__(self) -> None:
        self._shared: dict[str, str] = {}
        self._own = threading.local()

    def _place(self, key: str) -> dict[str, str]:
        return self._own.__dict__ if key == "TF_CONFIG" else self._shared

    def __getitem__(self, key: str) -> str:
        return self._place(key)[key]

    def __setitem__(self, key: str, value: str) -> None:
        self._place(key)[key] = value

    def __delitem__(self, key: str) -> None:
        del self._place(key)[key]

    def __iter__(self) -> Iterator[str]:
        yield from {**self._own.__dict__, **self._shared}

    def __len__(self) -> int:
        return len(self._own.__dict__) + len(self._shared)


def _tf_config(cluster_spec: dict, task_type: str | None, task_id: int | None) -> dict:
    return {"cluster": cluster_spec, **({"task": {"type": task_type, "index": task_id}} if task_type else {})}


class IndependentWorkerTestBase(tf.test.TestCase):
    """Tests whose tasks are threads, each with a TF_CONFIG of its own."""

    def setUp(self) -> None:
        super().setUp()
        self._mock_os_env = MockOsEnv()
        environment = mock.patch.object(os, "environ", self._mock_os_env)
        environment.start()
        self.addCleanup(environment.stop)
        self._coord = tf.train.Coordinator()
        self._thread_local = threading.local()

    def _make_mock_run_std_server(self) -> Callable[..., Any]:
        """A `_run_std_server` that waits at `self._barrier` until all tasks have started theirs; a second call in a thread does not."""

        def run_std_server(*args: Any, **kwargs: Any) -> Any:
            with skip_if_grpc_server_cant_be_started(self):
                server = original_run_std_server(*args, **kwargs)
            if not getattr(self._thread_local, "server_started", False):
                self._barrier.wait()  # type: ignore[attr-defined]  # the test gives it
            self._thread_local.server_started = True
            return server

        return run_std_server

    def _task_thread(self, task_fn: Callable, tf_config: dict, executing_eagerly: bool, *args: Any, **kwargs: Any) -> None:
        with self._coord.stop_on_exception():
            os.environ["TF_CONFIG"] = json.dumps(tf_config)
            with contextlib.nullcontext() if executing_eagerly else tf.Graph().as_default():
                _in_mode(executing_eagerly, task_fn, *args, **kwargs)

    def _run_task_in_thread(
        self, task_fn: Callable, cluster_spec: dict, task_type: str | None, task_id: int | None, *args: Any, **kwargs: Any
    ) -> threading.Thread:
        """Starts a task: `task_fn(*args, **kwargs)` under the TF_CONFIG of the arguments, or under the keyword argument `tf_config`."""
        tf_config = kwargs.pop("tf_config", None) or _tf_config(cluster_spec, task_type, task_id)
        thread = threading.Thread(target=self._task_thread, args=(task_fn, tf_config, tf.executing_eagerly(), *args), kwargs=kwargs)
        thread.start()
        return thread

    def run_multiple_tasks_in_threads(self, task_fn: Callable, cluster_spec: dict, *args: Any, **kwargs: Any) -> dict[str, list]:
        """Starts every task of a cluster and gives the threads by job."""
        return {
            job: [self._run_task_in_thread(task_fn, cluster_spec, job, task, *args, **kwargs) for task in range(len(tasks))]
            for job, tasks in cluster_spec.items()
        }

    def join_independent_workers(self, worker_threads: list[threading.Thread]) -> None:
        """Waits for tasks and raises what one of them has raised."""
        with skip_if_grpc_server_cant_be_started(self):
            self._coord.join(worker_threads)


class MultiWorkerMultiProcessTest(tf.test.TestCase):
    """Tests whose tasks are processes."""

    def _run_task_in_process(self, cmd_args: list[str], cluster_spec: dict, task_type: str, task_id: int) -> subprocess.Popen:
        env = {**os.environ, "TF_CONFIG": json.dumps(_tf_config(cluster_spec, task_type, task_id))}
        return subprocess.Popen(cmd_args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)

    def run_multiple_tasks_in_processes(self, cmd_args: list[str], cluster_spec: dict) -> dict[str, list[subprocess.Popen]]:
        """Starts a command for every task of a cluster and gives the processes by job."""
        return {
            job: [self._run_task_in_process(cmd_args, cluster_spec, job, task) for task in range(len(tasks))]
            for job, tasks in cluster_spec.items()
        }

    def join_independent_workers(self, worker_processes: object) -> None:
        """Waits for processes; fails where one ends with another code than 0."""
        for process in nest.flatten(worker_processes):
            with contextlib.suppress(ValueError):  # `stream_stderr` has read and closed its output
                process.communicate()
            self.assertEqual(process.wait(), 0)

    def stream_stderr(self, processes: dict[str, list[subprocess.Popen]], print_only_first: bool = False) -> None:
        """Prints what processes write to stderr, each line with job and task before it; of the first task of each job only, if so asked."""

        def stream(process: subprocess.Popen, name: str, is_printed: bool) -> None:
            for line in process.stderr or ():
                if is_printed:
                    print(name, line.strip())
                    sys.stdout.flush()

        threads = [
            threading.Thread(target=stream, args=(process, f"{job}{task}", task == 0 or not print_only_first))
            for job, started in processes.items()
            for task, process in enumerate(started)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def get_tf_config_task() -> dict[str, Any]:
    """The task that TF_CONFIG names: its "type" and its "index"."""
    return json.loads(os.environ["TF_CONFIG"])["task"]


def get_tf_config_cluster_spec() -> dict[str, Any]:
    """The cluster of TF_CONFIG."""
    return json.loads(os.environ["TF_CONFIG"])["cluster"]


def get_task_type() -> str:
    """The job of the task that TF_CONFIG names."""
    return get_tf_config_task()["type"]


def get_task_index() -> int:
    """The number of the task that TF_CONFIG names."""
    return get_tf_config_task()["index"]


def is_chief() -> bool:
    """Whether TF_CONFIG names the first worker of a cluster without a chief."""
    return "chief" not in get_tf_config_cluster_spec() and get_task_type() == "worker" and get_task_index() == 0
