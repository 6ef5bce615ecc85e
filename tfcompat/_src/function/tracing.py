"""Tracing: calls a Python function in a graph of its own and makes a function of the graph from the nodes that it adds."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes, nest
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.base.recent import Recent
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.function_def import argument_names
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import control_dependencies, get_default_graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.nodes.function_body import FuncGraph, GraphFunction, with_held
from tfcompat._src.ops.control.while_context import as_leaf, flow_of
from tfcompat._src.variables.scope import VARIABLE_STORES, get_variable_scope
from tfcompat._src.variables.variable import creator_stack

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_SHARED = (GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES, GraphKeys.TRAINABLE_VARIABLES, *VARIABLE_STORES)
_NUMBERS = itertools.count()


class TracedGraph(FuncGraph):
    """The body of a traced function, with the seed, colocations and collections of the outer graph.

    Nodes without a device run on the device of the call; device functions of the outer graph also apply inside. With `shares_collections` all
    collections are the outer graph's; without it those of variables are, and the others are copies.
    """

    def __init__(self, outer: Graph, shares_collections: bool, keeps_effects: bool) -> None:
        super().__init__(outer)
        self.keeps_effects = keeps_effects
        # Without device functions, a node without a device is placed where the call runs.
        self._devices = list(outer._devices) if any(callable(d.obj.device) for d in outer._devices) else []
        self._colocations = list(outer._colocations)
        self.functional_control_flow = True
        self.is_branch = shares_collections
        self._seed = outer.seed
        self.control_captures: dict[Operation, None] = {}
        if shares_collections:
            self._collections = outer._collections
            return
        # Variables made inside are found by the program's savers and initializers outside.
        for key in (*outer.collections, *_SHARED):
            items = outer.get_collection_ref(key)
            self._collections[key] = items if key in _SHARED else list(items)


    def control_dependencies(self, control_inputs: Any) -> Any:
        """As in every graph, but the node that runs the function waits for operations of other graphs."""
        if control_inputs is None:
            return super().control_dependencies(None)
        ops = [getattr(c, "op", c) for c in control_inputs]
        # A control edge cannot cross into a function: the call waits instead.
        self.control_captures.update(dict.fromkeys(op for op in ops if op.graph is not self))
        return super().control_dependencies([op for op in ops if op.graph is self])


@contextlib.contextmanager
def _resource_variables() -> Iterator[None]:
    """A block in which new variables are resource variables, whatever the variable scope says."""
    scope = get_variable_scope()
    before = scope.use_resource
    scope.set_use_resource(True)
    try:
        yield
    finally:
        scope.set_use_resource(before)


class Traced:
    """A Python function that has been called in a graph of its own, `body`.

    Args:
      name: of the function; a number is added.
      kinds: (dtype, sizes) of its arguments.
      fn: called with placeholders for them.
      names: of the placeholders.
      creators: functions that make variables in it; None for a branch or loop, which shares them and the collections of the outer graph.
      keeps_effects: whether side effects happen although no result depends on them; for a branch or loop the outer function decides.

    Attributes:
      result: the result of `fn`, with tensors as leaves.
      leaves: its leaves in order, None where `fn` returned None.
    """

    def __init__(
        self, name: str, kinds: Sequence[tuple[dtypes.DType, Any]], fn: Callable[[list[Tensor]], Any], names: Sequence[str] | None = None,
        creators: list | None = None, keeps_effects: bool = True,
    ) -> None:  # fmt: skip
        outer = get_default_graph()
        # Numbers are unique in the process; an imported library may have taken one already.
        numbered = (f"{name.replace('/', '_')}_{number}" for number in _NUMBERS)
        self.name = next(each for each in numbered if not outer._is_function(each))
        if creators is None:
            keeps_effects = outer.building_function and outer.keeps_effects
        self.body = TracedGraph(outer, creators is None, keeps_effects)
        # A function has its own creators; a branch or loop inherits those of the graph around it.
        creator_stack(self.body)[:] = creator_stack(outer) if creators is None else creators
        names = names or ["placeholder"] * len(kinds)
        with self.body.as_default():
            inputs = [self.body.add_input(dtype, sizes, name) for (dtype, sizes), name in zip(kinds, names)]
            with _resource_variables():
                self.result = nest.map_structure(_as_tensor, fn(inputs), expand_composites=True)
        self.derivatives: list[Any] = []
        self.read_result()

    _made: GraphFunction | None = None
    programs: Mapping[str, Recent] | None = None
    """Caches of compiled programs by role, which the traces of one function share; None for separate ones."""
    role = "call"

    @classmethod
    def of(cls, name: str, body: FuncGraph, result: Any) -> Traced:
        """Makes a Traced from a body that exists; `result` is a structure of its tensors."""
        traced = cls.__new__(cls)
        traced.name, traced.body, traced.result, traced.derivatives = name, body, result, []
        traced.read_result()
        return traced

    def read_result(self) -> None:
        """Sets the body's outputs from `result`; called again after `result` has changed."""
        with self.body.as_default():
            self.leaves = nest.flatten(self.result, expand_composites=True)
            self.body.outputs = [self._inside(flow_of(leaf)) for leaf in self.leaves if leaf is not None]

    def _inside(self, tensor: Tensor) -> Tensor:
        return tensor if tensor.graph is self.body else self.body.capture(tensor)

    @property
    def kinds(self) -> list[dtypes.DType]:
        """The dtypes of the results."""
        return [t.dtype.base_dtype for t in self.body.outputs]

    def function(self) -> GraphFunction:
        """Returns the GraphFunction, made on the first call: arguments and results must be complete by then."""
        if self._made is None:
            body = self.body
            self._made = GraphFunction(self.name, body, argument_names(body.inputs), argument_names(body.outputs), {})
            self._made.acts_in_order = body.keeps_effects
            if self.programs is not None:
                self._made.programs = self.programs[self.role]
        return self._made

    def add_to(self, graph: Graph) -> GraphFunction:
        """Adds the function, and those that it calls, to a graph's library, and returns it."""
        graph_function = self.function()
        # A library must contain every function that its functions call.
        for each in with_held([graph_function]).values():
            if not graph._is_function(each.name):
                graph._add_function(each)
        return graph_function

    def packed(self, outputs: Sequence[Tensor]) -> Any:
        """Returns the outputs of a node that runs the function, in the structure of its result."""
        tensors = iter(outputs)
        leaves = [None if leaf is None else as_leaf(leaf, next(tensors)) for leaf in self.leaves]
        return nest.pack_sequence_as(self.result, leaves, expand_composites=True)


def _as_tensor(value: TensorLike) -> Any:
    if isinstance(value, Operation):
        with control_dependencies([value]):
            return constant(True)
    return value if value is None or hasattr(value, "flow") else convert_to_tensor(value)


def with_same_captures(traced: Sequence[Traced]) -> list[Tensor]:
    """Makes functions capture the same tensors in the same order, and returns these tensors."""
    captured = list(dict.fromkeys(t for each in traced for t in each.body.captures))
    for each in traced:
        # Captures are the last inputs of a body: they are replaced by the common list, in its order.
        own = len(each.body.inputs) - len(each.body.captures)
        inner = [each.body.capture(t) for t in captured]
        each.body.inputs[own:] = inner
        each.body.captures = dict(zip(captured, inner))
    return captured


def shapes_in_common(traced: Sequence[Traced]) -> list[TensorShape]:
    """Returns, for each result, the shape that holds whichever function runs."""
    shapes = []
    for same in zip(*[each.body.outputs for each in traced]):
        sizes = same[0]._sizes
        for other in same[1:]:
            # Different ranks make the shape unknown, different sizes a dimension.
            is_known = sizes is not None and other._sizes is not None and len(sizes) == len(other._sizes)
            sizes = tuple(a if a == b else None for a, b in zip(sizes, other._sizes)) if is_known else None
        shapes.append(TensorShape.of(sizes))
    return shapes


def outputs_of(outputs: object) -> list[Tensor]:
    """Returns the outputs of a node as a list of Identity nodes' tensors; resources are returned unchanged."""
    if isinstance(outputs, Operation):
        return []
    return [raw.Identity(t) if t.dtype != dtypes.resource else t for t in (outputs if isinstance(outputs, (list, tuple)) else [outputs])]


def waited_for(traced: Sequence[Traced]) -> list[Operation]:
    """Returns the nodes of the outer graph that the functions' nodes have as control inputs."""
    return list(dict.fromkeys(op for each in traced for op in each.body.control_captures))
