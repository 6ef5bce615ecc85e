"""tf.distribute.experimental.MultiWorkerMirroredStrategy, with one worker."""

from __future__ import annotations

import enum
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.distribute.cluster_resolver.tfconfig import TFConfigClusterResolver
from tfcompat._src.distribute.distribute_lib import Strategy
from tfcompat._src.distribute.mirrored_strategy import MirroredExtended
from tfcompat._src.distribute.parameter_server_strategy import check_one_process


@export("distribute.experimental.CollectiveCommunication")
class CollectiveCommunication(enum.Enum):
    """By which library devices exchange values; here the compiler decides, whichever is asked for."""

    AUTO = "AUTO"
    RING = "RING"
    NCCL = "NCCL"


@export("distribute.experimental.MultiWorkerMirroredStrategy")
class CollectiveAllReduceStrategy(Strategy):
    """MirroredStrategy on this worker's devices, as 1.15's strategy is with one worker.

    Args:
      communication: a CollectiveCommunication; see there.

    Raises:
      ValueError: `communication` is none. NotImplementedError: TF_CONFIG names more than one task.
    """

    def __init__(self, communication: Any = CollectiveCommunication.AUTO) -> None:
        if not isinstance(communication, CollectiveCommunication):
            raise ValueError(f"communication must be a tf.distribute.experimental.CollectiveCommunication, not {communication!r}")
        check_one_process("MultiWorkerMirroredStrategy", TFConfigClusterResolver())
        super().__init__(MirroredExtended(self))
