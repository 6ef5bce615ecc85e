"""What several screens of the debugger share: sizes and times as text, tensors, errors, and the introductions to a run."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from tfcompat._src.debug import common
from tfcompat._src.debug.cli import command_parser, tensor_format
from tfcompat._src.debug.cli.debugger_cli_common import (
    MAIN_MENU_KEY,
    Menu,
    MenuItem,
    RichLine,
    RichTextLines,
    rich_text_lines_from_rich_line_list,
)
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.platform import file_io
from tfcompat._src.variables.variable import Variable

RL = RichLine
DEFAULT_NDARRAY_DISPLAY_THRESHOLD = 2000
"""The number of elements above which a tensor is shown with ellipses."""
COLOR_BLACK = "black"
COLOR_BLUE = "blue"
COLOR_CYAN = "cyan"
COLOR_GRAY = "gray"
COLOR_GREEN = "green"
COLOR_MAGENTA = "magenta"
COLOR_RED = "red"
COLOR_WHITE = "white"
COLOR_YELLOW = "yellow"
TIME_UNIT_US = "us"
TIME_UNIT_MS = "ms"
TIME_UNIT_S = "s"
TIME_UNITS = [TIME_UNIT_US, TIME_UNIT_MS, TIME_UNIT_S]
_BAR = "=" * 38
_THIN_BAR = "-" * 38
_LOGO = (
    "",
    "TTTTTT FFFF DDD  BBBB   GGG ",
    "  TT   F    D  D B   B G    ",
    "  TT   FFF  D  D BBBB  G  GG",
    "  TT   F    D  D B   B G   G",
    "  TT   F    DDD  BBBB   GGG ",
    "",
)
_COMMANDS = (
    ("run", "Execute the run() call with debug tensor-watching", True),
    ("run -n", "Execute the run() call without debug tensor-watching", True),
    (
        "run -t <T>",
        "Execute run() calls (T - 1) times without debugging, then execute run() once more with debugging and drop back to the CLI",
        False,
    ),
    (
        "run -f <filter_name>",
        "Keep executing run() calls until a dumped tensor passes a given, registered filter (conditional breakpoint mode)",
        False,
    ),
)
"""The commands that the introduction to a run recommends: the command, what it does, and whether it can be clicked."""


# ---- sizes and times ----


def bytes_to_readable_str(num_bytes: int | None, include_b: bool = False) -> str:
    """A number of bytes with a unit: "1.50k", or "1.50kB" with `include_b`."""
    if num_bytes is None:
        return str(num_bytes)
    value, unit = float(num_bytes), ""
    for unit in ("", "k", "M", "G"):
        if value < 1024 or unit == "G":
            break
        value /= 1024
    number = "%.2f" % value if unit else "%d" % value
    return number + unit + ("B" if include_b else "")


def time_to_readable_str(value_us: float | None, force_time_unit: str | None = None) -> str:
    """A time with its unit.

    Args:
      value_us: microseconds.
      force_time_unit: one of TIME_UNITS; if None, the largest in which the value is at least 1.

    Raises:
      ValueError: the unit is none of these.
    """
    if not value_us:
        return "0"
    if force_time_unit:
        if force_time_unit not in TIME_UNITS:
            raise ValueError("Invalid time unit: %s" % force_time_unit)
        return f"{value_us / 1000.0 ** TIME_UNITS.index(force_time_unit):.10g}{force_time_unit}"
    order = min(len(TIME_UNITS) - 1, int(math.log(value_us, 10) / 3))
    return f"{value_us / 1000.0**order:.3g}{TIME_UNITS[order]}"


# ---- tensors ----


def parse_ranges_highlight(ranges_string: str | None) -> tensor_format.HighlightOptions | None:
    """Highlights the elements in the ranges of a text such as "[-0.1, 0.1]"; None where it is empty. ValueError where it has no ranges."""
    if not ranges_string:
        return None
    ranges = command_parser.parse_ranges(ranges_string)

    def in_a_range(array: np.ndarray) -> np.ndarray:
        inside = np.zeros(array.shape, dtype=bool)
        for low, high in ranges:
            inside |= (array >= low) & (array <= high)
        return inside

    return tensor_format.HighlightOptions(in_a_range, description=ranges_string)


def numpy_printoptions_from_screen_info(screen_info: dict[str, int] | None) -> dict[str, Any]:
    """Has NumPy break lines at the width of the screen, where it is known."""
    return {"linewidth": screen_info["cols"]} if screen_info and "cols" in screen_info else {}


def format_tensor(
    tensor: Any,
    tensor_name: str,
    np_printoptions: dict[str, Any],
    print_all: bool = False,
    tensor_slicing: str | None = None,
    highlight_options: tensor_format.HighlightOptions | None = None,
    include_numeric_summary: bool = False,
    write_path: str | None = None,
) -> RichTextLines:
    """The screen of a tensor, or of a part of it.

    Args:
      tensor: its value.
      tensor_name: its name on the screen.
      np_printoptions: arguments of `np.printoptions`.
      print_all: whether to show all elements, however many these are.
      tensor_slicing: which part, as in "[:, 1]".
      highlight_options: which elements are highlighted.
      include_numeric_summary: whether a table of counts and moments is shown.
      write_path: where to save the part, as `np.save` does.

    Raises:
      ValueError: `tensor_slicing` is no slicing.
    """
    value = command_parser.evaluate_tensor_slice(tensor, tensor_slicing) if tensor_slicing else tensor
    saved = None
    if write_path:
        with file_io.FileIO(write_path, "wb") as file:
            np.save(file, value)
        size = bytes_to_readable_str(file_io.stat(write_path).length)
        saved = rich_text_lines_from_rich_line_list([RL("Saved value to: ") + RL(write_path, "bold") + " (%sB)" % size, ""])
    return tensor_format.format_tensor(
        value,
        tensor_name + (tensor_slicing or ""),
        include_metadata=True,
        include_numeric_summary=include_numeric_summary,
        auxiliary_message=saved,
        np_printoptions={**np_printoptions, "threshold": np.size(value) if print_all else DEFAULT_NDARRAY_DISPLAY_THRESHOLD},
        highlight_options=highlight_options,
    )


def format_as_asked(value: Any, title: str, screen_info: dict[str, Any] | None, parsed: Any, slicing: str | None) -> RichTextLines:
    """The screen of a value as the arguments of print_tensor and print_feed, `parsed`, ask for it."""
    return format_tensor(
        value, title, numpy_printoptions_from_screen_info(screen_info), print_all=parsed.print_all, tensor_slicing=slicing,
        highlight_options=parse_ranges_highlight(parsed.ranges), include_numeric_summary=parsed.numeric_summary, write_path=parsed.write_path,
    )  # fmt: skip


# ---- introductions ----


def error(msg: str) -> RichTextLines:
    """The screen of an error."""
    return rich_text_lines_from_rich_line_list([RL("ERROR: " + msg, COLOR_RED)])


def _recommend_command(command: str, description: str, indent: int = 2, create_link: bool = False) -> RichTextLines:
    """Two lines: a command, which may be clicked, and what it does."""
    attributes = [MenuItem("", command), "bold"] if create_link else "bold"
    space = " " * indent
    return rich_text_lines_from_rich_line_list([RL(space) + RL(command, attributes) + ":", space + "  " + description])


def get_tfdbg_logo() -> RichTextLines:
    """The debugger's name in large letters."""
    return RichTextLines(list(_LOGO))


def get_run_start_intro(
    run_call_count: int, fetches: object, feed_dict: object, tensor_filters: Iterable[str], is_callable_runner: bool = False
) -> RichTextLines:
    """The screen before a run: its fetches and feeds, and how to go on.

    Args:
      run_call_count: the number of the run, from 1.
      fetches: what is fetched.
      feed_dict: what is fed, or None.
      tensor_filters: the filters that `run -f` takes, by name.
      is_callable_runner: whether the run is a call of what `Session.make_callable` returned.
    """
    text = RichTextLines(_BAR)
    if is_callable_runner:
        text.append("Running a runner returned by Session.make_callable()")
    else:
        lines = ["Session.run() call #%d:" % run_call_count, "", "Fetch(es):"]
        lines += ["  " + name for name in common.get_flattened_names(fetches)]
        text.extend(RichTextLines([*lines, "", "Feed dict:"]))
        text.extend(_feeds(feed_dict))
    text.extend(RichTextLines([_BAR, "", "Select one of the following commands to proceed ---->"]))
    for command, description, can_be_clicked in _COMMANDS:
        text.extend(_recommend_command(command, description, create_link=can_be_clicked))
    text.append("    Registered filter(s):")
    for name in tensor_filters or ():
        text.append_rich_line(RL("        * ") + RL(name, MenuItem("", "run -f %s" % name)))
    if not tensor_filters:
        text.append("        (None)")
    text.append("")
    text.append_rich_line(RL("For more details, see ") + RL("help.", MenuItem("", "help")) + ".")
    text.append("")
    menu = Menu()
    menu.append(MenuItem("run", "run"))
    menu.append(MenuItem("exit", "exit"))
    text.annotations[MAIN_MENU_KEY] = menu
    return text


def _feeds(feed_dict: Any) -> RichTextLines:
    """The names of what is fed, as links that print it; quoted, as those of sparse tensors have spaces."""
    names = [common.get_graph_element_name(key) for key in feed_dict or ()]
    links = [RL("  ") + RL(name, MenuItem(None, "pf '%s'" % name)) for name in names]
    return rich_text_lines_from_rich_line_list(links or ["  (Empty)"])


def get_run_short_description(run_call_count: int, fetches: object, feed_dict: Any, is_callable_runner: bool = False) -> str:
    """The run in a line: "run #1: 2 fetches; 1 feed (x:0)"."""
    if is_callable_runner:
        return "runner from make_callable()"
    names = common.get_flattened_names(fetches)
    if isinstance(fetches, Tensor | Operation | Variable):
        fetched = "1 fetch (%s)" % names[0]
    else:
        fetched = "%d fetch%s" % (len(names), "es" if len(names) > 1 else "")
    feeds = list(feed_dict or ())
    if len(feeds) == 1:
        fed = "1 feed (%s)" % (feeds[0] if isinstance(feeds[0], str) else getattr(feeds[0], "name", feeds[0]))
    else:
        fed = "%d feeds" % len(feeds)
    return "run #%d: %s; %s" % (run_call_count, fetched, fed)


def get_error_intro(tf_error: object) -> RichTextLines:
    """The screen after a run that failed: the error, and commands about the operation that failed."""
    op_name = getattr(getattr(tf_error, "op", None), "name", None)
    text = rich_text_lines_from_rich_line_list([_THIN_BAR, RL("!!! An error occurred during the run !!!", "blink"), ""])
    if op_name is None:
        text.append("WARNING: Cannot determine the name of the op that caused the error.")
    else:
        text.append("You may use the following commands to debug:")
        for command, description in (
            ("ni -a -d -t %s" % op_name, "Inspect information about the failing op."),
            ("li -r %s" % op_name, "List inputs to the failing op, recursively."),
            ("lt", "List all tensors dumped during the failing run() call."),
        ):
            text.extend(_recommend_command(command, description, create_link=True))
    details = ["", "Op name:    %s" % op_name, "Error type: %s" % type(tf_error), "", "Details:", str(tf_error), "", _THIN_BAR, ""]
    text.extend(RichTextLines(details))
    return text
