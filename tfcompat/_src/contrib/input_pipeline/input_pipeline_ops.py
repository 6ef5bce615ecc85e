"""tf.contrib.input_pipeline: the elements of a list of strings, one in each run."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import NotDifferentiable, op, updates
from tfcompat._src.graph.scopes import colocate_with, control_dependencies
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant
from tfcompat._src.variables.scope import get_variable, variable_scope

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def _shape(c):
    si.with_rank(c.inputs[0], 1)
    si.with_rank(c.inputs[1], 0)
    return [()]


@op(
    "ObtainNext", "(list: string, counter: Ref(int64)) -> (out_element: string)", shape=_shape,
    gradient=NotDifferentiable("1.15 registers none", raises=True), effects=updates("counter"), fold=True,
)  # fmt: skip
def _obtain_next(elements, counter):
    following = np.int64((counter + 1) % len(elements))
    return following, elements[following]


@export("contrib.input_pipeline.obtain_next")
def obtain_next(string_list_tensor: TensorLike, counter: TensorLike) -> Tensor:
    """The element after the one that a counter points to, round and round.

    Args:
      string_list_tensor: string Tensor [n].
      counter: int64 scalar Variable, which then points to the element that is given.
    """
    return raw.ObtainNext(string_list_tensor, counter)


def _repeated(elements: list[str], shuffle: bool, seed: int | None, num_epochs: int | None) -> list[str]:
    """The elements of all epochs; each epoch shuffles the list anew."""
    if shuffle and seed:
        random.seed(seed)
    found: list[str] = []
    for _ in range(num_epochs or 1):
        if shuffle:
            random.shuffle(elements)
        found += elements
    return found


def seek_next(
    string_list: list[str], shuffle: bool = False, seed: int | None = None, num_epochs: int | None = None
) -> Tensor:
    """The next element of a list in each run.

    Args:
      string_list: list of strings; shuffled in place if `shuffle`.
      shuffle: whether each epoch has an order of its own.
      seed: seed of Python's generator, for shuffling.
      num_epochs: how often each element is given before OutOfRangeError; by default forever.
    """
    elements = _repeated(string_list, shuffle, seed, num_epochs)
    with variable_scope("obtain_next"):
        counter = get_variable(
            name="obtain_next_counter",
            initializer=constant(-1, dtype=dtypes.int64),
            dtype=dtypes.int64,
            trainable=False,
        )
        with colocate_with(counter):
            strings = get_variable(
                name="obtain_next_expanded_list", initializer=constant(elements), dtype=dtypes.string, trainable=False
            )
        if not num_epochs:
            return obtain_next(strings, counter)
        given = get_variable(
            name="obtain_next_filename_counter",
            initializer=constant(0, dtype=dtypes.int64),
            dtype=dtypes.int64,
            trainable=False,
        )
        with control_dependencies([given.count_up_to(len(elements))]):
            return obtain_next(strings, counter)
