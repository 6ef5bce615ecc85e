"""The seeds of datasets, derived from the graph's seed and the seed of the call."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base.dtypes import int64
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.ops.random import seeds


def get_seed(seed: object) -> tuple[Tensor, Tensor]:
    """Returns the two seeds of a dataset, int64 scalars; both are 0, which means random seeds, if no seed is set.

    Args:
      seed: int, int64 scalar tensor, or None.
    """
    graph_seed, op_seed = _seeds(seed)
    first = constant(0, int64, name="seed") if graph_seed is None else convert_to_tensor(graph_seed, int64, name="seed")
    if op_seed is None:
        return first, constant(0, int64, name="seed2")
    # Both seeds 0 must not mean random seeds when the caller asked for these.
    with name_scope("seed2") as scope:
        second = convert_to_tensor(op_seed, int64)
        both_zero = raw.LogicalAnd(raw.Equal(first, 0), raw.Equal(second, 0))
        return first, raw.Select(both_zero, constant(2**31 - 1, int64), second, name=scope)


def _seeds(seed: Any) -> tuple[Any, Any]:
    if isinstance(seed, Tensor):
        return seeds.get_seed(0)[0], seed
    return seeds.get_seed(seed)
