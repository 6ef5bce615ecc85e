"""tf.contrib.nearest_neighbor: which buckets of hash tables to look into, for hashes by hyperplanes."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.base.export import export
from tfcompat._src.graph.op_spec import HOST, NotDifferentiable, op
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_MOST_TABLES, _MOST_PLANES = 1000, 30


def _invalid(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, text)


def _count(value: np.ndarray, name: str, most: int | None = None) -> int:
    if value.ndim:
        raise _invalid(f"Need a scalar {name} tensor, got {value.ndim} dimensions.")
    count = int(value)
    if count < 1:
        raise _invalid(f"{name} must be at least 1 but got {count}.")
    if most is not None and count > most:
        raise _invalid(f"Need {name} <= {most}, got {count}.")
    return count


def _further_probes(products: np.ndarray, hashes: np.ndarray) -> Iterator[tuple[int, int]]:
    """(hash, table) of the buckets after the point's own, the nearest first.

    A bucket's distance is the sum of the squares of the products whose signs it changes. The sets of changed signs are made
    from smaller ones: in the order of their distances, the last changed sign is replaced by the next, or the next is added.

    Args:
      products: [tables, hyperplanes]; hashes: int [tables].
    """
    tables, planes = products.shape
    order = np.argsort(np.abs(products), axis=1, kind="stable")
    squares = np.take_along_axis(products, order, 1) ** 2
    bits = 1 << (planes - 1 - order)
    ties = itertools.count()
    heap: list[Any] = [(squares[table, 0], next(ties), table, bits[table, 0], 0) for table in range(tables)]
    heapq.heapify(heap)
    while heap:
        distance, _, table, mask, last = heapq.heappop(heap)
        yield int(hashes[table] ^ mask), table
        if last + 1 == planes:
            continue
        square, bit = squares[table, last + 1], bits[table, last + 1]
        replaced = distance - squares[table, last] + square
        heapq.heappush(heap, (replaced, next(ties), table, mask ^ bits[table, last] ^ bit, last + 1))
        heapq.heappush(heap, (distance + square, next(ties), table, mask ^ bit, last + 1))


@op(
    "HyperplaneLSHProbes",
    "(point_hyperplane_product: CoordinateType, num_tables: int32, num_hyperplanes_per_table: int32, num_probes: int32, *, "
    "CoordinateType: {float, double}) -> (probes: int32, table_ids: int32)",
    shape=lambda c: [None, None], side=HOST, gradient=NotDifferentiable("buckets are numbers of tables and signs"),
)  # fmt: skip
def _hyperplane_lsh_probes(products, num_tables, num_hyperplanes_per_table, num_probes):
    if products.ndim != 2:
        raise _invalid(f"Need a two-dimensional products tensor, got {products.ndim} dimensions.")
    tables = _count(num_tables, "num_tables", _MOST_TABLES)
    planes = _count(num_hyperplanes_per_table, "num_hyperplanes_per_table", _MOST_PLANES)
    probes = _count(num_probes, "num_probes")
    if products.shape[1] != tables * planes:
        raise _invalid(
            f"Expected number of hyperplanes is {tables * planes} but received {products.shape[1]} inner products per point."
        )
    found = np.empty((2, len(products), probes), np.int32)
    for point, signed in enumerate(products.reshape(-1, tables, planes)):
        hashes = (signed >= 0) @ (1 << np.arange(planes - 1, -1, -1))
        own = zip(hashes.tolist(), range(tables))
        pairs = list(itertools.islice(itertools.chain(own, _further_probes(signed, hashes)), probes))
        if len(pairs) < probes:
            raise errors.InternalError(
                None, None, f"Failed to get probe number {len(pairs)} for point number {point}."
            )
        found[:, point] = np.transpose(pairs)
    return found[0], found[1]


@export("contrib.nearest_neighbor.hyperplane_lsh_probes")
def hyperplane_lsh_probes(
    point_hyperplane_product: TensorLike, num_tables: TensorLike, num_hyperplanes_per_table: TensorLike, num_probes: TensorLike, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """The buckets to look into for points: their own in each table, then those of the nearest other signs in any table.

    Args:
      point_hyperplane_product: float32 or float64 [points, num_tables * num_hyperplanes_per_table], the products of points and
        normals of hyperplanes.
      num_tables: int32 scalar, at most 1000.
      num_hyperplanes_per_table: int32 scalar, at most 30.
      num_probes: int32 scalar, buckets of each point.
      name: of the operation.

    Returns:
      (probes, table_ids): int32 [points, num_probes] each, the buckets and their tables.

    Raises:
      InvalidArgumentError: a number is out of range, or does not fit the products. InternalError: there are fewer buckets.
    """
    return raw.HyperplaneLSHProbes(
        point_hyperplane_product, num_tables, num_hyperplanes_per_table, num_probes, name=name
    )
