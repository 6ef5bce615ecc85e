"""Parts of a graph that fit a pattern of op types, and what takes their place."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tfcompat._src.platform import logging
from tfcompat._src.saved_model.graph_transforms.context import copied, invalid, is_control, node_of

MERGES = ("Merge", "RefMerge", "_XlaMerge")


@dataclass(frozen=True)
class Pattern:
    """Op types that a node may have (none: any), and patterns of its data inputs (none: any)."""

    types: tuple[str, ...] = ()
    inputs: tuple[Pattern, ...] = ()


@dataclass
class Match:
    """A node that fits a pattern, with those that fit the patterns of its inputs."""

    node: Any
    inputs: list[Match]

    def nodes(self) -> list[Any]:
        """All nodes, each once, nearest first."""
        found: dict[str, Any] = {}
        level = [self]
        while level:
            fresh = [match for match in level if match.node.name not in found]
            for match in fresh:
                found.setdefault(match.node.name, match.node)
            level = [below for match in fresh for below in match.inputs]
        return list(found.values())


def in_order(nodes: Iterable[Any]) -> list[Any]:
    """Nodes after those that they take from, the last that became ready first.

    Raises:
      InvalidArgumentError: A node takes from one that is not there, or nodes take from each other.
    """
    nodes = list(nodes)
    place = {node.name: number for number, node in enumerate(nodes)}
    missing = _missing_input(nodes)
    if missing:
        raise invalid("Node {!r} takes the input {!r}, but the graph has no such node.".format(*missing))
    pending, consumers = [_awaited(node) for node in nodes], defaultdict(list)
    for number, node in enumerate(nodes):
        for name in node.input:
            consumers[place[node_of(name)]].append(number)
    ready, done = [number for number, node in enumerate(nodes) if not node.input], []
    while ready:
        number = ready.pop()
        done.append(nodes[number])
        for consumer in consumers[number]:
            pending[consumer] -= 1
            if not pending[consumer]:
                ready.append(consumer)
    if len(done) < len(nodes):
        raise invalid(f"{len(nodes) - len(done)} nodes of the graph stand in a cycle, or behind one.")
    return done


def _missing_input(nodes: list[Any]) -> tuple[str, str] | None:
    """The first node with an input that is not there, and that input."""
    names = {node.name for node in nodes}
    return next(((node.name, name) for node in nodes for name in node.input if node_of(name) not in names), None)


def _awaited(node: Any) -> int:
    """How many inputs have to be there before a node can run; a Merge needs one of its data inputs."""
    return 1 + sum(map(is_control, node.input)) if node.op in MERGES else len(node.input)


def matches(nodes: list[Any], pattern: Pattern) -> list[Match]:
    """The parts of a graph that fit a pattern and share no nodes; none where inputs are missing, as earlier replacements may leave it."""
    by_name, taken, found = {node.name: node for node in nodes}, set(), []

    def fit(node: Any, pattern: Pattern) -> Match | None:
        if node.name in taken or (pattern.types and node.op not in pattern.types):
            return None
        data = [name for name in node.input if name and not is_control(name)]
        if not pattern.inputs:
            return Match(node, [])
        if len(data) != len(pattern.inputs):
            return None
        below = [fit(by_name[node_of(name)], each) for name, each in zip(data, pattern.inputs, strict=True)]
        return None if None in below else Match(node, [each for each in below if each])

    if _missing_input(nodes):
        return []
    for node in in_order(nodes):
        match = fit(node, pattern)
        if match:
            taken.update(each.name for each in match.nodes())
            found.append(match)
    return found


def replaced(nodes: Iterable[Any], pattern: Pattern, make: Callable[[Match, set[str]], list[Any] | None], may_lose: bool = False) -> list[Any]:
    """The nodes with others in place of those that fit a pattern.

    Args:
      nodes: NodeDefs.
      pattern: what is replaced.
      make: gives the nodes that come where the head of a match stands, of the match and the names of those of its nodes that others take
        from; None where the match stays.
      may_lose: whether nodes that others take from may go; otherwise such a match stays.
    """
    nodes = list(nodes)
    heads = {match.node.name: match for match in matches(nodes, pattern)}
    inner = {node.name for match in heads.values() for node in match.nodes()}
    takers = defaultdict(set)
    for node in nodes:
        for name in node.input:
            takers[node_of(name)].add(node.name)
    result = []
    for node in nodes:
        if node.name in heads:
            match = heads[node.name]
            old = match.nodes()
            names = {each.name for each in old}
            used = {name for name in names if takers[name] - names}
            new = make(match, used)
            if new is None or (not may_lose and not used <= {each.name for each in new}):
                if new is not None:
                    logging.warning("%s stays: other nodes take from %s.", node.name, sorted(used))
                new = old
            result += new
        elif node.name not in inner:
            result.append(node)
    return result


def renamed_inputs(nodes: Iterable[Any], rename: Callable[[str], str | None]) -> list[Any]:
    """Copies of nodes whose inputs have the names that `rename` gives, until it gives None for them.

    Raises:
      InvalidArgumentError: the names lead back to where they came from.
    """

    def new_name(name: str) -> str:
        seen = set()
        while (other := rename(name)) is not None:
            if node_of(name) in seen:
                raise invalid(f"The node {node_of(name)} would be renamed to itself.")
            seen.add(node_of(name))
            name = other
        return name

    result = []
    for node in nodes:
        made = copied(node)
        made.input[:] = [new_name(name) for name in node.input]
        result.append(made)
    return result
