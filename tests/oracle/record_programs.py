"""Runs tests/programs under TensorFlow 1.15.5 and writes tests/golden/programs: seeded programs, and outputs.

.venv-tf1/bin/python tests/oracle/record_programs.py
"""

import hashlib
import os
import subprocess
import sys
import tempfile

import numpy as np

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, TESTS)

from programs import run_folder  # noqa: E402

from oracle import golden  # noqa: E402

PROGRAMS = os.path.join(TESTS, "programs")
MAX_KEPT = 400
HELPERS = ("run_folder.py", "__init__.py")


def sample(array):
    """Shape, digest and at most MAX_KEPT evenly spaced elements of an array."""
    shape = list(np.shape(array))
    array = np.ascontiguousarray(array)
    flat = array.ravel()
    step = max(1, -(-flat.size // MAX_KEPT))
    return {
        "shape": shape,
        "sha1": hashlib.sha1(array.tobytes()).hexdigest(),
        "step": step,
        "values": flat[::step],
    }


def run(script, folder, *arguments):
    """Runs a script; (status, stdout, stderr)."""
    path = os.pathsep.join([run_folder.program_path(), os.environ.get("PYTHONPATH", "")])
    env = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="", PYTHONPATH=path, PYTHONWARNINGS="ignore")
    process = subprocess.Popen(
        [sys.executable, script] + list(arguments),
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
    )
    out, err = process.communicate()
    return process.returncode, out, err


def record_seeded():
    """Initial values and losses of every program in tests/programs."""
    entries = {}
    for name in sorted(f for f in os.listdir(PROGRAMS) if f.endswith(".py") and f not in HELPERS):
        with tempfile.TemporaryDirectory() as folder:
            result = os.path.join(folder, "result.npz")
            status, out, err = run(os.path.join(PROGRAMS, name), folder, result)
            assert status == 0, err
            with np.load(result) as stored:
                arrays = {key: stored[key] for key in stored.files}
        losses = arrays.pop("losses")
        entries[name[:-3]] = {"losses": losses, "stdout": out, "initial": {key: sample(a) for key, a in arrays.items()}}
        print("%-24s %s" % (name, out.strip().replace("\n", " | ")))
    golden.write(os.path.join(TESTS, "golden", "programs", "seeded.json.gz"), entries)


def record_documents():
    """Output, exit status and exception class of every program in tests/programs/seeds."""
    entries = {}
    folder_of_programs = os.path.join(PROGRAMS, "seeds")
    for name in sorted(f for f in os.listdir(folder_of_programs) if f.endswith(".py")):
        with tempfile.TemporaryDirectory() as folder:
            run_folder.make_mnist(folder)
            status, out, err = run(os.path.join(folder_of_programs, name), folder)
        error = run_folder.last_error(err) if status else None
        entries[name[:-3]] = {"stdout": out, "status": status, "error": error}
        print("%-32s %d %s %r" % (name, status, error, out[-60:]))
    golden.write(os.path.join(TESTS, "golden", "programs", "documents.json.gz"), entries)


if __name__ == "__main__":
    record_seeded()
    record_documents()
