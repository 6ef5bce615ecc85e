"""Type aliases for arrays in signatures, and NumPy's original array constructors."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    import jax

NDArray: TypeAlias = np.ndarray[Any, np.dtype[Any]]
"""An array of any shape and dtype. NumPy 2.1's type parameters have no defaults, so a bare `np.ndarray` is rejected by strict mypy."""
Array: TypeAlias = "NDArray | jax.Array"
"""A NumPy array in host memory, or a JAX array: on a device, or traced."""
TensorLike: TypeAlias = object
"""A value that `convert_to_tensor` converts: a tensor, a variable, a number, a string, an array, nested lists of these, or an object of a
type with a registered conversion function. A program may register any type, so type checkers accept every object."""

as_array, new_array = np.asarray, np.array
"""NumPy's originals: `tfcompat run` replaces `np.asarray` and `np.array` with more lenient functions, which would slow down every step."""


def content_key(array: NDArray) -> Hashable:
    """Returns a hashable key that arrays have in common only if their dtypes, shapes and contents are equal."""
    # The bytes of an array of objects are addresses, which other objects may have later.
    contents = tuple(array.ravel().tolist()) if array.dtype.hasobject else array.tobytes()
    return array.dtype.str, array.shape, contents
