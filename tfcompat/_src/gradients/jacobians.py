"""`tensorflow.python.ops.parallel_for.gradients`: Jacobians, one row per iteration of a loop over the elements of the output."""

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
    """Stacks the results of `loop_fn(i)` for each i below `count`."""
    if use_pfor:
        return parallel_for.pfor(loop_fn, count, parallel_iterations)
    return parallel_for.for_loop(loop_fn, dtypes, count, parallel_iterations)


def jacobian(output: Tensor, inputs: object, use_pfor: bool = True, parallel_iterations: int | None = None) -> Any:
    """Returns the derivatives of every element of `output` with respect to `inputs`.

    Args:
      output: a tensor.
      inputs: a tensor, or a nested structure of tensors.
      use_pfor: takes the dtypes of the gradients from building them once more; without it they are assumed to be that of `output`.
      parallel_iterations: see `tf.while_loop`.

    Returns:
      for each input a tensor of shape output.shape + input.shape; None where `output` does not depend on the input.
    """
    flat_inputs = nest.flatten(inputs)
    elements = reshape(output, [-1])
    static = dimension_value(elements.shape[0])
    count = shape(elements)[0] if static is None else static
    rows = _each_row(
        lambda i: gradients(gather(elements, i), flat_inputs),
        [output.dtype] * len(flat_inputs), count, use_pfor, parallel_iterations,
    )  # fmt: skip
    # The stacked rows have shape [elements of output, *input shape].
    jacobians = []
    for row, each in zip(rows, flat_inputs):
        if row is not None:
            row = reshape(row, concat([shape(output), shape(row)[1:]], axis=0))
            row.set_shape(output.shape.concatenate(each.shape))
        jacobians.append(row)
    return nest.pack_sequence_as(inputs, jacobians)


def batch_jacobian(output: Tensor, inp: Tensor, use_pfor: bool = True, parallel_iterations: int | None = None) -> Tensor | None:
    """Returns the derivatives of `output[i]` with respect to `inp[i]`, for each i.

    Args:
      output: tensor [b, y1, ..., yn], whose `output[i]` depends on `inp[i]` only.
      inp: tensor [b, x1, ..., xm].
      use_pfor, parallel_iterations: see `jacobian`.

    Returns:
      tensor [b, y1, ..., yn, x1, ..., xm]; None where `output` does not depend on `inp`.

    Raises:
      ValueError: the static first dimensions differ. errors.InvalidArgumentError, when it runs: the first dimensions differ.
    """
    if not output.shape[0].is_compatible_with(inp.shape[0]):
        raise ValueError(f"Need first dimension of output shape ({output.shape}) and inp shape ({inp.shape}) to match.")
    elements = output.shape.num_elements()
    sizes: Any = shape(output) if elements is None else output.shape.as_list()  # a tensor or numbers: the arithmetic below serves both
    batch = sizes[0]
    row_size = (size(output) if elements is None else elements) // batch
    with control_dependencies([assert_equal(batch, shape(inp)[0])]):
        rows = reshape(output, [batch, row_size])
    # One loop iteration differentiates element i of every output row at once; the loop's axis then moves behind the batch axis.
    grads = _each_row(
        lambda i: gradients(gather(rows, i, axis=1), inp)[0], output.dtype, row_size, use_pfor, parallel_iterations
    )
    if grads is None:
        return None
    grads = transpose(reshape(grads, [row_size, batch, -1]), [1, 0, 2])
    return reshape(grads, concat([sizes, shape(inp)[1:]], axis=0))
