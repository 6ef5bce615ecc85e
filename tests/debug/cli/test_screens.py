"""Screens of the analyzer against those that TensorFlow 1.15.5 showed of the same dump: `recorded/` has its session, line by line.

The dump is of a step of gradient descent with a loop, strings, booleans and integers; times and sizes are those of its files.
"""

import pathlib
import zipfile

import children
import numpy as np
import pytest

from tfcompat._src.debug.cli import analyzer_cli, cli_config
from tfcompat._src.debug.dump_dir import DebugDumpDir
from tfcompat._src.debug.dump_files import has_inf_or_nan

RECORDED = pathlib.Path(__file__).parent / "recorded"


@pytest.fixture
def folder(tmp_path):
    with zipfile.ZipFile(RECORDED / "dump.zip") as archive:
        archive.extractall(tmp_path / "run")
    return tmp_path


@pytest.fixture
def analyzer(folder):
    found = analyzer_cli.DebugAnalyzer(DebugDumpDir(str(folder / "run")), cli_config.CLIConfig(str(folder / "config")))
    found.add_tensor_filter("has_inf_or_nan", has_inf_or_nan)
    return found


def analyze(folder, *arguments, commands):
    return children.warm(*arguments, cwd=folder, stdin=commands, HOME=str(folder), COLUMNS="80")


def test_a_session_reads_as_that_of_tensorflow(folder):
    module = "tensorflow.python.debug.cli.offline_analyzer"
    arguments = (*children.RUN, "-m", module, "--dump_dir=run", "--ui_type=readline")
    done = analyze(folder, *arguments, commands=(RECORDED / "commands.txt").read_text())
    assert done.returncode == 0
    assert done.stdout.rstrip("\n").split("\n") == (RECORDED / "screens.txt").read_text().split("\n")
    assert (folder / "saved.txt").read_text().startswith('1 dumped tensor(s):\nNode name regex filter: "loss"\n')
    assert np.load(folder / "out.npy") == -np.inf
    assert "graph_recursion_depth" in (folder / ".tfdbg_config").read_text()


def test_the_command_shows_a_dump_and_ends_with_its_input(folder):
    done = analyze(folder, "-m", "tfcompat", "debug", "run", commands="pt loss\n")
    assert done.returncode == 0 and done.stderr == ""
    assert 'Tensor "loss:0:DebugIdentity":' in done.stdout


def test_the_command_says_where_there_is_no_dump(folder):
    done = analyze(folder, "-m", "tfcompat", "debug", "nowhere", commands="")
    assert done.returncode == 1
    assert done.stderr == "tfcompat debug: Dump root directory nowhere does not exist\n"


def test_attributes_of_a_node(analyzer):
    lines = analyzer.node_info(["-a", "h/mm"]).lines
    start = lines.index("Node attributes:") + 1
    attributes = {tuple(lines[row : row + 3]) for row in range(start, len(lines), 3)}
    assert attributes == {("  T:", "    type: DT_FLOAT", ""), ("  transpose_a:", "    b: false", ""), ("  transpose_b:", "    b: false", "")}


def test_traceback_of_a_node_without_a_graph(analyzer):
    assert analyzer.node_info(["-t", "h/mm"]).lines[-1] == "(Unavailable because no Python graph has been loaded)"


@pytest.mark.parametrize("command, arguments, problem", [
    ("list_tensors", ["-s", "nothing"], "Unsupported key to sort tensors by: nothing"),
    ("list_tensors", ["-fenn", "a"], "The flag --filter_exclude_node_names is valid only when the flag -f or --tensor_filter is used."),
    ("print_tensor", ["h/mm:0[a]"], "Invalid tensor-slicing string."),
    ("evaluate_expression", ["`nothing:0`"], "Eval failed due to the value of nothing:0:DebugIdentity being unavailable"),
    ("evaluate_expression", ["`nothing`"], "The debug tensor name in the to-be-evaluated expression is malformed: 'nothing'"),
    ("list_source", [], "Cannot generate source list due to a lack of set Python graph in the dump object"),
    ("print_source", ["a.py"], "Cannot perform source annotation due to a lack of set Python graph in the dump object"),
])  # fmt: skip
def test_errors_of_commands(analyzer, command, arguments, problem):
    with pytest.raises(ValueError) as caught:
        getattr(analyzer, command)(arguments)
    assert str(caught.value) == problem


def test_links_and_menu(analyzer):
    screen = analyzer.list_tensors(["-n", "h/mm"])
    row = len(screen.lines) - 1
    assert [(screen.lines[row][start:end], item.content) for start, end, item in screen.font_attr_segs[row]] == [("h/mm:0", "pt h/mm:0")]
    menu = analyzer.node_info(["h/mm"]).annotations["mm:"]
    assert {caption: menu.caption_to_item(caption).is_enabled() for caption in menu.captions()} == {
        "list_tensors": True, "node_info": False, "print_tensor": True, "list_inputs": True, "list_outputs": True, "run_info": True, "help": True,
    }  # fmt: skip
    assert menu.caption_to_item("list_inputs").content == "list_inputs -c -r h/mm"


def test_highlighted_elements(analyzer):
    screen = analyzer.print_tensor(["h/mm", "-r", "[4, 20]"])
    marked = {screen.lines[row][start:end] for row, segments in screen.font_attr_segs.items() if row for start, end, _ in segments}
    assert marked == {"12."}


def test_a_filter_of_ones_own(analyzer):
    analyzer.add_tensor_filter("big", lambda datum, value: isinstance(value, np.ndarray) and value.size > 1000)
    rows = analyzer.list_tensors(["-f", "big", "-s", "tensor_name"]).lines
    assert rows[0] == '3 dumped tensor(s) passing filter "big":'
    assert [row.split()[-1] for row in rows[3:]] == ["big:0", "mul:0", "range:0"]


def test_depth_of_trees_follows_the_setting(analyzer, folder):
    config = cli_config.CLIConfig(str(folder / "config"))
    other = analyzer_cli.DebugAnalyzer(DebugDumpDir(str(folder / "run")), config)
    config.set("graph_recursion_depth", "2")
    assert "Depth limit = 2" in other.list_inputs(["-r", "loss"]).lines[0]
