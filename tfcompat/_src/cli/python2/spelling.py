"""Names that a rewritten program calls, which no program has."""

from __future__ import annotations

import ast


def _own(word: str) -> str:
    return f"__{word}_by_tfcompat__"


PRINT, PRINTED, RAISED, CAUGHT, CLASS = _own("print"), _own("printed"), _own("raised"), _own("caught"), _own("class")
DIVIDED, DIVIDED_IN_PLACE, FORMATTED = _own("divided"), _own("divided_in_place"), _own("formatted")
ATTRIBUTE, LISTED, CALLED, EQUAL = _own("attribute"), _own("listed"), _own("called"), _own("equal")
LESS, LESS_EQUAL, GREATER, GREATER_EQUAL = _own("less"), _own("less_equal"), _own("greater"), _own("greater_equal")
OWNER, PLACE = _own("owner"), _own("place")
ITEM, WHOLE, INDEXED, SLICE = _own("item"), _own("whole"), _own("indexed"), _own("slice")
_UNPACKED = "__unpacked_by_tfcompat_"


def unpacked(pattern: str) -> str:
    """The name of a parameter that is to be unpacked by a pattern such as "(a, b)"."""
    return _UNPACKED + pattern.encode().hex() + "__"


def pattern_of(name: str | None) -> ast.expr | None:
    """The target to which a parameter of such a name is assigned, or None for another name."""
    if not name or not name.startswith(_UNPACKED):
        return None
    pattern = bytes.fromhex(name[len(_UNPACKED) : -2]).decode()
    return ast.parse(f"{pattern} = None").body[0].targets[0]  # type: ignore[attr-defined]
