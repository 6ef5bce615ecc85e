"""`tensorflow.python.util.deprecation`: decorators that log the use of deprecated functions, arguments and names."""

from __future__ import annotations

import contextlib
import functools
import inspect
import re
import sys
from collections.abc import Callable, Hashable, Iterator
from typing import Any, NamedTuple

from tfcompat._src.base.deprecation import deprecated_argument_lookup as deprecated_argument_lookup
from tfcompat._src.base.export import export
from tfcompat._src.platform import logging
from tfcompat._src.shim.internal.decorator_utils import add_notice_to_docstring, get_qualified_name, validate_callable
from tfcompat._src.shim.internal.tf_decorator import make_decorator
from tfcompat._src.shim.internal.tf_inspect import getcallargs, getfullargspec

# Names of 1.15, which tests of programs replace and read.
_PRINT_DEPRECATION_WARNINGS = True
_PRINTED_WARNING: dict[Hashable, bool] = {}

_FORMAT = "will be removed %s.\nInstructions for updating:\n%s"
_DATE = re.compile(r"20\d\d-[01]\d-[0123]\d")


class DeprecatedNamesAlreadySet(Exception):
    """A symbol with deprecated names is given deprecated names again."""


class DeprecatedArgSpec(NamedTuple):
    """A deprecated argument: its position in the signature, and a value for which no warning is logged."""

    position: int
    has_ok_value: bool
    ok_value: Any


def _validate_deprecation_args(date: str | None, instructions: str) -> None:
    """Raises ValueError if the date is not YYYY-MM-DD, or there are no instructions."""
    if date is not None and not _DATE.match(date):
        raise ValueError("Date must be YYYY-MM-DD.")
    if not instructions:
        raise ValueError("Don't deprecate things without conversion instructions!")


def _when(date: str | None) -> str:
    return "in a future version" if date is None else f"after {date}"


def _caller() -> str:
    """Returns the file and line of the innermost call from outside of this module."""
    # Frames of this module are skipped, however deep: the decorators call each other.
    frame = sys._getframe(1)
    while frame.f_code.co_filename == __file__ and frame.f_back is not None:
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _warn(key: Hashable, once: bool, text: str, *values: object) -> None:
    """Logs a warning with the caller's line; with `once`, only for the first call with this key in the process."""
    if not _PRINT_DEPRECATION_WARNINGS or key in _PRINTED_WARNING:
        return
    if once:
        _PRINTED_WARNING[key] = True
    logging.warning("From %s: " + text, _caller(), *values)


def _notice_of_function(doc: str | None, date: str | None, instructions: str) -> str:
    """Adds the notice of a deprecated function to its docstring."""
    notice = [f"THIS FUNCTION IS DEPRECATED. It will be removed {_when(date)}.", "Instructions for updating:"]
    return add_notice_to_docstring(doc, instructions, "DEPRECATED FUNCTION", "(deprecated)", notice)


def _notice_of_arguments(doc: str | None, date: str | None, instructions: str, what: str, listed: str) -> str:
    """Adds the notice of deprecated arguments to a docstring; `what` is "arguments" or "argument values"."""
    notice = [f"SOME {what.upper()} ARE DEPRECATED: `({listed})`. They will be removed {_when(date)}."]
    return add_notice_to_docstring(
        doc,
        instructions,
        f"DEPRECATED FUNCTION {what.upper()}",
        f"(deprecated {what})",
        [*notice, "Instructions for updating:"],
    )


@export("contrib.framework.deprecated")
def deprecated(date: str | None, instructions: str, warn_once: bool = True) -> Callable[[Any], Any]:
    """Returns a decorator that marks a function as deprecated; its first call, or each without `warn_once`, logs `instructions`.

    Args:
      date: YYYY-MM-DD of the removal, or None for a future version.

    Raises:
      ValueError: the date is not YYYY-MM-DD, there are no instructions, or the decorated object is not callable.
    """
    _validate_deprecation_args(date, instructions)

    def mark(func: Any) -> Any:
        validate_callable(func, "deprecated")

        @functools.wraps(func)
        def warned(*args: Any, **kwargs: Any) -> Any:
            text = "%s (from %s) is deprecated and " + _FORMAT
            _warn(func, warn_once, text, get_qualified_name(func), func.__module__, _when(date), instructions)
            return func(*args, **kwargs)

        return make_decorator(func, warned, "deprecated", _notice_of_function(func.__doc__, date, instructions))

    return mark


@export("contrib.framework.deprecated_args")
def deprecated_args(
    date: str | None, instructions: str, *deprecated_arg_names_or_tuples: Any, **kwargs: Any
) -> Callable[[Any], Any]:
    """Returns a decorator that marks arguments of a function as deprecated; a call that passes one logs `instructions`.

    Args:
      date: YYYY-MM-DD of the removal, or None for a future version.
      instructions: what to do instead.
      *deprecated_arg_names_or_tuples: names, or pairs of a name and a value for which no warning is logged.
      **kwargs: `warn_once=False` logs every such call.

    Raises:
      ValueError: the date is not YYYY-MM-DD, there are no instructions or names, or the function lacks an argument.
    """
    _validate_deprecation_args(date, instructions)
    if not deprecated_arg_names_or_tuples:
        raise ValueError("Specify which argument is deprecated.")
    warn_once = kwargs.pop("warn_once", True)
    if kwargs:
        raise ValueError(f"Illegal argument to deprecated_args: {kwargs}")
    marked = {
        each[0] if isinstance(each, tuple) else each: DeprecatedArgSpec(-1, True, each[1])
        if isinstance(each, tuple)
        else DeprecatedArgSpec(-1, False, None)
        for each in deprecated_arg_names_or_tuples
    }

    def mark(func: Any) -> Any:
        # Positions are known here, so that a call need not look at the signature again.
        validate_callable(func, "deprecated_args")
        spec = getfullargspec(func)
        known = [*spec.args, spec.varargs, spec.varkw]
        missing = [name for name in marked if name not in known]
        if missing:
            raise ValueError(
                "The following deprecated arguments are not present in the function signature: "
                f"{missing}. Found next arguments: {known}."
            )
        at = {n: rule._replace(position=spec.args.index(n)) for n, rule in marked.items() if n in spec.args}

        # The arguments are examined only if warnings are logged at all, as this costs more than most calls.
        @functools.wraps(func)
        def warned(*args: Any, **named: Any) -> Any:
            for name in _given(func, spec, marked, at, args, named) if _PRINT_DEPRECATION_WARNINGS else ():
                text = "calling %s (from %s) with %s is deprecated and " + _FORMAT
                qualified = get_qualified_name(func)
                _warn((func, name), warn_once, text, qualified, func.__module__, name, _when(date), instructions)
            return func(*args, **named)

        doc = _notice_of_arguments(func.__doc__, date, instructions, "arguments", ", ".join(sorted(marked)))
        return make_decorator(func, warned, "deprecated", doc)

    return mark


def _given(
    func: object,
    spec: inspect.FullArgSpec,
    marked: dict[str, DeprecatedArgSpec],
    at: dict[str, DeprecatedArgSpec],
    args: tuple[Any, ...],
    named: dict[str, Any],
) -> list[str]:
    """Returns the names of the deprecated arguments that a call passes, other than with an accepted value.

    Args:
      marked: all deprecated arguments. at: those in the argument list, with their positions; the rest are `*args` and `**kwargs`.
    """
    values = getcallargs(func, *args, **named)
    passed = [
        name
        for name, rule in at.items()
        if (rule.position < len(args) or name in named)
        and not (rule.has_ok_value and _same_value(values[name], rule.ok_value))
    ]
    # `*args` or `**kwargs` as a whole can be deprecated: any argument that goes there counts.
    if spec.varargs in marked and len(args) > len(spec.args):
        passed.append(spec.varargs)
    if spec.varkw in marked and set(named) - set(spec.args):
        passed.append(spec.varkw)
    return passed


def _same_value(a: object, b: object) -> bool:
    """Whether two values are identical or compare equal; false if the comparison is not a bool (arrays) or is not possible."""
    if a is b:
        return True
    try:
        return (a == b) is True
    except TypeError:
        return False


@export("contrib.framework.deprecated_arg_values")
def deprecated_arg_values(
    date: str | None, instructions: str, warn_once: bool = True, **deprecated_kwargs: object
) -> Callable[[Any], Any]:
    """Returns a decorator that marks values of arguments as deprecated; a call that passes one, or has it as default, logs `instructions`.

    Args:
      date: YYYY-MM-DD of the removal, or None for a future version.
      **deprecated_kwargs: the deprecated value of each argument.

    Raises:
      ValueError: the date is not YYYY-MM-DD, or there are no instructions or values.
    """
    _validate_deprecation_args(date, instructions)
    if not deprecated_kwargs:
        raise ValueError("Specify which argument values are deprecated.")

    def mark(func: Any) -> Any:
        validate_callable(func, "deprecated_arg_values")

        @functools.wraps(func)
        def warned(*args: Any, **kwargs: Any) -> Any:
            given = getcallargs(func, *args, **kwargs) if _PRINT_DEPRECATION_WARNINGS else {}
            for name, value in deprecated_kwargs.items():
                if name in given and given[name] == value:
                    text = "calling %s (from %s) with %s=%s is deprecated and " + _FORMAT
                    what = (get_qualified_name(func), func.__module__, name, value)
                    _warn((func, name), warn_once, text, *what, _when(date), instructions)
            return func(*args, **kwargs)

        listed = ", ".join(f"{name}={value!r}" for name, value in sorted(deprecated_kwargs.items()))
        doc = _notice_of_arguments(func.__doc__, date, instructions, "argument values", listed)
        return make_decorator(func, warned, "deprecated", doc)

    return mark


def deprecated_alias(deprecated_name: str, name: str, func_or_class: Any, warn_once: bool = True) -> Any:
    """Returns a function or class under its deprecated name; a call, or the construction of an instance, logs the new name."""

    # The key of the warning is the replacement, so that each alias of a function warns once.
    replacement: object

    def warn() -> None:
        text = "The name %s is deprecated. Please use %s instead.\n"
        _warn(replacement, warn_once, text, deprecated_name, name)

    instructions = f"Please use {name} instead."
    if inspect.isclass(func_or_class):
        replacement = _alias_of_class(func_or_class, instructions, warn)
        return replacement
    validate_callable(func_or_class, "deprecated")

    @functools.wraps(func_or_class)
    def warned(*args: Any, **kwargs: Any) -> Any:
        warn()
        return func_or_class(*args, **kwargs)

    doc = _notice_of_function(func_or_class.__doc__, None, instructions)
    replacement = make_decorator(func_or_class, warned, "deprecated", doc)
    return replacement


def _alias_of_class(cls: type, instructions: str, warn: Callable[[], None]) -> type:
    """Returns a subclass whose constructor calls `warn`."""
    # As in 1.15, the class is named `_NewClass`, and its module is the caller's file and line.
    initialize = cls.__init__  # type: ignore[misc]  # of the class itself

    def warned(self: Any, *args: Any, **kwargs: Any) -> None:
        warn()
        initialize(self, *args, **kwargs)

    notice = ["THIS CLASS IS DEPRECATED. It will be removed in a future version. "]
    doc = add_notice_to_docstring(cls.__doc__, instructions, "DEPRECATED CLASS", "(deprecated)", notice)
    return type("_NewClass", (cls,), {"__doc__": doc, "__module__": _caller(), "__init__": make_decorator(initialize, warned, "deprecated")})


def deprecated_endpoints(*args: str) -> Callable[[Any], Any]:
    """Returns a decorator that stores the deprecated public names of a symbol in its `_tf_deprecated_api_names`.

    Raises:
      DeprecatedNamesAlreadySet: the symbol has deprecated names.
    """

    def mark(func: Any) -> Any:
        # In `vars`: a subclass does not inherit the deprecated names of its base class.
        if "_tf_deprecated_api_names" in vars(func):
            raise DeprecatedNamesAlreadySet(
                f"Cannot set deprecated names for {func.__name__} to {args}. "
                f"Deprecated names are already set to {func._tf_deprecated_api_names}."
            )
        func._tf_deprecated_api_names = args
        return func

    return mark


def rewrite_argument_docstring(old_doc: str, old_argument: str, new_argument: str) -> str:
    """Renames an argument in a docstring."""
    return old_doc.replace(f"`{old_argument}`", f"`{new_argument}`").replace(f"{old_argument}:", f"{new_argument}:")


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Context manager: logs no deprecation warnings inside the block, in all threads."""
    global _PRINT_DEPRECATION_WARNINGS
    before, _PRINT_DEPRECATION_WARNINGS = _PRINT_DEPRECATION_WARNINGS, False
    try:
        yield
    finally:
        _PRINT_DEPRECATION_WARNINGS = before


class HiddenTfApiAttribute(property):
    """A property that raises AttributeError, which hides an attribute of a base class."""

    def __init__(self, deprecation_message: str) -> None:
        def refuse(unused_self: Any) -> Any:
            raise AttributeError(deprecation_message)

        super().__init__(refuse)


hide_attribute_from_api = HiddenTfApiAttribute
HIDDEN_ATTRIBUTE = HiddenTfApiAttribute("This attribute has been deprecated.")
