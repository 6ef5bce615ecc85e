"""When the nodes of a step over several tasks can run: their stages.

The stage of a node is a number such that whatever the node needs has the same stage or a lower one, and a lower one where it comes from
another task. A task computes and sends, stage by stage, what is needed elsewhere, and each stage is a run of the runtime. `stages` first
gives every node the lowest stage that it can have: how many times, at most, what it needs crosses tasks. Then it takes out stages in
which a task would send only what is not needed before a later stage of that task (as late as possible, in the terms of scheduling): a
few small tensors are then computed and sent with that stage's, which saves a run and a message and delays nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from graphlib import TopologicalSorter
from typing import TypeAlias

Node: TypeAlias = tuple[str, str]
"""A task and the name of a node there."""

MOST_BYTES = 1 << 20
"""A stage that sends more is not put off: 1 MB takes about as long on its way (0.5 ms) as a run that is saved."""


def stages(
    sources: Mapping[Node, set[Node]], sent_by: Mapping[Node, Node], bytes_of: Callable[[Node], int | None], acts: Collection[Node]
) -> dict[Node, int]:
    """The stage of each node.

    Args:
      sources: what each node needs: what it takes and waits for and, of a node that receives, the one that sends.
      sent_by: the node that sends, for each node that receives.
      bytes_of: the bytes that a node sends, None where that is not known.
      acts: the nodes with effects that others may wait for, as putting an element into a queue; they are not put off.
    """
    order = list(TopologicalSorter(sources).static_order())
    found = _lowest(order, sources, sent_by, {})
    highest = _highest(order, sources, sent_by, found, {*sent_by.values(), *acts})
    return _lowest(order, sources, sent_by, _put_off(sent_by, found, highest, bytes_of))


def _lowest(order: list[Node], sources: Mapping[Node, set[Node]], sent_by: Mapping[Node, Node], at_least: Mapping[Node, int]) -> dict[Node, int]:
    """The lowest stages, where some nodes have one at least."""
    found: dict[Node, int] = {}
    for node in order:
        after = [found[source] + (sent_by.get(node) == source) for source in sources[node]]
        found[node] = max([*after, at_least.get(node, 0)])
    return found


def _highest(
    order: list[Node], sources: Mapping[Node, set[Node]], sent_by: Mapping[Node, Node], found: Mapping[Node, int], fixed: Collection[Node]
) -> dict[Node, int]:
    """The highest stage that each node could have alone, while the fixed ones keep theirs and no task waits longer for the last that it receives."""
    last: dict[str, int] = {}
    for receive in sent_by:
        last[receive[0]] = max(found[receive], last.get(receive[0], 0))
    highest: dict[Node, int] = {}
    for node in reversed(order):
        bound = highest.setdefault(node, max(found[node], last.get(node[0], 0)))
        needed_at = found[node] if node in fixed else bound
        for source in sources[node]:
            allowed = needed_at - (sent_by.get(node) == source)
            highest[source] = min(highest.get(source, allowed), allowed)
    return highest


def _put_off(
    sent_by: Mapping[Node, Node], found: Mapping[Node, int], highest: Mapping[Node, int], bytes_of: Callable[[Node], int | None]
) -> dict[Node, int]:
    """The stages that nodes which send are moved to: all those of a task and stage, or none, to the next stage that stays."""
    sending: dict[str, dict[int, list[Node]]] = {}
    for send in dict.fromkeys(sent_by.values()):
        sending.setdefault(send[0], {}).setdefault(found[send], []).append(send)
    moved: dict[Node, int] = {}
    for by_stage in sending.values():
        later, *earlier = sorted(by_stage, reverse=True)
        for stage in earlier:
            sizes = [bytes_of(send) for send in by_stage[stage]]
            known = [size for size in sizes if size is not None]
            if len(known) == len(sizes) and sum(known) <= MOST_BYTES and all(highest[send] >= later for send in by_stage[stage]):
                moved.update(dict.fromkeys(by_stage[stage], later))
            else:
                later = stage
    return moved
