"""Findings: facts about a graph that only a run can discover; they are kept with the graph, and later plans use them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any


class Kind(Enum):
    """The kinds of findings; the value of each tells its reason and its consequence."""

    HOST_DRIVES = "a variable of the loop with this condition changes its shape, or its body cannot be computed: the host drives the loop"
    HOST_CHOOSES = "the branches on this predicate cannot be in one program: the host runs the one that is chosen"
    TOWERS_DIFFER = "values differ in shape between towers: each tower is a program of its own"


@dataclass(frozen=True)
class Finding:
    """A finding of a kind `about` an operation, a tensor, or (None) the whole graph."""

    kind: Kind
    about: Any = None
