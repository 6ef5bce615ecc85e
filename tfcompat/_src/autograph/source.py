"""From a Python function to its syntax tree, and from a changed tree back to code."""

from __future__ import annotations
import __future__

import ast
import copy
import inspect
import linecache
import types
from typing import Any

FACTORY = "ag__factory"
"""The function around all converted code: its arguments are the cells that the code closes over."""
RUNTIME = "ag__"
"""The name of the operators in converted code."""
FEATURES = sum(getattr(__future__, name).compiler_flag for name in __future__.all_feature_names if name != "barry_as_FLUFL")
FunctionNode = ast.FunctionDef | ast.Lambda

_FILES: dict[str, tuple[list[str], dict[int, list[ast.AST]]]] = {}


def _functions_of(filename: str, module_globals: dict[str, Any]) -> dict[int, list[ast.AST]]:
    """The functions of a file by the number of the line where they begin."""
    linecache.checkcache(filename)
    lines = linecache.getlines(filename, module_globals)
    known = _FILES.get(filename)
    if known is None or known[0] is not lines:
        found: dict[int, list[ast.AST]] = {}
        for node in ast.walk(ast.parse("".join(lines))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
                first = min([d.lineno for d in getattr(node, "decorator_list", ())], default=node.lineno)
                found.setdefault(first, []).append(node)
        known = _FILES[filename] = lines, found
    return known[1]


def _spans(node: ast.Lambda, code: types.CodeType) -> bool:
    """Whether all instructions of a code object stand in the body of a lambda."""
    begin, end = (node.body.lineno, node.body.col_offset), (node.body.end_lineno, node.body.end_col_offset)
    places = [p for p in code.co_positions() if None not in p and p[2] != p[3]]
    return all(begin <= (line, column) and (end_line, end_column) <= end for line, end_line, column, end_column in places)


def tree_of(function: types.FunctionType) -> FunctionNode:
    """The syntax tree of a function, a copy, with the line numbers of its file.

    Raises:
      ValueError: its source is not there.
    """
    code = function.__code__
    try:
        same_line = _functions_of(code.co_filename, function.__globals__).get(code.co_firstlineno, [])
    except SyntaxError as error:
        raise ValueError(f"Unable to parse the source code of {function}: {error}") from error
    if code.co_name == "<lambda>":
        found = [node for node in same_line if isinstance(node, ast.Lambda) and _spans(node, code)]
        found = found[-1:]  # where one stands in the other, the inner one comes later
    else:
        found = [node for node in same_line if isinstance(node, ast.FunctionDef) and node.name == code.co_name]
    if not found:
        raise ValueError(
            f"Unable to locate the source code of {function}. Note that functions defined in certain environments, like the interactive "
            "Python shell do not expose their source code. If that is the case, you should to define them in a .py source file. If you "
            "are certain the code is graph-compatible, wrap the call using @tf.autograph.do_not_convert. Original error: could not get "
            "source code"
        )
    return copy.deepcopy(found[0])


def compiled(node: FunctionNode, code: types.CodeType) -> types.CodeType:
    """The code of a changed function, with the file, the lines and the free variables of `code`.

    It stands in the body of a class, where functions do not see its own name: one of a module that calls itself finds itself among the
    globals. The class is called `_` because Python keeps private names as they are in a class of underscores.
    """
    arguments = ast.arguments(
        posonlyargs=[], args=[ast.arg(arg=name) for name in (RUNTIME, *code.co_freevars)], kwonlyargs=[], kw_defaults=[], defaults=[]
    )
    body = [node if isinstance(node, ast.FunctionDef) else ast.Assign(targets=[ast.Name("_", ast.Store())], value=node)]
    inner = ast.ClassDef(name="_", bases=[], keywords=[], body=body, decorator_list=[], type_params=[])
    factory = ast.FunctionDef(name=FACTORY, args=arguments, body=[inner], decorator_list=[], returns=None, type_params=[])
    module = ast.fix_missing_locations(ast.copy_location(ast.Module(body=[ast.copy_location(factory, node)], type_ignores=[]), node))
    found = compile(module, code.co_filename, "exec", flags=code.co_flags & FEATURES, dont_inherit=True)
    for _ in range(3):
        found = next(each for each in found.co_consts if isinstance(each, types.CodeType))
    return found


def instantiated(code: types.CodeType, function: types.FunctionType, runtime: object) -> types.FunctionType:
    """A function of converted code that sees the globals and the cells of the one that it was made of."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    cells[RUNTIME] = types.CellType(runtime)
    closure = tuple(cells[name] for name in code.co_freevars)
    made = types.FunctionType(code, function.__globals__, function.__name__, function.__defaults__, closure)
    made.__kwdefaults__ = function.__kwdefaults__
    if getattr(function, "__annotate__", None) is None:
        made.__annotations__ = function.__annotations__
    else:  # Python 3.14 evaluates annotations when they are asked for, and their names may be unknown
        made.__annotate__ = function.__annotate__  # type: ignore[attr-defined]
    made.__qualname__, made.__module__, made.__doc__ = function.__qualname__, function.__module__, function.__doc__
    made.__dict__.update(function.__dict__)
    return made


def is_converted(code: types.CodeType) -> bool:
    """Whether code was made by a conversion."""
    return code.co_qualname.startswith(FACTORY + ".")


def user_name(code: types.CodeType) -> str:
    """The name of the user's function that a piece of converted code is part of."""
    return [part for part in code.co_qualname.split(".") if part != "<locals>" and not part.startswith("ag__")][-1]


def refused(node: FunctionNode) -> str | None:
    """Why a function cannot be converted, if it cannot."""
    for each in ast.walk(node):
        name = each.attr if isinstance(each, ast.Attribute) else each.id if isinstance(each, ast.Name) else ""
        if name.startswith("__") and not name.endswith("__"):
            return "Mangled names are not yet supported by AutoGraph"
    return None


def is_generator(code: types.CodeType) -> bool:
    """Whether a call gives a generator or a coroutine."""
    return bool(code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR))
