"""Calls in a function that say something about its code: the options of loops, the elements of lists."""

from __future__ import annotations

from typing import Any, NamedTuple

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export

UNSPECIFIED = object()
"""The default value of every optional argument of a directive."""


@export("autograph.experimental.set_loop_options", "contrib.autograph.set_loop_options")
def set_loop_options(
    parallel_iterations: Any = UNSPECIFIED, back_prop: Any = UNSPECIFIED, swap_memory: Any = UNSPECIFIED,
    maximum_iterations: Any = UNSPECIFIED,
) -> None:  # fmt: skip
    """Options of the loop that a call stands in, which TensorFlow 1.15 accepts and no loop takes: it has no effect.

    Args:
      parallel_iterations, back_prop, swap_memory, maximum_iterations: as in tf.while_loop.
    """


class ElementType(NamedTuple):
    """The dtype and the shape of the elements of a list, None where it is not known."""

    dtype: Any
    shape: Any


@export("contrib.autograph.set_element_type")
def set_element_type(entity: Any, dtype: Any, shape: Any = UNSPECIFIED) -> ElementType:
    """Says what the elements of a list are; it acts in code that is converted with Feature.LISTS.

    Args:
      entity: the list, a local variable. dtype: of its elements. shape: of its elements.
    """
    return ElementType(dtypes.as_dtype(dtype), None if shape is UNSPECIFIED else shape)
