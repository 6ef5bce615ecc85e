"""Makes all plans: for a run of a graph, for a function that a dataset calls, for a branch or a part of a loop that the host drives, and for the
rest of a run that continues with another plan.

The stages, in order: prune (unneeded operations), derivatives (loops that are gradients of loops), place (devices), fold (constants), structure
(operations become items), towers (data parallelism), placement (host or compiled), partition (steps). Tests verify the result of each stage.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.findings import Finding
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.ordering import topological
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.flow.array_order import require_order
from tfcompat._src.runtime.devices.placer import Placer
from tfcompat._src.runtime.engines.choice import NO_RECORD, Record, Runs
from tfcompat._src.runtime.ir.item import Item, OpItem
from tfcompat._src.runtime.ir.plan import Plan, Step
from tfcompat._src.runtime.passes import structure, verify
from tfcompat._src.runtime.passes.derivatives import noted_in, with_derivatives
from tfcompat._src.runtime.passes.fold import fold
from tfcompat._src.runtime.passes.partition import Partitioner
from tfcompat._src.runtime.passes.placement import Placement, Work
from tfcompat._src.runtime.passes.plan_guards import Facts
from tfcompat._src.runtime.passes.prune import prune
from tfcompat._src.runtime.passes.towers import TowersItem, with_towers
from tfcompat._src.runtime.state.variable_state import check_fed_refs


@dataclass(frozen=True)
class Request:
    """The request for a plan.

    Attributes:
      fetched: the wanted tensors. targets: the operations that must run. fed: the tensors whose values are given.
      facts: what planning may ask about the run; the answers are guards of the plan.
      assumed: guessed sizes, which the run checks.
      given: values of fed tensors that are the same in every run of the plan.
      ran: operations that earlier calls of the same partial run have executed.
      runs: how often the plan will run.
    """

    fetched: Sequence[Tensor]
    targets: Sequence[Operation]
    fed: Sequence[Tensor]
    facts: Facts
    assumed: Mapping[Tensor, NDArray] | None = None
    given: Mapping[Tensor, NDArray] | None = None
    ran: Collection[Operation] = ()
    runs: Runs = Runs.AGAIN


class Planner:
    """Makes the plans of a session, on its devices."""

    def __init__(self, placer: Placer) -> None:
        self.placer = placer

    def plan(self, graph: Graph, request: Request) -> Plan:
        """Returns the plan of a run; `graph` is that of the operations.

        Raises:
          errors.InvalidArgumentError: a device does not exist, a fed ref is written, or a TensorArray is used in a wrong order.
        """
        work, structured = self.work(graph, request)
        items = with_towers(work.items, request.fetched, request.fed, dict(work.known), self.placer, graph.findings)
        plan = self._partitioned(replace(work, items=items))
        plan.guarded, plan.dead = structured.guarded, structured.dead
        return plan

    def work(self, graph: Graph, request: Request) -> tuple[Work, structure.Structure]:
        """Runs the stages before placement; returns their result, and that of the stage structure, which says what fetched tensors may be dead.

        Arguments and errors are as for `plan`.
        """
        fed = set(request.fed)
        # Nodes first: prune, loop derivatives, device placement.
        ops = prune(request.fetched, request.targets, fed, request.ran)
        ops, derivatives = with_derivatives(ops, request.fetched, request.targets, fed, noted_in(graph, ops))
        check_fed_refs(ops, request.fed)
        self.placer.place(graph, ops)
        # Whether a variable is initialized is a constant of the plan, as are guessed sizes and values that never change.
        status = {t: np.array(request.facts.has_value(key)) for t, key in structure.asked_status(ops, fed)}
        known = fold(ops, fed, {**status, **(request.assumed or {}), **(request.given or {})})
        structured = structure.structure(ops, list(request.fetched), fed, request.facts, known, derivatives)
        require_order(structured.items, [item.op for item in structured.items if isinstance(item, OpItem)], structured.known)
        wanted = [*request.fetched, *structured.predicates]
        work = Work(
            structured.items, wanted, request.fed, structured.known, request.facts, request.assumed or {}, graph.findings, Record(request.runs)
        )
        return work, structured

    def part(
        self, items: Sequence[Item], wanted: Sequence[Tensor], feeds: Sequence[Tensor], known: Mapping[Tensor, NDArray], record: Record = NO_RECORD,
        dead: Collection[Tensor] = (),
    ) -> Plan:  # fmt: skip
        """Returns a plan for items of an earlier plan: a branch, or the condition or body of a loop.

        Args:
          items: in topological order. wanted: the tensors to compute. feeds: the tensors whose values are given. known: constants.
          record: how often the items run, and with how many shapes.
          dead: the tensors without a value, as they are in a branch that was not taken.
        """
        return self._partitioned(Work(items, wanted, feeds, known, Facts({}, ()), findings=_findings(items), record=record, dead=dead))

    def rest(self, plan: Plan, steps: Sequence[Step], values: Mapping[Tensor, Any]) -> Plan:
        """Returns a plan for some steps of another plan, whose other steps have run and left `values`."""
        items = list(dict.fromkeys(item for step in steps for item in step.items))
        # Towers are expanded to their operations: that their shapes differ may be why the run needs another plan.
        if any(isinstance(item, TowersItem) for item in items):
            items = [part for item in items for part in (item.parts if isinstance(item, TowersItem) else (item,))]
            items = topological(items, owner={op: item for item in items for op in item.stands_for})
        # Values that the finished steps left are the feeds of the rest.
        made = {t for item in items for t in item.outputs}.difference(plan.feeds)
        used = dict.fromkeys([*(t for item in items for t in item.takes), *plan.fetched])
        feeds = [t for t in used if t in values and t not in made and t not in plan.known]
        rest = self.part(items, plan.fetched, feeds, plan.known)
        rest.is_rest = True
        return rest

    def _partitioned(self, work: Work) -> Plan:
        return self.placed(Placement(work, self.placer))

    def placed(self, placement: Placement) -> Plan:
        """Runs the last stage: returns the plan of items that are placed on host or device."""
        if not verify.Switch.is_on:
            return self._guarded(placement)
        # In tests: the checks of all stages.
        verify.structure(placement.work.items, placement.fed, placement.known)
        verify.placement(placement)
        plan = self._guarded(placement)
        verify.plan(plan, placement.items)
        return plan

    @staticmethod
    def _guarded(placement: Placement) -> Plan:
        """Runs the partitioner; every fact that any stage has asked for is a guard of the plan."""
        plan = Partitioner(placement).plan()
        plan.guards = tuple(placement.work.facts.guards)
        return plan


def _findings(items: Sequence[Item]) -> set[Finding]:
    """Returns the findings of runs about the graph of items."""
    return next((item.operations[0]._graph.findings for item in items if item.operations), set())
