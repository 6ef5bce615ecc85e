"""`tensorflow.python.autograph.pyct.static_analysis.activity`: which symbols the parts of a function read, modify and delete."""

from __future__ import annotations

import ast
import weakref
from typing import Any

from tfcompat._src.autograph.pyct import anno, qual_names, transformer
from tfcompat._src.autograph.pyct.static_analysis.annos import NodeAnno


class Scope:
    """The symbols of a part of a function.

    Args:
      parent: the scope around it, or None.
      isolated: whether what is modified here is not modified in the parent.
      add_unknown_symbols: kept; nothing here asks for it.

    Attributes:
      read, modified, deleted: sets of QNs.
      params: QNs of parameters to the functions that have them.
    """

    def __init__(self, parent: Scope | None, isolated: bool | None = True, add_unknown_symbols: bool = False) -> None:
        self.parent, self.isolated, self.add_unknown_symbols = parent, isolated, add_unknown_symbols
        self.modified: set[qual_names.QN] = set()
        self.read: set[qual_names.QN] = set()
        self.deleted: set[qual_names.QN] = set()
        self.params: Any = weakref.WeakValueDictionary()

    @property
    def affects_parent(self) -> bool:
        """Whether what is modified here is modified in the parent."""
        return not self.isolated and self.parent is not None

    @property
    def referenced(self) -> set[qual_names.QN]:
        """The symbols that are read here, and in the scopes that this is part of."""
        return self.read | self.parent.referenced if self.affects_parent and self.parent is not None else self.read

    def __repr__(self) -> str:
        return f"Scope{{r={tuple(self.read)}, w={tuple(self.modified)}}}"

    def _parents(self, other: Scope, what: str) -> tuple[Scope, Scope] | None:
        if (self.parent is None) != (other.parent is None):
            raise ValueError(f"cannot {what} scopes of different structures")
        return None if self.parent is None or other.parent is None else (self.parent, other.parent)

    def copy_from(self, other: Scope) -> None:
        """Takes the symbols of another scope, and of its parents, in place of its own; ValueError where there are not as many parents."""
        parents = self._parents(other, "copy")
        if parents:
            parents[0].copy_from(parents[1])
        self.isolated, self.params = other.isolated, other.params.copy()
        self.modified, self.read = set(other.modified), set(other.read)

    @classmethod
    def copy_of(cls, other: Scope) -> Scope:
        """A scope with the symbols, and copies of the parents, of another."""
        made = cls(None if other.parent is None else cls.copy_of(other.parent))
        made.copy_from(other)
        return made

    def merge_from(self, other: Scope) -> None:
        """Adds the symbols of another scope, and of its parents; ValueError where there are not as many parents."""
        parents = self._parents(other, "merge")
        if parents:
            parents[0].merge_from(parents[1])
        self.modified |= other.modified
        self.read |= other.read
        self.params.update(other.params)

    def mark_read(self, name: qual_names.QN) -> None:
        """Notes that a symbol is read, here and in the parents that it is no parameter of."""
        self.read.add(name)
        if self.parent is not None and name not in self.params:
            self.parent.mark_read(name)

    def mark_modified(self, name: qual_names.QN) -> None:
        """Notes that a symbol is modified."""
        self.modified.add(name)
        if self.affects_parent and self.parent is not None:
            self.parent.mark_modified(name)

    def mark_deleted(self, name: qual_names.QN) -> None:
        """Notes that a symbol is deleted."""
        self.deleted.add(name)

    def mark_param(self, name: qual_names.QN, owner: Any) -> None:
        """Notes that a symbol is a parameter of a function."""
        self.params[name] = owner


class _Names:
    """The names that a lambda or a comprehension has for itself."""

    no_root = True

    def __init__(self) -> None:
        self.names: set[qual_names.QN] = set()


class _Lambda(_Names):
    pass


class _Comprehension(_Names):
    pass


class ActivityAnalyzer(transformer.Base):
    """Notes the scopes of statements and of their parts; qualified names were resolved before.

    Args:
      context: the Context. parent_scope: what the tree stands in. add_unknown_symbols: of the scope of the tree.
    """

    def __init__(self, context: transformer.Context, parent_scope: Scope | None = None, add_unknown_symbols: bool = False) -> None:
        super().__init__(context)
        self.scope: Any = Scope(parent_scope, None, add_unknown_symbols)
        self._in_aug_assign = self._in_function_def_args = False

    # ---- symbols ----

    def _is_own(self, name: qual_names.QN) -> bool:
        """Whether a name is one of a lambda or comprehension around it, or part of one."""
        around = {name, *name.owner_set}
        return any(around & each.names for kind in (_Lambda, _Comprehension) for each in self.state[kind])

    def _track(self, node: Any, also_parent: bool = False) -> None:
        name = anno.getanno(node, anno.Basic.QN, default=None)
        if name is None or self._is_own(name):
            return
        if isinstance(node.ctx, ast.Load):
            self.scope.mark_read(name)
        elif isinstance(node.ctx, ast.Del):
            self.scope.mark_read(name)
            self.scope.mark_deleted(name)
        elif self.state[_Comprehension].level:
            self.state[_Comprehension].names.add(name)
        else:
            self.scope.mark_modified(name)
            if also_parent:
                self.scope.mark_modified(name.parent)
            if self._in_aug_assign:
                self.scope.mark_read(name)

    def visit_Name(self, node: Any) -> Any:
        self.generic_visit(node)
        self._track(node)
        return node

    visit_Subscript = visit_Name

    def visit_Attribute(self, node: Any) -> Any:
        self.generic_visit(node)
        self._track(node, also_parent=self._sets_attribute_in_constructor(node))
        return node

    def _sets_attribute_in_constructor(self, node: Any) -> bool:
        name = anno.getanno(node, anno.Basic.QN, default=None)
        if name is None or name.parent.qn != ("self",) or len(self.enclosing_entities) < 2:
            return False
        owner, function = self.enclosing_entities[-2:]
        return isinstance(owner, ast.ClassDef) and getattr(function, "name", "") == "__init__"

    def visit_arg(self, node: Any) -> Any:
        self.generic_visit(node)
        name = anno.getanno(node, anno.Basic.QN)
        if self._in_function_def_args:
            self.scope.mark_modified(name)
            self.scope.mark_param(name, self.enclosing_entities[-1])
        else:
            self.state[_Lambda].names.add(name)
        return node

    # ---- statements ----

    def _open(self, isolated: bool = False) -> Scope:
        self.scope = Scope(self.scope, isolated)
        return self.scope

    def _close(self) -> None:
        self.scope = self.scope.parent

    def _process_statement(self, node: Any) -> Any:
        anno.setanno(node, anno.Static.SCOPE, self._open())
        self.generic_visit(node)
        self._close()
        return node

    visit_Expr = visit_Return = visit_Assign = visit_AnnAssign = visit_Delete = visit_Assert = visit_arguments = visit_withitem = _process_statement

    def visit_AugAssign(self, node: Any) -> Any:
        anno.setanno(node, anno.Static.SCOPE, self._open())
        self._in_aug_assign = True
        node.target = self.visit(node.target)
        self._in_aug_assign = False
        node.value = self.visit(node.value)
        self._close()
        return node

    def visit_Call(self, node: Any) -> Any:
        anno.setanno(node, NodeAnno.ARGS_SCOPE, self._open())
        node.args, node.keywords = self.visit_block(node.args), self.visit_block(node.keywords)
        self._close()
        node.func = self.visit(node.func)
        return node

    def visit_With(self, node: Any) -> Any:
        anno.setanno(node, NodeAnno.BODY_SCOPE, self._open())
        self.generic_visit(node)
        self._close()
        return node

    def _visit_blocks(self, node: Any) -> Any:
        """The body and the `else` of a statement, each as if the other one were not run."""
        before, after = Scope.copy_of(self.scope), []
        for block, key in ((node.body, NodeAnno.BODY_SCOPE), (node.orelse, NodeAnno.ORELSE_SCOPE)):
            self.scope.copy_from(before)
            anno.setanno(node, key, self._open())
            self.visit_block(block)
            self._close()
            after.append(Scope.copy_of(self.scope))
        for scope in after:
            self.scope.merge_from(scope)
        return node

    def _visit_test(self, node: Any) -> Any:
        scope = self._open()
        node.test = self.visit(node.test)
        anno.setanno(node, NodeAnno.COND_SCOPE, scope)
        anno.setanno(node.test, anno.Static.SCOPE, scope)
        self._close()
        return self._visit_blocks(node)

    visit_If = visit_While = _visit_test

    def visit_For(self, node: Any) -> Any:
        scope = self._open()
        node.target, node.iter = self.visit(node.target), self.visit(node.iter)
        anno.setanno(node.iter, anno.Static.SCOPE, scope)
        self._close()
        anno.setanno(node, NodeAnno.ITERATE_SCOPE, self._open())
        self.visit(node.target)
        self._close()
        return self._visit_blocks(node)

    # ---- expressions and definitions with names of their own ----

    def visit_Lambda(self, node: Any) -> Any:
        self.state[_Lambda].enter()
        self.generic_visit(node)
        anno.setanno(node, anno.Static.SCOPE, self.scope)
        self.state[_Lambda].exit()
        return node

    def visit_comprehension(self, node: Any) -> Any:
        node.target = self.visit(node.target)
        node.iter, node.ifs = self.visit(node.iter), self.visit_block(node.ifs)
        return node

    def _visit_comprehension(self, node: Any) -> Any:
        self.state[_Comprehension].enter()
        self.visit_block(node.generators if isinstance(node, ast.DictComp) else reversed(node.generators))
        for name in ("elt", "key", "value"):
            if hasattr(node, name):
                setattr(node, name, self.visit(getattr(node, name)))
        self.state[_Comprehension].exit()
        return node

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _visit_comprehension

    def _define(self, node: Any) -> None:
        anno.setanno(node, anno.Static.SCOPE, self._open())
        node.decorator_list = self.visit_block(node.decorator_list)
        self.scope.mark_modified(qual_names.QN(node.name))
        self._close()

    def visit_ClassDef(self, node: Any) -> Any:
        self._define(node)
        self._open(isolated=True)
        self.generic_visit(node)
        self._close()
        return node

    def visit_FunctionDef(self, node: Any) -> Any:
        self._define(node)
        self._open(isolated=True)
        self._in_function_def_args = True
        node.args = self.visit(node.args)
        self._in_function_def_args = False
        anno.setanno(node, NodeAnno.BODY_SCOPE, self._open())
        node.body = self.visit_block(node.body)
        self._close()
        self._close()
        return node


def resolve(node: Any, context: transformer.Context, parent_scope: Scope | None = None) -> Any:
    """Notes the scopes of a tree, whose qualified names were resolved, and gives it."""
    return ActivityAnalyzer(context, parent_scope).visit(node)
