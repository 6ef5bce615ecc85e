"""How draws become a flat output: in groups of fixed width, or by rejection in independent lanes."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
from jax import lax

Array = Any

_CHUNK = 1 << 14
"""Groups computed at a time on the host, so that temporaries stay in the processor's cache."""


def fill(xp: ModuleType, group: Callable[[Array], list[Array]], width: int, size: int, dtype: Any) -> Array:
    """The flat output whose elements `width * i ...` are `group(i)`; the last group is cut.

    Args:
      xp: numpy or jax.numpy.
      group: from uint32 group numbers of shape [m] to `width` arrays of shape [m].
      width: elements in a group.
      size: elements of the output.
      dtype: of the output.
    """
    count = -(-size // width)
    if xp is not np:
        columns = group(lax.iota(np.uint32, count))
        return xp.stack(columns, axis=-1).reshape(-1)[:size].astype(dtype)
    output = np.empty((count, width), dtype)
    for start in range(0, count, _CHUNK):
        stop = min(start + _CHUNK, count)
        for k, column in enumerate(group(np.arange(start, stop, dtype=np.uint32))):
            output[start:stop, k] = column
    return output.reshape(-1)[:size]


def run_lanes(
    xp: ModuleType, body: Callable[[tuple, tuple], tuple], constants: tuple, state: tuple, max_trips: int
) -> tuple:
    """Repeats `body` in every lane until the lane is done.

    Args:
      xp: numpy or jax.numpy.
      body: from (constants, state) of some lanes to their new state; element 0 of the state says which are done.
      constants: arrays of shape [lanes].
      state: arrays of shape [lanes]; not modified.
      max_trips: after these, lanes stay as they are.

    Returns:
      The last state of every lane.
    """
    if xp is np:
        return _run_active_lanes(body, constants, state, max_trips)

    def repeat(carry: tuple) -> tuple:
        trip, old = carry
        new = body(constants, old)
        return trip + 1, tuple(xp.where(old[0], o, n) for o, n in zip(old, new))

    def unfinished(carry: tuple) -> Array:
        return (carry[0] < max_trips) & ~xp.all(carry[1][0])

    return lax.while_loop(unfinished, repeat, (xp.int32(0), state))[1]


def _run_active_lanes(body: Callable, constants: tuple, state: tuple, max_trips: int) -> tuple:
    state = tuple(s.copy() for s in state)
    active = np.flatnonzero(~state[0])
    for _ in range(max_trips):
        if not active.size:
            break
        new = body(tuple(c[active] for c in constants), tuple(s[active] for s in state))
        for whole, part in zip(state, new):
            whole[active] = part
        active = active[~new[0]]
    return state
