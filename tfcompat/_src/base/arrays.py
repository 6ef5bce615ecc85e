"""The type of NumPy's arrays in signatures, and NumPy's own functions that make arrays."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

NDArray: TypeAlias = np.ndarray[Any, np.dtype[Any]]
"""An array of any shape and dtype. The types of NumPy 2.1 have no defaults: `np.ndarray` alone leaves out what it is of."""

as_array, new_array = np.asarray, np.array
"""NumPy's own: `tfcompat run` puts more forgiving functions in their places for the program, which would cost time in every step."""
