"""Programs that end while threads of theirs run: exit status and standard output are those of TensorFlow 1.15.5.

TFCOMPAT_EXITS_PYTHON names another interpreter, as TensorFlow's, which runs them itself.
"""

import os
import sys
from pathlib import Path

import children
import pytest
from long_run import count

PROGRAMS = Path(__file__).parent / "exit_programs"
COUNT = count(1, 25)
COMMAND = [sys.executable, *children.RUN]
if "TFCOMPAT_EXITS_PYTHON" in os.environ:
    COMMAND = [os.environ["TFCOMPAT_EXITS_PYTHON"]]
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


def check(program, status, output, command=COMMAND):
    for _ in range(COUNT):
        done = children.run(*command, PROGRAMS / f"{program}.py", PYTHONUNBUFFERED="1")
        errors = done.stderr
        assert (done.returncode, done.stdout) == (status, output), errors
        assert "FATAL" not in errors and "terminate called" not in errors and "Exception ignored" not in errors
        if program in LAST_LINE:
            assert errors.splitlines()[-1] == LAST_LINE[program]


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


def test_interrupt_that_python_would_lose_comes_again():
    check("lost_interrupt", 0, "interrupted\n")
