"""Programs of Python 2 under `tfcompat run`, against what Python 2.7.18 printed (tests/oracle/record_python2.py)."""

import json
import re
from pathlib import Path

import children
import pytest

from tfcompat._src.cli.python2 import evidence

HERE = Path(__file__).parent
TABLES = ("meanings", "float_indices")
ROWS = dict(part.split("\n", 1) for table in TABLES for part in ("\n" + (HERE / "python2" / f"{table}.txt").read_text()).split("\n## ")[1:])
RECORDED = {name: text for table in TABLES for name, text in json.loads((HERE.parent / "golden" / f"python2_{table}.json").read_text()).items()}
DRIVER = """
import StringIO, json, sys, traceback
found = {}
for number in range(int(sys.argv[1])):
    keep, sys.stdout = (sys.stdin, sys.stdout), StringIO.StringIO()
    try:
        __import__('row_%d' % number)
        if sys.stdout.softspace:
            print
    except Exception:
        print >>sys.stdout, traceback.format_exc()
    found[number] = sys.stdout.getvalue()
    sys.stdin, sys.stdout = keep
json.dump(found, open('found.json', 'w'))
"""


def run(*arguments, cwd):
    return children.warm(*children.RUN, *arguments, cwd=cwd)


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("python2")
    for number, source in enumerate(ROWS.values()):
        (folder / f"row_{number}.py").write_text("# -*- coding: utf-8 -*-\n" + source)
    (folder / "driver.py").write_text(DRIVER)
    found = run("driver.py", str(len(ROWS)), cwd=folder)
    assert found.returncode == 0, found.stderr
    return dict(zip(ROWS, json.loads((folder / "found.json").read_text()).values()))


def test_the_record_is_of_this_table():
    assert RECORDED.keys() == ROWS.keys() and len(ROWS) >= 150


@pytest.mark.parametrize("name", ROWS)
def test_meaning(name, printed):
    assert printed[name] == RECORDED[name]


def test_a_program_of_several_files(tmp_path):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").touch()
    (tmp_path / "package" / "part.py").write_text("import other\nfrom other import *\nvalue = other.n + m\n")
    (tmp_path / "package" / "other.py").write_text("n, m = 3, 4\n")
    (tmp_path / "fails.py").write_text("def f():\n    print 'in f'; return 9 / 0\n\nf()\n")
    (tmp_path / "main.py").write_text("from package import part\nprint(part.value / 2),\n\nimport fails\n")
    found = run("main.py", cwd=tmp_path)
    assert found.stdout == "3 in f\n"
    assert found.stderr.splitlines()[0] == "tfcompat: fails.py is for Python 2 (print, line 2): / of ints is //"
    assert re.findall(r'File ".*/(\w+).py", line (\d+), in (\S+)', found.stderr) == [("main", "4", "<module>"), ("fails", "4", "<module>"), ("fails", "2", "f")]
    assert "    print 'in f'; return 9 / 0\n" in found.stderr


@pytest.mark.parametrize(
    "source, is_python2",
    [
        ("for i in xrange(2): print(i / 2.)", True),
        ("try:\n    xrange\nexcept NameError:\n    xrange = range\nprint(3 / 2)", False),
        ("import sys\nif sys.version_info[0] < 3:\n    import cPickle\nprint(3 / 2)", False),
        ("x = f'{3 / 2}'\nprint(x if x else unicode)", False),
        ("print('a`b<>c', 3 / 2)  # print 3", False),
        ("def f(reduce): return reduce\nprint(f(3) / 2)", False),
    ],
)
def test_evidence(source, is_python2):
    found = evidence.find([(source.encode(), "/nowhere/program.py")])
    assert (found is not None) == is_python2


def test_a_hand_decides(tmp_path):
    (tmp_path / "both.py").write_text("print(7 / 2)\n")
    assert run("both.py", cwd=tmp_path).stdout == "3.5\n"
    assert run("--python", "2", "both.py", cwd=tmp_path).stdout == "3\n"
    assert run("--strict", "both.py", cwd=tmp_path).stdout == "3.5\n"
