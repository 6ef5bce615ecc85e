"""Losses of linear models with their duals (arXiv:1211.2717), as stochastic dual coordinate ascent needs them.

`label` is -1 or 1 for losses of classes; `wx` is the prediction, `dual` the dual variable of an example, `weight` its weight.
"""

from __future__ import annotations

import math
import sys
from typing import Protocol

import numpy as np

from tfcompat._src.base import errors

_NEWTON_STEPS = 10
_IMPOSSIBLE = sys.float_info.max


class DualLoss(Protocol):
    """A loss. `scale` in `updated_dual` is the norm of an example by the L2 factor, times its weight and the partitions."""

    smoothness: float

    def updated_dual(self, label: float, dual: float, wx: float, scale: float) -> float:
        """The dual variable that is best while the others stay as they are."""

    def dual(self, dual: float, label: float, weight: float) -> float: ...

    def primal(self, wx: float, label: float, weight: float) -> float: ...

    def slope(self, wx: float, label: float) -> float:
        """The derivative of the primal loss of weight 1 by the prediction."""

    def label(self, given: float) -> float:
        """The label that the formulas take; InvalidArgumentError where there is none."""


class _OfClasses:
    def label(self, given: float) -> float:
        if given not in (0.0, 1.0):
            text = f"Only labels of 0.0 or 1.0 are supported right now. Found example with label: {given:g}"
            raise errors.InvalidArgumentError(None, None, text)
        return 1.0 if given else -1.0


class _Hinge(_OfClasses):
    smoothness = 0.0

    def updated_dual(self, label, dual, wx, scale):
        return _within(label, dual + (label - wx) / scale) if scale else _within(label, math.copysign(math.inf, label - wx))

    def dual(self, dual, label, weight):
        return -dual * label * weight if 0 <= dual * label <= 1 else _IMPOSSIBLE

    def primal(self, wx, label, weight):
        return max(0.0, 1 - label * wx) * weight

    def slope(self, wx, label):
        return -label if label * wx < 1 else 0.0


class _SmoothHinge(_OfClasses):
    smoothness = 1.0

    def updated_dual(self, label, dual, wx, scale):
        return _within(label, dual + (label - wx - dual) / (scale + 1))

    def dual(self, dual, label, weight):
        return (-dual * label + 0.5 * dual * dual) * weight if 0 <= dual * label <= 1 else _IMPOSSIBLE

    def primal(self, wx, label, weight):
        margin = label * wx
        if margin >= 1:
            return 0.0
        return (0.5 - margin) * weight if margin <= 0 else (1 - margin) ** 2 * weight * 0.5

    def slope(self, wx, label):
        margin = label * wx
        if margin >= 1:
            return 0.0
        return -label if margin <= 0 else wx - label


class _Logistic(_OfClasses):
    smoothness = 4.0

    def updated_dual(self, label, dual, wx, scale):
        x = 0.0
        for _ in range(_NEWTON_STEPS):
            tanh = math.tanh(x)
            value = -2 * label * x - wx - scale * (0.5 * (1 + tanh) / label - dual)
            x -= value / (-2 * label - scale * (1 - tanh * tanh) * 0.5 / label)
        return 0.5 * (1 + math.tanh(x)) / label

    def dual(self, dual, label, weight):
        share = dual * label
        return sum(p * (math.log(p) if p > 0 else 0.0) for p in (share, 1 - share)) * weight

    def primal(self, wx, label, weight):
        margin = label * wx
        return (math.log1p(math.exp(-abs(margin))) + max(-margin, 0.0)) * weight

    def slope(self, wx, label):
        margin = label * wx
        small = math.exp(-abs(margin))
        return -label * (small if margin > 0 else 1.0) / (1 + small)


class _Squared:
    smoothness = 1.0

    def updated_dual(self, label, dual, wx, scale):
        return dual + (label - dual - wx) / (1 + scale)

    def dual(self, dual, label, weight):
        return dual * (0.5 * dual - label) * weight

    def primal(self, wx, label, weight):
        return (wx - label) ** 2 * weight * 0.5

    def slope(self, wx, label):
        return wx - label

    def label(self, given):
        return given


class _Poisson:
    smoothness = 1.0

    def updated_dual(self, label, dual, wx, scale):
        x = math.log(label - dual) if label > dual else 0.0
        for _ in range(_NEWTON_STEPS):
            expected = _exp(x)
            x -= (x - wx - scale * (label - dual - expected)) / (1 + scale * expected)
        return label - _exp(x)

    def dual(self, dual, label, weight):
        rest = label - dual
        if rest == 0:
            return 0.0
        return _IMPOSSIBLE if rest < 0 else rest * (math.log(rest) - 1) * weight

    def primal(self, wx, label, weight):
        return (_exp(wx) - wx * label) * weight

    def slope(self, wx, label):
        return _exp(wx) - label

    def label(self, given):
        if given < 0:
            text = f"Only non-negative labels can be used with the Poisson log loss. Found example with label: {given:g}"
            raise errors.InvalidArgumentError(None, None, text)
        return given


def _exp(x: float) -> float:
    """The exponential; infinite where it is too large."""
    return float(np.exp(x))


def _within(label: float, dual: float) -> float:
    """The dual variable cut to what the hinge allows."""
    return 0.0 if label * dual < 0 else label if label * dual > 1 else dual


LOSSES: dict[str, DualLoss] = {
    "logistic_loss": _Logistic(), "squared_loss": _Squared(), "hinge_loss": _Hinge(), "smooth_hinge_loss": _SmoothHinge(),
    "poisson_loss": _Poisson(),
}  # fmt: skip
