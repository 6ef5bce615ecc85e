"""`tensorflow.python.eager.context`: graphs are built, nothing runs eagerly."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import jax

from tfcompat._src.framework.scopes import executing_eagerly


def in_eager_mode() -> bool:
    """Whether ops run when they are called: never."""
    return executing_eagerly()


def in_graph_mode() -> bool:
    """Whether ops are added to a graph."""
    return not executing_eagerly()


@contextlib.contextmanager
def graph_mode() -> Iterator[None]:
    """A block in which ops are added to the default graph."""
    yield


def eager_mode() -> contextlib.AbstractContextManager[None]:
    """A block in which ops run when they are called.

    Raises:
      NotImplementedError: always.
    """
    raise NotImplementedError("tfcompat does not have eager execution (tensorflow.python.eager.context.eager_mode)")


def num_gpus() -> int:
    """The number of GPUs of this process."""
    return sum(device.platform == "gpu" for device in jax.local_devices())
