"""Conditionals and loops that cannot be one compiled program: the host chooses branches and counts iterations.

The branches of a conditional, and the condition and the body of a loop, have plans of their own. A loop that is differentiated keeps
a tape of what each iteration started with; `run_backwards` differentiates the iterations one by one, the last first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from tfcompat._src.base import errors, run_limits
from tfcompat._src.base.arrays import NDArray, as_array, content_key
from tfcompat._src.base.findings import Finding, Kind
from tfcompat._src.base.recent import Recent
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.control.guards import root_predicate
from tfcompat._src.ops.control.loop_topology import Variable
from tfcompat._src.runtime.engines.choice import NO_RECORD, NOTHING_KNOWN, Computer, Record, decide
from tfcompat._src.runtime.ir.cond_item import CondItem
from tfcompat._src.runtime.ir.item import Item
from tfcompat._src.runtime.ir.loop_item import CANCELLED, LoopGradientItem, LoopItem, LoopProgram, Wrt
from tfcompat._src.runtime.ir.plan import Plan
from tfcompat._src.runtime.ir.routed_item import DEAD, RoutedItem
from tfcompat._src.runtime.lowering.loop_vjp import (
    as_gradient,
    cotangent,
    on_device,
    refilled,
    store_gradient,
    with_room,
)
from tfcompat._src.runtime.lowering.lower import Frame, collecting, leaf, lower, primal, truth
from tfcompat._src.runtime.passes.plan_guards import GuardedCache, GuardedCaches
from tfcompat._src.runtime.passes.structure import Structure, decided
from tfcompat._src.runtime.state.run_context import RunContext
from tfcompat._src.runtime.state.variable_state import is_chosen, variable_in, variable_key

Values = dict[Any, Any]
"""The values of a run by tensor, and by item the tape (list of `_Noted`) of each differentiated loop that the host drives."""
RunSteps = Callable[[Plan, Values, RunContext], None]
Show = Callable[[Tensor, Values, RunContext], Any]


class HostCond:
    """Runs the branch that the predicate chooses, by a plan for that branch, which is cached.

    Args:
      item: the conditional. known: the values known before the run. run_steps: runs a plan. show: returns the value of a tensor after a run.
    """

    def __init__(self, item: CondItem, known: Mapping[Tensor, NDArray], run_steps: RunSteps, show: Show) -> None:
        self._item, self._run_steps, self._show = item, run_steps, show
        self._known = {t: known[t] for op in item.operations for t in (*op.takes, *op.outputs) if t in known}
        self._plans: GuardedCaches[tuple[bool, tuple[Tensor, ...]], Plan] = GuardedCaches()

    def __call__(self, values: Values, context: RunContext) -> None:
        item = self._item
        on = bool(truth(item.predicate, values[item.predicate]))
        # An input may be dead: it comes from a branch inside another conditional. The plan depends on which are.
        alive = tuple(t for t in item.takes if t in values)
        plans = self._plans.of((on, alive))
        plan = plans.find((), (), ())
        if plan is None:
            plan = plans.add(self._plan(on, alive, context))
        inner = {**plan.known, **{t: values[t] for t in plan.feeds}}
        self._run_steps(plan, inner, context)
        # A Merge of handles of which the predicate chooses one: the value of a handle in a run is the operation that makes the variable.
        inner.update({t: variable_in(t, inner) for merge in item.merges if is_chosen(merge.outputs[0]) for t in merge.takes if item.is_alive(t, on)})
        for t in item.joined(on):
            if t.dtype._is_ref_dtype and t not in inner:
                inner[t] = self._show(t, inner, context)
        values.update(item.results(on, inner))

    def _plan(self, on: bool, alive: Sequence[Tensor], context: RunContext) -> Plan:
        """Makes the plan of a branch; `alive` are the inputs that have values."""
        item = self._item
        # Inside the branch the predicate is a constant, so that conditionals on it fold.
        decided = self._known | {t: np.array(on) for t in item.takes if root_predicate(t) is item.predicate}
        feeds = [t for t in alive if t not in decided]
        dead = frozenset(item.takes).difference(alive)
        return context.planner.part(item.on_side(on), item.joined(on), feeds, decided, dead=dead)


class HostRouting:
    """Runs the nodes that the predicates keep alive, by a plan for their values; plans for the values that were used last are kept.

    Args:
      item: the nodes. run_steps: runs a plan. show: returns the value of a tensor after a run.
    """

    def __init__(self, item: RoutedItem, run_steps: RunSteps, show: Show) -> None:
        self._item, self._run_steps, self._show = item, run_steps, show
        self._plans: Recent[tuple[bool, ...], tuple[Structure, GuardedCache[Plan]]] = Recent()

    def __call__(self, values: Values, context: RunContext) -> None:
        item = self._item
        key = tuple([bool(truth(p, values[p] if p in values else self._show(p, values, context))) for p in item.predicates])
        found = self._plans.get(key)
        if found is None:
            found = self._plans[key] = decided(item, {p: np.array(on) for p, on in zip(item.predicates, key)}), GuardedCache()
        structured, plans = found
        plan = plans.find((), (), ())
        if plan is None:
            plan = plans.add(self._plan(structured, values, context))
        # Gradients need the tapes of loops, which are no tensors.
        tapes = {key: value for key, value in values.items() if isinstance(key, Item)}
        inner: Values = {**plan.known, **tapes, **{t: values[t] for t in plan.feeds}}
        self._run_steps(plan, inner, context)
        for t in item.outputs:
            if t in structured.dead or not holds(structured.guarded.get(t, ()), inner):
                values[t] = DEAD
            elif is_chosen(t):
                values[t] = variable_in(t, inner)
            elif t in inner:
                values[t] = inner[t]

    def _plan(self, structured: Structure, values: Values, context: RunContext) -> Plan:
        """Makes the plan of the nodes that are alive."""
        feeds = [t for t in self._item.takes if t in values and t not in structured.known]
        wanted = [*(t for t in self._item.outputs if t not in structured.dead), *structured.predicates]
        return context.planner.part(structured.items, wanted, feeds, structured.known)


def holds(guard: Iterable[tuple[Tensor, bool]], values: Values) -> bool:
    """Whether each predicate of a guard has the value that it needs; one that is dead itself has none."""
    return all(values.get(p) is not None and bool(values[p]) == wanted for p, wanted in guard)


class HostLoop:
    """Runs a loop one iteration at a time, by a plan for the condition and one for the body, which are cached.

    Args:
      item: the loop. run_steps: runs a plan. show: returns the value of a tensor after a run.
    """

    def __init__(self, item: LoopItem, run_steps: RunSteps, show: Show) -> None:
        self._item, self._program, self._run_steps, self._show = item, item.program, run_steps, show
        self._plans: GuardedCaches[tuple[str, Computer], Plan] = GuardedCaches()
        self._steady = NO_RECORD, decide(NOTHING_KNOWN, NO_RECORD).computer
        # For each part ("condition", "body"): the decision by the shapes of loop variables; by None, that for all further shapes.
        self._shapes: dict[str, dict[tuple[Any, ...] | None, tuple[Record, Computer]]] = {}

    def __call__(self, values: Values, context: RunContext) -> None:
        with run_limits.stoppable(context.life) as flag:
            self._run(values, context, flag)

    def _run(self, values: Values, context: RunContext, flag: run_limits.StopFlag) -> None:
        """Runs all iterations; the loop's results go to `values`."""
        program = self._program
        # Invariants by their names inside, and the initial loop variables.
        outer = {op.outputs[0]: values[op.takes[0]] for op in program.constants if op.takes[0] in values}
        outer.update({t: outer[op.outputs[0]] for t, op in program.aliases.items() if op.outputs[0] in outer})
        initial = [v.enter.takes[0] for v in program.variables]
        # A ref is no value of the run: the variable's state has it.
        state = [values[t] if t in values else self._show(t, values, context) for t in initial]
        predicate = program.condition.takes[0] if program.condition is not None else None
        tape: list[_Noted] | None = None
        if self._item.wrts:
            tape = values[self._item] = []
        # A gradient of this loop uses the tape; the tensors of a Record have values because a plan passes them on.
        for record in program.records:
            values.update({record.steps: np.zeros(0, np.int32), record.counters: np.zeros((0, 6), np.uint32)})
        changing_reads = program.changing_reads()
        read, written = {variable_key(v): v for v in program.reads}, {variable_key(v) for v in program.writes}
        while True:
            run_limits.require_time()
            if flag.is_set:
                node_def = None if program.condition is None else program.condition.node_def
                raise errors.CancelledError(node_def, program.condition, CANCELLED)
            # Reads of refs that the loop writes are aliases of the variables: they have the value of this iteration.
            current = {**outer, **{t: context.variable_state.read(v, variable_key(v)) for t, v in changing_reads.items()}}
            for v, value in zip(program.variables, state):
                current.update(dict.fromkeys(program.names_inside(v), value))
            if predicate is not None:
                results = self._run_part("condition", program.condition_items, [predicate, *program.shared], current, context)
                if not bool(truth(predicate, as_array(results[0]))):
                    break
                current.update(zip(program.shared, results[1:]))
            # The entry of the tape: values, random state, and variables as they are before the body. A variable that the loop does not
            # write is read once; later entries share its array.
            if tape is not None:
                context.random_state.await_turn(program.randoms)
                changing = {key: context.variable_state.read(v, key) for key, v in read.items() if key in written or not tape}
                before = {**tape[-1].state, **changing} if tape else changing
                tape.append(_Noted(current, {op: context.random_state.row(op) for op in program.randoms}, before))
            # A control flow frame without LoopCond runs once.
            if predicate is None:
                results = self._run_part("body", program.body_items, [e.takes[0] for e in program.exits], current, context)
                values.update(zip((e.outputs[0] for e in program.exits), results))
                return
            state = self._run_part("body", program.body_items, [v.following for v in program.variables], current, context)
        final = {v.enter: value for v, value in zip(program.variables, state)}
        for exit in program.exits:
            source = program.entering(exit)
            values[exit.outputs[0]] = final[source] if source in final else values.get(source.takes[0])

    def _run_part(self, part: str, items: Sequence[Item], wanted: list[Tensor], given: Values, context: RunContext) -> list[object]:
        """Runs the condition or the body once; returns the values of `wanted`."""
        record, computer = self._decided(part, given)
        plans = self._plans.of((part, computer))
        plan = plans.find((), (), ())
        if plan is None:
            plan = plans.add(self._plan(items, wanted, given, context, record))
        inner = {**plan.known, **{t: given[t] for t in plan.feeds}}
        self._run_steps(plan, inner, context)
        return [inner[t] if inner.get(t, DEAD) is not DEAD else self._show(t, inner, context) for t in wanted]

    def _plan(self, items: Sequence[Item], wanted: list[Tensor], given: Values, context: RunContext, record: Record) -> Plan:
        """Returns the plan of a part, from the session's cache, which other plans with the same loop share."""
        inside = self._program.known
        used = {t for item in items for t in item.takes} | set(wanted)
        feeds = [t for t in given if t in used and t not in inside]
        known = tuple([(t, content_key(np.asarray(v))) for t, v in inside.items() if t in used])
        key = (decide(NOTHING_KNOWN, record), tuple([item.operations for item in items]), tuple(wanted), tuple(feeds), known)
        shared = context.loop_plans.of(key)
        return shared.find((), (), ()) or shared.add(context.planner.part(items, wanted, feeds, inside, record))

    def _decided(self, part: str, given: Values) -> tuple[Record, Computer]:
        """(record, computer) of a part of the loop: whether its operations are compiled or run in NumPy.

        The record says how many different shapes of loop variables the part had when it first ran with the present ones. Once NumPy has
        been chosen for some shapes, it stays chosen for all further ones.
        """
        condition = self._program.condition
        if condition is None or Finding(Kind.HOST_DRIVES, condition) not in condition._graph.findings:
            return self._steady
        # Only a loop that was found to change shapes gets here. Compiling for each shape of a growing variable would cost more than it saves.
        names = [t for v in self._program.variables for t in self._program.names_inside(v)[:1]]
        shapes = tuple([getattr(given[t], "shape", None) for t in names])
        seen = self._shapes.setdefault(part, {})
        decided = seen.get(shapes) or seen.get(None)
        if decided is None:
            record = Record(shapes=len(seen) + 1)
            decided = record, decide(NOTHING_KNOWN, record).computer
            seen[None if decided[1] is Computer.NUMPY else shapes] = decided
        return decided


class _Noted(NamedTuple):
    """An entry of the tape: the values that an iteration started with, the rows of its random operations, the variables it reads by key."""

    values: Values
    rows: dict[Operation, NDArray]
    state: dict[str, NDArray]


def run_backwards(item: LoopGradientItem, values: dict[Any, Any]) -> None:
    """Runs the gradient of a loop that the host has driven: reverse-mode differentiation over its tape.

    Args:
      item: the gradient. values: those of the run, with the tape; takes the gradients.

    Raises:
      NotImplementedError: this is a second derivative, the loop has external effects inside, or it ran in a branch of its own.
    """
    program = item.loop.program
    if item.second is not None:
        raise NotImplementedError(
            f"Second derivatives of loops that run on the host are not supported: {program.name}. Keep the shapes of its loop variables "
            "constant and its body free of py_func, so that it is compiled, or differentiate once."
        )
    if item.loop not in values:
        raise NotImplementedError(
            f"The gradient of {program.name} needs the values of its iterations, but the loop runs on the host in a branch of a conditional. "
            "Take the gradient inside that branch."
        )
    hidden = next((o for o in program.operations if o.spec.effects.external), None)
    if hidden is not None:
        raise NotImplementedError(
            f"The gradient of {program.name} cannot go through {hidden.name} (op type {hidden.type}), which acts outside of the graph. "
            "Take it out of the loop's body."
        )
    variables = [v for v in program.variables if v.following.dtype.is_floating or v.following.dtype.is_complex]
    captured = [wrt for wrt in item.wrts if wrt.source in values and any(wrt.enters_by(e) for e in program.constants)]
    given = dict(zip((t.op for t in item.exits), (cotangent(values[t]) for t in item.grads)))
    by_enter = {program.entering(e): given[e] for e in program.exits if e in given}
    # `flows` are the cotangents of the loop variables, which each iteration takes back to those before it; `total` adds up the
    # cotangents of captured tensors.
    flows: Sequence[jax.Array | None] = [by_enter.get(v.enter) for v in variables]
    total: dict[Wrt, jax.Array] = {}

    def add(wrt: Wrt, grad: jax.Array | None) -> None:
        if grad is not None:
            total[wrt] = total[wrt] + grad if wrt in total else grad

    for noted in reversed(values[item.loop]):
        flows, summands = _one_back(program, variables, captured, noted, flows)
        for wrt, grad in zip(captured, summands):
            add(wrt, grad)
    # The gradient of a tensor that enters as the initial value of a loop variable is the flow before the first iteration. An invariant
    # that leaves by an Exit node has the gradient of that exit.
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
    """Differentiates one iteration by `jax.vjp` of its trace on the noted values.

    Args:
      variables: the float and complex loop variables. captured: further tensors to differentiate with respect to.
      noted: the iteration. flows: the gradients of `variables` after it; None for zeros.

    Returns:
      the gradients of `variables` before the iteration, and this iteration's summands of those of `captured`.
    """
    inside = [[e.outputs[0] for e in program.constants if wrt.enters_by(e)] for wrt in captured]
    names = [program.names_inside(v) for v in variables] + [n + [a for a, e in program.aliases.items() if e.outputs[0] in n] for n in inside]

    # The iteration is traced eagerly: values that do not depend on a primal are concrete, as shapes and kernels on the host need.
    def run(primals: list[jax.Array]) -> list[jax.Array]:
        frame = Frame({**program.known, **numbers}, dict(noted.state), noted.rows, differentiated=1, changing=changing)
        for group, value, before in zip(names, primals, given):
            frame.values.update(dict.fromkeys(group, refilled(before, value)))
        with collecting():
            for item in (*(program.condition_items if program.shared else ()), *program.body_items):
                lower(item, frame)
        return [primal(v.following, frame) for v in variables]

    numbers = {t: np.asarray(v) if isinstance(v, jax.Array) else v for t, v in noted.values.items()}
    changing = frozenset(map(variable_key, program.changing_reads().values()))
    given = [on_device(next(noted.values[n] for n in group if n in noted.values)) for group in names]
    after, pull = jax.vjp(run, list(map(leaf, given)))
    (cotangents,) = pull([jnp.zeros(a.shape, a.dtype) if g is None else jnp.conj(with_room(g, a)) for a, g in zip(after, flows)])
    grads = [jnp.conj(g) for g in cotangents]
    return grads[: len(variables)], grads[len(variables) :]
