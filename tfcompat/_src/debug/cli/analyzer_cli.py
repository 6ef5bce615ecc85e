"""The commands about the dump of a run: its tensors, nodes, their inputs and recipients, and the source lines that made them."""

from __future__ import annotations

import collections
import re
from collections.abc import Callable, Iterable
from typing import Any

from tfcompat._src.debug import debug_graphs, source_utils
from tfcompat._src.debug.cli import (
    analyzer_arguments,
    cli_shared,
    command_parser,
    debugger_cli_common,
    evaluator,
    ui_factory,
)
from tfcompat._src.debug.cli.analyzer_arguments import (
    SORT_TENSORS_BY_DUMP_SIZE,
    SORT_TENSORS_BY_OP_TYPE,
    SORT_TENSORS_BY_TENSOR_NAME,
    SORT_TENSORS_BY_TIMESTAMP,
)
from tfcompat._src.debug.cli.base_ui import BaseUI
from tfcompat._src.debug.cli.cli_config import CLIConfig
from tfcompat._src.debug.cli.debugger_cli_common import (
    MenuItem,
    RichLine,
    RichTextLines,
    rich_text_lines_from_rich_line_list,
)
from tfcompat._src.debug.cli.source_screens import source_lines, source_table
from tfcompat._src.debug.dump_dir import DebugDumpDir
from tfcompat._src.debug.dump_files import DebugTensorDatum

RL = RichLine
HANG_UNFINISHED = "|  "
HANG_FINISHED = "   "
HANG_SUFFIX = "|- "
DEPTH_TEMPLATE = "(%d) "
OP_TYPE_TEMPLATE = "[%s] "
CTRL_LABEL = "(Ctrl) "
ELLIPSIS = "..."
_COMMANDS = {
    "list_tensors": "lt",
    "node_info": "ni",
    "list_inputs": "li",
    "list_outputs": "lo",
    "print_tensor": "pt",
    "print_source": "ps",
    "list_source": "ls",
    "eval": "ev",
}
"""The commands, with their aliases."""
_OF_NODE = {
    "node_info": "node_info -a -d -t %s",
    "print_tensor": "print_tensor %s",
    "list_inputs": "list_inputs -c -r %s",
    "list_outputs": "list_outputs -c -r %s",
}
"""The entries of the menu that are about a node, with their commands."""


def _add_main_menu(output: RichTextLines, node_name: str | None = None, disabled: Iterable[str] = ()) -> RichTextLines:
    """Gives a screen the menu, with the entries about a node where one is named, and returns it."""
    menu = debugger_cli_common.Menu()
    menu.append(MenuItem("list_tensors", "list_tensors", enabled="list_tensors" not in disabled))
    for caption, command in _OF_NODE.items():
        content = command % node_name if node_name else None
        menu.append(MenuItem(caption, content, enabled=bool(node_name) and caption not in disabled))
    for caption in ("run_info", "help"):
        menu.append(MenuItem(caption, caption))
    output.annotations[debugger_cli_common.MAIN_MENU_KEY] = menu
    return output


class DebugAnalyzer:
    """The commands about a dump: each method of a command takes its arguments as a list, and returns a screen.

    Args:
      debug_dump: a DebugDumpDir.
      config: the settings.
    """

    _TIMESTAMP_COLUMN_HEAD = "t (ms)"
    _DUMP_SIZE_COLUMN_HEAD = "Size (B)"
    _OP_TYPE_COLUMN_HEAD = "Op type"
    _TENSOR_NAME_COLUMN_HEAD = "Tensor name"
    _GRAPH_STRUCT_OP_TYPE_BLACKLIST = ("_Send", "_Recv", "_HostSend", "_HostRecv", "_Retval")

    def __init__(self, debug_dump: DebugDumpDir, config: CLIConfig) -> None:
        self._debug_dump = debug_dump
        self._evaluator = evaluator.ExpressionEvaluator(debug_dump)
        self._tensor_filters: dict[str, Callable[..., bool]] = {}
        self._build_argument_parsers(config)
        config.set_callback("graph_recursion_depth", self._build_argument_parsers)

    def _build_argument_parsers(self, config: Any) -> None:
        self._arg_parsers = analyzer_arguments.analyzer_arguments(config.get("graph_recursion_depth"))

    def get_help(self, handler_name: str) -> str:
        """The help of a command."""
        return self._arg_parsers[handler_name].format_help()

    def add_tensor_filter(self, filter_name: str, filter_callable: Callable[..., bool]) -> None:
        """Adds a filter: a function of a DebugTensorDatum and its value that returns a boolean.

        Raises:
          TypeError: the name is not a string, or the filter cannot be called.
          ValueError: the name is empty.
        """
        if not isinstance(filter_name, str):
            raise TypeError("Input argument filter_name is expected to be str, but is not.")
        if not filter_name:
            raise ValueError("Input argument filter_name cannot be empty.")
        if not callable(filter_callable):
            raise TypeError("Input argument filter_callable is expected to be callable, but is not.")
        self._tensor_filters[filter_name] = filter_callable

    def get_tensor_filter(self, filter_name: str) -> Callable[..., bool]:
        """The filter of a name. ValueError where there is none."""
        if filter_name not in self._tensor_filters:
            raise ValueError('There is no tensor filter named "%s"' % filter_name)
        return self._tensor_filters[filter_name]

    # ---- tensors ----

    def list_tensors(self, args: list[str], screen_info: dict[str, int] | None = None) -> RichTextLines:
        """The command `list_tensors`: one row for each dumped tensor.

        Raises:
          ValueError: nodes are excluded from a filter, and there is no filter.
        """
        parsed = self._arg_parsers["list_tensors"].parse_args(args)
        if parsed.tensor_filter and parsed.tensor_filter not in self._tensor_filters:
            output = cli_shared.error('There is no tensor filter named "%s".' % parsed.tensor_filter)
            return _add_main_menu(output, disabled=("list_tensors",))
        if parsed.tensor_filter:
            passing = self._tensor_filters[parsed.tensor_filter]
            data = self._debug_dump.find(passing, exclude_node_names=parsed.filter_exclude_node_names)
        elif parsed.filter_exclude_node_names:
            raise ValueError("The flag --filter_exclude_node_names is valid only when the flag -f or --tensor_filter is used.")
        else:
            data = self._debug_dump.dumped_tensor_data
        widths = self._measure_tensor_list_column_widths(data)
        rows = [datum for datum in self._sort_dump_data_by(data, parsed.sort_by, parsed.reverse) if self._is_listed(datum, parsed)]
        passed = ' passing filter "%s"' % parsed.tensor_filter if parsed.tensor_filter else ""
        head = ["%d dumped tensor(s)%s:" % (len(rows), passed)]
        if parsed.op_type_filter:
            head.append('Op type regex filter: "%s"' % parsed.op_type_filter)
        if parsed.node_name_filter:
            head.append('Node name regex filter: "%s"' % parsed.node_name_filter)
        output = RichTextLines([*head, ""])
        output.extend(self._tensor_list_column_heads(parsed, *widths))
        for datum in rows:
            cells = [cell.ljust(width) for cell, width in zip(self._cells(datum), widths)]
            output.append_rich_line(RL("".join(cells)) + RL(datum.tensor_name, MenuItem("", "pt %s" % datum.tensor_name)))
        return _add_main_menu(output, disabled=("list_tensors",))

    def _is_listed(self, datum: DebugTensorDatum, parsed: Any) -> bool:
        """Whether the regular expressions for names and types match."""
        if parsed.node_name_filter and not re.match(parsed.node_name_filter, datum.node_name):
            return False
        return not parsed.op_type_filter or re.match(parsed.op_type_filter, self._debug_dump.node_op_type(datum.node_name)) is not None

    def _cells(self, datum: DebugTensorDatum) -> tuple[str, str, str]:
        """Time, size and op type as the list shows them."""
        size = cli_shared.bytes_to_readable_str(datum.dump_size_bytes)
        return "[%.3f]" % self._milliseconds(datum), size, self._debug_dump.node_op_type(datum.node_name)

    def _milliseconds(self, datum: DebugTensorDatum) -> float:
        """The time of a tensor, since the first one of the dump."""
        return (datum.timestamp - (self._debug_dump.t0 or 0)) / 1000.0

    def _measure_tensor_list_column_widths(self, data: list[DebugTensorDatum]) -> tuple[int, int, int]:
        """The widths of the columns of times, sizes and op types, for data in the order of time."""
        cells = [self._cells(datum) for datum in data]
        latest = len(cells[-1][0]) + 2 if cells else 0
        sizes = [len(size) + 1 for _, size, _ in cells]
        types = [len(op_type) + 1 for _, _, op_type in cells]
        return (
            max(latest, len(self._TIMESTAMP_COLUMN_HEAD) + 1),
            max([*sizes, len(self._DUMP_SIZE_COLUMN_HEAD) + 1]),
            max([*types, len(self._OP_TYPE_COLUMN_HEAD) + 1]),
        )

    def _sort_dump_data_by(self, data: list[DebugTensorDatum], sort_by: str, reverse: bool) -> list[DebugTensorDatum]:
        """Sorts by timestamp, dump_size, op_type or tensor_name. ValueError where `sort_by` is none of these."""
        keys: dict[str, Callable[[DebugTensorDatum], Any]] = {
            SORT_TENSORS_BY_TIMESTAMP: lambda datum: datum.timestamp,
            SORT_TENSORS_BY_DUMP_SIZE: lambda datum: datum.dump_size_bytes,
            SORT_TENSORS_BY_OP_TYPE: lambda datum: self._debug_dump.node_op_type(datum.node_name),
            SORT_TENSORS_BY_TENSOR_NAME: lambda datum: datum.tensor_name,
        }
        if sort_by not in keys:
            raise ValueError("Unsupported key to sort tensors by: %s" % sort_by)
        return sorted(data, reverse=reverse, key=keys[sort_by])

    def _tensor_list_column_heads(self, parsed: Any, time_width: int, size_width: int, type_width: int) -> RichTextLines:
        """The heads of the columns, which sort by theirs when they are clicked, and the other way round when they are clicked again."""
        command = "list_tensors"
        for option, value in (("-f", parsed.tensor_filter), ("-t", parsed.op_type_filter), ("-n", parsed.node_name_filter)):
            command += " %s %s" % (option, value) if value else ""
        line = RL()
        for head, key, width in (
            (self._TIMESTAMP_COLUMN_HEAD, SORT_TENSORS_BY_TIMESTAMP, time_width),
            (self._DUMP_SIZE_COLUMN_HEAD, SORT_TENSORS_BY_DUMP_SIZE, size_width),
            (self._OP_TYPE_COLUMN_HEAD, SORT_TENSORS_BY_OP_TYPE, type_width),
            (self._TENSOR_NAME_COLUMN_HEAD, SORT_TENSORS_BY_TENSOR_NAME, 0),
        ):
            back = " -r" if parsed.sort_by == key and not parsed.reverse else ""
            line += RL(head, [MenuItem(None, "%s -s %s%s" % (command, key, back)), "bold"])
            line += " " * (width - len(head))
        return rich_text_lines_from_rich_line_list([line])

    def print_tensor(self, args: list[str], screen_info: dict[str, int] | None = None) -> RichTextLines:
        """The command `print_tensor`: the value of a tensor, or which values there are where it was dumped more than once."""
        parsed = self._arg_parsers["print_tensor"].parse_args(args)
        tensor_name, slicing = command_parser.parse_tensor_name_with_slicing(parsed.tensor_name)
        node_name, slot = debug_graphs.parse_node_or_tensor_name(tensor_name)
        if self._debug_dump.loaded_partition_graphs() and not self._debug_dump.node_exists(node_name):
            return _add_main_menu(cli_shared.error('Node "%s" does not exist in partition graphs' % node_name))
        data = [datum for key in self._debug_dump.debug_watch_keys(node_name) for datum in self._debug_dump.watch_key_to_data(key)]
        slots = {datum.output_slot for datum in data}
        if slot is None and len(slots) != 1:
            lines = [
                'Node "%s" generated debug dumps from %s output slots:' % (node_name, len(slots)),
                "Please specify the output slot: %s:x." % node_name,
            ]
            return _add_main_menu(RichTextLines(lines), node_name, disabled=("print_tensor",))
        chosen = [datum for datum in data if slot is None or datum.output_slot == slot]
        if not chosen:
            return cli_shared.error('Tensor "%s" did not generate any dumps.' % parsed.tensor_name)
        output = self._one_of_dumps(chosen, parsed, slicing, screen_info)
        return _add_main_menu(output, node_name, disabled=("print_tensor",))

    def _one_of_dumps(
        self, data: list[DebugTensorDatum], parsed: Any, slicing: str, screen_info: dict[str, int] | None
    ) -> RichTextLines:
        """The value that `-n` names, the only one, the list of all, or an error."""
        name, number = parsed.tensor_name, parsed.number
        if len(data) == 1 and number > 0:
            return cli_shared.error("Invalid number (%d) for tensor %s, which generated one dump." % (number, name))
        if number >= len(data):
            problem = "Specified number (%d) exceeds the number of available dumps (%d) for tensor %s"
            return cli_shared.error(problem % (number, len(data), name))
        if len(data) > 1 and number < 0:
            return self._list_of_dumps(data, name)
        datum = data[max(number, 0)]
        title = datum.watch_key + (" (dump #%d)" % number if len(data) > 1 else "")
        return cli_shared.format_as_asked(datum.get_tensor(), title, screen_info, parsed, slicing)

    def _list_of_dumps(self, data: list[DebugTensorDatum], name: str) -> RichTextLines:
        lines: list[RL | str] = ['Tensor "%s" generated %d dumps:' % (name, len(data))]
        for number, datum in enumerate(data):
            link = MenuItem(None, "print_tensor %s -n %d" % (name, number))
            lines.append(RL("#%d [%.3f ms] " % (number, self._milliseconds(datum))) + RL(datum.watch_key, link))
        hint = ["", "You can use the -n (--number) flag to specify which dump to print.", "For example:", "  print_tensor %s -n 0" % name]
        return rich_text_lines_from_rich_line_list([*lines, *hint])

    def evaluate_expression(self, args: list[str], screen_info: dict[str, int] | None = None) -> RichTextLines:
        """The command `eval`: the value of an expression in which names of tensors stand between backticks."""
        parsed = self._arg_parsers["eval"].parse_args(args)
        return cli_shared.format_tensor(
            self._evaluator.evaluate(parsed.expression),
            "from eval of expression '%s'" % parsed.expression,
            cli_shared.numpy_printoptions_from_screen_info(screen_info),
            print_all=parsed.print_all,
            include_numeric_summary=True,
            write_path=parsed.write_path,
        )

    # ---- nodes ----

    def node_info(self, args: list[str], screen_info: dict[str, int] | None = None) -> RichTextLines:
        """The command `node_info`: type, device, neighbors, and if asked attributes, dumps and traceback of a node."""
        parsed = self._arg_parsers["node_info"].parse_args(args)
        node_name, _ = debug_graphs.parse_node_or_tensor_name(parsed.node_name)
        dump = self._debug_dump
        if not dump.node_exists(node_name):
            return _add_main_menu(cli_shared.error('There is no node named "%s" in the partition graphs' % node_name))
        facts = ["", "  Op: %s" % dump.node_op_type(node_name), "  Device: %s" % dump.node_device(node_name)]
        output = rich_text_lines_from_rich_line_list([RL("Node ") + RL(node_name, "bold"), *facts])
        for kind, neighbors in (("input", dump.node_inputs), ("recipient", dump.node_recipients)):
            plain = self._exclude_blacklisted_ops(neighbors(node_name))
            control = self._exclude_blacklisted_ops(neighbors(node_name, is_control=True))
            output.extend(self._format_neighbors(kind, plain, control))
        if parsed.attributes:
            output.extend(self._list_node_attributes(node_name))
        if parsed.dumps:
            output.extend(self._list_node_dumps(node_name))
        if parsed.traceback:
            output.extend(self._render_node_traceback(node_name))
        return _add_main_menu(output, node_name, disabled=("node_info",))

    def _type_of(self, element_name: str) -> str:
        return self._debug_dump.node_op_type(debug_graphs.get_node_name(element_name))

    def _exclude_blacklisted_ops(self, node_names: Iterable[str]) -> list[str]:
        """Without the nodes that only carry tensors between devices, or out of the graph."""
        return [name for name in node_names if self._type_of(name) not in self._GRAPH_STRUCT_OP_TYPE_BLACKLIST]

    def _format_neighbors(self, neighbor_type: str, non_ctrls: list[str], ctrls: list[str]) -> RichTextLines:
        """The inputs or recipients of a node: their numbers, then each with its type."""
        counts = (len(non_ctrls), neighbor_type, len(ctrls), neighbor_type)
        lines: list[RL | str] = ["", "  %d %s(s) + %d control %s(s):" % counts]
        for kind, names, gap in ((neighbor_type, non_ctrls, []), ("control " + neighbor_type, ctrls, [""])):
            if names or not gap:
                lines += [*gap, "    %d %s(s):" % (len(names), kind)]
            for name in names:
                lines.append(RL("      [%s] " % self._type_of(name)) + RL(name, MenuItem(None, "ni -a -d -t %s" % name)))
        return rich_text_lines_from_rich_line_list(lines)

    def _list_node_attributes(self, node_name: str) -> RichTextLines:
        lines = ["", "Node attributes:"]
        attributes = self._debug_dump.node_attributes(node_name)
        for name in attributes:
            lines += ["  %s:" % name, "    %s" % repr(attributes[name]).strip().replace("\n", " "), ""]
        return RichTextLines(lines)

    def _list_node_dumps(self, node_name: str) -> RichTextLines:
        dump = self._debug_dump
        data = [datum for key in dump.debug_watch_keys(node_name) for datum in dump.watch_key_to_data(key)]
        lines: list[RL | str] = ["%d dumped tensor(s):" % len(data), ""]
        counts: collections.Counter[int] = collections.Counter()
        for datum in data:
            number = counts[datum.output_slot]
            counts[datum.output_slot] += 1
            text = "Slot %d @ %s @ %.3f ms" % (datum.output_slot, datum.debug_op, self._milliseconds(datum))
            lines.append(RL("  ") + RL(text, MenuItem(None, "pt %s:%d -n %d" % (node_name, datum.output_slot, number))))
        return rich_text_lines_from_rich_line_list(lines)

    def _render_node_traceback(self, node_name: str) -> RichTextLines:
        """Where the node was made, from the outermost call inwards."""
        lines: list[RL | str] = ["", "", RL("Traceback of node construction:", "bold")]
        try:
            calls = self._debug_dump.node_traceback(node_name)
        except KeyError:
            return rich_text_lines_from_rich_line_list([*lines, "(Node unavailable in the loaded Python graph)"])
        except LookupError:
            return rich_text_lines_from_rich_line_list([*lines, "(Unavailable because no Python graph has been loaded)"])
        for depth, (path, number, function, text) in enumerate(source_utils.frames_of_program(calls)):
            link = MenuItem("", "ps %s -b %d" % (path, number)) if text else None
            lines += ["%d: %s" % (depth, path), RL("  ") + RL("Line:     %d" % number, link), "  Function: %s" % function]
            lines += ["  Text:     " + ('"%s"' % text if text else "None"), ""]
        return rich_text_lines_from_rich_line_list(lines)

    def list_inputs(self, args: list[str], screen_info: dict[str, int] | None = None) -> RichTextLines:
        """The command `list_inputs`: the tree of what a node takes."""
        return self._list_inputs_or_outputs("list_inputs", args)

    def list_outputs(self, args: list[str], screen_info: dict[str, int] | None = None) -> RichTextLines:
        """The command `list_outputs`: the tree of nodes that take what a node gives."""
        return self._list_inputs_or_outputs("list_outputs", args)

    def _list_inputs_or_outputs(self, command: str, args: list[str]) -> RichTextLines:
        parsed = self._arg_parsers[command].parse_args(args)
        node_name, _ = debug_graphs.parse_node_or_tensor_name(parsed.node_name)
        if not self._debug_dump.node_exists(node_name):
            output = cli_shared.error('There is no node named "%s" in the partition graphs' % node_name)
            return _add_main_menu(output, node_name, disabled=(command,))
        title, kind = ("Inputs to", "inputs") if command == "list_inputs" else ("Recipients of", "recipients")
        depth = parsed.depth if parsed.recursive else 1
        limits = "Depth limit = %d%s" % (depth, ", control %s included" % kind if parsed.control else "")
        lines: list[RL | str] = [RL('%s node "' % title) + RL(node_name, "bold") + '" (%s):' % limits]
        self._dfs_from_node(lines, node_name, command, depth, parsed)
        lines += ["", "Legend:", "  (d): recursion depth = d."]
        if parsed.control:
            lines.append("  (Ctrl): Control input.")
        if parsed.op_type:
            lines.append("  [Op]: Input node has op type Op.")
        return _add_main_menu(rich_text_lines_from_rich_line_list(lines), node_name, disabled=(command,))

    def _dfs_from_node(
        self, lines: list[RL | str], node_name: str, command: str, max_depth: int, parsed: Any, unfinished: tuple[bool, ...] = ()
    ) -> None:
        """Appends the tree below a node, depth first; `unfinished` says for each level above whether more of it follows."""
        neighbors = self._debug_dump.node_inputs if command == "list_inputs" else self._debug_dump.node_recipients
        found = [(name, "") for name in self._exclude_blacklisted_ops(neighbors(node_name))]
        if parsed.control:
            control = sorted(neighbors(node_name, is_control=True))
            found += [(name, CTRL_LABEL) for name in self._exclude_blacklisted_ops(control)]
        depth = len(unfinished) + 1
        if not found:
            if depth == 1:
                lines.append("  [None]")
            return
        hang = "".join(HANG_UNFINISHED if more else HANG_FINISHED for more in unfinished) + HANG_SUFFIX
        if depth > max_depth:
            lines.append(hang + ELLIPSIS)
            return
        link = "%s -c -r %%s" % _COMMANDS[command]
        for position, (name, label) in enumerate(found, 1):
            op_type = OP_TYPE_TEMPLATE % self._type_of(name) if parsed.op_type else ""
            lines.append(RL(hang + DEPTH_TEMPLATE % depth + label + op_type) + RL(name, MenuItem(None, link % name)))
            below = (*unfinished, position < len(found))
            self._dfs_from_node(lines, debug_graphs.get_node_name(name), command, max_depth, parsed, below)

    # ---- sources ----

    def print_source(self, args: list[str], screen_info: dict[str, int] | None = None) -> RichTextLines:
        """The command `print_source`: a file, with the nodes or tensors that each of its lines made.

        Raises:
          ValueError: there is no graph with tracebacks.
        """
        parsed = self._arg_parsers["print_source"].parse_args(args)
        made = source_utils.annotate_source(self._debug_dump, parsed.source_file_path, do_dumped_tensors=parsed.tensors)
        return _add_main_menu(source_lines(self._debug_dump, made, parsed))

    def list_source(self, args: list[str], screen_info: dict[str, int] | None = None) -> RichTextLines:
        """The command `list_source`: the files whose lines made nodes of the run.

        Raises:
          ValueError: there is no graph with tracebacks.
        """
        parsed = self._arg_parsers["list_source"].parse_args(args)
        files = source_utils.list_source_files_against_dump(
            self._debug_dump, path_regex_whitelist=parsed.path_filter, node_name_regex_whitelist=parsed.node_name_filter
        )
        head: list[RL | str] = [RL("List of source files that created nodes in this run", "bold")]
        if parsed.path_filter:
            head.append('File path regex filter: "%s"' % parsed.path_filter)
        if parsed.node_name_filter:
            head.append('Node name regex filter: "%s"' % parsed.node_name_filter)
        output = rich_text_lines_from_rich_line_list([*head, ""])
        if not files:
            output.append("[No source file information.]")
            return output
        for is_library in (False, True):
            output.extend(source_table([file for file in files if file[1] == is_library], is_library))
        return _add_main_menu(output)


def create_analyzer_ui(
    debug_dump: DebugDumpDir,
    tensor_filters: dict[str, Callable[..., bool]] | None = None,
    ui_type: str = "curses",
    on_ui_exit: Callable[[], Any] | None = None,
    config: CLIConfig | None = None,
) -> BaseUI:
    """A user interface with the commands about a dump.

    Args:
      debug_dump: a DebugDumpDir.
      tensor_filters: filters by name.
      ui_type: "curses" or "readline".
      on_ui_exit: a function that is called when the interface is left.
      config: the settings; those of the home folder if None.
    """
    config = config or CLIConfig()
    analyzer = DebugAnalyzer(debug_dump, config=config)
    for name, passing in (tensor_filters or {}).items():
        analyzer.add_tensor_filter(name, passing)
    cli = ui_factory.get_ui(ui_type, on_ui_exit=on_ui_exit, config=config)
    for name, alias in _COMMANDS.items():
        handler = analyzer.evaluate_expression if name == "eval" else getattr(analyzer, name)
        cli.register_command_handler(name, handler, analyzer.get_help(name), prefix_aliases=[alias])
    cli.register_tab_comp_context(["print_tensor", "pt"], list({datum.tensor_name for datum in debug_dump.dumped_tensor_data}))
    return cli
