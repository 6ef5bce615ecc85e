"""tf.wrap_function: functions of TensorFlow 1 code, of which parts can be cut out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tfcompat._src.base import nest
from tfcompat._src.base.export import export
from tfcompat._src.function.def_function import ConcreteFunction
from tfcompat._src.function.variable_lifting import UnliftableError
from tfcompat._src.graph.graph_util import extract_sub_graph
from tfcompat._src.graph.scopes import get_default_graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.graph_import import import_graph_def
from tfcompat._src.nodes.tensor_spec import TensorSpec
from tfcompat._src.proto import messages
from tfcompat._src.variables.variable import creator_stack


class WrappedFunction(ConcreteFunction):
    """A function of TensorFlow 1 code, traced at once; what `wrap_function` gives."""

    def __init__(self, fn: Callable, signature: Iterable[Any], name: str) -> None:
        super().__init__(name, fn, tuple(signature), {}, list(creator_stack(get_default_graph())), keeps_effects=False)

    def prune(self, feeds: Any, fetches: Any, name: str = "pruned", input_signature: Any = None) -> WrappedFunction:
        """The part of the function from `feeds` to `fetches`, as a function.

        Args:
          feeds: nest of tensors of `graph`, the inputs.
          fetches: nest of tensors and operations of `graph`: what it gives, and what it only runs.
          name: of the function.
          input_signature: what its `structured_input_signature` says; by default one TensorSpec for each feed.

        Raises:
          ValueError: a feed or fetch is not of `graph`. UnliftableError: the part needs a placeholder that is not in `feeds`.
        """
        fed, wanted = nest.flatten(feeds, expand_composites=True), nest.flatten(fetches, expand_composites=True)
        for each in (*fed, *wanted):
            if getattr(each, "graph", None) is not self.graph:
                raise ValueError(f"{each} is not of the graph of {self.name}: feeds and fetches are tensors and operations of its `graph`")
        held = {inner.name: outer for outer, inner in self.graph.captures.items() if inner not in set(fed)}
        part = part_between([*fed, *map(self.graph.get_tensor_by_name, held)], wanted, self.graph.as_graph_def())
        present = {node.name for node in part.node}
        inner = _without(part, {t.op.name for t in fed})

        def compute(*given: Tensor) -> Any:
            values = {**held, **{t.name: value for t, value in zip(fed, given)}}
            input_map = {key: value for key, value in values.items() if key.partition(":")[0] in present}
            found = import_graph_def(inner, input_map=input_map, return_elements=[each.name for each in wanted], name="")
            return nest.pack_sequence_as(fetches, found, expand_composites=True)

        pruned = WrappedFunction(compute, [TensorSpec(t.shape, t.dtype, t.op.name) for t in fed], name)
        if input_signature is not None:
            pruned.structured_input_signature = input_signature
        return pruned


def _without(graph_def: messages.GraphDef, fed: set[str]) -> messages.GraphDef:
    """A GraphDef without the nodes that are fed; nothing waits for these."""
    found = messages.GraphDef(versions=graph_def.versions, library=graph_def.library)
    found.node.extend(node for node in graph_def.node if node.name not in fed)
    for node in found.node:
        node.input[:] = [name for name in node.input if not name.startswith("^") or name[1:] not in fed]
    return found


def part_between(fed: Iterable[Tensor], wanted: Iterable[Any], graph_def: Any) -> Any:
    """The nodes of a graph that tensors and operations need beyond what is fed, as a GraphDef with placeholders for that.

    Raises:
      UnliftableError: they need a placeholder that is not fed.
    """
    cut = messages.GraphDef()
    cut.CopyFrom(graph_def)
    ends = {tensor.op.name: tensor.dtype for tensor in fed}
    for node in cut.node:
        if node.name in ends:
            node.CopyFrom(messages.NodeDef(name=node.name, op="Placeholder"))
            node.attr["dtype"].type = ends[node.name].as_datatype_enum
    part = extract_sub_graph(cut, [each.op.name if isinstance(each, Tensor) else each.name for each in wanted])
    for node in part.node:
        if node.op == "Placeholder" and node.name not in ends:
            raise UnliftableError(f"Unable to lift the outputs: they need a value for the placeholder {node.name}")
    return part


@export("wrap_function")
def wrap_function(fn: Callable, signature: Any, name: str | None = None) -> WrappedFunction:
    """A function of TensorFlow 1 code, traced at once.

    Args:
      fn: the function. signature: nested TensorSpecs, one for each argument. name: of the function.
    """
    return WrappedFunction(fn, signature, name or getattr(fn, "__name__", "wrapped"))


def function_from_graph_def(graph_def: messages.GraphDef, inputs: Any, outputs: Any) -> WrappedFunction:
    """The part of a GraphDef from tensors to tensors, as a function.

    Args:
      graph_def: the GraphDef. inputs, outputs: nests of names of its tensors.
    """
    whole = wrap_function(lambda: import_graph_def(graph_def, name=""), [])
    return whole.prune(*(nest.map_structure(whole.graph.as_graph_element, names) for names in (inputs, outputs)))
