"""`tensorflow.python.autograph.pyct.transformer`: the base class of passes that change syntax trees."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from tfcompat._src.autograph.pyct import anno, ast_util, compiler, pretty_printer, templates


class EntityInfo(NamedTuple):
    """What is changed: its source, the file of it, the features of `__future__` that it imports, and the names that it sees."""

    source_code: str
    source_file: str | None
    future_features: tuple[str, ...]
    namespace: dict[str, Any]


class Context:
    """What all passes over one tree share: `info`, and `current_origin`, where the node that is visited stood."""

    def __init__(self, info: EntityInfo) -> None:
        self.info = info
        self.current_origin: Any = None


class _StateStack:
    """Values of one type, of which the innermost lends its attributes; a type with `no_root` begins without any."""

    def __init__(self, type_: type) -> None:
        object.__setattr__(self, "type", type_)
        object.__setattr__(self, "stack", [])
        if not hasattr(type_, "no_root"):
            self.enter()

    def enter(self) -> None:
        """Begins a new value."""
        self.stack.append(self.type())

    def exit(self) -> Any:
        """Ends the innermost value, and gives it."""
        return self.stack.pop()

    @property
    def level(self) -> int:
        """How many values there are."""
        return len(self.stack)

    @property
    def value(self) -> Any:
        """The innermost value."""
        return self.stack[-1]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.stack)

    def __getattr__(self, key: str) -> Any:
        return getattr(self.stack[-1], key)

    def __setattr__(self, key: str, value: object) -> None:
        setattr(self.stack[-1], key, value)


class _State(dict):
    """Stacks of values by their types, made when they are first asked for."""

    def __missing__(self, type_: type) -> _StateStack:
        found = self[type_] = _StateStack(type_)
        return found


class Base(ast.NodeTransformer):
    """A pass over a tree: methods `visit_...` as in ast.NodeTransformer, with state by scope.

    Args:
      ctx: the Context.
    """

    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx
        self.state = _State()
        self._enclosing_entities: list[ast.AST] = []
        self._local_scope_state: list[dict[str, Any]] = [{}]

    @property
    def enclosing_entities(self) -> tuple[ast.AST, ...]:
        """The functions, classes and lambdas that the visited node stands in, outer ones first."""
        return tuple(self._enclosing_entities)

    @property
    def local_scope_level(self) -> int:
        """How many scopes are open."""
        return len(self._local_scope_state)

    def enter_local_scope(self, inherit: Iterable[str] | None = None) -> None:
        """Opens a scope, with the values that the names in `inherit` have in the one around it."""
        around = self._local_scope_state[-1]
        self._local_scope_state.append({name: around[name] for name in inherit or () if name in around})

    def exit_local_scope(self, keep: Iterable[str] | None = None) -> dict[str, Any]:
        """Closes a scope, of which the one around it keeps the values of the names in `keep`; the values of all its names."""
        left = self._local_scope_state.pop()
        self._local_scope_state[-1].update({name: left[name] for name in keep or () if name in left})
        return left

    def set_local(self, name: str, value: Any) -> None:
        """Gives a name a value in the innermost scope."""
        self._local_scope_state[-1][name] = value

    def get_local(self, name: str, default: Any = None) -> Any:
        """The value of a name in the innermost scope, or `default`."""
        return self._local_scope_state[-1].get(name, default)

    def debug_print(self, node: Any) -> Any:
        """Prints a tree, and gives it."""
        print(pretty_printer.fmt(node))
        return node

    def debug_print_src(self, node: Any) -> Any:
        """Prints the text of a tree, and gives it."""
        print(compiler.ast_to_source(node))
        return node

    def create_assignment(self, target: Any, expression: Any) -> list[Any]:
        """The statement `target = expression`, in a list."""
        return templates.replace("target = expression", target=target, expression=expression)

    def apply_to_single_assignments(self, targets: Any, values: Any, apply_fn: Callable[[Any, Any], Any]) -> None:
        """As `ast_util.apply_to_single_assignments`."""
        ast_util.apply_to_single_assignments(targets, values, apply_fn)

    def visit_block(self, nodes: Any, before_visit: Callable | None = None, after_visit: Callable | None = None) -> list[Any] | None:
        """Visits statements.

        Args:
          nodes: the statements, or None.
          before_visit: called before each.
          after_visit: called with what each became; gives what takes its place, and the list that those after it go to, or None.

        Returns:
          The statements that take their place; None for None.
        """
        if nodes is None:
            return None
        results: list[Any] = []
        destination = results
        for node in nodes:
            if before_visit:
                before_visit()
            made, following = self.visit(node), None
            if after_visit and made:
                made, following = after_visit(made)
            if made:
                destination += made if isinstance(made, (list, tuple)) else [made]
            destination = destination if following is None else following
        return results

    def visit(self, node: Any) -> Any:
        """What takes the place of a node; ValueError where it is none."""
        if not isinstance(node, ast.AST):
            raise ValueError(
                f'invalid value for "node": expected "ast.AST", got "{type(node)}"; to visit lists of nodes, use "visit_block" instead'
            )
        if anno.hasanno(node, anno.Basic.SKIP_PROCESSING):
            return node
        is_entity = isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Lambda))
        depth, around = len(self._local_scope_state), self.ctx.current_origin
        if is_entity:
            self._enclosing_entities.append(node)
        self.ctx.current_origin = anno.getanno(node, anno.Basic.ORIGIN, default=around)
        result = _unwrapped(node, super().visit(node))
        self._inherit_origin(node, result, self.ctx.current_origin)
        self.ctx.current_origin = around
        if is_entity:
            self._enclosing_entities.pop()
        if depth != len(self._local_scope_state):
            raise AssertionError(
                f"Inconsistent local scope stack. Before entering node {node}, the stack had length {depth}, after exit it has length "
                f"{len(self._local_scope_state)}. This indicates enter_local_scope and exit_local_scope are not well paired."
            )
        return result

    def _inherit_origin(self, node: Any, result: Any, origin: Any) -> None:
        if result is node or origin is None:
            return
        for each in result if isinstance(result, (list, tuple)) else [result]:
            if isinstance(each, ast.AST) and not anno.hasanno(each, anno.Basic.ORIGIN):
                anno.setanno(each, anno.Basic.ORIGIN, origin)


def _unwrapped(node: object, result: object) -> Any:
    """What takes the place of a statement that is an expression: statements, where its expression became those."""
    if isinstance(node, ast.Expr) and isinstance(result, ast.Expr) and isinstance(result.value, (list, tuple, ast.Assign, ast.AugAssign)):
        return result.value
    return result
