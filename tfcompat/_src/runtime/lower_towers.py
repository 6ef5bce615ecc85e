"""Lowering of towers: one `shard_map` over a mesh of their devices, with an all-reduce for each bucket of what meets."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tfcompat._src.base import checks
from tfcompat._src.base.arrays import Array
from tfcompat._src.base.findings import Finding, Kind
from tfcompat._src.runtime.lower import Frame, Replan, collecting, lower, run_device_op
from tfcompat._src.runtime.towers import ALL, AXIS, EACH, Meeting, TowersItem

BUCKET_BYTES = 1 << 25


@lower.register
def _lower_towers(item: TowersItem, frame: Frame) -> None:
    """Traces the towers as one `shard_map`.

    Raises:
      Replan: a value has not the same shape in each tower.
    """
    values = {t: frame.values[t] for t in item.shared}
    static = {t: v for t, v in values.items() if isinstance(v, (np.ndarray, np.generic))}
    shared = {t: v for t, v in values.items() if t not in static}
    stacked = [_stacked([frame.values[t] for t in leaf]) for leaf in item.leaves]
    randoms = [row for row in item.rows if row[0].spec.effects.random]
    rows = [jnp.stack([jnp.asarray(frame.rng[op]) for op in row]) for row in randoms]
    found: dict[str, Any] = {}

    def tower(shared_values: list[jax.Array], mine: list[jax.Array], my_rows: list[jax.Array]) -> tuple[Any, ...]:
        inner = Frame({**static, **dict(zip(shared, shared_values))}, {}, {r[0]: x[0] for r, x in zip(randoms, my_rows)})
        inner.values.update((leaf[0], x[0]) for leaf, x in zip(item.leaves, mine))
        with collecting() as found["checks"]:
            for row in item.rows:
                run_device_op(row[0], inner)
        found["reserves"] = inner.reserves
        met = _all_reduced([_contribution(m, inner) for m in item.meetings], [m.mean for m in item.meetings], len(item.jax_devices))
        flags = [(jnp.asarray(c.ok)[None], [jnp.asarray(v)[None] for v in c.traced_values()]) for c in found["checks"]]
        return met, [jnp.asarray(inner.values[row[0]])[None] for row in item.each], flags

    mapped = jax.shard_map(tower, mesh=item.mesh, in_specs=(ALL, EACH, EACH), out_specs=(ALL, EACH, EACH), check_vma=False)
    met, each, flags = mapped(list(shared.values()), stacked, rows)
    frame.values.update((m.output, value) for m, value in zip(item.meetings, met))
    for row, value in zip(item.each, each):
        frame.values.update((t, value[i]) for i, t in enumerate(row))
    _file_checks(item, found["checks"], flags)
    for row in randoms:
        frame.reserves.update(dict.fromkeys(row, found["reserves"][row[0]]))


def _file_checks(item: TowersItem, found: list[checks.Check], flags: list[tuple[jax.Array, list[jax.Array]]]) -> None:
    row_of = {row[0]: row for row in item.rows}
    for check, (ok, shown) in zip(found, flags):
        for i, op in enumerate(row_of[check.op]):
            values = check.without_traced_values().merge_values([v[i] for v in shown])
            checks.add(checks.Check(ok[i], check.text, values, op, check.error))


def _stacked(values: list[Array]) -> jax.Array:
    arrays = [jnp.asarray(v) for v in values]
    if len({a.shape for a in arrays}) > 1:
        raise Replan(Finding(Kind.TOWERS_DIFFER), "values differ in shape between towers")
    return jnp.stack(arrays)


def _contribution(meeting: Meeting, frame: Frame) -> jax.Array:
    value = jnp.asarray(frame.values[meeting.row[0]])
    return value[0] if meeting.squeezed else value


def _all_reduced(values: list[jax.Array], means: list[bool], towers: int) -> list[jax.Array]:
    """The sum or mean of each value over the towers, with one all-reduce for many of them."""
    found: dict[int, jax.Array] = {}
    for bucket in _buckets(values):
        flat = jnp.concatenate([values[i].reshape(-1) for i in bucket])
        total, start = jax.lax.psum(flat, AXIS), 0
        for i in bucket:
            part = total[start : start + values[i].size].reshape(values[i].shape)
            found[i] = part / np.asarray(towers, part.dtype) if means[i] else part
            start += values[i].size
    return [found[i] for i in range(len(values))]


def _buckets(values: list[jax.Array]) -> list[list[int]]:
    """Positions of values of one dtype, together not larger than a bucket."""
    found: list[list[int]] = []
    room: dict[np.dtype[Any], tuple[int, list[int]]] = {}
    for i, v in enumerate(values):
        left, bucket = room.get(v.dtype, (0, []))
        if left < v.nbytes:
            left, bucket = max(BUCKET_BYTES, v.nbytes), []
            found.append(bucket)
        bucket.append(i)
        room[v.dtype] = (left - v.nbytes, bucket)
    return found
