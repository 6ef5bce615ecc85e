"""tf.distribute.experimental.TPUStrategy: one replica per TPU core of a session's master, by default of this machine."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base import errors
from tfcompat._src.base.device import DeviceSpec
from tfcompat._src.base.export import export
from tfcompat._src.distribute.cluster_resolver.cluster_resolver import ClusterResolver, get_accelerator_devices
from tfcompat._src.distribute.cluster_resolver.tpu import TPUClusterResolver
from tfcompat._src.distribute.cross_device_ops import ReductionToOneDevice
from tfcompat._src.distribute.distribute_lib import Strategy
from tfcompat._src.distribute.mirrored_strategy import MirroredExtended
from tfcompat._src.proto import messages


def _by_task(name: str) -> tuple:
    spec = DeviceSpec.from_string(name)
    return spec.job, spec.replica, spec.task, spec.device_index


def tpu_cores(cluster_resolver: ClusterResolver) -> list[str]:
    """Returns the names of the TPU cores that a session on a resolver's master has, sorted by task and number.

    Raises:
      errors.NotFoundError: there are none.
    """
    master, spec = cluster_resolver.master(), cluster_resolver.cluster_spec()
    config = messages.ConfigProto(cluster_def=spec.as_cluster_def()) if spec else None
    cores = [device.name for device in get_accelerator_devices(master, config) if device.device_type == "TPU"]
    if not cores:
        raise errors.NotFoundError(
            None, None, f"A session on {master!r} has no TPU. If this machine should have one, `tfcompat doctor` says what JAX lacks."
        )
    return sorted(cores, key=_by_task)


def _check_assignment(assignment: Any) -> None:
    """Raises ValueError unless a DeviceAssignment is that of one replica on the first core."""
    if (assignment.num_replicas, assignment.num_cores_per_replica) != (1, 1) or any(assignment.core_assignment[0][0]):
        raise ValueError("Device assignment is only supported for a single core single replica case currently.")


@export("distribute.experimental.TPUStrategy", "contrib.distribute.TPUStrategy")
class TPUStrategy(Strategy):
    """MirroredStrategy on the TPU cores of a session's master.

    Args:
      tpu_cluster_resolver: the TPUClusterResolver of the master, by default of this machine.
      steps_per_run: 1.
      device_assignment: a DeviceAssignment of one replica on the first core, which then is the only one; None for a replica on each core.

    Raises:
      errors.NotFoundError: there is no TPU.
      ValueError: another DeviceAssignment.
      NotImplementedError: `steps_per_run` is not 1.
    """

    def __init__(
        self, tpu_cluster_resolver: ClusterResolver | None = None, steps_per_run: int | None = None, device_assignment: object = None
    ) -> None:  # fmt: skip
        if steps_per_run not in (None, 1):
            raise NotImplementedError("tfcompat has no TPUStrategy with steps_per_run.")
        cores = tpu_cores(TPUClusterResolver("") if tpu_cluster_resolver is None else tpu_cluster_resolver)
        if device_assignment is not None:
            _check_assignment(device_assignment)
            cores = cores[:1]
        super().__init__(MirroredExtended(self, cores, ReductionToOneDevice()))

    @property
    def steps_per_run(self) -> int:
        """1."""
        return 1


def is_tpu_strategy(strategy: object) -> bool:
    """Whether replicas are on the cores of TPUs; false for None."""
    return isinstance(strategy, TPUStrategy)
