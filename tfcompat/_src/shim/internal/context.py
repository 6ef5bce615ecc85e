"""`tensorflow.python.eager.context`: graphs are built, nothing runs eagerly."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from tfcompat._src.framework.scopes import executing_eagerly
from tfcompat._src.runtime.config import ProcessConfig, process_config
from tfcompat._src.runtime.devices import accelerator_count

SYNC, ASYNC = 0, 1
"""How ops run eagerly, which none do here."""


def context() -> ProcessConfig:
    """The settings of this process; `config` is their ConfigProto."""
    return process_config()


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
    return accelerator_count("GPU")
