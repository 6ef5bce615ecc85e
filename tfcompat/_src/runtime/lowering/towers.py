"""Lowering of towers (replicas of one subgraph) to one `shard_map` over a mesh of their devices.

Gradients that the towers average or add up are flattened, concatenated into buckets by dtype, and all-reduced with one `psum` each,
as in Horovod's tensor fusion (arXiv:1802.05799).
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tfcompat._src.base import checks
from tfcompat._src.base.arrays import Array
from tfcompat._src.base.findings import Finding, Kind
from tfcompat._src.runtime.lowering.lower import Frame, Replan, collecting, lower
from tfcompat._src.runtime.passes.towers import ALL, AXIS, EACH, Meeting, TowersItem

BUCKET_BYTES = 1 << 25
"""The greatest size of a bucket of several values: 32 MiB."""


@lower.register
def _lower_towers(item: TowersItem, frame: Frame) -> None:
    """Traces the first tower as the function of a `shard_map` and runs it on each device.

    Raises:
      Replan: an input has different shapes in the towers.
    """
    # Static values are the same in each tower and stay NumPy; other shared values are replicated. The inputs of single towers are
    # stacked and split along axis 0, as are the rows of random operations, so that each tower draws its own numbers.
    values = {t: frame.values[t] for t in item.shared}
    static = {t: v for t, v in values.items() if isinstance(v, (np.ndarray, np.generic))}
    shared = {t: v for t, v in values.items() if t not in static}
    stacked = [_stacked([frame.values[t] for t in leaf]) for leaf in item.leaves]
    randoms = [row for row in item.rows if row[0].spec.effects.random]
    rows = [jnp.stack([jnp.asarray(frame.rng[op]) for op in row]) for row in randoms]
    left: dict[str, Any] = {}  # the checks and counter advances that the trace of a tower leaves

    def tower(shared_values: list[jax.Array], mine: list[jax.Array], my_rows: list[jax.Array]) -> tuple[Any, ...]:
        inner = Frame({**static, **dict(zip(shared, shared_values))}, {}, {r[0]: x[0] for r, x in zip(randoms, my_rows)})
        inner.values.update((leaf[0], x[0]) for leaf, x in zip(item.leaves, mine))
        with collecting() as left["checks"]:
            for part in item.first:
                lower(part, inner)
        left["reserves"] = inner.reserves
        met = _all_reduced([_contribution(m, inner) for m in item.meetings], [m.mean for m in item.meetings], len(item.jax_devices))
        flags = [(jnp.asarray(c.ok)[None], [jnp.asarray(v)[None] for v in c.traced_values()]) for c in left["checks"]]
        return met, [jnp.asarray(inner.values[row[0]])[None] for row in item.each], flags

    # Reduced values come out replicated, those of single towers stacked along axis 0.
    mapped = jax.shard_map(tower, mesh=item.mesh, in_specs=(ALL, EACH, EACH), out_specs=(ALL, EACH, EACH), check_vma=False)
    met, each, flags = mapped(list(shared.values()), stacked, rows)
    frame.values.update((m.output, value) for m, value in zip(item.meetings, met))
    for row, value in zip(item.each, each):
        frame.values.update((t, value[i]) for i, t in enumerate(row))
    _file_checks(item, left["checks"], flags)
    # The towers run the same operations, so their random counters advance alike.
    for row in randoms:
        frame.reserves.update(dict.fromkeys(row, left["reserves"][row[0]]))


def _file_checks(item: TowersItem, collected: list[checks.Check], flags: list[tuple[jax.Array, list[jax.Array]]]) -> None:
    """Adds each check of the traced tower once for every tower, at that tower's node."""
    row_of = {row[0]: row for row in item.rows}
    # The flags of all towers are stacked along axis 0. An error names the node of the tower that failed.
    for check, (ok, shown) in zip(collected, flags):
        for i, op in enumerate(row_of[check.op]):
            values = check.without_traced_values().merge_values([v[i] for v in shown])
            checks.add(checks.Check(ok[i], check.text, values, op, check.error))


def _stacked(values: list[Array]) -> jax.Array:
    """The inputs of the towers, stacked along a new axis 0. Raises Replan where they differ in shape."""
    arrays = [jnp.asarray(v) for v in values]
    if len({a.shape for a in arrays}) > 1:
        raise Replan(Finding(Kind.TOWERS_DIFFER), "values differ in shape between towers")
    return jnp.stack(arrays)


def _contribution(meeting: Meeting, frame: Frame) -> jax.Array:
    """The traced tower's summand of a sum or mean over towers."""
    value = jnp.asarray(frame.values[meeting.row[0]])
    return value[0] if meeting.squeezed else value


def _all_reduced(values: list[jax.Array], means: list[bool], towers: int) -> list[jax.Array]:
    """The sum, or the mean where `means` says so, of each value over the towers, with one all-reduce per bucket."""
    reduced: dict[int, jax.Array] = {}
    # One all-reduce of many small values has the latency of one.
    for bucket in _buckets(values):
        flat = jnp.concatenate([values[i].reshape(-1) for i in bucket])
        total, start = jax.lax.psum(flat, AXIS), 0
        for i in bucket:
            # A mean is the sum divided by the number of towers, in the dtype of the values.
            part = total[start : start + values[i].size].reshape(values[i].shape)
            reduced[i] = part / np.asarray(towers, part.dtype) if means[i] else part
            start += values[i].size
    return [reduced[i] for i in range(len(values))]


def _buckets(values: list[jax.Array]) -> list[list[int]]:
    """Groups values by dtype into buckets of at most BUCKET_BYTES, in order (next-fit); a larger value has a bucket of its own.

    Returns:
      for each bucket the positions of its values.
    """
    buckets: list[list[int]] = []
    room: dict[np.dtype[Any], tuple[int, list[int]]] = {}
    for i, v in enumerate(values):
        left, bucket = room.get(v.dtype, (0, []))
        if left < v.nbytes:
            left, bucket = max(BUCKET_BYTES, v.nbytes), []
            buckets.append(bucket)
        bucket.append(i)
        room[v.dtype] = (left - v.nbytes, bucket)
    return buckets
