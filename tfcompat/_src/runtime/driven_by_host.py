"""Conditionals and loops that the host drives, where they cannot be compiled: their parts run by plans of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from tfcompat._src.base import errors, run_limits
from tfcompat._src.base.arrays import NDArray, as_array
from tfcompat._src.base.findings import Finding, Kind
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.control.guards import root_predicate
from tfcompat._src.ops.control.loop_topology import Variable
from tfcompat._src.runtime.cond_item import CondItem
from tfcompat._src.runtime.engines.choice import NO_RECORD, NOTHING_KNOWN, Computer, Record, decide
from tfcompat._src.runtime.item import Item
from tfcompat._src.runtime.loop_differentiated import (
    as_gradient,
    cotangent,
    on_device,
    refilled,
    store_gradient,
    with_room,
)
from tfcompat._src.runtime.loop_program import CANCELLED, LoopGradientItem, LoopItem, LoopProgram, Wrt
from tfcompat._src.runtime.lower import Frame, collecting, leaf, lower, primal, truth
from tfcompat._src.runtime.plan import Plan
from tfcompat._src.runtime.run_context import RunContext
from tfcompat._src.runtime.variable_state import is_chosen, variable_in, variable_key

Values = dict[Any, Any]
"""The values of a run by tensor, and the tape of each loop on the host that is differentiated, by item."""
RunSteps = Callable[[Plan, Values, RunContext], None]
Show = Callable[[Tensor, Values, RunContext], Any]


class HostCond:
    """Runs the branch that a predicate chooses, by a plan of its own, which it keeps.

    Args:
      item: the conditional. run_steps: runs a plan. show: the value of a tensor that a run has left.
    """

    def __init__(self, item: CondItem, run_steps: RunSteps, show: Show) -> None:
        self._item, self._run_steps, self._show = item, run_steps, show
        self._plans: dict[tuple[bool, tuple[Tensor, ...]], Plan] = {}

    def __call__(self, values: Values, context: RunContext) -> None:
        item = self._item
        on = bool(truth(item.predicate, values[item.predicate]))
        alive = tuple(t for t in item.takes if t in values)
        plan = self._plans.get((on, alive))
        if plan is None or plan.is_stale:
            plan = self._plans[on, alive] = self._plan(on, alive, context)
        inner = {**plan.known, **{t: values[t] for t in plan.feeds}}
        self._run_steps(plan, inner, context)
        inner.update({t: variable_in(t, inner) for merge in item.merges if is_chosen(merge.outputs[0]) for t in merge.takes if item.is_alive(t, on)})
        for t in item.joined(on):
            if t.dtype._is_ref_dtype and t not in inner:
                inner[t] = self._show(t, inner, context)
        values.update(item.results(on, inner))

    def _plan(self, on: bool, alive: Sequence[Tensor], context: RunContext) -> Plan:
        """The plan of a branch; `alive` are the inputs that have a value: those of a branch inside that was not taken have none."""
        item = self._item
        decided = {t: np.array(on) for t in item.takes if root_predicate(t) is item.predicate}
        feeds = [t for t in alive if t not in decided]
        dead = frozenset(item.takes).difference(alive)
        return context.planner.part(item.on_side(on), item.joined(on), feeds, decided, dead=dead)


class HostLoop:
    """Runs a loop one iteration at a time: condition and body by plans of their own, which it keeps.

    Args:
      item: the loop. run_steps: runs a plan. show: the value of a tensor that a run has left.
    """

    def __init__(self, item: LoopItem, run_steps: RunSteps, show: Show) -> None:
        self._item, self._program, self._run_steps, self._show = item, item.program, run_steps, show
        self._plans: dict[tuple[str, Computer], Plan] = {}
        self._steady = NO_RECORD, decide(NOTHING_KNOWN, NO_RECORD).computer
        self._shapes: dict[str, dict[tuple[Any, ...] | None, tuple[Record, Computer]]] = {}  # of a part: of shapes it had, and of None for others

    def __call__(self, values: Values, context: RunContext) -> None:
        with run_limits.stoppable(context.life) as flag:
            self._run(values, context, flag)

    def _run(self, values: Values, context: RunContext, flag: run_limits.StopFlag) -> None:
        program = self._program
        outer = {op.outputs[0]: values[op.takes[0]] for op in program.constants if op.takes[0] in values}
        outer.update({t: outer[op.outputs[0]] for t, op in program.aliases.items() if op.outputs[0] in outer})
        state = [values[v.enter.takes[0]] for v in program.variables]
        predicate = program.condition.takes[0] if program.condition is not None else None
        tape: list[_Noted] | None = None
        if self._item.wrts:
            tape = values[self._item] = []
        for record in program.records:
            values.update({record.steps: np.zeros(0, np.int32), record.counters: np.zeros((0, 6), np.uint32)})
        changing_reads = program.changing_reads()
        read, written = {variable_key(v): v for v in program.reads}, {variable_key(v) for v in program.writes}
        while True:
            run_limits.require_time()
            if flag.is_set:
                node_def = None if program.condition is None else program.condition.node_def
                raise errors.CancelledError(node_def, program.condition, CANCELLED)
            current = {**outer, **{t: context.variable_state.read(v, variable_key(v)) for t, v in changing_reads.items()}}
            for v, value in zip(program.variables, state):
                current.update(dict.fromkeys(program.names_inside(v), value))
            if predicate is not None:
                found = self._run_part("condition", program.condition_items, [predicate, *program.shared], current, context)
                if not bool(truth(predicate, as_array(found[0]))):
                    break
                current.update(zip(program.shared, found[1:]))
            if tape is not None:
                context.random_state.await_turn(program.randoms)
                changing = {key: context.variable_state.read(v, key) for key, v in read.items() if key in written or not tape}
                before = {**tape[-1].state, **changing} if tape else changing
                tape.append(_Noted(current, {op: context.random_state.row(op) for op in program.randoms}, before))
            if predicate is None:
                found = self._run_part("body", program.body_items, [e.takes[0] for e in program.exits], current, context)
                values.update(zip((e.outputs[0] for e in program.exits), found))
                return
            state = self._run_part("body", program.body_items, [v.following for v in program.variables], current, context)
        final = {v.enter: value for v, value in zip(program.variables, state)}
        for exit in program.exits:
            source = program.entering(exit)
            values[exit.outputs[0]] = final[source] if source in final else values.get(source.takes[0])

    def _run_part(self, part: str, items: Sequence[Item], wanted: list[Tensor], given: Values, context: RunContext) -> list[object]:
        """Runs the condition or the body once; the values of `wanted`."""
        record, computer = self._decided(part, given)
        plan = self._plans.get((part, computer))
        if plan is None or plan.is_stale:
            plan = self._plans[part, computer] = self._plan(items, wanted, given, context, record)
        inner = {**plan.known, **{t: given[t] for t in plan.feeds}}
        self._run_steps(plan, inner, context)
        return [inner[t] if t in inner else self._show(t, inner, context) for t in wanted]

    def _plan(self, items: Sequence[Item], wanted: list[Tensor], given: Values, context: RunContext, record: Record) -> Plan:
        """A plan for a part; the session keeps it for other plans with the same loop."""
        inside = self._program.known
        used = {t for item in items for t in item.takes} | set(wanted)
        feeds = [t for t in given if t in used and t not in inside]
        known = tuple([(t, np.asarray(v).tobytes()) for t, v in inside.items() if t in used])
        key = (decide(NOTHING_KNOWN, record), tuple([item.operations for item in items]), tuple(wanted), tuple(feeds), known)
        plan = context.loop_plans.get(key)
        if plan is None or plan.is_stale:
            plan = context.loop_plans[key] = context.planner.part(items, wanted, feeds, inside, record)
        return plan

    def _decided(self, part: str, given: Values) -> tuple[Record, Computer]:
        """In how many shapes of the loop variables this part of the loop has run, these included, when it first ran in these; what computes."""
        condition = self._program.condition
        if condition is None or Finding(Kind.HOST_DRIVES, condition) not in condition._graph.findings:
            return self._steady
        names = [t for v in self._program.variables for t in self._program.names_inside(v)[:1]]
        shapes = tuple([getattr(given[t], "shape", None) for t in names])
        seen = self._shapes.setdefault(part, {})
        found = seen.get(shapes) or seen.get(None)
        if found is None:
            record = Record(shapes=len(seen) + 1)
            found = record, decide(NOTHING_KNOWN, record).computer
            seen[None if found[1] is Computer.NUMPY else shapes] = found
        return found


class _Noted(NamedTuple):
    """What an iteration started with: values, rows of its random operations, variables that it reads by key."""

    values: Values
    rows: dict[Operation, NDArray]
    state: dict[str, NDArray]


def run_backwards(item: LoopGradientItem, values: dict[Any, Any]) -> None:
    """Runs the gradient of a loop that was driven from the host, iteration by iteration, on the values it noted.

    Raises:
      NotImplementedError: it is the second derivative, or the loop has host work inside or was run elsewhere.
    """
    program = item.loop.program
    if item.second is not None:
        raise NotImplementedError(f"the second derivative of {program.name}, which is driven from the host")
    if item.loop not in values:
        raise NotImplementedError(f"the gradient of {program.name}, which was run in a branch of its own")
    hidden = next((o for o in program.operations if o.spec.effects.external), None)
    if hidden is not None:
        raise NotImplementedError(f"the gradient of {program.name} through {hidden.name} (op type {hidden.type}), which runs on the host")
    variables = [v for v in program.variables if v.following.dtype.is_floating or v.following.dtype.is_complex]
    captured = [wrt for wrt in item.wrts if wrt.source in values and any(wrt.enters_by(e) for e in program.constants)]
    given = dict(zip((t.op for t in item.exits), (cotangent(values[t]) for t in item.grads)))
    by_enter = {program.entering(e): given[e] for e in program.exits if e in given}
    flows: Sequence[jax.Array | None] = [by_enter.get(v.enter) for v in variables]
    total: dict[Wrt, jax.Array] = {}

    def add(wrt: Wrt, grad: jax.Array | None) -> None:
        if grad is not None:
            total[wrt] = total[wrt] + grad if wrt in total else grad

    for noted in reversed(values[item.loop]):
        flows, found = _one_back(program, variables, captured, noted, flows)
        for wrt, grad in zip(captured, found):
            add(wrt, grad)
    for wrt, parts in zip(item.wrts, item.results):
        for v, flow in zip(variables, flows):
            add(wrt, flow if wrt.enters_by(v.enter) else None)
        for enter in program.constants:
            add(wrt, by_enter.get(enter) if wrt.enters_by(enter) else None)
        source = values[wrt.source]
        grad = total[wrt] if wrt in total else jnp.zeros_like(leaf(on_device(source)))
        store_gradient(parts, as_gradient(grad, source), values)


def _one_back(
    program: LoopProgram, variables: list[Variable], captured: list[Wrt], noted: _Noted, flows: Sequence[jax.Array | None]
) -> tuple[list[jax.Array], list[jax.Array]]:
    """The gradients before one iteration, of its variables and of what the loop captured, from those after it."""
    inside = [[e.outputs[0] for e in program.constants if wrt.enters_by(e)] for wrt in captured]
    names = [program.names_inside(v) for v in variables] + [n + [a for a, e in program.aliases.items() if e.outputs[0] in n] for n in inside]

    def run(primals: list[jax.Array]) -> list[jax.Array]:
        frame = Frame({**program.known, **numbers}, dict(noted.state), noted.rows, differentiated=1)
        for group, value, before in zip(names, primals, given):
            frame.values.update(dict.fromkeys(group, refilled(before, value)))
        with collecting():
            for item in (*(program.condition_items if program.shared else ()), *program.body_items):
                lower(item, frame)
        return [primal(v.following, frame) for v in variables]

    numbers = {t: np.asarray(v) if isinstance(v, jax.Array) else v for t, v in noted.values.items()}
    given = [on_device(next(noted.values[n] for n in group if n in noted.values)) for group in names]
    after, pull = jax.vjp(run, list(map(leaf, given)))
    (found,) = pull([jnp.zeros(a.shape, a.dtype) if g is None else jnp.conj(with_room(g, a)) for a, g in zip(after, flows)])
    found = [jnp.conj(g) for g in found]
    return found[: len(variables)], found[len(variables) :]
