"""Processes of a cluster: the programs of this folder, run by tfcompat or, where it is at hand, by TensorFlow 1.15."""

import json
import os
import pathlib
import select
import socket
import subprocess
import sys

PROGRAMS = pathlib.Path(__file__).parent / "programs"
ROOT = str(PROGRAMS.parents[2])
TF1_PYTHON = os.environ.get("TF1_PYTHON")
"""The Python of a TensorFlow 1.15, which tests of both together need."""
SECONDS = 120


def free_addresses(count):
    """Addresses of this machine at ports that nothing uses."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("localhost", 0))
        return [f"localhost:{one.getsockname()[1]}" for one in sockets]
    finally:
        for one in sockets:
            one.close()


class Process:
    """A running program, which is killed at the end of a `with` block; what it prints are JSON values, one a line."""

    def __init__(self, name, *args, real=False):
        program = [str(PROGRAMS / f"{name}.py"), *(a if isinstance(a, str) else json.dumps(a) for a in args)]
        env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        if not real:
            env.update(PYTHONPATH=ROOT, XLA_FLAGS="")
        command = [TF1_PYTHON, *program] if real else [sys.executable, "-m", "tfcompat", "run", *program]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def kill(self):
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            pipe.close()
        self._process.wait()

    def line(self):
        """The next value that it prints."""
        if not select.select([self._process.stdout], [], [], SECONDS)[0]:
            raise TimeoutError("the program prints nothing")
        text = self._process.stdout.readline()
        assert text, self._process.stderr.read()
        return json.loads(text)

    def say(self, text):
        """Writes a line to its input."""
        self._process.stdin.write(text + "\n")
        self._process.stdin.flush()

    def end(self):
        """Waits for its end, which must be a good one; all that it prints until then."""
        out, err = self._process.communicate(timeout=SECONDS)
        assert self._process.returncode == 0, err
        return [json.loads(text) for text in out.splitlines()]


def server(cluster, job, index, real=False):
    """A process that is the server of a task, ready."""
    process = Process("serve", cluster, job, str(index), real=real)
    assert process.line() == "ready"
    return process
