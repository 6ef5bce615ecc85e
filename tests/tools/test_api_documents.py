"""tensorflow.tools.docs writes the documents that 1.15.5's writes."""

import difflib
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent


def test_what_1_15_5_writes():
    done = subprocess.run([sys.executable, "-m", "tfcompat", "run", HERE / "api_documents.py"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    expected = (HERE / "api_documents_expected.txt").read_text()
    assert done.stdout == expected, "\n".join(difflib.unified_diff(expected.split("\n"), done.stdout.split("\n"), lineterm=""))
