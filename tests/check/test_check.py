"""`tfcompat check` on a repository whose lines say behind `#:` what is to be reported of them, and on nothing else.

What the lines say comes from TensorFlow 1.15.5's names and signatures, docs/missing.md and Python's and NumPy's notes on what they removed.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import types

import pytest

from tfcompat._src.cli.check import command, files, names_of_others, python2
from tfcompat._src.cli.check.meanings import programs as of_programs
from tfcompat._src.cli.check.scopes import OPAQUE
from tfcompat._src.cli.check.uses import Context, Module

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = pathlib.Path(__file__).parent / "programs" / "repository"
FILES = [str(path.relative_to(PROGRAMS)) for path in sorted(PROGRAMS.rglob("*.py"))]
NOT_IN_COMMENTS = {
    ("python_2.py", None, 5, "restored Python 2 syntax: leading zeros in decimal integer literals are not permitted; use an 0o prefix for octal integers"),
    ("notebook.ipynb", 4, 2, "missing tf.mul"),
    ("notebook.ipynb", 5, 1, "stops Python 2 syntax: Missing parentheses in call to 'print'"),
    ("notebook.ipynb", 6, 1, "stops syntax: '(' was never closed"),
}  # fmt: skip


def check(*arguments, cwd):
    env = dict(os.environ, PYTHONPATH=str(ROOT), JAX_PLATFORMS="cpu")
    return subprocess.run([sys.executable, "-m", "tfcompat", "check", *arguments], cwd=cwd, env=env, capture_output=True, text=True)


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    folder = shutil.copytree(PROGRAMS, tmp_path_factory.mktemp("check") / "repository")
    (folder / "python_2.txt").rename(folder / "python_2.py")
    (folder / "notebook.txt").rename(folder / "notebook.ipynb")
    return folder


@pytest.fixture(scope="module")
def report(repository):
    done = check("--json", ".", cwd=repository)
    assert done.returncode == 1, done.stderr
    return json.loads(done.stdout)


def rows(report):
    for part in ("tensorflow", "others", "packages"):
        yield from report[part]


def reported(report, file):
    """What the report says of the lines of a file, but that they are well."""
    return {
        (place["file"], place["cell"], place["line"], "guarded " * place["guarded"] + f"{row['status'].replace(' ', '_')} {row['name']}")
        for row in rows(report) if row["status"] != "works" for place in row["places"] if place["file"] == file
    }  # fmt: skip


def wanted(text, file):
    return {(file, None, number, each.strip()) for number, line in enumerate(text.splitlines(), 1) for each in line.split("#: ")[1:]}


@pytest.mark.parametrize("file", [*FILES, "python_2.py", "notebook.ipynb"])
def test_lines_are_reported(file, report, repository):
    apart = {each for each in NOT_IN_COMMENTS if each[0] == file}
    assert reported(report, file) == apart | wanted((repository / file).read_text(), file)


def test_names_that_work_have_their_lines(report):
    lines = {row["name"]: [(p["file"], p["line"]) for p in row["places"]] for row in report["tensorflow"] if row["status"] == "works"}
    assert ("aliases.py", 24) in lines["tf.contrib.layers.xavier_initializer"]
    assert lines["tf.contrib.rnn.BasicLSTMCell"] == [("aliases.py", 15), ("guards.py", 35)]
    assert lines["tensorflow.python.ops.array_ops.concat"] == [("aliases.py", 25)]
    assert lines["tf.app.flags.FLAGS"] == [("aliases.py", 13), ("aliases.py", 20)]
    assert [p["cell"] for row in report["tensorflow"] if row["name"] == "tf.nn.relu" for p in row["places"] if p["file"] == "notebook.ipynb"] == [7]
    assert "tf.my_own_name" not in lines


def test_the_summary_counts_names(report):
    def count(part, status, guarded=False):
        return sum(row["status"] == status and all(p["guarded"] for p in row["places"]) == guarded for row in report[part])

    assert report["files"] == len(FILES) + 2
    assert report["summary"] == {
        "works": sum(row["status"] == "works" for row in report["tensorflow"]), "partly": 1, "missing": count("tensorflow", "missing"),
        "stops": count("others", "stops"), "restored": count("others", "restored"),
        "guarded": count("tensorflow", "missing", True) + count("others", "stops", True),
    }  # fmt: skip


def test_a_person_reads_what_to_do(tmp_path):
    (tmp_path / "train.py").write_text("import tensorflow as tf\nimport numpy as np\nx = tf.mul(2, 3)\ny = tf.mul(x, x)\nnp.int(x)\ntf.square(x)\n")
    done = check(".", "--all", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout == """\
Missing from tfcompat (1)
  tf.mul: TensorFlow 1.0 renamed it; use tf.multiply
    train.py:3, 4

Restored by tfcompat run (1)
  numpy.int
    train.py:5

Works (2)
  tensorflow
    train.py:1
  tf.square
    train.py:6

Files: 1. Names of TensorFlow: 3, of which 2 work, 0 work for some arguments, 1 are missing.
Of Python and its packages 0 stop the program and 1 are restored.
"""


OLD = {
    "train.py": "import tensorflow as tf, reader, both\nfor i in xrange(3): tf.concat(0, [[i], tf.mul(i, i)])\n",
    "reader.py": "import cPickle, itertools\nd = {}\nprint(d.keys()[0], d.has_key(1), range(len(d) / 2), itertools.izip(d), tf)\n",
    "both.py": "try:\n    unicode\nexcept NameError:\n    unicode = str\n",
    "new.py": "import tensorflow as tf, both\ntf.layers.dense(tf.mul(3, 4), 5)\nprint(f'{xrange}', {}.has_key(1))\n",
    "cells.ipynb": json.dumps({"cells": [{"cell_type": "code", "source": ["import tensorflow as tf, train\n", "tf.mul(xrange, 4)"]}]}),
}


def statuses(folder, programs):
    for file, text in programs.items():
        (folder / file).write_text(text)
    report = json.loads(check("--json", ".", cwd=folder).stdout)
    return {(p["file"], row["name"], row["status"], p["guarded"]) for row in rows(report) if row["status"] != "works" for p in row["places"]}


def test_programs_of_yesterday_have_what_they_are_run_with(tmp_path):
    """A file that programs of both Pythons import has only what both have; a cell has what Python 3 and 1.15 have."""
    assert statuses(tmp_path, OLD) == {
        ("train.py", "xrange", "restored", False), ("train.py", "tf.concat(axis, ...)", "restored", False), ("train.py", "tf.mul", "restored", False),
        ("reader.py", "cPickle", "restored", False), ("reader.py", ".keys()[i]", "restored", False), ("reader.py", "dict.has_key", "restored", False),
        ("reader.py", "range(a / b)", "restored", False), ("reader.py", "itertools.izip", "restored", False),
        ("both.py", "unicode", "stops", True),
        ("new.py", "tf.mul", "missing", False), ("new.py", "xrange", "stops", False), ("new.py", "dict.has_key", "stops", False),
        ("cells.ipynb", "tf.mul", "missing", False), ("cells.ipynb", "xrange", "stops", False),
    }  # fmt: skip


def test_a_guard_that_only_a_program_of_python_2_imports(tmp_path):
    assert ("both.py", "unicode", "restored", True) in statuses(tmp_path, {name: OLD[name] for name in ("train.py", "reader.py", "both.py")})


def test_programs_of_yesterday_run_as_they_are(tmp_path):
    old = "import tensorflow as tf, itertools\nprint tf.mul(2, 3).name, tf.neg(1).name, tf.pack([1]).name, {1: 2}.has_key(1), list(itertools.izip('a'))\n"
    assert {each[2:] for each in statuses(tmp_path, {"old.py": old})} == {("restored", False)}
    assert check("old.py", cwd=tmp_path).returncode == 0
    env = dict(os.environ, PYTHONPATH=str(ROOT), JAX_PLATFORMS="cpu")
    done = subprocess.run([sys.executable, "-m", "tfcompat", "run", "old.py"], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.stdout == "Mul:0 Neg:0 pack:0 True [('a',)]\n", done.stderr


def test_files_that_import_each_other_are_one_program():
    assert list(of_programs({"a": ["b"], "b": ["a"], "c": ["c", "d"], "d": []})) == [["c", "d"], ["a", "b"]]


def test_nothing_missing_is_status_0(tmp_path):
    (tmp_path / "train.py").write_text("import tensorflow as tf\ntry:\n  tf.mul\nexcept AttributeError:\n  tf.multiply\n")
    done = check("train.py", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("arguments, text", [
    ([], "usage: tfcompat check"), (["--no-such-option", "x"], "usage: tfcompat check"), (["no_such_file.py"], "cannot read no_such_file.py: No such file"),
    (["."], "no .py or .ipynb file in ."),
])  # fmt: skip
def test_nothing_to_read_is_status_2(arguments, text, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert command.main(arguments) == 2
    assert text in capsys.readouterr().err


def test_folders_of_other_programs_are_passed_over(tmp_path):
    for name in ("a.py", "sub/b.py", ".git/c.py", "node_modules/d.py", "own/pyvenv.cfg", "own/lib/e.py", "sub/f.txt", "sub/g.ipynb"):
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).touch()
    assert [os.path.relpath(path, tmp_path) for path in files.programs([str(tmp_path)])] == ["a.py", "sub/b.py", "sub/g.ipynb"]


def test_a_notebook_that_is_none_is_a_problem(tmp_path):
    (tmp_path / "a.ipynb").write_text("[")
    assert [problem.text for problem in files.read(str(tmp_path / "a.ipynb")).problems] == ["this is not a notebook"]


def test_progress_is_shown_on_a_terminal_where_there_are_many_files(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    for count, shown in ((3, False), (100, True)):
        progress = command._progress(count)
        for i in range(count):
            progress(i + 1)
        assert ("100 of 100 files" in capsys.readouterr().err) == shown


@pytest.mark.parametrize("text", ["print", "print 3,", "if x: print 'a' % b; print", "print >>f, 3L", "def f(): exec code in d", "raise E, 'text', trace", "x = 0xffL + 010"])
def test_python_2_is_readable(text):
    with pytest.raises(SyntaxError):
        compile(text.replace("print", "print 1", 1) if text == "print" else text, "a", "exec")
    assert python2.readable(text) is not None


def test_python_2_is_not_readable_at_any_price():
    assert python2.readable("def f((a, b)): pass") is None


def meanings(text, tmp_path):
    (tmp_path / "a.py").write_text(text)
    module = Module(files.read(str(tmp_path / "a.py")), Context(lambda *_: None, lambda module, name: name == "brought", frozenset()))
    module.read()
    return module.scope.names, [use.paths for use in module.uses]


def test_branches_join_what_names_mean(tmp_path):
    names, _ = meanings("import a as x\nif f():\n  import b as x\nelse:\n  y = x.c\ntry:\n  z = y\nexcept E:\n  z = 3\n", tmp_path)
    assert names == {"x": ("b", "a"), "y": ("a.c",), "z": ("a.c", OPAQUE)}


def test_functions_see_the_names_of_the_module_as_they_are_in_the_end(tmp_path):
    _, uses = meanings("def f():\n  global w\n  import d as w\n  return x.y\nimport a as x\nx.z\nimport b as x\nfrom c import *\nbrought, other\nlambda x: x.no\n", tmp_path)
    assert uses == [("a",), ("a.z",), ("b",), ("c",), ("c.brought",), ("d",), ("b.y",)]


def test_a_package_may_raise_what_it_likes_for_names_that_it_removed(monkeypatch):
    module = types.ModuleType("a_package")

    def lacking(name):
        raise ImportError(f"{name} has been removed")

    module.__getattr__ = lacking
    module.there = 1
    monkeypatch.setitem(sys.modules, "a_package", module)
    assert names_of_others._lacking("a_package.load_boston") == "a_package.load_boston"
    assert names_of_others._lacking("a_package.there.anything") is None
