"""`tensorflow.python.platform.googletest`: the test program, its folder for temporary files, and stubs."""

from __future__ import annotations

import atexit
import functools
import inspect
import os
import sys
import tempfile
import unittest.mock
from typing import Any

from absl.testing import absltest
from absl.testing.absltest import *  # noqa: F403

from tfcompat._src.base.export import export
from tfcompat._src.platform import app, file_io
from tfcompat._src.testing.benchmark import TensorFlowBenchmark as Benchmark  # noqa: F401
from tfcompat._src.testing.benchmark import benchmarks_main

mock = export("test.mock")(unittest.mock)


@export("test.main")
def main(argv: list[str] | None = None) -> None:
    """Runs the tests of `__main__`, or its benchmarks where the command line has --benchmarks=PATTERN."""
    arguments = sys.argv if argv is None else argv
    benchmarks_main(lambda: app.run(main=lambda rest: absltest.main(argv=rest), argv=arguments), arguments)


@export("test.get_temp_dir")
@functools.cache
def get_temp_dir() -> str:
    """A folder for temporary files, one for the whole process, deleted when it ends."""
    folder = tempfile.mkdtemp(prefix=os.environ.get("TEST_TMPDIR") or os.path.join(tempfile.gettempdir(), "tfcompat"))
    atexit.register(lambda: file_io.isdir(folder) and file_io.rmtree(folder))
    return folder


GetTempDir = get_temp_dir


@export("test.test_src_dir_path")
def test_src_dir_path(relative_path: str) -> str:
    """The path of a file of TensorFlow's source tree in a Bazel test; TEST_SRCDIR of the environment names the tree."""
    return os.path.join(os.environ["TEST_SRCDIR"], "org_tensorflow/tensorflow", relative_path)


def StatefulSessionAvailable() -> bool:
    """False: there is no such session."""
    return False


test_src_dir_path.__test__ = False  # type: ignore[attr-defined]


@export("test.StubOutForTesting")
class StubOutForTesting:
    """Replaces attributes of modules, classes and objects until `CleanUp`, or to the end of a `with` block."""

    def __init__(self) -> None:
        self._replaced: list[tuple[Any, str, Any]] = []
        self._replaced_smartly: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> StubOutForTesting:
        return self

    def __exit__(self, *error: Any) -> None:
        self.CleanUp()

    def __del__(self) -> None:
        self.CleanUp()

    def Set(self, parent: object, child_name: str, new_child: object) -> None:  # noqa: N802
        """Sets `parent.child_name` until `UnsetAll`."""
        self._replaced.append((parent, child_name, stored(parent, child_name)))
        setattr(parent, child_name, new_child)

    def SmartSet(self, obj: object, attr_name: str, new_attr: object) -> None:  # noqa: N802
        """Sets the attribute until `SmartUnsetAll`: where an object has it from its class, on that class.

        Raises:
          AttributeError: there is no such attribute.
        """
        owner = obj
        if not inspect.ismodule(obj) and not (not inspect.isclass(obj) and attr_name in vars(obj)):
            mro = (obj if inspect.isclass(obj) else type(obj)).__mro__
            owner = next((cls for cls in mro if attr_name in vars(cls)), None)
            if owner is None:
                raise AttributeError("Attribute not found.")
        self._replaced_smartly.append((owner, attr_name, stored(owner, attr_name)))
        setattr(owner, attr_name, new_attr)

    def UnsetAll(self) -> None:  # noqa: N802
        """Undoes all calls of `Set`."""
        put_back(self._replaced)

    def SmartUnsetAll(self) -> None:  # noqa: N802
        """Undoes all calls of `SmartSet`."""
        put_back(self._replaced_smartly)

    def CleanUp(self) -> None:  # noqa: N802
        """Undoes everything."""
        self.SmartUnsetAll()
        self.UnsetAll()


def stored(owner: object, name: str) -> Any:
    """The attribute as it is stored: a staticmethod as the staticmethod object."""
    held = getattr(owner, "__dict__", {}).get(name)
    return held if isinstance(held, staticmethod) else getattr(owner, name)


def put_back(replaced: list[tuple[Any, str, Any]]) -> None:
    while replaced:
        setattr(*replaced.pop())
