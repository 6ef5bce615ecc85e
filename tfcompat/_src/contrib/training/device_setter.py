"""Strategies for tf.train.replica_device_setter: on which parameter server a variable goes."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable

import numpy as np

from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.operation import Operation


@export("contrib.training.RandomStrategy")
class RandomStrategy:
    """A server by the hash of the operation's name, the same in every process.

    Args:
      num_ps_tasks: the number of servers.
      seed: an int that goes into the hash.
    """

    def __init__(self, num_ps_tasks: int, seed: int = 0) -> None:
        self._num_tasks, self._seed = num_ps_tasks, seed

    def __call__(self, op: Operation) -> int:
        digest = hashlib.md5(f"{op.name}_{self._seed:d}".encode(), usedforsecurity=False).hexdigest()
        return int(digest, 16) % self._num_tasks


@export("contrib.training.GreedyLoadBalancingStrategy")
class GreedyLoadBalancingStrategy:
    """The server with the least load so far.

    Args:
      num_tasks: the number of servers.
      load_fn: function of an operation that gives its load, a number.
    """

    def __init__(self, num_tasks: int, load_fn: Callable[[Operation], float]) -> None:
        self._num_tasks, self._load_fn = num_tasks, load_fn
        self._ps_loads = np.zeros(num_tasks)

    def __call__(self, op: Operation) -> int:
        task = np.argmin(self._ps_loads)
        self._ps_loads[task] += self._load_fn(op)
        return task


@export("contrib.training.byte_size_load_fn")
def byte_size_load_fn(op: Operation) -> int:
    """The load of a variable's operation as the number of bytes of its value.

    Raises:
      ValueError: it has not exactly one output, or its shape is not known.
    """
    if len(op.outputs) != 1:
        raise ValueError(f"Op {op} must have a single output")
    output = op.outputs[0]
    shape = output.shape if output.shape.is_fully_defined() else TensorShape(op.get_attr("shape"))
    shape.assert_is_fully_defined()
    return math.prod(shape.as_list()) * output.dtype.size
