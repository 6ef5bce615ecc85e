"""tf.tpu: the system of TPUs, and variables that are read as bfloat16."""

from __future__ import annotations

import collections
import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.device import DeviceSpec
from tfcompat._src.base.export import export
from tfcompat._src.contrib.tpu.topology import Topology
from tfcompat._src.distribute.cluster_resolver.tpu import TPUClusterResolver
from tfcompat._src.distribute.tpu_strategy import tpu_cores
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.control.groups import no_op
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.proto import messages
from tfcompat._src.runtime.devices.devices import accelerator_count
from tfcompat._src.variables.scope import variable_scope


@export("tpu.initialize_system", "contrib.tpu.initialize_system")
def initialize_system(embedding_config: object = None, job: str | None = None) -> Tensor:
    """A string: the serialized TopologyProto of this process's TPUs, in one row. JAX starts them by itself.

    Args:
      job: name of the job with the TPUs; there is one process.

    Raises:
      NotImplementedError: `embedding_config` is given.
    """
    if embedding_config is not None:
        raise NotImplementedError("tfcompat has no embeddings on TPUs (initialize_system with embedding_config).")
    count = accelerator_count("TPU")
    found = messages.tpu.TopologyProto(
        mesh_shape=[count, 1, 1], num_tasks=1, num_tpu_devices_per_task=count,
        device_coordinates=[x for i in range(count) for x in (i, 0, 0)],
    )  # fmt: skip
    return constant(found.SerializeToString(), dtypes.string)


@export("tpu.experimental.initialize_tpu_system", "contrib.distribute.initialize_tpu_system")
def initialize_tpu_system(cluster_resolver: TPUClusterResolver | None = None) -> Topology:
    """Finds the TPU cores of a session's master; JAX starts them by itself.

    Args:
      cluster_resolver: the TPUClusterResolver of the master, by default of this machine.

    Returns:
      the Topology of the cores, in one row.

    Raises:
      errors.NotFoundError: there are none. RuntimeError: tasks have different numbers of cores.
      AssertionError: `cluster_resolver` is another object.
    """
    resolver = TPUClusterResolver("") if cluster_resolver is None else cluster_resolver
    if not isinstance(resolver, TPUClusterResolver):
        raise AssertionError(f"initialize_tpu_system takes a TPUClusterResolver, not {resolver!r}.")
    cores = tpu_cores(resolver)
    of_tasks = collections.Counter(DeviceSpec.from_string(name).task for name in cores)
    if len(set(of_tasks.values())) > 1:
        raise RuntimeError(f"Every task must have as many TPU cores as the others, but their numbers are {dict(of_tasks)}.")
    coordinates = np.zeros([len(cores), 3], np.int32)
    coordinates[:, 0] = np.arange(len(cores))
    return Topology(mesh_shape=[len(cores), 1, 1], device_coordinates=coordinates.reshape(len(of_tasks), -1, 3))


@export("tpu.shutdown_system", "contrib.tpu.shutdown_system")
def shutdown_system(job: str | None = None) -> Operation:
    """An operation that does nothing: TPUs are given back when the process ends."""
    return no_op()


@export("tpu.bfloat16_scope", "contrib.tpu.bfloat16_scope")
@contextlib.contextmanager
def bfloat16_scope() -> Iterator[Any]:
    """A variable scope in which variables that are asked for as bfloat16 are float32, and given cast."""

    def read_as_asked(getter: Callable, *args: Any, **kwargs: Any) -> Any:
        if kwargs["dtype"] != dtypes.bfloat16:
            return getter(*args, **kwargs)
        kwargs["dtype"] = dtypes.float32
        return cast(getter(*args, **kwargs), dtypes.bfloat16)

    with variable_scope("", custom_getter=read_as_asked) as scope:
        yield scope
