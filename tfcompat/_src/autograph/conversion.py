"""Which functions are converted, and the conversion itself, once for each piece of code."""

from __future__ import annotations

import functools
import os
import sys
import types
from collections.abc import Callable
from typing import Any

from tfcompat._src.autograph import ag_logging, builtins, config, control_flow, source
from tfcompat._src.autograph.converter import Converter, may_change
from tfcompat._src.autograph.function_wrappers import FunctionScope
from tfcompat._src.autograph.operators import data_structures, exceptions, slices, special_values
from tfcompat._src.autograph.options import ConversionOptions, Feature

_MADE_BY_EXEC = "<string>"
_CONVERTED: dict[tuple, types.CodeType | None] = {}
"""The converted code by code, file and features; None where it stays as it is."""


class Runtime:
    """What converted code calls `ag__`: the operators, and `call` for the functions that it calls."""

    NO_RESULT = control_flow.NO_RESULT
    if_stmt, while_stmt, for_stmt = map(staticmethod, (control_flow.if_stmt, control_flow.while_stmt, control_flow.for_stmt))
    value, is_undefined, retval = map(staticmethod, (control_flow.value, special_values.is_undefined, special_values.retval))
    if_exp, and_, or_, not_ = map(staticmethod, (builtins.if_exp, builtins.and_, builtins.or_, builtins.not_))
    eq, not_eq, assert_stmt = map(staticmethod, (builtins.eq, builtins.not_eq, exceptions.assert_stmt))
    new_list, list_append = map(staticmethod, (data_structures.new_list, data_structures.list_append))
    list_pop, list_stack = map(staticmethod, (data_structures.list_pop, data_structures.list_stack))
    ListPopOpts, ListStackOpts = data_structures.ListPopOpts, data_structures.ListStackOpts
    set_item = staticmethod(slices.set_item)

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


def converted(function: object, options: ConversionOptions) -> Any:
    """What is called in place of a function, a method or an object that can be called: itself where it is not converted."""
    if not options.internal_convert_user_code:
        return function
    if _is_decorated_by_wrapt(function):
        ag_logging.warn(
            "Entity %s appears to be decorated by wrapt, which is not yet supported by AutoGraph. The function will be called without "
            "transformation. You may however apply AutoGraph before the decorator.", function,
        )  # fmt: skip
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


def _is_decorated_by_wrapt(function: object) -> bool:
    """Whether calling `function` runs a wrapper of wrapt: it also passes for the function or method inside, which converts without it."""
    wrapt = sys.modules.get("wrapt")
    return wrapt is not None and isinstance(function, (wrapt.FunctionWrapper, wrapt.BoundFunctionWrapper))


def _converted_method(method: types.MethodType, options: ConversionOptions) -> Any:
    unittest = sys.modules.get("unittest")
    is_test = unittest is not None and isinstance(method.__self__, unittest.TestCase)
    if is_test and not options.user_requested:
        return method
    inner = converted(method.__func__, options)
    return method if inner is method.__func__ else types.MethodType(inner, method.__self__)


def _runs_as_it_is(module: str) -> bool:
    """Whether the functions of a module are not converted: it is one of Python's, or config.CONVERSION_RULES say so."""
    rule = next((each for each in config.CONVERSION_RULES if each.matches(module)), None)
    if rule is None:
        return module.partition(".")[0] in sys.stdlib_module_names
    return isinstance(rule, config.DoNotConvert)


def _converted_function(function: types.FunctionType, options: ConversionOptions) -> types.FunctionType:
    code = function.__code__
    belongs = _runs_as_it_is(function.__globals__.get("__name__", ""))
    if source.is_converted(code) or code.co_filename == _MADE_BY_EXEC or (belongs and not options.user_requested):
        return function
    if source.is_generator(code):
        return function
    key = (code, code.co_filename, options.optional_features)
    if key not in _CONVERTED:
        ag_logging.log(1, "Converting %s", function)
        try:
            _CONVERTED[key] = converted_code(function, options)
        except (ValueError, NotImplementedError, SyntaxError) as error:
            if os.environ.get("AUTOGRAPH_STRICT_CONVERSION", "") not in ("", "0"):
                raise
            ag_logging.warn(
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
    if not options.uses(Feature.NAME_SCOPES) and not options.uses(Feature.AUTO_CONTROL_DEPS):
        return function
    name = "lambda_" if function.__name__ == "<lambda>" else function.__name__

    @functools.wraps(function)
    def scoped(*args: Any, **kwargs: Any) -> Any:
        with FunctionScope(name, None, options) as scope:
            return scope.mark_return_value(function(*args, **kwargs))

    return scoped
