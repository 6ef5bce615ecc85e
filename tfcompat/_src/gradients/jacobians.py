"""The derivatives of each element of a tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.base import nest
from tfcompat._src.base.tensor_shape import dimension_value
from tfcompat._src.gradients.gradients import gradients
from tfcompat._src.graph.scopes import control_dependencies
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.reorder import transpose
from tfcompat._src.ops.array.shape import reshape, shape, size
from tfcompat._src.ops.composed.check_ops import assert_equal
from tfcompat._src.ops.control import parallel_for


def _each_row(loop_fn: Callable[[Tensor], Any], dtypes: object, count: object, use_pfor: bool, parallel_iterations: int | None) -> Any:
    if use_pfor:
        return parallel_for.pfor(loop_fn, count, parallel_iterations)
    return parallel_for.for_loop(loop_fn, dtypes, count, parallel_iterations)


def jacobian(output: Tensor, inputs: object, use_pfor: bool = True, parallel_iterations: int | None = None) -> Any:
    """The derivatives of every element of `output` with respect to `inputs`.

    Args:
      output: a tensor.
      inputs: a tensor, or a nested structure of tensors.
      use_pfor: finds types and shapes by building the gradient once more; else they are those of `output`.
      parallel_iterations: see `tf.while_loop`.

    Returns:
      for each input a tensor with the shape of `output` followed by the input's; None where nothing flows.
    """
    flat_inputs = nest.flatten(inputs)
    elements = reshape(output, [-1])
    static = dimension_value(elements.shape[0])
    count = shape(elements)[0] if static is None else static
    rows = _each_row(
        lambda i: gradients(gather(elements, i), flat_inputs),
        [output.dtype] * len(flat_inputs), count, use_pfor, parallel_iterations,
    )  # fmt: skip
    found = []
    for row, each in zip(rows, flat_inputs):
        if row is not None:
            row = reshape(row, concat([shape(output), shape(row)[1:]], axis=0))
            row.set_shape(output.shape.concatenate(each.shape))
        found.append(row)
    return nest.pack_sequence_as(inputs, found)


def batch_jacobian(output: Tensor, inp: Tensor, use_pfor: bool = True, parallel_iterations: int | None = None) -> Tensor | None:
    """The derivatives of `output[i]` with respect to `inp[i]`, for each i.

    Args:
      output: tensor [b, y1, ..., yn], whose `output[i]` depends on `inp[i]` only.
      inp: tensor [b, x1, ..., xm].
      use_pfor, parallel_iterations: see `jacobian`.

    Returns:
      tensor [b, y1, ..., yn, x1, ..., xm]; None where nothing flows.

    Raises:
      ValueError: the first dimensions are known to differ.
    """
    if not output.shape[0].is_compatible_with(inp.shape[0]):
        raise ValueError(f"Need first dimension of output shape ({output.shape}) and inp shape ({inp.shape}) to match.")
    elements = output.shape.num_elements()
    sizes: Any = shape(output) if elements is None else output.shape.as_list()  # numbers or tensors, which compute alike
    batch = sizes[0]
    row_size = (size(output) if elements is None else elements) // batch
    with control_dependencies([assert_equal(batch, shape(inp)[0])]):
        rows = reshape(output, [batch, row_size])
    found = _each_row(
        lambda i: gradients(gather(rows, i, axis=1), inp)[0], output.dtype, row_size, use_pfor, parallel_iterations
    )
    if found is None:
        return None
    found = transpose(reshape(found, [row_size, batch, -1]), [1, 0, 2])
    return reshape(found, concat([sizes, shape(inp)[1:]], axis=0))
