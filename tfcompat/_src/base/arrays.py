"""The type of NumPy's arrays in signatures."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

NDArray: TypeAlias = np.ndarray[Any, np.dtype[Any]]
"""An array of any shape and dtype. The types of NumPy 2.1 have no defaults: `np.ndarray` alone leaves out what it is of."""
