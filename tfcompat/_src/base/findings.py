"""What runs have found out about a graph, kept with it, that plans made from then on must heed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any


class Kind(Enum):
    """What can be found out."""

    HOST_DRIVES = "a variable of the loop with this condition changes its shape, or its body cannot be computed: the host drives the loop"
    HOST_CHOOSES = "the branches on this predicate cannot be in one program: the host runs the one that is chosen"
    TOWERS_DIFFER = "values differ in shape between towers: each tower is a program of its own"


@dataclass(frozen=True)
class Finding:
    """One thing found out, `about` an operation, a tensor, or (None) the whole graph."""

    kind: Kind
    about: Any = None
