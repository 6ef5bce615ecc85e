"""`tensorflow.python.framework.op_def_registry`: the OpDef message of every op type that tfcompat has."""

from __future__ import annotations

from typing import Any

from tfcompat._src.graph import op_spec
from tfcompat._src.graph.attr_values import op_def
from tfcompat._src.proto import messages


def get_registered_ops() -> dict[str, messages.OpDef]:
    """Names of op types to their OpDefs."""
    op_spec.find("")  # no op type has this name, so that all that are imported late are looked through
    return {spec.name: op_def(spec) for spec in sorted(op_spec.registered(), key=lambda spec: spec.name)}


def register_op_list(op_list: Any) -> None:
    """Takes OpDefs of op types that are known.

    Raises:
      ValueError: one of them is unknown, or known with another definition.
    """
    known = get_registered_ops()
    for definition in op_list.op:
        if definition.name not in known:
            raise ValueError(f"tfcompat has no op type {definition.name!r}: a kernel cannot be registered by an OpDef alone.")
        if definition != known[definition.name]:
            raise ValueError(f"The OpDef of {definition.name!r} differs from the one that is registered.")
