"""What the environment variable TF_CONFIG says about the cluster of a program and its own task."""

from __future__ import annotations

from typing import Any

from tfcompat._src.platform import logging
from tfcompat._src.proto.messages import ConfigProto
from tfcompat._src.train.cluster import ClusterSpec

_LOCAL_MASTER = ""
_NOTE = "\n\nNote that these values may be coming from the TF_CONFIG environment variable."


class TaskType:
    """The jobs of a cluster."""

    MASTER = "master"
    PS = "ps"
    WORKER = "worker"
    CHIEF = "chief"
    EVALUATOR = "evaluator"


def cluster_settings(tf_config: dict[str, Any]) -> dict[str, Any]:
    """The properties of a RunConfig that TF_CONFIG decides, by name.

    Args:
      tf_config: the decoded variable; {} for a program that runs alone.

    Raises:
      TypeError: "service" is no dict. ValueError: the cluster has no or several chiefs, or no such task.
    """
    service = tf_config.get("service")
    if service is not None and not isinstance(service, dict):
        raise TypeError(f'If "service" is set in TF_CONFIG, it must be a dict. Given {type(service)}')
    cluster = ClusterSpec(tf_config.get("cluster", {}))
    found: dict[str, Any] = {"service": service, "cluster_spec": cluster}
    task = tf_config.get("task", {})
    if not cluster:
        return {**found, **_alone(task, tf_config)}
    if TaskType.MASTER in cluster.jobs:
        return {**found, **_with_master(cluster, task, tf_config)}
    return {**found, **_with_chief(cluster, task, tf_config)}


def _alone(task: dict[str, Any], tf_config: dict[str, Any]) -> dict[str, Any]:
    task_type, task_id = task.get("type", TaskType.WORKER), int(task.get("index", 0))
    if task_type != TaskType.WORKER:
        raise ValueError('If "cluster" is not set in TF_CONFIG, task type must be WORKER.')
    if task_id != 0:
        raise ValueError('If "cluster" is not set in TF_CONFIG, task index must be 0.')
    return {
        "task_type": task_type, "task_id": task_id, "global_id_in_cluster": 0,
        "master": tf_config.get("session_master", _LOCAL_MASTER),
        "evaluation_master": tf_config.get("eval_session_master", _LOCAL_MASTER),
        "is_chief": True, "num_ps_replicas": 0, "num_worker_replicas": 1,
    }  # fmt: skip


def _with_chief(cluster: ClusterSpec, task: dict[str, Any], tf_config: dict[str, Any]) -> dict[str, Any]:
    task_type, task_id = _task(cluster, task, TaskType.CHIEF)
    found = {"task_type": task_type, "task_id": task_id, "evaluation_master": _evaluation_master(task_type, tf_config)}
    if task_type == TaskType.EVALUATOR:
        found.update(
            cluster_spec=ClusterSpec({}), master=_LOCAL_MASTER, num_ps_replicas=0, num_worker_replicas=0,
            global_id_in_cluster=None,
        )  # fmt: skip
    else:
        found["master"] = _master(cluster, task_type, task_id, tf_config)
        found.update(_replicas(cluster, TaskType.CHIEF))
        found["global_id_in_cluster"] = global_id(cluster, task_type, task_id, TaskType.CHIEF)
    return {**found, "is_chief": task_type == TaskType.CHIEF}


def _with_master(cluster: ClusterSpec, task: dict[str, Any], tf_config: dict[str, Any]) -> dict[str, Any]:
    if TaskType.CHIEF in cluster.jobs:
        raise ValueError("If `master` node exists in `cluster`, job `chief` is not supported.")
    task_type, task_id = _task(cluster, task, TaskType.MASTER)
    if task_type == TaskType.EVALUATOR:
        raise ValueError("If `master` node exists in `cluster`, task_type `evaluator` is not supported.")
    return {
        "task_type": task_type, "task_id": task_id,
        "global_id_in_cluster": global_id(cluster, task_type, task_id, TaskType.MASTER),
        "master": _master(cluster, task_type, task_id, tf_config),
        "evaluation_master": _evaluation_master(task_type, tf_config),
        **_replicas(cluster, TaskType.MASTER), "is_chief": task_type == TaskType.MASTER,
    }  # fmt: skip


def _task(cluster: ClusterSpec, task: dict[str, Any], chief: str) -> tuple[str, int]:
    """The job and number of this program."""
    if chief not in cluster.jobs:
        raise ValueError(f'If "cluster" is set in TF_CONFIG, it must have one "{chief}" node.')
    if cluster.num_tasks(chief) > 1:
        raise ValueError(f'The "cluster" in TF_CONFIG must have only one "{chief}" node.')
    task_type, task_id = task.get("type"), task.get("index")
    if not task_type:
        raise ValueError('If "cluster" is set in TF_CONFIG, task type must be set.')
    if task_id is None:
        raise ValueError('If "cluster" is set in TF_CONFIG, task index must be set.')
    task_id = int(task_id)
    if task_id < 0:
        raise ValueError("Task index must be non-negative number.")
    if task_type == TaskType.EVALUATOR:
        return task_type, task_id
    if task_type not in cluster.jobs:
        raise ValueError(f"{task_type} is not a valid task_type in the cluster_spec:\n{cluster}{_NOTE}")
    if task_id >= len(cluster.job_tasks(task_type)):
        raise ValueError(
            f"{task_id} is not a valid task_id for task_type {task_type} in the cluster_spec:\n{cluster}{_NOTE}"
        )
    return task_type, task_id


def _master(cluster: ClusterSpec, task_type: str, task_id: int, tf_config: dict[str, Any]) -> str:
    if "session_master" in tf_config:
        return tf_config["session_master"]
    if len(cluster.jobs) == 1 and cluster.num_tasks(cluster.jobs[0]) == 1:
        return _LOCAL_MASTER
    return f"grpc://{cluster.job_tasks(task_type)[task_id]}"


def _evaluation_master(task_type: str, tf_config: dict[str, Any]) -> str:
    return tf_config.get("eval_session_master", _LOCAL_MASTER) if task_type == TaskType.EVALUATOR else _LOCAL_MASTER


def _replicas(cluster: ClusterSpec, chief: str) -> dict[str, int]:
    jobs = cluster.as_dict()
    workers = len(jobs.get(TaskType.WORKER, ())) + len(jobs.get(chief, ()))
    return {"num_ps_replicas": len(jobs.get(TaskType.PS, ())), "num_worker_replicas": workers}


def global_id(cluster: ClusterSpec, task_type: str, task_id: int, chief: str) -> int:
    """The number of a task among all: the chief first, then the other jobs by name, parameter servers last."""
    others = sorted(job for job in cluster.jobs if job not in (chief, TaskType.PS))
    order = [*([chief] if chief in cluster.jobs else []), *others, TaskType.PS]
    return task_id + sum(cluster.num_tasks(job) for job in order[: order.index(task_type)])


def session_config(device_filters: list[str] | None = None) -> Any:
    """The ConfigProto of an Estimator's sessions.

    Args:
      device_filters: the jobs that the session sees, by default all.
    """
    made = ConfigProto(allow_soft_placement=True, device_filters=device_filters)
    made.graph_options.rewrite_options.meta_optimizer_iterations = 1
    return made


def session_config_of_task(task_type: str, task_id: int) -> Any:
    """The ConfigProto of the sessions of a task, which sees those that it works with; None for an evaluator."""
    filters = {
        TaskType.MASTER: ["/job:ps", "/job:master"],
        TaskType.CHIEF: ["/job:ps", "/job:chief"],
        TaskType.WORKER: ["/job:ps", f"/job:worker/task:{task_id}"],
        TaskType.PS: ["/job:ps", "/job:worker", "/job:chief", "/job:master"],
    }
    return session_config(filters[task_type]) if task_type in filters else None


def model_dir(tf_config: dict[str, Any], given: str | None) -> str | None:
    """The folder of the model, of a RunConfig's argument or TF_CONFIG; ValueError where they differ or one is empty."""
    if given == "":
        raise ValueError("model_dir should be non-empty.")
    other = tf_config.get("model_dir")
    if other == "":
        raise ValueError("model_dir in TF_CONFIG should be non-empty.")
    if not other:
        return given
    if given and other != given:
        raise ValueError(
            "`model_dir` provided in RunConfig construct, if set, must have the same value as the model_dir in "
            "TF_CONFIG. "
            f'model_dir: {given}\nTF_CONFIG["model_dir"]: {other}.\n'
        )
    logging.info("Using model_dir in TF_CONFIG: %s", other)
    return other
