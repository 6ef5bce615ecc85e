"""tf.TensorArray: an array of tensors that loops write and read element by element."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes, errors
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape, as_shape, dimension_value
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.scopes import colocate_with, control_dependencies, device, executing_eagerly, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.nodes.tensor_spec import TensorSpec
from tfcompat._src.nodes.type_spec import TypeSpec, register_type_spec_from_value_converter
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.platform import logging

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.dtypes import DTypeLike
    from tfcompat._src.base.tensor_shape import ShapeLike


@export("TensorArray")
class TensorArray:
    """An array of tensors, each written once; every write gives the array after it.

    Args:
      dtype: dtype of the elements.
      size: int32 scalar, the number of elements; not given where `handle` is.
      dynamic_size: whether writes past the end make it longer.
      clear_after_read: whether TensorFlow frees an element when it was read.
      tensor_array_name: name of the resource.
      handle, flow: of an array that exists, in place of `size`.
      infer_shape: whether all elements have one shape, which is then inferred.
      element_shape: static shape of the elements, as far as it is known.
      colocate_with_first_write_call: places it on the device of the first write.
      name: node name.

    Raises:
      ValueError: neither or both of `size` and `handle` are given, or an argument that only a new array takes.
      TypeError: `handle` is no Tensor.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> TensorArray:
        return super().__new__(EagerTensorArray if cls is TensorArray and executing_eagerly() else cls)

    def __init__(
        self, dtype: Any, size: Any = None, dynamic_size: bool | None = None, clear_after_read: bool | None = None,
        tensor_array_name: str | None = None, handle: Any = None, flow: Any = None, infer_shape: bool = True,
        element_shape: Any = None, colocate_with_first_write_call: bool = True, name: str | None = None,
    ) -> None:  # fmt: skip
        _check_arguments(size, dynamic_size, clear_after_read, tensor_array_name, handle, element_shape)
        self._dynamic_size = dynamic_size or False
        self._dtype = dtypes.as_dtype(dtype).base_dtype
        self._colocate_with_first_write_call = colocate_with_first_write_call
        self._colocate_with: list[Any] | None = [] if colocate_with_first_write_call else None
        self._element_shape = [as_shape(element_shape)]
        self._infer_shape = infer_shape
        with name_scope(name, "TensorArray", [handle, size, flow]) as scope:
            if handle is not None:
                if flow is None:
                    raise ValueError("flow must not be None if handle is not None.")
                self._handle, self._flow = handle, flow
                return
            with contextlib.ExitStack() as places:
                if colocate_with_first_write_call:
                    places.enter_context(device(None))
                    places.enter_context(colocate_with(None, ignore_existing=True))
                self._handle, self._flow = raw.TensorArrayV3(
                    size, dtype=dtype, element_shape=element_shape, identical_element_shapes=infer_shape,
                    dynamic_size=self._dynamic_size, clear_after_read=clear_after_read is None or clear_after_read,
                    tensor_array_name=tensor_array_name, name=scope,
                )  # fmt: skip

    @property
    def flow(self) -> Tensor:
        return self._flow

    @property
    def dtype(self) -> dtypes.DType:
        return self._dtype

    @property
    def handle(self) -> Tensor:
        return self._handle

    @property
    def element_shape(self) -> TensorShape:
        return self._element_shape[0]

    @property
    def dynamic_size(self) -> bool:
        return self._dynamic_size

    @property
    def _implementation(self) -> TensorArray:
        return self

    def _check_element_shape(self, shape: TensorShape) -> None:
        if not shape.is_compatible_with(self.element_shape):
            raise ValueError(f"Inconsistent shapes: saw {shape} but expected {self.element_shape} ")
        if self._infer_shape:
            self._element_shape[0] = self.element_shape.merge_with(shape)

    @contextlib.contextmanager
    def _beside(self, value: Tensor) -> Iterator[None]:
        """Places nodes with the value that was written first."""
        if self._colocate_with is None:
            yield
            return
        if not self._colocate_with:
            self._colocate_with.append(value)
        with colocate_with(self._colocate_with[0]):
            yield

    def _after(self, flow: Tensor) -> TensorArray:
        found = TensorArray(
            self._dtype, handle=self.handle, flow=flow, infer_shape=self._infer_shape,
            colocate_with_first_write_call=self._colocate_with_first_write_call,
        )  # fmt: skip
        found._dynamic_size, found._colocate_with, found._element_shape = self._dynamic_size, self._colocate_with, self._element_shape
        return found

    def identity(self) -> TensorArray:
        """The same array, with a flow of its own."""
        return self._after(raw.Identity(self._flow))

    def grad(self, source: str, flow: Any = None, name: str | None = None) -> TensorArray:
        """The array in which gradients of the elements add up; `source` tells those of several gradient calls apart."""
        flow = self.flow if flow is None else flow
        with name_scope(name, "TensorArrayGrad", [self._handle]), colocate_with(self._handle):
            handle, _ = raw.TensorArrayGradV3(self._handle, flow, source=source, name=name)
            with control_dependencies([handle]):
                flow = raw.Identity(flow, name="gradient_flow")
            found = TensorArray(self._dtype, handle=handle, flow=flow, infer_shape=self._infer_shape, colocate_with_first_write_call=False)
            found._element_shape = self._element_shape
            return found

    def read(self, index: Any, name: str | None = None) -> Tensor:
        """The element at `index`, an int32 scalar."""
        value = raw.TensorArrayReadV3(self._handle, index, self._flow, dtype=self._dtype, name=name)
        value.set_shape(self.element_shape)
        return value

    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArray:
        """The array with `value` at `index`."""
        with name_scope(name, "TensorArrayWrite", [self._handle, index, value]):
            value = convert_to_tensor(value, preferred_dtype=self._dtype, name="value")
            self._check_dtype(value)
            self._check_element_shape(value.shape)
            with self._beside(value):
                return self._after(raw.TensorArrayWriteV3(self._handle, index, value, self._flow, name=name))

    def _check_dtype(self, value: Tensor) -> None:
        if value.dtype != self._dtype:
            logging.error(
                "Error: Input value %s has dtype %s, but expected dtype %s.  This leads to undefined behavior and will be an error in "
                "future versions of TensorFlow.", value, value.dtype, self._dtype,
            )  # fmt: skip

    def stack(self, name: str | None = None) -> Tensor:
        """All elements as one tensor."""
        with colocate_with(self._handle), name_scope(name, "TensorArrayStack", [self._handle]):
            return self.gather(arange(0, self.size()), name=name)

    def gather(self, indices: Any, name: str | None = None) -> Tensor:
        """The elements at `indices`, an int32 vector, stacked."""
        value = raw.TensorArrayGatherV3(
            self._handle, indices, self._flow, dtype=self._dtype, name=name, element_shape=self.element_shape
        )
        if self.element_shape.sizes is not None:
            count = value.op.inputs[1].shape[0] if value.graph.building_function else None  # 1.15's lists know it in functions alone
            value.set_shape([count, *self.element_shape.sizes])
        return value

    def mark_used(self) -> None:
        """Does nothing: tfcompat has no warning, as 1.15 has, that an array which was written is never used."""

    def concat(self, name: str | None = None) -> Tensor:
        """The elements one after another along their first dimension."""
        sizes = self.element_shape.sizes
        value, _ = raw.TensorArrayConcatV3(
            self._handle, self._flow, dtype=self._dtype, name=name, element_shape_except0=None if sizes is None else sizes[1:]
        )
        if sizes is not None:
            value.set_shape([None, *sizes[1:]])
        return value

    def unstack(self, value: Any, name: str | None = None) -> TensorArray:
        """The array whose elements are the rows of `value`."""
        with name_scope(name, "TensorArrayUnstack", [self._handle, value]):
            count = shape_of(value)[0]
            return self.scatter(indices=arange(0, count), value=value, name=name)

    def scatter(self, indices: Any, value: Any, name: str | None = None) -> TensorArray:
        """The array with row k of `value` at `indices[k]`."""
        with name_scope(name, "TensorArrayScatter", [self._handle, value, indices]):
            value = convert_to_tensor(value, preferred_dtype=self._dtype, name="value")
            self._check_dtype(value)
            self._check_element_shape(value.shape[1:])
            with self._beside(value):
                return self._after(raw.TensorArrayScatterV3(self._handle, indices, value, self._flow, name=name))

    def split(self, value: Any, lengths: Any, name: str | None = None) -> TensorArray:
        """The array whose elements are consecutive parts of `value`, of `lengths` (an int vector)."""
        with name_scope(name, "TensorArraySplit", [self._handle, value, lengths]):
            value = convert_to_tensor(value, dtype=self._dtype, name="value")
            with self._beside(value):
                lengths = cast(lengths, dtypes.int64)
                known = constant_value(lengths)
                if value.shape.sizes is not None and known is not None and known.shape and len(known) and known.max() == known.min():
                    self._check_element_shape(TensorShape([int(known[0])]).concatenate(value.shape[1:]))
                return self._after(raw.TensorArraySplitV3(self._handle, value, lengths, self._flow, name=name))

    def size(self, name: str | None = None) -> Tensor:
        """The number of elements, an int32 scalar."""
        return raw.TensorArraySizeV3(self._handle, self._flow, name=name)

    def close(self, name: str | None = None) -> Any:
        """An operation that frees the array in TensorFlow."""
        return raw.TensorArrayCloseV3(self._handle, name=name)


class EagerTensorArray(TensorArray):
    """A TensorArray where operations run at once: a list of tensors, which writes change."""

    def __init__(
        self, dtype: DTypeLike, size: Any = None, dynamic_size: bool | None = None, clear_after_read: bool | None = None,
        tensor_array_name: str | None = None, handle: object = None, flow: object = None, infer_shape: bool = True,
        element_shape: ShapeLike = None, colocate_with_first_write_call: bool = True, name: str | None = None,
    ) -> None:  # fmt: skip
        if handle is not None:
            raise ValueError("TensorArray handles are not supported when eager execution is enabled.")
        if size is None:
            raise ValueError("Size must be declared for TensorArrays when eager execution is enabled.")
        self._dtype = dtypes.as_dtype(dtype).base_dtype
        self._dynamic_size = dynamic_size or False
        self._clear_after_read = clear_after_read is None or clear_after_read
        self._element_shape, self._infer_shape = [as_shape(element_shape)], infer_shape
        self._elements: list[Tensor | None] = [None] * int(size)
        self._cleared: set[int] = set()
        self._flow = constant(0, dtypes.int32)

    @property
    def handle(self) -> Tensor:
        raise NotImplementedError("TensorArray handles are not supported when eager execution is enabled.")

    def identity(self) -> TensorArray:
        return self

    def grad(self, source: str, flow: Any = None, name: str | None = None) -> TensorArray:
        raise NotImplementedError("TensorArray.grad is not supported when executing eagerly; a tape follows reads and writes.")

    def read(self, index: Any, name: str | None = None) -> Tensor:
        index = int(index)
        if not 0 <= index < len(self._elements):
            raise errors.OutOfRangeError(None, None, f"Tried to read from index {index} but array size is: {len(self._elements)} ")
        value = self._elements[index]
        if value is None:
            if index in self._cleared:
                raise errors.InvalidArgumentError(
                    None, None,
                    f"Could not read index {index} twice because it was cleared after a previous read "
                    "(perhaps try setting clear_after_read = false?)",
                )  # fmt: skip
            value = self._zeros(index)
        if self._clear_after_read:
            self._elements[index] = None
            self._cleared.add(index)
        return value

    def _zeros(self, index: int) -> Tensor:
        """What an element that was never written is; InvalidArgumentError where its shape is not known."""
        shape = self.element_shape
        if not shape.is_fully_defined():
            raise errors.InvalidArgumentError(
                None, None, f"TensorArray index {index} was not written, and its shape {shape} is not known"
            )
        self._elements[index] = found = raw.Fill(shape.as_list(), cast(0, self._dtype))
        return found

    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArray:
        self._put(int(index), value)
        return self

    def _put(self, index: int, value: TensorLike) -> None:
        if index < 0:
            raise errors.OutOfRangeError(None, None, f"Writing to negative indices (index {index}) is not allowed.")
        if index >= len(self._elements):
            if not self._dynamic_size:
                raise errors.OutOfRangeError(
                    None, None,
                    f"Tried to write to index {index} but array is not resizeable and size is: {len(self._elements)} ",
                )  # fmt: skip
            self._elements += [None] * (index + 1 - len(self._elements))
        value = convert_to_tensor(value, preferred_dtype=self._dtype)
        if value.dtype != self._dtype:
            raise errors.InvalidArgumentError(
                None, None, f"TensorArray dtype is {self._dtype.name} but Op is trying to write dtype {value.dtype.name} "
            )
        if not self.element_shape.is_compatible_with(value.shape):
            raise ValueError(f"Incompatible shape for value ({value.shape}), expected ({self.element_shape})")
        if self._infer_shape:
            self._element_shape[0] = self.element_shape.merge_with(value.shape)
        self._elements[index] = value

    def stack(self, name: str | None = None) -> Tensor:
        return self._packed([self._zeros(i) if e is None else e for i, e in enumerate(self._elements)])

    def gather(self, indices: TensorLike, name: str | None = None) -> Tensor:
        return self._packed([self.read(i) for i in convert_to_tensor(indices).numpy().tolist()])

    def _packed(self, elements: list[Tensor]) -> Tensor:
        return raw.Pack(elements) if elements else constant([], self._dtype, shape=[0, *(s or 0 for s in self.element_shape.sizes or ())])

    def concat(self, name: str | None = None) -> Tensor:
        return raw.ConcatV2([self._zeros(i) if e is None else e for i, e in enumerate(self._elements)], 0)

    def unstack(self, value: TensorLike, name: str | None = None) -> TensorArray:
        value = convert_to_tensor(value)
        rows = raw.Unpack(value, num=int(value.shape[0])) if dimension_value(value.shape[0]) else []
        if len(rows) > len(self._elements) and not self._dynamic_size:
            raise ValueError(f"Cannot unstack {len(rows)} tensors into a TensorArray of static size {len(self._elements)} ")
        self._elements = [None] * len(rows)
        for i, row in enumerate(rows):
            self._put(i, row)
        return self

    def scatter(self, indices: TensorLike, value: TensorLike, name: str | None = None) -> TensorArray:
        value = convert_to_tensor(value, preferred_dtype=self._dtype)
        for i, row in zip(convert_to_tensor(indices).numpy().tolist(), raw.Unpack(value, num=int(value.shape[0]))):
            self._put(i, row)
        return self

    def split(self, value: TensorLike, lengths: TensorLike, name: str | None = None) -> TensorArray:
        value, lengths = convert_to_tensor(value, dtype=self._dtype), cast(lengths, dtypes.int64)
        sizes = lengths.numpy()
        if sizes.ndim != 1:
            raise errors.InvalidArgumentError(None, None, f"Expected lengths to be a vector, received shape: {sizes.shape}")
        if not value.shape.ndims:
            raise errors.InvalidArgumentError(None, None, "Expected value to be at least a vector, but received a scalar")
        if sizes.sum() != value.shape[0]:
            raise errors.InvalidArgumentError(
                None, None, f"Expected sum of lengths to be equal to values.shape[0], but sum of lengths is {sizes.sum()}"
            )
        if len(sizes) > len(self._elements) and not self._dynamic_size:
            raise errors.InvalidArgumentError(
                None, None, f"TensorArray's size is not equal to the size of lengths ({len(self._elements)} vs. {len(sizes)})"
            )
        self._elements = [None] * len(sizes)
        for i, part in enumerate(raw.SplitV(value, lengths, 0, num_split=len(sizes))):
            self._put(i, part)
        return self

    def size(self, name: str | None = None) -> Tensor:
        return constant(len(self._elements), dtypes.int32)

    def close(self, name: str | None = None) -> None:
        self._elements.clear()


def _check_arguments(size: object, dynamic_size: object, clear_after_read: object, tensor_array_name: object, handle: object, element_shape: object) -> None:
    if handle is None:
        if size is None:
            raise ValueError("Size must be provided if handle is not provided")
        return
    if tensor_array_name:
        raise ValueError("Cannot construct with both handle and tensor_array_name")
    if not isinstance(handle, Tensor):
        raise TypeError("Handle must be a Tensor")
    if size is not None:
        raise ValueError("Cannot provide both a handle and size at the same time")
    for name, value in (("element_shape", element_shape), ("dynamic_size", dynamic_size), ("clear_after_read", clear_after_read)):
        if value is not None:
            raise ValueError(f"Cannot provide both a handle and {name} at the same time")


def with_flow(array: TensorArray, flow: Tensor) -> TensorArray:
    """The array after what `flow` waits for."""
    return array._after(flow)


build_ta_with_new_flow = with_flow


@export("TensorArraySpec")
class TensorArraySpec(TypeSpec):
    """The type of a TensorArray: element shape and dtype, whether it grows, and whether shapes are inferred."""

    __slots__ = ("_element_shape", "_dtype", "_dynamic_size", "_infer_shape")

    conversions: Any = None
    """What makes a list of tensors of an array, and an array of such a list and a type: `list_array` sets it."""

    value_type = property(lambda self: TensorArray)

    def __init__(self, element_shape: ShapeLike = None, dtype: DTypeLike = dtypes.float32, dynamic_size: bool = False, infer_shape: bool = True) -> None:
        self._element_shape, self._dtype = as_shape(element_shape), dtypes.as_dtype(dtype)
        self._dynamic_size, self._infer_shape = dynamic_size, infer_shape

    dtype = property(lambda self: self._dtype)

    @staticmethod
    def from_value(value: TensorArray) -> TensorArraySpec:
        return TensorArraySpec(value.element_shape, value.dtype, value.dynamic_size, value._infer_shape)

    @property
    def _component_specs(self) -> Any:
        return [TensorSpec([], dtypes.variant)]

    def _to_components(self, value: TensorArray) -> Any:
        return [self.conversions[0](value)]

    def _from_components(self, components: Any) -> TensorArray:
        return self.conversions[1](components[0], self)

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Whether the other is the type of arrays like these; whether shapes are inferred does not count."""
        other = spec_or_value if isinstance(spec_or_value, TypeSpec) else TensorArraySpec.from_value(spec_or_value)
        return (
            isinstance(other, TensorArraySpec) and self._dtype.is_compatible_with(other.dtype)
            and self._element_shape.is_compatible_with(other._element_shape) and self._dynamic_size == other._dynamic_size
        )  # fmt: skip

    def _to_legacy_output_types(self) -> dtypes.DType:
        return self._dtype

    def _to_legacy_output_shapes(self) -> TensorShape:
        return TensorShape([self._dynamic_size, self._infer_shape]).concatenate(self._element_shape)

    def _to_legacy_output_classes(self) -> type:
        return TensorArray

    def _serialize(self) -> tuple:
        return self._element_shape, self._dtype, self._dynamic_size, self._infer_shape


register_type_spec_from_value_converter(TensorArray, TensorArraySpec.from_value, allow_subclass=True)
