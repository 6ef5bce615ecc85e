"""The Python side of Dataset.from_generator: running generators by id, and the py_func that takes and checks their elements."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, SupportsInt

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.data import nest, structure
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.ops.control.py_func import numpy_function

if TYPE_CHECKING:
    from tfcompat._src.data.structured_function import StructuredFunctionWrapper


class GeneratorState:
    """Holds the running Python iterators of one from_generator dataset, each under an id that its nodes pass around as a tensor."""

    def __init__(self, generator: Callable[..., Any]) -> None:
        self._generator, self._numbers, self._lock = generator, itertools.count(), threading.Lock()
        self._arguments: dict[int, tuple[Any, ...]] = {}
        self._running: dict[int, Iterator[Any]] = {}

    def get_next_id(self, *args: object) -> np.int64:
        """Returns the id of a new iterator, whose generator will be called with `args`."""
        with self._lock:
            number = next(self._numbers)
            self._arguments[number] = args
        return np.int64(number)

    def get_iterator(self, number: SupportsInt) -> Iterator[Any]:
        """Returns the iterator with an id; the first time, calls the generator."""
        number = int(number)
        if number not in self._running:
            self._running[number] = iter(self._generator(*self._arguments.pop(number)))
        return self._running[number]

    def iterator_completed(self, number: SupportsInt) -> None:
        """Drops an iterator, so that a generator is closed."""
        self._running.pop(int(number), None)
        self._arguments.pop(int(number), None)


def next_function(state: GeneratorState, output_types: object, output_shapes: object) -> Callable[..., Any]:
    """Returns a graph function that maps an iterator's id to its next element, a structure of tensors.

    The end of the generator, StopIteration, is OutOfRangeError in the graph. An element with another structure, dtype or shape raises.
    """
    kinds = [dtypes.as_dtype(kind) for kind in nest.flatten(output_types)]
    shapes = nest.flatten(output_shapes)

    # The Python side, called for each element. A list in the yielded value is a leaf, which becomes a tensor.
    def take(number: SupportsInt) -> list[NDArray]:
        values = next(state.get_iterator(number))
        try:
            leaves = nest.flatten_up_to(output_types, values)
        except (TypeError, ValueError):
            raise TypeError(
                "`generator` yielded an element that did not match the expected structure. The expected structure was "
                f"{output_types}, but the yielded element was {values}."
            ) from None
        return [_checked(*each) for each in zip(leaves, kinds, shapes)]

    def generator_next_fn(number: Tensor) -> Any:
        # A py_func's outputs have no static shapes of their own.
        tensors = numpy_function(take, [number], kinds)
        for tensor, shape in zip(tensors, shapes):
            tensor.set_shape(shape)
        return nest.pack_sequence_as(output_types, tensors)

    return generator_next_fn


def _checked(value: object, kind: dtypes.DType, shape: TensorShape) -> NDArray:
    """Returns a yielded component as an array; TypeError or ValueError if it has another dtype or shape."""
    try:
        array = _as_array(value, kind)
    except (TypeError, ValueError):
        raise TypeError(
            "`generator` yielded an element that could not be converted to the expected type. The expected type was "
            f"{kind.name}, but the yielded element was {value}."
        ) from None
    if array.dtype != kind.as_numpy_dtype:
        raise TypeError(f"`generator` yielded an element of type {array.dtype} where an element of type {kind.as_numpy_dtype} was expected.")
    if not shape.is_compatible_with(array.shape):
        raise ValueError(f"`generator` yielded an element of shape {array.shape} where an element of shape {shape} was expected.")
    return array


def _as_array(value: object, kind: dtypes.DType) -> NDArray:
    """Converts a value to an array; strings to an array of objects, each of bytes."""
    if kind != dtypes.string:
        return np.asarray(value, kind.as_numpy_dtype, order="C")
    array = np.asarray(value, order="C")
    if array.dtype.kind not in "SUO":
        raise TypeError(f"{value!r} is not a string")
    flat = [v.encode() if isinstance(v, str) else bytes(v) for v in array.reshape(-1).tolist()]
    strings = np.empty(len(flat), object)
    strings[:] = flat
    return strings.reshape(array.shape)


def call_python(function: Callable[..., Any], arguments: list[Tensor], kind: dtypes.DType) -> Tensor:
    """Adds a node that calls a Python function with arrays; returns its result, one tensor of dtype `kind`."""
    result: Tensor = numpy_function(function, arguments, kind)
    return result


def generator_variant(init_args: list[Tensor], first: StructuredFunctionWrapper, following: StructuredFunctionWrapper, last: StructuredFunctionWrapper) -> Tensor:
    """Adds a GeneratorDataset node with the functions init (called with `init_args`), next and finalize; returns its variant."""
    made: Tensor = raw.GeneratorDataset(
        [*init_args, *first.captured_inputs], following.captured_inputs, last.captured_inputs, init_func=first.reference, next_func=following.reference,
        finalize_func=last.reference, output_types=structure.get_flat_tensor_types(following.output_structure),
        output_shapes=structure.get_flat_tensor_shapes(following.output_structure),
    )  # fmt: skip
    return made
