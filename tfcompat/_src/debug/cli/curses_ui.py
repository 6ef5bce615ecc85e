"""The debugger on a whole terminal: keys, mouse, history, completion and search."""

from __future__ import annotations

import curses
import curses.textpad
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

from tfcompat._src.base import errors
from tfcompat._src.debug.cli import command_parser, curses_widgets, tensor_format
from tfcompat._src.debug.cli.cli_config import CLIConfig
from tfcompat._src.debug.cli.curses_screen import CursesScreen
from tfcompat._src.debug.cli.curses_widgets import ScrollBar as ScrollBar
from tfcompat._src.debug.cli.debugger_cli_common import (
    EXPLICIT_USER_EXIT,
    CommandHistory,
    CommandLineExit,
    MenuItem,
    RichTextLines,
    Segment,
)

_SCROLL_REFRESH = curses_widgets.SCROLL_REFRESH
_SCROLL_UP = curses_widgets.SCROLL_UP
_SCROLL_DOWN = curses_widgets.SCROLL_DOWN
_SCROLL_UP_A_LINE = curses_widgets.SCROLL_UP_A_LINE
_SCROLL_DOWN_A_LINE = curses_widgets.SCROLL_DOWN_A_LINE
_SCROLL_HOME = curses_widgets.SCROLL_HOME
_SCROLL_END = curses_widgets.SCROLL_END
_SCROLL_TO_LINE_INDEX = curses_widgets.SCROLL_TO_LINE_INDEX
_SCROLL_KEYS = {
    curses.KEY_PPAGE: _SCROLL_UP_A_LINE,
    curses.KEY_NPAGE: _SCROLL_DOWN_A_LINE,
    curses.KEY_HOME: _SCROLL_HOME,
    curses.KEY_END: _SCROLL_END,
}


def _get_command_from_line_attr_segs(mouse_x: int, attr_segs: list[Segment]) -> str | None:
    """The command of the link at a column of a line, or None."""
    for start, end, found in attr_segs:
        if start <= mouse_x < end:
            for attribute in found if isinstance(found, list) else [found]:
                if isinstance(attribute, MenuItem):
                    return attribute.content  # type: ignore[no-any-return]
    return None


class CursesUI(CursesScreen):
    """The user interface of a whole terminal; one at a time in a process.

    Page keys, Home and End scroll, arrows go through the history, Tab completes, "/word" searches (and "/" goes on),
    "@[1, 2]" goes to an element of an array.
    """

    CLI_TERMINATOR_KEY = 7
    CLI_TAB_KEY = ord("\t")
    BACKSPACE_KEY = ord("\b")
    REGEX_SEARCH_PREFIX = "/"
    TENSOR_INDICES_NAVIGATION_PREFIX = "@"
    CLI_CR_KEYS = [ord("\n"), ord("\r"), curses.KEY_ENTER]
    _KEY_MAP = {127: curses.KEY_BACKSPACE, curses.KEY_DC: 4}
    _UI_WAIT_MESSAGE = "Processing..."
    _UI_WAIT_COLOR_PAIR = "magenta_on_white"
    _NAVIGATION_WARNING_COLOR_PAIR = "red_on_white"
    _MOUSE_SCROLL_DELAY_MS = 100
    _single_instance_lock = threading.Lock()

    def __init__(self, on_ui_exit: Callable[[], Any] | None = None, config: CLIConfig | None = None) -> None:
        super().__init__(on_ui_exit=on_ui_exit, config=config)
        self._command_history_store = CommandHistory()
        self._active_command_history: list[str] = []
        self._command_pointer = 0
        self._command_history_limit = 100
        self._pending_command = ""
        self._previous_interrupt_handler: Any = None
        if threading.current_thread() is threading.main_thread():  # no other thread can have a handler
            self._previous_interrupt_handler = signal.signal(signal.SIGINT, self._interrupt_handler)
        mouse_help = "Get or set the mouse mode of this CLI: (on|off)"
        self.register_command_handler("mouse", self._mouse_mode_command_handler, mouse_help, prefix_aliases=["m"])

    def get_help(self) -> RichTextLines:
        """The help of all commands."""
        return self._command_handler_registry.get_help()

    def run_ui(
        self, init_command: str | None = None, title: str | None = None, title_color: str | None = None, enable_mouse_on_start: bool = True
    ) -> Any:
        """Shows the interface until a command leaves it; see `BaseUI.run_ui`."""
        with self._single_instance_lock:
            self._screen_launch(enable_mouse_on_start=enable_mouse_on_start)
            try:
                if init_command is not None:
                    self._dispatch_command(init_command)
                if title is not None:
                    self._title(title, title_color=title_color)
                exit_token = self._ui_loop()
                if self._on_ui_exit:
                    self._on_ui_exit()
            finally:
                self._screen_terminate()
        return exit_token

    def _screen_terminate(self) -> None:
        """Gives the terminal and the interrupt key back."""
        super()._screen_terminate()
        if self._previous_interrupt_handler is not None:
            signal.signal(signal.SIGINT, self._previous_interrupt_handler)
            self._previous_interrupt_handler = None

    def _interrupt_handler(self, signal_num: int, frame: object) -> None:
        """The interrupt key ends the program."""
        if self._on_ui_exit:
            self._on_ui_exit()
        self._screen_terminate()
        print("\ntfdbg: caught SIGINT; calling sys.exit(1).", file=sys.stderr)
        sys.exit(1)

    # ---- the command line ----

    def _ui_loop(self) -> Any:
        """Reads and runs commands until one leaves the interface; its exit token."""
        while True:
            existing = self._active_command_history[-self._command_pointer] if self._command_pointer > 0 else self._pending_command
            self._screen_create_command_textbox(existing)
            try:
                command, terminator, is_changed = self._get_user_command()
            except CommandLineExit as e:
                return e.exit_token
            if terminator == self.CLI_TAB_KEY:
                self._pending_command = self._tab_complete(command)
            elif not command:
                continue
            elif terminator in self.CLI_CR_KEYS or terminator == curses.KEY_MOUSE:
                exit_token = self._dispatch_command(command)
                if exit_token is not None:
                    return exit_token
            elif is_changed:
                self._pending_command = command

    def _screen_create_command_textbox(self, existing_command: str | None = None) -> None:
        """Draws the prompt, and a command in a new text box."""
        self._addstr(self._max_y - self._command_textbox_height, 0, self.CLI_PROMPT, curses.A_BOLD)
        self._stdscr.refresh()
        self._command_window.clear()
        self._command_textbox = curses.textpad.Textbox(self._command_window, insert_mode=True)
        self._auto_key_in(existing_command)

    def _auto_key_in(self, command: str | None, erase_existing: bool = False) -> None:
        """Types a command into the text box."""
        if erase_existing:
            self._erase_existing_command()
        for character in command or "":
            self._command_textbox.do_command(ord(character))

    def _erase_existing_command(self) -> None:
        for _ in self._command_textbox.gather():
            self._command_textbox.do_command(self.BACKSPACE_KEY)

    def _get_user_command(self) -> tuple[str, int | None, bool]:
        """The typed command, the key that ended it, and whether the command was changed."""
        self._textbox_curr_terminator: int | None = None
        self._textbox_pending_command_changed = False
        command = self._strip_terminator(self._screen_get_user_command())
        return command, self._textbox_curr_terminator, self._textbox_pending_command_changed

    def _screen_get_user_command(self) -> str:
        return self._command_textbox.edit(validate=self._on_textbox_keypress)

    def _screen_gather_textbox_str(self) -> str:
        return self._command_textbox.gather().strip()

    def _strip_terminator(self, command: str) -> str:
        return (command or "").replace("\n", "").replace("\r", "").strip()

    def _dispatch_command(self, command: str) -> Any:
        """Runs a command and shows its screen; the exit token where it leaves the interface, else None."""
        if self._output_pad:
            self._toast(self._UI_WAIT_MESSAGE, color=self._UI_WAIT_COLOR_PAIR)
        if command in self.CLI_EXIT_COMMANDS:
            return EXPLICIT_USER_EXIT
        if command in (self._NAVIGATION_FORWARD_COMMAND, self._NAVIGATION_BACK_COMMAND):
            self._navigate_screen_output(command)
            return None
        if command:
            self._command_history_store.add_command(command)
        if command.startswith(self.REGEX_SEARCH_PREFIX) and self._curr_unwrapped_output:
            self._search(command.removeprefix(self.REGEX_SEARCH_PREFIX))
            return None
        if command.startswith(self.TENSOR_INDICES_NAVIGATION_PREFIX):
            self._go_to_element(command.removeprefix(self.TENSOR_INDICES_NAVIGATION_PREFIX).strip())
            return None
        try:
            prefix, args, output_file_path = self._parse_command(command)
        except SyntaxError as e:
            self._error_toast(str(e))
            return None
        return self._run_command(command, prefix, args, output_file_path) if prefix else None

    def _run_command(self, command: str, prefix: str, args: list[str], output_file_path: str | None) -> Any:
        self._active_command_history = []
        screen: RichTextLines | None = RichTextLines([self.ERROR_MESSAGE_PREFIX + 'Invalid command prefix "%s"' % prefix])
        if self._command_handler_registry.is_registered(prefix):
            try:
                screen = self._command_handler_registry.dispatch_command(prefix, args, screen_info={"cols": self._max_x - 2})
            except CommandLineExit as e:
                return e.exit_token
        self._nav_history.add_item(command, screen, 0)
        self._display_output(screen)
        if output_file_path and screen is not None:
            try:
                screen.write_to_file(output_file_path)
            except (OSError, errors.OpError):
                self._error_toast("Failed to write output to %s" % output_file_path)
            else:
                self._info_toast("Wrote output to %s" % output_file_path)
        self._command_pointer, self._pending_command = 0, ""
        return None

    def _search(self, regex: str) -> None:
        """Searches the shown text, or goes to the next match where the regular expression is empty."""
        if regex:
            self._curr_search_regex = regex
            self._display_output(self._curr_unwrapped_output, highlight_regex=regex)
        elif self._unwrapped_regex_match_lines:
            self._display_output(self._curr_unwrapped_output, is_refresh=True, highlight_regex=self._curr_search_regex)
        self._command_pointer, self._pending_command = 0, ""

    def _go_to_element(self, indices: str) -> None:
        """Scrolls to an element of the shown array, if its line is not omitted."""
        if not indices:
            self._error_toast("Empty indices.")
            return
        try:
            element = command_parser.parse_indices(indices)
            is_omitted, row, _, _ = tensor_format.locate_tensor_element(self._curr_wrapped_output, element)
        except (AttributeError, ValueError) as e:
            self._error_toast(str(e))
            return
        if not is_omitted:
            self._scroll_output(_SCROLL_TO_LINE_INDEX, line_index=row)

    def _navigate_screen_output(self, command: str) -> None:
        """Shows the screen before or after the shown one."""
        history = self._nav_history
        forward = command == self._NAVIGATION_FORWARD_COMMAND
        if not (history.can_go_forward() if forward else history.can_go_back()):
            end = "LATEST" if forward else "OLDEST"
            self._toast("At the %s in navigation history!" % end, color=self._NAVIGATION_WARNING_COLOR_PAIR)
            return
        item = history.go_forward() if forward else history.go_back()
        row = item.scroll_position
        self._display_output(item.screen_output)
        if row != 0:
            self._scroll_output(_SCROLL_TO_LINE_INDEX, line_index=row)

    # ---- keys ----

    def _on_textbox_keypress(self, x: int) -> int | None:
        """Translates a key for the text box: those that end the command become CLI_TERMINATOR_KEY.

        Raises:
          TypeError: the key is no integer.
          CommandLineExit: a link was clicked whose command leaves the interface.
        """
        if not isinstance(x, int):
            raise TypeError("Key validator expected type int, received type %s" % type(x))
        if x in self.CLI_CR_KEYS or x == self.CLI_TAB_KEY:
            self._textbox_curr_terminator = x
            return self.CLI_TERMINATOR_KEY
        if x in _SCROLL_KEYS:
            self._scroll_output(_SCROLL_KEYS[x])
            return x
        if x in (curses.KEY_UP, curses.KEY_DOWN):
            self._go_through_history(upwards=x == curses.KEY_UP)
            self._textbox_curr_terminator = x
            return self.CLI_TERMINATOR_KEY
        if x == curses.KEY_RESIZE:
            self._screen_refresh_size()
            self._init_layout()
            self._screen_create_command_window()
            self._redraw_output()
            return self.CLI_TERMINATOR_KEY
        if x == curses.KEY_MOUSE and self._mouse_enabled:
            return self._on_mouse(x)
        self._textbox_pending_command_changed = True
        self._command_pointer, self._active_command_history = 0, []
        return self._KEY_MAP.get(x, x)

    def _go_through_history(self, upwards: bool) -> None:
        """Chooses the command before or after, among those that begin with what is typed."""
        if not self._active_command_history:
            typed = self._screen_gather_textbox_str()
            self._active_command_history = self._command_history_store.lookup_prefix(typed, self._command_history_limit)
        step = 1 if upwards else -1
        self._command_pointer = min(max(self._command_pointer + step, 0), len(self._active_command_history))

    def _screen_getmouse(self) -> Any:
        return curses.getmouse()

    def _on_mouse(self, key: int) -> int | None:
        """Scrolls while the button is held on the scroll bar, and runs the command of a link when it is released on one."""
        try:
            _, mouse_x, mouse_y, _, event = self._screen_getmouse()
        except curses.error:
            return None
        is_on_bar = mouse_x >= self._max_x - 2
        if event == curses.BUTTON1_PRESSED and is_on_bar:
            self._scroll_while_held(mouse_y)
            return key
        if event != curses.BUTTON1_RELEASED:
            return None
        if is_on_bar:
            direction = self._scroll_bar.get_click_command(mouse_y)
            if direction is not None:
                self._scroll_output(direction)
            return key
        command = self._fetch_hyperlink_command(mouse_x, mouse_y)
        if command:
            self._screen_create_command_textbox()
            exit_token = self._dispatch_command(command)
            if exit_token is not None:
                raise CommandLineExit(exit_token=exit_token)
        return None

    def _scroll_while_held(self, mouse_y: int) -> None:
        self._command_window.nodelay(True)
        event = curses.BUTTON1_PRESSED
        while event == curses.BUTTON1_PRESSED:
            curses.napms(self._MOUSE_SCROLL_DELAY_MS)
            direction = self._scroll_bar.get_click_command(mouse_y)
            if direction in (_SCROLL_UP_A_LINE, _SCROLL_DOWN_A_LINE):
                self._scroll_output(direction)
            self._command_window.getch()
            try:
                event = self._screen_getmouse()[4]
            except curses.error:
                continue  # no event: the button is still held
        self._command_window.nodelay(False)

    def _fetch_hyperlink_command(self, mouse_x: int, mouse_y: int) -> str | None:
        """The command of the link at a place of the screen, in the bar of past screens, the menu or the text; None where there is none."""
        top = self._output_top_row + (1 if self._main_menu_pad else 0)
        if mouse_y == self._nav_bar_row and self._nav_bar:
            text, row = self._nav_bar, 0
        elif mouse_y == self._output_top_row and self._main_menu_pad and self._main_menu:
            text, row = self._main_menu, 0
        else:
            text, row = self._curr_wrapped_output, mouse_y + self._output_pad_row - top
        return _get_command_from_line_attr_segs(mouse_x, text.font_attr_segs.get(row, []))

    # ---- completion, and the command mouse ----

    def _tab_complete(self, command_str: str) -> str:
        """The command with its last word completed as far as all candidates agree; these are shown where there are several."""
        context, prefix, before = self._analyze_tab_complete_input(command_str)
        candidates, common = self._tab_completion_registry.get_completions(context, prefix)
        self._display_candidates(candidates if candidates and len(candidates) > 1 else [])
        return before + (common or prefix)

    def _mouse_mode_command_handler(self, args: list[str], screen_info: dict[str, int] | None = None) -> None:
        """The command `mouse`: sets and shows, as a message, whether the mouse is on."""
        if len(args) > 1:
            self._error_toast("mouse_mode: syntax error")
            return
        if args:
            if args[0].lower() not in ("on", "off"):
                self._error_toast("Invalid mouse mode: %s" % args[0])
                return
            self._set_mouse_enabled(args[0].lower() == "on")
        self._info_toast("Mouse mode: %s" % ("on" if self._mouse_enabled else "off"))
