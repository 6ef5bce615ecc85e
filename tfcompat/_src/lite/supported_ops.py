"""Which op types can be converted."""

from __future__ import annotations

from typing import NamedTuple

from tfcompat._src.base.export import export
from tfcompat._src.lite import convert_graph  # noqa: F401  it imports all rules
from tfcompat._src.lite.lowering import RULES
from tfcompat._src.lite.op_table import DROPPED, FORWARDS, TABLE


class SupportedOp(NamedTuple):
    """An op type by its name."""

    op: str


@export("lite.experimental.get_potentially_supported_ops")
def get_potentially_supported_ops() -> list[SupportedOp]:
    """The op types that a graph may have that is to be converted, in alphabetical order."""
    return [SupportedOp(name) for name in sorted({*TABLE, *RULES, *FORWARDS, *DROPPED})]
