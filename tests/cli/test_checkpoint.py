"""`tfcompat checkpoint`."""

import pathlib

import pytest

from tfcompat._src.cli import checkpoint

PREFIX = str(pathlib.Path(__file__).parent.parent / "golden" / "checkpoint" / "v2_parts")


def test_show(capsys):
    assert checkpoint.main(["show", PREFIX, "rows"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "rows:" and out[1] == "[[ 0.  1.  2.]" and out[-1] == " [12. 13. 14.]]"


@pytest.mark.parametrize("arguments", [["show", "nowhere"], ["show", PREFIX, "nothing"]])
def test_what_is_missing_is_said(capsys, arguments):
    assert checkpoint.main(arguments) == 1
    assert arguments[-1] in capsys.readouterr().err
