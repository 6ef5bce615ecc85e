"""`tensorflow.python.keras.saving.saved_model_experimental`: a check that TensorFlow 1.15 declares and does not implement."""

from __future__ import annotations

from typing import Any, Literal


def _assert_same_non_optimizer_objects(  # TensorFlow's signature
    model: Any, model_graph: Any, clone: Any, clone_graph: Any  # noqa: ARG001
) -> Literal[True]:  # fmt: skip
    """Returns True for every model and clone, as in TensorFlow 1.15, which compares nothing."""
    return True
