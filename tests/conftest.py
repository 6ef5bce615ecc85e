"""Settings that hold for every test: virtual CPU devices, no accelerator, no programs kept on disk, imports from this folder, plans
that are verified, interrupts that arrive.
"""

import gc
import os
import signal
import sys
import zlib
from pathlib import Path

HERE = Path(__file__).resolve().parent
for _path in (str(HERE), str(HERE.parent)):
    if _path not in sys.path:
        sys.path.insert(0, _path)
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ["TFCOMPAT_CACHE_DIR"] = ""
_DEVICES = "--xla_force_host_platform_device_count=4"
if _DEVICES not in os.environ.get("XLA_FLAGS", ""):
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {_DEVICES}".strip()

import jax.monitoring  # noqa: E402
import long_run  # noqa: E402
import pytest  # noqa: E402
import suite_report  # noqa: E402

from tfcompat._src.platform import logging as tf_logging  # noqa: E402
from tfcompat._src.runtime.debugging import cache_checks  # noqa: E402
from tfcompat._src.runtime.engines import choice  # noqa: E402
from tfcompat._src.runtime.passes import verify  # noqa: E402

verify.Switch.is_on = True
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # as a shell leaves it to what it starts in the background, and that to its children
    signal.signal(signal.SIGINT, signal.default_int_handler)



def pytest_addoption(parser):
    """Adds the options of the suite."""
    suite_report.add_option(parser)
    long_run.add_option(parser)


def pytest_collection_finish():
    """Takes the tests themselves out of the garbage collector's sight: it would look through all of them in each full collection."""
    gc.collect()
    gc.freeze()


CHECKED_EACH = 20
"""In one of so many tests, chosen by name, each hit of a cache is checked (`cache_checks.py`); in a long run in all of them."""


@pytest.fixture(autouse=True)
def checked_caches(request):
    """Whether hits of caches are checked in this test."""
    before = cache_checks.Switch.is_on
    cache_checks.Switch.is_on = before or long_run.LongRun.is_on or zlib.crc32(request.node.nodeid.encode()) % CHECKED_EACH == 0
    yield
    cache_checks.Switch.is_on = before


@pytest.fixture(autouse=True)
def verbosity():
    """Programs of tests that log less do so for themselves."""
    before = tf_logging.get_verbosity()
    yield
    tf_logging.set_verbosity(before)


def pytest_runtest_teardown():
    """Keeps this process small: JAX keeps what it has compiled for tests that call kernels by themselves."""
    suite_report.Memory.give_back()


def pytest_configure(config):
    """Sets up the report of `--ci` and the counts of `--long`."""
    suite_report.configure(config)
    long_run.configure(config)


COMPILE_EVENT = "/jax/core/compile/backend_compile_duration"


class CompileCounter:
    """Counts what XLA compiles in this process."""

    def __init__(self):
        self.count = 0
        jax.monitoring.register_event_duration_secs_listener(self._listen)

    def _listen(self, event, duration, **kwargs):
        self.count += event == COMPILE_EVENT


@pytest.fixture(scope="session")
def compile_counter():
    """The process's CompileCounter."""
    return CompileCounter()


@pytest.fixture
def compiles(compile_counter, monkeypatch):
    """The process's CompileCounter, while nothing is interpreted."""
    monkeypatch.setattr(choice, "ENGINE", "compile")
    return compile_counter
