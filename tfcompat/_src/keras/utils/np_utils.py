"""NumPy helpers: one-hot labels and rows of unit length."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfcompat._src.base.export import export


@export("keras.utils.to_categorical")
def to_categorical(y: object, num_classes: int | None = None, dtype: str = "float32") -> np.ndarray:
    """Class numbers as one-hot rows.

    Args:
      y: integers [...] or [..., 1].
      num_classes: size of the new last dimension; by default the largest class and 1.
      dtype: element type of the result.

    Raises:
      IndexError: a class is not below `num_classes`.
    """
    classes = np.array(y, dtype=int)
    if classes.ndim > 1 and classes.shape[-1] == 1:
        classes = classes[..., 0]
    count = num_classes or int(np.max(classes)) + 1
    return np.eye(count, dtype=dtype)[classes]


@export("keras.utils.normalize")
def normalize(x: Any, axis: int = -1, order: int = 2) -> np.ndarray:
    """`x` over its norms of `order` along `axis`; where a norm is 0, `x` itself."""
    norms = np.atleast_1d(np.linalg.norm(x, order, axis))
    norms[norms == 0] = 1
    return x / np.expand_dims(norms, axis)
