"""Evaluates expressions of Python in which names of dumped tensors stand between backticks."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from tfcompat._src.debug.dump_dir import DebugDumpDir, WatchKeyDoesNotExistInDebugDumpDirError

_QUOTED_NAME = re.compile(r"`(.*?)`")
_DEVICE = re.compile(r"(/job:\w+/replica:\d+/task:\d+/(?:device:)?\w+:\d+):")
_EXECUTION = re.compile(r"\[(\d*)\]$")
_DEFAULT_DEBUG_OP = "DebugIdentity"


def _parse_debug_tensor_name(debug_tensor_name: str) -> tuple[str | None, str, int, str, int]:
    """Splits "/job:worker/replica:0/task:1/gpu:0:hidden/MatMul:0:DebugNanCount[1]".

    Returns:
      The device or None, the node, the output slot, the debug op (DebugIdentity if none is named), and which of several
      executions in one run is meant, from 0.

    Raises:
      ValueError: the name has other parts than these.
    """
    device = _DEVICE.match(debug_tensor_name)
    name = debug_tensor_name[device.end() :] if device else debug_tensor_name
    execution = _EXECUTION.search(name)
    parts = (name[: execution.start()] if execution else name).split(":")
    if len(parts) not in (2, 3):
        raise ValueError("The debug tensor name in the to-be-evaluated expression is malformed: '%s'" % name)
    node, slot, debug_op = parts if len(parts) == 3 else (*parts, _DEFAULT_DEBUG_OP)
    return device[1] if device else None, node, int(slot), debug_op, int(execution[1]) if execution else 0


class ExpressionEvaluator:
    """Evaluates expressions; `np` in them is NumPy.

    Args:
      dump: the DebugDumpDir that has the tensors.
    """

    def __init__(self, dump: DebugDumpDir) -> None:
        self._dump = dump
        self._cached_tensor_values: dict[str, Any] = {}

    def evaluate(self, expression: str) -> Any:
        """The value of an expression such as "np.sum(`h/mm:0`)". ValueError where a tensor was not dumped, or its name is malformed."""
        values: dict[str, Any] = {}

        def variable(match: re.Match[str]) -> str:
            name = "_tensor_%d" % len(values)
            values[name] = self._value(match[1].strip())
            return name

        rewritten = _QUOTED_NAME.sub(variable, expression)
        return eval(rewritten, {"np": np, **values})

    def _value(self, name: str) -> Any:
        if name not in self._cached_tensor_values:
            device, node, slot, debug_op, execution = _parse_debug_tensor_name(name)
            try:
                found = self._dump.get_tensors(node, slot, debug_op, device_name=device)
            except WatchKeyDoesNotExistInDebugDumpDirError:
                raise ValueError("Eval failed due to the value of %s:%d:DebugIdentity being unavailable" % (node, slot))
            self._cached_tensor_values[name] = found[execution]
        return self._cached_tensor_values[name]
