"""`tensorflow.python.util.tf_export`: marks that leave what they mark as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class tf_export:  # noqa: N801
    """Marks a symbol as public in TensorFlow's own build."""

    def __init__(self, *names: str, v1: Any = None, **options: Any) -> None:
        self.names = names if v1 is None else tuple(v1)

    def __call__(self, symbol: Any) -> Any:
        return symbol

    def export_constant(self, module_name: str, name: str) -> None:
        """Marks the constant `name` of module `module_name` as public."""


def keras_export(*names: str, v1: Any = None, **options: Any) -> Callable[[Any], Any]:
    """Marks a symbol as public in `tf.keras` in TensorFlow's own build."""
    return tf_export(*names, v1=v1, **options)


def estimator_export(*names: str, v1: Any = None, **options: Any) -> Callable[[Any], Any]:
    """Marks a symbol as public in `tf.estimator` in TensorFlow's own build."""
    return tf_export(*names, v1=v1, **options)
