"""tf.distribute.experimental.TPUStrategy: one replica per TPU core of this machine."""

from __future__ import annotations

from tfcompat._src.base import errors
from tfcompat._src.base.export import export
from tfcompat._src.distribute.cross_device_ops import ReductionToOneDevice
from tfcompat._src.distribute.distribute_lib import Strategy
from tfcompat._src.distribute.mirrored_strategy import MirroredExtended
from tfcompat._src.runtime.devices import accelerator_count


@export("tpu.experimental.initialize_tpu_system", "contrib.distribute.initialize_tpu_system")
def initialize_tpu_system(cluster_resolver: object = None) -> int:
    """The number of TPU cores of this machine; JAX starts them by itself.

    Raises:
      errors.NotFoundError: there is none.
    """
    count = accelerator_count("TPU")
    if not count:
        raise errors.NotFoundError(None, None, "JAX has found no TPU; `tfcompat doctor` says what is missing.")
    return count


@export("distribute.experimental.TPUStrategy", "contrib.distribute.TPUStrategy")
class TPUStrategy(Strategy):
    """MirroredStrategy on the TPU cores of this machine.

    Args:
      tpu_cluster_resolver: a TPUClusterResolver of this machine.
      steps_per_run: 1.
      device_assignment: None.

    Raises:
      errors.NotFoundError: there is no TPU. NotImplementedError: another value of the last two.
    """

    def __init__(self, tpu_cluster_resolver: object = None, steps_per_run: int | None = None, device_assignment: object = None) -> None:
        if steps_per_run not in (None, 1) or device_assignment is not None:
            raise NotImplementedError("tfcompat has no TPUStrategy with steps_per_run or device_assignment.")
        devices = [f"/device:TPU:{i}" for i in range(initialize_tpu_system(tpu_cluster_resolver))]
        super().__init__(MirroredExtended(self, devices, ReductionToOneDevice()))

    @property
    def steps_per_run(self) -> int:
        """1."""
        return 1


def is_tpu_strategy(strategy: object) -> bool:
    """Whether replicas are on the cores of TPUs; false for None."""
    return isinstance(strategy, TPUStrategy)
