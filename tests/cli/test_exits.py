"""Programs that end while threads of theirs run: exit status and standard output are those of TensorFlow 1.15.5.

TFCOMPAT_EXITS=25 runs each as often; TFCOMPAT_EXITS_PYTHON names another interpreter, as TensorFlow's, which runs them itself.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "exit_programs"
ROOT = Path(__file__).resolve().parent.parent.parent
COUNT = int(os.environ.get("TFCOMPAT_EXITS", 2))
COMMAND = [sys.executable, "-m", "tfcompat", "run"]
if "TFCOMPAT_EXITS_PYTHON" in os.environ:
    COMMAND = [os.environ["TFCOMPAT_EXITS_PYTHON"]]
LONGEST_EXIT = 10.0
"""Seconds from the last line of a program to the end of the process, on a busy machine."""
OF_TENSORFLOW = {
    "app": (4, "done\n"),
    "at_exit": (5, "3.0\n11.0\n"),
    "compiles": (6, "done\n"),
    "dequeue": (1, "done\n"),
    "eager": (9, "done\n"),
    "hard_exit": (7, "done\n"),
    "keras": (0, "done\n"),
    "long_run": (8, "done\n"),
    "map_waits": (0, "done\n"),
    "py_func": (0, "done\n"),
    "raises": (1, "done\n"),
    "runners": (0, "done\n"),
    "server": (0, "done\n"),
    "threads": (3, "done\n"),
}
"""What Python 3.7 with TensorFlow 1.15.5 gives, five times of five."""
LAST_LINE = {"dequeue": "a text", "raises": "ValueError: nobody catches this", "interrupt": "KeyboardInterrupt"}
"""The end of standard error; elsewhere it has no word of a failure."""


def ended(program, command=COMMAND):
    """Runs a program: exit status, standard output and error, and the seconds from its first line to its end."""
    command = [*command, str(PROGRAMS / f"{program}.py")]
    path = os.pathsep.join(p for p in (str(ROOT), os.environ.get("PYTHONPATH")) if p)
    env = dict(os.environ, PYTHONPATH=path, PYTHONUNBUFFERED="1", JAX_PLATFORMS="cpu")
    # Without a buffer: what stands in one after the first line, `communicate` does not see.
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0) as process:
        first = process.stdout.readline()
        began = time.monotonic()
        rest, errors = process.communicate(timeout=60)
        took = time.monotonic() - began
    return process.returncode, (first + rest).decode(), errors.decode(), took


def check(program, status, output, command=COMMAND):
    for _ in range(COUNT):
        found, printed, errors, took = ended(program, command)
        assert (found, printed) == (status, output), errors
        assert "FATAL" not in errors and "terminate called" not in errors and "Exception ignored" not in errors
        if program in LAST_LINE:
            assert errors.splitlines()[-1] == LAST_LINE[program]
        assert took < LONGEST_EXIT


@pytest.mark.parametrize("program", sorted(OF_TENSORFLOW))
def test_program_ends_as_with_tensorflow(program):
    check(program, *OF_TENSORFLOW[program])


@pytest.mark.parametrize("program", ["app", "eager", "raises", "runners", "threads"])
def test_program_that_uses_the_library_ends_so_too(program):
    install = "import sys, runpy, tfcompat; tfcompat.install_as_tensorflow(); runpy.run_path(sys.argv[1], run_name='__main__')"
    check(program, *OF_TENSORFLOW[program], [sys.executable, "-c", install])


def test_interrupted_program_ends_as_python_ends():
    """By the signal, as since Python 3.8; with TensorFlow's Python 3.7 the status is 1."""
    check("interrupt", 1 if "TFCOMPAT_EXITS_PYTHON" in os.environ else -2, "done\n")
