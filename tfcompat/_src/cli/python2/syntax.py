"""Rewrites the syntax of Python 2 as that of Python 3, token by token, so that every statement stays on its line.

fissix, the maintained fork of lib2to3, parses the source. What has no counterpart in the syntax of Python 3 becomes a call of a name of
`spelling`, or a parameter whose name says how it is unpacked; `meaning` resolves the latter in the syntax tree.
"""

from __future__ import annotations

import ast
import functools
import importlib
import io
import re
import tokenize
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from tfcompat._src.cli.python2 import spelling

FUTURE = re.compile(r"^[ \t]*from[ \t]+__future__[ \t]+import[ \t(]+([^#\n)]*(?:\n[^#\n)]*\))?)", re.MULTILINE)
_OCTAL = re.compile(r"0[0-7]+")
_UNICODE_ESCAPE = re.compile(r"(?<!\\)((?:\\\\)*)\\(?=[uUN])")
_HIGH_BYTE = re.compile(r"\\(x[89a-fA-F][0-9a-fA-F]|[23][0-7]{2})")
_NEW_KEYWORDS = ("async", "await")


class Converted(NamedTuple):
    """A source in the syntax of Python 3, and what in it was Python 2's: (construct, line), in the order of the lines."""

    text: str
    evidence: list[tuple[str, int]]


class _Parser(NamedTuple):
    """The parts of fissix that are used."""

    driver: Any
    pytree: Any
    tokens: Any
    error: type[Exception]
    grammars: dict[bool, Any]
    """Whether `print` is a statement -> the grammar."""
    kinds: dict[int, str]
    """Number of a grammar symbol -> its name."""


@functools.cache
def _parser() -> _Parser:
    driver, parse, token, tokens, pygram, pytree = (
        importlib.import_module(f"fissix.{name}") for name in ("pgen2.driver", "pgen2.parse", "pgen2.token", "pgen2.tokenize", "pygram", "pytree")
    )
    grammars = {True: pygram.python_grammar, False: pygram.python_grammar_no_print_statement}
    kinds = {number: name for number, name in token.tok_name.items() if number < 256} | pygram.python_grammar.number2symbol
    return _Parser(driver, pytree, tokens, (parse.ParseError, tokens.TokenError), grammars, kinds)  # type: ignore[arg-type]


def features(text: str) -> set[str]:
    """Names that a source imports from `__future__`."""
    return {word for match in FUTURE.finditer(text) for word in re.findall(r"\w+", match[1])}


def decoded(source: bytes) -> str:
    """The text of a source, with the line ends of Python."""
    encoding = tokenize.detect_encoding(io.BytesIO(source).readline)[0]
    return source.decode(encoding).replace("\r\n", "\n").replace("\r", "\n")


def convert(text: str) -> Converted:
    """Converts a source of Python 2.

    Raises:
      SyntaxError: Python 2 does not parse it either.
      ModuleNotFoundError: fissix is not installed.
    """
    parser = _parser()
    future = features(text)
    text = _with_spaces(text.rstrip("\\ \t\n") + "\n")
    driver = parser.driver.Driver(parser.grammars["print_function" not in future], convert=parser.pytree.convert)
    try:
        tree = driver.parse_string(text)
    except (*parser.error, IndentationError) as error:  # type: ignore[misc]
        raise SyntaxError(f"neither Python 3 nor Python 2 parses it: {error}") from None
    conversion = _Conversion(parser.kinds, "unicode_literals" in future, "print_function" not in future)
    for node in list(tree.post_order()):  # children first: what stands around them puts text behind their tokens
        conversion.visit(node)
    return Converted(str(tree), sorted(conversion.evidence, key=lambda each: each[1]))


def _with_spaces(text: str) -> str:
    """The text with tabs that indent its lines as spaces: a tab leads to the next column that 8 divides."""
    if "\t" not in text:
        return text
    parser = _parser()
    inside: set[int] = set()
    try:
        for kind, value, (first, _), (last, _), _ in parser.tokens.generate_tokens(io.StringIO(text).readline):
            if parser.kinds.get(kind) == "STRING" and "\n" in value:
                inside.update(range(first + 1, last + 1))
    except (*parser.error, IndentationError):  # type: ignore[misc]
        return text
    return "".join(line if number in inside else _expanded(line) for number, line in enumerate(text.splitlines(keepends=True), 1))


def _expanded(line: str) -> str:
    rest = line.lstrip(" \t\f")
    return line[: len(line) - len(rest)].expandtabs(8) + rest


class _Conversion:
    """Changes the tokens of a parsed source, a construct at a time."""

    def __init__(self, kinds: dict[int, str], has_unicode_literals: bool, has_print: bool) -> None:
        self.evidence: list[tuple[str, int]] = []
        self._kinds, self._has_unicode_literals, self._has_print = kinds, has_unicode_literals, has_print
        self._of: dict[str, Callable[[Any], None]] = {
            "print_stmt": self._print, "exec_stmt": self._exec, "raise_stmt": self._raise, "except_clause": self._except,
            "atom": self._atom, "tfpdef": self._parameter, "vfpdef": self._parameter, "testlist_safe": self._sequence,
            "NAME": self._name, "NUMBER": self._number, "STRING": self._string, "NOTEQUAL": self._not_equal,
        }  # fmt: skip

    def visit(self, node: Any) -> None:
        change = self._of.get(self._kinds[node.type])
        if change is not None:
            change(node)

    def _found(self, construct: str, node: Any) -> None:
        self.evidence.append((construct, node.get_lineno()))

    def _print(self, node: Any) -> None:
        word, *rest = node.children
        self._found("print", node)
        ends_line = str(rest[-1]).strip() != ","
        if str(rest[0]).strip() == ">>":
            word.value, rest[0].value = f"{spelling.PRINT}({ends_line}, ", ""
        else:
            word.value = f"{spelling.PRINT}({ends_line}, None, "
        _after(rest[-1], ")")

    def _exec(self, node: Any) -> None:
        word, *rest = node.children
        self._found("exec", node)
        word.value = "exec("
        for child in rest:
            if str(child).strip() == "in":
                child.value = ","
        _after(rest[-1], ")")

    def _raise(self, node: Any) -> None:
        if len(node.children) > 2 and str(node.children[2]).strip() == ",":
            self._found("raise with a comma", node)
            node.children[0].value = f"raise {spelling.RAISED}("
            _after(node.children[-1], ")")

    def _except(self, node: Any) -> None:
        if len(node.children) != 4:
            return
        comma, target = node.children[2:]
        if str(comma).strip() == ",":
            self._found("except with a comma", node)
            comma.value = " as"
            if self._kinds[target.type] != "NAME":
                target.replace(self._unpacked(target))

    def _atom(self, node: Any) -> None:
        first, last = node.children[0], node.children[-1]
        if str(first).strip() == "`":
            self._found("backticks", node)
            first.value, last.value = "repr(", ")"

    def _parameter(self, node: Any) -> None:
        is_inner = self._kinds[node.parent.type] in ("tfplist", "vfplist")
        if str(node.children[0]).strip() == "(" and not is_inner:
            self._found("a tuple as parameter", node)
            node.replace(self._unpacked(node))

    def _unpacked(self, pattern: Any) -> Any:
        name = spelling.unpacked(" ".join(str(pattern).split()))
        leaf = next(iter(pattern.leaves()))
        return type(leaf)(1, name, prefix=pattern.prefix)

    def _sequence(self, node: Any) -> None:
        first = next(iter(node.leaves()))
        first.value = "(" + first.value
        _after(node, ")")

    def _name(self, leaf: Any) -> None:
        if leaf.value == "print" and self._has_print and self._kinds[leaf.parent.type] != "print_stmt":
            self._found("print", leaf)
            leaf.value = f"{spelling.PRINT}(True, None)"
        elif leaf.value in _NEW_KEYWORDS:
            leaf.value += "_"

    def _number(self, leaf: Any) -> None:
        value = leaf.value.rstrip("lL") if leaf.value[-1] in "lL" else leaf.value
        if _OCTAL.fullmatch(value):
            value = "0o" + value[1:]
        if value != leaf.value:
            self._found(leaf.value, leaf)
            leaf.value = value

    def _not_equal(self, leaf: Any) -> None:
        if leaf.value == "<>":
            self._found("<>", leaf)
            leaf.value = "!="

    def _string(self, leaf: Any) -> None:
        quote = min(leaf.value.index(mark) for mark in "'\"" if mark in leaf.value)
        prefix, rest = leaf.value[:quote].lower(), leaf.value[quote:]
        if prefix == "ur":
            self._found("ur''", leaf)
            leaf.value = "r" + rest
        elif "u" in prefix or "r" in prefix or (self._has_unicode_literals and "b" not in prefix) or "\\" not in rest:
            return
        elif "b" not in prefix:
            rest = _UNICODE_ESCAPE.sub(r"\1\\\\", rest)
            leaf.value = _with_bytes(rest) if _HIGH_BYTE.search(rest) and "\n" not in rest else rest


def _with_bytes(literal: str) -> str:
    """A literal whose escaped bytes are characters of UTF-8, or stand alone as the lone surrogates that `os.fsdecode` makes of them."""
    escaped = "".join(char if char.isascii() else "".join(f"\\x{byte:02x}" for byte in char.encode()) for char in literal)
    return ascii(ast.literal_eval("b" + escaped).decode("utf-8", "surrogateescape"))


def _after(node: Any, text: str) -> None:
    """Puts text behind the last token of a node."""
    last = list(node.leaves())[-1]
    last.value += text


def changed_lines(before: str, after: str) -> Iterator[int]:
    """Numbers of the lines that differ."""
    for number, (old, new) in enumerate(zip(before.splitlines(), after.splitlines()), 1):
        if old != new:
            yield number
