"""How two arrays differ, and whether that is rounding noise."""

from __future__ import annotations

import math
from typing import NamedTuple

import ml_dtypes
import numpy as np
from google.protobuf.message import DecodeError

from tfcompat._src.base.arrays import NDArray
from tfcompat._src.proto import messages

EQUAL, NOISE, DIFFERS, NOT_COMPARED = "equal", "noise", "differs", "not compared"
LONGEST = 1 << 16
"""Longer sums are not taken for less exact: their parts are summed apart."""


class Difference(NamedTuple):
    """How a value differs from the recorded one.

    Attributes:
      name: of the tensor or variable. verdict: EQUAL (bit for bit), NOISE (within the tolerance), DIFFERS or NOT_COMPARED.
      absolute, relative: the largest differences; relative ones to the larger element. tolerance: relative to the largest element. why: a sentence where numbers say nothing.
    """

    name: str
    verdict: str
    dtype: str = ""
    shape: tuple[int, ...] = ()
    absolute: float = 0.0
    relative: float = 0.0
    tolerance: float = 0.0
    why: str = ""

    def __str__(self) -> str:
        said = f"{self.name} {self.dtype} {list(self.shape)}: {self.verdict}"
        if self.absolute:
            said += f", by {self.absolute:.3g} at most ({self.relative:.3g} of the element), tolerance {self.tolerance:.3g} of the largest element"
        return said + (f"; {self.why}" if self.why else "")


def tolerance(dtype: np.dtype[np.generic], depth: int) -> float:
    """Returns the relative difference that rounding explains.

    Args:
      depth: how many elements the longest sum may have. The rounding errors of a sum of n terms grow as the square root of n.
    """
    if dtype.kind in "biu" or dtype.kind == "O":
        return 0.0
    return float(ml_dtypes.finfo(dtype).eps) * (16 + 4 * math.sqrt(min(depth, LONGEST)))


def difference(name: str, recorded: NDArray, here: NDArray, depth: int = 1, exact: bool = False, op_type: str = "", factor: float = 1.0) -> Difference:
    """Compares a value with the recorded one.

    Args:
      depth: of sums, as `tolerance` takes it. exact: whether every bit must agree. op_type: of the operation that gives it; those of summaries are compared as messages.
      factor: by which the tolerance is multiplied.
    """
    dtype = "string" if recorded.dtype == object else recorded.dtype.name
    shape = recorded.shape
    if here.shape != shape:
        return Difference(name, DIFFERS, dtype, shape, math.inf, math.inf, why=f"its shape here is {list(here.shape)}")
    if (recorded.dtype == object) != (here.dtype == object) or (recorded.dtype != object and recorded.dtype != here.dtype):
        return Difference(name, DIFFERS, dtype, shape, math.inf, math.inf, why=f"its type here is {here.dtype}")
    if recorded.dtype == object:
        return _of_strings(name, recorded, here, exact, op_type)
    if recorded.tobytes() == here.tobytes():
        return Difference(name, EQUAL, dtype, shape)
    if recorded.dtype.kind in "biu":
        wide = np.abs(recorded.astype(np.float64) - here.astype(np.float64))
        count = int(np.count_nonzero(recorded != here))
        relative = float(np.max(wide / np.maximum(np.abs(recorded.astype(np.float64)), 1)))
        return Difference(name, DIFFERS, dtype, shape, float(wide.max()), relative, why=f"{count} of {recorded.size} elements differ")
    return _of_floats(name, dtype, recorded, here, 0.0 if exact else factor * tolerance(recorded.dtype, depth))


def _of_floats(name: str, dtype: str, recorded: NDArray, here: NDArray, allowed: float) -> Difference:
    wide = np.complex128 if recorded.dtype.kind == "c" else np.float64
    a, b = recorded.astype(wide), here.astype(wide)
    finite = np.isfinite(a) & np.isfinite(b)
    odd = ~finite & ~((a == b) | (np.isnan(a) & np.isnan(b)))
    if odd.any():
        place = tuple(int(i) for i in np.argwhere(odd)[0])
        why = f"at {list(place)} it was {recorded[place]} and is {here[place]}; {int(odd.sum())} elements are finite on one side alone"
        return Difference(name, DIFFERS, dtype, a.shape, math.inf, math.inf, allowed, why)
    apart = np.abs(a - b)[finite]
    if not apart.size or not apart.max():
        return Difference(name, EQUAL, dtype, a.shape)  # but for the signs of zeros and the bits of NaNs
    larger = np.maximum(np.abs(a), np.abs(b))[finite]
    relative = float(np.max(apart / np.where(larger > 0, larger, 1)))
    verdict = NOISE if apart.max() <= allowed * larger.max() else DIFFERS
    return Difference(name, verdict, dtype, a.shape, float(apart.max()), relative, allowed)


def _of_strings(name: str, recorded: NDArray, here: NDArray, exact: bool, op_type: str) -> Difference:
    pairs = list(zip(recorded.ravel().tolist(), (_bytes(word) for word in here.ravel().tolist())))
    unequal = [(a, b) for a, b in pairs if a != b]
    if not unequal:
        return Difference(name, EQUAL, "string", recorded.shape)
    if op_type.endswith("Summary") and not exact and all(_same_summary(a, b) for a, b in unequal):
        return Difference(name, NOISE, "string", recorded.shape, why="summaries whose numbers agree up to noise")
    a, b = unequal[0]
    return Difference(name, DIFFERS, "string", recorded.shape, why=f"{len(unequal)} of {len(pairs)} strings differ: it was {a[:80]!r} and is {b[:80]!r}")


def _bytes(word: object) -> bytes:
    return word if isinstance(word, bytes) else str(word).encode()


def _same_summary(recorded: bytes, here: bytes) -> bool:
    """Whether two Summary messages have the same tags, and numbers that agree up to noise."""
    try:
        a, b = messages.Summary.FromString(recorded), messages.Summary.FromString(here)
    except DecodeError:
        return False
    if [value.tag for value in a.value] != [value.tag for value in b.value]:
        return False
    for one, other in zip(a.value, b.value):
        if one.WhichOneof("value") != other.WhichOneof("value"):
            return False
        if one.WhichOneof("value") == "histo":
            pairs = [(getattr(one.histo, part), getattr(other.histo, part)) for part in ("min", "max", "num", "sum", "sum_squares")]
        elif one.WhichOneof("value") == "simple_value":
            pairs = [(one.simple_value, other.simple_value)]
        elif one != other:
            return False
        else:
            pairs = []
        for x, y in pairs:
            if difference("", np.float32(x), np.float32(y), LONGEST).verdict == DIFFERS:  # type: ignore[arg-type]  # a scalar of NumPy is an array here
                return False
    return True
