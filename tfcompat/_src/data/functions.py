"""Functions that datasets call for each element, run on the host.

Where all of a function has NumPy twins, it is a list of them that is walked through; else it is a plan of the session.
"""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Callable, Sequence
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
from tfcompat._src.runtime.engines.choice import Runs
from tfcompat._src.runtime.execute import _call as call_kernel
from tfcompat._src.runtime.execute import execute, fetched_value
from tfcompat._src.runtime.item import Item, OpItem
from tfcompat._src.runtime.lower import ROUTES, flatten_results
from tfcompat._src.runtime.plan import HostStep, Plan
from tfcompat._src.runtime.planner import Request
from tfcompat._src.runtime.random_state import RandomState
from tfcompat._src.runtime.run_context import RunContext, context_of


def _waiting_for_nothing(tensor: Tensor) -> Tensor:
    """A captured tensor; for a constant that other nodes come before, one that is the same without them: they ran before the dataset was made."""
    op = tensor.op
    if op.type != "Const" or not op.control_inputs:
        return tensor
    bare = type(op)(op._graph, op.spec, op._name, [], [tensor.dtype], op.attrs, [], op.order[0], op._stack)
    bare.order, bare._device = op.order, op._device
    shape_inference.infer(bare)
    return bare.outputs[0]


class Prepared:
    """A function of a node, inlined and planned: shared by all its calls in a session."""

    def __init__(self, context: RunContext, node: Operation, reference: FunctionRef, captured: Sequence[Tensor], given: Sequence[bool]) -> None:
        function = node._graph._get_function(reference.name)
        if function is None:
            raise errors.NotFoundError(node.node_def, node, f"Function {reference.name} is not defined.")
        body = function.body
        count = len(body.inputs) - len(captured)
        elements, inner = body.inputs[:count], body.inputs[count:]
        fed = [own if is_given and t.op.type != "Const" else _waiting_for_nothing(t) for t, own, is_given in zip(captured, inner, given)]
        site = Site(node._graph, node._name, node.order, node._stack, node._device, callers=(function,))
        results, acting = body_at(function, [*elements, *fed], site)
        self.feeds = [*elements, *(t for t, is_given in zip(fed, given) if is_given)]
        self.kinds = [t.dtype.as_numpy_dtype if t.dtype.is_numpy_compatible else object for t in results]
        request = Request(results, acting, self.feeds, deciding={}, runs=Runs.FOR_ELEMENTS)
        self.plan = context.planner.plan(node._graph, request, context.variable_state.values)
        self.is_external = any(op.spec.effects.external for op in self.plan.operations())
        self.program = _numpy_program(self.plan)

    def call(self, arguments: list[Any], context: RunContext) -> tuple[Any, ...]:
        """The results for one element and the captured values."""
        with np.errstate(all="ignore"):
            if self.program is not None:
                return self.program(arguments)
            with jax_compat.x64():
                results = execute(self.plan, arguments, context, fetched_value)
        return tuple([v if isinstance(v, np.ndarray) else np.asarray(v, k) for v, k in zip(results, self.kinds)])


def _is_plain(item: Item) -> bool:
    """Whether a step is a NumPy kernel of values alone."""
    if not isinstance(item, OpItem) or item.type in ROUTES or item.facts.names_variable:
        return False
    spec = item.spec
    if spec.effects != op_spec.PURE or spec.context or not (spec.side == op_spec.HOST or spec.numpy_kernel):
        return False
    return not any(t.dtype._is_ref_dtype or t.dtype.name == "resource" for t in (*item.takes, *item.outputs))


def _numpy_program(plan: Plan) -> Callable[[list[Any]], tuple[Any, ...]] | None:
    """The plan as one Python function, where it is NumPy kernels only."""
    items = [item for step in plan.steps for item in step.items]
    if not all(isinstance(step, HostStep) for step in plan.steps) or not all(map(_is_plain, items)):
        return None
    plain = [item for item in items if isinstance(item, OpItem)]
    places: dict[Tensor, int] = {t: i for i, t in enumerate(plan.feeds)}
    constants: list[Any] = []
    for tensor in dict.fromkeys([*(t for item in items for t in item.takes), *plan.fetched]):
        if tensor in plan.known:
            places[tensor] = len(plan.feeds) + len(constants)
            constants.append(np.asarray(plan.known[tensor]))
    count = len(plan.feeds) + len(constants)
    steps = []
    for item in plain:
        if item.type == "Identity":
            places[item.outputs[0]] = places[item.takes[0]]
            continue
        if item.outputs:
            for t in item.outputs:
                places[t] = count
                count += 1
        steps.append(_numpy_step(item, [places[t] for t in item.takes]))
    wanted = [places[t] for t in plan.fetched]

    def run(arguments: list[Any]) -> tuple[Any, ...]:
        values = [*arguments, *constants]
        for step in steps:
            values += step(values)
        return tuple([values[i] for i in wanted])

    return run


def _numpy_step(item: OpItem, places: list[int]) -> Callable[[list[Any]], list[Any]]:
    spec = item.spec
    kernel = spec.kernel if spec.side == op_spec.HOST or spec.numpy_kernel is None else spec.numpy_kernel
    names = spec.kernel_attrs if kernel is spec.kernel else spec.fold_attrs
    attrs = constant_value.kernel_arguments(item.op, [None] * len(places))[1]
    keywords = {k: attrs[k] for k in names}
    kinds = [np.dtype(t.dtype.as_numpy_dtype if t.dtype.is_numpy_compatible else object) for t in item.outputs]
    groups, op, kind = constant_value.argument_groups(item.op), item.op, kinds[0] if len(kinds) == 1 else None

    def step(values: list[Any]) -> list[Any]:
        arguments = [values[i] for i in places]
        if groups is not None:
            arguments = constant_value.grouped(arguments, groups)
        result = call_kernel(op, kernel, arguments, keywords)
        if kind is not None and isinstance(result, (np.ndarray, np.generic)) and result.dtype is kind:
            return [result if isinstance(result, np.ndarray) else np.asarray(result)]
        found = flatten_results(result)
        return [v if isinstance(v, np.ndarray) and v.dtype == k else np.asarray(v, k) for v, k in zip(found, kinds)]

    return step


_PREPARED: weakref.WeakKeyDictionary[Any, dict[Any, Any]] = weakref.WeakKeyDictionary()


class HostFunction:
    """A function that a dataset calls, with the values that it captured.

    Args:
      context: of the kernel of the dataset. attribute: which of the node's functions. place: which of a list of them.
      captured: the captured values, one for each of the node's inputs from `first` on.
    """

    def __init__(self, context: HostContext, attribute: str, captured: Sequence[Any], first: int, place: int | None = None) -> None:
        self._node, self._attribute, self._place = context.op, attribute, place
        tensors = context.op.inputs[first : first + len(captured)]
        given = [value is not None for value in captured]
        self._tensors, self._given = tensors, given
        self._variable_state = context_of(context).variable_state
        self._captured = [value for value in captured if value is not None]

    def prepared(self, context: RunContext) -> Prepared:
        """The plan of the function in a session."""
        node, reference = self._node, self._node.attrs[self._attribute]
        if self._place is not None:
            reference = reference[self._place]
        plans = _PREPARED.setdefault(context.life, {})
        key = node, self._attribute, self._place
        if key not in plans:
            with jax_compat.x64():
                plans[key] = Prepared(context, node, reference, self._tensors, self._given)
        prepared: Prepared = plans[key]
        return prepared

    def bound(self, scope: Scope, random_state: RandomState | None = None) -> Callable[..., tuple[Any, ...]]:
        """The function of one element's components, for an iteration, with its random numbers or those of `random_state`."""
        prepared, captured, context = self.prepared(scope.context), self._captured, scope.context
        if prepared.program is None:
            randoms = random_state or context.random_state
            context = dataclasses.replace(context, variable_state=self._variable_state, random_state=randoms)
        call = prepared.call

        def run(*components: object) -> tuple[Any, ...]:
            return call([*components, *captured], context)

        return run
