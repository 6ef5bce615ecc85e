"""Static shape inference: the InferenceContext, the algebra of partly known shapes, and shape functions that many ops share.

Error texts are those of 1.15's C++ shape functions (common_shape_fns.cc, shape_inference.cc), which programs and tests compare.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.dtypes import DType
from tfcompat._src.base.tensor_shape import Sizes as Sizes
from tfcompat._src.graph.constant_value import known_shape, known_value
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import shape_text


class InferenceContext:
    """The argument of a shape function: input sizes, attributes, and input values that are known while the graph is built.

    `sizes` is a tuple of int or None (unknown size), or None if the rank is unknown. A shape function returns a list of
    sizes, one per output, and raises ValueError if the input shapes are invalid for the op.
    """

    __slots__ = ("op", "inputs", "asked")

    def __init__(self, op: Operation) -> None:
        self.op = op
        self.inputs: list[Sizes] = [t._sizes for t in op.inputs]
        self.asked: set[int] = set()

    def attr(self, name: str) -> Any:
        """Returns an attribute in the graph's form (strings are bytes)."""
        return self.op.attrs[name]

    def value(self, index: int) -> NDArray | None:
        """Returns the value of input `index`, or None if it is not known."""
        self.asked.add(index)
        return known_value(self.op.inputs[index])

    def shape_value(self, index: int) -> Sizes:
        """Returns the vector input `index` as sizes, as far as they are known."""
        with_rank(self.inputs[index], 1)
        self.asked.add(index)
        return known_shape(self.op.inputs[index])

    def shape_or_unknown(self, index: int) -> Sizes:
        """Returns `shape_value`, but also accepts the scalar -1, which means an unknown shape."""
        with_rank_at_most(self.inputs[index], 1)
        if self.inputs[index] != ():
            return self.shape_value(index)
        value = self.value(index)
        # The graph of an eager call is reused for other values of the same shapes, so there the value is never known.
        if value is None and self.op.graph.is_program:
            return None
        if value is None:
            raise ValueError("Received a shape scalar with unknown static value.  A static value of '-1' is required to represent an unknown shape.")
        if value != -1:
            raise ValueError(f"Received an invalid shape scalar with a static value that is not '-1': {value}")
        return None

    def handle(self, index: int) -> tuple[Any, ...] | None:
        """Returns the handle data of a resource input: (dtype, sizes) of its variable, or None if unknown."""
        return self.op.inputs[index]._handle_data

    def set_handle(self, index: int, dtype: DType, sizes: Sizes) -> None:
        """Sets the handle data of a resource output: dtype and sizes of its variable."""
        self.op.outputs[index]._handle_data = (dtype, sizes)


def infer(op: Operation) -> None:
    """Sets the static shapes of a node's outputs; raises ValueError, in 1.15's words, if its inputs do not fit."""
    # Shape functions raise the bare reason; the node and its input shapes are appended here, in the form of 1.15's C++ code.
    context = InferenceContext(op)
    try:
        _require_int32(op)
        shapes = op.spec.shape(context)
    except ValueError as e:
        inputs = ", ".join("?" if s is None else shape_text(s) for s in context.inputs)
        raise ValueError(f"{e} for '{op.name}' (op: '{op.type}') with input shapes: {inputs}{_computed(context)}.") from None
    for tensor, sizes in zip(op.outputs, shapes):
        tensor._sizes = sizes


_WINDOW_ATTRS = ("ksize", "ksizes", "strides", "rates", "dilations")
"""Window attributes, which 1.15 reads as int32 although an OpDef's `list(int)` holds int64."""


def _require_int32(op: Operation) -> None:
    """Raises ValueError, in 1.15's words, if a window attribute does not fit int32."""
    for name in _WINDOW_ATTRS:
        values = op.attrs.get(name)
        for value in values if isinstance(values, list) else ():
            if not -(2**31) <= value < 2**31:
                raise ValueError(f"Attr {name} has value {value} out of range for an int32")


def _computed(context: InferenceContext) -> str:
    """Returns the suffix of a shape error that lists the known inputs that the shape function asked for."""
    # Like 1.15, lists only integer scalars and short vectors.
    found = []
    for i in sorted(context.asked):
        value = known_value(context.op.inputs[i])
        if value is not None and value.dtype.kind in "iu" and value.ndim < 2 and value.size <= 16:
            found.append(f"input[{i}] = <{' '.join(str(v) for v in np.atleast_1d(value))}>")
    return " and with computed input tensors: " + ", ".join(found) if found else ""


# ---- algebra of sizes ----


def with_rank(sizes: Sizes, rank: int) -> tuple[Any, ...]:
    """Returns `sizes` with its rank known to be `rank`; raises ValueError if it has another rank."""
    if sizes is None:
        return (None,) * rank
    if len(sizes) != rank:
        raise ValueError(f"Shape must be rank {rank} but is rank {len(sizes)}")
    return sizes


def with_rank_at_least(sizes: Sizes, rank: int) -> Sizes:
    """Returns `sizes`; raises ValueError if it is known to have a lower rank than `rank`."""
    if sizes is not None and len(sizes) < rank:
        raise ValueError(f"Shape must be at least rank {rank} but is rank {len(sizes)}")
    return sizes


def with_rank_at_most(sizes: Sizes, rank: int) -> Sizes:
    """Returns `sizes`; raises ValueError if it is known to have a higher rank than `rank`."""
    if sizes is not None and len(sizes) > rank:
        raise ValueError(f"Shape must be at most rank {rank} but is rank {len(sizes)}")
    return sizes


def merge_size(a: int | None, b: int | None) -> int | None:
    """Unifies two sizes, the known one winning; raises ValueError if both are known and differ."""
    if a is None or a == b:
        return b
    if b is None:
        return a
    raise ValueError(f"Dimensions must be equal, but are {a} and {b}")


def merge(a: Sizes, b: Sizes) -> Sizes:
    """Unifies two shapes, known sizes winning over unknown ones; raises ValueError if they contradict each other."""
    if a is None:
        return b
    if b is None:
        return a
    if len(a) != len(b):
        raise ValueError(f"Shapes must be equal rank, but are {len(a)} and {len(b)}")
    # A separate pass, as the message names the dimension and both whole shapes.
    for i, (x, y) in enumerate(zip(a, b)):
        if x is not None and y is not None and x != y:
            raise ValueError(
                f"Dimension {i} in both shapes must be equal, but are {x} and {y}. "
                f"Shapes are {shape_text(a)} and {shape_text(b)}."
            )
    return tuple(x if x is not None else y for x, y in zip(a, b))


def with_size(size: int | None, wanted: int) -> int:
    """Returns `wanted`; raises ValueError if `size` is known and differs from it."""
    if size not in (None, wanted):
        raise ValueError(f"Dimension must be {wanted} but is {size}")
    return wanted


def size_from_input(c: InferenceContext, index: int) -> int | None:
    """Returns the size that a scalar input holds, or None if unknown; raises ValueError if it is negative."""
    value = scalar_value(c, index)
    if value is not None and value < 0:
        raise ValueError(f"Dimension size, given by scalar input {index}, must be non-negative but is {value}")
    return value


def scalar_value(c: InferenceContext, index: int) -> int | None:
    """Returns the value of a scalar input, or None if unknown; raises ValueError if the known value is no scalar.

    As in 1.15, only a known value is checked: an unknown value of a wrong static rank passes.
    """
    value = c.value(index)
    if value is not None and value.ndim:
        raise ValueError(f"Input must be scalar but has rank {value.ndim}")
    return None if value is None else int(value)


def subtract_size(size: int, by: int) -> int:
    """Returns `size - by`; raises ValueError if that is negative."""
    if by > size:
        raise ValueError(f"Negative dimension size caused by subtracting {by} from {size}")
    return size - by


def divide_size(size: int | None, by: int) -> int | None:
    """Returns `size / by`, None if unknown; raises ValueError if the division leaves a remainder."""
    if size is not None and size % by:
        raise ValueError(f"Dimension size must be evenly divisible by {by} but is {size}")
    return None if size is None else size // by


def sparse_rank(indices: Sizes, values: Sizes, dense_shape: Sizes) -> int | None:
    """Returns the rank of a sparse tensor, None if its dense shape has unknown length; raises ValueError if the three shapes disagree."""
    # `indices` is [count, rank], `values` [count] and `dense_shape` [rank].
    rank: int | None
    indices, (count,), (rank,) = with_rank(indices, 2), with_rank(values, 1), with_rank(dense_shape, 1)
    if indices[0] is not None and count is not None and indices[0] != count:
        raise ValueError(f"Number of elements in index ({indices[0]}) and values ({count}) do not match.")
    if indices[1] is not None and rank is not None and indices[1] != rank:
        raise ValueError(f"Index rank ({indices[1]}) and shape rank ({rank}) do not match.")
    return rank


def broadcast(a: Sizes, b: Sizes) -> Sizes:
    """Returns the broadcast shape of an elementwise op (NumPy's rules); raises ValueError if the shapes are incompatible."""
    if a == b and a is not None and None not in a:
        return a
    if a is None or b is None:
        return None
    # The shorter shape is extended with ones on the left.
    if len(a) < len(b):
        a = (1,) * (len(b) - len(a)) + a
    elif len(b) < len(a):
        b = (1,) * (len(a) - len(b)) + b
    return tuple(_broadcast_size(x, y) for x, y in zip(a, b))


def _broadcast_size(x: int | None, y: int | None) -> int | None:
    if x is None or y is None:
        # An unknown size may be 1 or equal to the other, so the result is known only if the other is greater than 1.
        known = y if x is None else x
        return known if known is not None and known > 1 else None
    if x == 1:
        return y
    if y == 1 or x == y:
        return x
    raise ValueError(f"Dimensions must be equal, but are {x} and {y}")


def num_elements(sizes: Sizes) -> int | None:
    """Returns the product of the sizes, or None if the rank or a size is unknown."""
    if sizes is None or None in sizes:
        return None
    return int(np.prod([size or 0 for size in sizes], dtype=np.int64))


def add_sizes(a: int | None, b: int | None) -> int | None:
    """Returns `a + b`, or None if either is unknown."""
    return None if a is None or b is None else a + b


def normalize_axis(axis: int, rank: int) -> int:
    """Returns the non-negative form of an axis; raises ValueError if it is outside [-rank, rank)."""
    if not -rank <= axis < rank:
        raise ValueError(f"Dimension must be in the range [{-rank}, {rank}), but is {axis}")
    return axis + rank if axis < 0 else axis


# ---- shape functions that many ops share ----


def unchanged(c: InferenceContext) -> list[Any]:
    """Shape function: every output has the shape of input 0."""
    return [c.inputs[0]] * len(c.op.outputs)


def pass_handle(c: InferenceContext) -> None:
    """Forwards input 0's handle data to every output."""
    handle = c.handle(0)
    if handle is not None:
        for i in range(len(c.op.outputs)):
            c.set_handle(i, *handle)


def unchanged_with_handle(c: InferenceContext) -> list[Any]:
    """Shape function: every output has the shape and the handle data of input 0."""
    pass_handle(c)
    return unchanged(c)


def unchanged_from(index: int) -> Callable[..., Any]:
    """Returns a shape function: every output has the shape of input `index`."""
    return lambda c: [c.inputs[index]] * len(c.op.outputs)


def scalar(c: InferenceContext) -> list[Any]:
    """Shape function: every output is a scalar."""
    return [()] * len(c.op.outputs)


def scalars(c: InferenceContext) -> list[Any]:
    """Shape function: all inputs must be scalars, every output is one."""
    for sizes in c.inputs:
        with_rank(sizes, 0)
    return scalar(c)


def unknown(c: InferenceContext) -> list[Any]:
    """Shape function: the outputs have unknown ranks."""
    return [None] * len(c.op.outputs)


def no_outputs(c: InferenceContext) -> list[Any]:
    """Shape function of an op without outputs."""
    return []


def unknown_vector(c: InferenceContext) -> list[Any]:
    """Shape function: every output is a vector of unknown length."""
    return [(None,)] * len(c.op.outputs)


def broadcast_inputs(c: InferenceContext) -> list[Any]:
    """Shape function of an elementwise op: the output has the broadcast shape of inputs 0 and 1."""
    return [broadcast(c.inputs[0], c.inputs[1])]


def merged_inputs(c: InferenceContext) -> list[Any]:
    """Shape function: all inputs must have one shape, which every output has too."""
    sizes = c.inputs[0]
    for other in c.inputs[1:]:
        sizes = merge(sizes, other)
    return [sizes] * len(c.op.outputs)


def from_attr(name: str) -> Callable[..., Any]:
    """Returns a shape function: the output has the shape that the attribute `name` holds."""
    return lambda c: [c.attr(name).sizes]


def from_shape_input(index: int) -> Callable[..., Any]:
    """Returns a shape function: every output has the shape that is the value of input `index`."""

    return lambda c: [c.shape_value(index)] * len(c.op.outputs)
