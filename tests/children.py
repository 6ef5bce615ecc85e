"""Programs that tests run in processes of their own: none knows how fast the machine is, and a hang is ended with the stacks of all threads.

`python` starts an interpreter, for tests of how a process starts and ends. `warm` forks a process that has imported tfcompat, which
takes 0.1 s in place of 2 s, for tests of what a program does.
"""

import functools
import json
import os
import pathlib
import select
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
RUN = ("-m", "tfcompat", "run")
"""The arguments of Python that are `tfcompat run`."""
HANG = 900
"""Seconds after which a process is taken to hang: no test waits for them, and no result depends on them."""


def environment(settings):
    """The environment of a child: this one's, the root of the project among the modules, CPUs, and what `settings` say in its place."""
    path = [settings.get("PYTHONPATH"), str(ROOT)]
    return {
        **os.environ, "JAX_PLATFORMS": "cpu", "PYTHONFAULTHANDLER": "1", **settings, "PYTHONPATH": os.pathsep.join(filter(None, path)),
    }  # fmt: skip


def python(*arguments, cwd=None, stdin="", **settings):
    """Runs `python arguments...`: a CompletedProcess with texts. `stdin` is a text or a descriptor, `settings` are variables of its environment."""
    return run(sys.executable, *arguments, cwd=cwd, stdin=stdin, **settings)


def run(*command, cwd=None, stdin="", **settings):
    """Runs any command as `python` does its own."""
    is_text = isinstance(stdin, str)
    process = start(*command, cwd=cwd, stdin=subprocess.PIPE if is_text else stdin, **settings)
    output, errors = end(process, stdin.encode() if is_text else None)
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


def start(*command, cwd=None, stdin=subprocess.PIPE, **settings):
    """Starts a command, with pipes of bytes that nothing buffers; `line` and `end` read what it prints."""
    pipes = dict(stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
    return subprocess.Popen([str(part) for part in command], cwd=cwd, env=environment(settings), start_new_session=True, **pipes)


def line(process):
    """The next line that a process prints. AssertionError with the stacks of its threads where none comes."""
    if not select.select([process.stdout], [], [], HANG)[0]:
        fail(process, "printed no line")
    return process.stdout.readline().decode()


def end(process, stdin=None):
    """Waits for the end of a process: the texts of its standard output and error. AssertionError with the stacks of its threads where it hangs."""
    with process:
        try:
            return tuple(text.decode() for text in process.communicate(stdin, timeout=HANG))
        except subprocess.TimeoutExpired:
            fail(process, "did not end")
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


def fail(process, what):
    """Ends a process that hangs, and all that it has started, in the way that prints the stacks of all threads."""
    os.killpg(process.pid, signal.SIGABRT)
    raise AssertionError(f"{process.args} {what} in {HANG} s. Its threads: {process.communicate()[1].decode()}")


def warm(*arguments, cwd=None, stdin="", **settings):
    """Runs `python arguments...` as `python` does, in a fork of a process that has imported tfcompat.

    `settings` cannot name variables that are read while JAX or tfcompat is imported.
    """
    assert not any(name.startswith(("JAX_", "XLA_", "TFCOMPAT_")) for name in settings), settings
    with tempfile.TemporaryDirectory() as folder:
        files = [os.path.join(folder, name) for name in ("stdin", "stdout", "stderr")]
        for file, text in zip(files, (stdin, "", ""), strict=True):
            pathlib.Path(file).write_text(text)
        request = {
            "arguments": [str(a) for a in arguments], "folder": str(cwd or os.getcwd()), "environment": environment(settings), "files": files,
        }  # fmt: skip
        parent = _warm_parent()
        parent.stdin.write(json.dumps(request).encode() + b"\n")
        process = int(parent.stdout.readline())
        hangs = not select.select([parent.stdout], [], [], HANG)[0]
        if hangs:
            os.kill(process, signal.SIGABRT)
        status = int(parent.stdout.readline())
        output, errors = (pathlib.Path(file).read_text() for file in files[1:])
    assert not hangs, f"{arguments} did not end in {HANG} s. Its threads: {errors}"
    return subprocess.CompletedProcess(arguments, status, output, errors)


@functools.cache
def _warm_parent():
    """The process that `warm` forks; it ends with this one, whose end of its input closes then."""
    command = [sys.executable, str(ROOT / "tests" / "warm_parent.py")]
    return subprocess.Popen(command, env=environment({}), bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
