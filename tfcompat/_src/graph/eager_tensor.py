"""Eager tensors and operations: results of operations that run when they are called.

A tensor does not keep its operation alive: a tape does. The reference to it is weak, and `op` is rebuilt when it is gone.
"""

from __future__ import annotations

import copy
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from tfcompat._src.base import dtypes, jax_compat
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.default_stack import get_eager_graph
from tfcompat._src.base.dtypes import DTypeLike
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph import op_spec, tensor_proto
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor

if TYPE_CHECKING:
    from tfcompat._src.graph.graph import Graph


class EagerTensor(Tensor):
    """A tensor that holds its value.

    Args:
      value: an array, number, string, nested list, or eager tensor.
      device: name of the device to put it on, or None for the default.
      dtype: a DType or its enum number; by default that of `value`.

    Raises:
      TypeError, ValueError: the value does not convert to that dtype. RuntimeError: there is no such device.
    """

    _sizes: tuple[int, ...]
    _last_number = 0
    _id: Any = 0
    stays_captured = False
    """Whether functions that capture this tensor must take it as an argument, and may not embed its value as a constant."""

    def __init__(self, value: object, device: str | None, dtype: DTypeLike | None = None) -> None:
        wanted = None if dtype is None else _as_dtype(dtype)
        if isinstance(value, EagerTensor):
            if wanted is not None and wanted is not value.dtype:
                raise TypeError(f"Expected tensor with type {wanted!r} not {value.dtype!r}")
            # The value is shared, as tensors are immutable.
            array, kind = value._value, value.dtype
        else:
            array = tensor_proto.to_numpy(value, wanted, None)
            kind = wanted or dtypes.as_dtype(array.dtype)
        graph = get_eager_graph()
        self._set(array, kind, graph, graph.found(device or ""), None)

    @classmethod
    def of(cls, value: object, dtype: dtypes.DType, graph: Graph, device: str, op: EagerOperation | None = None) -> EagerTensor:
        """Returns a tensor that holds `value`, without conversion.

        Args:
          value: a NumPy or JAX array, or the object that a kernel made for a resource or variant.
          dtype: the DType of `value`.
          graph: the EagerGraph in which it was made.
          device: full name of the device that it is on.
          op: the operation that made it, only for a handle without inputs; the tensor keeps it. Other operations live as long as a
            tape records them.
        """
        tensor = cls.__new__(cls)
        tensor._set(value, dtype, graph, device, op)
        return tensor

    def _set(self, value: object, dtype: dtypes.DType, graph: Graph, device: str, op: EagerOperation | None) -> None:
        EagerTensor._last_number += 1
        self._id = EagerTensor._last_number
        # The values of resources and variants are no arrays; they are scalars.
        self._value: Any = value  # as `of` says
        self._dtype, self._graph, self._device = dtype, graph, device
        self._sizes = tuple(value.shape) if isinstance(value, (np.ndarray, jax.Array)) else ()
        self._value_index = 0
        self._handle_data = None
        self._producer: Callable[[], Operation | None] | None = None
        # The operation is kept without its outputs, so that tensor and operation form no reference cycle.
        self._made_by = None if op is None else op.without_outputs()

    def recorded_as(self, op: Operation, index: int) -> None:
        """Records that this tensor is output `index` of an operation, which a tape keeps alive."""
        self._producer, self._value_index = weakref.ref(op), index

    @property
    def _op(self) -> Operation:  # type: ignore[override]  # a property, as the operation may be rebuilt
        producer = None if self._producer is None else self._producer()
        if producer is None:
            producer = _Source(self) if self._made_by is None else self._made_by.giving(self)
        return producer

    @property
    def op(self) -> Operation:
        return self._op

    @property
    def graph(self) -> Graph:
        return self._graph

    @property
    def name(self) -> str:
        raise AttributeError("Tensor.name is meaningless when eager execution is enabled.")

    @property
    def device(self) -> str:
        return self._device

    @property
    def backing_device(self) -> str:
        return self._device

    def set_shape(self, shape: object) -> None:
        """Checks that `shape` is compatible with the tensor's shape; raises ValueError if it is not."""
        if not self.shape.is_compatible_with(shape):
            raise ValueError(f"Tensor's shape {self.shape.sizes} is not compatible with supplied shape {TensorShape(shape).sizes}")

    def eval(self, feed_dict: dict[Any, Any] | None = None, session: SessionLike | None = None) -> Any:
        """Raises NotImplementedError: an eager tensor has its value already."""
        raise NotImplementedError("eval is not supported when eager execution is enabled, is .numpy() what you're looking for?")

    def consumers(self) -> list[Operation]:
        """Raises NotImplementedError: the operations that took an eager tensor are not recorded."""
        raise NotImplementedError("consumers not supported for EagerTensor.")

    # ---- the value ----

    def _numpy(self) -> NDArray:
        """Returns the value as a NumPy array, which may share memory with the tensor; quantized values as plain integers."""
        if self._dtype in (dtypes.resource, dtypes.variant):
            raise ValueError(f"Cannot convert a Tensor of dtype {self._dtype.name} to a NumPy array.")
        array: NDArray = self._value
        # JAX converts under x64, where 64-bit dtypes are real.
        if not isinstance(array, np.ndarray):
            with jax_compat.x64():
                array = np.asarray(array)
        # A quantized value is a structured array with one field.
        return array[array.dtype.names[0]] if array.dtype.names else array

    def numpy(self) -> Any:
        """Returns a copy of the value as a NumPy array, or a NumPy scalar if the rank is 0."""
        array = self._numpy()
        return array.copy() if array.ndim else array[()]

    def __array__(self, dtype: np.typing.DTypeLike | None = None, copy: bool | None = None) -> NDArray:
        return np.array(self._numpy(), dtype=dtype)

    def __buffer__(self, flags: int) -> memoryview:
        return self._numpy().data.toreadonly()  # Python calls this from version 3.12 on (PEP 688)

    def cpu(self) -> EagerTensor:
        """Returns the tensor in host memory."""
        return self._copy(None, "CPU:0")

    def gpu(self, gpu_index: int = 0) -> EagerTensor:
        """Returns the tensor in the memory of a GPU; raises RuntimeError if there is no such GPU."""
        return self._copy(None, f"GPU:{gpu_index}")

    def _copy(self, ctx: object = None, device_name: str | None = None) -> EagerTensor:
        graph: Any = self._graph  # an EagerGraph, a class of a higher layer
        copied: EagerTensor = graph.copied(self, device_name)
        return copied

    def _number(self) -> Any:
        if self._sizes != ():
            raise TypeError("only size-1 arrays can be converted to Python scalars")
        return self._numpy()[()]

    def __int__(self) -> int:
        return int(self._number())

    def __float__(self) -> float:
        return float(self._number())

    def __complex__(self) -> complex:
        return complex(self._number())

    def __index__(self) -> int:
        if not self._dtype.is_integer:
            raise TypeError(f"A tensor of dtype {self._dtype.name} cannot be an index; cast it to an integer dtype.")
        return int(self._number())

    def __bool__(self) -> bool:
        return bool(self._numpy())

    __nonzero__ = __bool__

    def __format__(self, spec: str) -> str:
        return format(self._numpy() if self._sizes else self._number(), spec)

    def __len__(self) -> int:
        if not self._sizes:
            raise TypeError("Scalar tensor has no `len()`")
        return self._sizes[0]

    def __iter__(self) -> Iterator[Any]:
        if not self._sizes:
            raise TypeError("Cannot iterate over a scalar tensor.")
        return iter([self[i] for i in range(self._sizes[0])])

    def __reduce__(self) -> Any:
        raise TypeError("can't pickle EagerTensor objects")

    def __copy__(self) -> EagerTensor:
        return self

    def __deepcopy__(self, memo: dict[Any, Any]) -> EagerTensor:
        return self

    def __str__(self) -> str:
        return f"tf.Tensor({self._text(False)}, shape={self._shape_text()}, dtype={self._dtype.name})"

    def __repr__(self) -> str:
        return f"<tf.Tensor: id={self._id}, shape={self._shape_text()}, dtype={self._dtype.name}, numpy={self._text(True)}>"

    def _shape_text(self) -> str:
        return str(self._sizes)

    def _text(self, is_repr: bool) -> str:
        if not self._dtype.is_numpy_compatible or self._dtype in (dtypes.resource, dtypes.variant):
            return "<unprintable>"
        array = self._numpy()
        text = repr(array if array.ndim else array[()].item() if hasattr(array[()], "item") else array[()]) if is_repr else str(array)
        return "\n" + text if "\n" in text else text


def _as_dtype(dtype: DTypeLike | None) -> dtypes.DType:
    """Returns `dtype` as a DType; raises TypeError in the words of 1.15's eager runtime."""
    try:
        return dtypes.as_dtype(dtype)
    except TypeError:
        if isinstance(dtype, int):
            raise TypeError(f"Invalid dtype argument value {dtype}") from None
        raise TypeError(f"Expecting a DataType value for dtype. Got {type(dtype).__name__}") from None


class EagerOperation(Operation):
    """An operation that has run: its inputs and outputs have values."""

    takes: tuple[EagerTensor, ...]
    outputs: list[Tensor] = []  # set when it has run

    def __init__(self, graph: Graph, spec: op_spec.OpSpec, inputs: Iterable[Tensor], attrs: dict[str, Any], number: int) -> None:
        super().__init__(graph, spec, f"{spec.name}_{number}", inputs, (), attrs, (), number, ())

    def without_outputs(self) -> EagerOperation:
        """Returns a copy without outputs, which an output can keep without a reference cycle."""
        copied = copy.copy(self)
        copied.outputs = []
        return copied

    def giving(self, tensor: Tensor) -> EagerOperation:
        """Returns a copy whose only output is `tensor`."""
        copied = copy.copy(self)
        copied.outputs = [tensor]
        return copied

    @classmethod
    def of_function(cls, graph: Any, inputs: Iterable[Tensor], outputs: list[Tensor], gradient: Callable[..., Any]) -> EagerOperation:
        """Returns an operation that a tape records for a whole function, with its inputs, outputs and `gradient(op, *grads)`."""
        operation = cls(graph, op_spec.get("IdentityN"), inputs, {}, graph.next_number())
        operation.outputs, operation._gradient_function = outputs, gradient
        return operation


class _Source(Operation):
    """The `op` of a tensor whose operation no tape kept: a placeholder without inputs."""

    def __init__(self, tensor: EagerTensor) -> None:
        attrs = {"dtype": tensor.dtype, "shape": tensor.shape}
        super().__init__(tensor._graph, op_spec.get("Placeholder"), "EagerTensor", (), (), attrs, (), 0, ())
        self._outputs = [tensor]


def eager_value(tensor: object) -> NDArray | None:
    """Returns the value of an eager tensor of numbers or strings, else None."""
    if isinstance(tensor, EagerTensor) and tensor.dtype not in (dtypes.resource, dtypes.variant):
        return tensor._numpy()
    return None


