"""A model on several GPUs, each with a part of the batch."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import device, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.backend.session import get_session
from tfcompat._src.keras.engine.training import Model
from tfcompat._src.keras.layers.lambda_layer import Lambda
from tfcompat._src.keras.layers.merge import concatenate
from tfcompat._src.keras.models import clone_model
from tfcompat._src.keras.utils.generic_utils import to_list
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.shape import shape
from tfcompat._src.ops.array.slice import slice_


def _get_available_devices() -> list[str]:
    return [d.name for d in get_session().list_devices()]


def _part(data: Tensor, i: int, parts: int) -> Tensor:
    """Part `i` of `parts` along the first dimension; the last has what is left over."""
    sizes = shape(data)
    batch, others = sizes[:1], sizes[1:]
    step = batch // parts
    count = batch - step * i if i == parts - 1 else step
    return slice_(data, concat([step, others * 0], axis=0) * i, concat([count, others], axis=0))


def _checked_gpus(gpus: Any) -> list[int]:
    """The numbers of the GPUs; ValueError for fewer than two, or for one that is not there."""
    several = isinstance(gpus, (list, tuple))
    if (len(gpus) if several else gpus) <= 1:
        call = "`len(gpus) >= 2`" if several else "`gpus >= 2`"
        raise ValueError(
            f"For multi-gpu usage to be effective, call `multi_gpu_model` with {call}. Received: `gpus={gpus}`"
        )
    numbers = list(gpus) if several else list(range(gpus))
    wanted = ["/cpu:0", *(f"/gpu:{i}" for i in numbers)]
    found = ["/" + name.lower().split("device:")[1] for name in _get_available_devices()]
    if any(name not in found for name in wanted):
        raise ValueError(
            f"To call `multi_gpu_model` with `gpus={gpus}`, we expect the following devices to be available: {wanted}. "
            f"However this machine only has: {found}. Try reducing `gpus`."
        )
    return numbers


def _unique(names: list[str]) -> list[str]:
    """The names; those that occur several times with _1, _2."""
    counts, seen = Counter(names), Counter()
    found = []
    for name in names:
        seen[name] += 1
        found.append(f"{name}_{seen[name]}" if counts[name] > 1 else name)
    return found


@export("keras.utils.multi_gpu_model")
def multi_gpu_model(model, gpus, cpu_merge=True, cpu_relocation=False) -> Model:
    """A model whose batches are split among GPUs, and whose outputs are joined.

    Args:
      model: the model, whose weights are shared.
      gpus: number of GPUs, or a list of their numbers.
      cpu_merge: whether the outputs are joined on the CPU, not on the first GPU.
      cpu_relocation: whether the model is made anew on the CPU.

    Raises:
      ValueError: fewer than two GPUs, or GPUs that this machine does not have.
    """
    numbers = _checked_gpus(gpus)
    if cpu_relocation:
        with device("/cpu:0"):
            model = clone_model(model)
    results: list[list[Any]] = [[] for _ in model.outputs]
    for i, gpu in enumerate(numbers):
        with device(f"/gpu:{gpu}"), name_scope(f"replica_{gpu}"):
            parts = [
                Lambda(_part, output_shape=tuple(x.shape.as_list())[1:], arguments={"i": i, "parts": len(numbers)})(x)
                for x in model.inputs
            ]
            for result, output in zip(results, to_list(model(parts))):
                result.append(output)
    with device("/cpu:0" if cpu_merge else f"/gpu:{numbers[0]}"):
        names = _unique(model.output_names)
        return Model(model.inputs, [concatenate(r, axis=0, name=name) for name, r in zip(names, results)])
