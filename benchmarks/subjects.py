"""What is compared: how each subject is started, as a worker that is asked over pipes or as a whole process."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = Path(__file__).resolve().parent / "scripts"
TITLES = {"tfcompat": "tfcompat", "tf1": "TensorFlow 1.15", "tf2": "TensorFlow 2 (compat.v1)", "jax": "JAX + optax"}
IMPORTS = {
    "tfcompat": "import tfcompat",
    "tf1": "import tensorflow",
    "tf2": "import tensorflow.compat.v1",
    "jax": "import jax, jax.numpy, optax",
}


class SubjectError(Exception):
    """A subject's process failed; the message ends with what it wrote to stderr."""


@dataclass(frozen=True)
class Subject:
    """A name of `TITLES` and the Python interpreter that it runs on."""

    name: str
    python: str

    def start(self, **settings: str) -> Worker:
        """A process that is asked over pipes, with these environment variables too. Raises SubjectError where it cannot start."""
        return Worker(self, settings)

    def script_seconds(self, script: str) -> float:
        """Seconds that `scripts/SCRIPT.py`, or its JAX twin, takes as a process, from start to exit."""
        path = str(SCRIPTS / f"{script}.py")
        arguments = {
            "tfcompat": ["-m", "tfcompat", "run", path],
            "tf1": [path],
            "tf2": [str(SCRIPTS / "as_compat_v1.py"), path],
            "jax": [str(SCRIPTS / f"{script}_jax.py")],
        }[self.name]
        start = time.perf_counter()
        self._output(arguments)
        return time.perf_counter() - start

    def import_seconds(self) -> float:
        """Seconds that the import statement takes in a fresh process."""
        timed = f"import time; start = time.perf_counter(); {IMPORTS[self.name]}; print(time.perf_counter() - start)"
        return float(self._output(["-c", timed]).split()[-1])

    def _output(self, arguments: list[str]) -> str:
        done = subprocess.run([self.python, *arguments], env=environment(), cwd=ROOT, capture_output=True, text=True)
        if done.returncode:
            raise SubjectError(f"exit status {done.returncode}: {last_lines(done.stderr)}")
        return done.stdout


def free_ports(count: int) -> list[int]:
    """Ports of the loopback interface that nobody listens at."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


class Worker:
    """A running `benchmarks.worker`."""

    def __init__(self, subject: Subject, settings: dict[str, str]) -> None:
        self._errors = tempfile.TemporaryFile("w+")
        self._process = subprocess.Popen(
            [subject.python, "-m", "benchmarks.worker", subject.name],
            env={**environment(), **settings}, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True,
        )  # fmt: skip

    def ask(self, command: str, **arguments: Any) -> dict:
        """The reply to one request. Raises SubjectError where the process has ended."""
        try:
            self._process.stdin.write(json.dumps({"do": command, **arguments}) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # the reply that does not come says why
        reply = self._process.stdout.readline()
        if not reply:
            self._process.wait()
            self._errors.seek(0)
            raise SubjectError(last_lines(self._errors.read()))
        return json.loads(reply)

    def close(self) -> None:
        self._process.stdout.close()
        try:
            self._process.stdin.close()
        except BrokenPipeError:
            pass  # it has ended already
        self._process.wait()
        self._errors.close()


def environment() -> dict[str, str]:
    """The environment of every process: the project importable, byte code kept as after an installation, logs quiet."""
    quiet = {"PYTHONWARNINGS": "ignore", "TF_CPP_MIN_LOG_LEVEL": "3"}
    return {**os.environ, **quiet, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": ""}


def last_lines(text: str, count: int = 3) -> str:
    return " | ".join(text.strip().splitlines()[-count:]) or "nothing on stderr"
