"""Judges names of TensorFlow: whether tfcompat has them, takes the arguments that are given, and what it says where it does not."""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
import types
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from tfcompat._src.base import missing, tf1_names
from tfcompat._src.cli.check.uses import Call
from tfcompat._src.ops.array.join import concat, split
from tfcompat._src.shim.modules import find
from tfcompat._src.shim.resolve import ROOTS
from tfcompat._src.shim.table import brought_by_star, modules, names

WORKS, PARTLY, MISSING = "works", "partly", "missing"


class Verdict(NamedTuple):
    """A name as a person writes it ("tf.nn.relu"), its status, and what to know or do."""

    name: str
    status: str
    advice: str


def is_of_tensorflow(path: str) -> bool:
    return path.partition(".")[0] in ROOTS


def short(path: str) -> str:
    """A path of a public name as programs write it."""
    root, _, below = path.partition(".")
    if root != ROOTS[0] or not below:
        return path
    return path if below.partition(".")[0] in tf1_names.INTERNAL else f"tf.{below}"


class Judge:
    """Judges names, given the modules that the program imports: their parents have them as attributes."""

    def __init__(self, imported: Iterable[str]) -> None:
        self._imported = {".".join(path.split(".")[:end]) for path in imported for end in range(1, path.count(".") + 2)}
        self._found = functools.cache(self._find)

    def judge(self, path: str, call: Call | None) -> list[Verdict]:
        """What is to be said of one use: of the name, then of the arguments that are refused."""
        name, value, advice = self._found(path)
        if advice:
            return [Verdict(short(name), MISSING, advice)]
        refusals = _refusals(value)
        if never := [each.text for each in refusals if each.is_certain]:
            return [Verdict(short(name), MISSING, never[0])]
        if call is None or name != path:
            return [Verdict(short(name), WORKS, "")]
        given = _given(value, call)
        some = [each.text for each in refusals if given is None or not each.arguments or each.arguments & given]
        of_name = Verdict(short(name), PARTLY, " ".join(some)) if some else Verdict(short(name), WORKS, "")
        return [of_name, *_refused_arguments(short(name), value, call)]

    def _find(self, path: str) -> tuple[str, Any, str]:
        """The part of a path that names something, what it names, and why it is lacking, or ""."""
        first, *rest = path.split(".")
        name, value = first, find(first)
        for part in rest:
            if not isinstance(value, (types.ModuleType, type)):
                break
            outer, name = value, f"{name}.{part}"
            try:
                value = getattr(outer, part)
            except AttributeError as e:
                value = self._module(name)
                if value is None:
                    return name, None, self._reason(name, outer, str(e))
            except ImportError as e:
                return name, None, f"it needs a package that is not installed: {e}"
        return name, value, ""

    def _module(self, name: str) -> types.ModuleType | None:
        return find(name) if name in self._imported else None

    def _reason(self, name: str, outer: object, text: str) -> str:
        if isinstance(outer, type):
            return f"the class {outer.__name__} has no such attribute"
        if reason := missing.reason(name.partition(".")[2]):
            return reason
        if find(name) is not None:
            return f"import it first: import {name}"
        module, _, member = name.rpartition(".")
        is_recorded = module in modules() and member not in names(module).words
        return text.partition(": ")[2] or ("TensorFlow 1.15 does not have it" if is_recorded else "tfcompat does not have it")


def brings(module: str, name: str) -> bool:
    """Whether `from module import *` brings a name in TensorFlow 1.15."""
    public = tf1_names.spaces().get(module.partition(".")[2])
    return not name.startswith("_") and (name in brought_by_star(module) if public is None else name in public)


def _refused_arguments(name: str, value: object, call: Call) -> list[Verdict]:
    parameters = _parameters(value)
    if parameters is None:
        return []
    takes = ", ".join(parameters)
    found = [
        Verdict(f"{name}({keyword}=)", MISSING, f"it takes no {keyword}; it takes {takes}")
        for keyword in call.keywords
        if keyword not in parameters and inspect.Parameter.VAR_KEYWORD not in parameters.values()
    ]
    if call.positional and next(iter(parameters), "") == "_sentinel":
        found.append(Verdict(f"{name}(...)", MISSING, f"it takes named arguments only: {takes.partition(', ')[2]}"))
    if _is_old_order(value, call.positional):
        found.append(Verdict(f"{name}(axis, ...)", MISSING, f"the order of arguments before TensorFlow 1.0; it takes {takes}"))
    return found


def _is_old_order(value: object, given: tuple[ast.expr, ...]) -> bool:
    """Whether `tf.concat` or `tf.split` gets the axis first."""
    if len(given) < 2:
        return False
    is_number = isinstance(given[0], ast.Constant) and isinstance(given[0].value, int)
    return (value is split and is_number) or (value is concat and (is_number or isinstance(given[1], (ast.List, ast.ListComp))))


def _parameters(value: Any) -> dict[str, Any] | None:
    """The parameters of a callable with their kinds, or None where Python cannot tell."""
    try:
        found = inspect.signature(value).parameters
    except (TypeError, ValueError):
        return None
    return {name: parameter.kind for name, parameter in found.items()}


def _given(value: object, call: Call) -> set[str] | None:
    """The names of the arguments that a call gives, or None where it cannot be read."""
    parameters = _parameters(value)
    if parameters is None or not call.is_whole:
        return None
    return {*list(parameters)[: len(call.positional)], *call.keywords}


class Refusal(NamedTuple):
    """An error with which a function of tfcompat says what it lacks: it always raises it, or for some values of the named arguments."""

    text: str
    is_certain: bool
    arguments: frozenset[str]


def _refusals(value: object) -> tuple[Refusal, ...]:
    function = inspect.unwrap(value.__init__ if isinstance(value, type) else value) if callable(value) else None
    return _read_refusals(function) if isinstance(function, types.FunctionType) else ()


@functools.cache
def _read_refusals(function: types.FunctionType) -> tuple[Refusal, ...]:
    """Reads the source of a function of tfcompat for the errors that it raises itself."""
    if not function.__module__.startswith("tfcompat."):
        return ()
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    except (OSError, SyntaxError, TypeError):
        return ()
    if not isinstance(tree, ast.FunctionDef):
        return ()
    first = next((statement for statement in tree.body if not _is_docstring(statement)), None)
    found = [(statement, _text(statement.exc, function), tests) for statement, tests in _raises(tree.body, frozenset())]
    return tuple(Refusal(text, statement is first, tests & _parameters_of(tree)) for statement, text, tests in found if "tfcompat" in text)


def _parameters_of(function: ast.FunctionDef) -> frozenset[str]:
    return frozenset(argument.arg for argument in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs))


def _raises(body: list[ast.stmt], tests: frozenset[str]) -> Iterator[tuple[ast.Raise, frozenset[str]]]:
    """The `raise` statements of a function, without those of functions in it, with the names that their conditions read."""
    for statement in body:
        if isinstance(statement, ast.Raise) and isinstance(statement.exc, ast.Call):
            yield statement, tests
        elif not isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            conditions = [getattr(statement, part) for part in ("test", "iter") if hasattr(statement, part)]
            names = {node.id for condition in conditions for node in ast.walk(condition) if isinstance(node, ast.Name)}
            for part in ("body", "orelse", "finalbody"):
                yield from _raises(getattr(statement, part, []), tests | names)


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _text(error: Any, function: types.FunctionType) -> str:
    """The message of an error that says that something is not built, as far as it can be read; "" for other errors."""
    if not error.args:
        return ""
    if ast.unparse(error.func) != "NotImplementedError":
        made = function.__globals__.get(ast.unparse(error.func))
        is_helper = isinstance(made, types.FunctionType) and made.__annotations__.get("return") == "NotImplementedError"
        return str(_evaluated(error, function)) if is_helper else ""
    text = error.args[0]
    if isinstance(text, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "..." for part in text.values)
    return str(text.value) if isinstance(text, ast.Constant) else ""


def _evaluated(error: ast.expr, function: types.FunctionType) -> Any:
    """The value of an expression of module-level names in a function of ours."""
    return eval(compile(ast.Expression(error), "<error>", "eval"), function.__globals__)
