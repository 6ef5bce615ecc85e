"""convert_to_tensor and its registry of conversion functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.dtypes import DTypeLike
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import Dimension, TensorShape, as_shape
from tfcompat._src.graph import op_spec, tensor_proto, variant
from tfcompat._src.graph.eager_tensor import EagerTensor
from tfcompat._src.graph.scopes import executing_eagerly, get_default_graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.proto import messages

_functions: dict[int, list[tuple[Any, Callable[..., Any]]]] = {}
_cache: dict[type, list[Callable[..., Any]]] = {}


@export("register_tensor_conversion_function")
def register_tensor_conversion_function(base_type: object, conversion_func: Callable[..., Any], priority: int = 100) -> None:
    """Teaches `convert_to_tensor` a type.

    Args:
      base_type: a type or tuple of types.
      conversion_func: `f(value, dtype=None, name=None, as_ref=False)` giving a Tensor, or NotImplemented to pass on.
      priority: lower numbers are tried first.

    Raises:
      TypeError: the types are no types, or the function cannot be called.
    """
    kinds = base_type if isinstance(base_type, tuple) else (base_type,)
    if not all(isinstance(k, type) for k in kinds):
        raise TypeError("base_type must be a type or a tuple of types.")
    if any(issubclass(k, (int, float, np.generic, np.ndarray)) for k in kinds):
        raise TypeError("Cannot register conversions for Python numeric types and NumPy scalars and arrays.")
    _register(kinds, conversion_func, priority)


def _register(kinds: tuple[type, ...], conversion_func: Callable[..., Any], priority: int) -> None:
    if not callable(conversion_func):
        raise TypeError("conversion_func must be callable.")
    _functions.setdefault(priority, []).append((kinds, conversion_func))
    _cache.clear()


def _conversions(kind: type) -> list[Callable[..., Any]]:
    found = _cache.get(kind)
    if found is None:
        found = [f for _, entries in sorted(_functions.items()) for kinds, f in entries if issubclass(kind, kinds)]
        _cache[kind] = found
    return found


def to_tensor(
    value: object, dtype: dtypes.DType | None = None, name: str | None = None, as_ref: bool = False,
    preferred_dtype: dtypes.DType | None = None,
) -> Tensor:  # fmt: skip
    """Converts anything to a Tensor; `as_ref` gives a variable's ref where it has one."""
    if isinstance(value, Tensor):
        if dtype is not None and dtype is not value.dtype and not dtype.is_compatible_with(value.dtype):
            raise ValueError(
                f"Tensor conversion requested dtype {dtype.name} for Tensor with dtype {value.dtype.name}: {value!r}"
            )
        return value
    for function in _conversions(type(value)):
        if dtype is None and preferred_dtype is not None:
            try:
                found = function(value, dtype=preferred_dtype, name=name, as_ref=as_ref)
            except (TypeError, ValueError):
                found = NotImplemented
            if found is not NotImplemented:
                return _checked(found, function, value, preferred_dtype)
        found = function(value, dtype=dtype, name=name, as_ref=as_ref)
        if found is not NotImplemented:
            return _checked(found, function, value, dtype)
    raise TypeError(f"Cannot convert {value!r} with type {type(value)} to Tensor: no conversion function registered.")


def _checked(found: object, function: Callable[..., Any], value: object, dtype: dtypes.DType | None) -> Tensor:
    if not isinstance(found, Tensor):
        raise RuntimeError(f"Conversion function {function!r} for type {type(value)} returned non-Tensor: {found!r}")
    if dtype is not None and not dtype.is_compatible_with(found.dtype):
        raise RuntimeError(
            f"Conversion function {function!r} for type {type(value)} returned incompatible dtype: "
            f"requested = {dtype.name}, actual = {found.dtype.name}"
        )
    return found


@export("convert_to_tensor")
def convert_to_tensor(value: object, dtype: DTypeLike | None = None, name: str | None = None, preferred_dtype: DTypeLike | None = None, dtype_hint: DTypeLike | None = None) -> Tensor:
    """Converts `value` to a Tensor.

    Args:
      value: a Tensor, variable, number, string, array, or nested list of them.
      dtype: the wanted DType; by default inferred.
      name: name of a new constant.
      preferred_dtype: tried where `dtype` is None; `dtype_hint` is the same.

    Returns:
      a Tensor.

    Raises:
      TypeError: no conversion is registered. ValueError: a Tensor of another dtype. RuntimeError: a conversion misbehaves.
    """
    wanted = None if dtype is None else dtypes.as_dtype(dtype)
    hint = preferred_dtype if dtype_hint is None else dtype_hint
    return to_tensor(value, wanted, name, preferred_dtype=None if hint is None else dtypes.as_dtype(hint))


def internal_convert_to_tensor(value: object, dtype: DTypeLike | None = None, name: str | None = None, as_ref: bool = False, preferred_dtype: DTypeLike | None = None, **_: object) -> Tensor:
    return to_tensor(
        value, None if dtype is None else dtypes.as_dtype(dtype), name, as_ref,
        None if preferred_dtype is None else dtypes.as_dtype(preferred_dtype),
    )  # fmt: skip


def convert_n_to_tensor(values: Iterable[Any], dtype: DTypeLike | None = None, name: str | None = None, preferred_dtype: DTypeLike | None = None) -> list[Tensor]:
    """Converts each of `values`; a given name becomes name_0, name_1, ..."""
    return [
        convert_to_tensor(v, dtype, None if name is None else f"{name}_{i}", preferred_dtype) for i, v in enumerate(values)
    ]


def convert_n_to_tensor_or_indexed_slices(values: Iterable[Any], dtype: DTypeLike | None = None, name: str | None = None) -> list[Any]:
    return [
        v if v is None or hasattr(v, "dense_shape") else convert_to_tensor(v, dtype, None if name is None else f"{name}_{i}")
        for i, v in enumerate(values)
    ]


def add_constant(value: NDArray, dtype: dtypes.DType, name: str | None) -> Tensor:
    """A Const node holding `value`."""
    graph = get_default_graph()
    if graph.executes:
        return EagerTensor.of(value, dtype, graph, graph.device_of("Const"))
    attrs = {"value": value, "dtype": dtype}
    op = graph.make_op(op_spec.get("Const"), graph._final_name("Const" if name is None else name), (), attrs, [dtype], skip_frames=3)
    return op.outputs[0]


@export("constant")
def constant(value: Any, dtype: DTypeLike | None = None, shape: Any = None, name: str = "Const", verify_shape: bool = False) -> Tensor:
    """A constant tensor.

    Args:
      value: a number, string, nested list, array or TensorProto; a message states its own dtype and shape.
      dtype: element type; by default that of `value`.
      shape: shape of the result; a shorter `value` is filled up with its last element.
      name: node name.
      verify_shape: whether `value` must have exactly `shape`.

    Raises:
      TypeError: the value cannot be of that dtype, or its shape is wrong with `verify_shape`. ValueError: too many values.
    """
    wanted = None if dtype is None else dtypes.as_dtype(dtype)
    if verify_shape and shape is not None:
        tensor_proto.make_tensor_proto(value, wanted, shape, verify_shape=True)
    return _constant(value, wanted, shape, name)


@export("compat.v2.constant")
def constant_v2(value: object, dtype: DTypeLike | None = None, shape: object = None, name: str = "Const") -> Tensor:
    """`tf.constant` that fills a shape with a single value only, and gives as many values as it holds that shape."""
    return _constant(value, None if dtype is None else dtypes.as_dtype(dtype), shape, name, allow_broadcast=True)


def _constant(value: Any, dtype: dtypes.DType | None, shape: Any, name: str, allow_broadcast: bool = False) -> Tensor:
    if executing_eagerly():
        _check_for_eager(value, shape, allow_broadcast)
    if isinstance(value, messages.TensorProto):
        array = variant.array_of(value)
        return add_constant(array, dtypes.as_dtype(value.dtype), name)
    array = tensor_proto.to_numpy(value, dtype, shape, allow_broadcast)
    if isinstance(value, np.ndarray) and np.may_share_memory(array, value):
        array = array.copy()
    return add_constant(array, dtype or dtypes.as_dtype(array.dtype), name)


def _check_for_eager(value: object, shape: object, allow_broadcast: bool) -> None:
    """Refuses what a constant may be in graphs only: a message, or a value that is filled up with its last element."""
    if isinstance(value, messages.TensorProto):
        raise ValueError(f"Attempt to convert a value ({value!r}) with an unsupported type ({type(value)}) to a Tensor.")
    count = None if shape is None else as_shape(shape).num_elements()
    given = 1 if count is None else np.size(value._numpy() if isinstance(value, EagerTensor) else np.asarray(value, dtype=object))
    if count is not None and given not in (1, count):
        raise TypeError(f"Eager execution of tf.constant with unsupported shape (value has {given} elements, shape is {shape} with {count} elements).")


def _constant_conversion(value: object, dtype: dtypes.DType | None = None, name: str | None = None, as_ref: bool = False) -> Tensor:
    return _constant(value, dtype, None, name or "Const")


def _shape_conversion(value: TensorShape, dtype: dtypes.DType | None = None, name: str | None = None, as_ref: bool = False) -> Tensor:
    if not value.is_fully_defined():
        raise ValueError(f"Cannot convert a partially known TensorShape to a Tensor: {value}")
    sizes = [s for s in value.as_list() if s is not None]
    if dtype is None:
        dtype = dtypes.int64 if any(s >= 2**31 for s in sizes) else dtypes.int32
    elif dtype not in (dtypes.int32, dtypes.int64):
        raise TypeError(f"Cannot convert a TensorShape to dtype: {dtype.name}")
    elif dtype == dtypes.int32 and any(s >= 2**31 for s in sizes):
        raise ValueError(
            f"Cannot convert a TensorShape to dtype int32; a dimension is too large ({max(sizes)})"
        )
    return add_constant(np.array(sizes, dtype.as_numpy_dtype), dtype, name or "shape_as_tensor")


def _dimension_conversion(value: Dimension, dtype: dtypes.DType | None = None, name: str | None = None, as_ref: bool = False) -> Tensor:
    if value.value is None:
        raise ValueError(f"Cannot convert an unknown Dimension to a Tensor: {value}")
    if dtype is None:
        dtype = dtypes.int32
    elif dtype not in (dtypes.int32, dtypes.int64):
        raise TypeError(f"Cannot convert a TensorShape to dtype: {dtype.name}")
    return add_constant(np.array(value.value, dtype.as_numpy_dtype), dtype, name or "shape_as_tensor")


_register((object,), _constant_conversion, 200)
_register((TensorShape,), _shape_conversion, 100)
_register((Dimension,), _dimension_conversion, 100)
