"""tf.autograph: functions with Python control flow over tensors, as functions that build graphs of it."""

from __future__ import annotations

import ast
import functools
import inspect
import types
from collections.abc import Callable
from typing import Any

from tfcompat._src.autograph import conversion, source
from tfcompat._src.autograph.errors import ConversionError, with_lines
from tfcompat._src.autograph.naming import Namer
from tfcompat._src.autograph.options import ConversionOptions
from tfcompat._src.autograph.pyct import inspect_utils
from tfcompat._src.base.autograph_status import ControlStatusCtx, Status, control_status_ctx
from tfcompat._src.base.export import export


def _in_status(function: Callable, status: Status) -> Callable:
    """A function that runs in a block of a status."""

    def run(*args: Any, **kwargs: Any) -> Any:
        with ControlStatusCtx(status):
            return function(*args, **kwargs)

    return functools.update_wrapper(run, function) if inspect.isroutine(function) else run


def converting(function: object, options: ConversionOptions) -> Callable:
    """A function that converts another when it is called; what that raises names the lines of the user's code."""

    def run(*args: Any, **kwargs: Any) -> Any:
        with ControlStatusCtx(Status.ENABLED, options.optional_features):
            try:
                return conversion.converted(function, options)(*args, **kwargs)
            except Exception as error:
                found = with_lines(error)
                if found is error:
                    raise
                raise found.with_traceback(error.__traceback__) from None

    return functools.update_wrapper(run, function) if inspect.isroutine(function) else run


def traced_as(function: Any, autograph: bool, features: object = None) -> Callable:
    """How tf.function calls a Python function: converted or as it is."""
    if not autograph:
        return _in_status(function, Status.DISABLED)
    return converting(function, ConversionOptions(recursive=True, user_requested=True, optional_features=features))


def tf_convert(f: Any, ctx: ControlStatusCtx, convert_by_default: bool = True, user_requested: bool = False) -> Callable:
    """A function as a library calls it for its user: converted where that was said, or where nothing was and `convert_by_default`."""
    if ctx.status is Status.ENABLED or (ctx.status is Status.UNSPECIFIED and convert_by_default):
        return converting(f, ConversionOptions(recursive=True, user_requested=user_requested, optional_features=None))
    return _in_status(f, ctx.status)


def in_context(function: object, by_default: bool = True) -> Callable:
    """A user's function as the library traces it: converted where the code around is, as it is where that is off."""
    return tf_convert(function, control_status_ctx(), by_default)


@export("contrib.autograph.convert")
def convert(recursive: bool = False, optional_features: object = None, user_requested: bool = True) -> Callable:
    """A decorator that converts a function when it is called.

    Args:
      recursive: whether the functions that it calls are converted too.
      optional_features: Features: None, one, or several.
      user_requested: whether functions of libraries are converted.
    """
    options = ConversionOptions(recursive, user_requested, optional_features=optional_features)

    def decorated(function: object) -> Callable:
        found = converting(function, options)
        if inspect.isroutine(function):
            found.__signature__ = inspect.signature(function)
        return found

    return decorated


@export("autograph.experimental.do_not_convert", "contrib.autograph.do_not_convert")
def do_not_convert(func: Any = None) -> Callable:
    """A function that AutoGraph does not convert.

    Args:
      func: the function; without it, a decorator is returned.
    """
    return do_not_convert if func is None else _in_status(func, Status.DISABLED)


def call_with_unspecified_conversion_status(func: Callable) -> Callable:
    """A function that runs as if nothing had been said of conversion."""
    return _in_status(func, Status.UNSPECIFIED)


@export("contrib.autograph.converted_call")
def converted_call(f: object, options: ConversionOptions, args: tuple, kwargs: dict | None, caller_fn_scope: object = None) -> Any:
    """Calls a function converted.

    Args:
      f: the function. options: of the conversion. args, kwargs: its arguments. caller_fn_scope: must be None.
    """
    if caller_fn_scope is not None:
        raise NotImplementedError(f"tfcompat: converted_call takes no scope of the caller, but got {caller_fn_scope!r}.")
    if isinstance(f, (types.BuiltinFunctionType, type)):
        return conversion.runtime(options).call(f)(*args, **(kwargs or {}))
    with ControlStatusCtx(Status.ENABLED, options.optional_features):
        return conversion.converted(f, options)(*args, **(kwargs or {}))


def function_of(entity: Any) -> types.FunctionType:
    """The Python function of a function, a method or a partial.

    Raises:
      NotImplementedError: something else, or a generator.
    """
    found = entity
    while hasattr(found, "python_function") or isinstance(found, types.MethodType):
        found = found.__func__ if isinstance(found, types.MethodType) else found.python_function
    if not isinstance(found, types.FunctionType):
        raise NotImplementedError(f'cannot convert entity "{entity}": object conversion is not yet supported.')
    if source.is_generator(found.__code__):
        raise NotImplementedError("Generators are not supported by AutoGraph")
    return found


def _name_of_converted(function: types.FunctionType) -> str:
    name = function.__name__
    return name if inspect_utils.islambda(function) else Namer(inspect_utils.getnamespace(function)).function_name(name)


def _graph_function(entity: object, options: ConversionOptions) -> Callable:
    function = function_of(entity)
    try:
        conversion.converted_tree(function, options)
    except ValueError as error:
        raise ConversionError(f"converting {entity}: ValueError: {error}") from error
    found = functools.update_wrapper(converting(function, options), function)
    found.__name__ = _name_of_converted(function)
    return found


def _graph_class(entity: type, options: ConversionOptions) -> type:
    methods = {name: _graph_function(value, options) for name, value in vars(entity).items() if isinstance(value, types.FunctionType)}
    return type(entity)(f"Tf{entity.__name__}", (entity,), methods)


def converted_entity(entity: object, options: ConversionOptions) -> Any:
    """The function or class that a function, a method or a class becomes."""
    return _graph_class(entity, options) if isinstance(entity, type) else _graph_function(entity, options)


@export("autograph.to_graph", "contrib.autograph.to_graph")
def to_graph(
    entity: object, recursive: bool = True, arg_values: object = None, arg_types: object = None, experimental_optional_features: object = None
) -> Any:
    """Converts a function, a method or a class.

    Args:
      entity: the function, or a class whose methods are converted; methods become functions that take `self`.
      recursive: whether the functions that it calls are converted too.
      arg_values, arg_types: deprecated; they change nothing.
      experimental_optional_features: Features: None, one, or several.

    Returns:
      a function with the same parameters, or a class.

    Raises:
      ConversionError: the source is not there. NotImplementedError: `entity` cannot be converted.
    """
    return converted_entity(entity, ConversionOptions(recursive, True, optional_features=experimental_optional_features))


@export("compat.v2.autograph.to_graph")
def to_graph_v2(entity: object, recursive: bool = True, experimental_optional_features: object = None) -> Any:
    """See `to_graph`."""
    return to_graph(entity, recursive, experimental_optional_features=experimental_optional_features)


@export("autograph.to_code", "contrib.autograph.to_code")
def to_code(
    entity: object, recursive: bool = True, arg_values: object = None, arg_types: object = None, indentation: str = "  ",
    experimental_optional_features: object = None,
) -> str:  # fmt: skip
    """The source code of what `to_graph` gives.

    Args:
      entity: the function. indentation: deprecated; it changes nothing. Other arguments are those of `to_graph`.

    Raises:
      ConversionError: the source is not there. NotImplementedError: `entity` cannot be converted.
    """
    options = ConversionOptions(recursive, True, optional_features=experimental_optional_features)
    function = function_of(entity)
    try:
        tree = conversion.converted_tree(function, options) or source.tree_of(function)
    except ValueError as error:
        raise ConversionError(f"converting {entity}: ValueError: {error}") from error
    if isinstance(tree, ast.FunctionDef):
        tree.name = _name_of_converted(function)
    return ast.unparse(ast.fix_missing_locations(tree))


@export("compat.v2.autograph.to_code")
def to_code_v2(entity: object, recursive: bool = True, experimental_optional_features: object = None) -> str:
    """See `to_code`."""
    return to_code(entity, recursive, experimental_optional_features=experimental_optional_features)
