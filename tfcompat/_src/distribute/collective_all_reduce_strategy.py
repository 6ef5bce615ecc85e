"""tf.distribute.experimental.MultiWorkerMirroredStrategy: a copy of each variable on each device of each worker."""

from __future__ import annotations

import copy
import enum
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tfcompat._src.base.export import export
from tfcompat._src.distribute import device_util, multi_worker_util
from tfcompat._src.distribute.cluster_resolver.cluster_resolver import ClusterResolver
from tfcompat._src.distribute.cluster_resolver.tfconfig import TFConfigClusterResolver, gpus_per_worker
from tfcompat._src.distribute.cross_device_ops import CollectiveAllReduce, choose_the_best, reduce_non_distributed_value
from tfcompat._src.distribute.cross_device_utils import CollectiveKeys
from tfcompat._src.distribute.distribute_lib import InputContext, Strategy
from tfcompat._src.distribute.mirrored_strategy import MirroredExtended
from tfcompat._src.distribute.reduce_util import ReduceOp
from tfcompat._src.distribute.values import DistributedValues, Mirrored
from tfcompat._src.graph.scopes import control_dependencies, device
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.math import collective_ops
from tfcompat._src.platform import logging
from tfcompat._src.proto import messages
from tfcompat._src.train.cluster import ClusterSpec

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@export("distribute.experimental.CollectiveCommunication")
class CollectiveCommunication(enum.Enum):
    """By which library workers exchange values; here they do so between runs' compiled calls, whichever is asked for."""

    AUTO = "AUTO"
    RING = "RING"
    NCCL = "NCCL"


class CollectiveAllReduceExtended(MirroredExtended):
    """What MultiWorkerMirroredStrategy does: on one worker what MirroredStrategy does.

    Args:
      container_strategy: the strategy. communication: a CollectiveCommunication.
      cluster_resolver: says the cluster, this task, and the GPUs of each worker.
    """

    def __init__(self, container_strategy: object, communication: CollectiveCommunication, cluster_resolver: Any) -> None:
        self._communication = communication
        self._local_devices = device_util.local_devices_from_num_gpus(gpus_per_worker(cluster_resolver))
        self._cluster_spec: ClusterSpec | None = None
        self._task_type: str | None = None
        self._task_id: int | None = None
        self._num_workers, self._is_chief = 1, True
        super().__init__(container_strategy, self._local_devices)
        spec = cluster_resolver.cluster_spec()
        if spec and spec.as_dict():
            self._join(spec, cluster_resolver.task_type, cluster_resolver.task_id)

    def _join(self, cluster_spec: object, task_type: str | None, task_id: int | None) -> None:
        """Makes this the strategy of a task of a cluster.

        Raises:
          ValueError: the task is not known, or the cluster has no such task.
        """
        if task_type is None or task_id is None:
            raise ValueError("When `cluster_spec` is given, you must also specify `task_type` and `task_id`.")
        self._cluster_spec, self._task_type, self._task_id = multi_worker_util.normalize_cluster_spec(cluster_spec), task_type, task_id
        self._num_workers = multi_worker_util.worker_count(self._cluster_spec, task_type)
        self._is_chief = multi_worker_util.is_chief(self._cluster_spec, task_type, task_id)
        task = f"/job:{task_type}/task:{task_id}"
        self._devices = tuple(device_util.canonicalize(d, default=task) for d in self._local_devices)
        self._default_device = task
        self._keys = CollectiveKeys()
        workers = CollectiveAllReduce(self._num_workers, len(self._devices), collective_keys=self._keys)
        self._cross_device_ops = workers if self._num_workers > 1 else choose_the_best(self._devices)
        logging.info("MultiWorkerMirroredStrategy as %s of %s, %d workers with %s", task, cluster_spec, self._num_workers, self._devices)

    # ---- properties ----

    def _in_multi_worker_mode(self) -> bool:
        return self._cluster_spec is not None

    @property
    def _num_replicas_in_sync(self) -> int:
        return len(self._devices) * self._num_workers

    @property
    def experimental_between_graph(self) -> bool:
        """True: each worker makes a graph of its own."""
        return True

    @property
    def should_checkpoint(self) -> bool:
        """Whether this worker writes checkpoints: the chief, or the first where there is none."""
        return self._is_chief

    @property
    def should_save_summary(self) -> bool:
        """Whether this worker writes summaries: the chief, or the first where there is none."""
        return self._is_chief

    # ---- values ----

    def _first_initial_value(self, initial_value: Any, where: str, dtype: Any) -> Any:
        """The chief's initial value, in all workers."""
        if self._num_workers == 1:
            return initial_value

        def shared() -> Tensor:
            group, instance = self._keys.get_group_key([where]), self._keys.get_variable_instance_key()
            with device(where):
                value = convert_to_tensor(initial_value() if callable(initial_value) else initial_value, dtype=dtype)
                if not self._is_chief:
                    return collective_ops.broadcast_recv(value.shape, value.dtype, self._num_workers, group, instance)
                with control_dependencies(
                    [collective_ops.broadcast_send(value, value.shape, value.dtype, self._num_workers, group, instance)]
                ):
                    return identity(value)

        return shared

    def _reduce_to(self, reduce_op: ReduceOp, value: TensorLike, destinations: object) -> Any:
        if self._num_workers == 1 or isinstance(value, Mirrored):
            return super()._reduce_to(reduce_op, value, destinations)
        if isinstance(value, DistributedValues) and len(self._devices) == 1:
            value = value.values[0]
        if not isinstance(value, (DistributedValues, Tensor)) and not hasattr(value, "device"):
            return reduce_non_distributed_value(reduce_op, self._num_replicas_in_sync, value, destinations)
        return self._cross_device_ops.reduce(reduce_op, value, destinations)

    # ---- input ----

    def _input_contexts(self, count: int) -> list[InputContext]:
        pipeline = 0 if self._cluster_spec is None else multi_worker_util.id_in_cluster(self._cluster_spec, self._task_type, self._task_id)
        return [InputContext(self._num_workers, pipeline, self._num_replicas_in_sync)]

    def _shared_input(self) -> InputContext:
        return self._input_contexts(1)[0]

    # ---- configuration ----

    def _configure(self, session_config: messages.ConfigProto, cluster_spec: object, task_type: str | None, task_id: int | None) -> None:
        if cluster_spec:
            self._join(cluster_spec, task_type, task_id)
        if session_config is not None:
            session_config.CopyFrom(self._update_config_proto(session_config))

    def _update_config_proto(self, config_proto: Any) -> Any:
        found = copy.deepcopy(config_proto)
        options = found.graph_options.rewrite_options
        options.scoped_allocator_optimization = messages.RewriterConfig.ON
        del options.scoped_allocator_opts.enable_op[:]
        options.scoped_allocator_opts.enable_op.append("CollectiveReduce")
        if self._communication is CollectiveCommunication.NCCL:
            found.experimental.collective_nccl = True
        if self._cluster_spec is not None:
            leader = multi_worker_util.collective_leader(self._cluster_spec, self._task_type, self._task_id)
            found.experimental.collective_group_leader = leader
            del found.device_filters[:]
            found.device_filters.append(f"/job:{self._task_type}/task:{self._task_id}")
        return found


@export("distribute.experimental.MultiWorkerMirroredStrategy")
class CollectiveAllReduceStrategy(Strategy):
    """Trains on several workers, each with a copy of the variables on each of its devices; gradients are summed over all.

    All workers run one program, whose TF_CONFIG says the cluster and the task: `fit` of tf.keras, and tf.estimator.train_and_evaluate
    start the server of the task. Without a cluster it is MirroredStrategy.

    Args:
      communication: a CollectiveCommunication; see there.

    Raises:
      ValueError: `communication` is none, or the cluster has no such task.
    """

    _kind = CollectiveAllReduceExtended

    def __init__(self, communication: object = CollectiveCommunication.AUTO) -> None:
        super().__init__(self._made(communication, TFConfigClusterResolver()))

    @classmethod
    def _from_local_devices(cls, devices: Sequence[str]) -> CollectiveAllReduceStrategy:
        """The strategy of one worker with these devices."""
        made = cls()
        made.extended._use(devices)
        return made

    def _made(self, communication: object, cluster_resolver: ClusterResolver) -> CollectiveAllReduceExtended:
        if not isinstance(communication, CollectiveCommunication):
            raise ValueError(f"communication must be a tf.distribute.experimental.CollectiveCommunication, not {communication!r}")
        return self._kind(self, communication, cluster_resolver)
