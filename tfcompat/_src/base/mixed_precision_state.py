"""Whether the rewrite of graphs to mixed precision is on, what Sessions there were before it, and whether a Keras policy stands against it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.proto import messages

mixed_precision_graph_rewrite_is_enabled = False
non_mixed_precision_session_created = False
using_default_mixed_precision_policy = True
scaled_keras_optimizer: Callable[[Any, Any], Any] | None = None
"""Gives an optimizer of Keras with its loss scaled; None while no such optimizers are loaded."""

_ON, _OFF = 1, 2


def configured(config: Any) -> Any:
    """The ConfigProto of a new Session: with the rewrite, where that is on and `config` does not turn it off."""
    global non_mixed_precision_session_created
    asked = config.graph_options.rewrite_options.auto_mixed_precision
    if mixed_precision_graph_rewrite_is_enabled and asked != _OFF:
        changed = messages.ConfigProto()
        changed.CopyFrom(config)
        changed.graph_options.rewrite_options.auto_mixed_precision = _ON
        return changed
    if asked != _ON:
        non_mixed_precision_session_created = True
    return config
