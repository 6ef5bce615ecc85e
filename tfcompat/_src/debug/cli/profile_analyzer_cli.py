"""The commands about the times of a run: nodes in a table, and source lines with what they cost."""

from __future__ import annotations

import argparse
import math
import os
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from tfcompat._src.debug import source_utils
from tfcompat._src.debug.cli import cli_shared, ui_factory
from tfcompat._src.debug.cli.analyzer_arguments import add_text
from tfcompat._src.debug.cli.base_ui import BaseUI
from tfcompat._src.debug.cli.command_parser import CommandArguments, Interval, parse_time_interval
from tfcompat._src.debug.cli.debugger_cli_common import (
    INIT_SCROLL_POS_KEY,
    MenuItem,
    RichLine,
    RichTextLines,
    rich_text_lines_from_rich_line_list,
)
from tfcompat._src.debug.profiling import AggregateProfile, ProfileDatum
from tfcompat._src.graph.graph import Graph

if TYPE_CHECKING:
    from tfcompat._src.proto import messages

RL = RichLine
SORT_OPS_BY_OP_NAME = "node"
SORT_OPS_BY_OP_TYPE = "op_type"
SORT_OPS_BY_OP_TIME = "op_time"
SORT_OPS_BY_EXEC_TIME = "exec_time"
SORT_OPS_BY_START_TIME = "start_time"
SORT_OPS_BY_LINE = "line"
_SORTED_BY: dict[str, Callable[[ProfileDatum], Any]] = {
    SORT_OPS_BY_OP_NAME: lambda datum: datum.node_exec_stats.node_name,
    SORT_OPS_BY_OP_TYPE: lambda datum: datum.op_type,
    SORT_OPS_BY_START_TIME: lambda datum: datum.start_time,
    SORT_OPS_BY_OP_TIME: lambda datum: datum.op_time,
    SORT_OPS_BY_EXEC_TIME: lambda datum: datum.exec_time,
    SORT_OPS_BY_LINE: lambda datum: datum.file_line_func,
}
"""The columns of the table in their order, by what they are called when they are sorted by."""
_FILTERS = ("device_name_filter", "node_name_filter", "op_type_filter")
_NO_STEPS = ("_SOURCE", "_SINK")


class ProfileDataTableView:
    """The cells of the table of nodes.

    Args:
      profile_datum_list: the rows.
      time_unit: the unit of times, one of `cli_shared.TIME_UNITS`.
    """

    def __init__(self, profile_datum_list: list[ProfileDatum], time_unit: str = cli_shared.TIME_UNIT_US) -> None:
        self._profile_datum_list = profile_datum_list
        self.formatted_start_time = [datum.start_time for datum in profile_datum_list]
        self.formatted_op_time = [cli_shared.time_to_readable_str(datum.op_time, time_unit) for datum in profile_datum_list]
        self.formatted_exec_time = [cli_shared.time_to_readable_str(datum.exec_time, time_unit) for datum in profile_datum_list]
        times = ["Start Time (us)", "Op Time (%s)" % time_unit, "Exec Time (%s)" % time_unit]
        self._column_names = ["Node", "Op Type", *times, "Filename:Lineno(function)"]
        self._column_sort_ids = list(_SORTED_BY)

    def value(
        self, row: int, col: int, device_name_filter: str | None = None, node_name_filter: str | None = None, op_type_filter: str | None = None
    ) -> RichLine:
        """The text of a cell; that of the last column prints the source line, with the same filters, when it is clicked.

        Raises:
          IndexError: there is no such row or column.
        """
        datum = self._profile_datum_list[row]
        if col == 5:
            command = "ps" + _options(device_name_filter, node_name_filter, op_type_filter)
            command += " %s --init_line %d" % (datum.file_path, datum.line_number)
            return RL(datum.file_line_func, MenuItem(None, command))
        texts = (datum.node_exec_stats.node_name, datum.op_type, self.formatted_start_time, self.formatted_op_time, self.formatted_exec_time)
        if not 0 <= col < len(texts):
            raise IndexError("Invalid column index %d." % col)
        text = texts[col]
        return RL(str(text if col < 2 else text[row]))

    def row_count(self) -> int:
        return len(self._profile_datum_list)

    def column_count(self) -> int:
        return len(self._column_names)

    def column_names(self) -> list[str]:
        return self._column_names

    def column_sort_id(self, col: int) -> str:
        return self._column_sort_ids[col]


def _options(*values: str | None) -> str:
    """The filters of device, node and type as options of a command, without those that are not set."""
    return "".join(" --%s %s" % (name, value) for name, value in zip(_FILTERS, values) if value)


def _list_profile_filter(
    profile_datum: ProfileDatum,
    node_name_regex: re.Pattern[str] | None,
    file_path_regex: re.Pattern[str] | None,
    op_type_regex: re.Pattern[str] | None,
    op_time_interval: Interval | None,
    exec_time_interval: Interval | None,
    min_lineno: int = -1,
    max_lineno: int = -1,
) -> bool:
    """Whether an execution passes: each condition that is None, and bounds of lines that are not positive, let everything pass."""
    line = profile_datum.line_number
    if node_name_regex and not node_name_regex.match(profile_datum.node_exec_stats.node_name):
        return False
    if file_path_regex and not (profile_datum.file_path and file_path_regex.match(profile_datum.file_path)):
        return False
    if line and (0 < line < min_lineno or 0 < max_lineno <= line):
        return False
    if profile_datum.op_type is not None and op_type_regex and not op_type_regex.match(profile_datum.op_type):
        return False
    if op_time_interval and not op_time_interval.contains(profile_datum.op_time):
        return False
    return not exec_time_interval or exec_time_interval.contains(profile_datum.exec_time)


def _list_profile_sort_key(profile_datum: ProfileDatum, sort_by: str) -> Any:
    """What the table is sorted by; the time of the start for an unknown name."""
    return _SORTED_BY.get(sort_by, _SORTED_BY[SORT_OPS_BY_START_TIME])(profile_datum)


def _list_arguments() -> argparse.ArgumentParser:
    arguments = CommandArguments("List nodes profile information.")
    add_text(arguments, "-d", "--device_name_filter", help="filter device name by regex.")
    add_text(arguments, "-n", "--node_name_filter", help="filter node name by regex.")
    add_text(arguments, "-t", "--op_type_filter", help="filter op type by regex.")
    path = "filter by file name at the top position of node's creation stack that does not belong to TensorFlow library."
    add_text(arguments, "-f", "--file_path_filter", help=path)
    for name, bound in (("--min_lineno", "(Inclusive) lower"), ("--max_lineno", "(Exclusive) upper")):
        text = "%s bound for 1-based line number in source file. If <= 0, has no effect." % bound
        arguments.add_argument(name, type=int, default=-1, help=text)
    units = "Supported units are s, ms and us (default). E.g. -e >100s, -e <100, -e [100us,1000ms]"
    execution = "Filter by execution time interval (includes compute plus pre- and post -processing time). "
    add_text(arguments, "-e", "--execution_time", help=execution + units)
    add_text(arguments, "-o", "--op_time", help="Filter by op time interval (only includes compute time). " + units)
    by = "the field to sort the data by: (%s)" % " | ".join(_SORTED_BY)
    arguments.add_argument("-s", "--sort_by", default=SORT_OPS_BY_START_TIME, help=by)
    arguments.add_argument("-r", "--reverse", action="store_true", help="sort the data in reverse (descending) order")
    _add_time_unit(arguments)
    return arguments


def _source_arguments() -> argparse.ArgumentParser:
    arguments = CommandArguments("Print a Python source file with line-level profile information")
    add = arguments.add_argument
    add("source_file_path", help="Path to the source_file_path")
    add("--cost_type", choices=["exec_time", "op_time"], default="exec_time", help="Type of cost to display")
    _add_time_unit(arguments)
    add_text(arguments, "-d", "--device_name_filter", help="Filter device name by regex.")
    add_text(arguments, "-n", "--node_name_filter", help="Filter node name by regex.")
    add_text(arguments, "-t", "--op_type_filter", help="Filter op type by regex.")
    add("--init_line", type=int, default=0, help="The 1-based line number to scroll to initially.")
    return arguments


def _add_time_unit(arguments: argparse.ArgumentParser) -> None:
    units = "Time unit (%s)" % " | ".join(cli_shared.TIME_UNITS)
    arguments.add_argument("--time_unit", default=cli_shared.TIME_UNIT_US, help=units)


def _pattern(text: str) -> re.Pattern[str] | None:
    return re.compile(text) if text else None


class ProfileAnalyzer:
    """The commands about the times of a run: each method of a command takes its arguments as a list, and returns a screen.

    Args:
      graph: the graph, which knows where nodes were made.
      run_metadata: the message RunMetadata of the run.

    Raises:
      ValueError: there is no `run_metadata`.
    """

    _LINE_COST_ATTR = cli_shared.COLOR_CYAN
    _LINE_NUM_ATTR = cli_shared.COLOR_YELLOW
    _NUM_NODES_HEAD = "#nodes"
    _NUM_EXECS_SUB_HEAD = "(#execs)"
    _LINENO_HEAD = "lineno"
    _SOURCE_HEAD = "source"
    _BAR_LENGTH = 10

    def __init__(self, graph: Graph, run_metadata: messages.RunMetadata) -> None:
        if not run_metadata:
            raise ValueError("No RunMetadata passed for profile analysis.")
        self._graph = graph
        self._run_metadata = run_metadata
        self._arg_parsers = {"list_profile": _list_arguments(), "print_source": _source_arguments()}

    def get_help(self, handler_name: str) -> str:
        """The help of a command."""
        return self._arg_parsers[handler_name].format_help()

    def _get_profile_data_generator(self) -> Callable[[Any], Iterator[ProfileDatum]]:
        """A function that gives the executions in a message DeviceStepStats, each with the user's line that made the node."""
        made = {op.name: (_line_of_user(op.traceback), op.type) for op in self._graph.get_operations()}

        def executions(device: Any) -> Iterator[ProfileDatum]:
            for stats in device.node_stats:
                if stats.node_name not in _NO_STEPS:
                    (path, line, function), op_type = made.get(stats.node_name, (("", 0, ""), ""))
                    yield ProfileDatum(device.device, stats, path, line, function, op_type)

        return executions

    def _devices(self, pattern: str) -> list[tuple[int, Any]]:
        """The devices whose names match, with their positions."""
        wanted = _pattern(pattern)
        devices = enumerate(self._run_metadata.step_stats.dev_stats)
        return [(index, device) for index, device in devices if not wanted or wanted.match(device.device)]

    # ---- the table of nodes ----

    def list_profile(self, args: list[str], screen_info: dict[str, int] | None = None) -> RichTextLines:
        """The command `list_profile`: a table for each device, one row for each execution of a node."""
        parsed = self._arg_parsers["list_profile"].parse_args(args)
        op_time = parse_time_interval(parsed.op_time) if parsed.op_time else None
        exec_time = parse_time_interval(parsed.execution_time) if parsed.execution_time else None
        patterns = [_pattern(text) for text in (parsed.node_name_filter, parsed.file_path_filter, parsed.op_type_filter)]
        executions, output = self._get_profile_data_generator(), RichTextLines([""])
        for index, device in self._devices(parsed.device_name_filter):
            rows = [
                datum
                for datum in executions(device)
                if _list_profile_filter(datum, *patterns, op_time, exec_time, parsed.min_lineno, parsed.max_lineno)
            ]
            rows.sort(key=lambda datum: _list_profile_sort_key(datum, parsed.sort_by), reverse=parsed.reverse)
            output.extend(self._device_table(device.device, index, rows, parsed, (screen_info or {}).get("cols", 80)))
        return output

    def _device_table(self, device_name: str, index: int, rows: list[ProfileDatum], parsed: Any, screen_cols: int) -> RichTextLines:
        table = ProfileDataTableView(rows, time_unit=parsed.time_unit)
        filters = [getattr(parsed, name) for name in _FILTERS]
        cells = [[table.value(row, col, *filters) for col in range(table.column_count())] for row in range(table.row_count())]
        sums = (sum(datum.op_time for datum in rows), sum(datum.exec_time for datum in rows))
        totals = ["Device Total", "", *(cli_shared.time_to_readable_str(time, parsed.time_unit) for time in sums)]
        widths = [max(map(len, column)) + 2 for column in zip(table.column_names(), [*totals, "", ""], *cells)]
        lines = [RL("-" * screen_cols)]
        lines += [RL("Device %d of %d: %s" % (index + 1, len(self._run_metadata.step_stats.dev_stats), device_name)), RL()]
        head = RL()
        for col, (name, width) in enumerate(zip(table.column_names(), widths)):
            key = table.column_sort_id(col)
            back = " -r" if parsed.sort_by == key and not parsed.reverse else ""
            head += RL(name, [MenuItem(None, "list_profile -s %s%s" % (key, back)), "bold"]) + " " * (width - len(name))
        lines.append(head)
        for row in cells:
            line = RL()
            for cell, width in zip(row, widths):
                line += cell + " " * (width - len(cell))
            lines.append(line)
        lines += [RL(), RL("".join(text.ljust(width) for text, width in zip(totals, widths)))]
        return rich_text_lines_from_rich_line_list(lines)

    # ---- source lines ----

    def print_source(self, args: list[str], screen_info: dict[str, int] | None = None) -> RichTextLines:
        """The command `print_source`: a file, with the times of what each of its lines made."""
        parsed = self._arg_parsers["print_source"].parse_args(args)
        executions = self._get_profile_data_generator()
        data = [datum for _, device in self._devices(parsed.device_name_filter) for datum in executions(device)]
        costs = source_utils.annotate_source_against_profile(
            data, os.path.expanduser(parsed.source_file_path), parsed.node_name_filter, parsed.op_type_filter
        )
        if not costs:
            problem = "The source file %s does not contain any profile information for the previous Session run under the following filters:"
            return RichTextLines([problem % parsed.source_file_path, *("  --%s: %s" % (name, getattr(parsed, name)) for name in _FILTERS)])
        source, number_width = source_utils.load_source(os.path.expanduser(parsed.source_file_path))
        widths = (self._BAR_LENGTH + 3, len(parsed.cost_type) + 3, len(self._NUM_EXECS_SUB_HEAD) + 1)
        lines = self._source_heads(parsed.cost_type, widths, number_width)
        highest = max(self._get_total_cost(cost, parsed.cost_type) for cost in costs.values())
        annotations = {}
        for number, text in enumerate(source, 1):
            cost = costs.get(number)
            line = self._cost_of_line(cost, number, highest, parsed, widths) if cost else RL(" " * sum(widths))
            line += RL(" L%d" % number, self._LINE_NUM_ATTR)
            line += " " * (sum(widths) + number_width - len(line)) + text
            lines.append(line)
            if number == parsed.init_line:
                annotations[INIT_SCROLL_POS_KEY] = len(lines) - 1
        return rich_text_lines_from_rich_line_list(lines, annotations=annotations)

    def _source_heads(self, cost_type: str, widths: tuple[int, int, int], number_width: int) -> list[RichLine]:
        bar, cost, nodes = widths
        head = RL(" " * bar + cost_type.ljust(cost) + self._NUM_NODES_HEAD.ljust(nodes), self._LINE_COST_ATTR)
        sub_head = RL(" " * (bar + cost) + self._NUM_EXECS_SUB_HEAD.ljust(nodes) + " " * number_width, self._LINE_COST_ATTR)
        return [head + RL(self._LINENO_HEAD, self._LINE_NUM_ATTR), sub_head + RL(self._SOURCE_HEAD, "bold")]

    def _cost_of_line(self, profile: AggregateProfile, number: int, highest: int, parsed: Any, widths: tuple[int, int, int]) -> RichLine:
        """The bar, the time and the numbers of nodes and executions of a line; the numbers list these nodes when they are clicked."""
        cost = self._get_total_cost(profile, parsed.cost_type)
        command = "lp --file_path_filter %s$ --min_lineno %d --max_lineno %d" % (re.escape(parsed.source_file_path), number, number + 1)
        link = MenuItem(None, command + _options(*(getattr(parsed, name) for name in _FILTERS)))
        line = RL()
        for cell, width in zip(
            (
                self._render_normalized_cost_bar(cost, highest, self._BAR_LENGTH),
                RL(cli_shared.time_to_readable_str(cost, parsed.time_unit), self._LINE_COST_ATTR),
                RL("%d(%d)" % (profile.node_count, profile.node_exec_count), [self._LINE_COST_ATTR, link]),
            ),
            widths,
        ):
            line += cell + " " * (width - len(cell))
        return line

    def _get_total_cost(self, aggregated_profile: AggregateProfile, cost_type: str) -> int:
        """The microseconds of a kind. ValueError where this is neither exec_time nor op_time."""
        if cost_type not in ("exec_time", "op_time"):
            raise ValueError("Unsupported cost type: %s" % cost_type)
        return aggregated_profile.total_exec_time if cost_type == "exec_time" else aggregated_profile.total_op_time

    def _render_normalized_cost_bar(self, cost: float, max_cost: float, length: int) -> RichLine:
        """A bar whose ticks, at least one, are to `length` as a cost is to the highest."""
        ticks = max(math.ceil(cost / max_cost * length), 1) if max_cost else 1
        color = self._LINE_COST_ATTR
        return RL("[", color) + RL("|" * ticks + " " * (length - ticks), ["bold", color]) + RL("]", color)


def _line_of_user(traceback: Any) -> tuple[str, int, str]:
    """The file, line and function of the innermost call that is not this library's, or of the outermost one."""
    for path, line, function, *_ in reversed(traceback):
        is_file = path.endswith(source_utils.UNCOMPILED_SOURCE_SUFFIXES)  # the cell of a notebook is none, and the user's
        if not is_file or not source_utils.guess_is_tensorflow_py_library(path):
            return path, line, function
    return tuple(traceback[0][:3]) if traceback else ("", 0, "")


def create_profiler_ui(
    graph: Graph, run_metadata: messages.RunMetadata, ui_type: str = "curses", on_ui_exit: Callable[[], Any] | None = None, config: object = None
) -> BaseUI:
    """A user interface with the commands about the times of a run.

    Args:
      graph: the graph, which knows where nodes were made.
      run_metadata: the message RunMetadata of the run.
      ui_type: "curses" or "readline".
      on_ui_exit: a function that is called when the interface is left.
      config: the settings; those of the home folder if None.
    """
    analyzer = ProfileAnalyzer(graph, run_metadata)
    cli = ui_factory.get_ui(ui_type, on_ui_exit=on_ui_exit, config=config)
    for name, handler, alias in (("list_profile", analyzer.list_profile, "lp"), ("print_source", analyzer.print_source, "ps")):
        cli.register_command_handler(name, handler, analyzer.get_help(name), prefix_aliases=[alias])
    return cli
