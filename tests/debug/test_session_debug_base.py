"""The base classes of tests of debugged runs, with dumps in files."""

import os
import shutil
import tempfile

import numpy as np
import pytest

from tfcompat._src.testing import session_debug_runs
from tfcompat._src.testing import session_debug_test_base as base


class TestDumpsInFiles(base.SessionDebugTestBase):
    def _debug_urls(self, run_number=None):
        return [f"file://{self._debug_dump_dir(run_number)}"]

    def _debug_dump_dir(self, run_number=None):
        return self._dump_root if run_number is None else os.path.join(self._dump_root, f"run_{run_number}")


class TestConcurrentDumpsInFiles(base.DebugConcurrentRunCallsTest):
    def setUp(self):
        super().setUp()
        self._num_concurrent_runs = 2
        self._dump_roots = [tempfile.mkdtemp() for _ in range(2)]
        for folder in self._dump_roots:
            self.addCleanup(shutil.rmtree, folder)

    def _get_concurrent_debug_urls(self):
        return [f"file://{folder}" for folder in self._dump_roots]


class _Silent(TestDumpsInFiles):
    """Its dumps go where no test reads them."""

    __test__ = False

    def _debug_dump_dir(self, run_number=None):
        return self._dump_root + "_elsewhere"

    def tearDown(self):
        shutil.rmtree(self._debug_dump_dir(), ignore_errors=True)
        super().tearDown()


@pytest.mark.parametrize("name", ["testDebugCondWatchingWholeGraphWorks", "testDumpUninitializedVariable", "testDebuggingDuringOpError"])
def test_a_dump_that_is_not_where_it_is_read_fails_a_test(name):
    result = _Silent(name).run()
    assert len(result.errors) + len(result.failures) == 1


def test_numeric_summary():
    """The numbers that 1.15.5 dumped of a variable with this value."""
    inf, nan = np.inf, np.nan
    value = [nan, nan, 0, 0, 0, -1, -3, 3, 7, -inf, -inf, inf, inf, inf, inf, inf, nan, nan]
    expected = [1.0, 18.0, 4.0, 2.0, 2.0, 3.0, 2.0, 5.0, -3.0, 7.0, 0.8571428571428571, 8.979591836734695, 1.0, 1.0, 18.0]
    np.testing.assert_allclose(session_debug_runs.numeric_summary(value), expected, rtol=1e-7)


def test_a_base_class_says_what_a_subclass_must_define():
    case = base.SessionDebugTestBase("testDebugCondWatchingWholeGraphWorks")
    with pytest.raises(NotImplementedError, match="SessionDebugTestBase must define _debug_urls"):
        case._debug_urls()
    with pytest.raises(NotImplementedError, match="must define _debug_dump_dir"):
        case._debug_dump_dir()
    with pytest.raises(NotImplementedError, match="must define _get_concurrent_debug_urls"):
        base.DebugConcurrentRunCallsTest("testDebugConcurrentVariableUpdates")._get_concurrent_debug_urls()
