"""Regular expressions as they were before Python 3.7: what an empty match does in `split`, `sub` and `finditer`.

`split` passes empty matches over, `sub` replaces none right behind the match before, and a match that is not empty never begins where an
empty one was found. Patterns that match nothing empty are Python's own.
"""

from __future__ import annotations

import functools
import re
import types
from collections.abc import Callable, Iterator
from typing import Any


class Pattern:
    """A pattern that may match the empty string."""

    def __init__(self, of_today: re.Pattern[Any]) -> None:
        self._of_today = of_today

    def split(self, string: Any, maxsplit: int = 0) -> list[Any]:
        parts, last, start = [], 0, 0
        splits = 0
        while (not maxsplit or splits < maxsplit) and (match := self._of_today.search(string, start)):
            if match.end() > match.start():
                parts += [string[last : match.start()], *match.groups()]
                last = start = match.end()
                splits += 1
            elif last == len(string) or match.end() == len(string):
                break
            else:
                start = match.end() + 1
        return [*parts, string[last:]]

    def subn(self, repl: Any, string: Any, count: int = 0) -> tuple[Any, int]:
        put: Callable[[Any], Any] = repl if callable(repl) else lambda match: match.expand(repl)
        parts, last, replaced = [], 0, 0
        for match in self.finditer(string):
            if count and replaced == count:
                break
            if match.end() > match.start() or match.start() > last or not replaced:
                parts += [string[last : match.start()], put(match)]
                last = match.end()
                replaced += 1
        return string[:0].join([*parts, string[last:]]), replaced

    def sub(self, repl: Any, string: Any, count: int = 0) -> Any:
        return self.subn(repl, string, count)[0]

    def finditer(self, string: Any, pos: int = 0, endpos: int | None = None) -> Iterator[Any]:
        end = len(string) if endpos is None else min(endpos, len(string))
        while pos <= end and (match := self._of_today.search(string, pos, end)):
            yield match
            pos = match.end() + (match.end() == match.start())

    def findall(self, string: Any, pos: int = 0, endpos: int | None = None) -> list[Any]:
        empty = string[:0]
        groups = self._of_today.groups
        found = self.finditer(string, pos, endpos)
        return [match.group() if not groups else match.groups(empty)[0] if groups == 1 else match.groups(empty) for match in found]

    def __getattr__(self, name: str) -> Any:
        if name == "_of_today":
            raise AttributeError(name)
        return getattr(self._of_today, name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pattern) and self._of_today == other._of_today

    def __hash__(self) -> int:
        return hash(self._of_today)

    def __reduce__(self) -> Any:
        return compiled, (self.pattern, self.flags)


@functools.lru_cache(maxsize=512)
def compiled(pattern: Any, flags: int = 0) -> Any:
    """`re.compile`."""
    if isinstance(pattern, Pattern):
        return pattern
    of_today = re.compile(pattern, flags)
    may_be_empty = re._parser.parse(of_today.pattern, of_today.flags).getwidth()[0] == 0  # type: ignore[attr-defined]
    return Pattern(of_today) if may_be_empty else of_today


def _by_method(name: str) -> Callable[..., Any]:
    def function(pattern: Any, *arguments: Any, flags: int = 0, **named: Any) -> Any:
        positions = {"split": 2, "sub": 3, "subn": 3}.get(name, 1)
        if len(arguments) > positions:
            *arguments, flags = arguments  # type: ignore[assignment]
        return getattr(compiled(pattern, flags), name)(*arguments, **named)

    function.__name__ = function.__qualname__ = name
    return function


NAMES: dict[str, Any] = {
    "compile": compiled, **{name: _by_method(name) for name in ("split", "sub", "subn", "findall", "finditer", "match", "search")},
    "_pattern_type": (re.Pattern, Pattern),
}  # fmt: skip
"""What the module `re` has in place of its own."""

MODULE = types.SimpleNamespace(**NAMES)
"""These names, for a program of Python 3."""
