"""Iterators that give each replica its input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfcompat._src.distribute.device_util import get_host_for_device
from tfcompat._src.distribute.values import regroup
from tfcompat._src.framework.scopes import device


class InputFunctionIterator:
    """What `make_input_fn_iterator` gives.

    Args:
      source: what the input function gave: a function that makes the tensors of one replica.
      devices: of the replicas.

    Raises:
      NotImplementedError: `source` is a tf.data.Dataset. ValueError: it is no function.
    """

    def __init__(self, source: Any, devices: Sequence[str]) -> None:
        if hasattr(source, "make_initializable_iterator") or hasattr(source, "_variant_tensor"):
            raise NotImplementedError("tfcompat has no make_input_fn_iterator of a function that gives a tf.data.Dataset; let it give a function that makes tensors.")
        if not callable(source):
            raise ValueError("input_fn must return a tf.data.Dataset or a callable.")
        self._source, self._devices = source, tuple(devices)

    def get_next(self, name: str | None = None) -> Any:
        """The tensors of all replicas: a nest of PerReplica values."""
        with device(get_host_for_device(self._devices[0])):
            made = [self._source() for _ in self._devices]
        return made[0] if len(made) == 1 else regroup(self._devices, made)

    def initialize(self) -> list:
        """The operations that start the iterator: none."""
        return []

    def initializer(self) -> list:
        """As `initialize`."""
        return self.initialize()

    def __iter__(self) -> Any:
        raise RuntimeError("Iterating over a distributed iterator needs eager execution; call get_next() in the graph.")
