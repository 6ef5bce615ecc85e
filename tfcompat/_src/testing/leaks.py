"""Decorators of test methods that assert that what a test makes is gone after it."""

from __future__ import annotations

import contextlib
import functools
import gc
from collections.abc import Callable
from typing import Any

from tfcompat._src.base.tensor_shape import Dimension, TensorShape
from tfcompat._src.eager.mode import eager_mode
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.scopes import executing_eagerly
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.variables.variable import Variable


def _tensors() -> dict[int, Any]:
    """All tensors, variables, shapes and dimensions that Python still holds, by id; not those of programs that are kept."""
    kinds = (Tensor, Variable, Dimension, TensorShape)
    found = {id(x): x for x in gc.get_objects() if issubclass(type(x), kinds)}
    for tensor in [x for x in found.values() if isinstance(x, Tensor) and x.graph.is_program]:
        for node in tensor.graph.get_operations():
            for kept in (*node.outputs, *node.attrs.values()):
                found.pop(id(kept), None)
    return found


def assert_no_new_tensors(method: Callable) -> Callable:
    """A test method, run in a graph of its own, that fails where tensors, variables or shapes that it made outlive it."""

    @functools.wraps(method)
    def checked(self: Any, **kwargs: Any) -> Any:
        before = set(_tensors())
        mode = eager_mode if executing_eagerly() else contextlib.nullcontext
        with Graph().as_default(), mode():
            result = method(self, **kwargs)
        gc.collect()
        left = [x for key, x in _tensors().items() if key not in before]
        if left:
            raise AssertionError(f"{len(left)} Tensors not deallocated after test: {left}")
        return result

    return checked


def assert_no_garbage_created(method: Callable) -> Callable:
    """A test method that fails where it leaves reference cycles to Python's garbage collector.

    It runs again where it leaves some, and fails where it does so again: what is loaded or built once, on first use, is no leak.
    """

    @functools.wraps(method)
    def checked(self: Any, **kwargs: Any) -> Any:
        result, found = _garbage_of(lambda: method(self, **kwargs))
        if found:
            result, found = _garbage_of(lambda: method(self, **kwargs))
        self.assertEqual([], found, "the test made reference cycles")
        return result

    return checked


def _garbage_of(function: Callable) -> tuple[Any, list[str]]:
    """What a call gives, and the names of the types of what it leaves to the garbage collector."""
    flags, was_enabled = gc.get_debug(), gc.isenabled()
    gc.disable()
    gc.collect()
    gc.set_debug(gc.DEBUG_SAVEALL)
    before = len(gc.garbage)
    try:
        result = function()
        gc.collect()
        return result, [type(x).__name__ for x in gc.garbage[before:]]
    finally:
        gc.set_debug(flags)
        del gc.garbage[before:]
        if was_enabled:
            gc.enable()
