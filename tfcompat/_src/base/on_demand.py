"""Modules of SciPy that are imported when something of them is first used: that takes longer than importing all of this package."""

from __future__ import annotations

import importlib
from typing import Any


class OnDemand:
    """A module, imported when an attribute is first taken."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(importlib.import_module(self._name), attribute)


blas = OnDemand("scipy.linalg.blas")
lapack = OnDemand("scipy.linalg.lapack")
linalg = OnDemand("scipy.linalg")
sparse = OnDemand("scipy.sparse")
special = OnDemand("scipy.special")
transforms = OnDemand("scipy.fft")
