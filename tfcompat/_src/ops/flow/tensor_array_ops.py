"""The ops of TensorArrays. Their values, and why the flow carries the elements: array_value.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import checks, dtypes, errors
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import Effects, NotDifferentiable, op
from tfcompat._src.ops.flow.array_value import (
    ArrayHandle,
    ArrayMeta,
    DeviceArray,
    HostArray,
    HostHandle,
    invalid,
    require_room,
)
from tfcompat._src.ops.flow.tensor_array import TensorArray

if TYPE_CHECKING:
    from tfcompat._src.graph.operation import Operation
    from tfcompat._src.graph.shape_inference import InferenceContext

_NO_GRADIENT = NotDifferentiable("it holds no values")


# ---- making an array ----


def _array_shape(c: InferenceContext) -> list:
    si.with_rank(c.inputs[0], 0)
    sizes = c.attr("element_shape").sizes
    if c.attr("identical_element_shapes") or (sizes is not None and None not in sizes):
        c.set_handle(0, c.attr("dtype"), sizes)
    return [(2,), ()]


def _make(kind: type, size: Any, dtype: Any, element_shape: TensorShape, dynamic: bool, identical: bool, name: str) -> tuple:
    if np.ndim(size):
        raise invalid(f"TensorArray size must be scalar, but had shape: {list(np.shape(size))}")
    if size < 0:
        raise invalid(f"Size should be >= 0, but got {size}")
    require_room(int(size))
    meta = ArrayMeta(f"{name or checks.COLLECTOR.op.name}_0", dtype, element_shape.sizes, dynamic, identical)
    return HostHandle() if kind is HostArray else ArrayHandle(), kind.empty(meta, int(size))


def _tensor_array(size, *, dtype, element_shape, dynamic_size, identical_element_shapes, tensor_array_name):
    return _make(DeviceArray, size, dtype, element_shape, dynamic_size, identical_element_shapes, tensor_array_name)


def host_tensor_array(size, *, dtype, element_shape, dynamic_size, identical_element_shapes, tensor_array_name):
    return _make(HostArray, size, dtype, element_shape, dynamic_size, identical_element_shapes, tensor_array_name)


op(
    "TensorArrayV3",
    "(size: int32, *, dtype: type, element_shape: shape = None, dynamic_size: bool = False, clear_after_read: bool = True, "
    'identical_element_shapes: bool = False, tensor_array_name: string = "") -> (handle: resource, flow: float32)',
    shape=_array_shape, gradient=_NO_GRADIENT, kernel=_tensor_array, fold=host_tensor_array, constants=("size",),
    effects=Effects(creates=True),
)  # fmt: skip


def _gradient_array_shape(c: Any) -> list:
    _require_handle(c)
    if c.handle(0) is not None:
        c.set_handle(0, *c.handle(0))
    return [(2,), ()]


def _array(handle: ArrayHandle, flow: object) -> Any:
    """The array that a flow holds. A flow that no gradient has reached is a number; on the host the handle then knows the array."""
    if hasattr(flow, "gradient"):
        return flow
    if isinstance(handle, HostHandle) and handle.held:
        return handle.held[0]
    raise errors.UnimplementedError(
        None, None, "No gradient reaches this TensorArray in this run: only a branch that was not taken reads it. tfcompat finds no "
        "zeros for its elements; read it outside of the branch (stack() before tf.cond)."
    )  # fmt: skip


def _gradient_of(handle: ArrayHandle, flow: object, source: str, sizes: tuple[int, ...] = ()) -> tuple:
    """The handle and the array of gradients of an array, of which `sizes` come before those of the elements."""
    found = _array(handle, flow).gradient(source, sizes)
    return HostHandle(source, [found]) if isinstance(handle, HostHandle) else ArrayHandle(source), found


def _gradient_array(handle, flow, *, source):
    return _gradient_of(handle, flow, source)


op(
    "TensorArrayGradV3", "(handle: resource, flow_in: float32, *, source: string) -> (grad_handle: resource, flow_out: float32)",
    shape=_gradient_array_shape, gradient=_NO_GRADIENT, kernel=_gradient_array, fold=True,
)  # fmt: skip


def _wider_gradient_array_shape(c: Any) -> list:
    _require_handle(c)
    first = c.value(2)
    if c.handle(0) is not None:
        dtype, sizes = c.handle(0)
        c.set_handle(0, dtype, None if sizes is None or first is None else (*map(int, first), *sizes))
    return [(2,), ()]


def _wider_gradient_array(handle, flow, shape_to_prepend, *, source):
    return _gradient_of(handle, flow, source, tuple(np.asarray(shape_to_prepend).tolist()))


op(
    "TensorArrayGradWithShape",
    "(handle: resource, flow_in: float32, shape_to_prepend: int32, *, source: string) -> (grad_handle: resource, flow_out: float32)",
    shape=_wider_gradient_array_shape, gradient=_NO_GRADIENT, kernel=_wider_gradient_array, fold=True, constants=("shape_to_prepend",),
)  # fmt: skip


# ---- elements ----



def require_dtype(array: Any, dtype: Any, what: str) -> None:
    if dtype != array.meta.dtype:
        have, want = (dtypes.cpp_name(str(d)) for d in (array.meta.dtype, dtype))
        raise invalid(f"TensorArray dtype is {have} but Op {what} dtype {want}.")


def _write(handle, index, value, flow, *, T):
    return _noted(handle, _of(handle, flow, T, "is trying to write").write(index, value))


def _read(handle, index, flow, *, dtype):
    return _of(handle, flow, dtype, "requested").read(index)


def _scatter(handle, indices, value, flow, *, T):
    return _noted(handle, _of(handle, flow, T, "is trying to write").scatter(indices, value))


def _noted(handle: ArrayHandle, array: Any) -> Any:
    """The array after a write, which a handle on the host notes."""
    return handle.noted(array) if isinstance(handle, HostHandle) and isinstance(array, HostArray) else array


def _of(handle: ArrayHandle, flow: object, dtype: object, what: str) -> Any:
    """The array that an operation means, of which it says the dtype: the gradient array where the handle is one's."""
    array = _array(handle, flow)
    require_dtype(array, dtype, what)
    return array.gradient(handle.source) if handle.source else array


def _require_handle(c: InferenceContext) -> None:
    si.with_size(si.with_rank(c.inputs[0], 1)[0], 2)


def _element_sizes(c: Any) -> tuple | None:
    """What is known of the elements of an operation's array, whose flow is the last input."""
    _require_handle(c)
    si.with_rank(c.inputs[-1], 0)
    return c.handle(0)[1] if c.handle(0) is not None else None


def _written_shape(c: InferenceContext) -> list:
    si.with_rank(c.inputs[1], 0)
    si.merge(_element_sizes(c), c.inputs[2])
    return [()]


def named_by(tensor: Any, grad: object) -> object:
    """A gradient; where it is an array of gradients of no certain call, as that of the tf.gradients call which made the tensor."""
    source = _source_in(tensor.name)
    return grad.named(source) if source and isinstance(grad, (DeviceArray, HostArray)) else grad


def _source_in(name: str) -> str:
    """The scope of a tf.gradients call in a name, or "" where there is none."""
    parts = name.split("/")
    found = [i for i, part in enumerate(parts) if part.startswith("gradients")]
    return "/".join(parts[: found[-1] + 1]) if found else ""


def _GetGradSource(op_or_tensor: Any) -> str:
    """The scope of the tf.gradients call that a gradient belongs to; ValueError where its name says none."""
    source = _source_in(op_or_tensor.name)
    if not source:
        raise ValueError(
            f"Expected op/tensor name to start with gradients (excluding scope), got: {op_or_tensor.name}. This means that a tf.gradients op "
            "with this op in its dependency path has a custom name that does not start with 'gradients'. Please make sure all calls to "
            "tf.gradients that have non-empty 'name' arguments use names that start with 'gradients'."
        )
    return source


def _gradient_array_of(node: Operation, flow: object, source: object, dtype: object) -> TensorArray:
    """The array of the gradients of the elements of a node's array."""
    array = TensorArray(dtype, handle=node.inputs[0], flow=flow, colocate_with_first_write_call=False)
    return array.grad(_GetGradSource(source), flow=flow)


def _write_gradient(node: Operation, flow: object) -> list:
    array = _gradient_array_of(node, flow, flow, node.get_attr("T"))
    return [None, None, array.read(node.inputs[1]), flow]


op(
    "TensorArrayWriteV3",
    "(handle: resource, index: int32, value: T, flow_in: float32, *, T: type) -> (flow_out: float32)",
    shape=_written_shape, gradient=_write_gradient, fold=True,
    kernel=_write,
)  # fmt: skip


def _read_shape(c: InferenceContext) -> list:
    si.with_rank(c.inputs[1], 0)
    return [_element_sizes(c)]


def _read_gradient(node: Operation, grad: object) -> list:
    array = _gradient_array_of(node, node.inputs[2], grad, node.get_attr("dtype"))
    return [None, None, array.write(node.inputs[1], grad).flow]


op(
    "TensorArrayReadV3", "(handle: resource, index: int32, flow_in: float32, *, dtype: type) -> (value: dtype)",
    shape=_read_shape, gradient=_read_gradient, fold=True, kernel=_read,
)  # fmt: skip


def _gathered_shape(c: InferenceContext) -> list:
    count = si.with_rank(c.inputs[1], 1)
    known = _element_sizes(c)
    sizes = known if c.handle(0) is not None else c.attr("element_shape").sizes
    return [None if sizes is None else (*count, *sizes)]


def _gather_gradient(node: Operation, grad: object) -> list:
    array = _gradient_array_of(node, node.inputs[2], grad, node.get_attr("dtype"))
    return [None, None, array.scatter(node.inputs[1], grad).flow]


def _gather(handle, indices, flow, *, dtype, element_shape):
    return _of(handle, flow, dtype, "requested").gather(indices, element_shape.sizes)


op(
    "TensorArrayGatherV3",
    "(handle: resource, indices: int32, flow_in: float32, *, dtype: type, element_shape: shape = None) -> (value: dtype)",
    shape=_gathered_shape, gradient=_gather_gradient, kernel=_gather, fold=True,
)  # fmt: skip


def _scattered_shape(c: InferenceContext) -> list:
    (count,), elements = si.with_rank(c.inputs[1], 1), _element_sizes(c)
    rows = si.with_rank_at_least(c.inputs[2], 1)
    if rows is not None:
        si.merge_size(rows[0], count)
        si.merge(elements, rows[1:])
    return [()]


def _scatter_gradient(node: Operation, flow: object) -> list:
    array = _gradient_array_of(node, flow, flow, node.get_attr("T"))
    return [None, None, array.gather(node.inputs[1]), flow]


op(
    "TensorArrayScatterV3",
    "(handle: resource, indices: int32, value: T, flow_in: float32, *, T: type) -> (flow_out: float32)",
    shape=_scattered_shape, gradient=_scatter_gradient, fold=True,
    kernel=_scatter,
)  # fmt: skip


def _scalar_shape(c: Any) -> list:
    _require_handle(c)
    return [()]


def _concat_shape(c: Any) -> list:
    _element_sizes(c)
    return [None, (None,)]


def _concat_gradient(node: Operation, grad: object, _: object) -> list:
    array = _gradient_array_of(node, node.inputs[1], grad, node.get_attr("dtype"))
    return [None, array.split(grad, node.outputs[1]).flow]


def _concat(handle, flow, *, dtype, element_shape_except0):
    return _of(handle, flow, dtype, "requested").concat(element_shape_except0.sizes)


op(
    "TensorArrayConcatV3",
    "(handle: resource, flow_in: float32, *, dtype: type, element_shape_except0: shape = None) -> (value: dtype, lengths: int64)",
    shape=_concat_shape, gradient=_concat_gradient, kernel=_concat, fold=True,
)  # fmt: skip


def _split_gradient(node: Operation, flow: object) -> list:
    array = _gradient_array_of(node, flow, flow, node.get_attr("T"))
    return [None, array.concat(), None, flow]


def _split_shape(c: InferenceContext) -> list:
    si.with_rank(c.inputs[2], 1), _element_sizes(c)
    return [()]


def _split(handle, value, lengths, flow, *, T):
    return _noted(handle, _of(handle, flow, T, "is trying to write").split(value, lengths))


op(
    "TensorArraySplitV3",
    "(handle: resource, value: T, lengths: int64, flow_in: float32, *, T: type) -> (flow_out: float32)",
    shape=_split_shape, gradient=_split_gradient, fold=True, constants=("lengths",), kernel=_split,
)  # fmt: skip

op(
    "TensorArraySizeV3", "(handle: resource, flow_in: float32) -> (size: int32)", shape=_scalar_shape, gradient=_NO_GRADIENT,
    kernel=lambda handle, flow: flow.size(), fold=True,
)  # fmt: skip
op("TensorArrayCloseV3", "(handle: resource) -> ()", shape=si.no_outputs, gradient=_NO_GRADIENT, kernel=lambda handle: (), fold=True)
