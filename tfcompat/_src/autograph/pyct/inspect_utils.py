"""`tensorflow.python.autograph.pyct.inspect_utils`: what functions, methods and classes are, and where they come from."""

from __future__ import annotations

import builtins
import inspect
import itertools
import types
from collections.abc import Mapping
from typing import Any

SPECIAL_BUILTINS = {each.__name__: each for each in (dict, enumerate, float, int, len, list, print, range, tuple, type, zip)}


def islambda(f: object) -> bool:
    """Whether an object is the function of a lambda expression."""
    return inspect.isfunction(f) and getattr(f, "__name__", None) == "<lambda>"


def isnamedtuple(f: object) -> bool:
    """Whether an object is a class that collections.namedtuple made."""
    fields = getattr(f, "_fields", None)
    return inspect.isclass(f) and issubclass(f, tuple) and isinstance(fields, tuple) and all(isinstance(each, str) for each in fields)


def isbuiltin(f: object) -> bool:
    """Whether an object is one of Python's builtins, or a function that is not written in Python."""
    return any(f is each for each in vars(builtins).values()) or isinstance(f, types.BuiltinFunctionType)


def getimmediatesource(obj: Any) -> str:
    """The lines of a function or class itself, also of one that a decorator has wrapped; OSError where they are not there."""
    lines, first = inspect.findsource(obj)
    return "".join(inspect.getblock(lines[first:]))


def getnamespace(f: Any) -> dict[str, Any]:
    """The names that a function sees around it, with their values: of its module, and of the functions that it stands in."""
    function = getattr(f, "__func__", f)
    cells = zip(function.__code__.co_freevars, function.__closure__ or ())
    return {**function.__globals__, **{name: cell.cell_contents for name, cell in cells}}


def getqualifiedname(namespace: Mapping[str, Any], object_: object, max_depth: int = 5, visited: set[int] | None = None) -> str | None:
    """A name by which code in a namespace reaches an object, through its modules where it must; None where there is none.

    Args:
      namespace: names and values.
      object_: the object.
      max_depth: through how many modules the search goes.
      visited: ids of the modules that are not searched.
    """
    names = dict(namespace)
    for name, value in names.items():
        if value is object_:
            return name
    visited = set() if visited is None else visited
    owner = inspect.getmodule(object_)
    if owner is not None and owner is not object_ and owner is not namespace:
        prefix = getqualifiedname(names, owner, 0, visited)
        if prefix is not None:
            return f"{prefix}.{getqualifiedname(vars(owner), object_, 0, visited)}"
    if max_depth:
        for name, value in names.items():
            if inspect.ismodule(value) and id(value) not in visited:
                visited.add(id(value))
                rest = getqualifiedname(vars(value), object_, max_depth - 1, visited)
                if rest is not None:
                    return f"{name}.{rest}"
    return None


def getdefiningclass(m: Any, owner_class: type) -> type:
    """The class among the bases of `owner_class` that a method is written in; `owner_class` where none is found."""
    function = getattr(m, "__func__", m)
    for each in reversed(inspect.getmro(owner_class)):
        found = getattr(each, function.__name__, None)
        if found is not None and getattr(found, "__func__", found) is function:
            return each
    return owner_class


def istfmethodtarget(m: object) -> bool:
    """Whether an object is a method of the weak reference that tf.function makes of a method's owner."""
    owner = getattr(m, "__self__", None)
    return hasattr(owner, "weakrefself_target__") and hasattr(owner, "weakrefself_func__")


def getmethodself(m: object) -> Any:
    """What a method is bound to; None for a function."""
    owner = getattr(m, "__self__", None)
    return owner.target if owner is not None and istfmethodtarget(m) else owner


def getmethodclass(m: Any) -> Any:
    """The class that a method belongs to.

    Args:
      m: a bound method, an object that can be called, or a function that is an attribute of a class in the caller's names.

    Returns:
      The class; None where there is none.

    Raises:
      ValueError: several classes have it, none of them a subclass of the others.
    """
    if not hasattr(m, "__name__") and callable(m):
        return type(m)
    owner = getmethodself(m)
    if owner is not None and not inspect.ismodule(owner):
        return owner if inspect.isclass(owner) else type(owner)
    frame = inspect.currentframe()
    caller = frame and frame.f_back
    names = itertools.chain(caller.f_locals.values(), caller.f_globals.values()) if caller else ()
    owners = [value for value in names if getattr(value, m.__name__, None) is m]
    if len(owners) <= 1:
        return owners[0] if owners else None
    classes = tuple(each if inspect.isclass(each) else type(each) for each in owners)
    for each in classes:
        if all(issubclass(each, other) for other in classes):
            return each
    raise ValueError(f"Found too many owners of {m}: {owners}")


def getfutureimports(entity: object) -> tuple[str, ...]:
    """The features of `__future__` that the module of a function or method imports, sorted; none for other objects."""
    if not (inspect.isfunction(entity) or inspect.ismethod(entity)):
        return ()
    return tuple(sorted(name for name, value in entity.__globals__.items() if getattr(value, "__module__", None) == "__future__"))
