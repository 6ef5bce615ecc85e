"""What Python processes that a program starts inherit from `tfcompat run`: the name `tensorflow`, and the restored names.

They start it with PYTHONPATH, in whose folder `sitecustomize` imports this module, under its own name and without the rest of
tfcompat: that is imported with the first module of TensorFlow.
"""

from __future__ import annotations

import functools
import importlib.machinery
import importlib.util
import os
import subprocess
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

VARIABLE = "TFCOMPAT_RUN"
HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
ROOTS = ("tensorflow", "tensorflow_core", "tensorflow_estimator", "tensorflow_serving")


def begin(strict: bool, answers_as: str) -> None:
    """Lets the processes that this one starts inherit: whether names are restored, and the version of TensorFlow that programs read."""
    version = "%d.%d" % sys.version_info[:2]
    os.environ[VARIABLE] = f"{'strict' if strict else 'restored'}:{answers_as} {version} {sys.prefix}"
    os.environ.update(inherited(os.environ))
    _hand_on()


def restore() -> None:
    """Restores the names in a process that inherits, and lets it find tfcompat."""
    sys.meta_path.insert(0, Finder())
    if os.environ[VARIABLE].startswith("restored:"):
        _restore_names()
    _hand_on()


def inherited(env: Mapping[Any, Any]) -> dict[Any, Any]:
    """The entries that an environment for a process lacks."""
    is_bytes = any(isinstance(name, bytes) for name in env)
    code: Callable[[str], Any] = os.fsencode if is_bytes else lambda text: text
    path, value = code("PYTHONPATH"), code(os.environ[VARIABLE])
    folders = [folder for folder in env.get(path, code("")).split(code(os.pathsep)) if folder]
    if code(HERE) not in folders:
        folders.insert(0, code(HERE))
    return {code(VARIABLE): value, path: code(os.pathsep).join(folders)}


def _hand_on() -> None:
    """Completes the environments that the program makes for its processes."""
    subprocess.Popen.__init__ = _opening(subprocess.Popen.__init__)  # type: ignore[method-assign]
    for name in ("execve", "posix_spawn", "posix_spawnp"):
        if hasattr(os, name):
            setattr(os, name, _starting(getattr(os, name)))


def _opening(function: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(function)
    def __init__(
        self: Any, args: object, bufsize: int = -1, executable: object = None, stdin: object = None, stdout: object = None,
        stderr: object = None, preexec_fn: object = None, close_fds: bool = True, shell: bool = False, cwd: object = None,
        env: Mapping[Any, Any] | None = None, *others: Any, **named: Any,
    ) -> None:  # fmt: skip
        given = os.environ if env is None else env
        env = {**given, **inherited(given)}
        function(self, args, bufsize, executable, stdin, stdout, stderr, preexec_fn, close_fds, shell, cwd, env, *others, **named)

    return __init__


def _starting(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def start(path: object, argv: object, env: Mapping[Any, Any], **named: Any) -> Any:
        return function(path, argv, {**env, **inherited(env)}, **named)

    return start


def _restore_names() -> None:
    """Restores what Python, NumPy and others removed; tfcompat itself stays to be imported."""
    package = types.ModuleType("tfcompat")
    package.__path__ = [PACKAGE]
    sys.modules["tfcompat"] = package
    importlib.import_module("tfcompat._src.cli.legacy.restore").restore()
    del sys.modules["tfcompat"]


class Finder:
    """Finds tfcompat, and installs it as TensorFlow when the program first asks for a module of that."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname == "tfcompat":
            init = os.path.join(PACKAGE, "__init__.py")
            return importlib.util.spec_from_file_location(fullname, init, submodule_search_locations=[PACKAGE])
        if fullname.partition(".")[0] not in ROOTS:
            return None
        importlib.import_module("tfcompat")  # whole, before what its parts import of each other
        importlib.import_module("tfcompat._src.cli.run").install(os.environ[VARIABLE].partition(" ")[0].partition(":")[2])
        sys.meta_path.remove(self)
        # The installation has imported `tensorflow`. The import system would load the spec of that module, tfcompat's own: a second tfcompat.
        sys.modules.pop(fullname, None)
        return importlib.util.find_spec(fullname)
