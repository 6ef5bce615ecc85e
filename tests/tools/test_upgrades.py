"""`tf_upgrade_v2`: programs, reports, folders and notebooks, as TensorFlow 1.15's own command makes them."""

import gzip
import json
import pathlib
import sys

import pytest

from tfcompat._src.tools.compatibility import api_changes, command, written_tree
from tfcompat._src.tools.compatibility.upgrade_safety import TFAPIChangeSpec as Safety
from tfcompat._src.tools.compatibility.upgrade_v2 import TFAPIChangeSpec
from tfcompat._src.tools.compatibility.upgrader import ASTCodeUpgrader

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import upgrade_programs  # noqa: E402

GOLDEN = pathlib.Path(__file__).parent.parent / "golden" / "upgrades.json.gz"
RECORD = json.loads(gzip.decompress(GOLDEN.read_bytes()))
TABLES = ("renames", "manual_renames", "addons", "reorders", "manual_reorders", "keyword_renames", "argument_warnings", "warnings", "call_changes", "safety_warnings")


def programs():
    return [*upgrade_programs.PROGRAMS, upgrade_programs.every_name({name: api_changes.table(name) for name in TABLES})]


@pytest.mark.parametrize("mode, spec", [(0, TFAPIChangeSpec), (1, Safety)], ids=["default", "safety"])
def test_programs_become_what_tensorflow_makes_of_them(mode, spec):
    for text, expected in zip(programs(), RECORD, strict=True):
        count, *found = ASTCodeUpgrader(spec()).update_string_pasta(text, "in.py")
        if expected[mode] is None:
            assert (count, found[0]) == (0, ""), text
        else:
            assert (count, found) == (1, expected[mode]), text


def test_a_tree_without_changes_is_written_as_its_source():
    path = pathlib.Path(written_tree.__file__)
    for source in [path, path.with_name("call_changes.py"), pathlib.Path(__file__)]:
        assert written_tree.write(written_tree.parse(source.read_text())) == source.read_text()


def test_generator_expressions_f_strings_and_comments_keep_their_text():
    text = 'x = f( # one\n  a for a in (b)\n)\ny = g((a for a in b) , *c, **(d))\nz = f"{a!r:>{w}}" f\'{ b }\' "c"\n'
    assert written_tree.write(written_tree.parse(text)) == text


def test_a_change_that_cannot_be_written_is_refused():
    tree = written_tree.parse("def f(): pass\n")
    tree.body[0].name = "g"
    with pytest.raises(NotImplementedError, match="changing name of FunctionDef"):
        written_tree.write(tree)


def test_the_upgrader_wants_a_spec():
    with pytest.raises(TypeError, match="Must pass APIChangeSpec to ASTCodeUpgrader, got <class 'int'>"):
        ASTCodeUpgrader(3)


def test_command_writes_file_and_report(tmp_path, capsys):
    source, target, report = tmp_path / "a.py", tmp_path / "b.py", tmp_path / "r.txt"
    source.write_text("import tensorflow as tf\ntf.log(x)\ntf.contrib.a.b\n")
    assert command.main(["--infile", str(source), "--outfile", str(target), "--reportfile", str(report)]) == 0
    assert target.read_text() == "import tensorflow as tf\ntf.math.log(x)\ntf.contrib.a.b\n"
    lines = report.read_text().splitlines()
    assert lines[:4] == ["TensorFlow 2.0 Upgrade Script", "-" * 29, "Converted 1 files", "Detected 1 issues that require attention"]
    assert "2:0: INFO: Renamed 'tf.log' to 'tf.math.log'" in lines
    assert f"{source}:3:0: ERROR: Using member tf.contrib.a.b in deprecated module tf.contrib." in report.read_text()
    assert "Make sure to read the detailed log" in capsys.readouterr().out


def test_command_upgrades_folders(tmp_path):
    (tmp_path / "old" / "inner").mkdir(parents=True)
    (tmp_path / "old" / "inner" / "a.py").write_text("tf.log(x)\n")
    (tmp_path / "old" / "note.txt").write_text("tf.log(x)\n")
    (tmp_path / "old" / "link.py").symlink_to("elsewhere.py")
    arguments = ["--intree", str(tmp_path / "old"), "--outtree", str(tmp_path / "new"), "--reportfile", str(tmp_path / "r.txt")]
    command.main(arguments)
    assert (tmp_path / "new" / "inner" / "a.py").read_text() == "tf.math.log(x)\n"
    assert (tmp_path / "new" / "note.txt").read_text() == "tf.log(x)\n"
    assert (tmp_path / "new" / "link.py").readlink() == pathlib.Path("elsewhere.py")
    assert f"Input tree: {str(tmp_path / 'old')!r}" in (tmp_path / "r.txt").read_text()
    with pytest.raises(SystemExit):
        command.main(arguments)
    command.main(["--intree", str(tmp_path / "old"), "--inplace", "--reportfile", str(tmp_path / "r.txt")])
    assert (tmp_path / "old" / "inner" / "a.py").read_text() == "tf.math.log(x)\n"
    assert f"Skipping symlink {tmp_path / 'old' / 'link.py'}." in (tmp_path / "r.txt").read_text()


def test_command_upgrades_notebooks(tmp_path):
    cells = [
        {"cell_type": "markdown", "source": ["tf.log"]},
        {"cell_type": "code", "source": ["%matplotlib inline\n", "!ls \\\n", "  tf.log\n", "tf.log(x)\n"]},
        {"cell_type": "code", "source": ["%%bash\n", "tf.log\n"]},
        {"cell_type": "code", "source": ["tf.reduce_sum(x, 1, keep_dims=True)"]},
    ]
    source, target = tmp_path / "a.ipynb", tmp_path / "b.ipynb"
    source.write_text(json.dumps({"cells": cells}))
    command.main(["--infile", str(source), "--outfile", str(target), "--reportfile", str(tmp_path / "r.txt")])
    found = [cell["source"] for cell in json.loads(target.read_text())["cells"]]
    assert found[1] == "%matplotlib inline\n!ls \\\n  tf.log\ntf.math.log(x)\n"
    assert found[3] == "tf.reduce_sum(input_tensor=x, axis=1, keepdims=True)"
    assert [found[0], found[2]] == [cells[0]["source"], cells[2]["source"]]


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--infile", "a.py"], "--outfile=<output file> argument is required"),
        (["--infile", "a.py", "--outfile", "b.py", "--inplace"], "--outfile argument is invalid"),
        (["--intree", "a"], "--outtree=<output directory> argument is required"),
    ],
)
def test_command_wants_to_know_where_to_write(arguments, message):
    with pytest.raises(ValueError, match=message):
        command.main(arguments)


def upgraded(text):
    return ASTCodeUpgrader(TFAPIChangeSpec()).update_string_pasta(text, "in.py")[1]


def test_changes_at_which_tensorflow_itself_fails_are_made_as_its_tables_say():
    """1.15 raises a TypeError for tf.device(device_name=...), and an AttributeError for pools that are deterministic."""
    assert upgraded("tf.device(device_name=f)\ntf.device(device_name='cpu:0')\n") == "tf.compat.v1.device(device_name=f)\ntf.device(device_name='cpu:0')\n"
    pool = "tf.nn.fractional_max_pool"
    assert upgraded(f"{pool}(x, deterministic=True)\n") == f"{pool}(value=x, seed=42)\n"
    assert upgraded(f"{pool}(x, deterministic=d, seed=3)\n") == f"{pool}(value=x, seed=3)\n"


def test_names_in_f_strings_with_formats_are_upgraded():
    assert upgraded("f'{tf.log(y):.3f} {tf.log(x):>{tf.log(z)}}'\n") == "f'{tf.math.log(y):.3f} {tf.math.log(x):>{tf.math.log(z)}}'\n"
