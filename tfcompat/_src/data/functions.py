"""Functions that datasets call for each element, on the host.

A function is inlined and planned once per session. If every operation of the plan is a pure NumPy kernel, it runs as a list of
closures over a list of values (`_numpy_program`), which costs a few microseconds per operation; otherwise its plan is executed like a run.
"""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from tfcompat._src.base import errors, jax_compat
from tfcompat._src.base.host_context import HostContext
from tfcompat._src.data.values import Scope
from tfcompat._src.graph import constant_value, op_spec, shape_inference
from tfcompat._src.graph.attr_values import FunctionRef
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.function_body import Site, body_at
from tfcompat._src.runtime.debugging import cache_checks
from tfcompat._src.runtime.engines.choice import Runs
from tfcompat._src.runtime.host.fetched_value import fetched_value
from tfcompat._src.runtime.host.kernels import call as call_kernel
from tfcompat._src.runtime.ir.item import Item, MergeItem, OpItem
from tfcompat._src.runtime.ir.plan import HostStep, Plan
from tfcompat._src.runtime.lowering.lower import ROUTES, flatten_results
from tfcompat._src.runtime.passes.pipeline import Request
from tfcompat._src.runtime.passes.plan_guards import Facts, Guard, GuardedCaches
from tfcompat._src.runtime.session.execute import execute
from tfcompat._src.runtime.state.random_state import RandomState
from tfcompat._src.runtime.state.run_context import RunContext, SessionLife, context_of


def _waiting_for_nothing(tensor: Tensor) -> Tensor:
    """Returns a captured tensor; for a constant with control inputs, a copy without them.

    The control inputs have run before the dataset was made, and are not to run again for each element.
    """
    op = tensor.op
    if op.type != "Const" or not op.control_inputs:
        return tensor
    bare = type(op)(op._graph, op.spec, op._name, [], [tensor.dtype], op.attrs, [], op.order[0], op._stack)
    bare.order, bare._device = op.order, op._device
    shape_inference.infer(bare)
    return bare.outputs[0]


class Prepared:
    """A function of a dataset's node, inlined and planned; all its calls in a session share it.

    Args:
      context: of the run that prepares it. node: whose function `reference` is.
      captured: the tensors that the function captures. given: for each, whether its value is given at each call.
      device: of the function's operations without one.

    Attributes:
      plan: of the function; its guards are those of this. program: the plan as one Python function, or None. is_external: whether it has external side effects.
    """

    def __init__(
        self, context: RunContext, node: Operation, reference: FunctionRef, captured: Sequence[Tensor], given: Sequence[bool], device: str
    ) -> None:  # fmt: skip
        # The function's inputs are the components of an element, then its captured values.
        function = node._graph._get_function(reference.name)
        if function is None:
            raise errors.NotFoundError(node.node_def, node, f"Function {reference.name} is not defined.")
        # The body is copied into the node's graph, as if it were called there. Constants stay constants, which the planner folds; other
        # captured tensors are feeds.
        body = function.body
        count = len(body.inputs) - len(captured)
        elements, inner = body.inputs[:count], body.inputs[count:]
        fed = [own if is_given and t.op.type != "Const" else _waiting_for_nothing(t) for t, own, is_given in zip(captured, inner, given)]
        site = Site(node._graph, node._name, node.order, node._stack, device, callers=(function,))
        results, acting = body_at(function, [*elements, *fed], site)
        self.feeds = [*elements, *(t for t, is_given in zip(fed, given) if is_given)]
        self.kinds = [t.dtype.as_numpy_dtype if t.dtype.is_numpy_compatible else object for t in results]
        request = Request(results, acting, self.feeds, Facts({}, context.variable_state.values), runs=Runs.FOR_ELEMENTS)
        self.plan = context.planner.plan(node._graph, request)
        self.is_external = any(op.spec.effects.external for op in self.plan.operations())
        self.program = _numpy_program(self.plan)

    @property
    def guards(self) -> tuple[Guard, ...]:
        return self.plan.guards

    @property
    def is_stale(self) -> bool:
        return self.plan.is_stale

    def call(self, arguments: list[Any], context: RunContext) -> tuple[Any, ...]:
        """Returns the results of a call as arrays; `arguments` are the components of an element, then the captured values."""
        # TensorFlow does not warn of overflow or division by zero.
        with np.errstate(all="ignore"):
            if self.program is not None:
                return self.program(arguments)
            with jax_compat.x64():
                results = execute(self.plan, arguments, context, fetched_value)
        return tuple([v if isinstance(v, np.ndarray) else np.asarray(v, k) for v, k in zip(results, self.kinds)])


def _is_plain(item: Item) -> bool:
    """Whether an item is a pure NumPy kernel: no side effects, no context, no variables or resources."""
    if not isinstance(item, OpItem) or isinstance(item, MergeItem) or item.type in ROUTES or item.facts.names_variable:
        return False
    spec = item.spec
    if spec.effects != op_spec.PURE or spec.context or not (spec.side == op_spec.HOST or spec.numpy_kernel):
        return False
    return not any(t.dtype._is_ref_dtype or t.dtype.name == "resource" for t in (*item.takes, *item.outputs))


def _numpy_program(plan: Plan) -> Callable[[list[Any]], tuple[Any, ...]] | None:
    """Compiles a plan of NumPy kernels to one Python function; returns None if another step is in it.

    The program is a register machine: `values` begins with the feeds and constants, and each step appends its outputs.
    """
    items = [item for step in plan.steps for item in step.items]
    if not all(isinstance(step, HostStep) for step in plan.steps) or not all(map(_is_plain, items)):
        return None
    plain = [item for item in items if isinstance(item, OpItem)]
    # The index of each tensor in `values`.
    indices: dict[Tensor, int] = {t: i for i, t in enumerate(plan.feeds)}
    # Values that the planner folded are constants of the program.
    constants: list[Any] = []
    for tensor in dict.fromkeys([*(t for item in items for t in item.takes), *plan.fetched]):
        if tensor in plan.known:
            indices[tensor] = len(plan.feeds) + len(constants)
            constants.append(np.asarray(plan.known[tensor]))
    count = len(plan.feeds) + len(constants)
    steps = []
    for item in plain:
        # Identity needs no step: its output is another name for its input.
        if item.type == "Identity":
            indices[item.outputs[0]] = indices[item.takes[0]]
            continue
        if item.outputs:
            for t in item.outputs:
                indices[t] = count
                count += 1
        steps.append(_numpy_step(item, [indices[t] for t in item.takes]))
    wanted = [indices[t] for t in plan.fetched]

    # All decisions are made above; a call only runs the steps in order.
    def run(arguments: list[Any]) -> tuple[Any, ...]:
        values = [*arguments, *constants]
        for step in steps:
            values += step(values)
        return tuple([values[i] for i in wanted])

    return run


def _numpy_step(item: OpItem, indices: list[int]) -> Callable[[list[Any]], list[Any]]:
    """Returns a closure that calls an item's kernel with the values at `indices` and returns its outputs, in their dtypes."""
    spec = item.spec
    kernel = spec.kernel if spec.side == op_spec.HOST or spec.numpy_kernel is None else spec.numpy_kernel
    names = spec.kernel_attrs if kernel is spec.kernel else spec.fold_attrs
    attrs = constant_value.kernel_arguments(item.op, [None] * len(indices))[1]
    keywords = {k: attrs[k] for k in names}
    kinds = [np.dtype(t.dtype.as_numpy_dtype if t.dtype.is_numpy_compatible else object) for t in item.outputs]
    groups, op, kind = constant_value.argument_groups(item.op), item.op, kinds[0] if len(kinds) == 1 else None

    def step(values: list[Any]) -> list[Any]:
        arguments = [values[i] for i in indices]
        if groups is not None:
            arguments = constant_value.grouped(arguments, groups)
        # The common case first: one output that already has its dtype.
        result = call_kernel(op, kernel, arguments, keywords)
        if kind is not None and isinstance(result, (np.ndarray, np.generic)) and result.dtype is kind:
            return [result if isinstance(result, np.ndarray) else np.asarray(result)]
        results = flatten_results(result)
        return [v if isinstance(v, np.ndarray) and v.dtype == k else np.asarray(v, k) for v, k in zip(results, kinds)]

    return step


PREPARED_FUNCTIONS = 4096
"""How many prepared functions of datasets a session keeps."""
_PREPARED: weakref.WeakKeyDictionary[SessionLife, GuardedCaches[Hashable, Prepared]] = weakref.WeakKeyDictionary()
"""The prepared functions of each session, by the key (node, attribute, index, device)."""


class HostFunction:
    """A function that a dataset calls, together with its captured values.

    Args:
      context: of the kernel that makes the dataset. attribute: the node's attribute that holds the function.
      captured: the captured values, which are the node's inputs from index `first` on; None for one that is not given.
      place: the index of the function, if the attribute is a list of functions.
      device: of the function's operations without one; by default the node's.
    """

    def __init__(
        self, context: HostContext, attribute: str, captured: Sequence[Any], first: int, place: int | None = None, device: str | None = None
    ) -> None:  # fmt: skip
        self._node, self._attribute, self._place = context.op, attribute, place
        self._device = context.op._device if device is None else device
        tensors = context.op.inputs[first : first + len(captured)]
        given = [value is not None for value in captured]
        self._tensors, self._given = tensors, given
        self._variable_state = context_of(context).variable_state
        self._captured = [value for value in captured if value is not None]

    def prepared(self, context: RunContext) -> Prepared:
        """Returns the prepared function for the session of `context`; prepares it unless one is kept whose guards hold now."""
        node, reference = self._node, self._node.attrs[self._attribute]
        if self._place is not None:
            reference = reference[self._place]
        # The plans of a session are dropped with it.
        kept = _PREPARED.setdefault(context.life, GuardedCaches(PREPARED_FUNCTIONS))
        of_node = kept.of((node, self._attribute, self._place, self._device))

        def make() -> Prepared:
            with jax_compat.x64():
                return Prepared(context, node, reference, self._tensors, self._given, self._device)

        prepared = of_node.find((), (), self._variable_state.values)
        if prepared is None:
            return of_node.add(make())
        if cache_checks.Switch.is_on:
            cache_checks.same_plan(prepared.plan, make().plan)
        return prepared

    def bound(self, scope: Scope, random_state: RandomState | None = None) -> Callable[..., tuple[Any, ...]]:
        """Returns the function of an element's components for one iteration.

        Args:
          scope: the iteration. random_state: the random counters that the function uses; by default those of the iteration.
        """
        # Variables are those of the session that made the dataset, random counters those of the iteration.
        captured, context = self._captured, dataclasses.replace(scope.context, variable_state=self._variable_state)
        prepared = self.prepared(context)
        if prepared.program is None or prepared.guards:
            context = dataclasses.replace(context, random_state=random_state or context.random_state)
        call = prepared.call

        def run(*components: object) -> tuple[Any, ...]:
            return call([*components, *captured], context)

        # A guard is the status of a variable, which may change between two elements.
        def run_guarded(*components: object) -> tuple[Any, ...]:
            return self.prepared(context).call([*components, *captured], context)

        return run_guarded if prepared.guards else run
