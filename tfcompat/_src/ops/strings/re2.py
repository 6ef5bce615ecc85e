"""RE2's regular expressions on UTF-8 bytes (package google-re2): a match takes time linear in the text."""

from __future__ import annotations

import functools
import re

import re2

_VALID_REWRITE = re.compile(rb"(?s:\\[0-9\\]|[^\\])*")
_LATER_SYNTAX = re.compile(rb"(?s)\\Q.*?(?:\\E|\Z)|\\.|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]])*\]|(\(\?<)")
"""Escapes and classes, which are passed over; and what begins a name in a form that TensorFlow's RE2 does not have."""

Pattern = re2._Regexp


class InvalidPattern(ValueError):
    """A pattern that RE2 does not take."""


@functools.lru_cache(maxsize=256)
def compiled(pattern: bytes) -> Pattern:
    """The pattern; InvalidPattern where RE2 refuses it."""
    options = re2.Options()
    options.log_errors = False
    if any(found[1] for found in _LATER_SYNTAX.finditer(pattern)):
        raise InvalidPattern("invalid perl operator: (?<")
    try:
        return re2.compile(pattern, options)
    except re2.error as e:
        text = e.args[0]
        raise InvalidPattern(text.decode("utf-8", "replace") if isinstance(text, bytes) else text) from None


def replace(pattern: Pattern, text: bytes, rewrite: bytes, count: int) -> bytes:
    """`text` with the first `count` matches (all for 0) replaced; \\0 to \\9 in `rewrite` are groups.

    As in RE2, all matches are replaced by what stands before another escape, but a number of them by nothing.
    """
    valid = _VALID_REWRITE.match(rewrite)[0]
    if count and valid != rewrite:
        return text
    parts: list[bytes] = []
    template = re.split(rb"\\(\d|\\)", valid)
    last = at = done = 0
    previous_end = -1
    while (match := pattern.search(text, at)) is not None:
        start, end = match.span()
        if start == end == previous_end:
            if at >= len(text):
                break
            at = _next_character(text, at)
            continue
        parts += [text[last:start], *_expanded(template, match)]
        last = at = previous_end = end
        done += 1
        if done == count:
            break
    return b"".join(parts) + text[last:] if done else text


def _next_character(text: bytes, at: int) -> int:
    """Where the character ends that begins at `at`; a byte that begins none counts as one."""
    lead = text[at]
    size = 1 if lead < 0xC2 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4 if lead < 0xF5 else 1
    try:
        text[at : at + size].decode()
    except UnicodeDecodeError:
        return at + 1
    return at + size


def _expanded(template: list[bytes], match: re2._Match) -> list[bytes]:
    """A rewrite text split at its escapes, with the groups of a match."""
    groups = (match.group(), *match.groups(default=b""))
    found = [template[0]]
    for escape, following in zip(template[1::2], template[2::2]):
        group = None if escape == b"\\" else int(escape)
        found.append(b"\\" if group is None else groups[group] if group < len(groups) else b"")
        found.append(following)
    return found
