"""`tensorflow.python.distribute.strategy_combinations`: strategies and optimizers, by name, for tests under many of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tfcompat as tf
from tfcompat._src.testing.distribute_combinations import NamedDistribution, NamedObject, combine


def _tpu(steps_per_run: int, one_core: bool = False) -> Callable[[], Any]:
    def make() -> Any:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver("")
        topology = tf.tpu.experimental.initialize_tpu_system(resolver)
        assignment = None
        if one_core:
            kind = tf.tpu.experimental.DeviceAssignment
            assignment = kind(topology, core_assignment=[[[0, 0, 0]]])
        return tf.contrib.distribute.TPUStrategy(resolver, steps_per_run, assignment)

    return make


def _one_device(device: str) -> Callable[[], Any]:
    return lambda: tf.distribute.OneDeviceStrategy(device)


def _mirrored(*devices: str) -> Callable[[], Any]:
    return lambda: tf.distribute.MirroredStrategy(list(devices))


def _central(*devices: str) -> Callable[[], Any]:
    return lambda: tf.distribute.experimental.CentralStorageStrategy(list(devices))


_WORKER_1 = "/job:worker/replica:0/task:1"

default_strategy = NamedDistribution("Default", tf.distribute.get_strategy)
one_device_strategy = NamedDistribution("OneDeviceCPU", _one_device("/cpu:0"))
one_device_strategy_gpu = NamedDistribution("OneDeviceGPU", _one_device("/gpu:0"), 1)
one_device_strategy_on_worker_1 = NamedDistribution("OneDeviceOnWorker1CPU", _one_device(f"{_WORKER_1}/cpu:0"))
one_device_strategy_gpu_on_worker_1 = NamedDistribution("OneDeviceOnWorker1GPU", _one_device(f"{_WORKER_1}/gpu:0"), 1)
tpu_strategy = NamedDistribution("TPU", _tpu(2), required_tpu=True)
tpu_strategy_one_step = NamedDistribution("TPUOneStep", _tpu(1), required_tpu=True)
tpu_strategy_one_core = NamedDistribution("TPUOneCore", _tpu(2, one_core=True), required_tpu=True)
tpu_strategy_one_step_one_core = NamedDistribution("TPUOneStepOneCore", _tpu(1, one_core=True), required_tpu=True)
mirrored_strategy_with_one_cpu = NamedDistribution("Mirrored1CPU", _mirrored("/cpu:0"))
mirrored_strategy_with_one_gpu = NamedDistribution("Mirrored1GPU", _mirrored("/gpu:0"), 1)
mirrored_strategy_with_gpu_and_cpu = NamedDistribution("MirroredCPUAndGPU", _mirrored("/gpu:0", "/cpu:0"), 1)
mirrored_strategy_with_two_gpus = NamedDistribution("Mirrored2GPUs", _mirrored("/gpu:0", "/gpu:1"), 2)
mirrored_strategy_with_cpu_1_and_2 = NamedDistribution("Mirrored2CPU", _mirrored("/cpu:1", "/cpu:2"))
central_storage_strategy_with_two_gpus = NamedDistribution("CentralStorage2GPUs", _central("/gpu:0", "/gpu:1"), 2)
central_storage_strategy_with_gpu_and_cpu = NamedDistribution("CentralStorageCPUAndGPU", _central("/gpu:0", "/cpu:0"), 1)

gradient_descent_optimizer_v1_fn = NamedObject("GradientDescentV1", lambda: tf.train.GradientDescentOptimizer(0.2))
adagrad_optimizer_v1_fn = NamedObject("AdagradV1", lambda: tf.train.AdagradOptimizer(0.001))
adam_optimizer_v1_fn = NamedObject("AdamV1", lambda: tf.train.AdamOptimizer(0.001, epsilon=1))
rmsprop_optimizer_v1_fn = NamedObject("RmsPropV1", lambda: tf.train.RMSPropOptimizer(0.001))
gradient_descent_optimizer_keras_v2_fn = NamedObject("GradientDescentKerasV2", lambda: tf.keras.optimizers.SGD(0.2))
adagrad_optimizer_keras_v2_fn = NamedObject("AdagradKerasV2", lambda: tf.keras.optimizers.Adagrad(0.001))
adam_optimizer_keras_v2_fn = NamedObject("AdamKerasV2", lambda: tf.keras.optimizers.Adam(0.001, epsilon=1.0))
rmsprop_optimizer_keras_v2_fn = NamedObject("RmsPropKerasV2", lambda: tf.keras.optimizers.RMSprop(0.001))

optimizers_v1 = [gradient_descent_optimizer_v1_fn, adagrad_optimizer_v1_fn]
optimizers_v2 = [gradient_descent_optimizer_keras_v2_fn, adagrad_optimizer_keras_v2_fn]
optimizers_v1_and_v2 = optimizers_v1 + optimizers_v2
graph_and_eager_modes = ["graph", "eager"]
strategies_minus_tpu = [
    default_strategy, one_device_strategy, one_device_strategy_gpu, mirrored_strategy_with_gpu_and_cpu, mirrored_strategy_with_two_gpus,
]  # fmt: skip
tpu_strategies = [tpu_strategy, tpu_strategy_one_step]


def set_virtual_cpus_to_at_least(num_virtual_cpus: int) -> None:
    """Gives the process that many CPU devices, before it uses any.

    Raises:
      ValueError: it is less than 1.
      RuntimeError: the process has fewer already.
    """
    if num_virtual_cpus < 1:
        raise ValueError(f"`num_virtual_cpus` must be at least 1 not {num_virtual_cpus!r}")
    config = tf.config.experimental
    device = config.list_physical_devices("CPU")[0]
    has = config.get_virtual_device_configuration(device)
    if has is None:
        config.set_virtual_device_configuration(device, [config.VirtualDeviceConfiguration() for _ in range(num_virtual_cpus)])
    elif len(has) < num_virtual_cpus:
        raise RuntimeError(f"Already configured with {len(has)} < {num_virtual_cpus} virtual CPUs")


def _with_optimizers(optimizers: list) -> list:
    strategies = [one_device_strategy, mirrored_strategy_with_gpu_and_cpu, mirrored_strategy_with_two_gpus]
    return combine(distribution=strategies, optimizer_fn=optimizers)


def distributions_and_v1_optimizers() -> list:
    """Three strategies with each of `optimizers_v1`."""
    return _with_optimizers(optimizers_v1)


def distributions_and_v2_optimizers() -> list:
    """Three strategies with each of `optimizers_v2`."""
    return _with_optimizers(optimizers_v2)


def distributions_and_v1_and_v2_optimizers() -> list:
    """Three strategies with each optimizer."""
    return _with_optimizers(optimizers_v1_and_v2)


def strategy_minus_tpu_combinations() -> list:
    """Strategies without those for TPUs, in both modes."""
    return combine(distribution=strategies_minus_tpu, mode=["graph", "eager"])


def tpu_strategy_combinations() -> list:
    """Strategies for TPUs, in graph mode."""
    return combine(distribution=tpu_strategies, mode=["graph"])


def all_strategy_combinations() -> list:
    """All of these."""
    return strategy_minus_tpu_combinations() + tpu_strategy_combinations()


def all_strategy_combinations_minus_default() -> list:
    """The strategies of one device and of several, in graphs and where operations run at once, and those of TPUs in graphs."""
    strategies = [one_device_strategy, one_device_strategy_gpu, mirrored_strategy_with_gpu_and_cpu, mirrored_strategy_with_two_gpus]
    return combine(distribution=strategies, mode=["graph", "eager"]) + tpu_strategy_combinations()
