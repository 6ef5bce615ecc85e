"""Whether a layer trains or infers: a Python bool, a tensor, or Keras's learning phase."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from tfcompat._src.framework.scopes import get_default_graph, name_scope
from tfcompat._src.framework.tensor import Tensor
from tfcompat._src.ops.array.constant import placeholder_with_default
from tfcompat._src.ops.control import cond as control
from tfcompat._src.variables.variable import Variable

_learning_phases: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


def learning_phase() -> Tensor:
    """The graph's placeholder that says whether Keras layers train; False by default."""
    graph = get_default_graph()
    if graph not in _learning_phases:
        with name_scope(""):
            _learning_phases[graph] = placeholder_with_default(False, shape=(), name="keras_learning_phase")
    return _learning_phases[graph]


def smart_cond(pred: Any, true_fn: Callable, false_fn: Callable) -> Any:
    """One of two functions where `pred` is known while the graph is built, else `tf.cond` of both."""
    if isinstance(pred, Variable):
        return control.cond(pred, true_fn=true_fn, false_fn=false_fn)
    return control.smart_cond(pred, true_fn=true_fn, false_fn=false_fn)


def constant_value(pred: Any) -> bool | None:
    """The value of `pred` where it is known while the graph is built."""
    return None if isinstance(pred, Variable) else control.smart_constant_value(pred)
