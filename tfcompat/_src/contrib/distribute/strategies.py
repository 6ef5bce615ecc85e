"""tf.contrib.distribute: strategies as they were called before tf.distribute."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tfcompat._src.base.export import export
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.distribute.cluster_resolver.cluster_resolver import SimpleClusterResolver
from tfcompat._src.distribute.cluster_resolver.tfconfig import TFConfigClusterResolver
from tfcompat._src.distribute.collective_all_reduce_strategy import CollectiveAllReduceExtended, CollectiveCommunication
from tfcompat._src.distribute.collective_all_reduce_strategy import CollectiveAllReduceStrategy as MultiWorkerMirrored
from tfcompat._src.distribute.cross_device_ops import CrossDeviceOps
from tfcompat._src.distribute.device_util import local_devices_from_num_gpus
from tfcompat._src.distribute.distribute_lib import Strategy
from tfcompat._src.distribute.mirrored_strategy import MirroredExtended
from tfcompat._src.distribute.parameter_server_strategy import ParameterServerExtended


class PerReplicaBatches(MirroredExtended):
    """What contrib's strategies do: `make_dataset_iterator` takes a dataset of batches for one replica each."""

    _global_batch_size = False


class _PerReplicaBatchesOfWorkers(CollectiveAllReduceExtended):
    """As PerReplicaBatches, for several workers."""

    _global_batch_size = False


@export("contrib.distribute.MirroredStrategy")
class MirroredStrategy(Strategy):
    """tf.distribute.MirroredStrategy, with further ways to name devices.

    Args:
      devices: device strings.
      num_gpus, num_gpus_per_worker: the first GPUs, where `devices` are not given.
      cross_device_ops, cross_tower_ops: how values are reduced; the second is the old name.
      auto_shard_dataset: whether several workers share a dataset; no effect, there is one.

    Raises:
      ValueError: devices are given in more than one way.
    """

    def __init__(
        self, devices: Sequence[str] | None = None, num_gpus: int | None = None, num_gpus_per_worker: int | None = None,
        cross_device_ops: CrossDeviceOps | None = None, auto_shard_dataset: bool = False,
        cross_tower_ops: CrossDeviceOps | None = None,
    ) -> None:  # fmt: skip
        if num_gpus is not None and num_gpus_per_worker is not None:
            raise ValueError("You cannot specify both `num_gpus` and `num_gpus_per_worker`.")
        count = num_gpus_per_worker if num_gpus is None else num_gpus
        if devices is not None and count is not None:
            raise ValueError("Must only specify one of `devices` and `num_gpus`.")
        if count is not None:
            devices = local_devices_from_num_gpus(count)
        super().__init__(PerReplicaBatches(self, devices, cross_device_ops or cross_tower_ops))


def _resolver(num_gpus_per_worker: int) -> SimpleClusterResolver:
    """The cluster and the task that TF_CONFIG names, with so many GPUs for each worker."""
    named = TFConfigClusterResolver()
    gpus = {"GPU": num_gpus_per_worker}
    return SimpleClusterResolver(named.cluster_spec(), task_type=named.task_type, task_id=named.task_id, num_accelerators=gpus)


@export("contrib.distribute.ParameterServerStrategy")
class ParameterServerStrategy(Strategy):
    """tf.distribute.experimental.ParameterServerStrategy for workers with so many GPUs.

    Args:
      num_gpus_per_worker: how many; 0 for the CPU.
    """

    def __init__(self, num_gpus_per_worker: int = 0) -> None:
        super().__init__(ParameterServerExtended(self, _resolver(num_gpus_per_worker)))


@export("contrib.distribute.CollectiveAllReduceStrategy")
class CollectiveAllReduceStrategy(MultiWorkerMirrored):
    """tf.distribute.experimental.MultiWorkerMirroredStrategy for workers with so many GPUs.

    Args:
      num_gpus_per_worker: how many; 0 for the CPU.
      communication: a CollectiveCommunication.
    """

    _kind = _PerReplicaBatchesOfWorkers

    def __init__(
        self, num_gpus_per_worker: int = 0, communication: CollectiveCommunication = CollectiveCommunication.AUTO
    ) -> None:
        Strategy.__init__(self, self._made(communication, _resolver(num_gpus_per_worker)))


@export("contrib.distribute.Step")
class Step:
    """What one step of training does; calling it makes the nodes.

    Args:
      distribution: a strategy.
    """

    def __init__(self, distribution: Strategy) -> None:
        self._distribution = distribution

    @property
    def distribution(self) -> Strategy:
        """The strategy."""
        return self._distribution

    def initialize(self) -> list:
        """Operations to run first."""
        return []

    def __call__(self) -> Any:
        """The nodes of a step."""
        raise NotImplementedError("must be implemented in descendants")


@export("contrib.distribute.StandardInputStep")
class StandardInputStep(Step):
    """A step with an input.

    Args:
      dataset_fn: gives what `make_input_fn_iterator` takes.
      distribution: a strategy.
    """

    def __init__(self, dataset_fn: Callable, distribution: Strategy) -> None:
        super().__init__(distribution)
        self._iterator = distribution.make_input_fn_iterator(lambda context: dataset_fn())

    def initialize(self) -> list:
        return self._iterator.initialize()


@export("contrib.distribute.StandardSingleLossStep")
class StandardSingleLossStep(StandardInputStep):
    """A step of an optimizer on one loss.

    Args:
      dataset_fn: gives what `make_input_fn_iterator` takes.
      loss_fn: (context, inputs) to the loss of a replica.
      optimizer: an Optimizer.
      distribution: a strategy.
      iterations_per_step: how many updates one call makes, in one loop.
    """

    def __init__(
        self, dataset_fn: Callable, loss_fn: Callable, optimizer: Any, distribution: Strategy, iterations_per_step: int = 1
    ) -> None:
        super().__init__(dataset_fn, distribution)
        self._loss_fn, self._optimizer, self._iterations = loss_fn, optimizer, iterations_per_step

    def __call__(self) -> Any:
        strategy = self._distribution

        def step(context: Any, inputs: Any) -> Any:
            def of_replica(inputs: Any) -> Any:
                return self._optimizer.minimize(lambda: self._loss_fn(context, inputs))

            return strategy.group(strategy.experimental_run_v2(of_replica, args=(inputs,)))

        return strategy.extended.experimental_run_steps_on_iterator(step, self._iterator, self._iterations).run_op


@export("contrib.distribute.Monitor")
class Monitor:
    """Runs steps in a session.

    Args:
      step_callable: a Step. session: a Session, which this initializes.

    Raises:
      ValueError: there is no session.
    """

    def __init__(self, step_callable: Step, session: SessionLike | None = None) -> None:
        if session is None:
            raise ValueError("Should provide a `session` in Graph mode.")
        session.run(step_callable.initialize())
        self._run_step = session.make_callable(step_callable())

    def run_steps(self, num_steps: int | None = None) -> None:
        """Runs so many steps, without an end where it is None."""
        done = 0
        while num_steps is None or done < num_steps:
            self._run_step()
            done += 1


@export("contrib.distribute.DistributeConfig")
class DistributeConfig(NamedTuple):
    """What an estimator is told about strategies.

    Attributes:
      train_distribute, eval_distribute: strategies.
      remote_cluster: a ClusterSpec or dict.
    """

    train_distribute: Any = None
    eval_distribute: Any = None
    remote_cluster: Any = None
