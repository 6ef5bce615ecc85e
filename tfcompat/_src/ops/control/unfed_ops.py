"""Sources of values that need no input: a stand-in of a branch, a file mapped into memory, a fact."""

from __future__ import annotations

import math

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, NotDifferentiable, op
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.platform import file_io

_UNDEFINED = NotDifferentiable("no gradient is defined", raises=True)


@op("FakeParam", "(*, dtype: type, shape: shape) -> (output: dtype)", shape=si.from_attr("shape"), gradient=_UNDEFINED, fold=True)
def _fake_param(*, dtype, shape):
    if shape.sizes is None or None in shape.sizes:
        return np.zeros((0,), dtype)
    return np.full(shape.sizes, b"" if dtype.kind == "O" else dtype.type(), dtype)


@op("ImmutableConst", "(*, dtype: type, shape: shape, memory_region_name: string) -> (tensor: dtype)", shape=si.from_attr("shape"),
    gradient=_UNDEFINED, side=HOST)  # fmt: skip
def _immutable_const(*, dtype, shape, memory_region_name):
    if dtype.kind == "O":
        raise errors.UnimplementedError(None, None, "Sorry, DT_STRING is not currently supported for ImmutableConstOp.")
    wanted = math.prod(shape.sizes) * dtype.itemsize
    data = file_io.read_file_to_string(memory_region_name, binary_mode=True)
    if len(data) < wanted:
        raise errors.InvalidArgumentError(
            None, None, f"Not enough data in {memory_region_name}: {len(data)} bytes, but the tensor needs {wanted}."
        )
    return np.frombuffer(data, dtype, math.prod(shape.sizes)).reshape(shape.sizes)


op("Fact", "() -> (fact: string)", shape=si.unknown, gradient=_UNDEFINED, side=HOST,
   kernel=lambda: np.array(b"0! == 1", object))  # fmt: skip


@export("user_ops.my_fact")
def my_fact() -> Tensor:
    """A fact about factorials, a string."""
    return raw.Fact()
