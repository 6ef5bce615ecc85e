"""What the screens of the debugger are made of: text with attributes, and the registries of commands, completions and menus."""

from __future__ import annotations

import os
import re
import traceback
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tfcompat._src.platform import file_io
from tfcompat._src.platform.versions import VERSION

HELP_INDENT = "  "
EXPLICIT_USER_EXIT = "explicit_user_exit"
END_OF_INPUT = "end_of_input"
"""The exit token of an interface whose input has ended; 1.15 ends with an EOFError there."""
REGEX_MATCH_LINES_KEY = "regex_match_lines"
INIT_SCROLL_POS_KEY = "init_scroll_pos"
MAIN_MENU_KEY = "mm:"

Segment = tuple[int, int, Any]
"""First column, the column after the last, and an attribute: a color, "bold", a MenuItem, or a list of these."""


class CommandLineExit(Exception):
    """Raised by a command to leave the interface with `exit_token`."""

    def __init__(self, exit_token: object = None) -> None:
        super().__init__()
        self._exit_token = exit_token

    @property
    def exit_token(self) -> Any:
        return self._exit_token


# ---- text ----


class RichLine:
    """A line of text, parts of which have attributes.

    Attributes:
      text: the characters.
      font_attr_segs: a list of (first column, column after the last, attribute).
    """

    def __init__(self, text: str = "", font_attr: object = None) -> None:
        self.text = text
        self.font_attr_segs: list[Segment] = [(0, len(text), font_attr)] if font_attr else []

    def __add__(self, other: str | RichLine) -> RichLine:
        """A new line: this one, then `other`, each with its attributes."""
        if isinstance(other, str):
            other = RichLine(other)
        elif not isinstance(other, RichLine):
            raise TypeError("%r cannot be concatenated with a RichLine" % other)
        joined, shift = RichLine(self.text + other.text), len(self.text)
        moved = [(start + shift, end + shift, attribute) for start, end, attribute in other.font_attr_segs]
        joined.font_attr_segs = self.font_attr_segs + moved
        return joined

    def __len__(self) -> int:
        return len(self.text)


def rich_text_lines_from_rich_line_list(
    rich_text_list: Iterable[RichLine | str], annotations: dict[Any, Any] | None = None
) -> RichTextLines:
    """The text whose lines are given, each as a string or a RichLine."""
    text = RichTextLines([], annotations=annotations)
    for line in rich_text_list:
        if isinstance(line, RichLine):
            text.append_rich_line(line)
        else:
            text.append(line)
    return text


def get_tensorflow_version_lines(include_dependency_versions: bool = False) -> RichTextLines:
    """The version of TensorFlow whose API this is, and if asked that of NumPy."""
    lines = ["TensorFlow version: %s" % VERSION, ""]
    if include_dependency_versions:
        lines += ["Dependency version(s):", "  numpy: %s" % np.__version__, ""]
    return RichTextLines(lines)


class RichTextLines:
    """Lines of text with attributes and annotations.

    Args:
      lines: a list of strings, or the only line.
      font_attr_segs: row -> list of segments (first column, column after the last, attribute).
      annotations: row -> any object; keys that are no rows are about the whole text.

    Raises:
      ValueError: `lines` is neither a list nor a string.
    """

    def __init__(
        self, lines: list[str] | str, font_attr_segs: dict[int, list[Segment]] | None = None, annotations: dict[Any, Any] | None = None
    ) -> None:
        if not isinstance(lines, list | str):
            raise ValueError("Unexpected type in lines: %s" % type(lines))
        self._lines = lines if isinstance(lines, list) else [lines]
        self._font_attr_segs = font_attr_segs or {}
        self._annotations = annotations or {}

    @property
    def lines(self) -> list[str]:
        return self._lines

    @property
    def font_attr_segs(self) -> dict[int, list[Segment]]:
        return self._font_attr_segs

    @property
    def annotations(self) -> dict[Any, Any]:
        return self._annotations

    def num_lines(self) -> int:
        return len(self._lines)

    def slice(self, begin: int, end: int) -> RichTextLines:
        """A new text: the rows from `begin` to before `end`. ValueError where one is negative."""
        if begin < 0 or end < 0:
            raise ValueError("Encountered negative index.")
        segments = {row - begin: found for row, found in self._font_attr_segs.items() if begin <= row < end}
        annotations = {_shifted(key, -begin): found for key, found in self._annotations.items() if not isinstance(key, int) or begin <= key < end}
        return RichTextLines(self._lines[begin:end], segments, annotations)

    def extend(self, other: RichTextLines) -> None:
        """Appends the lines of `other`; where both are annotated under a key that is no row, that of `other` is kept."""
        above = len(self._lines)
        self._lines.extend(other.lines)
        self._font_attr_segs.update({row + above: found for row, found in other.font_attr_segs.items()})
        self._annotations.update({_shifted(key, above): found for key, found in other.annotations.items()})

    def append(self, line: str, font_attr_segs: list[Segment] | None = None) -> None:
        """Appends a line."""
        self._lines.append(line)
        if font_attr_segs:
            self._font_attr_segs[len(self._lines) - 1] = font_attr_segs

    def append_rich_line(self, rich_line: RichLine) -> None:
        self.append(rich_line.text, rich_line.font_attr_segs)

    def prepend(self, line: list[str] | str, font_attr_segs: list[Segment] | None = None) -> None:
        """Puts a line (or a list of them) before the first; the segments are those of the first."""
        self._extend_before(RichTextLines(line, {0: font_attr_segs} if font_attr_segs else None))

    def _extend_before(self, other: RichTextLines) -> None:
        below = RichTextLines(self._lines, self._font_attr_segs, self._annotations)
        self._lines = list(other.lines)
        self._font_attr_segs, self._annotations = dict(other.font_attr_segs), dict(other.annotations)
        self.extend(below)

    def write_to_file(self, file_path: str) -> None:
        """Writes the lines to a file, without attributes."""
        with file_io.FileIO(file_path, "w") as file:
            file.write("".join(line + "\n" for line in self._lines))


def _shifted(key: object, rows: int) -> Any:
    return key + rows if isinstance(key, int) else key


def regex_find(orig_screen_output: RichTextLines, regex: str, font_attr: object) -> RichTextLines:
    """A copy of a text in which what matches `regex` has the attribute; its annotation REGEX_MATCH_LINES_KEY has the rows with a match.

    Raises:
      ValueError: `regex` is not a regular expression.
    """
    try:
        pattern = re.compile(regex)
    except re.error:
        raise ValueError('Invalid regular expression: "%s"' % regex)
    found = RichTextLines(orig_screen_output.lines, dict(orig_screen_output.font_attr_segs), orig_screen_output.annotations)
    rows = []
    for row, line in enumerate(found.lines):
        matches = [(match.start(), match.end(), font_attr) for match in pattern.finditer(line)]
        if matches:
            rows.append(row)
            found.font_attr_segs[row] = sorted(found.font_attr_segs.get(row, []) + matches, key=lambda segment: segment[0])
    found.annotations[REGEX_MATCH_LINES_KEY] = rows
    return found


def wrap_rich_text_lines(inp: RichTextLines, cols: int) -> tuple[RichTextLines, list[int]]:
    """Breaks lines of more than `cols` characters.

    Returns:
      The text, and the row in it at which each line of `inp` begins.

    Raises:
      ValueError: an argument has another type.
    """
    if not isinstance(inp, RichTextLines):
        raise ValueError("Invalid type of input screen_output")
    if not isinstance(cols, int):
        raise ValueError("Invalid type of input cols")
    out = RichTextLines([], annotations={key: found for key, found in inp.annotations.items() if not isinstance(key, int)})
    first_rows = []
    for row, line in enumerate(inp.lines):
        first_rows.append(out.num_lines())
        if row in inp.annotations:
            out.annotations[out.num_lines()] = inp.annotations[row]
        segments = inp.font_attr_segs.get(row, [])
        if len(line) <= cols:
            out.append(line, segments)
            continue
        for left in range(0, len(line), cols):
            piece = line[left : left + cols]
            cut = [(max(start - left, 0), min(end - left, len(piece)), attribute) for start, end, attribute in segments]
            out.append(piece, [segment for segment in cut if segment[0] < segment[1]])
    return out, first_rows


# ---- commands ----


class CommandHandlerRegistry:
    """Commands by prefix and alias: functions of (arguments, screen_info=None) that return a RichTextLines or None.

    `help` and `version` are there from the start.
    """

    HELP_COMMAND = "help"
    HELP_COMMAND_ALIASES = ["h"]
    VERSION_COMMAND = "version"
    VERSION_COMMAND_ALIASES = ["ver"]

    def __init__(self) -> None:
        self._handlers: dict[str, Callable[..., Any]] = {}
        self._alias_to_prefix: dict[str, str] = {}
        self._prefix_to_aliases: dict[str, list[str]] = {}
        self._prefix_to_help: dict[str, str] = {}
        self._help_intro: RichTextLines | None = None
        self.register_command_handler(self.HELP_COMMAND, self._help_handler, "Print this help message.", self.HELP_COMMAND_ALIASES)
        self.register_command_handler(
            self.VERSION_COMMAND, self._version_handler, "Print the versions of TensorFlow and its key dependencies.", self.VERSION_COMMAND_ALIASES
        )

    def register_command_handler(
        self, prefix: str, handler: Callable[..., Any], help_info: str, prefix_aliases: list[str] | None = None
    ) -> None:
        """Registers the function behind a command.

        Raises:
          ValueError: the prefix is empty or taken, an alias is taken, `handler` cannot be called, or `help_info` is not a string.
        """
        if not prefix:
            raise ValueError("Empty command prefix")
        if prefix in self._handlers:
            raise ValueError('A handler is already registered for command prefix "%s"' % prefix)
        if not callable(handler):
            raise ValueError("handler is not callable")
        if not isinstance(help_info, str):
            raise ValueError("help_info is not a str")
        for alias in prefix_aliases or []:
            if self._resolve_prefix(alias):
                raise ValueError('The prefix alias "%s" clashes with existing prefixes or aliases.' % alias)
            self._alias_to_prefix[alias] = prefix
        if prefix_aliases:
            self._prefix_to_aliases[prefix] = prefix_aliases
        self._handlers[prefix] = handler
        self._prefix_to_help[prefix] = help_info

    def dispatch_command(self, prefix: str, argv: list[str], screen_info: dict[str, int] | None = None) -> RichTextLines | None:
        """Runs a command; where it fails, the text is its error with the traceback, or where to find help for its arguments.

        Raises:
          ValueError: the prefix is empty or not registered, or the command returned something else than text or None.
          CommandLineExit: the command leaves the interface.
        """
        if not prefix:
            raise ValueError("Prefix is empty")
        resolved = self._resolve_prefix(prefix)
        if not resolved:
            raise ValueError('No handler is registered for command prefix "%s"' % prefix)
        handler = self._handlers[resolved]
        try:
            output = handler(argv, screen_info=screen_info)
        except CommandLineExit:
            raise
        except SystemExit:  # argparse: the arguments are not what the command takes
            output = RichTextLines(["Syntax error for command: %s" % prefix, 'For help, do "help %s"' % prefix])
        except Exception as e:  # noqa: BLE001  (filters and expressions of the user may raise anything: the screen shows it)
            lines = ["Error occurred during handling of command: %s %s:" % (resolved, " ".join(argv)), "%s: %s" % (type(e), e), ""]
            output = RichTextLines(lines + traceback.format_exc().split("\n"))
        if not isinstance(output, RichTextLines) and output is not None:
            raise ValueError("Return value from command handler %s is not None or a RichTextLines instance" % handler)
        return output

    def is_registered(self, prefix: str) -> bool:
        """Whether `prefix` is a command or an alias of one."""
        return self._resolve_prefix(prefix) is not None

    def get_help(self, cmd_prefix: str | None = None) -> RichTextLines:
        """The help of a command, or the introduction and the help of all commands."""
        if cmd_prefix:
            return RichTextLines(self._get_help_for_command_prefix(cmd_prefix))
        text = RichTextLines([])
        if self._help_intro:
            text.extend(self._help_intro)
        for prefix in sorted(self._handlers):
            text.extend(RichTextLines([*self._get_help_for_command_prefix(prefix), "", ""]))
        return text

    def set_help_intro(self, help_intro: RichTextLines) -> None:
        """Sets the text that `help` shows before the commands."""
        self._help_intro = help_intro

    def _help_handler(self, args: list[str], screen_info: dict[str, int] | None = None) -> RichTextLines:
        if len(args) > 1:
            return RichTextLines(["ERROR: help takes only 0 or 1 input argument."])
        return self.get_help(*args)

    def _version_handler(self, args: list[str], screen_info: dict[str, int] | None = None) -> RichTextLines:
        return get_tensorflow_version_lines(include_dependency_versions=True)

    def _resolve_prefix(self, token: str) -> str | None:
        return token if token in self._handlers else self._alias_to_prefix.get(token)

    def _get_help_for_command_prefix(self, cmd_prefix: str) -> list[str]:
        resolved = self._resolve_prefix(cmd_prefix)
        if not resolved:
            return ['Invalid command prefix: "%s"' % cmd_prefix]
        aliases = self._prefix_to_aliases.get(resolved)
        head = [resolved, HELP_INDENT + "Aliases: " + ", ".join(aliases)] if aliases else [resolved]
        return [*head, "", *(HELP_INDENT + line for line in self._prefix_to_help[resolved].split("\n"))]


class TabCompletionRegistry:
    """What the tab key may complete: sorted words by context, which is the first word of the line, or "" for the first word itself."""

    def __init__(self) -> None:
        self._comp_dict: dict[str, list[str]] = {}

    def register_tab_comp_context(self, context_words: list[str], comp_items: list[str]) -> None:
        """Sets the words of all `context_words`. TypeError where an argument is not a list."""
        if not isinstance(context_words, list):
            raise TypeError("Incorrect type in context_list: Expected list, got %s" % type(context_words))
        if not isinstance(comp_items, list):
            raise TypeError("Incorrect type in comp_items: Expected list, got %s" % type(comp_items))
        shared = sorted(comp_items)
        for word in context_words:
            self._comp_dict[word] = shared

    def deregister_context(self, context_words: list[str]) -> None:
        """Forgets contexts. KeyError where one is not registered; then none is forgotten."""
        for word in context_words:
            if word not in self._comp_dict:
                raise KeyError('Cannot deregister unregistered context word "%s"' % word)
        for word in context_words:
            del self._comp_dict[word]

    def extend_comp_items(self, context_word: str, new_comp_items: list[str]) -> None:
        """Adds words to a context and to those registered together with it. KeyError where it is not registered."""
        items = self._items(context_word)
        items += new_comp_items
        items.sort()

    def remove_comp_items(self, context_word: str, comp_items: list[str]) -> None:
        """Removes words of a context and of those registered together with it. KeyError where it is not registered."""
        items = self._items(context_word)
        for item in comp_items:
            items.remove(item)

    def _items(self, context_word: str) -> list[str]:
        if context_word not in self._comp_dict:
            raise KeyError('Context word "%s" has not been registered' % context_word)
        return self._comp_dict[context_word]

    def get_completions(self, context_word: str, prefix: str) -> tuple[list[str] | None, str | None]:
        """The words of a context that begin with `prefix`, and what all of them begin with; (None, None) for an unknown context."""
        if context_word not in self._comp_dict:
            return None, None
        items = [item for item in self._comp_dict[context_word] if item.startswith(prefix)]
        return items, self._common_prefix(items)

    def _common_prefix(self, m: list[str]) -> str:
        return os.path.commonprefix(m)


class CommandHistory:
    """The commands of this and of earlier sessions, which a file in the home folder keeps.

    Args:
      limit: how many are kept, in the list and, when it is read, in the file.
      history_file_path: the file, `~/.tfdbg_history` if None.
    """

    _HISTORY_FILE_NAME = ".tfdbg_history"

    def __init__(self, limit: int = 100, history_file_path: str | None = None) -> None:
        self._commands: list[str] = []
        self._limit = limit
        self._history_file_path = history_file_path or self._get_default_history_file_path()
        self._load_history_from_file()

    def _load_history_from_file(self) -> None:
        if not os.path.isfile(self._history_file_path):
            return
        try:
            with open(self._history_file_path) as file:
                commands = [line.strip() for line in file if line.strip()]
            self._commands = commands[-self._limit :]
            if len(commands) > self._limit:
                with open(self._history_file_path, "w") as file:
                    file.writelines(command + "\n" for command in self._commands)
        except OSError:
            print("WARNING: writing history file failed.")

    def _add_command_to_history_file(self, command: str) -> None:
        try:
            with open(self._history_file_path, "a") as file:
                file.write(command + "\n")
        except OSError:
            pass  # as in 1.15: a home folder that cannot be written costs the history, not the session

    @classmethod
    def _get_default_history_file_path(cls) -> str:
        return os.path.join(os.path.expanduser("~"), cls._HISTORY_FILE_NAME)

    def add_command(self, command: str) -> None:
        """Adds a command that is not the same as the last one. TypeError where it is not a string."""
        if self._commands and command == self._commands[-1]:
            return
        if not isinstance(command, str):
            raise TypeError("Attempt to enter non-str entry to command history")
        self._commands = [*self._commands, command][-self._limit :]
        self._add_command_to_history_file(command)

    def most_recent_n(self, n: int) -> list[str]:
        """The last `n` commands, oldest first."""
        return self._commands[-n:]

    def lookup_prefix(self, prefix: str, n: int) -> list[str]:
        """The last `n` commands that begin with `prefix`, oldest first."""
        return [command for command in self._commands if command.startswith(prefix)][-n:]


# ---- menus ----


class MenuItem:
    """An entry of a menu, or a link in a text: `content` is the command that it runs."""

    def __init__(self, caption: str | None, content: str | None, enabled: bool = True) -> None:
        self._caption = caption
        self._content = content
        self._enabled = enabled

    @property
    def caption(self) -> Any:
        return self._caption

    @property
    def content(self) -> Any:
        return self._content

    def is_enabled(self) -> bool:
        return self._enabled

    def disable(self) -> None:
        self._enabled = False

    def enable(self) -> None:
        self._enabled = True


class Menu:
    """Entries that are shown in one line."""

    def __init__(self, name: str | None = None) -> None:
        self._name = name
        self._items: list[MenuItem] = []

    def append(self, item: MenuItem) -> None:
        self._items.append(item)

    def insert(self, index: int, item: MenuItem) -> None:
        self._items.insert(index, item)

    def num_items(self) -> int:
        return len(self._items)

    def captions(self) -> list[str]:
        return [item.caption for item in self._items]

    def caption_to_item(self, caption: str) -> MenuItem:
        """The first entry with this caption. LookupError where there is none."""
        for item in self._items:
            if item.caption == caption:
                return item
        raise LookupError('There is no menu item with the caption "%s"' % caption)

    def format_as_single_line(
        self, prefix: str | None = None, divider: str = " | ", enabled_item_attrs: object = None, disabled_item_attrs: object = None
    ) -> RichTextLines:
        """The menu as a text of one line, in which enabled entries have themselves and `enabled_item_attrs` as attributes."""
        line = RichLine(prefix or "")
        for item in self._items:
            attributes = [item, *_as_list(enabled_item_attrs)] if item.is_enabled() else _as_list(disabled_item_attrs)
            line += RichLine(item.caption, attributes)
            line += divider
        return RichTextLines(line.text, {0: line.font_attr_segs})


def _as_list(attributes: object) -> list[Any]:
    if attributes is None:
        return []
    return attributes if isinstance(attributes, list) else [attributes]
