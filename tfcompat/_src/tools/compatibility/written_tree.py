"""Syntax trees that remember their text: a changed tree is written with the spaces, comments and parentheses of its source.

Every node that `parse` makes has an `Original`: its source, its span there, and a slot for each child. `write` copies the source and puts what
each slot holds now between the gaps. A node without an Original is new and is written as `ast.unparse` writes it. The arguments of a call have
separators of their own (`call_arguments`), as their number may change. Parentheses and spaces round an expression are its `Dress`, which
`replace` hands over to the expression that takes its place.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from tfcompat._src.tools.compatibility import call_arguments
from tfcompat._src.tools.compatibility.call_arguments import Arguments
from tfcompat._src.tools.compatibility.scanning import skip

_HOLE = re.compile(r"__hole_(\d+)__")
_REST = re.compile(r"(?:[ \t]*(?:;|#[^\n]*)|[ \t]*(?=\n))?\n?")
_NAME = re.compile(r"[^\W\d]\w*")

_UNITS = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Constant, ast.JoinedStr, ast.List, ast.Dict, ast.Set)


class Dress(NamedTuple):
    """What stands around a node and moves with it: opening parentheses before it, closing ones and spaces behind it."""

    prefix: str = ""
    suffix: str = ""


class Slot(NamedTuple):
    """Where the source of a node has a child: field, place in it (None: the field is one node), and the span with its Dress."""

    field: str
    place: int | None
    start: int
    end: int


class Original(NamedTuple):
    """What a node was when it was parsed; `slots` is None for an f-string whose inner positions Python does not know."""

    text: str
    start: int
    end: int
    slots: tuple[Slot, ...] | None
    plain: dict[str, Any]
    arguments: Arguments | None


def parse(text: str) -> ast.Module:
    """The tree of a module, each node with its Original."""
    tree = ast.parse(text)
    _Recorder(text).record(tree)
    return tree


def parse_expression(text: str) -> ast.expr:
    """The tree of an expression, which is written as `text`. It has no position: as an argument it keeps its place in the list."""
    statement = parse(text).body[0]
    if not isinstance(statement, ast.Expr):
        raise ValueError(f"not an expression: {text!r}")
    for name in ("lineno", "col_offset", "end_lineno", "end_col_offset"):
        delattr(statement.value, name)
    return statement.value


def original(node: ast.AST) -> Original | None:
    return getattr(node, "_original", None)


def dress(node: ast.AST) -> Dress:
    return getattr(node, "_dress", Dress())


def set_dress(node: ast.AST, prefix: str, suffix: str) -> None:
    """Says what is written before and behind a node."""
    node._dress = Dress(prefix, suffix)  # type: ignore[attr-defined]


def replace(parent: ast.AST, old: ast.AST, new: ast.AST) -> None:
    """Puts `new` where `parent` holds `old`, in the parentheses and at the position of `old`."""
    for field, index, child in children(parent):
        if child is old:
            if index is None:
                setattr(parent, field, new)
            else:
                getattr(parent, field)[index] = new
            break
    else:
        raise ValueError(f"{type(parent).__name__} does not hold this {type(old).__name__}")
    set_dress(new, *dress(old))
    ast.copy_location(new, old)


def children(node: ast.AST) -> Iterator[tuple[str, int | None, ast.AST]]:
    """The fields of a node that hold nodes, with the index where a field is a list."""
    for field, value in ast.iter_fields(node):
        if isinstance(value, list):
            yield from ((field, index, item) for index, item in enumerate(value) if isinstance(item, ast.AST))
        elif isinstance(value, ast.AST):
            yield field, None, value


def write(node: ast.AST) -> str:
    """The text of a node with its Dress."""
    prefix, suffix = dress(node)
    return prefix + _core(node) + suffix


def whole_text(node: ast.AST, parent: ast.AST) -> str:
    """The text of an expression as a message shows it: with the spaces behind it up to the next sign or the end of the line.

    The first key of a dictionary has the spaces before it, too.
    """
    found, text = original(node), write(node)
    if found is None:
        return text
    if isinstance(parent, ast.Dict) and parent.keys[0] is node:
        before = found.text[: found.start - len(dress(node).prefix)]
        text = before[len(before.rstrip()) :] + text
    end = found.end + len(dress(node).suffix)
    spaces = re.match(r"[ \t]*(?!\s*#)", found.text[end:])
    return text if text != text.rstrip() or spaces is None else text + spaces.group()


def _core(node: ast.AST) -> str:
    found = original(node)
    if found is None:
        return _fresh(node)
    if found.slots is None:
        unchanged = ast.dump(node) == found.plain["dump"]
        return found.text[found.start : found.end] if unchanged else ast.unparse(node)
    changes = [name for name, value in found.plain.items() if _plain(node)[name] != value]
    if isinstance(node, (ast.Name, ast.Constant)) and changes:
        return _fresh(node)
    pieces = [_first_piece(node, found)]
    for slot, end in zip(found.slots, [*(s.start for s in found.slots[1:]), found.end]):
        pieces += [write(_occupant(node, slot)), found.text[slot.end : end]]
    if found.arguments is not None and isinstance(node, ast.Call):
        return "".join(pieces[:2]) + call_arguments.write(found.arguments, node, write, found.text[found.slots[0].end : found.arguments.open])
    if isinstance(node, ast.Attribute) and changes:
        pieces[-1] = _NAME.sub(node.attr, pieces[-1])
    elif isinstance(node, ast.keyword) and changes:
        pieces[0] = _NAME.sub(str(node.arg), pieces[0])
    elif changes:
        raise NotImplementedError(f"changing {changes[0]} of {type(node).__name__} in a parsed tree is not supported")
    return "".join(pieces)


def _first_piece(node: ast.AST, found: Original) -> str:
    return found.text[found.start : found.slots[0].start if found.slots else found.end]


def _occupant(node: ast.AST, slot: Slot) -> ast.AST:
    value = getattr(node, slot.field)
    found: ast.AST = value if slot.place is None else value[slot.place]
    return found


def _plain(node: ast.AST) -> dict[str, Any]:
    """The fields of a node that hold no nodes: names and values."""
    return {name: value for name, value in ast.iter_fields(node) if not isinstance(value, (list, ast.AST)) and name != "kind"}


def _fresh(node: ast.AST) -> str:
    """The text of a new node: Python writes it with a hole for each child, and the children's texts fill the holes."""
    texts: list[str] = []

    def hole(child: ast.AST) -> ast.AST:
        if not isinstance(child, (ast.expr, ast.keyword, ast.alias)):
            return child
        texts.append(write(child))
        name = f"__hole_{len(texts) - 1}__"
        return ast.alias(name=name) if isinstance(child, ast.alias) else ast.Name(id=name, ctx=ast.Load())

    fields: dict[str, Any] = {}
    for field, value in ast.iter_fields(node):
        if isinstance(value, list):
            fields[field] = [hole(item) if isinstance(item, ast.AST) else item for item in value]
        else:
            fields[field] = hole(value) if isinstance(value, ast.AST) else value
    if isinstance(node, ast.Call):
        fields = {**fields, "args": [*fields["args"], *fields["keywords"]], "keywords": []}
    return _HOLE.sub(lambda found: texts[int(found.group(1))], ast.unparse(type(node)(**fields)))


class _Recorder:
    """Gives the nodes of one text their Originals."""

    def __init__(self, text: str) -> None:
        self.text = text
        lines = text.splitlines(keepends=True) if "\f" not in text else re.findall(r".*?(?:\r\n|\n|\r)|.+", text)
        self._lines = lines
        self._format_specs: list[ast.expr | None] = []  # f-strings in f-strings, which Python gives the position of the outer one
        self._starts = [0, *itertools.accumulate(map(len, lines))]

    def offset(self, line: int, column: int) -> int:
        """The index in the text of a position as Python counts it, in bytes of a line."""
        found = self._lines[line - 1] if line <= len(self._lines) else ""
        inner = column if found.isascii() else len(found.encode()[:column].decode())
        return self._starts[line - 1] + inner

    def record(self, node: ast.AST, lowest: int = 0, highest: int | None = None) -> tuple[int, int] | None:
        """Records a node and all below it; returns its span with its Dress, or None where nothing of it is written."""
        span = self._span(node)
        low, high = span if span is not None else (lowest, len(self.text) if highest is None else highest)
        if isinstance(node, ast.Call):
            return self._record_call(node, low, high, lowest, high if highest is None else highest)
        slots = []
        for field, index, child in children(node):
            if isinstance(node, ast.JoinedStr) and isinstance(child, ast.Constant):
                continue
            found = self.record(child, low, high) if not isinstance(node, ast.ClassDef) else self.record(child, high, high)
            if found is not None:
                slots.append(Slot(field, index, *found))
        return self._keep(node, span, slots, lowest, high if highest is None else highest)

    def _span(self, node: ast.AST) -> tuple[int, int] | None:
        if isinstance(node, ast.Module):
            return 0, len(self.text)
        if isinstance(node, ast.FormattedValue):
            self._format_specs.append(node.format_spec)
            return None
        if not hasattr(node, "end_lineno") or any(node is spec for spec in self._format_specs):
            return None
        return self.offset(node.lineno, node.col_offset), self.offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def _keep(
        self, node: ast.AST, span: tuple[int, int] | None, slots: list[Slot], lowest: int, highest: int, arguments: Arguments | None = None
    ) -> tuple[int, int] | None:
        slots.sort(key=lambda slot: slot.start)
        if span is None and not slots:
            return None
        start = min([*(span[:1] if span else ()), *(slot.start for slot in slots[:1])])
        end = max([*(span[1:] if span else ()), *(slot.end for slot in slots[-1:])])
        known = all(a.end <= b.start for a, b in itertools.pairwise(slots))
        if isinstance(node, ast.JoinedStr):
            known = known and all(self._is_here(value) for value in ast.walk(node) if isinstance(value, ast.FormattedValue))
        plain = _plain(node) if known else {"dump": ast.dump(node)}
        node._original = Original(self.text, start, end, tuple(slots) if known else None, plain, arguments)  # type: ignore[attr-defined]
        return self._dressed(node, start, end, lowest, highest)

    def _is_here(self, value: ast.FormattedValue) -> bool:
        """Whether the expression of an f-string stands where Python says that it does (before Python 3.12 it may not)."""
        start, end = self._span(value.value) or (0, 0)
        try:
            found = ast.parse(f"({self.text[start:end]})", mode="eval").body
        except SyntaxError:
            return False
        return ast.dump(found) == ast.dump(value.value)

    def _dressed(self, node: ast.AST, start: int, end: int, lowest: int, highest: int) -> tuple[int, int]:
        """The span of an expression with the pairs of parentheses between `lowest` and `highest` that enclose it alone."""
        low, high = start, end
        if isinstance(node, ast.stmt) and not self.text[:end].endswith("\n"):
            rest = _REST.match(self.text, end)
            high = end if rest is None else rest.end()
        while isinstance(node, ast.expr):
            before = len(self.text[lowest:low].rstrip()) - 1 + lowest
            behind = skip(self.text, high)
            if before < lowest or self.text[before] != "(" or behind >= highest or self.text[behind] != ")":
                break
            low, high = before, behind + 1
        set_dress(node, self.text[low:start], self.text[end:high])
        return low, high

    def _record_call(self, node: ast.Call, low: int, high: int, lowest: int, highest: int) -> tuple[int, int] | None:
        func = self.record(node.func, low, high) or (low, low)
        at = skip(self.text, func[1])
        items: list[ast.expr | ast.keyword] = sorted(
            [*node.args, *node.keywords], key=lambda item: (item.lineno, item.col_offset)
        )
        for item in items:
            self.record(item, at + 1, high - 1)
        if len(items) == 1 and isinstance(items[0], ast.GeneratorExp):
            _without_call_parentheses(items[0], at)
        arguments = call_arguments.read(self.text, at, high - 1, [self._bounds(item) for item in items])
        for item, (start, end) in zip(items, arguments.spans):
            found = self._bounds(item)
            gap = self.text[start : found[0]], self.text[found[1] : end]
            set_dress(item, gap[0] + dress(item).prefix, dress(item).suffix + gap[1])
            if isinstance(item, ast.keyword):
                _give_spaces(item)
        return self._keep(node, (low, high), [Slot("func", None, *func)], lowest, highest, arguments)

    def _bounds(self, node: ast.AST) -> tuple[int, int]:
        found = _known(node)
        around = dress(node)
        return found.start - len(around.prefix), found.end + len(around.suffix)


def _without_call_parentheses(node: ast.GeneratorExp, opening: int) -> None:
    """Takes the parentheses of a call, which Python counts as those of its only argument, from a generator expression."""
    found = _known(node)
    if found.start == opening and found.slots:
        node._original = found._replace(start=found.slots[0].start, end=found.slots[-1].end)  # type: ignore[attr-defined]
        set_dress(node, "", "")


def _give_spaces(node: ast.keyword) -> None:
    """Makes the spaces around a keyword's value part of the value's Dress; those behind it only where it needs no parentheses."""
    found, slot = _known(node), _known(node).slots
    if node.arg is None or not slot:
        return
    start = found.text.rindex("=", found.start, slot[0].start) + 1 if "#" not in found.text[found.start : slot[0].start] else slot[0].start
    prefix, suffix = dress(node.value)
    behind = re.match(r"[ \t]*", dress(node).suffix)
    spaces = behind.group() if behind and isinstance(node.value, _UNITS) and not suffix else ""
    set_dress(node.value, found.text[start : slot[0].start] + prefix, suffix + spaces)
    set_dress(node, dress(node).prefix, dress(node).suffix[len(spaces) :])
    node._original = found._replace(slots=(slot[0]._replace(start=start, end=slot[0].end + len(spaces)),))  # type: ignore[attr-defined]


def _known(node: ast.AST) -> Original:
    found = original(node)
    if found is None:
        raise ValueError(f"this {type(node).__name__} was not parsed")
    return found


def lines_before(node: ast.stmt) -> str:
    """The comments, empty lines and spaces before a statement; empty where it does not begin its line, or is the first of the module."""
    found = _known(node)
    if skip(found.text, 0) == found.start:
        return ""
    lines = found.text[: found.start].split("\n")
    first = len(lines) - 1
    while first and (not lines[first - 1].strip() or lines[first - 1].lstrip().startswith("#")):
        first -= 1
    return "" if lines[-1].strip() else "\n".join(lines[first:])


def first_line_and_column(node: ast.AST) -> tuple[int, int]:
    """Where a node starts as Python 3.7 counts it: parentheses around its first part are not its own."""
    inner: Any = node
    while isinstance(inner, (ast.Attribute, ast.Call, ast.Subscript)):
        inner = inner.func if isinstance(inner, ast.Call) else inner.value
    if not hasattr(inner, "lineno"):
        inner = node
    return inner.lineno, inner.col_offset

