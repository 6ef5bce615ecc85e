"""Questions about a task of a cluster, which code for several workers asks (tensorflow.python.distribute.multi_worker_util)."""

from __future__ import annotations

from tfcompat._src.proto import messages
from tfcompat._src.train.cluster import ClusterSpec
from tfcompat._src.train.worker_context import get_current_worker_context

_TASK_TYPES = ("chief", "worker", "evaluator", "ps")


def normalize_cluster_spec(cluster_spec: object) -> ClusterSpec:
    """A dict or a ClusterDef as a ClusterSpec, which comes back as it is; ValueError for anything else."""
    if isinstance(cluster_spec, (dict, messages.ClusterDef)):
        return ClusterSpec(cluster_spec)
    if not isinstance(cluster_spec, ClusterSpec):
        raise ValueError("`cluster_spec' should be dict or a `tf.train.ClusterSpec` or a `tf.train.ClusterDef` object")
    return cluster_spec


def _tasks(cluster_spec: object, task_type: str | None, task_id: int | None) -> dict[str, list[str]]:
    """The tasks by their type, when the cluster has such a task.

    Raises:
      ValueError: something is None, the type is unknown, the cluster lacks the task, or has several chiefs or evaluators.
    """
    if cluster_spec is None or task_type is None or task_id is None:
        raise ValueError("None of `cluster_spec`, `task_type`, and `task_id` should be `None`.")
    tasks: dict[str, list[str]] = normalize_cluster_spec(cluster_spec).as_dict()
    if task_type not in _TASK_TYPES:
        raise ValueError(f'Unrecognized task_type: {task_type!r}, valid task types are: "chief", "worker", "evaluator" and "ps".')
    if task_type not in tasks:
        raise ValueError(f"`task_type` {task_type!r} not found in cluster_spec.")
    for single in ("chief", "evaluator"):
        if len(tasks.get(single, ())) > 1:
            raise ValueError(f"There must be at most one {single!r} job.")
    if task_id >= len(tasks[task_type]):
        raise ValueError(f"The `task_id` {task_id} exceeds the maximum id of {task_type}.")
    return tasks


def is_chief(cluster_spec: object = None, task_type: str | None = None, task_id: int | None = None) -> bool:
    """Whether a task writes checkpoints and summaries: the chief, an evaluator, or the first worker of a cluster without a chief.

    Raises:
      ValueError: the cluster has no such task.
    """
    tasks = _tasks(cluster_spec, task_type, task_id)
    return task_type in ("chief", "evaluator") or (task_type == "worker" and task_id == 0 and "chief" not in tasks)


def worker_count(cluster_spec: object, task_type: str | None) -> int:
    """How many tasks train together with one of this type, itself among them: the chief and the workers, or one evaluator.

    Raises:
      ValueError: the cluster has no such task, or it is a parameter server.
    """
    tasks = _tasks(cluster_spec, task_type, 0)
    if task_type == "ps":
        raise ValueError(f"Unexpected `task_type` {task_type!r}")
    return 1 if task_type == "evaluator" else len(tasks.get("chief", ())) + len(tasks.get("worker", ()))


def collective_leader(cluster_spec: object, task_type: str | None, task_id: int | None) -> str:
    """The task that brings devices together for collective nodes: the chief, or the first worker; "" for an evaluator, or without a cluster.

    Raises:
      ValueError: the cluster has no such task.
    """
    if not normalize_cluster_spec(cluster_spec).as_dict():
        return ""
    tasks = _tasks(cluster_spec, task_type, task_id)
    return "" if task_type == "evaluator" else f"/job:{'chief' if 'chief' in tasks else 'worker'}/replica:0/task:0"


def id_in_cluster(cluster_spec: object, task_type: str | None, task_id: int | None) -> int:
    """The number of a task among those that train together: the chief is the first.

    Raises:
      ValueError: the cluster has no such task, or it does not train.
    """
    tasks = _tasks(cluster_spec, task_type, task_id)
    if task_type == "worker":
        return int(task_id or 0) + len(tasks.get("chief", ()))
    if task_type not in ("chief", "evaluator"):
        raise ValueError(f"There is no id for task_type {task_type!r}")
    return int(task_id or 0)


# ---- of the task that this thread trains for ----


def has_worker_context() -> bool:
    """Whether a coordinator runs this thread for a task of a cluster."""
    return get_current_worker_context() is not None


def in_multi_worker_mode() -> bool:
    """Whether this thread trains together with other tasks."""
    return has_worker_context() and bool(get_current_worker_context().cluster_spec)


def should_save_checkpoint() -> bool:
    """Whether the task of this thread writes checkpoints."""
    return bool(get_current_worker_context().should_checkpoint)


def should_load_checkpoint() -> bool:
    """Whether the task of this thread initializes and restores variables."""
    return bool(get_current_worker_context().experimental_should_init)


def wait_for_other_workers() -> None:
    """Waits until all workers have come here."""
    get_current_worker_context().wait_for_other_workers()
