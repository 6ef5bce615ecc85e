"""tf.wrap_function: functions traced from TensorFlow 1 code, which can be pruned to the part between some tensors."""

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
    """Calls a function and keeps the variables that it makes, by name.

    Args:
      fn: the function.
      share_variables: whether a name that exists returns its variable again.
    """

    def __init__(self, fn: Callable | None = None, share_variables: bool = False) -> None:
        self._fn, self._share_variables = fn, share_variables
        self._variables_by_name: dict[str, Any] = {}

    @property
    def variables(self) -> dict[str, Any]:
        """The variables by name."""
        return self._variables_by_name

    def variable_creator_scope(self, next_creator: Callable, **kwargs: Any) -> Any:
        """Makes a variable, or returns the shared one of this name, and adds it to its collections."""
        collections = kwargs.pop("collections", None)
        with name_scope(kwargs.get("name"), "Variable") as scope:
            # Variables are shared by their full name, scopes included.
            name = scope.removesuffix("/")
            kwargs["name"] = scope
        variable = self._variables_by_name.get(name) if self._share_variables else None
        if variable is None:
            variable = self._variables_by_name[name] = next_creator(**kwargs)
        collections = [GraphKeys.GLOBAL_VARIABLES] if collections is None else list(collections)
        if variable.trainable and GraphKeys.TRAINABLE_VARIABLES not in collections:
            collections.append(GraphKeys.TRAINABLE_VARIABLES)
        # The function's graph shares these collections with the outer one; a shared variable may already be in them.
        for key in collections:
            held = get_default_graph().get_collection_ref(key)
            if not any(each is variable for each in held):
                held.append(variable)
        return variable

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.call_with_variable_creator_scope(self._fn)(*args, **kwargs)  # type: ignore[arg-type]  # there is one

    def call_with_variable_creator_scope(self, fn: Callable) -> Callable:
        """Returns a function that calls `fn` and keeps its variables in this object."""

        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with variable_creator_scope(self.variable_creator_scope):
                return fn(*args, **kwargs)

        return wrapped


class WrappedFunction(ConcreteFunction):
    """A function traced from TensorFlow 1 code; the result of `wrap_function`."""

    def __init__(self, fn: Callable, signature: Iterable[Any], name: str) -> None:
        super().__init__(name, fn, tuple(signature), {}, list(creator_stack(get_default_graph())), keeps_effects=False)

    def prune(self, feeds: object, fetches: object, name: str = "pruned", input_signature: object = None) -> WrappedFunction:
        """Returns the part of the function from `feeds` to `fetches` as a function.

        Args:
          feeds: nest of tensors of `graph`, the inputs.
          fetches: nest of tensors of `graph`, the results, and of operations, which only run.
          name: of the function.
          input_signature: its `structured_input_signature`; by default one TensorSpec for each feed.

        Raises:
          ValueError: a feed or fetch is not of `graph`. UnliftableError: the part needs a placeholder that is not in `feeds`.
        """
        # Cuts the graph as a GraphDef and imports the part into a new function.
        fed, wanted = nest.flatten(feeds, expand_composites=True), nest.flatten(fetches, expand_composites=True)
        for each in (*fed, *wanted):
            if getattr(each, "graph", None) is not self.graph:
                raise ValueError(f"{each} does not belong to {self.name}: feeds and fetches must be tensors and operations of its `graph`.")
        # Captured tensors that are not fed keep their values: they are inputs of the cut graph, mapped to the tensors captured.
        held = {inner.name: outer for outer, inner in self.graph.captures.items() if inner not in set(fed)}
        part = part_between([*fed, *map(self.graph.get_tensor_by_name, held)], wanted, self.graph.as_graph_def())
        # Unused keys of an input map are errors for import_graph_def.
        present = {node.name for node in part.node}
        inner = _without(part, {t.op.name for t in fed})

        def compute(*given: Tensor) -> Any:
            values = {**held, **{t.name: value for t, value in zip(fed, given)}}
            input_map = {key: value for key, value in values.items() if key.partition(":")[0] in present}
            results = import_graph_def(inner, input_map=input_map, return_elements=[each.name for each in wanted], name="")
            return nest.pack_sequence_as(fetches, results, expand_composites=True)

        pruned = WrappedFunction(compute, [TensorSpec(t.shape, t.dtype, t.op.name) for t in fed], name)
        if input_signature is not None:
            pruned.structured_input_signature = input_signature
        return pruned


def _without(graph_def: messages.GraphDef, fed: set[str]) -> messages.GraphDef:
    """Returns a GraphDef without the nodes that are fed, and without control inputs from them."""
    rest = messages.GraphDef(versions=graph_def.versions, library=graph_def.library)
    rest.node.extend(node for node in graph_def.node if node.name not in fed)
    for node in rest.node:
        node.input[:] = [name for name in node.input if not name.startswith("^") or name[1:] not in fed]
    return rest


def part_between(fed: Iterable[Tensor], wanted: Iterable[Any], graph_def: messages.GraphDef) -> Any:
    """Returns the nodes that tensors and operations depend on, as a GraphDef with placeholders in place of what is fed.

    Raises:
      UnliftableError: they depend on a placeholder that is not fed.
    """
    cut = messages.GraphDef()
    cut.CopyFrom(graph_def)
    ends = {tensor.op.name: tensor.dtype for tensor in fed}
    # Fed nodes become placeholders, so that nothing before them is extracted.
    for node in cut.node:
        if node.name in ends:
            node.CopyFrom(messages.NodeDef(name=node.name, op="Placeholder"))
            node.attr["dtype"].type = ends[node.name].as_datatype_enum
    part = extract_sub_graph(cut, [each.op.name if isinstance(each, Tensor) else each.name for each in wanted])
    for node in part.node:
        if node.op == "Placeholder" and node.name not in ends:
            raise UnliftableError(f"Unable to lift the outputs: they depend on the placeholder {node.name}. Add it to the feeds.")
    return part


class WrappedGraph:
    """Functions traced from TensorFlow 1 code into one graph, with common variables and collections.

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
        """Traces a function into the common graph and returns it.

        Args:
          fn: the function.
          signature: nested TensorSpecs, one for each argument.
          name: of the function.
        """
        name = name or getattr(fn, "__name__", "wrapped")
        with self.graph.as_default():
            fed = nest.map_structure(lambda spec: raw.Placeholder(dtype=spec.dtype, shape=spec.shape, name=spec.name), signature)
            results = self._variable_holder.call_with_variable_creator_scope(fn)(*fed)
            results = nest.map_structure(_fetched, results)
        pruned = self._whole.prune(fed, results, name, (tuple(signature), {}))
        self._functions[name] = pruned
        return pruned


def _fetched(value: TensorLike) -> Any:
    """Returns a result as a tensor or operation; a variable becomes its value."""
    return value if isinstance(value, (Tensor, Operation)) else convert_to_tensor(value)


@export("wrap_function")
def wrap_function(fn: Callable, signature: Any, name: str | None = None) -> WrappedFunction:
    """Traces a function of TensorFlow 1 code at once and returns it.

    Args:
      fn: the function.
      signature: nested TensorSpecs, one for each argument.
      name: of the function.
    """
    return WrappedFunction(fn, signature, name or getattr(fn, "__name__", "wrapped"))


def function_from_graph_def(graph_def: messages.GraphDef, inputs: object, outputs: object) -> WrappedFunction:
    """Returns the part of a GraphDef between tensors as a function.

    Args:
      graph_def: the GraphDef.
      inputs, outputs: nests of names of its tensors.
    """
    whole = wrap_function(lambda: import_graph_def(graph_def, name=""), [])
    return whole.prune(*(nest.map_structure(whole.graph.as_graph_element, names) for names in (inputs, outputs)))
