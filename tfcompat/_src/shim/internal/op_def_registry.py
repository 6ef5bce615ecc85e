"""`tensorflow.python.framework.op_def_registry`: the OpDef messages of all op types of tfcompat."""

from __future__ import annotations

from typing import Any

from tfcompat._src.graph import op_spec
from tfcompat._src.graph.attr_values import op_def
from tfcompat._src.proto import messages

_DEFINITIONS: dict[str, messages.OpDef] = {}


def get_registered_ops() -> dict[str, messages.OpDef]:
    """Returns the OpDefs by op type name: the same dict in each call, as in 1.15, with those that were registered in between."""
    # The look-up of a name that no op type has imports all modules that register op types.
    op_spec.find("")
    for spec in sorted((spec for spec in op_spec.registered() if spec.name not in _DEFINITIONS), key=lambda spec: spec.name):
        _DEFINITIONS[spec.name] = op_def(spec)
    return _DEFINITIONS


def register_op_list(op_list: Any) -> None:
    """Accepts OpDefs that equal those of tfcompat's op types, and changes nothing.

    Raises:
      ValueError: an op type is unknown, or its OpDef differs.
    """
    known = get_registered_ops()
    for definition in op_list.op:
        if definition.name not in known:
            raise ValueError(f"tfcompat has no op type {definition.name!r}, and an OpDef cannot add one, since it has no kernel.")
        if definition != known[definition.name]:
            raise ValueError(f"The OpDef of {definition.name!r} differs from the one that is registered.")
