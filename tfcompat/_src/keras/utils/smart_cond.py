"""One of two functions, chosen by a Python bool, a tensor or a variable."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.ops.control import cond as control
from tfcompat._src.variables.variable import Variable

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def smart_cond(pred: TensorLike, true_fn: Callable | None = None, false_fn: Callable | None = None, name: str | None = None) -> Any:
    """One of two functions where `pred` is known while the graph is built, else `tf.cond` of both."""
    if isinstance(pred, Variable):
        return control.cond(pred, true_fn=true_fn, false_fn=false_fn, name=name)
    return control.smart_cond(pred, true_fn=true_fn, false_fn=false_fn, name=name)


def constant_value(pred: object) -> bool | None:
    """The value of `pred` where it is known while the graph is built."""
    return None if isinstance(pred, Variable) else control.smart_constant_value(pred)
