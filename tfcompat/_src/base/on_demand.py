"""SciPy's modules, imported on first use: importing them takes longer than importing all of tfcompat."""

from __future__ import annotations

import importlib
from typing import Any


class OnDemand:
    """A module that is imported when an attribute is read."""

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
