"""Variables in collections as VariableDef messages."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.base.registry import register_proto_function
from tfcompat._src.proto import messages
from tfcompat._src.variables.variable import Variable


def _to_message(variable: Any, export_scope: str | None = None) -> Any:
    return variable.to_proto(export_scope=export_scope)


for _key in (
    GraphKeys.GLOBAL_VARIABLES, GraphKeys.TRAINABLE_VARIABLES, GraphKeys.MOVING_AVERAGE_VARIABLES,
    GraphKeys.LOCAL_VARIABLES, GraphKeys.MODEL_VARIABLES, GraphKeys.GLOBAL_STEP, GraphKeys.EVAL_STEP,
    GraphKeys.METRIC_VARIABLES,
):  # fmt: skip
    register_proto_function(_key, proto_type=messages.VariableDef, to_proto=_to_message, from_proto=Variable.from_proto)
