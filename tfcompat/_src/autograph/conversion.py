"""Which functions are converted, and the conversion itself, once for each piece of code."""

from __future__ import annotations

import functools
import os
import sys
import types
from collections.abc import Callable
from typing import Any

from tfcompat._src.autograph import builtins, control_flow, lists, source
from tfcompat._src.autograph.control_deps import in_order
from tfcompat._src.autograph.converter import Converter, may_change
from tfcompat._src.autograph.options import ConversionOptions, Feature
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.platform import logging

LIBRARIES = frozenset(("tfcompat", "tensorflow", "numpy", "jax", "jaxlib", "mock", "ipdb", "tensorflow_probability")) | (
    sys.stdlib_module_names
)
"""Top-level modules whose functions run as they are."""
_MADE_BY_EXEC = "<string>"
_CONVERTED: dict[tuple, types.CodeType | None] = {}
"""The converted code by code, file and features; None where it stays as it is."""


class _Verbosity:
    """How much is logged, and whether that is printed too."""

    level = int(os.environ.get("AUTOGRAPH_VERBOSITY", "0"))
    prints = False

    def log(self, level: int, message: str) -> None:
        if self.level >= level:
            logging.info(message)
            if self.prints:
                print(message)


VERBOSITY = _Verbosity()


class Runtime:
    """What converted code calls `ag__`: the operators, and `call` for the functions that it calls."""

    NO_RESULT = control_flow.NO_RESULT
    if_stmt, while_stmt, for_stmt = map(staticmethod, (control_flow.if_stmt, control_flow.while_stmt, control_flow.for_stmt))
    value, is_undefined, returned = map(staticmethod, (control_flow.value, control_flow.is_undefined, control_flow.returned))
    if_exp, and_, or_, not_ = map(staticmethod, (builtins.if_exp, builtins.and_, builtins.or_, builtins.not_))
    eq, not_eq, assert_stmt = map(staticmethod, (builtins.eq, builtins.not_eq, builtins.assert_stmt))
    new_list, list_append, list_pop = map(staticmethod, (lists.new_list, lists.list_append, lists.list_pop))
    list_stack, set_item = map(staticmethod, (lists.list_stack, lists.set_item))

    def __init__(self, options: ConversionOptions) -> None:
        self._called = options.call_options()
        self._overloads = dict(builtins.OVERLOADS)
        if options.uses(Feature.BUILTIN_FUNCTIONS):
            self._overloads[print] = builtins.print_

    def call(self, function: Any) -> Any:
        """What is called in place of a function."""
        if isinstance(function, (types.BuiltinFunctionType, type)):
            return self._overloads.get(function, function)
        return converted(function, self._called)


@functools.cache
def runtime(options: ConversionOptions) -> Runtime:
    return Runtime(options)


def converted(function: Any, options: ConversionOptions) -> Any:
    """What is called in place of a function, a method or an object that can be called: itself where it is not converted."""
    if not options.internal_convert_user_code:
        return function
    if isinstance(function, types.FunctionType):
        return _converted_function(function, options)
    if isinstance(function, types.MethodType):
        return _converted_method(function, options)
    if isinstance(function, functools.partial):
        inner = converted(function.func, options)
        return function if inner is function.func else functools.partial(inner, *function.args, **function.keywords)
    method = None if isinstance(function, type) else type(function).__call__ if callable(function) else None
    if not isinstance(method, types.FunctionType):
        return function
    made = _converted_function(method, options)
    return function if made is method else types.MethodType(made, function)


def _converted_method(method: types.MethodType, options: ConversionOptions) -> Any:
    unittest = sys.modules.get("unittest")
    is_test = unittest is not None and isinstance(method.__self__, unittest.TestCase)
    if is_test and not options.user_requested:
        return method
    inner = converted(method.__func__, options)
    return method if inner is method.__func__ else types.MethodType(inner, method.__self__)


def _converted_function(function: types.FunctionType, options: ConversionOptions) -> types.FunctionType:
    code = function.__code__
    belongs = function.__globals__.get("__name__", "").partition(".")[0]
    if source.is_converted(code) or code.co_filename == _MADE_BY_EXEC or (belongs in LIBRARIES and not options.user_requested):
        return function
    if source.is_generator(code):
        return function
    key = (code, code.co_filename, options.optional_features)
    if key not in _CONVERTED:
        VERBOSITY.log(1, f"Converting {function}")
        try:
            _CONVERTED[key] = converted_code(function, options)
        except (ValueError, NotImplementedError, SyntaxError) as error:
            if os.environ.get("AUTOGRAPH_STRICT_CONVERSION", "") not in ("", "0"):
                raise
            logging.warn(
                "Entity %s could not be transformed and will be executed as-is. Please report this to the AutoGraph team. When filing "
                "the bug, set the verbosity to 10 (on Linux, `export AUTOGRAPH_VERBOSITY=10`) and attach the full output. Cause: %s",
                function, error,
            )  # fmt: skip
            _CONVERTED[key] = None
    made = _CONVERTED[key]
    if made is None:
        return function
    return _scoped(source.instantiated(made, function, runtime(options)), options)


def converted_tree(function: types.FunctionType, options: ConversionOptions) -> source.FunctionNode | None:
    """The converted syntax tree of a function, None where there is nothing to convert.

    Raises:
      ValueError: the source is not there. NotImplementedError: something in it is not supported.
    """
    tree = source.tree_of(function)
    refused = source.refused(tree)
    if refused is not None:
        raise NotImplementedError(refused)
    return Converter(options.uses).convert(tree) if may_change(tree) else None


def converted_code(function: types.FunctionType, options: ConversionOptions) -> types.CodeType | None:
    tree = converted_tree(function, options)
    return None if tree is None else source.compiled(tree, function.__code__)


def _scoped(function: types.FunctionType, options: ConversionOptions) -> Callable:
    """A function in a name scope of its own and with its effects in order, where the options say so."""
    named, ordered = options.uses(Feature.NAME_SCOPES), options.uses(Feature.AUTO_CONTROL_DEPS)
    if not named and not ordered:
        return function
    run = in_order(function) if ordered else function

    @functools.wraps(function)
    def scoped(*args: Any, **kwargs: Any) -> Any:
        if not named:
            return run(*args, **kwargs)
        with name_scope(_scope_name(function.__name__)):
            return run(*args, **kwargs)

    return scoped


def _scope_name(name: str) -> str:
    """The name of a function as a name scope may be called."""
    return f"fn{name}" if name.startswith("_") else name.strip("<>")
