"""Decides of a run that differs whether this is a difference: rounding that the program amplifies and races of 1.15 are none."""

from __future__ import annotations

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.replay import inside
from tfcompat._src.replay.differences import DIFFERS, NOISE, NOT_COMPARED, Difference, difference
from tfcompat._src.replay.inside import Explanation
from tfcompat._src.replay.record import Run
from tfcompat._src.replay.replay import NotReplayed, Replay, Replica, Verdict

TRIALS = 4
"""How often a run is made from values that are off by a rounding error."""
FAILURES = (NotReplayed, errors.OpError, NotImplementedError, TypeError, ValueError, RuntimeError)


def settle(replay: Replay, verdict: Verdict, folder: str | None = None) -> Explanation | None:
    """Looks inside a run that differs, and takes back differences that rounding or the order of 1.15's threads explains.

    Args:
      folder: where to write a program that shows the first node that differs, or None.

    Returns:
      what explains the differences; None where none are left to explain.
    """
    replica, run = replay.replica_of[verdict.run.order], verdict.run
    _take_back(verdict, {d.name: "1.15 read a variable after this run's own update, which the graph does not order" for d in _differing(verdict) if _is_race(replica, run, d)}, NOT_COMPARED)
    if not _differing(verdict) or replay.exact:
        return inside.explain(replica, run, folder, replay.exact) if verdict.verdict == DIFFERS and verdict.differences else None
    if not run.between:
        shaken = _shaken(replica, run)
        explained = {d.name: f"a rounding error of what the run is given changes it by {shaken[d.name]:.3g}" for d in _differing(verdict) if d.absolute <= 4 * shaken.get(d.name, 0.0)}
        _take_back(verdict, explained, NOISE)
        return inside.explain(replica, run, folder) if _differing(verdict) else None
    found = inside.explain(replica, run, folder)
    if found.is_noise:
        _take_back(verdict, {d.name: found.why for d in _differing(verdict)}, NOISE)
    return found


def _differing(verdict: Verdict) -> list[Difference]:
    return [d for d in verdict.differences if d.verdict == DIFFERS]


def _take_back(verdict: Verdict, why: dict[str, str], kind: str) -> None:
    verdict.differences = [d._replace(verdict=kind, why=why[d.name]) if d.name in why else d for d in verdict.differences]


def _is_race(replica: Replica, run: Run, found: Difference) -> bool:
    """Whether a fetch is the recorded one if it is computed from the variables as they were after the run.

    1.15 reads a variable of the first kind where its memory is: an update that nothing orders may come before the read.
    """
    if found.name not in run.fetches or not run.after or not any(replica.types[name] != "VarHandleOp" for name in run.after):
        return False
    try:
        replica.put_in_place(run, after=True)
        replica.rewind(run)
        here = replica.session.run([found.name], replica.feeds(run))[0]
    except FAILURES:
        return False
    recorded = run.fetches[found.name].array
    return recorded is not None and difference(found.name, recorded, np.asarray(here), replica.depth(run)).verdict != DIFFERS


def _shaken(replica: Replica, run: Run) -> dict[str, float]:
    """By fetch and variable, the largest change that comes of multiplying what the run is given by 1 plus a rounding error."""
    numbers = np.random.RandomState(0)

    def change(array: NDArray) -> NDArray:
        if array.dtype.kind != "f":
            return array
        error = numbers.uniform(-1, 1, array.shape) * np.finfo(array.dtype).eps
        shaken: NDArray = (array * (1 + error)).astype(array.dtype)
        return shaken

    largest: dict[str, float] = {}
    try:
        replica.put_in_place(run)
        replica.rewind(run)
        plain = [*map(dict, replica.make(run))]
        for _ in range(TRIALS):
            replica.put_in_place(run, change)
            replica.rewind(run)
            for before, values in zip(plain, replica.make(run, change=change)):
                for name, here in values.items():
                    if here.dtype.kind == "f" and here.shape == before[name].shape and here.size:
                        apart = float(np.nanmax(np.abs(here.astype(np.float64) - before[name].astype(np.float64))))
                        largest[name] = max(largest.get(name, 0.0), apart)
    except FAILURES:
        return {}
    return largest
