"""`tensorflow.python.ops.functional_ops`: loops, branches and calls of Defuns, as one node each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.function import functional_ops, symbolic_gradient  # noqa: F401  (the ops)
from tfcompat._src.function.defun import DefinedFunction, Defun, get_extra_args
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.unary import absolute
from tfcompat._src.proto import messages

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def _results(function: Any) -> list[dtypes.DType]:
    """Returns the dtypes of a function's results."""
    return [t.dtype.base_dtype for t in function.body.outputs]


def _as_list(result: Any) -> list[Tensor]:
    """Returns the result of a call as a list of tensors."""
    if isinstance(result, Operation):
        return []
    return list(result) if isinstance(result, tuple) else [result]


def _passing_captures(function: DefinedFunction) -> DefinedFunction:
    """Returns a function that takes the captures of `function` as further arguments and returns them after its results.

    A loop body must return as many values as it takes: captured tensors become loop invariants.
    """
    return Defun(*function.declared_input_types, func_name=f"{function.name}_Wrapper")(
        lambda *arguments: (*_as_list(function(*arguments)), *get_extra_args())
    )


def _set_host_memory(results: list[Tensor], hostmem: list[int] | None, parameters: int) -> list[Tensor]:
    """Sets the attributes that list values in host memory; `parameters` is the number of inputs before the values."""
    if hostmem:
        for name, indices in (("_input_hostmem", [parameters + i for i in hostmem]), ("_output_hostmem", hostmem)):
            message = messages.AttrValue()
            message.list.i.extend(indices)
            results[0].op._set_attr(name, message)
    return results


def If(cond: TensorLike, inputs: list, then_branch: object, else_branch: object, name: str | None = None) -> list[Tensor]:
    """Returns the results of `then_branch(*inputs)` or `else_branch(*inputs)`.

    Args:
      cond: tensor. A number is true if it is not zero; a string, or a tensor of rank 1 or more, if it is not empty.
      inputs: list of tensors.
      then_branch, else_branch: functions of the same arguments with results of the same dtypes.
      name: node name.
    """
    return raw.If(cond, inputs, Tout=_results(then_branch), then_branch=then_branch, else_branch=else_branch, name=name)


def While(
    input_: list, cond: DefinedFunction, body: DefinedFunction, name: str | None = None, hostmem: list[int] | None = None
) -> list[Tensor]:
    """Returns the loop's values when `cond(*values)` is false: they start as `input_`, and each iteration replaces them by `body(*values)`.

    Args:
      input_: list of tensors.
      cond: function of the values; its result is read like the condition of `If`.
      body: function of the values that returns new ones of the same dtypes.
      name: node name.
      hostmem: indices of the values to keep in host memory.

    Raises:
      ValueError: `cond` captures tensors, or takes other arguments than `body`.
    """
    if cond.captured_inputs:
        raise ValueError("While op 'cond' argument must be a function without implicitly captured inputs.")
    if cond.declared_input_types != body.declared_input_types:
        raise ValueError(
            "While op 'cond' and 'body' signatures do not match. "
            f"{cond.declared_input_types!r} vs {body.declared_input_types!r}"
        )
    # The loop's node passes captures explicitly: `cond` takes and ignores them, `body` returns them.
    count, captured = len(body.declared_input_types), body.captured_inputs
    if captured:
        kinds, test = (*body.declared_input_types, *(t.dtype for t in captured)), cond
        cond = Defun(*kinds, func_name=f"{test.name}_Wrapper")(lambda *arguments: test(*arguments[:count]))
        body = _passing_captures(body)
    results = raw.While([*input_, *captured], cond=cond, body=body, name=name)
    return _set_host_memory(results[:count], hostmem, 0)


def For(
    start: TensorLike, limit: TensorLike, delta: TensorLike, inputs: list, body: DefinedFunction, name: str | None = None,
    hostmem: list[int] | None = None, rewrite_with_while: bool | None = None,
) -> list[Tensor]:  # fmt: skip
    """Returns the values after `values = body(i, *values)` for each i of `range(start, limit, delta)`.

    Args:
      start, limit, delta: scalar int32.
      inputs: list of tensors, the first values.
      body: function of an int32 and the values that returns new ones of the same dtypes.
      name: node name.
      hostmem: indices of the values to keep in host memory.
      rewrite_with_while: whether to build a While node instead of a For node.

    Raises:
      InvalidArgumentError: in a run, if `delta` does not lead from start to limit.
    """
    if rewrite_with_while:
        return _for_by_while(start, limit, delta, inputs, body, name, hostmem)
    count, captured = len(inputs), body.captured_inputs
    if captured:
        body = _passing_captures(body)
    results = raw.For(start, limit, delta, [*inputs, *captured], body=body, name=name)
    return _set_host_memory(results[:count], hostmem, 3)


def _for_by_while(
    start: Any, limit: Any, delta: object, inputs: list, body: DefinedFunction, name: str | None, hostmem: list[int] | None
) -> list[Tensor]:
    """Builds a For loop as a While loop over the iteration's number."""
    step = absolute(delta)
    # The number of iterations, rounded up, by division of floats as in 1.15.
    count = cast(cast(absolute(limit - start) + step - 1, dtypes.float32) / cast(step, dtypes.float32), dtypes.int32)
    kinds = [dtypes.int32] * 4 + list(body.declared_input_types[1:])
    test = Defun(*kinds, func_name=f"{body.name}_Cond")(lambda i, count, *rest: i < count)
    run = Defun(*kinds, func_name=f"{body.name}_Body")(
        lambda i, count, start, delta, *values: (i + 1, count, start, delta, *_as_list(body(start + i * delta, *values)))
    )
    kept = [0, 1, 2, 3, *(4 + i for i in hostmem or ())]
    return While([0, count, start, delta, *inputs], test, run, name, kept)[4:]


def Gradient(inputs: list, f: Any, name: str | None = None) -> list[Tensor]:
    """Returns the gradients of a function with respect to its arguments.

    Args:
      inputs: list of tensors: the arguments of `f`, then the gradients of its results.
      f: the function.
      name: node name.
    """
    kinds = [t.dtype.base_dtype for t in f.body.inputs]
    return raw.SymbolicGradient(inputs, Tout=kinds, f=f, name=name)


def partitioned_call(
    args: Sequence, f: Any, tout: Sequence | None = None, executing_eagerly: bool | None = None, config: object = None,
    executor_type: str | None = None,
) -> Any:  # fmt: skip
    """Calls `f` with `args`; returns its results as a list, or the Operation if it has none.

    Args:
      args: the arguments of `f`, with captured tensors.
      f: the function.
      tout: dtypes of the results; by default those of `f`.
      executing_eagerly: must not be true.
      config: serialized ConfigProto, kept as an attribute of the node; by default one that turns rewrites of the graph off.
      executor_type: kept as an attribute of the node.

    Raises:
      NotImplementedError: `executing_eagerly` is true.
    """
    if executing_eagerly:
        raise NotImplementedError("partitioned_call(executing_eagerly=True) is not supported: call the function itself.")
    make = raw.StatefulPartitionedCall if f.is_stateful else raw.PartitionedCall
    kinds = _results(f) if tout is None else list(tout)
    if config is None:
        # 1.15's default, which turns rewrites of the graph off.
        unchanged = messages.ConfigProto()
        unchanged.graph_options.rewrite_options.disable_meta_optimizer = True
        config = unchanged.SerializeToString()
    return make(list(args), Tout=kinds, f=f, config_proto=config, executor_type=executor_type or "")
