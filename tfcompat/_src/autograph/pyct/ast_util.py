"""`tensorflow.python.autograph.pyct.ast_util`: copies, comparisons and searches of syntax trees."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from tfcompat._src.autograph.pyct import anno, parser, qual_names

_PRIVATE = "__"


def copy_clean(node: object, preserve_annos: Iterable[Any] | None = None) -> Any:
    """A copy of a node, or of a list of nodes, without notes but those under the keys of `preserve_annos`."""
    if isinstance(node, (list, tuple)):
        return type(node)(copy_clean(each, preserve_annos) for each in node)
    if not isinstance(node, ast.AST):
        return node
    fields = {name: copy_clean(value, preserve_annos) for name, value in ast.iter_fields(node) if not name.startswith(_PRIVATE)}
    made = ast.copy_location(type(node)(**fields), node)
    for key in preserve_annos or ():
        anno.copyanno(node, made, key)
    return made


class _Renamer(ast.NodeTransformer):
    """Puts names in the place of qualified names."""

    def __init__(self, names: Mapping[qual_names.QN, qual_names.QN]) -> None:
        self._names = names

    def _renamed(self, node: Any) -> ast.AST:
        found = self._names.get(anno.getanno(node, anno.Basic.QN, default=None))
        if found is None:
            return self.generic_visit(node)
        is_parameter = isinstance(node, ast.arg)
        made = ast.arg(str(found), node.annotation) if is_parameter else ast.Name(str(found), node.ctx)
        for key in anno.keys(node):
            anno.copyanno(node, made, key)
        return ast.copy_location(made, node)

    visit_Name = visit_Attribute = visit_arg = _renamed


def rename_symbols(node: Any, name_map: Mapping[qual_names.QN, qual_names.QN]) -> Any:
    """A node, or a list of nodes, whose qualified names are changed: the keys of `name_map` into its values."""
    renamer = _Renamer(name_map)
    return type(node)(map(renamer.visit, node)) if isinstance(node, (list, tuple)) else renamer.visit(node)


def keywords_to_dict(keywords: Iterable[ast.keyword]) -> ast.Dict:
    """The display of a dict with the keyword arguments of a call."""
    found = list(keywords)
    return ast.Dict([ast.Constant(each.arg) for each in found], [each.value for each in found])


def matches(node: ast.AST, pattern: object) -> bool:
    """Whether a node has the form of a pattern, a node or text, in which the name `_` stands for anything, also for all of a list."""
    return _match(node, parser.parse_str(pattern) if isinstance(pattern, str) else pattern)


def _match(value: Any, pattern: Any) -> bool:
    if _is_wildcard(pattern):
        return True
    if isinstance(value, (list, tuple)):
        return isinstance(pattern, (list, tuple)) and len(value) == len(pattern) and all(map(_match, value, pattern))
    if not isinstance(value, ast.AST):
        return bool(value == pattern)
    if not (isinstance(value, type(pattern)) or isinstance(pattern, type(value))):
        return False
    names = [name for name in value._fields if not name.startswith(_PRIVATE)]
    return all(_match(getattr(value, name, None), getattr(pattern, name, None)) for name in names)


def _is_wildcard(pattern: object) -> bool:
    if isinstance(pattern, (list, tuple)) and len(pattern) == 1:
        (pattern,) = pattern
    return pattern == "_" or (isinstance(pattern, ast.Name) and pattern.id == "_")


def apply_to_single_assignments(targets: object, values: Any, apply_fn: Callable[[Any, Any], Any]) -> None:
    """Calls `apply_fn(target, value)` for each name that an assignment binds.

    Args:
      targets: the node of the target, or a sequence of nodes.
      values: the node of the value, which is indexed where its parts are not there.
      apply_fn: what is called.
    """
    for target in targets if isinstance(targets, (list, tuple)) else (targets,):
        if not isinstance(target, (ast.Tuple, ast.List)):
            apply_fn(target, values)
            continue
        has_parts = isinstance(values, (ast.Tuple, ast.List))
        for place, part in enumerate(target.elts):
            value = values.elts[place] if has_parts else ast.Subscript(values, ast.Constant(place), ast.Load())
            apply_to_single_assignments(part, value, apply_fn)


def parallel_walk(node: object, other: object) -> Iterator[tuple[Any, Any]]:
    """The nodes of two trees, or lists of trees, of one form side by side.

    Raises:
      ValueError: they differ, in kinds of nodes, lengths of lists, or values.
    """
    pending = list(zip(*_alike(_listed(node), _listed(other), "nodes")))
    while pending:
        one, two = pending.pop()
        if type(one).__name__ != type(two).__name__ or not (one is None or isinstance(one, (ast.AST, str))):
            raise ValueError(f"inconsistent nodes: {one} ({type(one).__name__}) and {two} ({type(two).__name__})")
        yield one, two
        for name in getattr(one, "_fields", ()):
            parts = getattr(one, name, None), getattr(two, name, None)
            if name.startswith(_PRIVATE) or None in parts:
                continue
            if isinstance(parts[0], (list, tuple)):
                pending += zip(*_alike(*parts, name))
            elif isinstance(parts[0], ast.AST):
                pending.append(parts)
            elif parts[0] != parts[1]:
                raise ValueError(f"inconsistent values for field {name}: {parts[0]} and {parts[1]}")


def _listed(node: object) -> Sequence[Any]:
    return node if isinstance(node, (list, tuple)) else [node]


def _alike(one: Any, two: Any, name: str) -> tuple[Any, Any]:
    if not isinstance(two, (list, tuple)) or len(one) != len(two):
        raise ValueError(f"inconsistent values for field {name}: {one} and {two}")
    return one, two


def find_matching_definitions(node: ast.AST, f: Any) -> tuple[ast.Lambda, ...]:
    """The lambdas of a tree that have the parameters of the lambda `f`, inner ones first; none where `f` is no lambda."""
    if f.__name__ != "<lambda>":
        return ()
    spec = inspect.getfullargspec(f)
    wanted = (spec.args, spec.varargs, spec.varkw, spec.kwonlyargs)
    return tuple(each for each in _lambdas(node) if _parameters(each.args) == wanted)


def _lambdas(node: ast.AST) -> Iterator[ast.Lambda]:
    for child in ast.iter_child_nodes(node):
        yield from _lambdas(child)
    if isinstance(node, ast.Lambda):
        yield node


def _parameters(arguments: ast.arguments) -> tuple[Any, ...]:
    vararg, kwarg = (each and each.arg for each in (arguments.vararg, arguments.kwarg))
    return [each.arg for each in (*arguments.posonlyargs, *arguments.args)], vararg, kwarg, [each.arg for each in arguments.kwonlyargs]
