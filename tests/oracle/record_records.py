"""Records the programs of tests/replay/programs with the Python that runs this, into tests/golden/records/NAME.zip.

    TF1_PYTHON tests/oracle/record_records.py [NAME ...]
"""

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAMS, RECORDS = os.path.join(TESTS, "replay", "programs"), os.path.join(TESTS, "golden", "records")
RECORDER = os.path.join(os.path.dirname(TESTS), "tfcompat", "_src", "replay", "recorder.py")


def record(name, target):
    """Records one program, and packs the record."""
    folder = tempfile.mkdtemp()
    out = os.path.join(folder, "record")
    command = [sys.executable, RECORDER, "--out", out, "--runs", "5", "--all-tensors", name + ".py"]
    subprocess.check_call(command, cwd=PROGRAMS)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for parent, _, files in sorted(os.walk(out)):
            for file in sorted(files):
                path = os.path.join(parent, file)
                entry = zipfile.ZipInfo(os.path.relpath(path, out))
                with open(path, "rb") as content:
                    archive.writestr(entry, content.read(), zipfile.ZIP_DEFLATED)
    shutil.rmtree(folder)


if __name__ == "__main__":
    names = sys.argv[1:] or sorted(n[:-3] for n in os.listdir(PROGRAMS) if n.endswith(".py"))
    suffix = "" if sys.version_info[0] == 3 else "_python2"
    for each in names:
        record(each, os.path.join(RECORDS, each + suffix + ".zip"))
