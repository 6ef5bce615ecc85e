"""TensorArrays that are resources of a step, for loops that TensorFlow's masters divide over several tasks.

Elsewhere a flow carries the elements (ops/flow/array_value.py). Between tasks it is TensorFlow's float, which orders operations and says nothing
else. The elements are then behind the handle: its value is a StepArray, which operations change, and which ends with the values of the step.
Nodes on such arrays get op types of their own when a part is registered (`part`). They have the signatures of TensorFlow's op types, run on the
host, and return the flow that they receive.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph import op_spec
from tfcompat._src.graph.op_spec import HOST, Effects, NotDifferentiable
from tfcompat._src.ops.flow.array_value import HostArray, invalid
from tfcompat._src.ops.flow.tensor_array_ops import host_tensor_array, require_dtype

_T = TypeVar("_T")


class StepArray:
    """A TensorArray that the operations of a step share.

    Args:
      elements: its elements at first. frees: whether a read frees the element.
    """

    shape, ndim = (), 0

    def __init__(self, elements: HostArray, frees: bool) -> None:
        self._elements, self._frees = elements, frees
        self._read: set[int] = set()
        self._gradients: dict[str, StepArray] = {}
        self._is_closed = False
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def _opened(self) -> Iterator[HostArray]:
        """Returns a context in which no other thread uses the elements, which it holds; InvalidArgumentError if the array is closed."""
        with self._lock:
            if self._is_closed:
                raise invalid(f"TensorArray {self._elements.meta.name} has already been closed.")
            yield self._elements

    def write(self, dtype: object, indices: Iterable[int], changed: Callable[[HostArray], HostArray]) -> None:
        """Replaces the elements by the result of `changed`, which writes elements of a dtype at `indices`."""
        with self._opened() as elements:
            require_dtype(elements, dtype, "is trying to write")
            for index in self._read.intersection(indices):
                raise invalid(f"TensorArray {elements.meta.name}: Could not write to TensorArray index {index} because it has already been read.")
            self._elements = changed(elements)

    def read(self, dtype: object, indices: Sequence[int] | None, value_of: Callable[[HostArray], _T]) -> _T:
        """Returns the result of `value_of`, which reads elements of a dtype at `indices`, or all elements for None."""
        with self._opened() as elements:
            require_dtype(elements, dtype, "requested")
            indices = range(len(elements.items)) if indices is None else indices
            for index in self._read.intersection(indices if self._frees else ()):
                raise invalid(
                    f"TensorArray {elements.meta.name}: Could not read index {index} twice because it was cleared after a previous read "
                    "(perhaps try setting clear_after_read = false?)."
                )
            value = value_of(elements)
            self._read.update(indices)
            if self._frees:
                self._elements = _freed(elements, indices)
            return value

    def size(self) -> NDArray:
        """Returns the number of elements."""
        with self._opened() as elements:
            return elements.size()

    def gradient(self, source: str, first_sizes: tuple[int, ...] = ()) -> StepArray:
        """Returns the array in which a call of tf.gradients, `source`, adds up the gradients of the elements.

        Its elements have `first_sizes` before the sizes of these.
        """
        with self._opened() as elements:
            if elements.meta.source:
                raise invalid(f"Wrong input container. _tensor_array_grads{elements.meta.name}")
            if source not in self._gradients:
                # As in TensorFlow, an array does not grow any more once it has gradients.
                self._elements = HostArray(replace(elements.meta, dynamic=False), elements.items)
                zeros = self._elements.gradient(source, first_sizes)
                named = replace(zeros.meta, name=f"{elements.meta.name}@{source}")
                self._gradients[source] = StepArray(HostArray(named, zeros.items), True)
            return self._gradients[source]

    def close(self) -> None:
        """Drops the elements; later uses raise InvalidArgumentError."""
        with self._lock:
            self._is_closed = True
            self._elements = HostArray(self._elements.meta, [])


def _freed(elements: HostArray, indices: Iterable[int]) -> HostArray:
    """Returns the array without the numbers at `indices`; gradients need the shapes."""
    items = list(elements.items)
    for index in indices:
        if items[index] is not None:
            items[index] = np.broadcast_to(np.zeros((), items[index].dtype), items[index].shape)
    return HostArray(elements.meta, items)


# ---- the ops ----


def _make(
    size: NDArray, *, dtype: object, element_shape: TensorShape, dynamic_size: bool, clear_after_read: bool, identical_element_shapes: bool,
    tensor_array_name: str,
) -> tuple[StepArray, object]:  # fmt: skip
    _, elements = host_tensor_array(
        size, dtype=dtype, element_shape=element_shape, dynamic_size=dynamic_size, identical_element_shapes=identical_element_shapes,
        tensor_array_name=tensor_array_name,
    )  # fmt: skip
    return StepArray(elements, clear_after_read), np.float32(0)


def _gradient(handle: StepArray, flow: object, *, source: str) -> tuple[StepArray, object]:
    return handle.gradient(source), flow


def _wider_gradient(handle: StepArray, flow: object, shape_to_prepend: NDArray, *, source: str) -> tuple[StepArray, object]:
    return handle.gradient(source, tuple(shape_to_prepend.tolist())), flow


def _write(handle: StepArray, index: NDArray, value: NDArray, flow: object, *, T: object) -> object:
    handle.write(T, index.ravel().tolist(), lambda elements: elements.write(index, value))
    return flow


def _scatter(handle: StepArray, indices: NDArray, value: NDArray, flow: object, *, T: object) -> object:
    handle.write(T, indices.ravel().tolist(), lambda elements: elements.scatter(indices, value))
    return flow


def _split(handle: StepArray, value: NDArray, lengths: NDArray, flow: object, *, T: object) -> object:
    handle.write(T, range(lengths.size), lambda elements: elements.split(value, lengths))
    return flow


def _read(handle: StepArray, index: NDArray, flow: object, *, dtype: object) -> object:
    return handle.read(dtype, index.ravel().tolist(), lambda elements: elements.read(index))


def _gather(handle: StepArray, indices: NDArray, flow: object, *, dtype: object, element_shape: TensorShape) -> object:
    return handle.read(dtype, indices.ravel().tolist(), lambda elements: elements.gather(indices, element_shape.sizes))


def _concat(handle: StepArray, flow: object, *, dtype: object, element_shape_except0: TensorShape) -> object:
    return handle.read(dtype, None, lambda elements: elements.concat(element_shape_except0.sizes))


def _size(handle: StepArray, flow: object) -> object:
    return handle.size()


def _close(handle: StepArray) -> tuple[()]:
    handle.close()
    return ()


_KERNELS: dict[str, Callable[..., object]] = {
    "TensorArrayV3": _make, "TensorArrayGradV3": _gradient, "TensorArrayGradWithShape": _wider_gradient, "TensorArrayWriteV3": _write,
    "TensorArrayScatterV3": _scatter, "TensorArraySplitV3": _split, "TensorArrayReadV3": _read, "TensorArrayGatherV3": _gather,
    "TensorArrayConcatV3": _concat, "TensorArraySizeV3": _size, "TensorArrayCloseV3": _close,
}  # fmt: skip
_MAKERS = ("TensorArrayV3", "TensorArrayGradV3", "TensorArrayGradWithShape")

OF_STEP_ARRAYS = {name: f"_Step{name}" for name in _KERNELS}
"""The op types of StepArrays by those of TensorFlow."""
MAKES_STEP_ARRAY = frozenset(OF_STEP_ARRAYS[name] for name in _MAKERS)
"""The op types that return StepArrays."""

for _name, _kernel in _KERNELS.items():
    _spec = op_spec.get(_name)
    op_spec.op(
        OF_STEP_ARRAYS[_name], _spec.text, shape=_spec.shape, gradient=NotDifferentiable("the master has made the gradients of its parts"),
        kernel=_kernel, side=HOST, effects=Effects(external=True, creates=_name in _MAKERS),
    )  # fmt: skip
