"""The debugger on the command line: a session that stops before and after runs, and a hook that does."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from typing import Any, NoReturn

from tfcompat._src.debug import common, framework
from tfcompat._src.debug.cli import analyzer_cli, cli_shared, command_parser, profile_analyzer_cli, ui_factory
from tfcompat._src.debug.cli.analyzer_arguments import add_text
from tfcompat._src.debug.cli.base_ui import BaseUI
from tfcompat._src.debug.cli.cli_config import CLIConfig
from tfcompat._src.debug.cli.debugger_cli_common import (
    END_OF_INPUT,
    EXPLICIT_USER_EXIT,
    MAIN_MENU_KEY,
    CommandLineExit,
    MenuItem,
    RichTextLines,
    get_tensorflow_version_lines,
)
from tfcompat._src.debug.dump_dir import DebugDumpDir
from tfcompat._src.debug.dump_files import has_inf_or_nan
from tfcompat._src.proto import messages
from tfcompat._src.runtime.debugging.debug_watches import IF_NOT_FINITE
from tfcompat._src.train.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues

_DUMP_ROOT_PREFIX = "tfdbg_"
_WATCHED = (
    ("node names", "--node_name_filter", "loss, reshape.*"),
    ("op type", "--op_type_filter", "(MatMul|Add), Variable.*"),
    ("tensor dtype", "--tensor_dtype_filter", "(float32|float64), int.*"),
)
"""What a run may be told to watch, the option, and an example."""


class LocalCLIDebugWrapperSession(framework.BaseDebugWrapperSession):
    """A session whose runs the user starts and looks at on the command line.

    Args:
      sess: the session.
      dump_root: a folder, absent or empty, that has the dump of a run while this is looked at; a temporary one if None.
      log_usage: taken and without effect: nothing is logged.
      ui_type: "curses" or "readline"; the second where there is no terminal.
      thread_name_filter: a regular expression; runs in threads whose names do not match go on without stopping.
      config_file_path: the file of settings; `~/.tfdbg_config` if false.

    Raises:
      ValueError: `dump_root` is a file, or a folder that is not empty.
    """

    def __init__(
        self,
        sess: object,
        dump_root: str | None = None,
        log_usage: bool = True,
        ui_type: str = "curses",
        thread_name_filter: str | None = None,
        config_file_path: str | bool | None = False,
    ) -> None:
        super().__init__(sess, thread_name_filter=thread_name_filter)
        self._dump_root = _dump_root_of(dump_root)
        self._initialize_argparsers()
        self._tensor_filters: dict[str, Callable[..., bool]] = {}
        self.add_tensor_filter("has_inf_or_nan", has_inf_or_nan)
        self._active_tensor_filter: str | None = None
        self._active_filter_exclude_node_names: str | None = None
        self._active_tensor_filter_run_start_response: Any = None
        self._run_through_times = 1
        self._skip_debug = False
        self._run_start_response: Any = None
        self._is_run_start = True
        self._ui_type = ui_type
        self._config = CLIConfig(config_file_path=str(config_file_path)) if config_file_path else None

    def _is_disk_usage_reset_each_run(self) -> bool:
        """Each run may fill the limit: its dump is removed when it has been looked at."""
        return True

    def _initialize_argparsers(self) -> None:
        self._argparsers: dict[str, argparse.ArgumentParser] = {
            "run": _run_arguments(),
            "run_info": command_parser.CommandArguments("Display information about this Session.run() call."),
            "print_feed": command_parser.get_print_tensor_argparser("Print the value of a feed in feed_dict."),
        }

    def add_tensor_filter(self, filter_name: str, tensor_filter: Callable[..., bool]) -> None:
        """Adds a filter that `run -f` and `lt -f` take: a function of a DebugTensorDatum and its value that returns a boolean."""
        self._tensor_filters[filter_name] = tensor_filter

    # ---- before a run ----

    def on_session_init(self, request: framework.OnSessionInitRequest) -> framework.OnSessionInitResponse:
        """Goes on."""
        return framework.OnSessionInitResponse(framework.OnSessionInitAction.PROCEED)

    def on_run_start(self, request: framework.OnRunStartRequest) -> framework.OnRunStartResponse:
        """How the run is executed: as an earlier command has said for this one, too, or as the user says now."""
        response = self._how_to_run(request)
        waits = self._active_tensor_filter is not None and self._tensor_filters[self._active_tensor_filter] is has_inf_or_nan
        for url in self._get_run_debug_urls():
            IF_NOT_FINITE.pop(url, None)
            if waits:
                IF_NOT_FINITE[url] = self._active_filter_exclude_node_names
        return response

    def _how_to_run(self, request: framework.OnRunStartRequest) -> framework.OnRunStartResponse:
        self._is_run_start = True
        self._update_run_calls_state(request.run_call_count, request.fetches, request.feed_dict, request.is_callable_runner)
        if self._active_tensor_filter:
            return self._active_tensor_filter_run_start_response  # type: ignore[no-any-return]
        self._exit_if_requested_by_user()
        if self._run_call_count > 1 and not self._skip_debug:
            if self._run_through_times > 0:
                return framework.OnRunStartResponse(framework.OnRunStartAction.NON_DEBUG_RUN, [])
            if self._run_through_times == 0:
                return self._run_start_response or self._debug_response()
        if self._run_start_response is None:
            self._prep_cli_for_run_start()
            self._run_start_response = self._launch_cli()
            if self._active_tensor_filter:
                self._active_tensor_filter_run_start_response = self._run_start_response
            if self._run_through_times > 1:
                self._run_through_times -= 1
        self._exit_if_requested_by_user()
        return self._run_start_response  # type: ignore[no-any-return]

    def _debug_response(self) -> framework.OnRunStartResponse:
        return framework.OnRunStartResponse(framework.OnRunStartAction.DEBUG_RUN, self._get_run_debug_urls())

    def _exit_if_requested_by_user(self) -> None:
        """Ends the program where the user has left the interface (status 1), or the input has ended (status 0)."""
        if self._run_start_response == EXPLICIT_USER_EXIT:
            print("Note: user exited from debugger CLI: Calling sys.exit(1).", file=sys.stderr)
            sys.exit(1)
        if self._run_start_response == END_OF_INPUT:
            print("Note: the input of the debugger CLI has ended: Calling sys.exit(0).", file=sys.stderr)
            sys.exit(0)

    def _prep_cli_for_run_start(self) -> None:
        """Makes the interface that is shown before a run."""
        self._run_cli = ui_factory.get_ui(self._ui_type, config=self._config)
        intro = self._first_intro()
        intro.extend(RichTextLines("Upcoming run:"))
        intro.extend(self._run_info)
        self._run_cli.set_help_intro(intro)
        self._title = "run-start: " + self._run_description
        self._init_command = "run_info"
        self._title_color = "blue_on_white"

    def _first_intro(self) -> RichTextLines:
        """The logo and the version, in the first run."""
        text = RichTextLines([])
        if self._run_call_count == 1:
            text.extend(cli_shared.get_tfdbg_logo())
            text.extend(get_tensorflow_version_lines())
        return text

    # ---- after a run ----

    def on_run_end(self, request: framework.OnRunEndRequest) -> framework.OnRunEndResponse:
        """Shows the dump or the times of the run, unless the run was not watched, or no tensor passes the filter that is waited for.

        Raises:
          OpError: the run failed before anything was dumped.
        """
        self._is_run_start = False
        if request.performed_action == framework.OnRunStartAction.DEBUG_RUN:
            self._show_dump(request)
        elif request.performed_action == framework.OnRunStartAction.PROFILE_RUN:
            self._prep_profile_cli_for_run_end(self._sess.graph, request.run_metadata)
            self._run_start_response = self._launch_cli()
        else:
            self._run_start_response = None
        return framework.OnRunEndResponse()

    def _show_dump(self, request: framework.OnRunEndRequest) -> None:
        if request.tf_error and not os.path.isdir(self._dump_root):
            raise request.tf_error
        passed, excluded = self._active_tensor_filter, self._active_filter_exclude_node_names
        if passed and not (os.path.isdir(self._dump_root) and os.listdir(self._dump_root)):
            return
        graphs = request.run_metadata.partition_graphs if request.run_metadata else None
        if not graphs and request.client_graph_def:
            graphs = [request.client_graph_def]
        dump = DebugDumpDir(self._dump_root, partition_graphs=graphs)
        dump.set_python_graph(self._sess.graph)
        if passed:
            if not dump.find(self._tensor_filters[passed], first_n=1, exclude_node_names=excluded):
                self._remove_dump_root()
                return
            self._active_tensor_filter = self._active_filter_exclude_node_names = None
        self._prep_debug_cli_for_run_end(dump, request.tf_error, passed, excluded)
        self._run_start_response = self._launch_cli()
        self._remove_dump_root()

    def _remove_dump_root(self) -> None:
        if os.path.isdir(self._dump_root):
            shutil.rmtree(self._dump_root)

    def _prep_debug_cli_for_run_end(
        self, debug_dump: DebugDumpDir, tf_error: object, passed_filter: str | None, passed_filter_exclude_node_names: str | None
    ) -> None:
        """Makes the interface that shows a dump.

        Args:
          debug_dump: the dump.
          tf_error: the OpError with which the run failed, or None.
          passed_filter: the filter that was waited for and that a tensor has passed, or None.
          passed_filter_exclude_node_names: the nodes that are excluded from it.
        """
        self._init_command, self._title_color = "lt", "black_on_white"
        if tf_error:
            self._init_command, self._title_color = "help", "red_on_white"
        elif passed_filter is not None:
            self._init_command, self._title_color = "lt -f %s" % passed_filter, "red_on_white"
            if passed_filter_exclude_node_names:
                self._init_command += " --filter_exclude_node_names %s" % passed_filter_exclude_node_names
        self._run_cli = analyzer_cli.create_analyzer_ui(
            debug_dump, self._tensor_filters, ui_type=self._ui_type, on_ui_exit=self._remove_dump_root, config=self._config
        )
        self._run_cli.register_tab_comp_context(["node_info", "ni", "list_inputs", "li", "list_outputs", "lo"], list(debug_dump.nodes()))
        self._title = "run-end: " + self._run_description
        if tf_error:
            self._run_cli.set_help_intro(cli_shared.get_error_intro(tf_error))

    def _prep_profile_cli_for_run_end(self, py_graph: Any, run_metadata: object) -> None:
        """Makes the interface that shows the times of a run."""
        self._init_command, self._title_color = "lp", "black_on_white"
        self._run_cli = profile_analyzer_cli.create_profiler_ui(py_graph, run_metadata, ui_type=self._ui_type, config=self._config)
        self._title = "run-end (profiler mode): " + self._run_description

    # ---- the interface ----

    def _launch_cli(self) -> Any:
        """Shows the prepared interface; what its user answers: an OnRunStartResponse, or another exit token."""
        self._register_this_run_info(self._run_cli)
        return self._run_cli.run_ui(init_command=self._init_command, title=self._title, title_color=self._title_color)

    def _register_this_run_info(self, curses_cli: BaseUI) -> None:
        """Gives an interface the commands about runs."""
        for name, handler, alias in (
            ("run", self._run_handler, "r"),
            ("run_info", self._run_info_handler, "ri"),
            ("print_feed", self._print_feed_handler, "pf"),
        ):
            curses_cli.register_command_handler(name, handler, self._argparsers[name].format_help(), prefix_aliases=[alias])
        curses_cli.register_tab_comp_context(["run", "r"], list(self._tensor_filters))
        if self._feed_dict and hasattr(self._feed_dict, "keys"):
            names = [common.get_graph_element_name(key) for key in self._feed_dict]
            curses_cli.register_tab_comp_context(["print_feed", "pf"], names)

    def _run_handler(self, args: list[str], screen_info: dict[str, int] | None = None) -> RichTextLines | NoReturn:
        """The command `run`: leaves the interface with how this run, or later ones, are executed.

        Raises:
          CommandLineExit: always, but where the filter does not exist.
          ValueError: nodes are excluded from a filter, and there is no filter.
        """
        parsed = self._argparsers["run"].parse_args(args)
        if parsed.filter_exclude_node_names and not parsed.till_filter_pass:
            raise ValueError(
                "The --filter_exclude_node_names (or -fenn) flag is valid only if the --till_filter_pass (or -f) flag is used."
            )
        if parsed.profile:
            raise CommandLineExit(exit_token=framework.OnRunStartResponse(framework.OnRunStartAction.PROFILE_RUN, []))
        if parsed.till_filter_pass and parsed.till_filter_pass not in self._tensor_filters:
            return RichTextLines(['ERROR: tensor filter "%s" does not exist.' % parsed.till_filter_pass])
        self._skip_debug = parsed.no_debug
        self._run_through_times = parsed.times
        is_debugged = not parsed.no_debug and parsed.times <= 1
        response = framework.OnRunStartResponse(
            framework.OnRunStartAction.DEBUG_RUN if is_debugged else framework.OnRunStartAction.NON_DEBUG_RUN,
            self._get_run_debug_urls() if is_debugged else [],
            node_name_regex_whitelist=parsed.node_name_filter or None,
            op_type_regex_whitelist=parsed.op_type_filter or None,
            tensor_dtype_regex_whitelist=parsed.tensor_dtype_filter or None,
        )
        if parsed.till_filter_pass:
            self._active_tensor_filter = parsed.till_filter_pass
            self._active_filter_exclude_node_names = parsed.filter_exclude_node_names
            self._active_tensor_filter_run_start_response = response
        raise CommandLineExit(exit_token=response)

    def _run_info_handler(self, args: list[str], screen_info: dict[str, int] | None = None) -> RichTextLines:
        """The command `run_info`: fetches and feeds, and how to go on."""
        text = self._first_intro()
        text.extend(self._run_info)
        menu = text.annotations[MAIN_MENU_KEY]
        if not self._is_run_start and "list_tensors" not in menu.captions():
            menu.insert(0, MenuItem("list_tensors", "list_tensors"))
        return text

    def _print_feed_handler(self, args: list[str], screen_info: dict[str, int] | None = None) -> RichTextLines:
        """The command `print_feed`: the value of a feed."""
        if not self._feed_dict:
            return cli_shared.error("The feed_dict of the current run is None or empty.")
        parsed = self._argparsers["print_feed"].parse_args(args)
        name, slicing = command_parser.parse_tensor_name_with_slicing(parsed.tensor_name)
        values = {common.get_graph_element_name(key): value for key, value in self._feed_dict.items()}
        if name not in values:
            return cli_shared.error("The feed_dict of the current run does not contain the key %s" % name)
        return cli_shared.format_as_asked(values[name], name + " (feed)", screen_info, parsed, slicing)

    def _get_run_debug_urls(self) -> list[str]:
        """Where a run is dumped to."""
        return ["file://" + self._dump_root]

    def _update_run_calls_state(self, run_call_count: int, fetches: object, feed_dict: Any, is_callable_runner: bool = False) -> None:
        """Notes which run this is, for the screens about it."""
        self._run_call_count = run_call_count
        self._feed_dict = feed_dict
        self._run_description = cli_shared.get_run_short_description(run_call_count, fetches, feed_dict, is_callable_runner)
        self._run_through_times -= 1
        self._run_info = cli_shared.get_run_start_intro(run_call_count, fetches, feed_dict, self._tensor_filters, is_callable_runner)


def _dump_root_of(given: str | None) -> str:
    """The folder that dumps go to; a new temporary one where none is given."""
    if not given:
        return tempfile.mkdtemp(prefix=_DUMP_ROOT_PREFIX)
    path = os.path.expanduser(given)
    if os.path.isfile(path):
        raise ValueError("dump_root path points to a file: %s" % path)
    if os.path.isdir(path) and os.listdir(path):
        raise ValueError("dump_root path points to a non-empty directory: %s" % path)
    return path


def _run_arguments() -> argparse.ArgumentParser:
    arguments = command_parser.CommandArguments("Run through, with or without debug tensor watching.")
    add = arguments.add_argument
    add("-t", "--times", type=int, default=1, help="How many Session.run() calls to proceed with.")
    add("-n", "--no_debug", action="store_true", help="Run through without debug tensor watching.")
    add_text(arguments, "-f", "--till_filter_pass", help="Run until a tensor in the graph passes the specified filter.")
    excluded = (
        "When applying the tensor filter, exclude node with names matching the regular expression. "
        "Applicable only if --tensor_filter or -f is used."
    )
    add_text(arguments, "-fenn", "--filter_exclude_node_names", help=excluded)
    for what, option, example in _WATCHED:
        text = "Regular-expression filter for %s to be watched in the run, e.g., %s" % (what, example)
        add_text(arguments, option, help=text)
    add("-p", "--profile", action="store_true", help="Run and profile TensorFlow graph execution.")
    return arguments


class LocalCLIDebugHook(SessionRunHook):
    """A hook for MonitoredSessions and Estimators that stops before and after runs, as LocalCLIDebugWrapperSession does.

    Args:
      ui_type: as for LocalCLIDebugWrapperSession, and so the following.
      dump_root: where dumps go to.
      thread_name_filter: which threads stop.
      config_file_path: the file of settings.
    """

    def __init__(
        self,
        ui_type: str = "curses",
        dump_root: str | None = None,
        thread_name_filter: str | None = None,
        config_file_path: str | None = None,
    ) -> None:
        self._ui_type = ui_type
        self._dump_root = dump_root
        self._thread_name_filter = thread_name_filter
        self._config_file_path = config_file_path
        self._session_wrapper: LocalCLIDebugWrapperSession | None = None
        self._pending_tensor_filters: dict[str, Callable[..., bool]] = {}
        self._performed_action: str | None = None

    def add_tensor_filter(self, filter_name: str, tensor_filter: Callable[..., bool]) -> None:
        """Adds a filter, as that of LocalCLIDebugWrapperSession; also before there is a session."""
        self._pending_tensor_filters[filter_name] = tensor_filter
        if self._session_wrapper:
            self._session_wrapper.add_tensor_filter(filter_name, tensor_filter)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Asks the user how to go on, and returns the options for it."""
        if self._session_wrapper is None:
            self._session_wrapper = LocalCLIDebugWrapperSession(
                run_context.session,
                ui_type=self._ui_type,
                dump_root=self._dump_root,
                thread_name_filter=self._thread_name_filter,
                config_file_path=self._config_file_path,
            )
            for name, passing in self._pending_tensor_filters.items():
                self._session_wrapper.add_tensor_filter(name, passing)
        wrapper, given, options = self._session_wrapper, run_context.original_args, messages.RunOptions()
        wrapper.increment_run_call_count()
        self._performed_action = None
        if wrapper._is_disabled_thread():
            return SessionRunArgs(None, None, options)
        request = framework.OnRunStartRequest(given.fetches, given.feed_dict, None, None, wrapper.run_call_count)
        response = wrapper.on_run_start(request)
        self._performed_action = response.action
        if response.action == framework.OnRunStartAction.DEBUG_RUN:
            wrapper._decorate_run_options_for_debug(
                options,
                response.debug_urls,
                response.debug_ops,
                response.node_name_regex_whitelist,
                response.op_type_regex_whitelist,
                response.tensor_dtype_regex_whitelist,
                response.tolerate_debug_op_creation_failures,
            )
        elif response.action == framework.OnRunStartAction.PROFILE_RUN:
            wrapper._decorate_run_options_for_profile(options)
        return SessionRunArgs(None, None, options)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Shows the dump or the times of the run."""
        if self._session_wrapper is not None and self._performed_action is not None:
            self._session_wrapper.on_run_end(framework.OnRunEndRequest(self._performed_action, run_values.run_metadata))
