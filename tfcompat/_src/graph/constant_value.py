"""Constant folding while the graph is built: values and shapes of tensors that constants and static shapes determine.

1.15 folds in two languages with different reach, and programs see which: shape functions (C++, `known_value`, `known_shape`) evaluate
any op with a kernel, `tf.get_static_value` (Python, `constant_value`) a fixed list of op types. Both are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfcompat._src.base import checks, dtypes, errors
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import Sizes, TensorShape
from tfcompat._src.graph.attr_values import UnreadableTensor
from tfcompat._src.graph.eager_tensor import eager_value
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.graph.tensor_like import is_dense_tensor_like

_MAX_ELEMENTS = 1 << 16
"""Larger results (in elements) are not folded, so that building a graph never computes large arrays."""
_UNKNOWN = object()
"""Marks an unknown value in the memo of `_evaluate`, where None means that a tensor is not evaluated yet."""


class KnownShape:
    """A stand-in for an array, passed to kernels that use only shape and dtype of an input (`OpSpec.shape_only`)."""

    __slots__ = ("shape", "dtype", "ndim", "size")

    def __init__(self, sizes: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.shape, self.dtype, self.ndim = sizes, dtype, len(sizes)
        self.size = int(np.prod(sizes, dtype=np.int64))


def known_value(tensor: Tensor) -> NDArray | None:
    """Returns the value of `tensor` if constants and static shapes determine it, else None.

    As in 1.15, a constant that enters a loop as an invariant is known inside, but values computed from it there are not.
    """
    value = eager_value(tensor)
    if value is not None:
        return value
    op = tensor.op
    while op.type == "Enter" and op.attrs["is_constant"]:
        op = op.inputs[0].op
    if op.type == "Const":
        return constant_of(op)
    memo: dict[Tensor, Any] = {}
    result = _evaluate(tensor, memo, 64)  # 64 bounds the recursion through inputs
    return None if result is _UNKNOWN else result


def is_constant(op: Operation) -> bool:
    """Whether an operation is a Const."""
    return op.type == "Const"


def constant_of(op: Operation) -> NDArray | None:
    """Returns the value of a Const, or None if its TensorProto is unreadable (the node then fails when it runs)."""
    value = op.attrs["value"]
    return None if isinstance(value, UnreadableTensor) else value


def _evaluate(tensor: Tensor, memo: dict[Tensor, Any], depth: int) -> Any:
    """Returns the value of `tensor` or _UNKNOWN, evaluating inputs recursively at most `depth` levels deep."""
    result = memo.get(tensor)
    if result is None:
        result = eager_value(tensor)
    if result is None:
        outputs = _evaluate_op(tensor.op, memo, depth)
        for t, value in zip(tensor.op.outputs, outputs):
            memo[t] = value
        result = memo[tensor]
    return result


def _evaluate_op(op: Operation, memo: dict[Tensor, Any], depth: int) -> tuple[Any, ...]:
    """Returns the outputs of `op` computed with NumPy, each _UNKNOWN if an input is unknown or the op cannot be folded."""
    unknown = (_UNKNOWN,) * len(op.outputs)
    spec = op.spec
    if op.type == "Const":
        value = constant_of(op)
        return unknown if value is None else (value,)
    # The argument of a function body that captures an outer tensor has that tensor's value.
    if op.type == "Placeholder" and op.outputs[0] in op.graph.captured_from and depth:
        return (_evaluate(op.graph.captured_from[op.outputs[0]], memo, depth - 1),)
    # 1.15 evaluates Shape, Rank and Size of static shapes, but neither ShapeN nor function calls.
    if op.type == "ShapeN" or hasattr(op, "call_spec"):
        return unknown
    # Ops with state, ops that read variables, and sources other than Const have no value before a run.
    if spec.numpy_kernel is None or spec.effects.is_stateful or spec.effects.reads or not depth or not op.inputs:
        return unknown
    # Large results are not worth folding; an unknown size passes.
    size = op.outputs[0].shape.num_elements() if op.outputs else 0
    if size is not None and size > _MAX_ELEMENTS:
        return unknown
    # Inputs of which the kernel uses only the shape need no value, just a fully known static shape.
    values = []
    for i, t in enumerate(op.inputs):
        if i in spec.shape_only_positions:
            if t._sizes is not None and None not in t._sizes:
                values.append(KnownShape(tuple(s for s in t._sizes if s is not None), t.dtype.as_numpy_dtype))
                continue
        value = _evaluate(t, memo, depth - 1)
        if value is _UNKNOWN:
            return unknown
        values.append(value)
    try:
        return call_numpy_kernel(op, values)
    except errors.OpError:
        return unknown


# ---- calls of kernels with NumPy values ----


def call_numpy_kernel(op: Operation, values: Sequence[object]) -> tuple[NDArray, ...]:
    """Runs the NumPy kernel of an op; returns all outputs, lists flattened, as arrays of the op's dtypes.

    Raises:
      NotImplementedError: the op has no NumPy kernel. errors.OpError: the kernel rejects the values, or memory is exhausted.
    """
    arguments, attrs = kernel_arguments(op, values)
    kernel = op.spec.numpy_kernel
    if kernel is None:
        raise NotImplementedError(f"{op.type} has no NumPy kernel, so {op.name!r} cannot be computed on the host.")
    with np.errstate(all="ignore"):
        try:
            result = kernel(*arguments, **{k: attrs[k] for k in op.spec.fold_attrs})
        except MemoryError as e:
            raise errors.ResourceExhaustedError(op.node_def, op, f"OOM when allocating tensor: {e}") from e
        except checks.OF_TRACING:
            raise
        except checks.BAD_INPUT as e:
            raise checks.unfit(op, e) from e
    results = result if isinstance(result, (tuple, list)) else (result,)
    flat = [r for item in results for r in (item if isinstance(item, (tuple, list)) else (item,))]
    # Kernels may return Python numbers or arrays of a wider dtype.
    kinds = [t.dtype.as_numpy_dtype if t.dtype.is_numpy_compatible else object for t in op.outputs]
    return tuple(v if isinstance(v, np.ndarray) and v.dtype == kind else np.asarray(v, kind) for v, kind in zip(flat, kinds))


def kernel_arguments(op: Operation, values: Sequence[object]) -> tuple[list[object], dict[str, Any]]:
    """Returns kernel arguments for flat input values (list inputs become tuples), and the attributes in the kernels' form."""
    return grouped(list(values), argument_groups(op)), _kernel_attrs(op)


def argument_groups(op: Operation) -> list[int | slice] | None:
    """Returns the index of each kernel argument among an op's flat inputs, a slice for a list; None if no argument is a list."""
    inputs = op.spec.signature.inputs
    if not any(a.is_list for a in inputs):
        return None
    groups: list[int | slice] = []
    start = 0
    for arg in inputs:
        count = op.arg_length(arg)
        groups.append(slice(start, start + count) if arg.is_list else start)
        start += count
    return groups


def grouped(values: list[object], groups: list[int | slice] | None) -> list[object]:
    """Returns flat input values as kernel arguments, by the groups of `argument_groups`: lists become tuples."""
    return values if groups is None else [tuple(values[at]) if isinstance(at, slice) else values[at] for at in groups]


class _kernel_attrs(dict[Any, Any]):
    """The attributes of an op by name, converted to the kernels' form on first lookup."""

    def __init__(self, op: Operation) -> None:
        super().__init__()
        self._attrs = op.attrs

    def __missing__(self, name: str) -> Any:
        value = self[name] = to_kernel(self._attrs[name])
        return value


def to_kernel(value: object) -> Any:
    """Returns an attribute in the kernels' form: NumPy dtypes, `str` for bytes, tuples for lists."""
    if isinstance(value, dtypes.DType):
        return np.dtype(value.as_numpy_dtype) if value.is_numpy_compatible else value
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, list):
        return tuple(to_kernel(v) for v in value)
    return value


# ---- values of shape tensors ----


def known_shape(tensor: Tensor) -> Sizes:
    """Returns the sizes that a shape tensor holds: (None, 3) for `[batch, 3]`, or None if not even its length is known.

    Raises:
      ValueError: a known size is less than -1.
    """
    value = known_value(tensor)
    if value is not None:
        if value.ndim == 0:
            return None
        if np.any(value < -1):
            raise ValueError(f"Invalid value in tensor used for shape: {value[value < -1][0]}")
        return tuple(None if v < 0 else int(v) for v in value)
    # The value is unknown as a whole; rules for the op types that programs build shapes with may know some of its elements.
    op = tensor.op
    partial = _PARTIAL.get(op.type)
    sizes = partial(op, tensor) if partial else None
    if sizes is None and tensor._sizes is not None and len(tensor._sizes) == 1 and tensor._sizes[0] is not None:
        return (None,) * tensor._sizes[0]
    return sizes


def _pack_sizes(op: Operation, tensor: Tensor) -> Sizes:
    if op.attrs["axis"] != 0 or any(t._sizes not in ((), None) for t in op.inputs):
        return None
    values = [_known_size(t) for t in op.inputs]
    return tuple(values)


def _known_size(tensor: Tensor) -> int | None:
    """Returns the size that a scalar tensor holds, or None if it is unknown or negative."""
    value = known_value(tensor)
    return None if value is None or int(value) < 0 else int(value)


def _concat_sizes(op: Operation, tensor: Tensor) -> Sizes:
    return _joined([known_shape(t) for t in op.inputs[:-1]])


def _joined(parts: list[Sizes]) -> Sizes:
    """Concatenates sizes; None if the length of one part is unknown."""
    known = [p for p in parts if p is not None]
    return tuple(size for part in known for size in part) if len(known) == len(parts) else None


def _slice_sizes(op: Operation, tensor: Tensor) -> Sizes:
    """Returns the sizes that `shape[begin:end:stride]` holds; None for slices with other features."""
    # Only slices of the form [begin:end:stride] keep positions; masks that add or remove dimensions do not.
    attrs = op.attrs
    if attrs["ellipsis_mask"] or attrs["new_axis_mask"] or attrs["shrink_axis_mask"]:
        return None
    sizes = known_shape(op.inputs[0])
    begin, end, strides = (known_value(t) for t in op.inputs[1:])
    if sizes is None or begin is None or end is None or strides is None or len(begin) != 1:
        return None
    start = None if attrs["begin_mask"] else int(begin[0])
    stop = None if attrs["end_mask"] else int(end[0])
    return sizes[slice(start, stop, int(strides[0]))]


_PARTIAL: dict[str, Callable[[Operation, Tensor], Sizes]] = {
    "Shape": lambda op, tensor: op.inputs[0]._sizes,
    "ShapeN": lambda op, tensor: op.inputs[tensor.value_index]._sizes,
    "Pack": _pack_sizes,
    "ConcatV2": _concat_sizes,
    "StridedSlice": _slice_sizes,
    "Identity": lambda op, tensor: known_shape(op.inputs[0]),
}


# ---- what Python code of 1.15 knows ----


_STATIC = frozenset(("Const", "Range", "Cast", "Concat", "ConcatV2", "Pack", "Fill", "Equal", "NotEqual"))
"""The op types that 1.15's Python `constant_value` evaluates, beside Shape, Size and Rank."""


def _is_static(tensor: Tensor) -> bool:
    """Whether 1.15's Python `constant_value` would try to evaluate `tensor`."""
    op = tensor.op
    if op.type in ("Shape", "Size", "Rank"):
        return True
    if op.type not in _STATIC or (op.type == "Pack" and op.attrs["axis"] != 0):
        return False
    return all(_is_static(t) for t in op.inputs)


@export("get_static_value", "contrib.util.constant_value")
def constant_value(tensor: Any, partial: bool = False) -> NDArray | None:
    """Returns the value of a tensor as a NumPy array if it can be computed without a Session, else None.

    A tensor whose value was returned can no longer be fed, as in 1.15. Values that are no tensors are returned unchanged.
    """
    if not isinstance(tensor, Tensor):
        return None if is_dense_tensor_like(tensor) else tensor
    eager = eager_value(tensor)
    if eager is not None:
        return eager.copy()
    # As in 1.15, a partial value of a Pack is an object array, with None for the unknown elements.
    if partial and tensor.op.type == "Pack" and tensor.op.attrs["axis"] == 0:
        return np.array([constant_value(t) for t in tensor.op.inputs], dtype=object)
    value = known_value(tensor) if _is_static(tensor) else None
    if value is None:
        return None
    # The program may build on the value, which a feed would contradict.
    tensor.graph.prevent_feeding(tensor)
    return np.array(value)


def _python_sizes(tensor: Tensor) -> Sizes:
    """Returns `known_shape` restricted to the op types that 1.15's Python `constant_value_as_shape` evaluates."""
    op = tensor.op
    if _is_static(tensor) or op.type == "StridedSlice" and _is_static(op.inputs[0]):
        return known_shape(tensor)
    if op.type == "Pack" and op.attrs["axis"] == 0:
        return tuple(_known_size(t) if _is_static(t) else None for t in op.inputs)
    if op.type == "ConcatV2":
        return _joined([_python_sizes(t) for t in op.inputs[:-1]])
    sizes = tensor._sizes
    return None if sizes is None or sizes[0] is None else (None,) * sizes[0]


def constant_value_as_shape(tensor: Tensor) -> TensorShape:
    """Returns the TensorShape that a shape tensor holds, with unknown sizes for entries that 1.15's Python code does not know.

    A scalar -1 means an unknown shape.

    Raises:
      ValueError: the tensor is another scalar, or not a vector.
    """
    # A scalar is a shape only as -1, which means an unknown shape.
    if tensor._sizes == ():
        value = constant_value(tensor)
        if value is None:
            raise ValueError(
                "Received a scalar with unknown value as shape; require a statically known scalar with value '-1' to "
                "describe an unknown shape."
            )
        if value != -1:
            raise ValueError(
                f"Received a scalar value '{value}' as shape; require a statically known scalar with value '-1' to "
                "describe an unknown shape."
            )
        return TensorShape(None)
    tensor.shape.with_rank(1)
    if eager_value(tensor) is not None:
        return TensorShape.of(known_shape(tensor))
    return TensorShape.of(_python_sizes(tensor))
