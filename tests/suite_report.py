"""`pytest --ci`: tells a broken test from an unlucky one, and reports where the time and the memory of the suite go.

Each test that failed runs once more, alone in a process of its own. A test that passes then is listed as flaky, with its first failure,
and does not fail the run. The report names the seconds of each folder, the slowest tests and the memory of the largest process.
"""

import ctypes
import gc
import resource
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import jax
import pytest

MOST_RETRIED = 20  # more failures than this have a cause that no second try removes
SLOWEST = 10


def add_option(parser):
    """Adds `--ci`."""
    parser.addoption("--ci", action="store_true", help="run what fails once more, alone, and report time and memory at the end")


class SuiteReport:
    """Collects durations and failures in the process that the user started, and prints them at the end."""

    def __init__(self):
        self.seconds = defaultdict(float)
        self.failures = {}
        self.flaky = []
        self.megabytes = []

    def pytest_runtest_logreport(self, report):
        self.seconds[report.nodeid] += report.duration
        if report.failed:
            self.failures.setdefault(report.nodeid, report.longreprtext)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node, error):
        self.megabytes.append(getattr(node, "workeroutput", {}).get("megabytes", 0))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session, exitstatus):
        self.megabytes.append(peak_megabytes())
        if exitstatus == pytest.ExitCode.TESTS_FAILED and 0 < len(self.failures) <= MOST_RETRIED:
            self.flaky = [name for name in self.failures if passes_alone(name)]
            if len(self.flaky) == len(self.failures):
                session.exitstatus = pytest.ExitCode.OK

    def pytest_terminal_summary(self, terminalreporter):
        write = terminalreporter.write_line
        if self.flaky:
            terminalreporter.section("flaky")
            for name in self.flaky:
                write(f"{name} failed, and passed when it ran alone. The first failure:")
                write(self.failures[name])
        terminalreporter.section("report")
        folders = defaultdict(lambda: [0, 0.0])
        for name, seconds in self.seconds.items():
            folder = folders[folder_of(name)]
            folder[0] += 1
            folder[1] += seconds
        for name, (count, seconds) in sorted(folders.items(), key=lambda row: -row[1][1]):
            write(f"{seconds:8.1f} s {count:6d} tests  {name}")
        for name, seconds in sorted(self.seconds.items(), key=lambda row: -row[1])[:SLOWEST]:
            write(f"{seconds:8.1f} s  {name}")
        write(f"tests: {len(self.seconds)}, flaky: {len(self.flaky)}, memory of the largest process: {max(self.megabytes):.0f} MB")
        for name in self.flaky:
            write(f"flaky: {name}")


def folder_of(name):
    """The folder of a test below tests/, or its file where it stands there itself."""
    parts = name.split("::")[0].split("/")
    return "/".join(parts[:2])


def passes_alone(name):
    """Runs one test in a process of its own and returns whether it passes."""
    command = [sys.executable, "-m", "pytest", "-p", "no:xdist", name]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True).returncode == 0


def peak_megabytes():
    """The most memory that this process has held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


class Memory:
    """The memory of this process now, where the system tells it (Linux), and how it is given back."""

    TABLE = Path("/proc/self/statm")
    ALLOWED = 150.0
    least = 0.0

    @classmethod
    def megabytes(cls):
        return int(cls.TABLE.read_text().split()[1]) * resource.getpagesize() / 2**20 if cls.TABLE.exists() else 0.0

    @classmethod
    def give_back(cls):
        """Drops what JAX has compiled since the last time, where that is more than ALLOWED megabytes."""
        cls.least = cls.least or cls.megabytes()
        if cls.megabytes() > cls.least + cls.ALLOWED:
            jax.clear_caches()
            gc.collect()
            ctypes.CDLL(None).malloc_trim(0)
            cls.least = cls.megabytes()


def configure(config):
    """Registers the report where the user sees it; a worker of pytest-xdist only tells its memory."""
    if hasattr(config, "workerinput"):
        config.pluginmanager.register(WorkerMemory(config.workeroutput))
    elif config.getoption("--ci"):
        config.pluginmanager.register(SuiteReport())


class WorkerMemory:
    """Tells the process that the user started how much memory this worker took."""

    def __init__(self, output):
        self.output = output

    def pytest_sessionfinish(self):
        self.output["megabytes"] = peak_megabytes()
