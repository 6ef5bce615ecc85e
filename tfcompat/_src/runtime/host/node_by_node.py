"""Runs the rest of a plan node by node on NumPy arrays, as TensorFlow's executor does. Nothing is traced, so a new shape costs no more.

Loops run iteration by iteration; their gradients are the nodes that tf.gradients made, which pop from stacks what the forward loops pushed.
Such a run changes all variables at its end or none, as a compiled one does (`StagedVariables`).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Hashable, Sequence

from tfcompat._src.base import errors
from tfcompat._src.base.recent import SHAPES, Recent
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.interpreter.float_environment import AsInPrograms
from tfcompat._src.interpreter.limit import OverLimit
from tfcompat._src.interpreter.product_threads import OneThread
from tfcompat._src.ops.flow.array_value import DeviceArray
from tfcompat._src.ops.flow.stack import STACKS
from tfcompat._src.runtime.engines.choice import Computer, Decision, Estimate, Record, Runs, decide
from tfcompat._src.runtime.engines.transaction import depends_on
from tfcompat._src.runtime.host.step import Values, run_host_step, run_naming_step
from tfcompat._src.runtime.ir.item import Item
from tfcompat._src.runtime.ir.plan import Cluster, HostStep, NamingStep, Plan, Step
from tfcompat._src.runtime.lowering.cluster_trace import Shapes
from tfcompat._src.runtime.passes.nodes_of_steps import nodes_of_steps
from tfcompat._src.runtime.passes.pipeline import Planner
from tfcompat._src.runtime.passes.placement import Work
from tfcompat._src.runtime.passes.plan_guards import GuardedCaches
from tfcompat._src.runtime.state.run_context import RunContext, Tally
from tfcompat._src.runtime.state.staged_variables import StagedVariables
from tfcompat._src.runtime.state.variable_state import is_in_host_memory, variable_key

ONE_SHAPE = 3
"""After so many runs with one set of shapes and no other, a plan is traced for it."""


class NodePlanner(Planner):
    """Makes plans that run wholly on the host, also of branches and of the parts of loops."""

    def _partitioned(self, work: Work) -> Plan:
        return super()._partitioned(dataclasses.replace(work, record=Record(Runs.BY_NODE)))


class NodeForm:
    """The rest of a plan as host steps, for inputs of all shapes.

    Args:
      plan: the whole plan. steps: the rest of it. items: the same as items that run node by node, in topological order.

    Attributes:
      needed: the tensors that it takes, as far as the run has given them values.
      spent: the nanoseconds that runs have taken by the shapes of the first cluster's inputs, by the estimate.
    """

    def __init__(self, plan: Plan, steps: Sequence[Step], items: Sequence[Item]) -> None:
        self._steps = steps
        fed = set(plan.feeds)
        made = {t for item in items for t in item.outputs if t not in fed}
        asked = {*plan.fetched, *plan.sizes, *(p for guard in plan.guarded.values() for p, _ in guard)}
        self._items, self._known = items, plan.known
        self._wanted = [t for t in made if t in asked]
        # An operation may run for one of its outputs while another is fed.
        self.needed = dict.fromkeys(t for item in items for t in (*item.takes, *fed.intersection(item.outputs)) if t not in made | plan.known.keys())
        self._size = sum(len(item.operations) for item in items)
        self._has_loops = any(op.type == "LoopCond" for item in items for op in item.operations)
        # A run with other effects than those on variables and random counters cannot be made again.
        self._acts = any(op.spec.effects.external and op.type not in STACKS for item in items for op in item.operations)
        self._abandoned = self._runs = 0
        self._plans: dict[tuple[Tensor, ...], Plan] = {}
        self._loop_plans: GuardedCaches[tuple[Hashable, ...], Plan] = GuardedCaches(4 * SHAPES)
        self.spent: Recent[Shapes, float] = Recent(16 * SHAPES)

    def decided(self, shapes: Shapes) -> Decision:
        """Returns what computes the rest of the plan for inputs of the first cluster of these shapes."""
        work = Estimate(nodes=self._size, loops=self._has_loops)
        decision = decide(work, Record())
        if decision.computer is not Computer.NODES or math.isinf(decision.until):
            return decision
        # Loops that were too long for nodes in two runs are expected to be so for other shapes as well; and a program whose first runs
        # have one shape, to go on with it.
        has_one_shape = self._runs >= ONE_SHAPE and shapes in self.spent and len(self.spent) == 1
        is_traced = self._abandoned > 1 or has_one_shape or self.spent.get(shapes, 0) >= decision.until
        return decide(work, Record(is_traced=True)) if is_traced else decision

    def describe(self) -> list[str]:
        """Returns what runs with each set of shapes do next, and why, for `explain`."""
        return [f"  shapes {shapes}: {self._next(shapes)}" for shapes in self.spent]

    def _next(self, shapes: Shapes) -> str:
        decision = self.decided(shapes)
        if decision.computer is not Computer.NODES:
            return "traced, as it came back"
        if math.isinf(decision.until):
            return "node by node, as TFCOMPAT_ENGINE says"
        left = (decision.until - self.spent[shapes]) / 1e9
        return f"node by node for {left:.3g} s more at most, which pays for tracing ({decision.until / 1e9:.3g} s)"

    def run(self, shapes: Shapes, values: Values, context: RunContext) -> bool:
        """Runs the nodes; `values` takes the results that the plan asks for. Returns False if it was given up, as loops took too long.

        Raises:
          errors.OpError: a node failed. No variable has changed then.
        """
        decision = self.decided(shapes)
        left = decision.until - self.spent.get(shapes, 0)
        variables, tally = StagedVariables(context.variable_state), Tally(limit=math.inf if self._acts else left / decision.each)
        planner = NodePlanner(context.placer)
        inner_context = dataclasses.replace(context, variable_state=variables, planner=planner, loop_plans=self._loop_plans, tally=tally)
        before = context.random_state.positions()
        plan = self._plan_for(values, planner)
        inner: Values = {**plan.known, **{t: values[t] for t in plan.feeds}}
        try:
            with OneThread(), AsInPrograms():
                _run_steps(plan, inner, inner_context)
            variables.commit()
        except OverLimit:
            self._abandoned += 1
            context.random_state.rewind(list(context.random_state.positions()), before)
            return False
        except errors.OpError as e:
            e.drew_from = {op.name: moved for op, moved in before.items()}
            variables.commit(self._written_before(e.op))
            _draw_after(e, plan, inner, inner_context)
            raise
        finally:
            variables.close()
            self._runs += 1
            self.spent[shapes] = self.spent.get(shapes, 0) + tally.nodes * decision.each
        values.update({t: inner[t] for t in self._wanted if t in inner})
        return True

    def _written_before(self, failed: object) -> set[str]:
        """Returns the keys of the variables that only steps before that of a failed operation write: compiled, these would have ended."""
        written = [{variable_key(v) for item in step.items for v in item.writes} for step in self._steps]
        at = next((i for i, step in enumerate(self._steps) if any(failed in item.operations for item in step.items)), 0)
        return set().union(*written[:at]).difference(*written[at:])

    def _plan_for(self, values: Values, planner: Planner) -> Plan:
        """Returns the plan for runs in which these tensors have values: a branch that was not taken has none."""
        feeds = tuple([t for t in self.needed if t in values])
        plan = self._plans.get(feeds)
        if plan is None:
            plan = self._plans[feeds] = planner.part(self._items, self._wanted, feeds, self._known)
        return plan


def is_considered(plan: Plan) -> bool:
    """Whether steps of a plan may run node by node, as far as that is quickly said."""
    loops = any(cluster.has_loops for cluster in plan.clusters)
    return decide(Estimate(nodes=1, loops=loops), Record()).computer is Computer.NODES


def form_of(plan: Plan, steps: Sequence[Step], values: Values) -> NodeForm | None:
    """Returns how the steps of a plan that have not run can run node by node, or None if they cannot.

    Args:
      steps: these steps, in order; the first is a cluster. values: of the tensors so far.
    """
    key = tuple(map(id, steps))
    if key not in plan.node_forms:
        plan.node_forms[key] = _form_of(plan, steps)
    form = plan.node_forms[key]
    # What compiled calls have made of a TensorArray is one buffer, which nodes do not take.
    return None if form is None or any(isinstance(values.get(t), DeviceArray) for t in form.needed) else form


def _form_of(plan: Plan, steps: Sequence[Step]) -> NodeForm | None:
    """Returns the form of the rest of a plan, or None."""
    for step in steps:
        if isinstance(step, Cluster):
            if step.watched or step.assumed or not is_in_host_memory(step.place):
                return None
        # A run holds the lock of the variables from its first write on: nothing after it may wait for another thread.
        elif step.waits or step.calls or any(op.spec.facts.forgets for item in step.items for op in item.operations):
            return None
    items = nodes_of_steps(steps, plan)
    return None if items is None else NodeForm(plan, steps, items)


def _run_steps(plan: Plan, values: Values, context: RunContext) -> None:
    """Runs the steps of a plan, which are all on the host."""
    for step in plan.steps:
        _run_step(step, plan, values, context)


def _run_step(step: Step, plan: Plan, values: Values, context: RunContext) -> None:
    if isinstance(step, NamingStep):
        run_naming_step(step, plan.known, values, context, _run_steps)
    elif isinstance(step, HostStep):
        run_host_step(step, plan.known, values, context, _run_steps)


def _draw_after(error: errors.OpError, plan: Plan, values: Values, context: RunContext) -> None:
    """Runs what a failed run has not reached and does not depend on the failed operation, as far as random operations need it.

    They draw in TensorFlow too, where all that is ready runs at once.
    """
    if not any(item.effects.random for step in plan.steps for item in step.items):
        return
    failed = [error.op]
    for item in (item for step in plan.steps for item in step.items):
        if any(t not in values for t in item.outputs) and not item.effects.external and not any(depends_on(op, f) for op in item.operations for f in failed):
            try:
                _run_step(HostStep([item]), plan, values, context)
            except errors.OpError as e:
                failed.append(e.op)
