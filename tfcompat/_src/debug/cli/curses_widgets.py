"""Parts of the screen of the curses interface: the bar of past screens, and the scroll bar."""

from __future__ import annotations

import dataclasses

from tfcompat._src.debug.cli import cli_shared
from tfcompat._src.debug.cli.debugger_cli_common import (
    MenuItem,
    RichLine,
    RichTextLines,
    rich_text_lines_from_rich_line_list,
)

RL = RichLine
SCROLL_REFRESH = "refresh"
SCROLL_UP = "up"
SCROLL_DOWN = "down"
SCROLL_UP_A_LINE = "up_a_line"
SCROLL_DOWN_A_LINE = "down_a_line"
SCROLL_HOME = "home"
SCROLL_END = "end"
SCROLL_TO_LINE_INDEX = "scroll_to_line_index"


@dataclasses.dataclass
class NavigationHistoryItem:
    """A past screen: its command, its text, and how many rows it was scrolled by."""

    command: str
    screen_output: RichTextLines | None
    scroll_position: int


class CursesNavigationHistory:
    """The last `capacity` screens, and which of them is shown.

    Raises:
      ValueError: the capacity is not positive.
    """

    BACK_ARROW_TEXT = "<--"
    FORWARD_ARROW_TEXT = "-->"

    def __init__(self, capacity: int) -> None:
        if capacity <= 0:
            raise ValueError("In valid capacity value: %d" % capacity)
        self._capacity = capacity
        self._items: list[NavigationHistoryItem] = []
        self._pointer = -1

    def add_item(self, command: str, screen_output: RichTextLines | None, scroll_position: int) -> None:
        """Adds a screen behind the shown one, in place of those that were behind it."""
        shown = self._items[: self._pointer + 1]
        self._items = [*shown, NavigationHistoryItem(command, screen_output, scroll_position)][-self._capacity :]
        self._pointer = len(self._items) - 1

    def update_scroll_position(self, new_scroll_position: int) -> None:
        """Notes by how many rows the shown screen is scrolled. ValueError where there is none."""
        self._shown().scroll_position = new_scroll_position

    def _shown(self) -> NavigationHistoryItem:
        if not self._items:
            raise ValueError("Empty navigation history")
        return self._items[self._pointer]

    def size(self) -> int:
        return len(self._items)

    def pointer(self) -> int:
        return self._pointer

    def go_back(self) -> NavigationHistoryItem:
        """Goes to the screen before, if there is one: the shown screen. ValueError where there is none at all."""
        self._pointer -= self.can_go_back()
        return self._shown()

    def go_forward(self) -> NavigationHistoryItem:
        """Goes to the screen after, if there is one: the shown screen. ValueError where there is none at all."""
        self._pointer += self.can_go_forward()
        return self._shown()

    def can_go_back(self) -> bool:
        return self._pointer >= 1

    def can_go_forward(self) -> bool:
        return self._pointer + 1 < len(self._items)

    def render(
        self,
        max_length: int,
        backward_command: str,
        forward_command: str,
        latest_command_attribute: object = "black_on_white",
        old_command_attribute: object = "magenta_on_white",
    ) -> RichTextLines:
        """The line of arrows and of the shown command, which says how far back it is.

        Args:
          max_length: the width of the line.
          backward_command: what a click on the left arrow runs.
          forward_command: what a click on the right arrow runs.
          latest_command_attribute: the attribute of the last command.
          old_command_attribute: the attribute of an earlier one.
        """
        line = RL("| ") + RL(self.BACK_ARROW_TEXT, MenuItem(None, backward_command) if self.can_go_back() else None)
        line += RL(" ") + RL(self.FORWARD_ARROW_TEXT, MenuItem(None, forward_command) if self.can_go_forward() else None)
        if self._items:
            later = len(self._items) - 1 - self._pointer
            attribute = old_command_attribute if later else latest_command_attribute
            line += " | "
            if later:
                line += RL("(-%d) " % later, attribute)
            room = max_length - len(line)
            if room > 0:
                line += RL(self._shown().command[:room], attribute)
        return rich_text_lines_from_rich_line_list([line])


class ScrollBar:
    """A vertical scroll bar: a button at each end, and a block between them.

    Args:
      min_x: its first column on the screen.
      min_y: its first row.
      max_x: its last column.
      max_y: its last row.
      scroll_position: by how many rows the text is scrolled.
      output_num_rows: by how many rows it can be scrolled, and one more.

    Raises:
      ValueError: there is no room.
    """

    BASE_ATTR = cli_shared.COLOR_BLACK + "_on_" + cli_shared.COLOR_WHITE
    _BUTTONS = {1: ("U", "D"), 2: ("UP", "DN"), 3: ("UP ", "DN ")}

    def __init__(self, min_x: int, min_y: int, max_x: int, max_y: int, scroll_position: int, output_num_rows: int) -> None:
        self._min_x = min_x
        self._min_y = min_y
        self._max_x = max_x
        self._max_y = max_y
        self._scroll_position = scroll_position
        self._output_num_rows = output_num_rows
        self._scroll_bar_height = max_y - min_y + 1
        if max_x < min_x:
            raise ValueError("Insufficient width for ScrollBar (%d)" % (max_x - min_x + 1))
        if max_y < min_y + 3:
            raise ValueError("Insufficient height for ScrollBar (%d)" % (max_y - min_y + 1))

    def _block_y(self, screen_coord_sys: bool = False) -> int:
        """The row of the block, in the bar or on the screen."""
        row = int(self._scroll_position / (self._output_num_rows - 1) * (self._scroll_bar_height - 3)) + 1
        return row + self._min_y if screen_coord_sys else row

    def layout(self) -> RichTextLines:
        """The text of the bar; blank where nothing can be scrolled."""
        width = self._max_x - self._min_x + 1
        if self._output_num_rows <= 1:
            return RichTextLines([" " * width] * self._scroll_bar_height)
        up, down = self._BUTTONS.get(width, (" UP ", "DOWN"))
        text = RichTextLines([up, *[" " * width] * (self._scroll_bar_height - 2), down])
        for row in (0, self._block_y(), self._scroll_bar_height - 1):
            text.font_attr_segs[row] = [(0, width, self.BASE_ATTR)]
        return text

    def get_click_command(self, mouse_y: int) -> str | None:
        """How a click on a row of the screen scrolls, or None."""
        if self._output_num_rows <= 1:
            return None
        block = self._block_y(screen_coord_sys=True)
        if mouse_y == self._min_y:
            return SCROLL_UP_A_LINE
        if mouse_y == self._max_y:
            return SCROLL_DOWN_A_LINE
        if block < mouse_y < self._max_y:
            return SCROLL_DOWN
        return SCROLL_UP if self._min_y < mouse_y < block else None
