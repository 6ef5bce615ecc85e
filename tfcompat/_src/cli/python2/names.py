"""Built-in names of Python 2, in the module `__builtin__` that a program's modules have as their `__builtins__`."""

from __future__ import annotations

import builtins
import decimal
import functools
import importlib
import importlib.util
import math
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tfcompat._src.cli.python2 import attributes, compiler, files, hashes, modules, operators, spelling, text

_ROUNDING = decimal.Context(prec=1000, rounding=decimal.ROUND_HALF_UP)


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, (float, np.floating)) else value


def xrange(*limits: Any) -> range:
    return range(*map(_whole, limits))


def python2_range(*limits: Any) -> list[int]:
    return list(xrange(*limits))


def python2_map(function: Any, *values: Iterable[Any]) -> list[Any]:
    if len(values) == 1:
        return list(values[0]) if function is None else [text.called(function, each) for each in values[0]]
    sequences = [list(each) for each in values]
    longest = max(map(len, sequences))
    rows = zip(*(each + [None] * (longest - len(each)) for each in sequences))
    return list(rows) if function is None else [function(*row) for row in rows]


def python2_filter(function: Any, values: Any) -> Any:
    kept = filter(function, values)
    if isinstance(values, str):
        return "".join(kept)
    return tuple(kept) if isinstance(values, tuple) else list(kept)


def python2_zip(*values: Iterable[Any]) -> list[tuple[Any, ...]]:
    return list(zip(*values))


def python2_round(number: Any, ndigits: int = 0) -> float:
    """Rounds halves away from zero, and gives a float."""
    value = float(number)
    if not math.isfinite(value) or ndigits > 400:
        return value
    rounded = decimal.Decimal(value).quantize(decimal.Decimal(1).scaleb(-int(ndigits)), context=_ROUNDING)
    return math.copysign(float(rounded), value)


def python2_sorted(iterable: Iterable[Any], cmp: Any = None, key: Any = None, reverse: bool = False) -> list[Any]:
    return attributes.sorted_list(iterable, cmp, key, reverse)


def _extreme(name: str) -> Callable[..., Any]:
    of_today = getattr(builtins, name)

    @functools.wraps(of_today)
    def extreme(*values: Any, **named: Any) -> Any:
        if len(values) == 1 and not hasattr(values[0], "__len__"):
            values = (list(values[0]),)
        try:
            return of_today(*values, **named)
        except TypeError:
            if set(named) - {"key"} or not values:
                raise
            order, key = functools.cmp_to_key(operators.compare), named.get("key") or (lambda each: each)
            return of_today(values[0] if len(values) == 1 else values, key=lambda each: order(key(each)))

    return extreme


def raw_input(*prompt: Any) -> str:
    text.write_blank(sys.stdout)
    return builtins.input(*map(text.text, prompt))


def _compiled(source: Any, path: str, mode: str, caller: dict[str, Any]) -> Any:
    if not isinstance(source, (str, bytes)):
        return source
    return compiler.compile_text(text.as_text(source) if isinstance(source, bytes) else source, path, mode, "division" in caller)


def _spaces(namespaces: tuple[Any, ...], frame: types.FrameType) -> tuple[dict[str, Any], Any]:
    outer = namespaces[0] if namespaces and namespaces[0] is not None else frame.f_globals
    inner = namespaces[1] if len(namespaces) > 1 and namespaces[1] is not None else (outer if namespaces else frame.f_locals)
    outer.setdefault("__builtins__", BUILTIN)
    return outer, inner


def python2_exec(code: Any, *namespaces: Any) -> None:
    """`exec code in globals, locals`."""
    if isinstance(code, tuple):
        code, *rest = code
        namespaces = tuple(rest)
    frame = sys._getframe(1)
    outer, inner = _spaces(namespaces, frame)
    if isinstance(code, files.File):
        code = code.read()
    builtins.exec(_compiled(code, "<string>", "exec", frame.f_globals), outer, inner)  # noqa: S102


def python2_eval(source: Any, *namespaces: Any) -> Any:
    frame = sys._getframe(1)
    outer, inner = _spaces(namespaces, frame)
    return builtins.eval(_compiled(source.strip() if isinstance(source, str) else source, "<string>", "eval", frame.f_globals), outer, inner)


def execfile(path: str, *namespaces: Any) -> None:
    frame = sys._getframe(1)
    outer, inner = _spaces(namespaces, frame)
    with open(path, "rb") as file:
        builtins.exec(_compiled(file.read(), path, "exec", {}), outer, inner)  # noqa: S102


def python2_input(*prompt: Any) -> Any:
    frame = sys._getframe(1)
    return builtins.eval(_compiled(raw_input(*prompt).strip(), "<string>", "eval", frame.f_globals), frame.f_globals, frame.f_locals)


def python2_compile(source: Any, filename: str, mode: str, *options: Any, **named: Any) -> Any:
    if isinstance(source, (str, bytes)) and not options and not named:
        return _compiled(source, filename, mode, sys._getframe(1).f_globals)
    return builtins.compile(source, filename, mode, *options, **named)


def python2_ord(char: Any) -> int:
    """The byte that a character is, where it is a byte alone."""
    code = ord(char)
    return code - 0xDC00 if 0xDC80 <= code <= 0xDCFF else code


def python2_chr(code: Any) -> str:
    return text.as_text(bytes((int(code),)))


def python2_oct(value: Any) -> str:
    return "0" if value == 0 else oct(value).replace("0o", "0")


def apply(function: Callable[..., Any], arguments: Iterable[Any] = (), named: dict[str, Any] | None = None) -> Any:
    return function(*arguments, **(named or {}))


def coerce(x: Any, y: Any) -> tuple[Any, Any]:
    kind = max((type(x), type(y)), key=(bool, int, float, complex).index)
    return kind(x), kind(y)


def python2_reload(module: types.ModuleType) -> types.ModuleType:
    """Loads a module again; one of `modules` has nothing to load."""
    return module if isinstance(module, modules.Module) else importlib.reload(module)


def python2_import(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = -1) -> Any:
    """Imports as Python 2 did: from the folder of the package first, unless the module asks for absolute imports."""
    if level > 0:
        return builtins.__import__(name, globals, locals, fromlist, level)
    package = (globals or {}).get("__package__") or ""
    first = name.partition(".")[0]
    if package and "absolute_import" not in globals and _is_beside(package, first):
        if fromlist:
            return importlib.import_module(f"{package}.{name}") and builtins.__import__(f"{package}.{name}", globals, locals, fromlist, 0)
        importlib.import_module(f"{package}.{name}")
        return sys.modules[f"{package}.{first}"]
    if not _is_of_program(first):
        if name == "__builtin__":
            return BUILTIN
        found = modules.find(name)
        if found is not None:
            return found
    return builtins.__import__(name, globals, locals, fromlist or (), 0)


def _is_of_program(name: str) -> bool:
    """Whether the program has a module of that name, which is then not Python's."""
    spec = getattr(sys.modules.get(name), "__spec__", None)
    return spec is not None and type(spec.loader).__name__ == "ProgramLoader"


@functools.cache
def _is_beside(package: str, name: str) -> bool:
    if f"{package}.{name}" in sys.modules:
        return True
    try:
        spec = importlib.util.find_spec(f"{package}.{name}")
    except (ImportError, ValueError):
        return False
    return spec is not None and spec.origin is not None


def _named(function: Callable[..., Any], name: str) -> Any:
    function.__name__ = function.__qualname__ = name
    return function


def _made() -> types.ModuleType:
    module = types.ModuleType("__builtin__")
    vars(module).update(vars(builtins))
    vars(module).update(
        {name: _named(globals()[f"python2_{name}"], name) for name in (
            "range", "map", "filter", "zip", "round", "sorted", "exec", "eval", "compile", "input", "ord", "chr", "oct", "reload",
        )},
        __name__="__builtin__", __import__=python2_import, xrange=xrange, raw_input=raw_input, min=_extreme("min"), max=_extreme("max"),
        hash=hashes.python2_hash, execfile=execfile, open=files.open_file, file=files.File, cmp=operators.compare, apply=apply, coerce=coerce,
        reduce=functools.reduce, unichr=chr, unicode=str, basestring=(str, bytes), long=int, buffer=files.byte_string, intern=sys.intern, format=text.in_format,
        StandardError=Exception,
    )  # fmt: skip
    vars(module).update({
        spelling.PRINT: text.end_print, spelling.PRINTED: text.print_item, spelling.RAISED: attributes.raised, spelling.CLASS: attributes.adapted, spelling.DIVIDED: operators.divided,
        spelling.DIVIDED_IN_PLACE: operators.divided_in_place, spelling.FORMATTED: text.formatted, spelling.ATTRIBUTE: attributes.attribute,
        spelling.LISTED: attributes.listed, spelling.CALLED: text.called, spelling.EQUAL: operators.equal, spelling.LESS: operators.less,
        spelling.LESS_EQUAL: operators.less_equal, spelling.GREATER: operators.greater, spelling.GREATER_EQUAL: operators.greater_equal,
    })  # fmt: skip
    return module


BUILTIN = _made()
