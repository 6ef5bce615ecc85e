"""The documents show what happens: their examples are run.

Examples with `>>>` run as doctests, blocks marked `python` as programs, and blocks marked `console` as commands whose output is compared. Blocks marked
`sh` or `text` are not run: they install packages, or come from repositories that are not here.
"""

import ast
import doctest
import itertools
import pathlib
import re
import shlex

import children
import pytest

import tfcompat as tf
from tfcompat._src.interpreter import engine
from tfcompat._src.interpreter.table import REFUSED

ROOT = pathlib.Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").glob("*.md"))
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(path, language):
    """The text of each fenced block of a language."""
    return [text for found, text in FENCED.findall(path.read_text()) if found == language]


PROGRAMS = [pytest.param(text, id=f"{path.stem}-{i}") for path in PAGES for i, text in enumerate(blocks(path, "python"))]
COMMANDS = [pytest.param(text, id=f"{path.stem}-{i}") for path in PAGES for i, text in enumerate(blocks(path, "console"))]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_examples(path):
    text = re.sub(r"^```.*$", "", path.read_text(), flags=re.MULTILINE)
    example = doctest.DocTestParser().get_doctest(text, {}, path.name, str(path), 0)
    assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example).failed == 0
    assert example.examples or blocks(path, "python") or blocks(path, "console"), "a page without an example"


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs(program, monkeypatch):
    monkeypatch.chdir(ROOT)
    with tf.Graph().as_default():
        exec(compile(program, "program of a page", "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize("block", COMMANDS)
def test_commands(block):
    for command, wanted in re.findall(r"^\$ (.*)\n((?:[^$].*\n)*)", block, re.MULTILINE):
        words = shlex.split(command)
        settings = dict(itertools.takewhile(lambda pair: pair[0].isupper(), (word.split("=", 1) for word in words)))
        name, *arguments = words[len(settings) :]
        assert name == "tfcompat"
        run = children.python if settings else children.warm
        done = run("-m", "tfcompat", *arguments, cwd=ROOT, **settings)
        assert done.returncode == 0, done.stderr
        assert doctest.OutputChecker().check_output(wanted, done.stdout, doctest.ELLIPSIS), done.stdout


NAMING = [ROOT / "docs/architecture.md", ROOT / "docs/restored.md", *sorted((ROOT / "tfcompat").rglob("README.md"))]


@pytest.mark.parametrize("path", NAMING, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_files_that_are_named_exist(path):
    there = {p.name for folder in ("tfcompat", "tests") for p in (ROOT / folder).rglob("*.py")}
    named = {file.rpartition("/")[2] for file in re.findall(r"`([\w/]+\.py)`", path.read_text())}
    assert named and named <= there


def test_the_stages_are_those_of_the_planner_and_have_files():
    drawn = re.findall(r"^.*[|+]  (\w+)  +\w", (ROOT / "docs/architecture.md").read_text(), re.MULTILINE)
    said = ast.get_docstring(ast.parse((ROOT / "tfcompat/_src/runtime/passes/pipeline.py").read_text())).partition("in order: ")[2]
    assert re.findall(r"\w+", re.sub(r"\(.*?\)", "", said.partition(".")[0])) == drawn
    assert all(list((ROOT / "tfcompat/_src/runtime").glob(f"*/{stage}*.py")) for stage in drawn)


def test_the_interpreter_lacks_what_its_document_says():
    text = (ROOT / "tfcompat/_src/interpreter/README.md").read_text().partition("## What is missing")[2].partition("##")[0]
    named = set(re.findall(r"`(\w+)`", text))
    assert {name for name in named if name not in engine.TABLE} == {"eig", "schur", "select_and_gather_add"}
    assert REFUSED["qr"]({"pivoting": True}) and not REFUSED["qr"]({"pivoting": False}) and named >= {"qr"}
    scatters = re.search(r"scatters with functions other than ([\w, ]+), random", text)[1].split(", ")
    assert {name for name in engine.TABLE if name.startswith("scatter_")} == {f"scatter_{kind}" for kind in scatters}


def test_every_file_of_primitives_is_in_the_interpreters_document():
    text = (ROOT / "tfcompat/_src/interpreter/README.md").read_text()
    assert {f"{prepare.__module__.rpartition('.')[2]}.py" for prepare in engine.TABLE.values()} <= set(re.findall(r"`(\w+\.py)`", text))


def test_generated_pages_are_current():
    """In a process of its own: which submodules are imported changes what tf.contrib answers."""
    done = children.python("docs/generate.py", "--check", cwd=ROOT)
    assert done.returncode == 0, done.stderr


def test_reference_has_what_a_reader_needs():
    page = (ROOT / "docs/reference.md").read_text()
    entries = re.findall(r"^### (tf\.\S+)\n\n```text\n\1\([^\n]*\)\n```\n\n\S.*?^```pycon\n>>> .*?^```$", page, re.MULTILINE | re.DOTALL)
    assert len(set(entries)) == len(re.findall(r"^### ", page, re.MULTILINE)) == 200
