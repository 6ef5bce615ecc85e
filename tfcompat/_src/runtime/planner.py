"""The one place where plans are made: for a run of a graph, for a function that a dataset calls, for a branch or a part of a loop that
the host drives, and for what is left of a run that must go on by another plan.

The stages, in order: prune, derivatives (which loops go back over others), place, fold, structure (operations become items), towers, placement (host or compiled), partition
(steps). In tests each stage's result is verified.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tfcompat._src.base import run_limits
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.findings import Finding
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.ordering import BACK_EDGE, topological
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.control.guards import Guard
from tfcompat._src.ops.flow.array_order import require_order
from tfcompat._src.runtime import structure, verify
from tfcompat._src.runtime.derivatives import noted_in, with_derivatives
from tfcompat._src.runtime.engines.choice import NO_RECORD, Record, Runs
from tfcompat._src.runtime.fold import fold
from tfcompat._src.runtime.item import Item, OpItem, as_items
from tfcompat._src.runtime.partition import Partitioner
from tfcompat._src.runtime.place import Placer
from tfcompat._src.runtime.placement import Placement, Work
from tfcompat._src.runtime.plan import Plan, Step
from tfcompat._src.runtime.prune import prune
from tfcompat._src.runtime.towers import TowersItem, with_towers
from tfcompat._src.runtime.variable_state import check_fed_refs


@dataclass(frozen=True)
class Request:
    """What a plan is asked for.

    Attributes:
      fetched: the tensors that are wanted. targets: the operations that must run. fed: the tensors that are given.
      deciding: values of fed tensors that may decide branches; the plan is for these.
      assumed: sizes that are taken for granted, and checked by the run.
      given: values of fed tensors that are the same in every run of the plan.
      ran: operations that have run, in calls before of the same computation.
      runs: how often the plan is to run.
    """

    fetched: Sequence[Tensor]
    targets: Sequence[Operation]
    fed: Sequence[Tensor]
    deciding: Mapping[Tensor, Any]
    assumed: Mapping[Tensor, NDArray] | None = None
    given: Mapping[Tensor, NDArray] | None = None
    ran: Collection[Operation] = ()
    runs: Runs = Runs.AGAIN


def depends_on(fetched: Sequence[Tensor], targets: Sequence[Operation], fed: Sequence[Tensor]) -> tuple[set[Tensor], list[str], bool]:
    """What a plan depends on, besides feed shapes: the fed tensors that decide branches, the keys of variables of which the graph
    asks whether they have a value, and whether there are loops, which must heed a time limit.
    """
    ops = prune(fetched, targets, fed)
    asked = [key for _, key in structure.asked_status(ops, set(fed))]
    return set(structure.predicate_feeds(ops, set(fed))), asked, any(op.type in BACK_EDGE for op in ops)


class Planner:
    """Makes the plans of a session, on its devices."""

    def __init__(self, placer: Placer) -> None:
        self.placer = placer

    def plan(self, graph: Graph, request: Request, variables: Collection[str]) -> Plan:
        """The plan of a run.

        Args:
          graph: that the operations belong to. variables: the keys of the variables that have a value.

        Raises:
          errors.InvalidArgumentError: a device does not exist, a fed ref is written, a TensorArray is used in a wrong order.
        """
        work, guarded = self.work(graph, request, variables)
        items = with_towers(work.items, request.fetched, request.fed, dict(work.known), self.placer, graph.findings)
        plan = self._partitioned(replace(work, items=items))
        plan.guarded = guarded
        return plan

    def work(self, graph: Graph, request: Request, variables: Collection[str]) -> tuple[Work, dict[Tensor, Guard]]:
        """The items of a run, not yet placed, and the fetched tensors that have a value in some branches only. Arguments are as for `plan`."""
        fed = set(request.fed)
        ops = prune(request.fetched, request.targets, fed, request.ran)
        ops, derivatives = with_derivatives(ops, request.fetched, request.targets, fed, noted_in(graph, ops))
        check_fed_refs(ops, request.fed)
        self.placer.place(graph, ops)
        status = {t: np.array(key in variables) for t, key in structure.asked_status(ops, fed)}
        known = fold(ops, fed, {**status, **(request.assumed or {}), **(request.given or {})})
        found = structure.structure(ops, list(request.fetched), fed, request.deciding, known, derivatives)
        require_order(found.items, [item.op for item in found.items if isinstance(item, OpItem)], found.known)
        wanted = [*request.fetched, *found.predicates]
        work = Work(
            found.items, wanted, request.fed, found.known, request.assumed or {}, graph.findings, Record(request.runs),
            limited=run_limits.seconds_left() is not None,
        )  # fmt: skip
        return work, found.guarded

    def part(
        self, items: Sequence[Item], wanted: Sequence[Tensor], feeds: Sequence[Tensor], known: Mapping[Tensor, NDArray], record: Record = NO_RECORD,
        dead: Collection[Tensor] = (),
    ) -> Plan:  # fmt: skip
        """A plan for items that an earlier one has made: a branch, or the condition or body of a loop.

        Args:
          items: sources first. wanted: what must come out. feeds: what comes in. known: what has a value before.
          record: how often they run, and in how many shapes.
          dead: what has no value, because it stands in a branch that was not taken.
        """
        limited = run_limits.seconds_left() is not None
        return self._partitioned(Work(items, wanted, feeds, known, findings=_findings(items), record=record, limited=limited, dead=dead))

    def rest(self, plan: Plan, steps: Sequence[Step], values: Mapping[Tensor, Any]) -> Plan:
        """A plan for some steps of another one, when the others have run and left `values`."""
        items = list(dict.fromkeys(item for step in steps for item in step.items))
        if any(isinstance(item, TowersItem) for item in items):
            nodes = [node for item in items for node in (item.stands_for if isinstance(item, TowersItem) else (item,))]
            owner = {op: item for item in items if not isinstance(item, TowersItem) for op in item.stands_for}
            items = list(as_items(topological(nodes, owner=owner), ()))
        made = {t for item in items for t in item.outputs}
        used = dict.fromkeys([*(t for item in items for t in item.takes), *plan.fetched])
        feeds = [t for t in used if t in values and t not in made and t not in plan.known]
        rest = self.part(items, plan.fetched, feeds, plan.known)
        rest.is_rest = True
        return rest

    def _partitioned(self, work: Work) -> Plan:
        return self.placed(Placement(work, self.placer))

    def placed(self, placement: Placement) -> Plan:
        """The plan of items that have their places."""
        if not verify.Switch.is_on:
            return Partitioner(placement).plan()
        verify.structure(placement.work.items, placement.fed, placement.known)
        verify.placement(placement)
        plan = Partitioner(placement).plan()
        verify.plan(plan, placement.items)
        return plan


def _findings(items: Sequence[Item]) -> set[Finding]:
    """What runs have found out about the graph of some items."""
    return next((item.operations[0]._graph.findings for item in items if item.operations), set())
