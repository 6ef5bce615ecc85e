"""Records what the rows of tests/cli/python2/meanings.txt print in Python 2.7.18 with NumPy 1.16: tests/golden/python2_meanings.json.

    .venv-py27/bin/python tests/oracle/record_python2.py

With NumPy 1.11 it records those of float_indices.txt: tests/golden/python2_float_indices.json.
"""

import io
import json
import os
import shutil
import subprocess
import sys
import tempfile

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
NAME = "float_indices" if numpy.__version__.startswith("1.11.") else "meanings"
TABLE = os.path.join(HERE, "..", "cli", "python2", NAME + ".txt")
GOLDEN = os.path.join(HERE, "..", "golden", "python2_%s.json" % NAME)


def rows():
    with io.open(TABLE, encoding="utf-8") as file:
        text = file.read()
    for part in ("\n" + text).split("\n## ")[1:]:
        name, _, source = part.partition("\n")
        yield name, source


def main():
    assert sys.version_info[:2] == (2, 7)
    folder, recorded = tempfile.mkdtemp(), {}
    try:
        for name, source in rows():
            path = os.path.join(folder, "row.py")
            with io.open(path, "w", encoding="utf-8") as file:
                file.write(u"# -*- coding: utf-8 -*-\n" + source)
            environment = dict(os.environ, PYTHONIOENCODING="utf-8")
            process = subprocess.Popen([sys.executable, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.PIPE, env=environment)
            out, err = process.communicate()
            assert process.returncode == 0, (name, err)
            recorded[name] = out.decode("utf-8")
    finally:
        shutil.rmtree(folder)
    with io.open(GOLDEN, "w", encoding="utf-8") as file:
        file.write(json.dumps(recorded, indent=1, sort_keys=True, ensure_ascii=False).replace(" \n", "\n") + u"\n")


if __name__ == "__main__":
    main()
