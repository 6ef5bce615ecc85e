"""Calling a Python function in a graph of its own, to make a function of the graph of it."""

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
    """The body of a traced function, with the seed, colocations and collections of the graph around it.

    Nodes without a device run on that of the call; where a function chooses devices, it is asked inside too.
    `shares_collections` says that the collections are that graph's own; else those of variables are, and the others copies.
    """

    def __init__(self, outer: Graph, shares_collections: bool, keeps_effects: bool) -> None:
        super().__init__(outer)
        self.keeps_effects = keeps_effects
        self._devices = list(outer._devices) if any(callable(d.obj.device) for d in outer._devices) else []
        self._colocations = list(outer._colocations)
        self.functional_control_flow = True
        self.is_branch = shares_collections
        self._seed = outer.seed
        self.control_captures: dict[Operation, None] = {}
        if shares_collections:
            self._collections = outer._collections
            return
        for key in (*outer.collections, *_SHARED):
            items = outer.get_collection_ref(key)
            self._collections[key] = items if key in _SHARED else list(items)


    def control_dependencies(self, control_inputs: Any) -> Any:
        """As in every graph; nodes of the graph around it are waited for by the node that runs the function."""
        if control_inputs is None:
            return super().control_dependencies(None)
        ops = [getattr(c, "op", c) for c in control_inputs]
        self.control_captures.update(dict.fromkeys(op for op in ops if op.graph is not self))
        return super().control_dependencies([op for op in ops if op.graph is self])


@contextlib.contextmanager
def _resource_variables() -> Iterator[None]:
    """Variables made inside are behind resources, whatever the variable scope says."""
    scope = get_variable_scope()
    before = scope.use_resource
    scope.set_use_resource(True)
    try:
        yield
    finally:
        scope.set_use_resource(before)


class Traced:
    """A Python function that was called in a graph of its own, `body`.

    Args:
      name: of the function; a number is added. kinds: (dtype, sizes) of its arguments.
      fn: called with placeholders for them. names: of the placeholders.
      creators: functions that make variables in it; None for a branch or loop, which shares collections with the graph around.
      keeps_effects: whether what acts in it runs though no result hangs on it; in a branch or loop that is as in the function around.

    Attributes:
      result: what `fn` gave, with tensors at the leaves. leaves: these in order, None where it gave None.
    """

    def __init__(
        self, name: str, kinds: Sequence[tuple[dtypes.DType, Any]], fn: Callable[[list[Tensor]], Any], names: Sequence[str] | None = None,
        creators: list | None = None, keeps_effects: bool = True,
    ) -> None:  # fmt: skip
        outer = get_default_graph()
        numbered = (f"{name.replace('/', '_')}_{number}" for number in _NUMBERS)
        self.name = next(each for each in numbered if not outer._is_function(each))
        if creators is None:
            keeps_effects = outer.building_function and outer.keeps_effects
        self.body = TracedGraph(outer, creators is None, keeps_effects)
        if creators is not None:
            creator_stack(self.body)[:] = creators
        names = names or ["placeholder"] * len(kinds)
        with self.body.as_default():
            inputs = [self.body.add_input(dtype, sizes, name) for (dtype, sizes), name in zip(kinds, names)]
            with _resource_variables():
                self.result = nest.map_structure(_as_tensor, fn(inputs), expand_composites=True)
        self.derivatives: list[Any] = []
        self.read_result()

    _made: GraphFunction | None = None
    programs: Mapping[str, Recent] | None = None
    """Where its calls and derivatives keep what they compile, together with functions like it; None: each by itself."""
    role = "call"

    @classmethod
    def of(cls, name: str, body: FuncGraph, result: Any) -> Traced:
        """A function whose body was made otherwise; `result` is a structure of its tensors."""
        found = cls.__new__(cls)
        found.name, found.body, found.result, found.derivatives = name, body, result, []
        found.read_result()
        return found

    def read_result(self) -> None:
        """Makes the tensors in `result` what the function gives."""
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
        """The function, when its arguments and results are complete."""
        if self._made is None:
            body = self.body
            self._made = GraphFunction(self.name, body, argument_names(body.inputs), argument_names(body.outputs), {})
            self._made.acts_in_order = body.keeps_effects
            if self.programs is not None:
                self._made.programs = self.programs[self.role]
        return self._made

    def add_to(self, graph: Graph) -> GraphFunction:
        """Lets a graph hold the function and those that it calls."""
        found = self.function()
        for each in with_held([found]).values():
            if not graph._is_function(each.name):
                graph._add_function(each)
        return found

    def packed(self, outputs: Sequence[Tensor]) -> Any:
        """The outputs of a node that runs the function, in the structure of its result."""
        tensors = iter(outputs)
        leaves = [None if leaf is None else as_leaf(leaf, next(tensors)) for leaf in self.leaves]
        return nest.pack_sequence_as(self.result, leaves, expand_composites=True)


def _as_tensor(value: TensorLike) -> Any:
    if isinstance(value, Operation):
        with control_dependencies([value]):
            return constant(True)
    return value if value is None or hasattr(value, "flow") else convert_to_tensor(value)


def with_same_captures(traced: Sequence[Traced]) -> list[Tensor]:
    """Lets each function take what any of them captures, in one order; the captured tensors."""
    captured = list(dict.fromkeys(t for each in traced for t in each.body.captures))
    for each in traced:
        own = len(each.body.inputs) - len(each.body.captures)
        inner = [each.body.capture(t) for t in captured]
        each.body.inputs[own:] = inner
        each.body.captures = dict(zip(captured, inner))
    return captured


def shapes_in_common(traced: Sequence[Traced]) -> list[TensorShape]:
    """What is known of the shape of each result whichever function runs."""
    found = []
    for same in zip(*[each.body.outputs for each in traced]):
        sizes = same[0]._sizes
        for other in same[1:]:
            is_known = sizes is not None and other._sizes is not None and len(sizes) == len(other._sizes)
            sizes = tuple(a if a == b else None for a, b in zip(sizes, other._sizes)) if is_known else None
        found.append(TensorShape.of(sizes))
    return found


def outputs_of(found: object) -> list[Tensor]:
    """The outputs of a node as a list, however `raw` gave them."""
    if isinstance(found, Operation):
        return []
    return [raw.Identity(t) if t.dtype != dtypes.resource else t for t in (found if isinstance(found, (list, tuple)) else [found])]


def waited_for(traced: Sequence[Traced]) -> list[Operation]:
    """The nodes of the graph around that the functions wait for."""
    return list(dict.fromkeys(op for each in traced for op in each.body.control_captures))
