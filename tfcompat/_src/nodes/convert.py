"""`convert_to_tensor` and its registry of conversion functions, which are tried in order of priority until one accepts the value."""

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
    """Registers a function by which `convert_to_tensor` converts values of a type.

    Args:
      base_type: a type or tuple of types.
      conversion_func: `f(value, dtype=None, name=None, as_ref=False)`, returns a Tensor, or NotImplemented to try the next function.
      priority: functions with lower numbers are tried first.

    Raises:
      TypeError: `base_type` is not a type, or is one that NumPy handles, or the function cannot be called.
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
    """Returns the functions for values of a type, those of lower priority number first; cached until another one is registered."""
    functions = _cache.get(kind)
    if functions is None:
        functions = [f for _, entries in sorted(_functions.items()) for kinds, f in entries if issubclass(kind, kinds)]
        _cache[kind] = functions
    return functions


def to_tensor(
    value: object, dtype: dtypes.DType | None = None, name: str | None = None, as_ref: bool = False,
    preferred_dtype: dtypes.DType | None = None,
) -> Tensor:  # fmt: skip
    """Converts a value to a Tensor.

    Args:
      value: anything that a registered function accepts.
      dtype: the required DType; None to infer it.
      name: of a new node.
      as_ref: whether a reference variable is converted to its reference.
      preferred_dtype: tried if `dtype` is None; a function that fails with it is called again without it.

    Raises:
      ValueError: `value` is a Tensor of another dtype. TypeError: no function accepts it. RuntimeError: a function returns something else.
    """
    if isinstance(value, Tensor):
        if dtype is not None and dtype is not value.dtype and not dtype.is_compatible_with(value.dtype):
            raise ValueError(
                f"Tensor conversion requested dtype {dtype.name} for Tensor with dtype {value.dtype.name}: {value!r}"
            )
        return value
    for function in _conversions(type(value)):
        # A preferred dtype is a hint: if it cannot be had, the value decides.
        if dtype is None and preferred_dtype is not None:
            try:
                converted = function(value, dtype=preferred_dtype, name=name, as_ref=as_ref)
            except (TypeError, ValueError):
                converted = NotImplemented
            if converted is not NotImplemented:
                return _checked(converted, function, value, preferred_dtype)
        converted = function(value, dtype=dtype, name=name, as_ref=as_ref)
        if converted is not NotImplemented:
            return _checked(converted, function, value, dtype)
    raise TypeError(f"Cannot convert {value!r} with type {type(value)} to Tensor: no conversion function registered.")


def _checked(found: object, function: Callable[..., Any], value: object, dtype: dtypes.DType | None) -> Tensor:
    """Returns the result of a conversion function; RuntimeError if it is not a Tensor of a compatible dtype."""
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
    """1.15's internal form of `convert_to_tensor`; further keywords that its callers pass change nothing."""
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
    """Converts each of `values` to a Tensor; None and sparse values (with a `dense_shape`) are returned unchanged."""
    return [
        v if v is None or hasattr(v, "dense_shape") else convert_to_tensor(v, dtype, None if name is None else f"{name}_{i}")
        for i, v in enumerate(values)
    ]


def add_constant(value: NDArray, dtype: dtypes.DType, name: str | None) -> Tensor:
    """Adds a Const node that holds `value`; in eager mode, returns an EagerTensor."""
    graph = get_default_graph()
    if graph.executes:
        return EagerTensor.of(value, dtype, graph, graph.device_of("Const"))
    attrs = {"value": value, "dtype": dtype}
    op = graph.make_op(op_spec.get("Const"), graph._final_name("Const" if name is None else name), (), attrs, [dtype], skip_frames=3)
    return op.outputs[0]


@export("constant")
def constant(value: Any, dtype: DTypeLike | None = None, shape: Any = None, name: str = "Const", verify_shape: bool = False) -> Tensor:
    """Returns a constant tensor.

    Args:
      value: a number, string, nested list, array or TensorProto; a TensorProto has its own dtype and shape.
      dtype: element type; by default that of `value`.
      shape: shape of the result; a shorter `value` is padded with its last element.
      name: node name.
      verify_shape: whether `value` must have exactly `shape`.

    Raises:
      TypeError: `value` cannot be of this dtype, or has another shape and `verify_shape` is true. ValueError: it has too many elements.
    """
    wanted = None if dtype is None else dtypes.as_dtype(dtype)
    # Only checks: without the flag, a value is padded instead.
    if verify_shape and shape is not None:
        tensor_proto.make_tensor_proto(value, wanted, shape, verify_shape=True)
    return _constant(value, wanted, shape, name)


@export("compat.v2.constant")
def constant_v2(value: object, dtype: DTypeLike | None = None, shape: object = None, name: str = "Const") -> Tensor:
    """`tf.constant` of TensorFlow 2: with a shape, `value` must be a single element or have exactly as many elements as the shape."""
    return _constant(value, None if dtype is None else dtypes.as_dtype(dtype), shape, name, allow_broadcast=True)


def _constant(value: Any, dtype: dtypes.DType | None, shape: Any, name: str, allow_broadcast: bool = False) -> Tensor:
    if executing_eagerly():
        _check_for_eager(value, shape, allow_broadcast)
    if isinstance(value, messages.TensorProto):
        array = variant.array_of(value)
        return add_constant(array, dtypes.as_dtype(value.dtype), name)
    # Without a dtype, Python floats become float32 and ints int32, as in 1.15.
    array = tensor_proto.to_numpy(value, dtype, shape, allow_broadcast)
    # The program may change its array afterwards; the constant keeps the value of now.
    if isinstance(value, np.ndarray) and np.may_share_memory(array, value):
        array = array.copy()
    return add_constant(array, dtype or dtypes.as_dtype(array.dtype), name)


def _check_for_eager(value: object, shape: object, allow_broadcast: bool) -> None:
    """Refuses values that 1.15 accepts in graphs only: a TensorProto, and a value that would be padded with its last element."""
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
        # Shapes are int32 unless a size needs 64 bits.
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


# Constants come last: any type may register a conversion of its own at the default priority, 100.
_register((object,), _constant_conversion, 200)
_register((TensorShape,), _shape_conversion, 100)
_register((Dimension,), _dimension_conversion, 100)
