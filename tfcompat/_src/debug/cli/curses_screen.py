"""The screen of the curses interface: colors, layout, drawing and scrolling."""

from __future__ import annotations

import collections
import curses
from collections.abc import Callable
from typing import Any

from tfcompat._src.debug.cli import cli_shared, curses_widgets, tensor_format
from tfcompat._src.debug.cli.base_ui import BaseUI, UnavailableError
from tfcompat._src.debug.cli.cli_config import CLIConfig
from tfcompat._src.debug.cli.debugger_cli_common import (
    INIT_SCROLL_POS_KEY,
    MAIN_MENU_KEY,
    REGEX_MATCH_LINES_KEY,
    MenuItem,
    RichTextLines,
    Segment,
    regex_find,
    wrap_rich_text_lines,
)

Rectangle = collections.namedtuple("Rectangle", "top left bottom right")
_GRAY = 245
"""The number of gray in terminals with 256 colors."""


class CursesScreen(BaseUI):
    """A screen of a title, a bar of past screens, a menu, the text of a command, a line of status, and the command line.

    Methods whose names begin with "_screen_" talk to the terminal; the others can be tested without one.
    """

    _NAVIGATION_FORWARD_COMMAND = "next"
    _NAVIGATION_BACK_COMMAND = "prev"
    _SCREEN_WIDTH_LIMIT = 220
    """The mouse has no columns beyond."""
    _FOREGROUND_COLORS = {
        cli_shared.COLOR_WHITE: curses.COLOR_WHITE,
        cli_shared.COLOR_RED: curses.COLOR_RED,
        cli_shared.COLOR_GREEN: curses.COLOR_GREEN,
        cli_shared.COLOR_YELLOW: curses.COLOR_YELLOW,
        cli_shared.COLOR_BLUE: curses.COLOR_BLUE,
        cli_shared.COLOR_CYAN: curses.COLOR_CYAN,
        cli_shared.COLOR_MAGENTA: curses.COLOR_MAGENTA,
        cli_shared.COLOR_BLACK: curses.COLOR_BLACK,
    }
    _BACKGROUND_COLORS = {
        "transparent": -1,
        cli_shared.COLOR_WHITE: curses.COLOR_WHITE,
        cli_shared.COLOR_BLACK: curses.COLOR_BLACK,
    }
    _SEARCH_HIGHLIGHT_FONT_ATTR = "black_on_white"
    _ARRAY_INDICES_COLOR_PAIR = "black_on_white"
    _ERROR_TOAST_COLOR_PAIR = "red_on_white"
    _INFO_TOAST_COLOR_PAIR = "blue_on_white"
    _STATUS_BAR_COLOR_PAIR = "black_on_white"
    _COMMAND_TEXTBOX_HEIGHT = 2
    _LEAST_OUTPUT_ROWS = 6
    """The rows of output for which there is room on any screen; a smaller one shows them in part."""

    def __init__(self, on_ui_exit: Callable[[], Any] | None = None, config: CLIConfig | None = None) -> None:
        super().__init__(on_ui_exit=on_ui_exit, config=config)
        self._screen_init()
        self._screen_refresh_size()
        self._init_layout()
        self._nav_history = curses_widgets.CursesNavigationHistory(10)
        self._nav_bar: RichTextLines | None = None
        self._nav_bar_pad: Any = None
        self._main_menu: RichTextLines | None = None
        self._main_menu_pad: Any = None
        self._mouse_enabled = False
        self._output_pad: Any = None
        self._output_pad_row = 0
        self._output_pad_height = 0
        self._output_array_pointer_indices: dict[int, Any] | None = None
        self._curr_unwrapped_output: RichTextLines | None = None
        self._curr_wrapped_output: Any = None
        self._curr_search_regex: str | None = None
        self._unwrapped_regex_match_lines: list[int] = []

    def _init_layout(self) -> None:
        """Places the parts of the screen, from its size."""
        self._command_textbox_height = self._COMMAND_TEXTBOX_HEIGHT
        self._title_row, self._nav_bar_row, self._output_top_row = 0, 1, 2
        room = self._max_y - self._output_top_row - self._command_textbox_height - 1
        self._output_num_rows = max(room, self._LEAST_OUTPUT_ROWS)
        self._output_scroll_row = self._max_y - 1 - self._command_textbox_height
        self._candidates_top_row = self._output_scroll_row - 4
        self._candidates_bottom_row = self._output_scroll_row - 1
        self._candidates_max_lines = self._output_num_rows // 2
        self.max_output_lines = 10000
        self._output_pad_screen_height = self._output_num_rows - 1
        self._output_pad_screen_width = self._max_x - 2
        bottom = self._output_top_row + self._output_num_rows
        self._output_pad_screen_location = Rectangle(self._output_top_row, 0, bottom, self._output_pad_screen_width)

    # ---- the terminal ----

    def _screen_init(self) -> None:
        """Starts curses. UnavailableError where the terminal has no colors, or none is known."""
        self._command_window: Any = None
        try:
            self._stdscr = curses.initscr()
        except curses.error as e:
            raise UnavailableError("curses cannot use this terminal: %s" % e)
        try:
            self._screen_color_init()
        except curses.error as e:
            curses.endwin()
            raise UnavailableError("curses cannot use the colors of this terminal: %s" % e)

    def _screen_color_init(self) -> None:
        """Makes the attributes that texts name: "red", "red_on_white", "bold" and others."""
        curses.start_color()
        curses.use_default_colors()
        self._color_pairs = {"bold": curses.A_BOLD, "blink": curses.A_BLINK, "underline": curses.A_UNDERLINE}
        number = 0
        for name, foreground in self._FOREGROUND_COLORS.items():
            for ground, background in self._BACKGROUND_COLORS.items():
                number += 1
                curses.init_pair(number, foreground, background)
                pair = name if ground == "transparent" else name + "_on_" + ground
                self._color_pairs[pair] = curses.color_pair(number)
        self._color_pairs[cli_shared.COLOR_GRAY] = self._color_pairs[cli_shared.COLOR_GREEN]
        if curses.COLORS > _GRAY:
            curses.init_pair(number + 1, _GRAY, -1)
            self._color_pairs[cli_shared.COLOR_GRAY] = curses.color_pair(number + 1)
        self._default_color_pair = self._color_pairs[cli_shared.COLOR_WHITE]

    def _screen_launch(self, enable_mouse_on_start: bool) -> None:
        """Takes over the terminal; the mouse goes by the setting mouse_mode."""
        curses.noecho()
        curses.cbreak()
        self._stdscr.keypad(True)
        self._mouse_enabled = enable_mouse_on_start and self.config.get("mouse_mode")
        self._screen_set_mousemask()
        self.config.set_callback("mouse_mode", lambda config: self._set_mouse_enabled(config.get("mouse_mode")))
        self._screen_create_command_window()

    def _screen_terminate(self) -> None:
        """Gives the terminal back."""
        self._stdscr.keypad(False)
        curses.nocbreak()
        curses.echo()
        curses.endwin()

    def _screen_set_mousemask(self) -> None:
        curses.mousemask(curses.BUTTON1_RELEASED | curses.BUTTON1_PRESSED if self._mouse_enabled else 0)

    def _set_mouse_enabled(self, enabled: bool) -> None:
        if self._mouse_enabled != enabled:
            self._mouse_enabled = enabled
            self._screen_set_mousemask()
            self._redraw_output()

    def _screen_refresh_size(self) -> None:
        self._max_y, width = self._stdscr.getmaxyx()
        self._max_x = min(width, self._SCREEN_WIDTH_LIMIT)

    def _screen_create_command_window(self) -> None:
        column = len(self.CLI_PROMPT)
        top = max(self._max_y - self._command_textbox_height, 0)
        self._command_window = curses.newwin(self._command_textbox_height, self._max_x - column, top, column)

    def _screen_refresh(self) -> None:
        self._stdscr.refresh()

    def _addstr(self, *args: Any) -> None:
        _drawn(self._stdscr.addstr, *args)

    def _refresh_pad(self, pad: Any, *args: int) -> None:
        _drawn(pad.refresh, *args)

    def _screen_draw_text_line(self, row: int, line: str, attr: int = curses.A_NORMAL, color: str | None = None) -> None:
        """Draws a line of the screen. TypeError where `row` is not an integer."""
        if not isinstance(row, int):
            raise TypeError("Invalid type in row")
        pair = self._default_color_pair if color is None else self._color_pairs[color]
        self._addstr(row, 0, line[: self._max_x], pair | attr)
        self._screen_refresh()

    def _screen_new_output_pad(self, rows: int, cols: int) -> Any:
        """A pad: lines of text, more than the screen may have."""
        return curses.newpad(rows, cols)

    def _screen_add_line_to_output_pad(self, pad: Any, row: int, txt: str, color_segments: list[Segment] | None = None) -> None:
        """Writes a line into a pad, then its segments with their attributes over it; links are underlined while the mouse is on."""
        width = self._max_x - 2
        _drawn(pad.addstr, row, 0, txt[:width].ljust(width - 1), self._default_color_pair)
        for start, end, attributes in color_segments or ():
            attribute = curses.A_NORMAL
            for name in attributes if isinstance(attributes, list) else [attributes]:
                is_link = self._mouse_enabled and isinstance(name, MenuItem)
                attribute |= curses.A_UNDERLINE if is_link else self._color_pairs.get(name, self._default_color_pair)
            _drawn(pad.addstr, row, start, txt[start : min(end, width)], attribute)

    # ---- texts ----

    def _title(self, title: str, title_color: str | None = None) -> None:
        """Draws the title, and a line to the right of it."""
        self._title_line = ("--- %s " % title).ljust(self._max_x, "-")
        self._screen_draw_text_line(self._title_row, self._title_line, color=title_color)

    def _display_lines(self, output: RichTextLines, min_num_rows: int) -> tuple[Any, int, int]:
        """A new pad with a text, its rows (at least `min_num_rows`) and its columns. ValueError where `output` is no text."""
        if not isinstance(output, RichTextLines):
            raise ValueError("Output is required to be an instance of RichTextLines, but is not.")
        self._screen_refresh()
        rows, cols = max(min_num_rows, len(output.lines)), self._max_x - 2
        pad = self._screen_new_output_pad(rows, cols)
        for row, line in enumerate(output.lines):
            self._screen_add_line_to_output_pad(pad, row, line, color_segments=output.font_attr_segs.get(row))
        return pad, rows, cols

    def _display_nav_bar(self) -> None:
        width = self._max_x - 2
        self._nav_bar_pad = self._screen_new_output_pad(1, width)
        self._nav_bar = self._nav_history.render(width, self._NAVIGATION_BACK_COMMAND, self._NAVIGATION_FORWARD_COMMAND)
        segments = self._nav_bar.font_attr_segs.get(0)
        self._screen_add_line_to_output_pad(self._nav_bar_pad, 0, self._nav_bar.lines[0][: width - 1], color_segments=segments)

    def _display_main_menu(self, output: RichTextLines) -> None:
        """Draws the menu of a text, if it has one, cut at the width of the screen."""
        menu = output.annotations.get(MAIN_MENU_KEY)
        if menu is None:
            self._main_menu = self._main_menu_pad = None
            return
        self._main_menu = menu.format_as_single_line(prefix="| ", divider=" | ", enabled_item_attrs=["underline"])
        self._main_menu_pad = self._screen_new_output_pad(1, self._max_x - 2)
        cut, _ = wrap_rich_text_lines(self._main_menu, self._max_x - 3)
        self._screen_add_line_to_output_pad(self._main_menu_pad, 0, cut.lines[0], color_segments=cut.font_attr_segs.get(0))

    def _screen_display_output(self, output: RichTextLines) -> list[int]:
        """Wraps a text, puts it into a new pad, and returns the rows of the pad in which a search has found something.

        Blank lines follow, so that the last line can be scrolled to the top.
        """
        wrapped, rows = wrap_rich_text_lines(output, self._max_x - 2)
        wrapped.lines.extend([""] * (self._output_num_rows - 1))
        if wrapped.num_lines() > self.max_output_lines:
            wrapped = wrapped.slice(0, self.max_output_lines)
            message = "Output cut off at %d lines!" % self.max_output_lines
            wrapped.append(message, [(0, len(message), cli_shared.COLOR_MAGENTA)])
        self._curr_wrapped_output = wrapped
        self._display_nav_bar()
        self._display_main_menu(wrapped)
        self._output_pad, self._output_pad_height, self._output_pad_width = self._display_lines(wrapped, self._output_num_rows)
        return [rows[line] for line in self._unwrapped_regex_match_lines]

    def _display_output(self, output: RichTextLines | None, is_refresh: bool = False, highlight_regex: str | None = None) -> None:
        """Shows a text from its top, or where a search goes on.

        Args:
          output: the text; None changes nothing.
          is_refresh: whether the text is the shown one: it stays where it is scrolled to, and a search goes on below.
          highlight_regex: a regular expression that is searched for.
        """
        if output is None:
            return
        if highlight_regex:
            try:
                output = regex_find(output, highlight_regex, font_attr=self._SEARCH_HIGHLIGHT_FONT_ATTR)
            except ValueError as e:
                self._error_toast(str(e))
                return
            if is_refresh:
                self._output_pad_row += 1
            else:
                self._unwrapped_regex_match_lines = output.annotations[REGEX_MATCH_LINES_KEY]
        else:
            self._curr_unwrapped_output = output
            self._unwrapped_regex_match_lines = []
        matches = self._screen_display_output(output)
        if highlight_regex:
            match = next((row for row in matches if row >= self._output_pad_row), None)
            if match is None:
                self._toast("Pattern not found", color=self._ERROR_TOAST_COLOR_PAIR)
            else:
                self._scroll_output(curses_widgets.SCROLL_TO_LINE_INDEX, line_index=match)
        elif is_refresh:
            self._scroll_output(curses_widgets.SCROLL_REFRESH)
        elif INIT_SCROLL_POS_KEY in output.annotations:
            self._scroll_output(curses_widgets.SCROLL_TO_LINE_INDEX, line_index=output.annotations[INIT_SCROLL_POS_KEY])
        else:
            self._scroll_output(curses_widgets.SCROLL_HOME)

    def _redraw_output(self) -> None:
        if self._curr_unwrapped_output is not None:
            self._display_output(self._curr_unwrapped_output, is_refresh=True)

    # ---- scrolling ----

    def _scroll_output(self, direction: str, line_index: int | None = None) -> None:
        """Scrolls the text: by a line, by a third of the screen, to an end, or to the row `line_index`.

        Raises:
          ValueError: there is no such direction.
          TypeError: the direction is that to a row, and `line_index` is no integer.
        """
        if not self._output_pad:
            return
        row, last = self._output_pad_row, self._output_pad_height - self._output_pad_screen_height - 1
        third = self._output_num_rows // 3
        targets: dict[str, Any] = {
            curses_widgets.SCROLL_REFRESH: row,
            curses_widgets.SCROLL_UP: max(row - third, 0),
            curses_widgets.SCROLL_DOWN: min(row + third, last),
            curses_widgets.SCROLL_UP_A_LINE: max(row - 1, 0),
            curses_widgets.SCROLL_DOWN_A_LINE: min(row + 1, last),
            curses_widgets.SCROLL_HOME: 0,
            curses_widgets.SCROLL_END: last,
            curses_widgets.SCROLL_TO_LINE_INDEX: line_index,
        }
        if direction not in targets:
            raise ValueError("Unsupported scroll mode: %s" % direction)
        if not isinstance(targets[direction], int):
            raise TypeError("Invalid line_index type (%s) under mode %s" % (type(line_index), direction))
        self._output_pad_row = targets[direction]
        self._nav_history.update_scroll_position(self._output_pad_row)
        place = self._output_pad_screen_location
        top = place.top + (1 if self._main_menu_pad else 0)
        self._screen_scroll_output_pad(self._output_pad, self._output_pad_row, 0, top, place.left, place.bottom, place.right)
        self._screen_render_nav_bar()
        self._screen_render_menu_pad()
        self._scroll_info = self._compile_ui_status_summary()
        self._screen_draw_text_line(self._output_scroll_row, self._scroll_info, color=self._STATUS_BAR_COLOR_PAIR)

    def _screen_scroll_output_pad(
        self,
        pad: object,
        viewport_top: int,
        viewport_left: int,
        screen_location_top: int,
        screen_location_left: int,
        screen_location_bottom: int,
        screen_location_right: int,
    ) -> None:
        """Shows a part of a pad on a part of the screen, and the scroll bar."""
        corners = (screen_location_top, screen_location_left, screen_location_bottom, screen_location_right)
        self._refresh_pad(pad, viewport_top, viewport_left, *corners)
        rows = self._output_pad_height - self._output_pad_screen_height
        left, right, bottom = self._max_x - 2, self._max_x - 1, self._output_num_rows + 1
        self._scroll_bar = curses_widgets.ScrollBar(left, self._output_top_row + 1, right, bottom, self._output_pad_row, rows)
        bar, _, _ = self._display_lines(self._scroll_bar.layout(), self._output_num_rows - 1)
        self._refresh_pad(bar, 0, 0, self._output_top_row + 1, left, bottom, right)

    def _screen_render_nav_bar(self) -> None:
        if self._nav_bar_pad:
            self._refresh_pad(self._nav_bar_pad, 0, 0, self._nav_bar_row, 0, self._output_pad_screen_location.top, self._max_x)

    def _screen_render_menu_pad(self) -> None:
        if self._main_menu_pad:
            top = self._output_pad_screen_location.top
            self._refresh_pad(self._main_menu_pad, 0, 0, top, 0, top, self._max_x)

    # ---- status and messages ----

    def _compile_ui_status_summary(self) -> str:
        """The line of status: how far the text is scrolled, the indices of the array in its top and bottom rows, and the mouse."""
        info, last = "", self._output_pad_height - self._output_pad_screen_height - 1
        if last > 0:
            row = self._output_pad_row
            keys = "PgDn" if row == 0 else "PgUp" if row >= last else "PgDn/PgUp"
            info += "--- Scroll (%s): %.2f%% " % (keys, 100.0 * min(1.0, row / last))
        self._output_array_pointer_indices = self._show_array_indices()
        if self._output_array_pointer_indices:
            ends = (self._output_array_pointer_indices[end] for end in (0, -1))
            info += "-".join(self._format_indices(indices) if indices else "" for indices in ends) + " "
        mouse = " Mouse: %s ---" % ("ON" if self._mouse_enabled else "OFF")
        if len(info) + len(mouse) < self._max_x:
            return info.ljust(self._max_x - len(mouse), "-") + mouse
        return info.ljust(self._max_x, "-")

    def _format_indices(self, indices: list[int]) -> str:
        return repr(indices).replace(" ", "")

    def _show_array_indices(self) -> dict[int, Any] | None:
        """Shows which elements of an array the top and bottom rows begin with: {0: indices, -1: indices}, or None where neither does."""
        place = self._output_pad_screen_location
        height = place.bottom - place.top - (1 if self._main_menu_pad else 0)
        found = {0: self._show_array_index_at_line(0), -1: self._show_array_index_at_line(height - 1)}
        return found if any(found.values()) else None

    def _show_array_index_at_line(self, line_index: int) -> list[int] | None:
        """Shows over a row of the text the indices of the array element that it begins with, and returns them; None where it has none."""
        annotation = self._curr_wrapped_output.annotations.get(self._output_pad_row + line_index, {})
        indices: list[int] | None = annotation.get(tensor_format.BEGIN_INDICES_KEY)
        if indices is not None:
            row = self._output_top_row + (1 if self._main_menu_pad else 0) + line_index
            self._toast("@" + self._format_indices(indices), color=self._ARRAY_INDICES_COLOR_PAIR, line_index=row)
        return indices

    def _display_candidates(self, candidates: list[str]) -> None:
        """Shows the words that a completion may choose, above the line of status; none clears what was shown before."""
        if self._curr_unwrapped_output:
            self._scroll_output(curses_widgets.SCROLL_REFRESH)
        if not candidates:
            return
        prefix = "Candidates: "
        line = prefix + " ".join(candidates)
        text, _ = wrap_rich_text_lines(RichTextLines(line, {0: [(len(prefix), len(line), "yellow")]}), self._max_x - 3)
        rows = min(len(text.lines), self._candidates_max_lines)
        self._candidates_top_row = self._candidates_bottom_row - rows + 1
        pad, _, _ = self._display_lines(text, 0)
        self._screen_scroll_output_pad(pad, 0, 0, self._candidates_top_row, 0, self._candidates_top_row + rows - 1, self._max_x - 2)

    def _toast(self, message: str, color: str | None = None, line_index: int | None = None) -> None:
        """Shows a message in a row of the screen, by default the one above the line of status."""
        text = RichTextLines(message, {0: [(0, len(message), color or cli_shared.COLOR_WHITE)]})
        pad, _, _ = self._display_lines(text, 0)
        row = self._output_scroll_row - 1 if line_index is None else line_index
        self._screen_scroll_output_pad(pad, 0, 0, row, 0, row, min(len(message), self._max_x - 2))

    def _error_toast(self, message: str) -> None:
        """Shows an error."""
        self._toast(self.ERROR_MESSAGE_PREFIX + message, color=self._ERROR_TOAST_COLOR_PAIR)

    def _info_toast(self, message: str) -> None:
        """Shows a message."""
        self._toast(self.INFO_MESSAGE_PREFIX + message, color=self._INFO_TOAST_COLOR_PAIR)


def _drawn(draw: Callable[..., Any], *args: object) -> None:
    """Draws as much as fits: curses takes it for an error when the last cell is written, or a part lies outside of the screen."""
    try:
        draw(*args)
    except curses.error:
        pass
