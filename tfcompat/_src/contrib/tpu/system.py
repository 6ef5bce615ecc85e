"""tf.tpu: the system of TPUs, and variables that are read as bfloat16."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.control.groups import no_op
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.proto import messages
from tfcompat._src.runtime.devices import accelerator_count
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
