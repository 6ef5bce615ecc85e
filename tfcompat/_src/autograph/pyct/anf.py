"""`tensorflow.python.autograph.pyct.common_transformers.anf`: functions in A-normal form, where values in between have names."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, NamedTuple

from tfcompat._src.autograph.pyct import templates, transformer

ANY: Any = object()
"""Stands for all edges, and in a pattern for all parents, fields or children."""
_IN_CLAUSES = "(need to convert to a form that tolerates assignment statements in clause bodies)"
_THINK = "(need to think through the semantics)"
_NOT_TESTED = "(need to unit-test them in Python 2)"
_ONLY_TRIVIAL = {
    ast.AsyncFor: f"Nontrivial AsyncFor nodes not supported yet {_THINK}.",
    ast.AsyncWith: f"Nontrivial AsyncWith nodes not supported yet {_THINK}.",
    ast.Assert: "Nontrivial Assert nodes not supported yet (need to avoid computing the test when assertions are off, and avoid "
    "computing the irritant when the assertion does not fire).",
    ast.BoolOp: "Nontrivial BoolOp nodes not supported yet (need to preserve short-circuiting semantics).",
    ast.Lambda: "Nontrivial Lambda nodes not supported (cannot insert statements into lambda bodies).",
    ast.IfExp: "Nontrivial IfExp nodes not supported yet (need to convert to If statement, to evaluate branches lazily and insert "
    "statements into them).",
    ast.Await: f"Nontrivial Await nodes not supported yet {_THINK}.",
    ast.YieldFrom: f"Nontrivial YieldFrom nodes not supported yet {_NOT_TESTED}.",
    ast.FormattedValue: f"Nontrivial FormattedValue nodes not supported yet {_NOT_TESTED}.",
    ast.JoinedStr: f"Nontrivial JoinedStr nodes not supported yet {_NOT_TESTED}.",
}
"""Nodes no part of which can get a name, with what is said where one would."""
_HEADS = {ast.For: "iter", ast.While: "test", ast.If: "test", ast.With: "items"}
"""Statements with statements inside, with the field whose value is computed first."""


def REPLACE(parent: ast.AST, field: str, child: ast.AST) -> bool:
    """The child gets a name."""
    return True


def LEAVE(parent: ast.AST, field: str, child: ast.AST) -> bool:
    """The child stays where it is."""
    return False


class ASTEdgePattern(NamedTuple):
    """A kind of edges in a syntax tree: the type of the parent, the name of the field, the type of the child; each may be ANY."""

    parent: Any
    field: Any
    child: Any

    def matches(self, parent: object, field: str, child: object) -> bool:
        """Whether an edge is of this kind."""
        is_from = self.parent is ANY or isinstance(parent, self.parent)
        is_in = self.field is ANY or field == self.field
        return is_from and is_in and (self.child is ANY or isinstance(child, self.child))


class DummyGensym:
    """Names made of a stem and a number, counted from 1001."""

    def __init__(self, ctx: object) -> None:
        self._number = 1000

    def new_name(self, stem: str = "tmp") -> str:
        """The next name."""
        self._number += 1
        return f"{stem}_{self._number}"


def _has_no_name(node: object) -> bool:
    """Whether a value of a field is nothing that could be assigned to a variable."""
    if isinstance(node, ast.Constant):
        return node.value is Ellipsis
    return isinstance(node, ast.Name) or not isinstance(node, (ast.expr, ast.stmt, ast.withitem, ast.keyword, ast.arguments))


def _is_slices(node: object) -> bool:
    """Whether a node is the slice in `a[b:c]`, or the slices in `a[b:c, d]`."""
    return isinstance(node, ast.Slice) or (isinstance(node, ast.Tuple) and any(isinstance(each, ast.Slice) for each in node.elts))


class _AnfTransformer(transformer.Base):
    """Moves values into assignments before the statement that they stand in."""

    def __init__(self, ctx: Any, config: Any, gensym_source: Callable[[Any], Any] | None) -> None:
        super().__init__(ctx)
        literals = (ASTEdgePattern(ANY, ANY, (ast.Constant, ast.Name)), LEAVE)
        self._rules = [literals, (ASTEdgePattern(ANY, ANY, ast.expr), REPLACE)] if config is None else config
        self._names = (gensym_source or DummyGensym)(ctx)
        self._assignments: list[Any] = []

    def _taken(self) -> list[Any]:
        """The assignments made so far, which then stand before a statement."""
        found, self._assignments = self._assignments, []
        return found

    def _is_replaced(self, parent: Any, field: str, child: Any) -> bool:
        rule = next((rule for pattern, rule in self._rules if pattern is ANY or pattern.matches(parent, field, child)), LEAVE)
        return rule(parent, field, child)

    def _named(self, parent: Any, field: str, node: Any) -> Any:
        """What stands in a field in place of a node."""
        if isinstance(node, list):
            return [self._named(parent, field, each) for each in node]
        if _has_no_name(node):
            return node
        if isinstance(node, ast.keyword):
            node.value = self._named(parent, field, node.value)
            return node
        if isinstance(node, (ast.Starred, ast.withitem)) or _is_slices(node):
            for inner in node._fields:
                setattr(node, inner, self._named(parent, field, getattr(node, inner)))
            return node
        if not self._is_replaced(parent, field, node):
            return node
        name = self._names.new_name()
        self._assignments += templates.replace("name = value", name=name, value=node)
        return templates.replace("name", name=name)[0]

    def _name_fields(self, node: Any) -> Any:
        """A node whose children have names."""
        for field in node._fields:
            setattr(node, field, self._named(node, field, getattr(node, field)))
        return node

    def _strict(self, node: Any) -> Any:
        return self._name_fields(self.generic_visit(node))

    visit_BinOp = visit_UnaryOp = visit_Dict = visit_Set = visit_Yield = visit_Call = visit_Attribute = visit_Subscript = _strict

    def visit_Compare(self, node: ast.Compare) -> Any:
        if len(node.ops) > 1:
            raise ValueError("Multi-ary compare nodes not supported yet (need to preserve short-circuiting semantics).")
        return self._strict(node)

    def _elements(self, node: Any) -> Any:
        stays = isinstance(node.ctx, ast.Store) or _is_slices(node)
        return self.generic_visit(node) if stays else self._strict(node)

    visit_List = visit_Tuple = _elements

    def _comprehension(self, node: Any) -> Any:
        raise ValueError(f"{type(node).__name__} nodes not supported {_IN_CLAUSES}.")

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def _trivial(self, node: Any) -> Any:
        before = len(self._assignments)
        found = self._strict(node)
        if len(self._assignments) != before:
            raise ValueError(_ONLY_TRIVIAL[type(node)])
        return found

    visit_BoolOp = visit_Lambda = visit_IfExp = visit_Await = visit_YieldFrom = visit_FormattedValue = visit_JoinedStr = _trivial
    visit_AsyncFor = visit_AsyncWith = visit_Assert = _trivial

    def _strict_statement(self, node: object) -> Any:
        found = self._strict(node)
        return [*self._taken(), found]

    visit_Return = visit_Raise = _strict_statement

    def _statement(self, node: Any) -> Any:
        """A statement whose own children have names already, or must not get any."""
        found = self.generic_visit(node)
        return [*self._taken(), found]

    visit_Delete = visit_Assign = visit_AugAssign = visit_Expr = _statement

    def _statement_with_head(self, node: Any) -> Any:
        """A statement with statements inside: what its head needs stands before it."""
        field = _HEADS[type(node)]
        head = getattr(node, field)
        for each in head if isinstance(head, list) else [head]:
            self.visit(each)
        setattr(node, field, self._named(node, field, head))
        before = self._taken()
        if before and isinstance(node, ast.While):
            raise ValueError("While with nontrivial test not supported yet (need to avoid precomputing the test).")
        return [*before, self.generic_visit(node)]

    visit_For = visit_While = visit_If = visit_With = _statement_with_head


def transform(node: object, ctx: object, config: object = None, gensym_source: Callable[[Any], Any] | None = None) -> Any:
    """A syntax tree in which values in between have names.

    The targets and values of assignments, what `del` deletes, variables and operators never get another name.

    Args:
      node: the tree.
      ctx: the Context of the pass.
      config: a list of pairs of an ASTEdgePattern or ANY, and REPLACE, LEAVE or a function of the parent, the field and the child that says
        whether the child gets a name; the first whose pattern matches counts. None: all expressions get one except constants.
      gensym_source: gives from `ctx` an object whose `new_name()` gives names.

    Raises:
      ValueError: a name would be needed where no assignment can stand, as in a comprehension.
    """
    return _AnfTransformer(ctx, config, gensym_source).visit(node)
