"""What the user interfaces of the debugger have in common: registries of commands and completions, and settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.debug.cli import command_parser
from tfcompat._src.debug.cli.cli_config import CLIConfig
from tfcompat._src.debug.cli.debugger_cli_common import CommandHandlerRegistry, RichTextLines, TabCompletionRegistry


class UnavailableError(Exception):
    """Raised where the terminal cannot show an interface."""


class BaseUI:
    """A user interface.

    Args:
      on_ui_exit: a function that is called when the interface is left.
      config: the settings, a CLIConfig; those of the home folder if None.
    """

    CLI_PROMPT = "tfdbg> "
    CLI_EXIT_COMMANDS = ["exit", "quit"]
    ERROR_MESSAGE_PREFIX = "ERROR: "
    INFO_MESSAGE_PREFIX = "INFO: "

    def __init__(self, on_ui_exit: Callable[[], Any] | None = None, config: CLIConfig | None = None) -> None:
        self._on_ui_exit = on_ui_exit
        self._command_handler_registry = CommandHandlerRegistry()
        self._tab_completion_registry = TabCompletionRegistry()
        help_words = [CommandHandlerRegistry.HELP_COMMAND, *CommandHandlerRegistry.HELP_COMMAND_ALIASES]
        self._tab_completion_registry.register_tab_comp_context([""], self.CLI_EXIT_COMMANDS + help_words)
        self._config = config or CLIConfig()
        self._config_argparser = command_parser.CommandArguments("config command")
        actions = self._config_argparser.add_subparsers()
        setting = actions.add_parser("set")
        setting.add_argument("property_name")
        setting.add_argument("property_value")
        actions.add_parser("show")
        self.register_command_handler("config", self._config_command_handler, self._config_argparser.format_help(), prefix_aliases=["cfg"])

    @property
    def config(self) -> CLIConfig:
        """The settings."""
        return self._config

    def set_help_intro(self, help_intro: RichTextLines) -> None:
        """Sets the text that `help` shows before the commands."""
        self._command_handler_registry.set_help_intro(help_intro=help_intro)

    def register_command_handler(
        self, prefix: str, handler: Callable[..., Any], help_info: str, prefix_aliases: list[str] | None = None
    ) -> None:
        """Registers a command, as `CommandHandlerRegistry.register_command_handler` does, and completes its names."""
        self._command_handler_registry.register_command_handler(prefix, handler, help_info, prefix_aliases=prefix_aliases)
        self._tab_completion_registry.extend_comp_items("", [prefix, *(prefix_aliases or [])])

    def register_tab_comp_context(self, *args: Any, **kwargs: Any) -> None:
        """Registers completions, as `TabCompletionRegistry.register_tab_comp_context` does."""
        self._tab_completion_registry.register_tab_comp_context(*args, **kwargs)

    def run_ui(
        self, init_command: str | None = None, title: str | None = None, title_color: str | None = None, enable_mouse_on_start: bool = True
    ) -> Any:
        """Shows the interface until a command leaves it.

        Args:
          init_command: a command that is run first.
          title: the title.
          title_color: the color of the title.
          enable_mouse_on_start: whether the mouse can be used from the start; interfaces go by the setting mouse_mode.

        Returns:
          The exit token of the command.
        """
        raise NotImplementedError("run_ui() is not implemented in BaseUI")

    def _parse_command(self, command: str) -> tuple[str, list[str], str | None]:
        """The name of a command, its arguments, and the file that its screen goes to, or None. SyntaxError where ">" ends the line."""
        words, path = command_parser.extract_output_file_path(command_parser.parse_command(command))
        return (words[0], words[1:], path) if words else ("", [], None)

    def _analyze_tab_complete_input(self, text: str) -> tuple[str, str, str]:
        """For the completion of a line: its first word (the context), its last, and all that comes before the last."""
        *before, last = text.lstrip().split(" ")
        return (before[0], last, " ".join(before) + " ") if before else ("", last, "")

    def _config_command_handler(self, args: list[str], screen_info: dict[str, int] | None = None) -> RichTextLines:
        """The command `config`: shows the settings, or sets one."""
        parsed = self._config_argparser.parse_args(args)
        if not hasattr(parsed, "property_name"):
            return self._config.summarize()
        self._config.set(parsed.property_name, parsed.property_value)
        return self._config.summarize(highlight=parsed.property_name)
