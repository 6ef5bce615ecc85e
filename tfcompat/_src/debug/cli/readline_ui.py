"""The debugger in lines: a prompt, and what a command prints."""

from __future__ import annotations

import readline
from collections.abc import Callable
from typing import Any

from tfcompat._src.base import errors
from tfcompat._src.debug.cli.base_ui import BaseUI
from tfcompat._src.debug.cli.cli_config import CLIConfig
from tfcompat._src.debug.cli.debugger_cli_common import END_OF_INPUT, EXPLICIT_USER_EXIT, CommandLineExit, RichTextLines


class ReadlineUI(BaseUI):
    """The user interface of prompt and lines, with the history and completion of Python's `readline`.

    Where the input ends, the interface is left with the token END_OF_INPUT.
    """

    def __init__(self, on_ui_exit: Callable[[], Any] | None = None, config: CLIConfig | None = None) -> None:
        super().__init__(on_ui_exit=on_ui_exit, config=config)
        self._init_input()

    def _init_input(self) -> None:
        readline.parse_and_bind("set editing-mode emacs")
        readline.set_completer_delims("\n")  # the completer gets the whole line
        readline.set_completer(self._readline_complete)
        readline.parse_and_bind("tab: complete")
        self._input = input

    def _readline_complete(self, text: str, state: int) -> str:
        context, prefix, before = self._analyze_tab_complete_input(text)
        candidates, _ = self._tab_completion_registry.get_completions(context, prefix)
        return before + (candidates or [])[state]  # readline takes any error for the end of the candidates

    def run_ui(
        self, init_command: str | None = None, title: str | None = None, title_color: str | None = None, enable_mouse_on_start: bool = True
    ) -> Any:
        """Shows the interface until a command leaves it, or the input ends; see `BaseUI.run_ui`. There are no colors and no mouse."""
        print(title)
        if init_command is not None:
            self._dispatch_command(init_command)
        exit_token = self._ui_loop()
        if self._on_ui_exit:
            self._on_ui_exit()
        return exit_token

    def _ui_loop(self) -> Any:
        exit_token = None
        while exit_token is None:
            try:
                command = self._get_user_command()
            except EOFError:
                print()
                return END_OF_INPUT
            exit_token = self._dispatch_command(command)
        return exit_token

    def _get_user_command(self) -> str:
        print("")
        return self._input(self.CLI_PROMPT).strip()

    def _dispatch_command(self, command: str) -> Any:
        """Runs a command and prints its screen; the exit token where it leaves the interface, else None."""
        if command in self.CLI_EXIT_COMMANDS:
            return EXPLICIT_USER_EXIT
        try:
            prefix, args, output_file_path = self._parse_command(command)
        except SyntaxError as e:
            print(e)
            return None
        screen = RichTextLines([self.ERROR_MESSAGE_PREFIX + 'Invalid command prefix "%s"' % prefix])
        if self._command_handler_registry.is_registered(prefix):
            try:
                screen = self._command_handler_registry.dispatch_command(prefix, args, screen_info=None) or RichTextLines([])
            except CommandLineExit as e:
                return e.exit_token
        self._display_output(screen)
        if output_file_path:
            self._save(screen, output_file_path)
        return None

    def _save(self, screen: RichTextLines, path: str) -> None:
        try:
            screen.write_to_file(path)
        except (OSError, errors.OpError):
            print("Failed to write output to %s" % path)
        else:
            print("Wrote output to %s" % path)

    def _display_output(self, screen_output: RichTextLines) -> None:
        for line in screen_output.lines:
            print(line)
