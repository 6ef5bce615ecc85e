"""`tensorflow.python.autograph.pyct.static_analysis.reaching_definitions`: which values of symbols may reach their uses."""

from __future__ import annotations

import ast
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from tfcompat._src.autograph.pyct import anno, cfg, qual_names, transformer
from tfcompat._src.autograph.pyct.static_analysis.annos import NodeAnno

_State = dict[Any, frozenset[Any]]


class Definition:
    """One place where a symbol is given a value; `param_of` is a weak reference to the function that it is a parameter of, or None."""

    def __init__(self) -> None:
        self.param_of: Any = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}[{id(self)}]"


def _merged(*states: _State) -> _State:
    found: _State = {}
    for state in states:
        for symbol, definitions in state.items():
            found[symbol] = found.get(symbol, frozenset()) | definitions
    return found


def _without(state: _State, symbols: Any) -> _State:
    return {symbol: definitions for symbol, definitions in state.items() if symbol not in symbols}


class Analyzer(cfg.GraphVisitor):
    """Walks a graph from its entry; `extra_in` holds definitions that come from outside, by syntax tree."""

    def __init__(self, graph: cfg.Graph, definition_factory: Callable[[], Any]) -> None:
        self._definition_factory = definition_factory
        super().__init__(graph)
        self.extra_in: dict[Any, _State] = {}
        self.gen_map: dict[cfg.Node, _State] = {}

    def init_state(self, node: object) -> _State:
        return {}

    def visit_node(self, node: cfg.Node) -> bool:
        before, tree = self.out[node], node.ast_node
        reaching = _merged(self.extra_in.get(tree, {}), *(self.out[each] for each in node.prev))
        scope = anno.getanno(tree, anno.Static.SCOPE, default=None)
        leaving = reaching
        if scope is not None:
            leaving = _merged(self._made(node, scope.modified, scope.params), _without(reaching, scope.modified | scope.deleted))
        elif isinstance(tree, (ast.Global, ast.Nonlocal)):
            names = [qual_names.QN(name) for name in tree.names]
            if node not in self.gen_map:
                for name in names:
                    if name in reaching:
                        raise ValueError(f'"{name}" is assigned before global definition')
            leaving = _merged(reaching, self._made(node, names, {}))
        self.in_[node], self.out[node] = reaching, leaving
        return before != leaving

    def _made(self, node: cfg.Node, symbols: Any, params: Any) -> _State:
        """The definitions that a node makes: the same ones whenever it is visited."""
        if node not in self.gen_map:
            made = self.gen_map[node] = {}
            for symbol in symbols:
                definition = self._definition_factory()
                if symbol in params:
                    definition.param_of = weakref.ref(params[symbol])
                made[symbol] = frozenset((definition,))
        return self.gen_map[node]


class TreeAnnotator(transformer.Base):
    """Notes the definitions that reach names, and the symbols that are defined where statements begin."""

    def __init__(
        self, source_info: transformer.Context, graphs: Mapping[Any, cfg.Graph], definition_factory: Callable[[], Any]
    ) -> None:
        super().__init__(source_info)
        self.graphs, self.definition_factory = graphs, definition_factory
        self.current_analyzer: Any = None
        self.current_cfg_node: Any = None

    def visit(self, node: object) -> Any:
        around = self.current_cfg_node
        if self.current_analyzer is not None:
            self.current_cfg_node = self.current_analyzer.graph.index.get(node, around)
        node = super().visit(node)
        self.current_cfg_node = around
        return node

    def visit_FunctionDef(self, node: Any) -> Any:
        around = self.current_analyzer
        analyzer = Analyzer(self.graphs[node], self.definition_factory)
        if around is not None:
            outer = around.out[around.graph.index[node]]
            analyzer.extra_in[node.args] = _without(outer, anno.getanno(node, NodeAnno.BODY_SCOPE).modified)
        analyzer.visit_forward()
        self.current_analyzer = analyzer
        node.args, node.body = self.visit(node.args), self.visit_block(node.body)
        self.current_analyzer = around
        return node

    def _annotate_name(self, node: Any) -> Any:
        analyzer, place = self.current_analyzer, self.current_cfg_node
        if analyzer is not None:
            state = (analyzer.in_ if isinstance(getattr(node, "ctx", None), ast.Load) else analyzer.out)[place]
            anno.setanno(node, anno.Static.DEFINITIONS, tuple(state.get(anno.getanno(node, anno.Basic.QN), ())))
        return node

    visit_Name = visit_arg = _annotate_name

    def _annotate_block(self, node: Any) -> None:
        analyzer = self.current_analyzer
        defined = frozenset(symbol for each in analyzer.graph.stmt_prev[node] for symbol in analyzer.out[each])
        anno.setanno(node, anno.Static.DEFINED_VARS_IN, defined)

    def _visit_block_statement(self, node: Any) -> Any:
        self._annotate_block(node)
        return self.generic_visit(node)

    visit_If = visit_While = visit_Try = _visit_block_statement

    def visit_For(self, node: Any) -> Any:
        self._annotate_block(node)
        around, self.current_cfg_node = self.current_cfg_node, self.current_analyzer.graph.index[node.iter]
        node.target = self.visit(node.target)
        self.current_cfg_node = around
        node.iter, node.body, node.orelse = self.visit(node.iter), self.visit_block(node.body), self.visit_block(node.orelse)
        return node

    def visit_ExceptHandler(self, node: Any) -> Any:
        self._annotate_block(node)
        node.body = self.visit_block(node.body)
        return node


def resolve(node: object, source_info: transformer.Context, graphs: Mapping[Any, cfg.Graph], definition_factory: Callable[[], Any]) -> Any:
    """Notes DEFINITIONS on the names of a tree and DEFINED_VARS_IN on its statements, and gives it.

    Args:
      node: the tree, whose activity was resolved.
      source_info: the Context. graphs: of its functions, by `cfg.build`.
      definition_factory: makes what stands for one definition, like `Definition`.
    """
    return TreeAnnotator(source_info, graphs, definition_factory).visit(node)
