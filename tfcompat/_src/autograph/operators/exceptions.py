"""`tensorflow.python.autograph.operators.exceptions`: the `assert` statement."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.graph.tensor_like import is_tensor
from tfcompat._src.ops.control.cond import Assert

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def assert_stmt(expression1: TensorLike, expression2: Callable[[], Any]) -> Any:
    """`assert expression1, expression2()`; on a tensor, an operation that checks it when it runs.

    Args:
      expression1: what must hold. expression2: a function without arguments that gives the message, or a list of what it is made of.

    Raises:
      ValueError: `expression2` is no such function.
    """
    if not callable(expression2):
        raise ValueError(f"{expression2} must be a callable")
    if any(each.kind is not each.VAR_POSITIONAL for each in inspect.signature(expression2).parameters.values()):
        raise ValueError(f"{expression2} may not have any arguments")
    if is_tensor(expression1):
        text = expression2()
        return Assert(expression1, text if isinstance(text, list) else [text])
    assert expression1, expression2()  # noqa: S101
    return None
