"""RE2's regular expressions (github.com/google/re2/wiki/Syntax) by Python's `re`, on UTF-8 bytes."""

from __future__ import annotations

import functools
import re
import unicodedata

_POSIX = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "ascii": "\\x00-\\x7F", "blank": "\\t ", "cntrl": "\\x00-\\x1F\\x7F",
    "digit": "0-9", "graph": "!-~", "lower": "a-z", "print": " -~", "punct": "!-/:-@\\[-`{-~", "space": "\\t\\n\\v\\f\\r ",
    "upper": "A-Z", "word": "0-9A-Za-z_", "xdigit": "0-9A-Fa-f",
}  # fmt: skip
_ESCAPES = {"z": "\\Z", "a": "\\x07", "v": "\\x0b", "C": "(?s:.)", "f": "\\f", "n": "\\n", "r": "\\r", "t": "\\t"}
_SAME = frozenset("AbBdDsSwW")
_VALID_REWRITE = re.compile(r"(?s:\\[0-9\\]|[^\\])*")


class InvalidPattern(ValueError):
    """A pattern that RE2 does not take."""


@functools.cache
def _category(name: str) -> str:
    """The characters of a general category as the inside of a class."""
    points = [c for c in range(0x110000) if unicodedata.category(chr(c)).startswith(name)]
    if not points:
        raise InvalidPattern(f"invalid character class range: \\p{{{name}}}")
    found, start = [], points[0]
    for here, following in zip(points, [*points[1:], -1]):
        if following != here + 1:
            found.append(f"\\U{start:08x}-\\U{here:08x}")
            start = following
    return "".join(found)


class _Translator:
    """One pass over a pattern."""

    def __init__(self, pattern: str) -> None:
        self.pattern, self.position = pattern, 0
        self.multiline = [False]

    def take(self, count: int = 1) -> str:
        found = self.pattern[self.position : self.position + count]
        self.position += count
        return found

    def translate(self) -> str:
        parts = []
        while self.position < len(self.pattern):
            ch = self.take()
            if ch == "\\":
                parts.append(self._escape(inside=False))
            elif ch == "[":
                parts.append(self._class())
            elif ch == "$":
                parts.append("$" if self.multiline[-1] else "\\Z")
            elif ch == "(":
                parts.append(self._group())
            elif ch in "*+?{":
                parts.append(self._repetition(ch))
            else:
                if ch == ")" and len(self.multiline) > 1:
                    self.multiline.pop()
                parts.append(ch)
        if len(self.multiline) > 1:
            raise InvalidPattern(f"missing ): {self.pattern}")
        return "".join(parts)

    def _repetition(self, ch: str) -> str:
        """A repetition operator; InvalidPattern where it is too large or another one follows."""
        operator = re.compile(r"[*+?]\??|\{(\d+)(,(\d*))?\}\??")
        found = operator.match(self.pattern, self.position - 1)
        if found is None:
            return "\\" + ch
        if any(int(n) > 1000 for n in (found[1], found[3]) if n):
            raise InvalidPattern(f"invalid repetition size: {found[0]}")
        self.position = found.end()
        following = operator.match(self.pattern, self.position)
        if following is not None:
            raise InvalidPattern(f"bad repetition operator: {found[0]}{following[0]}")
        return found[0]

    def _group(self) -> str:
        """What follows an opening bracket: flags and names, which stand in another form."""
        self.multiline.append(self.multiline[-1])
        if not self.pattern.startswith("?", self.position):
            return "("
        found = re.compile(r"\?(?:P<(\w+)>|([a-zA-Z]*)(-[a-zA-Z]+)?([:)]))").match(self.pattern, self.position)
        if found is None or set((found[2] or "") + (found[3] or "")[1:]) - set("imsU"):
            raise InvalidPattern(f"invalid perl operator: ({self.pattern[self.position : self.position + 2]}")
        self.position = found.end()
        if found[1]:
            return f"(?P<{found[1]}>"
        on, off = found[2], (found[3] or "")[1:]
        if "U" in on + off:
            raise NotImplementedError("tfcompat has no flag U (ungreedy) of regular expressions.")
        if "m" in on + off:
            self.multiline[-1] = "m" in on
        if found[4] == ")":
            inner = self.multiline.pop()
            self.multiline[-1] = inner
            return self._rest_under(on, off)
        return f"(?{on}{'-' + off if off else ''}:"

    def _rest_under(self, on: str, off: str) -> str:
        """Flags without a group of their own hold up to the end of the group around them, in every alternative."""
        alternatives = []
        for start, end in self._alternatives():
            inner = _Translator(self.pattern[start:end])
            inner.multiline = [self.multiline[-1]]
            self.position = end
            flags = f"{on}{'-' + off if off else ''}"
            alternatives.append(f"(?{flags}:{inner.translate()})")
        return "|".join(alternatives)

    def _alternatives(self) -> list[tuple[int, int]]:
        """The spans between the bars of the group that goes on at `position`."""
        found, depth, start, i = [], 0, self.position, self.position
        while i < len(self.pattern):
            ch = self.pattern[i]
            if ch == "\\":
                i += 1
            elif ch == "[":
                i = self.pattern.find("]", i + 2 + self.pattern.startswith("^", i + 1))
                if i < 0:
                    raise InvalidPattern(f"missing ]: {self.pattern}")
            elif ch == ")" and depth == 0:
                break
            elif ch == "|" and depth == 0:
                found.append((start, i))
                start = i + 1
            else:
                depth += (ch == "(") - (ch == ")")
            i += 1
        return [*found, (start, min(i, len(self.pattern)))]

    def _escape(self, inside: bool) -> str:
        if self.position >= len(self.pattern):
            raise InvalidPattern("trailing \\")
        ch = self.take()
        if ch in "pP":
            name = self.take()
            if name == "{":
                end = self.pattern.index("}", self.position)
                name = self.take(end - self.position)
                self.take()
            negated = (ch == "P") != name.startswith("^")
            body = _category(name.lstrip("^"))
            if inside and negated:
                raise InvalidPattern("a negated \\p inside a class")
            return body if inside else f"[{'^' if negated else ''}{body}]"
        if ch == "Q" and not inside:
            end = self.pattern.find("\\E", self.position)
            end = len(self.pattern) if end < 0 else end
            text = self.take(end - self.position)
            self.take(2)
            return re.escape(text)
        if ch == "x":
            found = re.compile(r"([0-9A-Fa-f]{2})|\{([0-9A-Fa-f]+)\}").match(self.pattern, self.position)
            if found is None:
                raise InvalidPattern("invalid escape sequence: \\x")
            self.position = found.end()
            return f"\\U{int(found[1] or found[2], 16):08x}"
        if ch in _SAME and not (inside and ch in "AbB"):
            return "\\" + ch
        if ch in _ESCAPES and not (inside and ch in "zC"):
            return _ESCAPES[ch]
        if ch.isalnum() and ch.isascii() and ch != "0":
            raise InvalidPattern(f"invalid escape sequence: \\{ch}")
        return "\\0" if ch == "0" else re.escape(ch)

    def _class(self) -> str:
        parts = ["[" + ("^" if self.pattern.startswith("^", self.position) else "")]
        self.position += len(parts[0]) - 1
        first = True
        while first or not self.pattern.startswith("]", self.position):
            if self.position >= len(self.pattern):
                raise InvalidPattern(f"missing ]: {self.pattern}")
            first = False
            named = re.compile(r"\[:(\^?)(\w+):\]").match(self.pattern, self.position)
            if named:
                if named[2] not in _POSIX or named[1]:
                    raise InvalidPattern(f"invalid character class range: {named[0]}")
                self.position = named.end()
                parts.append(_POSIX[named[2]])
                continue
            ch = self.take()
            parts.append(self._escape(inside=True) if ch == "\\" else "\\" + ch if ch in "[]&~|" else ch)
        self.take()
        return "".join(parts) + "]"


@functools.lru_cache(maxsize=256)
def compiled(pattern: bytes) -> re.Pattern:
    """The pattern for text of `decoded`; InvalidPattern where RE2 refuses it."""
    try:
        text = pattern.decode()
    except UnicodeDecodeError as e:
        raise InvalidPattern(f"invalid UTF-8: {decoded(pattern[e.start :])}") from None
    try:
        return re.compile(_Translator(text).translate(), re.ASCII)
    except (re.error, IndexError, OverflowError, ValueError) as e:
        raise InvalidPattern(str(e)) from None


def decoded(text: bytes) -> str:
    """UTF-8 bytes as characters; bytes that are none stand for themselves."""
    return text.decode("utf-8", "surrogateescape")


def encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def replace(pattern: re.Pattern, text: bytes, rewrite: bytes, count: int) -> bytes:
    """`text` with the first `count` matches (all for 0) replaced; \\0 to \\9 in `rewrite` are groups, and it ends before another escape."""
    source, parts, last, done = decoded(text), [], 0, 0
    template = re.split(r"\\(\d|\\)", _VALID_REWRITE.match(decoded(rewrite))[0])
    previous_end = -1
    for match in pattern.finditer(source):
        if match.start() == match.end() == previous_end:
            continue
        previous_end = match.end()
        parts += [source[last : match.start()], _expanded(template, match)]
        last = match.end()
        done += 1
        if done == count:
            break
    return encoded("".join(parts) + source[last:]) if done else text


def _expanded(template: list[str], match: re.Match) -> str:
    """A rewrite text split at its escapes, with the groups of a match."""
    found = [template[0]]
    for escape, following in zip(template[1::2], template[2::2]):
        group = None if escape == "\\" else int(escape)
        found.append("\\" if group is None else (match[group] or "") if group <= match.re.groups else "")
        found.append(following)
    return "".join(found)
