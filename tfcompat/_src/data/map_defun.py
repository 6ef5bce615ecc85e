"""MapDefun: applies a function to each row of tensors, on the host, and stacks the results."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.dtypes import DType
from tfcompat._src.base.host_context import HostContext
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.data.functions import HostFunction
from tfcompat._src.data.values import Element, Scope
from tfcompat._src.function.def_function import Function
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, NotDifferentiable, op
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.queues.resource import invalid
from tfcompat._src.runtime.state.run_context import context_of


def _row_count(arguments: Element) -> int:
    """Returns the number of rows; InvalidArgumentError if the arguments differ in it."""
    for position, each in enumerate(arguments):
        if not each.ndim:
            raise invalid(f"All inputs must have rank at least 1. Input {position} has a rank of 0.")
        if len(each) != len(arguments[0]):
            raise invalid(
                f"All inputs must have the same dimension 0. Input {position} has leading dimension {len(each)}, while all previous inputs "
                f"have leading dimension {len(arguments[0])}"
            )
    return len(arguments[0])


def _stacked(values: Sequence[NDArray], kind: DType, wanted: TensorShape, node: str, position: int) -> NDArray:
    """Stacks one output of all calls; InvalidArgumentError if a shape is not compatible with `wanted`."""
    for value in values:
        if not wanted.is_compatible_with(value.shape):
            raise invalid(
                f"Mismatch in function retval shape, {shape_text(value.shape)}, and expected output shape, {shape_text(wanted.sizes)}."
            )
    if values:
        return np.stack(values)
    # Without rows, the shape of the output must be known.
    sizes = [] if wanted.sizes is None else [n for n in wanted.sizes if n is not None]
    if len(sizes) != wanted.rank:
        raise errors.InternalError(None, None, f"Missing {position}-th output from node {node}")
    return np.zeros((0, *sizes), kind.as_numpy_dtype)


def _map_defun(context: HostContext, arguments: Element, captured_inputs: Element) -> Element:
    attrs, count = context.op.attrs, _row_count(arguments)
    call = HostFunction(context, "f", captured_inputs, len(arguments)).bound(Scope(context_of(context)))
    rows = [call(*(each[i : i + 1].reshape(each.shape[1:]) for each in arguments)) for i in range(count)]
    results = list(zip(*rows)) if rows else [()] * len(attrs["output_types"])
    return tuple(
        _stacked(values, kind, wanted, context.op.name, position)
        for position, (values, kind, wanted) in enumerate(zip(results, attrs["output_types"], attrs["output_shapes"]))
    )


def _shapes(c: si.InferenceContext) -> list[si.Sizes]:
    counts = {sizes[0] for sizes in c.inputs[: len(c.attr("Targuments"))] if sizes}
    count = counts.pop() if len(counts) == 1 else None
    return [None if shape.sizes is None else (count, *shape.sizes) for shape in c.attr("output_shapes")]


op(
    "MapDefun", "(arguments: Targuments, captured_inputs: Tcaptured, *, Targuments: list(type) >= 1, Tcaptured: list(type) >= 0 = [], "
    "output_types: list(type) >= 1, output_shapes: list(shape) >= 1, f: func, max_intra_op_parallelism: int = 1) -> (output: output_types)",
    shape=_shapes, gradient=NotDifferentiable("1.15 has no gradient of this one", raises=True), kernel=_map_defun, side=HOST, context=True,
)  # fmt: skip


def map_defun(
    fn: Function, elems: list[object], output_dtypes: list[object], output_shapes: list[object], max_intra_op_parallelism: int = 1
) -> list[Tensor]:
    """Applies `fn` to each row of the tensors `elems` and stacks the results.

    Args:
      fn: a tf.function with an input signature for rows. elems: list of tensors with the same first dimension.
      output_dtypes, output_shapes: lists, of the results of `fn`.
      max_intra_op_parallelism: accepted without effect; rows are computed one after the other.

    Raises:
      ValueError: `elems`, `output_dtypes` or `output_shapes` is not a list.
    """
    for value, what in ((elems, "`elems` must be a list of tensors."), (output_dtypes, "`output_dtypes` must be a list of `tf.DType` objects."),
                        (output_shapes, "`output_shapes` must be a list of `tf.TensorShape` objects.")):  # fmt: skip
        if not isinstance(value, list):
            raise ValueError(what)
    function = fn.get_concrete_function()
    results = raw.MapDefun(
        [convert_to_tensor(each) for each in elems], function.captured_inputs, output_types=output_dtypes,
        output_shapes=[TensorShape(shape) for shape in output_shapes], f=function,
        max_intra_op_parallelism=max_intra_op_parallelism,
    )  # fmt: skip
    return list(results) if isinstance(results, (list, tuple)) else [results]
