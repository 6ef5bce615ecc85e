"""Processes of a cluster: the programs of this folder, run by tfcompat or, where it is at hand, by TensorFlow 1.15."""

import json
import os
import pathlib
import socket
import sys

import children

PROGRAMS = pathlib.Path(__file__).parent / "programs"
GLOO = "[Gloo]"
"""How the line begins that JAX's gloo prints when processes have met."""
TF1_PYTHON = os.environ.get("TF1_PYTHON")
"""The Python of a TensorFlow 1.15, which tests of both together need."""


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

    def __init__(self, name, *args, real=False, **settings):
        program = [str(PROGRAMS / f"{name}.py"), *(a if isinstance(a, str) else json.dumps(a) for a in args)]
        command = [TF1_PYTHON] if real else [sys.executable, *children.RUN]
        self._process = children.start(*command, *program, XLA_FLAGS="", **settings)

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
        text = children.line(self._process)
        while text.startswith(GLOO):
            text = children.line(self._process)
        assert text, self._process.stderr.read().decode()
        return json.loads(text)

    def say(self, text):
        """Writes a line to its input."""
        self._process.stdin.write(text.encode() + b"\n")

    def end(self):
        """Waits for its end, which must be a good one; all that it prints until then."""
        out, err = children.end(self._process)
        assert self._process.returncode == 0, err
        return printed(out)


def printed(out):
    """The values that a program has printed."""
    return [json.loads(text) for text in out.splitlines() if not text.startswith(GLOO)]


def together(number, count, coordinator):
    """The variables of the environment by which processes join in `jax.distributed` and their collectives are programs over all devices."""
    return {"TFCOMPAT_COLLECTIVES": "jax", "TFCOMPAT_COORDINATOR": coordinator, "TFCOMPAT_PROCESS": f"{number}/{count}"}


def server(cluster, job, index, real=False):
    """A process that is the server of a task, ready."""
    process = Process("serve", cluster, job, str(index), real=real)
    assert process.line() == "ready"
    return process
