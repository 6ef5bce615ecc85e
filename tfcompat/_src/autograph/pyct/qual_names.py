"""`tensorflow.python.autograph.pyct.qual_names`: names like `a`, `a.b` and `a[i]` as values that can be compared."""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

from tfcompat._src.autograph.pyct import anno, parser


class CallerMustSetThis(ast.expr_context):
    """The context of nodes that `QN.ast` makes, until the caller sets it."""


class StringLiteral(NamedTuple):
    """A string as the index of a name."""

    value: str

    def __repr__(self) -> str:
        return f"'{self.value}'"


class NumberLiteral(NamedTuple):
    """A number as the index of a name."""

    value: Any

    def __repr__(self) -> str:
        return f"{self.value}"


class QN:
    """A qualified name.

    Args:
      base: a name, a literal, or the QN that an attribute or element is of.
      attr: the name of the attribute. subscript: the index, a QN.

    Raises:
      ValueError: the arguments are of other types, or both `attr` and `subscript` are given.
    """

    def __init__(self, base: object, attr: str | None = None, subscript: object = None) -> None:
        if attr is not None and subscript is not None:
            raise ValueError(f"A QN can only be either an attr or a subscript, not both: attr={attr}, subscript={subscript}.")
        self._has_attr, self._has_subscript = attr is not None, subscript is not None
        if self._has_attr or self._has_subscript:
            if not isinstance(base, QN):
                raise ValueError(f'the base of an attribute or subscript must be a QN; got instead "{base}"')
            if attr is not None and not isinstance(attr, str):
                raise ValueError(f'attr may only be a string; got instead "{attr}"')
            self._parent: QN | None = base
            self.qn: tuple[Any, ...] = (base, subscript if attr is None else attr)
            return
        if not isinstance(base, (str, StringLiteral, NumberLiteral)):
            raise ValueError(f'for simple QNs, base must be a string or a Literal object; got instead "{type(base)}"')
        if isinstance(base, str) and any(mark in base for mark in ".[]"):
            raise AssertionError(f"a simple name has no parts: {base}")
        self._parent, self.qn = None, (base,)

    def is_symbol(self) -> bool:
        """Whether it is a name and no literal."""
        return isinstance(self.qn[0], str)

    def is_simple(self) -> bool:
        """Whether it has one part."""
        return len(self.qn) <= 1

    def is_composite(self) -> bool:
        """Whether it is an attribute or an element."""
        return len(self.qn) > 1

    def has_subscript(self) -> bool:
        """Whether it is an element."""
        return self._has_subscript

    def has_attr(self) -> bool:
        """Whether it is an attribute."""
        return self._has_attr

    @property
    def parent(self) -> QN:
        """The name that this is an attribute or element of; ValueError for a simple name."""
        if self._parent is None:
            raise ValueError(f'Cannot get parent of simple name "{self.qn[0]}".')
        return self._parent

    @property
    def owner_set(self) -> set[QN]:
        """The names that it is an attribute or element of, directly or not."""
        return set() if self._parent is None else {self._parent, *self._parent.owner_set}

    @property
    def support_set(self) -> set[QN]:
        """The simple names that it is made of."""
        if self._parent is None:
            return {self}
        return self._parent.support_set | (self.qn[1].support_set if self._has_subscript else set())

    def __hash__(self) -> int:
        return hash((*self.qn, self._has_attr, self._has_subscript))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, QN):
            return False
        return (self.qn, self._has_attr, self._has_subscript) == (other.qn, other._has_attr, other._has_subscript)

    def __str__(self) -> str:
        if self._has_subscript:
            return f"{self.qn[0]}[{self.qn[1]}]"
        return ".".join(map(str, self.qn))

    __repr__ = __str__

    def ssf(self) -> str:
        """The name as one identifier, with "_" and "_sub_" between its parts."""
        parts = [part.ssf() if isinstance(part, QN) else str(part) if isinstance(part, tuple) else part for part in self.qn]
        return ("_sub_" if self._has_subscript else "_").join(parts)

    def ast(self) -> Any:
        """A new node that is this name, or literal; its contexts are `CallerMustSetThis`."""
        if self._has_subscript:
            return ast.Subscript(self.parent.ast(), self.qn[1].ast(), CallerMustSetThis)
        if self._has_attr:
            return ast.Attribute(self.parent.ast(), self.qn[1], CallerMustSetThis)
        (base,) = self.qn
        return ast.Name(base, CallerMustSetThis) if isinstance(base, str) else ast.Constant(base.value)


class QnResolver(ast.NodeTransformer):
    """Notes on each node that is a qualified name which one, as `Basic.QN`."""

    def visit_Name(self, node: ast.Name) -> ast.AST:
        anno.setanno(node, anno.Basic.QN, QN(node.id))
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        self.generic_visit(node)
        anno.setanno(node, anno.Basic.QN, QN(node.arg))
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if anno.hasanno(node.value, anno.Basic.QN):
            anno.setanno(node, anno.Basic.QN, QN(anno.getanno(node.value, anno.Basic.QN), attr=node.attr))
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        index = node.slice
        if isinstance(index, ast.Constant):
            literal = StringLiteral if isinstance(index.value, str) else NumberLiteral
            subscript = QN(literal(index.value))
        else:
            subscript = anno.getanno(index, anno.Basic.QN, default=None)
        if subscript is not None and anno.hasanno(node.value, anno.Basic.QN):
            anno.setanno(node, anno.Basic.QN, QN(anno.getanno(node.value, anno.Basic.QN), subscript=subscript))
        return node


def resolve(node: Any) -> Any:
    """Notes the qualified names in a tree, and gives it."""
    return QnResolver().visit(node)


def from_str(qn_str: str) -> QN:
    """The qualified name that text is."""
    found: QN = anno.getanno(resolve(parser.parse_expression(qn_str)), anno.Basic.QN)
    return found
