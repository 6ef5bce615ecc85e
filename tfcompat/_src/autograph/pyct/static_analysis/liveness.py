"""`tensorflow.python.autograph.pyct.static_analysis.liveness`: which symbols are still needed before and after statements."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from tfcompat._src.autograph.pyct import anno, cfg, transformer
from tfcompat._src.autograph.pyct.static_analysis.annos import NodeAnno


class Analyzer(cfg.GraphVisitor):
    """Walks a graph back from its exits; `extra_gen` holds the symbols that functions defined in it need."""

    def __init__(self, graph: cfg.Graph) -> None:
        super().__init__(graph)
        self.extra_gen: dict[Any, frozenset[Any]] = {}

    def init_state(self, node: object) -> set[Any]:
        return set()

    def visit_node(self, node: cfg.Node) -> bool:
        before = self.in_[node]
        after = set().union(*(self.in_[each] for each in node.next))
        scope = anno.getanno(node.ast_node, anno.Static.SCOPE, default=None)
        needed = after
        if scope is not None:
            needed = scope.read | self.extra_gen.get(node.ast_node, frozenset()) | (after - scope.modified - scope.deleted)
        self.in_[node], self.out[node] = needed, after
        return bool(before != needed)


class WholeTreeAnalyzer(transformer.Base):
    """Analyzes each function of a tree, those inside of others first; `analyzers` holds them by function."""

    def __init__(self, source_info: transformer.Context, graphs: Mapping[Any, cfg.Graph]) -> None:
        super().__init__(source_info)
        self.graphs = graphs
        self.current_analyzer: Analyzer | None = None
        self.analyzers: dict[Any, Analyzer] = {}

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        around, graph = self.current_analyzer, self.graphs[node]
        analyzer = self.current_analyzer = self.analyzers[node] = Analyzer(graph)
        self.generic_visit(node)
        analyzer.visit_reverse()
        if around is not None:
            own = anno.getanno(node, NodeAnno.BODY_SCOPE).modified
            around.extra_gen[node] = frozenset(analyzer.in_[graph.entry] - own)
        self.current_analyzer = around
        return node


_ENTRIES = {
    ast.If: lambda node: node.test, ast.While: lambda node: node.test, ast.For: lambda node: node.iter, ast.Try: lambda node: node.body[0],
    ast.ExceptHandler: lambda node: node.body[0], ast.With: lambda node: node.items[0],
}  # fmt: skip
"""Statements that hold others: what of them is evaluated first."""


class Annotator(transformer.Base):
    """Notes what the analyzers found."""

    def __init__(self, source_info: transformer.Context, cross_function_analyzer: WholeTreeAnalyzer) -> None:
        super().__init__(source_info)
        self.cross_function_analyzer = cross_function_analyzer
        self.current_analyzer: Any = None

    def visit(self, node: Any) -> Any:
        node = super().visit(node)
        found = self.current_analyzer
        if found is None:
            return node
        place = found.graph.index.get(node)
        if place is not None and isinstance(node, ast.stmt):
            anno.setanno(node, anno.Static.LIVE_VARS_IN, frozenset(found.in_[place]))
            if isinstance(node, ast.Expr):
                anno.setanno(node, anno.Static.LIVE_VARS_OUT, frozenset(found.out[place]))
        if type(node) in _ENTRIES:
            self._annotate_block(node, _ENTRIES[type(node)](node))
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        around, self.current_analyzer = self.current_analyzer, self.cross_function_analyzer.analyzers[node]
        self.generic_visit(node)
        self.current_analyzer = around
        return node

    def _annotate_block(self, node: Any, entry: Any) -> None:
        found = self.current_analyzer
        if not isinstance(node, ast.With):
            live = set().union(*(found.in_[each] for each in found.graph.stmt_next[node]))
            anno.setanno(node, anno.Static.LIVE_VARS_OUT, frozenset(live))
        place = found.graph.index.get(entry)
        needed = anno.getanno(entry, anno.Static.LIVE_VARS_IN) if place is None else frozenset(found.in_[place])
        anno.setanno(node, anno.Static.LIVE_VARS_IN, needed)


def resolve(node: object, source_info: transformer.Context, graphs: Mapping[Any, cfg.Graph]) -> Any:
    """Notes LIVE_VARS_IN and LIVE_VARS_OUT on the statements of a tree, and gives it.

    Args:
      node: the tree, whose activity was resolved.
      source_info: the Context. graphs: of its functions, by `cfg.build`.
    """
    analyzer = WholeTreeAnalyzer(source_info, graphs)
    return Annotator(source_info, analyzer).visit(analyzer.visit(node))
