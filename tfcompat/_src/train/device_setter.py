"""tf.train.replica_device_setter: variables on parameter servers, the rest on a worker."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from tfcompat._src.base.device import DeviceSpec
from tfcompat._src.base.export import export
from tfcompat._src.platform import logging
from tfcompat._src.train.cluster import ClusterSpec

STANDARD_PS_OPS = (
    "Variable", "VariableV2", "AutoReloadVariable", "MutableHashTable", "MutableHashTableV2", "MutableHashTableOfTensors",
    "MutableHashTableOfTensorsV2", "MutableDenseHashTable", "MutableDenseHashTableV2", "VarHandleOp",
    "BoostedTreesEnsembleResourceHandleOp", "BoostedTreesQuantileStreamResourceHandleOp", "ResourceConditionalAccumulator",
)  # fmt: skip


class _RoundRobinStrategy:
    """Gives the tasks in turn."""

    def __init__(self, num_tasks: int) -> None:
        self._tasks = itertools.cycle(range(num_tasks))

    def __call__(self, op: object) -> int:
        return next(self._tasks)


@export("train.replica_device_setter")
def replica_device_setter(
    ps_tasks: int = 0, ps_device: str = "/job:ps", worker_device: str = "/job:worker", merge_devices: bool = True,
    cluster: object = None, ps_ops: Any = None, ps_strategy: Callable[[Any], int] | None = None,
) -> Callable[[Any], str] | None:  # fmt: skip
    """A function for `tf.device` that puts variables on the tasks of parameter servers and other operations on a worker.

    Args:
      ps_tasks: how many tasks of parameter servers there are; 0 for none.
      ps_device: their device. worker_device: the worker's.
      merge_devices: merge these with the devices that operations have; otherwise they count only where there is none.
      cluster: a ClusterSpec, or what makes one, that says `ps_tasks`.
      ps_ops: types of operations for parameter servers, by default those of variables and tables.
      ps_strategy: function of an operation that gives the task, by default in turn.

    Returns:
      the function; None where there are no parameter servers.

    Raises:
      TypeError: `cluster` or `ps_strategy` is of another type.
    """
    if cluster is not None:
        jobs = ClusterSpec(cluster).as_dict()
        ps_tasks = len(jobs.get(DeviceSpec.from_string(ps_device).job, ()))
    if ps_tasks == 0:
        return None
    ps_types = STANDARD_PS_OPS if ps_ops is None else tuple(ps_ops)
    if not merge_devices:
        logging.warning("DEPRECATION: It is recommended to set merge_devices=true in replica_device_setter")
    strategy = _RoundRobinStrategy(ps_tasks) if ps_strategy is None else ps_strategy
    if not callable(strategy):
        raise TypeError("ps_strategy must be callable")

    def device_of(op: Any) -> str:
        if not merge_devices and op.device:
            return op.device
        current = DeviceSpec.from_string(op.device or "")
        if not ps_device or op.node_def.op not in ps_types:
            return DeviceSpec.from_string(worker_device or "").make_merged_spec(current).to_string()
        server = DeviceSpec.from_string(ps_device)
        if server.job and (not current.job or current.job == server.job):
            server = server.replace(task=strategy(op))
        return server.make_merged_spec(current).to_string()

    return device_of
