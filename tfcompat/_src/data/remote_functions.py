"""Datasets whose elements come from functions that run on another device."""

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


def remote_function(name: str, source_device: Tensor, kinds: Sequence[Any], fn: Callable[[list[Tensor]], Any]) -> Traced:
    """A function of the graph that calls `fn` of arguments of these (dtype, sizes) on the device that a string scalar names."""
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
    """What a generator gives at its end."""
    return constant(0, dtypes.int64)


def generator_dataset(first: Traced, following: Traced, last: Traced, element_spec: object) -> Tensor:
    """The node of a dataset of the elements that three remote functions begin, give and end."""
    functions = first, following, last
    references = [FunctionRef(each.function().name) for each in functions]
    made: Tensor = raw.GeneratorDataset(
        *[list(each.body.captures) for each in functions], init_func=references[0], next_func=references[1], finalize_func=references[2],
        output_types=structure.get_flat_tensor_types(element_spec), output_shapes=structure.get_flat_tensor_shapes(element_spec),
    )  # fmt: skip
    return made
