"""The curses interface: on a terminal of its own, and, key by key, on a screen that only notes what is drawn."""

import curses
import fcntl
import os
import pathlib
import pty
import struct
import subprocess
import sys
import termios
import zipfile

import children
import pytest

from tfcompat._src.debug.cli import cli_config, curses_ui, ui_factory
from tfcompat._src.debug.cli.debugger_cli_common import (
    EXPLICIT_USER_EXIT,
    CommandHistory,
    CommandLineExit,
    Menu,
    MenuItem,
    RichTextLines,
)
from tfcompat._src.debug.cli.readline_ui import ReadlineUI

DUMP = pathlib.Path(__file__).parent / "recorded/dump.zip"
ROWS, COLUMNS = 20, 60


def on_terminal(folder, *arguments, keys, **settings):
    """Runs Python on a terminal of its own, with keys that are typed ahead: the exit status, and what the terminal gets."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    environment = children.environment({"HOME": str(folder), "TERM": "xterm-256color", **settings})
    process = subprocess.Popen([sys.executable, *arguments], stdin=slave, stdout=slave, stderr=slave, cwd=folder, env=environment, start_new_session=True)
    os.close(slave)
    os.write(master, keys.encode())
    shown = b""
    try:
        while part := os.read(master, 1 << 16):
            shown += part
    except OSError:  # Linux says so where all others have closed the terminal
        pass
    os.close(master)
    return process.wait(), shown.decode()


@pytest.fixture
def folder(tmp_path):
    with zipfile.ZipFile(DUMP) as archive:
        archive.extractall(tmp_path / "run")
    return tmp_path


def test_a_terminal_is_filled_and_given_back(folder):
    status, shown = on_terminal(folder, "-m", "tfcompat", "debug", "run", keys="pt h/mm > saved.txt\rexit\r")
    assert status == 0
    assert "--- tfdbg offline @ run ---" in shown and "106 dumped tensor(s):" in shown and "Mouse: ON" in shown
    assert "INFO: Wrote output to saved.txt" in shown
    assert shown.rstrip().endswith("\x1b[?1l\x1b>")  # the keypad as before
    assert (folder / "saved.txt").read_text().splitlines()[0] == 'Tensor "h/mm:0:DebugIdentity":'
    assert (folder / ".tfdbg_history").read_text() == "lt\npt h/mm > saved.txt\n"


def test_a_terminal_that_cannot_be_drawn_on_gets_lines(folder):
    status, shown = on_terminal(folder, "-m", "tfcompat", "debug", "run", keys="exit\n", TERM="no-such-terminal")
    assert status == 0
    assert "tfdbg> " in shown and "Mouse" not in shown


def test_without_a_terminal_there_are_lines(tmp_path):
    found = ui_factory.get_ui("curses", config=cli_config.CLIConfig(str(tmp_path / "config")))
    assert type(found) is ReadlineUI
    with pytest.raises(ValueError, match="Invalid ui_type: 'gui'"):
        ui_factory.get_ui("gui")
    with pytest.raises(ValueError, match="Invalid ui_type: 'curses'"):
        ui_factory.get_ui("curses", available_ui_types=["readline"])


# ---- keys, on a screen that notes what is drawn ----


class Noted(curses_ui.CursesUI):
    """An interface without a terminal: `typed` are lists of keys, each of which ends with one that the text box is left with."""

    def __init__(self, folder, typed, mouse=()):
        super().__init__(config=cli_config.CLIConfig(str(folder / "config")))
        self._command_history_store = CommandHistory(history_file_path=str(folder / "history"))
        self.typed, self.mouse = list(typed), list(mouse)
        self.toasts, self.boxes, self.candidates, self.seen = [], [], [], []

    def _screen_init(self):
        self._color_pairs, self._default_color_pair, self._command_window = {}, 0, None

    def _screen_refresh_size(self):
        self._max_y, self._max_x = ROWS, COLUMNS

    def _screen_launch(self, enable_mouse_on_start):
        self._mouse_enabled = enable_mouse_on_start

    def _screen_create_command_textbox(self, existing_command=None):
        self.boxes.append(existing_command)
        self.text = existing_command or ""

    def _screen_get_user_command(self):
        if not self.typed:
            raise CommandLineExit("no more keys")
        for key in self.typed.pop(0):
            found = self._on_textbox_keypress(ord(key) if isinstance(key, str) else key)
            if found == self.CLI_TERMINATOR_KEY:
                break
            if found is not None and found < 256:
                self.text += chr(found)
        self.seen.append((self._output_pad_row, self._curr_unwrapped_output))
        return self.text

    def _screen_gather_textbox_str(self):
        return self.text

    def _screen_getmouse(self):
        x, y, event = self.mouse.pop(0)
        return 0, x, y, 0, event

    def _screen_new_output_pad(self, rows, cols):
        return [""] * rows

    def _screen_add_line_to_output_pad(self, pad, row, txt, color_segments=None):
        pad[row] = txt

    def _screen_scroll_output_pad(self, pad, *places):
        rows = self._output_pad_height - self._output_pad_screen_height
        self._scroll_bar = curses_ui.ScrollBar(COLUMNS - 2, 3, COLUMNS - 1, ROWS - 4, self._output_pad_row, rows)

    def _toast(self, message, color=None, line_index=None):
        self.toasts.append(message)

    def _display_candidates(self, candidates):
        self.candidates.append(candidates)

    def _screen_nothing(self, *arguments, **settings):
        pass

    _screen_terminate = _screen_refresh = _screen_create_command_window = _screen_draw_text_line = _screen_set_mousemask = _screen_nothing
    _screen_render_nav_bar = _screen_render_menu_pad = _screen_nothing


def lines(args, screen_info=None):
    """A command that shows as many lines as it is told, the third of which is a link, with a menu."""
    text = RichTextLines([f"line {row}" for row in range(int(args[0]))], {2: [(0, 4, MenuItem(None, "lines 3"))]})
    menu = Menu()
    menu.append(MenuItem("five", "lines 5"))
    text.annotations["mm:"] = menu
    return text


def shown(folder, *typed, mouse=()):
    """The interface after keys were typed; a text stands for its keys and Enter."""
    interface = Noted(folder, [keys + "\n" if isinstance(keys, str) else keys for keys in typed], mouse)
    interface.register_command_handler("lines", lines, "shows lines", prefix_aliases=["l"])
    interface.register_tab_comp_context(["lines", "l"], ["10", "100", "25"])
    interface.token = interface.run_ui(title="title")
    return interface


def test_exit_and_unknown_commands(folder):
    assert shown(folder, "exit").token == EXPLICIT_USER_EXIT
    assert shown(folder, "nothing")._curr_unwrapped_output.lines == ['ERROR: Invalid command prefix "nothing"']


def test_history_by_prefix(folder):
    up, down = curses.KEY_UP, curses.KEY_DOWN
    interface = shown(folder, "lines 1", "help", "lines 2", [*"li", up], [up], [up], [down], [curses.KEY_HOME, "\n"])
    assert interface.boxes[-6:] == ["", "lines 2", "lines 1", "lines 1", "lines 2", ""]
    assert interface._curr_unwrapped_output.num_lines() == 2


def test_completion(folder):
    interface = shown(folder, [*"lin", "\t"], [*" 1", "\t"], ["\n"])
    assert interface.boxes[:4] == ["", "lines", "lines 10", ""]
    assert interface.candidates == [[], ["10", "100"]]
    assert interface._curr_unwrapped_output.num_lines() == 10


def test_scrolling(folder):
    page_down, page_up, home, end = curses.KEY_NPAGE, curses.KEY_PPAGE, curses.KEY_HOME, curses.KEY_END
    interface = shown(folder, "lines 100", [page_down, page_down, page_up, "\t"], [end, "\t"], [page_down, "\t"], [home, page_up, "\t"])
    assert [row for row, _ in interface.seen[1:]] == [1, 99, 99, 0]


def test_search(folder):
    interface = shown(folder, "lines 100", "/5$", "/", "/", ["\t"], "/nowhere", "/*")
    assert [row for row, _ in interface.seen[2:5]] == [5, 15, 25]
    assert [toast for toast in interface.toasts if toast != "Processing..."] == ["Pattern not found", 'ERROR: Invalid regular expression: "*"']


def test_past_screens(folder):
    interface = shown(folder, "lines 1", [*"lines 90", "\n"], [curses.KEY_END, *"prev", "\n"], "prev", "next", ["\t"], "next")
    assert [screen.num_lines() for _, screen in interface.seen[3:6]] == [1, 1, 90]
    assert interface.seen[5][0] == 89
    assert interface.toasts[-1] == "At the LATEST in navigation history!" and "At the OLDEST in navigation history!" in interface.toasts


@pytest.mark.parametrize("x, y, lines_shown", [(2, 5, 3), (30, 5, 10), (3, 2, 5), (2, 1, 10)], ids=["link", "no link", "menu", "back, at the oldest"])
def test_clicks(folder, x, y, lines_shown):
    click = [(x, y, curses.BUTTON1_PRESSED), (x, y, curses.BUTTON1_RELEASED)]
    interface = shown(folder, "lines 10", [curses.KEY_MOUSE, curses.KEY_MOUSE, "\t"], mouse=click)
    assert interface._curr_unwrapped_output.num_lines() == lines_shown


def test_clicks_on_the_scroll_bar(folder):
    bar = [(COLUMNS - 1, row, curses.BUTTON1_RELEASED) for row in (ROWS - 4, ROWS - 4, ROWS - 6, 3)]
    interface = shown(folder, "lines 100", *[[curses.KEY_MOUSE, "\t"]] * 4, mouse=bar)
    assert [row for row, _ in interface.seen[1:]] == [1, 2, 7, 6]


def test_elements_of_arrays_and_their_errors(folder):
    interface = shown(folder, "lines 3", "@", "@[1", "@[1]")
    assert interface.toasts[-5:] == [
        "ERROR: Empty indices.", "Processing...", "ERROR: invalid literal for int() with base 10: '[1'", "Processing...",
        "ERROR: tensor_metadata is not available in annotations.",
    ]  # fmt: skip


def test_the_mouse_is_set(folder):
    interface = shown(folder, "lines 1", "mouse off", "mouse", "m on", "mouse maybe", "mouse on off")
    assert [toast for toast in interface.toasts if toast != "Processing..."] == [
        "INFO: Mouse mode: off", "INFO: Mouse mode: off", "INFO: Mouse mode: on", "ERROR: Invalid mouse mode: maybe", "ERROR: mouse_mode: syntax error",
    ]  # fmt: skip


def test_redirections_that_fail(folder):
    interface = shown(folder, "lines 1 > /nowhere/file", "lines 1 >")
    assert interface.toasts[0] == "ERROR: Failed to write output to /nowhere/file"
    assert interface.toasts[-1] == "ERROR: Redirect file path is empty"
