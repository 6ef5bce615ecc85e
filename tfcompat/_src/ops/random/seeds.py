"""The seeds of random ops: the graph's seed, and the op's own or the number of nodes made before it."""

from __future__ import annotations

from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import get_default_graph

DEFAULT_GRAPH_SEED = 87654321
_MODULUS = 2**31 - 1


@export("set_random_seed", "random.set_random_seed", "compat.v2.random.set_seed")
def set_random_seed(seed: int | None) -> None:
    """Sets the default graph's seed.

    Random numbers of an operation that is made later depend on it and on the operation's own seed; without one of its own, on how
    many nodes the graph had.

    Args:
      seed: an int, or None for numbers that differ from run to run.
    """
    get_default_graph().seed = seed


@export("get_seed", "random.get_seed")
def get_seed(op_seed: int | None) -> tuple[int | None, int | None]:
    """The two seeds of an op that is made next.

    Args:
      op_seed: the op's seed, or None.

    Returns:
      (graph seed, op seed), both below 2**31 - 1 and not both 0; (None, None) where neither is set.
    """
    graph = get_default_graph()
    if graph.seed is None:
        return (None, None) if op_seed is None else (DEFAULT_GRAPH_SEED, op_seed % _MODULUS)
    seeds = graph.seed % _MODULUS, (graph.next_operation_seed() if op_seed is None else op_seed) % _MODULUS
    return (0, _MODULUS) if seeds == (0, 0) else seeds


def seed_attrs(op_seed: int | None) -> dict[str, int]:
    """`get_seed` as the attributes of an op."""
    seed, seed2 = get_seed(op_seed)
    return {"seed": seed or 0, "seed2": seed2 or 0}
