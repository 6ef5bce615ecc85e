"""Records what TensorFlow 1.15's `tf_upgrade_v2` makes of the programs of tests/tools/upgrade_programs.py, for tests/golden/upgrades.json.gz.

Run with the real program, after record_upgrade_tables.py: `python3.7 tests/oracle/record_upgrades.py`.
"""

import contextlib
import gzip
import io
import json
import os
import re
import sys

from tensorflow.tools.compatibility import ast_edits, tf_upgrade_v2, tf_upgrade_v2_safety

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "tools"))
import upgrade_programs  # noqa: E402


def upgraded(text, module):
    """What a program becomes, and the messages: [text, all messages, those that need attention]; None where it is not Python."""
    upgrader = ast_edits.ASTCodeUpgrader(module.TFAPIChangeSpec())
    with contextlib.redirect_stdout(io.StringIO()):
        count, new, logs, errors = upgrader.update_string_pasta(text, "in.py")
    if not count:
        return None
    inserted = "tensorflow.disable_v2_behavior()" if "import tensorflow\n" in text + "\n" else "tf.disable_v2_behavior()"
    return [new, [re.sub(r"<_ast.Module object at 0x\w+>", inserted, log) for log in logs], errors]


def main():
    with open(os.path.join(ROOT, "tfcompat", "_src", "tools", "compatibility", "upgrade_tables.json")) as file:
        tables = json.load(file)
    programs = upgrade_programs.PROGRAMS + [upgrade_programs.every_name(tables)]
    record = [[upgraded(text, tf_upgrade_v2), upgraded(text, tf_upgrade_v2_safety)] for text in programs]
    path = os.path.join(ROOT, "tests", "golden", "upgrades.json.gz")
    with open(path, "wb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as file:
        file.write(json.dumps(record).encode())


main()
