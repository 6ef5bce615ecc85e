"""Global state of the mixed-precision graph rewrite: whether it is on, and the conditions under which it may be turned on.

As in 1.15, it warns about Sessions that were made before, and excludes a Keras policy other than the default one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.proto import messages

mixed_precision_graph_rewrite_is_enabled = False
non_mixed_precision_session_created = False
using_default_mixed_precision_policy = True
scaled_keras_optimizer: Callable[[Any, Any], Any] | None = None
"""A function that wraps a Keras optimizer with loss scaling; None until Keras' optimizers are imported."""

_ON, _OFF = 1, 2


def configured(config: Any) -> Any:
    """Returns the ConfigProto of a new Session: `config`, with the rewrite turned on if it is enabled and `config` does not disable it."""
    global non_mixed_precision_session_created
    # A session that states the rewrite in its own config, on or off, keeps its choice.
    asked = config.graph_options.rewrite_options.auto_mixed_precision
    if mixed_precision_graph_rewrite_is_enabled and asked != _OFF:
        changed = messages.ConfigProto()
        changed.CopyFrom(config)
        changed.graph_options.rewrite_options.auto_mixed_precision = _ON
        return changed
    if asked != _ON:
        non_mixed_precision_session_created = True
    return config
