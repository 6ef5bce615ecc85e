"""tf.vectorized_map, and the loops whose iterations do not depend on each other."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from tfcompat._src.base import dtypes, nest
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape, dimension_value
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant
from tfcompat._src.nodes.indexed_slices import IndexedSlices
from tfcompat._src.ops.array.constant import identity, placeholder_with_default
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.control.groups import group
from tfcompat._src.ops.control.while_loop import while_loop
from tfcompat._src.ops.flow.tensor_array import TensorArray

PFOR_CONFIG_ARG = "pfor_config"
_PARALLEL_ITERATIONS = 10


def for_loop(loop_fn: Callable, loop_fn_dtypes: object, iters: object, parallel_iterations: int | None = None) -> Any:
    """Calls `loop_fn` with 0, 1, ..., `iters` - 1 in a `while_loop`, and stacks what it returns.

    Args:
      loop_fn: function of a scalar int32 tensor; gives a nested structure of tensors, None and operations.
      loop_fn_dtypes: the DTypes of what it gives, in its structure.
      iters: how often, an int or a scalar int32 tensor.
      parallel_iterations: see `while_loop`.

    Returns:
      the structure, of tensors with one more dimension in front; None for None, and an operation for an operation.
    """
    wanted = nest.flatten(loop_fn_dtypes)
    results = _loop(loop_fn, wanted, [None] * len(wanted), iters, parallel_iterations)
    return nest.pack_sequence_as(loop_fn_dtypes, results)


def _loop(loop_fn: Callable, wanted: list[Any], shapes: list[Any], iters: object, parallel_iterations: int | None) -> list[Any]:
    outputs: list[Any] = [None] * len(wanted)

    def body(i: Tensor, arrays: list[TensorArray]) -> tuple[Tensor, list[TensorArray]]:
        outputs[:] = [_dense(out) for out in nest.flatten(loop_fn(i))]
        written = [ta.write(i, out) if isinstance(out, Tensor) else ta for ta, out in zip(arrays, outputs)]
        with control_dependencies([out for out in outputs if isinstance(out, Operation)]):
            return identity(i + 1), written

    arrays = [TensorArray(dtype, size=iters, element_shape=shape) for dtype, shape in zip(wanted, shapes)]
    limit = _PARALLEL_ITERATIONS if parallel_iterations is None else parallel_iterations
    count, arrays = while_loop(lambda i, _: i < iters, body, (constant(0), arrays), parallel_iterations=limit)
    done = [group(count) if isinstance(out, Operation) else None for out in outputs]
    return [ta.stack() if isinstance(out, Tensor) else end for out, ta, end in zip(outputs, arrays, done)]


def _dense(output: object) -> Any:
    return output + 0 if isinstance(output, IndexedSlices) else output


def pfor(loop_fn: Callable, iters: object, parallel_iterations: int | None = None) -> Any:
    """`for_loop` that finds the types and shapes of what `loop_fn` gives by calling it once more.

    Raises:
      NotImplementedError: `loop_fn` takes a `pfor_config`.
    """
    if PFOR_CONFIG_ARG in inspect.signature(loop_fn).parameters:
        raise NotImplementedError("tfcompat does not have the pfor_config of pfor: reductions across its iterations")
    with name_scope("pfor"):
        probe = loop_fn(placeholder_with_default(0, shape=[]))
        found = [_dense(out) for out in nest.flatten(probe)]
        wanted = [out.dtype if isinstance(out, Tensor) else dtypes.int32 for out in found]
        shapes = [out.shape if isinstance(out, Tensor) else TensorShape([]) for out in found]
        results = _loop(loop_fn, wanted, shapes, iters, parallel_iterations)
        for result, shape in zip(results, shapes):
            if isinstance(result, Tensor):
                result.set_shape(TensorShape([iters if isinstance(iters, int) else None]).concatenate(shape))
        return nest.pack_sequence_as(probe, results)


@export("vectorized_map")
def vectorized_map(fn: Callable, elems: object) -> Any:
    """What `fn` gives for each row of `elems`, stacked.

    Args:
      fn: function of a nested structure like `elems`, without the first dimension.
      elems: a tensor, or a nested structure of tensors, with first dimensions of one size.

    Returns:
      the structure that `fn` gives, of tensors with the rows in front.
    """
    rows = nest.flatten(elems)[0]
    static = dimension_value(rows.shape[0]) if isinstance(rows, Tensor) and rows.shape.ndims else None
    count = shape_of(rows)[0] if static is None else static
    return pfor(lambda i: fn(nest.map_structure(lambda x: gather(x, i), elems)), count)
