"""The type of NumPy's arrays in signatures, and NumPy's own functions that make arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    import jax

NDArray: TypeAlias = np.ndarray[Any, np.dtype[Any]]
"""An array of any shape and dtype. The types of NumPy 2.1 have no defaults: `np.ndarray` alone leaves out what it is of."""
Array: TypeAlias = "NDArray | jax.Array"
"""An array in host memory, or one of JAX: on a device, or traced."""
TensorLike: TypeAlias = object
"""What `convert_to_tensor` converts: a tensor, a variable, a number, a string, an array, nested lists of these, and objects of every type
that `register_tensor_conversion_function` has been taught. A program may teach it any type, so checkers accept every object."""

as_array, new_array = np.asarray, np.array
"""NumPy's own: `tfcompat run` puts more forgiving functions in their places for the program, which would cost time in every step."""
