"""Programs of Python 2 under `tfcompat run`, against what Python 2.7.18 printed (tests/oracle/record_python2.py)."""

import json
from pathlib import Path

import children
import pytest

HERE = Path(__file__).parent
ROWS = dict(part.split("\n", 1) for part in ("\n" + (HERE / "python2" / "meanings.txt").read_text()).split("\n## ")[1:])
RECORDED = json.loads((HERE.parent / "golden" / "python2_meanings.json").read_text())
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
