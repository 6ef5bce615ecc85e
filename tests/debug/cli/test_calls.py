"""Functions of the command line against what TensorFlow 1.15.5 gives for the same calls, which `called.py` has recorded."""

import json
import pathlib

import called
import pytest

from tfcompat._src.debug.cli import (
    cli_shared,
    command_parser,
    curses_ui,
    curses_widgets,
    debugger_cli_common,
    evaluator,
    tensor_format,
)

NAMES = called.names(command_parser, cli_shared, tensor_format, debugger_cli_common, curses_widgets, curses_ui, evaluator)
GIVEN = json.loads((pathlib.Path(called.RECORDED) / "given.json").read_text())


@pytest.mark.parametrize("call, expected", list(zip(called.calls(), GIVEN)), ids=called.calls())
def test_a_call(call, expected):
    assert called.given(call, NAMES) == expected


def test_all_calls_are_recorded():
    assert len(GIVEN) == len(called.calls()) > 100
