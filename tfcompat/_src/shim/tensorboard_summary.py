"""`tf.compat.v2.summary.scalar`, `image`, `audio`, `histogram` and `text`: TensorBoard's functions, as in 1.15, where it is installed."""

from __future__ import annotations

import importlib

NAMES = ("audio", "histogram", "image", "scalar", "text")
_MODULE = "tensorboard.summary.v2"


def tensorboard_name(namespace: str, name: str) -> object:
    """Returns TensorBoard's function of `tf.compat.v2.summary`; raises AttributeError for other names, and where TensorBoard is not installed."""
    if namespace != "tfcompat.compat.v2.summary" or name not in NAMES:
        raise AttributeError(name)
    try:
        module = importlib.import_module(_MODULE)
    except ModuleNotFoundError as e:
        if e.name is None or not _MODULE.startswith(e.name):
            raise
        raise AttributeError(name) from None
    found: object = getattr(module, name)
    return found
