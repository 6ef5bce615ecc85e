"""Reads command lines: words, redirections, slices, ranges and intervals; and the parsers of the arguments of commands."""

from __future__ import annotations

import argparse
import ast
import dataclasses
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

_BRACKETED = re.compile(r"\[[^\]]*\]")
_QUOTED = re.compile(r"(\"[^\"]*\"|\'[^\']*\')")
_SPACE = re.compile(r"\s+")
_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?")
_COMPARISON = re.compile(r"(<=|<|>=|>)(.*)", re.DOTALL)
_SIZE_UNITS = {"k": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_TIME_UNITS = (("us", 1), ("ms", 1e3), ("s", 1e6))


@dataclasses.dataclass(eq=True)
class Interval:
    """The numbers between `start` and `end`."""

    start: Any
    start_included: bool
    end: Any
    end_included: bool

    def contains(self, value: float) -> bool:
        above = value > self.start or (value == self.start and self.start_included)
        below = value < self.end or (value == self.end and self.end_included)
        return bool(above and below)


# ---- words of a line ----


def parse_command(command: str) -> list[str]:
    """The words of a command line: spaces inside quotes and brackets do not separate them, and quotes around a word are dropped."""
    command = command.strip()
    if not command:
        return []
    gaps = list(_SPACE.finditer(command))
    if not gaps:
        return [command]
    enclosed = [match.span() for pattern in (_BRACKETED, _QUOTED) for match in pattern.finditer(command)]
    words, begin = [], 0
    for gap in gaps:
        if not any(left < gap.start() < right for left, right in enclosed):
            words.append(command[begin : gap.start()])
            begin = gap.end()
    words.append(command[begin:])
    return [_unquoted(word) for word in words]


def _unquoted(word: str) -> str:
    is_quoted = any(word.startswith(quote) and word.endswith(quote) for quote in "\"'")
    return word[1:-1] if is_quoted else word


def extract_output_file_path(args: list[str]) -> tuple[list[str], str | None]:
    """Takes a redirection ("> file", ">file", "a>file" or "a> file") from the end of the words.

    A last word that begins with ">" and is an interval belongs to the option before it: `-e >100us`.

    Returns:
      The words without it, and the path of the file or None.

    Raises:
      SyntaxError: nothing follows the ">".
    """
    if not args:
        return args, None
    *before, last = args
    if last.endswith(">"):
        raise SyntaxError("Redirect file path is empty")
    if last.startswith(">"):
        is_of_option = bool(before) and before[-1].startswith("-") and _is_interval(last)
        return (args, None) if is_of_option else (before, last[1:])
    if before and before[-1] == ">":
        return before[:-1], last
    if last.count(">") == 1:
        word, _, path = last.partition(">")
        return (args, None) if word.endswith("=") else ([*before, word], path)
    if before and before[-1].endswith(">"):
        return [*before[:-1], before[-1][:-1]], last
    return args, None


def _is_interval(text: str) -> bool:
    try:
        _parse_interval(text)
    except ValueError:
        return False
    return True


# ---- tensors ----


def parse_tensor_name_with_slicing(in_str: str) -> tuple[str, str]:
    """Splits "a:0[1, :]" into "a:0" and "[1, :]"; the second is "" where there are no slices."""
    if in_str.count("[") == 1 and in_str.endswith("]"):
        name, _, slices = in_str.partition("[")
        return name, "[" + slices
    return in_str, ""


def validate_slicing_string(slicing_string: str) -> bool:
    """Whether the text has brackets around digits, commas, colons and spaces, and nothing else."""
    return re.search(r"^\[(\d|,|\s|:)+\]$", slicing_string) is not None


def _parse_slices(slicing_string: str) -> tuple[int | slice, ...]:
    """The indices and slices of a text such as "[1:, 3]". ValueError where it has others."""
    parsed: list[int | slice] = []
    for part in slicing_string[1:-1].split(","):
        bounds = part.split(":")
        if len(bounds) > 3:
            raise ValueError("Invalid tensor-slicing string.")
        if len(bounds) == 1:
            parsed.append(int(part))
        else:
            parsed.append(slice(*(int(bound) if bound.strip() else None for bound in bounds)))
    return tuple(parsed)


def evaluate_tensor_slice(tensor: Any, tensor_slicing: str) -> Any:
    """The part of an array that a text such as "[:, 1]" names. ValueError where the text is no slicing."""
    if not validate_slicing_string(tensor_slicing):
        raise ValueError("Invalid tensor-slicing string.")
    return tensor[_parse_slices(tensor_slicing)]


def parse_indices(indices_string: str) -> list[int]:
    """The integers of "[1, 2]" or "1,2"."""
    text = _SPACE.sub("", indices_string)
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1]
    return [int(index) for index in text.split(",")]


def parse_ranges(range_string: str) -> list[list[float]]:
    """The ranges of "[-1.0, 1.0]" or "[[-inf, -1], [1, inf]]", as lists of two numbers.

    Raises:
      ValueError: a range has not two elements, or one that is no number.
    """
    text = range_string.strip()
    if not text:
        return []
    ranges = ast.literal_eval(text.replace("inf", repr(sys.float_info.max)))
    if isinstance(ranges, list | tuple) and not isinstance(ranges[0], list | tuple):
        ranges = [list(ranges)]
    for item in ranges:
        if len(item) != 2:
            raise ValueError("Incorrect number of elements in range")
        for position, bound in zip(("1st", "2nd"), item):
            if not isinstance(bound, int | float):
                raise ValueError("Incorrect type in the %s element of range: %s" % (position, type(bound)))
    return list(ranges)


# ---- intervals of sizes and times ----


def parse_memory_interval(interval_str: str) -> Interval:
    """The interval of bytes that a text such as "[10kB, 20kB]" or ">100M" means. ValueError where it means none."""
    problem = "Invalid interval %s. Start of interval must be less than or equal to end of interval."
    return _interval_of(interval_str, parse_readable_size_str, problem)


def parse_time_interval(interval_str: str) -> Interval:
    """The interval of microseconds that a text such as "[10us, 1ms]" or "<2s" means. ValueError where it means none."""
    return _interval_of(interval_str, parse_readable_time_str, "Invalid interval %s. Start must be before end of interval.")


def _interval_of(text: str, number_of: Callable[[str], int], problem: str) -> Interval:
    parsed = _parse_interval(text)
    start = number_of(parsed.start) if parsed.start else 0
    end = number_of(parsed.end) if parsed.end else float("inf")
    if start > end:
        raise ValueError(problem % text)
    return Interval(start, parsed.start_included, end, parsed.end_included)


def _parse_interval(interval_str: str) -> Interval:
    """The interval, with texts as bounds, or None where "<" or ">" leaves it open. ValueError where the text is none."""
    text = interval_str.strip()
    comparison = _COMPARISON.match(text)
    if comparison:
        sign, bound = comparison[1], comparison[2].strip()
        if not _NUMBER.match(bound):
            raise ValueError("Invalid value string after %s in '%s'" % (sign, text))
        included = sign.endswith("=")
        return Interval(None, False, bound, included) if sign[0] == "<" else Interval(bound, included, None, False)
    if not text.startswith(("[", "(")) or not text.endswith(("]", ")")):
        raise ValueError("Invalid interval format: %s. Valid formats are: [min, max], (min, max), <max, >min" % text)
    bounds = [bound.strip() for bound in text[1:-1].split(",")]
    if len(bounds) != 2:
        raise ValueError("Incorrect interval format: %s. Interval should specify two values: [min, max] or (min, max)." % text)
    for position, bound in zip(("first", "second"), bounds):
        if not _NUMBER.match(bound):
            raise ValueError("Invalid %s item in interval: '%s'" % (position, bound))
    return Interval(bounds[0], text[0] == "[", bounds[1], text[-1] == "]")


def parse_readable_size_str(size_str: str) -> int:
    """The number of bytes of a text such as "1023", "1.1kB" or "24 M". ValueError where it has another unit."""
    text = size_str.strip().removesuffix("B")
    if text.isdigit():
        return int(text)
    if text[-1:] in _SIZE_UNITS:
        return int(float(text[:-1]) * _SIZE_UNITS[text[-1]])
    raise ValueError('Failed to parsed human-readable byte size str: "%s"' % text)


def parse_readable_time_str(time_str: str) -> int:
    """The microseconds of a text such as "100", "10us", "8ms" or "5s". ValueError where it is negative or no number."""
    text, factor = time_str.strip(), 1.0
    for unit, microseconds in _TIME_UNITS:
        if text.endswith(unit):
            text, factor = text.removesuffix(unit), microseconds
            break
    value = float(text)
    if value < 0:
        raise ValueError("Invalid time %s. Time value must be positive." % text)
    return int(value * factor)


# ---- arguments of commands ----


class CommandArguments(argparse.ArgumentParser):
    """The arguments of a command, with the help that Python 3.7 wrote: the texts of argparse differ between versions of Python.

    Args:
      description: what the command does.
    """

    _WIDEST = 24
    """The column at which the help of an argument begins at the latest."""

    def __init__(self, description: str | None = None, **settings: Any) -> None:
        super().__init__(description=description, usage=argparse.SUPPRESS, allow_abbrev=True, **settings)

    def format_help(self) -> str:
        """The help of the command, as wide as the terminal."""
        width = shutil.get_terminal_size().columns - 2
        groups = [
            ("positional arguments", [(self._named(action), action.help) for action in self._actions if not action.option_strings]),
            ("optional arguments", [(self._named(action), action.help) for action in self._actions if action.option_strings]),
        ]
        longest = max(len(name) + 4 for _, rows in groups for name, _ in rows)
        column = min(longest, self._WIDEST)
        sections = [textwrap.fill(" ".join((self.description or "").split()), width)] if self.description else []
        for title, rows in groups:
            if rows:
                body = [line for name, text in rows for line in self._row(name, text or "", column, width)]
                sections.append("\n".join([title + ":", *body]))
        return "\n\n".join(sections) + "\n"

    @staticmethod
    def _named(action: argparse.Action) -> str:
        """How the help names an argument: "-t TIMES, --times TIMES"."""
        if not action.option_strings:
            return "{%s}" % ",".join(map(str, action.choices)) if action.choices else action.dest
        if action.nargs == 0:
            return ", ".join(action.option_strings)
        value = "{%s}" % ",".join(map(str, action.choices)) if action.choices else action.dest.upper()
        return ", ".join("%s %s" % (option, value) for option in action.option_strings)

    @staticmethod
    def _row(name: str, text: str, column: int, width: int) -> Iterator[str]:
        lines = textwrap.wrap(" ".join(text.split()), max(width - column, 11))
        if len(name) + 4 <= column and lines:
            yield "  %-*s  %s" % (column - 4, name, lines.pop(0))
        else:
            yield "  " + name
        yield from (" " * column + line for line in lines)


def get_print_tensor_argparser(description: str) -> argparse.ArgumentParser:
    """The arguments of a command that prints a tensor."""
    arguments = CommandArguments(description)
    add = arguments.add_argument
    tensor = "Name of the tensor, followed by any slicing indices, e.g., hidden1/Wx_plus_b/MatMul:0, hidden1/Wx_plus_b/MatMul:0[1, :]"
    add("tensor_name", help=tensor)
    number = "0-based dump number for the specified tensor. Required for tensor with multiple dumps."
    add("-n", "--number", type=int, default=-1, help=number)
    ranges = 'Numerical ranges to highlight tensor elements in. Examples: -r 0,1e-8, -r [-0.1,0.1], -r "[[-inf, -0.1], [0.1, inf]]"'
    add("-r", "--ranges", default="", help=ranges)
    add("-a", "--all", dest="print_all", action="store_true", help="Print the tensor in its entirety, i.e., do not use ellipses.")
    summary = "Include summary for non-empty tensors of numeric (int*, float*, complex*) and Boolean types."
    add("-s", "--numeric_summary", action="store_true", help=summary)
    add("-w", "--write_path", default="", help="Path of the numpy file to write the tensor data to, using numpy.save().")
    return arguments
