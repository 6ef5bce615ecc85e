"""`tensorflow.python.util.tf_decorator`: decorators that record what they decorate, so that `unwrap` finds the innermost function.

The record is the attribute `_tf_decorator` of the wrapping function; records form a chain.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable
from typing import Any


class TFDecorator:
    """The record of a decorator: its name, the decorated function, and the docstring and signature that it declares.

    It is callable, and bindable as a method, like the function.
    """

    def __init__(
        self, decorator_name: str, target: Any, decorator_doc: str = "", decorator_argspec: object = None
    ) -> None:
        self._decorated_target = target
        self._decorator_name, self._decorator_doc, self._decorator_argspec = decorator_name, decorator_doc, decorator_argspec
        if hasattr(target, "__name__"):
            self.__name__ = target.__name__
        if hasattr(target, "__qualname__"):
            self.__qualname__ = target.__qualname__
        self.__doc__ = decorator_doc or getattr(target, "__doc__", None) or ""
        self.__wrapped__ = target
        # `inspect.signature` reads `__signature__`. Some callables, such as builtins, have none.
        if decorator_argspec is not None:
            self.__signature__ = full_signature(decorator_argspec)
        elif callable(target):
            with contextlib.suppress(TypeError, ValueError):
                self.__signature__ = inspect.signature(target)

    def __get__(self, instance: Any, owner: type) -> Any:
        return self._decorated_target.__get__(instance, owner)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._decorated_target(*args, **kwargs)

    @property
    def decorated_target(self) -> Any:
        return self._decorated_target

    @decorated_target.setter
    def decorated_target(self, target: Any) -> None:
        self._decorated_target = target

    @property
    def decorator_name(self) -> str:
        return self._decorator_name

    @property
    def decorator_doc(self) -> str:
        return self._decorator_doc

    @property
    def decorator_argspec(self) -> Any:
        return self._decorator_argspec


def full_signature(argspec: Any) -> inspect.Signature:
    """Converts an ArgSpec or FullArgSpec to a Signature."""
    # Defaults belong to the last arguments.
    kind = inspect.Parameter
    defaults = dict(zip(reversed(argspec.args), reversed(argspec.defaults or ())))
    parameters = [kind(n, kind.POSITIONAL_OR_KEYWORD, default=defaults.get(n, kind.empty)) for n in argspec.args]
    if argspec.varargs:
        parameters.append(kind(argspec.varargs, kind.VAR_POSITIONAL))
    keywords = getattr(argspec, "varkw", None) or getattr(argspec, "keywords", None)
    only = getattr(argspec, "kwonlyargs", None) or []
    only_defaults = getattr(argspec, "kwonlydefaults", None) or {}
    parameters += [kind(n, kind.KEYWORD_ONLY, default=only_defaults.get(n, kind.empty)) for n in only]
    if keywords:
        parameters.append(kind(keywords, kind.VAR_KEYWORD))
    return inspect.Signature(parameters)


def make_decorator(
    target: Callable[..., Any],
    decorator_func: Callable[..., Any],
    decorator_name: str | None = None,
    decorator_doc: str = "",
    decorator_argspec: object = None,
) -> Callable[..., Any]:
    """Records `target` on `decorator_func` for `unwrap`, gives it the name, docstring and signature of `target`, and returns it.

    Args:
      decorator_name: by default the name of the calling function.
    """
    # The caller is the decorator itself.
    if decorator_name is None:
        decorator_name = inspect.currentframe().f_back.f_code.co_name  # type: ignore[union-attr]  # a caller has a frame
    record = TFDecorator(decorator_name, target, decorator_doc, decorator_argspec)
    decorator_func._tf_decorator = record  # type: ignore[attr-defined]  # attributes of a function
    for key in ("__name__", "__qualname__", "__module__"):
        if hasattr(target, key):
            setattr(decorator_func, key, getattr(target, key))
    # Other attributes are copied as by `functools.wraps`, but do not replace those that `decorator_func` has.
    for key, value in getattr(target, "__dict__", {}).items():
        decorator_func.__dict__.setdefault(key, value)
    decorator_func.__doc__ = record.__doc__
    decorator_func.__wrapped__ = target  # type: ignore[attr-defined]  # attributes of a function
    decorator_func.__original_wrapped__ = target  # type: ignore[attr-defined]  # attributes of a function
    if hasattr(record, "__signature__"):
        decorator_func.__signature__ = record.__signature__  # type: ignore[attr-defined]  # attributes of a function
    return decorator_func


def _record(value: object) -> TFDecorator | None:
    """Returns the record of a decorated function, or None."""
    record = value if isinstance(value, TFDecorator) else getattr(value, "_tf_decorator", None)
    return record if isinstance(record, TFDecorator) else None


def rewrap(decorator_func: Callable[..., Any], previous_target: object, new_target: object) -> Any:
    """Replaces `previous_target`, or the innermost function if it is not in the chain, by `new_target`.

    Returns:
      the outermost function: `decorator_func`, or `new_target` if that is not decorated.

    Raises:
      AssertionError: `decorator_func` is not decorated and is not `previous_target`.
    """
    # Walks the chain from the outside; `wrapper` is the last function with a record.
    wrapper, record = None, _record(decorator_func)
    current: Any = decorator_func
    while record is not None:
        wrapper, last = current, record
        current = record.decorated_target
        record = None if current is previous_target else _record(current)
    # Without a record the function is the target itself.
    if wrapper is None:
        if decorator_func is not previous_target:
            raise AssertionError(f"{decorator_func} does not decorate {previous_target}")
        return new_target
    last.decorated_target = new_target
    getattr(wrapper, "__func__", wrapper).__wrapped__ = new_target
    return decorator_func


def unwrap(maybe_tf_decorator: object) -> tuple[list[TFDecorator], Any]:
    """Returns the records of all decorators of a function, outermost first, and the innermost function."""
    # Copied attributes can lead back to a record that was met before, which ends the walk.
    records: list[TFDecorator] = []
    current = maybe_tf_decorator
    while (record := _record(current)) is not None and record not in records:
        records.append(record)
        current = record.decorated_target
    return records, current
