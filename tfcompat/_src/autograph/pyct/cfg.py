"""`tensorflow.python.autograph.pyct.cfg`: which statement of a function may follow which."""

from __future__ import annotations

import ast
import enum
import weakref
from collections.abc import Iterable
from typing import Any, NamedTuple

from tfcompat._src.autograph.pyct import compiler


class Node:
    """A statement, or the part of one that is evaluated at once; `next` and `prev` are the nodes that may come after and before it."""

    def __init__(self, next_: set[Node], prev: Any, ast_node: Any) -> None:
        self.next: Any = next_
        self.prev: Any = prev
        self.ast_node = ast_node

    def freeze(self) -> None:
        """Lets no more edges be added."""
        self.next, self.prev = frozenset(self.next), weakref.WeakSet(self.prev)

    def __repr__(self) -> str:
        node = self.ast_node
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            return f"{'def' if isinstance(node, ast.FunctionDef) else 'class'} {node.name}"
        return compiler.ast_to_source(node.context_expr if isinstance(node, ast.withitem) else node, include_encoding_marker=False).strip()


class Graph(NamedTuple):
    """The nodes of a function.

    Attributes:
      entry: the first node. exit: the last ones. error: those that raise.
      index: syntax trees to nodes.
      stmt_prev, stmt_next: statements that hold others to the nodes that come before and after all of them.
    """

    entry: Node
    exit: set[Node]
    error: set[Node]
    index: dict[Any, Node]
    stmt_prev: dict[Any, frozenset[Node]]
    stmt_next: dict[Any, frozenset[Node]]

    def __repr__(self) -> str:
        return self.as_dot()

    def as_dot(self) -> str:
        """The text of the graph for Graphviz."""
        nodes = [f'  {id(node)} [label="{node}"];' for node in self.index.values()]
        edges = [f"  {id(node)} -> {id(after)};" for node in self.index.values() for after in node.next]
        return "\n".join(["digraph CFG {", *nodes, *edges, "}"])


class _WalkMode(enum.Enum):
    FORWARD = 1
    REVERSE = 2


class GraphVisitor:
    """A walk over a graph until nothing changes: a subclass gives `init_state(node)` and `visit_node(node)`.

    `in_` and `out` are the states before and after each node.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.reset()

    def init_state(self, node: Any) -> Any:
        """The state of a node that was not visited."""
        raise NotImplementedError("Subclasses must implement this.")

    def visit_node(self, node: Node) -> bool:
        """Visits a node; whether those that come after it must be visited again."""
        raise NotImplementedError("Subclasses must implement this.")

    def reset(self) -> None:
        """Forgets all states."""
        self.in_ = {node: self.init_state(node) for node in self.graph.index.values()}
        self.out = {node: self.init_state(node) for node in self.graph.index.values()}

    def _visit_internal(self, mode: _WalkMode) -> None:
        pending = [self.graph.entry] if mode is _WalkMode.FORWARD else list(self.graph.exit)
        seen: set[Node] = set()
        while pending:
            node = pending.pop(0)
            seen.add(node)
            again = self.visit_node(node)
            pending += [each for each in (node.next if mode is _WalkMode.FORWARD else node.prev) if again or each not in seen]

    def visit_forward(self) -> None:
        """Walks from the entry."""
        self._visit_internal(_WalkMode.FORWARD)

    def visit_reverse(self) -> None:
        """Walks from the exits."""
        self._visit_internal(_WalkMode.REVERSE)


class _Frame:
    """What jumps go to: a function, a loop, or a `try` whose `finally` they pass through."""

    def __init__(self, node: object) -> None:
        self.node = node
        self.exits: list[tuple[Node, list[_Frame]]] = []
        self.continues: list[tuple[Node, list[_Frame]]] = []
        self.first_final: Node | None = None
        self.last_final: set[Node] = set()


_LOOPS = (ast.While, ast.For)


class _FunctionGraph:
    """Builds the graph of one function; `graphs` takes those of the functions in it."""

    def __init__(self, function: object, graphs: dict[Any, Graph]) -> None:
        self._graphs = graphs
        self._index: dict[Any, Node] = {}
        self._owners: dict[Node, frozenset[Any]] = {}
        self._active: list[Any] = []
        self._edges: set[tuple[Node, Node]] = set()
        self._errors: set[Node] = set()
        self._leaves: set[Node] = set()
        self._frames = [_Frame(function)]
        self._awaiting: list[_Frame] = []

    # ---- nodes and edges ----

    def _connect(self, first: Iterable[Node], second: Node) -> None:
        for node in first:
            node.next.add(second)
            second.prev.add(node)
            self._edges.add((node, second))

    def add(self, tree: object) -> Node:
        """A node that comes after the leaves, and is the only leaf then."""
        node = self._index[tree] = Node(set(), weakref.WeakSet(), tree)
        self._owners[node] = frozenset(self._active)
        self._connect(self._leaves, node)
        while self._awaiting:
            self._awaiting.pop().first_final = node
        self._leaves = {node}
        return node

    def _jump(self, tree: object, *kinds: type) -> tuple[Node, list[_Frame], _Frame]:
        """The node of a jump out of the innermost frame of some kinds, and the frames that it passes through."""
        passed = []
        for frame in reversed(self._frames):
            if isinstance(frame.node, ast.Try) and frame.node.finalbody:
                passed.append(frame)
            if isinstance(frame.node, kinds):
                node = self.add(tree)
                self._leaves = set()
                return node, passed, frame
        raise ValueError(f"{tree} that is not enclosed by any of {kinds}")

    def _landed(self, jumps: Iterable[tuple[Node, list[_Frame]]]) -> set[Node]:
        """The nodes from which jumps arrive: the last ones of the `finally` blocks on their way."""
        found: set[Node] = set()
        for node, passed in jumps:
            ends = {node}
            for frame in passed:
                if frame.first_final is not None:
                    self._connect(ends, frame.first_final)
                ends = frame.last_final
            found |= ends
        return found

    def graph(self) -> Graph:
        """The graph, once all is added."""
        for node in self._index.values():
            node.freeze()
        before: dict[Any, set[Node]] = {statement: set() for owners in self._owners.values() for statement in owners}
        after: dict[Any, set[Node]] = {statement: set() for statement in before}
        for first, second in self._edges:
            for statement in self._owners[first] - self._owners[second]:
                after[statement].add(second)
            for statement in self._owners[second] - self._owners[first]:
                before[statement].add(first)
        frozen = ({statement: frozenset(nodes) for statement, nodes in each.items()} for each in (before, after))
        return Graph(next(iter(self._index.values())), self._leaves, self._errors, self._index, *frozen)

    # ---- statements ----

    def function(self, node: Any) -> None:
        """Adds a function's parameters and body."""
        self.expression(node.args)
        self.add(node.args)
        self.block(node.body)
        self._leaves |= self._landed(self._frames[0].exits)

    def expression(self, tree: Any) -> None:
        """Builds the graphs of functions that stand in a tree."""
        for child in ast.iter_child_nodes(tree):
            if isinstance(child, ast.FunctionDef):
                self._graphs.update(build(child))
            else:
                self.expression(child)

    def block(self, statements: Iterable[Any]) -> None:
        """Adds statements one after the other."""
        for statement in statements:
            getattr(self, f"_add_{type(statement).__name__}", self._add_plain)(statement)

    def _add_plain(self, node: object) -> None:
        self.expression(node)
        self.add(node)

    def _add_FunctionDef(self, node: object) -> None:
        self.add(node)
        self._graphs.update(build(node))

    def _add_ClassDef(self, node: object) -> None:
        self.add(node)
        self.expression(node)

    def _add_Return(self, node: object) -> None:
        made, passed, frame = self._jump(node, ast.FunctionDef)
        frame.exits.append((made, passed))

    def _add_Break(self, node: object) -> None:
        made, passed, frame = self._jump(node, *_LOOPS)
        frame.exits.append((made, passed))

    def _add_Continue(self, node: object) -> None:
        made, passed, frame = self._jump(node, *_LOOPS)
        frame.continues.append((made, passed))

    def _add_Raise(self, node: object) -> None:
        self._errors.add(self._jump(node, ast.FunctionDef)[0])

    def _add_If(self, node: Any) -> None:
        self._active.append(node)
        self._add_plain(node.test)
        self._branches([node.body, node.orelse])
        self._active.pop()

    def _branches(self, blocks: Iterable[Any]) -> None:
        """Adds blocks of which one is run."""
        start, ends = self._leaves, set()
        for block in blocks:
            self._leaves = set(start)
            self.block(block)
            ends |= self._leaves
        self._leaves = ends

    def _add_loop(self, node: Any, entry: object) -> None:
        self._active.append(node)
        self._frames.append(_Frame(node))
        self.expression(entry)
        first = self.add(entry)
        self.block(node.body)
        frame = self._frames.pop()
        self._connect(self._leaves | self._landed(frame.continues), first)
        self._leaves = {first}
        self.block(node.orelse)
        self._leaves |= self._landed(frame.exits)
        self._active.pop()

    def _add_While(self, node: Any) -> None:
        self._add_loop(node, node.test)

    def _add_For(self, node: Any) -> None:
        self._add_loop(node, node.iter)

    def _add_ExceptHandler(self, node: Any) -> None:
        self._active.append(node)
        self.block(node.body)
        self._active.pop()

    def _add_Try(self, node: Any) -> None:
        self._active.append(node)
        frame = _Frame(node)
        self._frames.append(frame)
        self.block(node.body)
        if node.orelse:
            self._branches([node.orelse, []])
        self._frames.pop()
        if node.handlers:
            self._branches([*([handler] for handler in node.handlers), []])
        if node.finalbody:
            is_reached = bool(self._leaves)
            self._awaiting.append(frame)
            self.block(node.finalbody)
            frame.last_final = self._leaves
            self._leaves = self._leaves if is_reached else set()
        self._active.pop()

    def _add_With(self, node: Any) -> None:
        for item in node.items:
            self._add_plain(item)
        self.block(node.body)


def build(node: object) -> dict[Any, Graph]:
    """The graphs of a function and of those inside of it, or of the functions in another tree, by their trees."""
    graphs: dict[Any, Graph] = {}
    builder = _FunctionGraph(node, graphs)
    if isinstance(node, ast.FunctionDef):
        builder.function(node)
        graphs[node] = builder.graph()
    else:
        builder.expression(node)
    return graphs
