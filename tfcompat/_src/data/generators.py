"""Datasets of what Python generators yield."""

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
    """The generators that are running, by number."""

    def __init__(self, generator: Callable[..., Any]) -> None:
        self._generator, self._numbers, self._lock = generator, itertools.count(), threading.Lock()
        self._arguments: dict[int, tuple[Any, ...]] = {}
        self._running: dict[int, Iterator[Any]] = {}

    def get_next_id(self, *args: object) -> np.int64:
        """A number for a generator that will be called with `args`."""
        with self._lock:
            number = next(self._numbers)
            self._arguments[number] = args
        return np.int64(number)

    def get_iterator(self, number: SupportsInt) -> Iterator[Any]:
        """The generator with a number; it is called when it is first asked for."""
        number = int(number)
        if number not in self._running:
            self._running[number] = iter(self._generator(*self._arguments.pop(number)))
        return self._running[number]

    def iterator_completed(self, number: SupportsInt) -> None:
        """Forgets a generator."""
        self._running.pop(int(number), None)
        self._arguments.pop(int(number), None)


def next_function(state: GeneratorState, output_types: object, output_shapes: object) -> Callable[..., Any]:
    """The function of a generator's number that gives its next element, as a structure of tensors."""
    kinds = [dtypes.as_dtype(kind) for kind in nest.flatten(output_types)]
    shapes = nest.flatten(output_shapes)

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
        found = numpy_function(take, [number], kinds)
        for tensor, shape in zip(found, shapes):
            tensor.set_shape(shape)
        return nest.pack_sequence_as(output_types, found)

    return generator_next_fn


def _checked(value: object, kind: dtypes.DType, shape: TensorShape) -> NDArray:
    try:
        found = _as_array(value, kind)
    except (TypeError, ValueError):
        raise TypeError(
            "`generator` yielded an element that could not be converted to the expected type. The expected type was "
            f"{kind.name}, but the yielded element was {value}."
        ) from None
    if found.dtype != kind.as_numpy_dtype:
        raise TypeError(f"`generator` yielded an element of type {found.dtype} where an element of type {kind.as_numpy_dtype} was expected.")
    if not shape.is_compatible_with(found.shape):
        raise ValueError(f"`generator` yielded an element of shape {found.shape} where an element of shape {shape} was expected.")
    return found


def _as_array(value: object, kind: dtypes.DType) -> NDArray:
    if kind != dtypes.string:
        return np.asarray(value, kind.as_numpy_dtype, order="C")
    found = np.asarray(value, order="C")
    if found.dtype.kind not in "SUO":
        raise TypeError(f"{value!r} is no string")
    flat = [v.encode() if isinstance(v, str) else bytes(v) for v in found.reshape(-1).tolist()]
    strings = np.empty(len(flat), object)
    strings[:] = flat
    return strings.reshape(found.shape)


def call_python(function: Callable[..., Any], arguments: list[Tensor], kind: dtypes.DType) -> Tensor:
    """The node of a Python function of arrays that gives one array."""
    found: Tensor = numpy_function(function, arguments, kind)
    return found


def generator_variant(init_args: list[Tensor], first: StructuredFunctionWrapper, following: StructuredFunctionWrapper, last: StructuredFunctionWrapper) -> Tensor:
    """The node of a dataset of three functions: what begins (with `init_args`), what gives an element, what ends."""
    made: Tensor = raw.GeneratorDataset(
        [*init_args, *first.captured_inputs], following.captured_inputs, last.captured_inputs, init_func=first.reference, next_func=following.reference,
        finalize_func=last.reference, output_types=structure.get_flat_tensor_types(following.output_structure),
        output_shapes=structure.get_flat_tensor_shapes(following.output_structure),
    )  # fmt: skip
    return made
