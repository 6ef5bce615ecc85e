"""tf.wrap_function: functions of TensorFlow 1 code, of which parts can be cut out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import nest
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.function.def_function import ConcreteFunction
from tfcompat._src.function.variable_lifting import UnliftableError
from tfcompat._src.graph.graph_util import extract_sub_graph
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import get_default_graph, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.graph_import import import_graph_def
from tfcompat._src.nodes.tensor_spec import TensorSpec
from tfcompat._src.proto import messages
from tfcompat._src.variables.variable import creator_stack, variable_creator_scope

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


class VariableHolder:
    """Calls a function, and keeps the variables that it makes, by name.

    Args:
      fn: the function. share_variables: whether a variable that is there is given again for its name.
    """

    def __init__(self, fn: Callable | None = None, share_variables: bool = False) -> None:
        self._fn, self._share_variables = fn, share_variables
        self._variables_by_name: dict[str, Any] = {}

    @property
    def variables(self) -> dict[str, Any]:
        """The variables by name."""
        return self._variables_by_name

    def variable_creator_scope(self, next_creator: Callable, **kwargs: Any) -> Any:
        """Makes a variable, or gives that of this name, and adds it to its collections."""
        collections = kwargs.pop("collections", None)
        with name_scope(kwargs.get("name"), "Variable") as scope:
            name = scope.removesuffix("/")
            kwargs["name"] = scope
        variable = self._variables_by_name.get(name) if self._share_variables else None
        if variable is None:
            variable = self._variables_by_name[name] = next_creator(**kwargs)
        collections = [GraphKeys.GLOBAL_VARIABLES] if collections is None else list(collections)
        if variable.trainable and GraphKeys.TRAINABLE_VARIABLES not in collections:
            collections.append(GraphKeys.TRAINABLE_VARIABLES)
        for key in collections:
            held = get_default_graph().get_collection_ref(key)
            if not any(each is variable for each in held):
                held.append(variable)
        return variable

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.call_with_variable_creator_scope(self._fn)(*args, **kwargs)  # type: ignore[arg-type]  # there is one

    def call_with_variable_creator_scope(self, fn: Callable) -> Callable:
        """A function that calls `fn`, whose variables this object keeps."""

        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with variable_creator_scope(self.variable_creator_scope):
                return fn(*args, **kwargs)

        return wrapped


class WrappedFunction(ConcreteFunction):
    """A function of TensorFlow 1 code, traced at once; what `wrap_function` gives."""

    def __init__(self, fn: Callable, signature: Iterable[Any], name: str) -> None:
        super().__init__(name, fn, tuple(signature), {}, list(creator_stack(get_default_graph())), keeps_effects=False)

    def prune(self, feeds: object, fetches: object, name: str = "pruned", input_signature: object = None) -> WrappedFunction:
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


def part_between(fed: Iterable[Tensor], wanted: Iterable[Any], graph_def: messages.GraphDef) -> Any:
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


class WrappedGraph:
    """Functions of TensorFlow 1 code in one graph, with variables and collections in common.

    Args:
      variable_holder: keeps the variables; by default a new one that shares them by name.
    """

    def __init__(self, variable_holder: VariableHolder | None = None) -> None:
        self._variable_holder = variable_holder or VariableHolder(share_variables=True)
        self._whole = WrappedFunction(lambda: None, (), "wrapped_function_graph")
        self._functions: dict[str, WrappedFunction] = {}

    @property
    def graph(self) -> Any:
        """The graph of the functions."""
        return self._whole.graph

    @property
    def functions(self) -> dict[str, WrappedFunction]:
        """The functions by name."""
        return self._functions

    @property
    def variables(self) -> dict[str, Any]:
        """The variables by name."""
        return self._variable_holder.variables

    def wrap_function(self, fn: Callable, signature: Any, name: str | None = None) -> WrappedFunction:
        """A function of TensorFlow 1 code, traced at once in the common graph.

        Args:
          fn: the function. signature: nested TensorSpecs, one for each argument. name: of the function.
        """
        name = name or getattr(fn, "__name__", "wrapped")
        with self.graph.as_default():
            fed = nest.map_structure(lambda spec: raw.Placeholder(dtype=spec.dtype, shape=spec.shape, name=spec.name), signature)
            found = self._variable_holder.call_with_variable_creator_scope(fn)(*fed)
            found = nest.map_structure(_fetched, found)
        pruned = self._whole.prune(fed, found, name, (tuple(signature), {}))
        self._functions[name] = pruned
        return pruned


def _fetched(value: TensorLike) -> Any:
    """What a function gives for a value: of a variable, its value."""
    return value if isinstance(value, (Tensor, Operation)) else convert_to_tensor(value)


@export("wrap_function")
def wrap_function(fn: Callable, signature: Any, name: str | None = None) -> WrappedFunction:
    """A function of TensorFlow 1 code, traced at once.

    Args:
      fn: the function. signature: nested TensorSpecs, one for each argument. name: of the function.
    """
    return WrappedFunction(fn, signature, name or getattr(fn, "__name__", "wrapped"))


def function_from_graph_def(graph_def: messages.GraphDef, inputs: object, outputs: object) -> WrappedFunction:
    """The part of a GraphDef from tensors to tensors, as a function.

    Args:
      graph_def: the GraphDef. inputs, outputs: nests of names of its tensors.
    """
    whole = wrap_function(lambda: import_graph_def(graph_def, name=""), [])
    return whole.prune(*(nest.map_structure(whole.graph.as_graph_element, names) for names in (inputs, outputs)))
