"""tf.contrib.tpu's loops inside a computation: while_loop and repeat."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.contrib.compiler.xla import check_function_argument_count
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.ops.control.groups import tuple_
from tfcompat._src.ops.control.while_loop import while_loop as core_while_loop


def _without_infeed(infeed_queue: object) -> None:
    if infeed_queue is not None:
        raise NotImplementedError("tfcompat has no loops that are fed by an infeed_queue: take elements of a dataset's iterator.")


def _check_arguments(function: Callable, inputs: list[Tensor], what: str) -> None:
    lacking = check_function_argument_count(function, len(inputs), None)
    if lacking is not None:
        raise TypeError(
            f"Supplied loop {what} function cannot be called with the specified inputs. You specified {len(inputs)} inputs: "
            f"{[x.name for x in inputs]}, but the loop {what} needs {lacking}"
        )


def _listed(values: object) -> list[Any]:
    return list(values) if isinstance(values, (list, tuple)) else [values]


@export("contrib.tpu.while_loop")
def while_loop(
    condition: Callable, body: Callable, inputs: Any = None, infeed_queue: object = None, name: str | None = None
) -> Any:
    """A loop inside a computation.

    Args:
      condition: function of the loop's values that gives a bool scalar.
      body: function of the loop's values that gives the next ones, then operations to wait for.
      inputs: the first values; by default there are none.
      infeed_queue: None.
      name: unused, as in 1.15.

    Returns:
      the last values, in the way in which tf.while_loop gives them.

    Raises:
      TypeError: a function takes another number of arguments, or the types change. ValueError: operations come before values.
      NotImplementedError: there is an `infeed_queue`.
    """
    _without_infeed(infeed_queue)
    values = [convert_to_tensor(x) for x in inputs or ()]
    types = [x.dtype for x in values]
    _check_arguments(body, values, "body")
    _check_arguments(condition, values, "condition")

    def wrapped_condition(*arguments: Tensor) -> Any:
        return condition(*arguments[: len(values)])

    def wrapped_body(*arguments: Tensor) -> Any:
        found = [
            each if isinstance(each, Operation) else convert_to_tensor(each)
            for each in _listed(body(*arguments[: len(values)]))
        ]
        operations = [each for each in found if isinstance(each, Operation)]
        tensors = [each for each in found if not isinstance(each, Operation)]
        if found != tensors + operations:
            raise ValueError(
                "TPU training loop body must return zero or more Tensor values followed by zero or more Operations."
            )
        if types != [each.dtype for each in tensors]:
            raise TypeError(
                "Mismatch between input types and output types for training loop body: "
                f"{types} vs {[each.dtype for each in tensors]}"
            )
        tensors = tensors or [constant(0)]
        return tuple_(tensors, control_inputs=operations) if operations else tensors

    return core_while_loop(wrapped_condition, wrapped_body, values or [constant(0)], name="", parallel_iterations=1)


@export("contrib.tpu.repeat")
def repeat(n: object, body: Callable, inputs: object = None, infeed_queue: object = None, name: str | None = None) -> Any:
    """A body, `n` times; arguments as `while_loop`.

    Returns:
      list of the last values, or an operation where there are none.
    """
    first = [0] if inputs is None else [0, *_listed(inputs)]
    found = _listed(
        while_loop(
            lambda i, *values: i < n,
            lambda i, *values: [i + 1, *_listed(body(*values))],
            inputs=first, infeed_queue=infeed_queue, name=name,
        )
    )  # fmt: skip
    return found[0].op if len(found) == 1 else found[1:]
