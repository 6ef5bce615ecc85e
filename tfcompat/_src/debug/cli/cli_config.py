"""The settings of the debugger's command line, which a file in the home folder keeps."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

from tfcompat._src.base import errors
from tfcompat._src.debug.cli.debugger_cli_common import RichLine, RichTextLines, rich_text_lines_from_rich_line_list
from tfcompat._src.platform import file_io, gfile

RL = RichLine
_TRUE = ("1", "true", "t", "yes", "y", "on")
_FALSE = ("0", "false", "f", "no", "n", "off")


class CLIConfig:
    """Settings by name.

    Args:
      config_file_path: the file, `~/.tfdbg_config` if None. One that cannot be read or written is no error.
    """

    _CONFIG_FILE_NAME = ".tfdbg_config"
    _DEFAULT_CONFIG = [("graph_recursion_depth", 20), ("mouse_mode", True)]

    def __init__(self, config_file_path: str | None = None) -> None:
        self._config_file_path = config_file_path or self._default_config_file_path()
        self._config: dict[str, Any] = dict(self._DEFAULT_CONFIG)
        if gfile.file_exists(self._config_file_path):
            self._config.update(self._load_from_file())
        self._save_to_file()
        self._set_callbacks: dict[str, Callable[[Any], Any]] = {}

    def get(self, property_name: str) -> Any:
        """The value of a setting. KeyError where there is none of this name."""
        if property_name not in self._config:
            raise KeyError("%s is not a valid property name." % property_name)
        return self._config[property_name]

    def set(self, property_name: str, property_val: Any) -> None:
        """Sets a value, which becomes of the type of the setting, and calls what `set_callback` was given.

        Raises:
          KeyError: there is no setting of this name.
          ValueError: the text is none that means a value of the type.
        """
        kind = type(self.get(property_name))
        if kind is bool and isinstance(property_val, str):
            if property_val.lower() not in _TRUE + _FALSE:
                raise ValueError("Invalid string value for bool type: %s" % property_val)
            property_val = property_val.lower() in _TRUE
        if kind not in (bool, int, str):
            raise TypeError("Unsupported property type: %s" % kind)
        self._config[property_name] = kind(property_val)
        self._save_to_file()
        if property_name in self._set_callbacks:
            self._set_callbacks[property_name](self._config)

    def set_callback(self, property_name: str, callback: Callable[[Any], Any]) -> None:
        """Has `callback` called with the settings whenever this one is set.

        Raises:
          KeyError: there is no setting of this name.
          TypeError: `callback` cannot be called.
        """
        self.get(property_name)
        if not callable(callback):
            raise TypeError("The callback object provided is not callable.")
        self._set_callbacks[property_name] = callback

    def _default_config_file_path(self) -> str:
        return os.path.join(os.path.expanduser("~"), self._CONFIG_FILE_NAME)

    def _save_to_file(self) -> None:
        try:
            with file_io.FileIO(self._config_file_path, "w") as file:
                file.write(json.dumps(self._config))
        except (OSError, errors.OpError):
            pass  # as in 1.15: a home folder that cannot be written costs the settings, not the session

    def summarize(self, highlight: str | None = None) -> RichTextLines:
        """The screen of all settings, with the one named `highlight` in bold."""
        lines = [RL("Command-line configuration:", "bold"), RL("")]
        for name, value in self._config.items():
            bold = "bold" if name == highlight else None
            lines.append(RL("  ") + RL(name, ["underline", bold]) + ": " + RL(str(value), bold))
        return rich_text_lines_from_rich_line_list(lines)

    def _load_from_file(self) -> dict[str, Any]:
        try:
            found = json.loads(file_io.read_file_to_string(self._config_file_path))
        except (OSError, errors.OpError, ValueError):
            return {}  # as in 1.15: a broken file of settings is no reason not to debug
        return dict(sorted(found.items())) if isinstance(found, dict) else {}
