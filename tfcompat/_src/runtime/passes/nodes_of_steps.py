"""The items of the rest of a plan without derivatives of loops: backward loops as the nodes that tf.gradients made, with the stacks between the loops.

A plan replaces a backward loop by the vjp of the forward loop (`derivatives.py`), which JAX has to trace. What runs node by node needs the nodes.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Sequence

from tfcompat._src.base import errors
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.ordering import topological
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.flow.stack import STACK
from tfcompat._src.runtime.ir.item import Item
from tfcompat._src.runtime.ir.loop_item import GRADIENTS, LoopGradientItem, LoopItem, opened
from tfcompat._src.runtime.ir.plan import Plan, Step
from tfcompat._src.runtime.passes.plan_guards import Facts
from tfcompat._src.runtime.passes.structure import structure
from tfcompat._src.runtime.passes.towers import TowersItem


def nodes_of_steps(steps: Sequence[Step], plan: Plan) -> list[Item] | None:
    """Returns the items that run the last steps of a plan node by node, in topological order, or None where some of it has no nodes."""
    before = list(dict.fromkeys(item for step in steps for item in step.items))
    if any(isinstance(item, TowersItem) for item in before):
        return None
    gradients = [item for item in before if isinstance(item, LoopGradientItem)]
    if any(_has_no_nodes(g) for g in gradients) or any(_holds_gradients(item) for item in before):
        return None
    if not gradients:
        return before
    replaced = {*gradients, *(g.loop for g in gradients)}
    others = [item for item in before if item not in replaced]
    if not replaced.issubset(before):
        return None
    made = {t for item in before for t in item.outputs}.difference(plan.feeds)
    entering = {t for item in others for t in item.takes if t not in made}
    entering.update(t for item in replaced for t in item.takes if t not in made)
    given = {*entering, *(t for item in others for t in item.outputs)}
    members = {op for item in replaced for op in item.stands_for}
    # Constants are walked to all the same, as their control edges say in which loop they are.
    known = dict(plan.known)
    outside = {t for t in known if t.op.takes and t.op not in members}
    used = {*plan.fetched, *(t for item in others for t in item.takes)}
    wanted = [t for item in replaced for t in item.outputs if t in used]
    ops = _needed(wanted, members, given | outside)
    if ops is None:
        return None
    items = structure(topological(ops, given | outside), wanted, given, Facts({}, ()), known).items
    every = [*others, *items]
    # The branches of a conditional before and behind a backward loop may be one item, which then needs the loop that needs it.
    try:
        return topological(every, owner={op: item for item in every for op in item.stands_for})
    except errors.InvalidArgumentError:
        return None


def _has_no_nodes(gradient: LoopGradientItem) -> bool:
    """Whether a loop's gradient is that of a loop of functions, which has no backward loop."""
    return gradient.second is not None or any(op.type in GRADIENTS for op in gradient.stands_for)


def _holds_gradients(item: Item) -> bool:
    """Whether a conditional or loop holds the gradient of a loop."""
    return any(inner is not item and isinstance(inner, LoopGradientItem) for inner in _within(item))


def _within(item: Item) -> Iterator[Item]:
    """Yields an item and all items inside of it."""
    for inner in opened(item):
        yield inner
        if isinstance(inner, LoopItem):
            for part in (*inner.program.condition_items, *inner.program.body_items):
                yield from _within(part)


def _needed(wanted: Iterable[Tensor], members: Collection[Operation], given: Container[Tensor]) -> set[Operation] | None:
    """Returns the operations that compute tensors: members of loops, and what only backward loops use (stacks, first values of sums).

    None where an operation outside of the loops has an effect that is not the making of a stack.
    """
    needed: set[Operation] = set()
    pending = [t.op for t in wanted]
    while pending:
        op = pending.pop()
        if op in needed or op.spec.facts.names_variable:
            continue
        needed.add(op)
        if op not in members and op.spec.effects.is_stateful and op.type != STACK:
            return None
        pending += [t.op for t in op.takes if t not in given]
        # Other operations that a control edge leads to are those of other steps, or of other items.
        pending += [c for c in op.waits_for if c in members or c.type == STACK]
    return needed
