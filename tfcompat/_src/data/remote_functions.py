"""Datasets whose elements are computed by functions on another device, through RemoteCall."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.data import structure
from tfcompat._src.function.tracing import Traced
from tfcompat._src.graph.attr_values import FunctionRef
from tfcompat._src.graph.scopes import get_default_graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant
from tfcompat._src.variables.variable import creator_stack

HANDLE = [(dtypes.string, ())]
"""The (dtype, sizes) of an iterator's string handle, the state of these datasets."""


def remote_function(name: str, source_device: Tensor, kinds: Sequence[Any], fn: Callable[[list[Tensor]], Any]) -> Traced:
    """Traces `fn`, and a function that calls it on another device; returns the latter.

    Args:
      source_device: string scalar, the device. kinds: (dtype, sizes) of each argument of `fn`.
    """
    # RemoteCall names the inner function, so that must be in the library of each graph that the outer one is traced in.
    graph = get_default_graph()
    creators = list(creator_stack(graph))
    inner = Traced(f"__inference_{name}", kinds, fn, creators=creators)
    called = FunctionRef(inner.add_to(graph).name)

    def call_there(inputs: list[Tensor]) -> Any:
        inner.add_to(get_default_graph())
        return raw.RemoteCall(source_device, [*inputs, *inner.body.captures], Tout=inner.kinds, f=called)

    outer = Traced(f"__inference_remote_{name}", kinds, call_there, creators=creators)
    outer.add_to(graph)
    return outer


def no_more(inputs: list[Tensor]) -> Tensor:
    """The finalize function of a dataset that has nothing to release; its result is not used."""
    return constant(0, dtypes.int64)


def generator_dataset(first: Traced, following: Traced, last: Traced, element_spec: object) -> Tensor:
    """Adds a GeneratorDataset node with the remote functions init, next and finalize; returns its variant."""
    functions = first, following, last
    references = [FunctionRef(each.function().name) for each in functions]
    made: Tensor = raw.GeneratorDataset(
        *[list(each.body.captures) for each in functions], init_func=references[0], next_func=references[1], finalize_func=references[2],
        output_types=structure.get_flat_tensor_types(element_spec), output_shapes=structure.get_flat_tensor_shapes(element_spec),
    )  # fmt: skip
    return made
