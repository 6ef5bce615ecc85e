"""`tfcompat run`: a script, a module or a line of code, run as `python` runs it, with `tensorflow` meaning tfcompat."""

from __future__ import annotations

import gc
import importlib
import os
import re
import runpy
import signal
import sys
import types
from importlib.machinery import SourceFileLoader, SourcelessFileLoader
from typing import Any, NamedTuple

from tfcompat._src.base import jax_processes, jax_threads, nan_search, process_settings
from tfcompat._src.base.tracebacks import folded
from tfcompat._src.cli import interrupts
from tfcompat._src.cli.children import inheritance
from tfcompat._src.cli.legacy import restore, sources
from tfcompat._src.cli.program_cache import keep_programs
from tfcompat._src.cli.python2 import compiler, evidence, names
from tfcompat._src.cli.python2 import program as python2
from tfcompat._src.cli.python2.text import end_line
from tfcompat._src.cli.tf0 import evidence as tf0_evidence
from tfcompat._src.cli.tf0 import version as tf0_version
from tfcompat._src.replay import recording
from tfcompat._src.shim.answers_as import VERSIONS
from tfcompat._src.shim.install import install_as_tensorflow

ARGUMENTS = "[--strict] [--python 2|3] [--tf VERSION] [--as 1.15|2.15] [--debug-nans] [--record DIR [--all-tensors]] (SCRIPT | - | -m MODULE | -c CODE) [ARGS...]"
USAGE = f"""usage: tfcompat run {ARGUMENTS}

Runs a program as python does. `import tensorflow` means tfcompat, an installed TensorFlow is left alone, and what
Python, NumPy and a few other packages have removed since 2019 is there again, both in this process only. A program of
Python 2 or of TensorFlow before 1.0 runs with the meaning that these gave it, and a line says so.

  SCRIPT     a file, or a folder or zip archive that holds a __main__.py
  -          the program is read from standard input, as where nothing is named and that is no terminal
  -m MODULE  a module or package
  -c CODE    a line of code
  --debug-nans
             every Session.run looks for NaNs and infinities. The first run with one ends with an InvalidArgumentError, and so, with
             status 1, does a program that does not catch it: it names the first node in creation order that has one, the line
             that made the node, and the ranges of its inputs
  --record DIR
             writes the runs of all sessions into a folder, for tfcompat replay and tfcompat compare; with --all-tensors also what lies between
             feeds and fetches
  --python 2|3
             says for which Python the program is written, in place of the evidence in its files
  --tf VERSION
             says for which TensorFlow the program is written, in place of the evidence in its files: 0.5 to 0.12, 1.0 to 1.15
  --as 1.15|2.15
             the version that the program and its libraries read (1.15.5 or 2.15.0). With 2.15, tf.compat.v1 has the names that TensorFlow 2.15
             gave it for what 1.15 has; the behaviour stays that of 1.15
  --strict   restore nothing that Python, NumPy and others have removed, and run nothing as Python 2 or as TensorFlow before 1.0
"""
OWN_FILES = os.path.dirname(__file__) + os.sep
RUNPY_FILES = (runpy.__file__, "<frozen runpy>")
HELPERS = os.path.dirname(python2.__file__) + os.sep
PYTHON_2 = re.compile(
    r"Missing parentheses in call to '(print|exec)'|multiple exception types must be parenthesized"
    r"|leading zeros in decimal integer literals|inconsistent use of tabs|invalid (decimal|hexadecimal) literal"
)


class Target(NamedTuple):
    """What to run: kind is "script", "module" or "code"."""

    kind: str
    text: str
    arguments: list[str]
    strict: bool
    debug_nans: bool = False
    python: int | None = None
    tensorflow: str | None = None
    answers_as: str = "1.15"
    record: str | None = None
    all_tensors: bool = False


def parse(arguments: list[str]) -> Target | str:
    """The target that a command line names, or what is wrong with it."""
    options: dict[str, Any] = {"strict": False}
    while arguments:
        first, arguments = arguments[0], arguments[1:]
        option, has_value, value = first.partition("=")
        if first == "--strict":
            options["strict"] = True
        elif first == "--debug-nans":
            options["debug_nans"] = True
        elif first == "--all-tensors":
            options["all_tensors"] = True
        elif option == "--record":
            options["record"] = value if has_value else arguments.pop(0) if arguments else ""
            if not options["record"]:
                return "--record must name a folder"
        elif option in ("--python", "--tf", "--as"):
            version = value if has_value else arguments.pop(0) if arguments else ""
            if wrong := _wrong_version(option, version):
                return wrong
            name = {"--python": "python", "--tf": "tensorflow", "--as": "answers_as"}[option]
            options[name] = int(version) if name == "python" else version
        elif first[:2] in ("-m", "-c"):
            if not (first[2:] or arguments):
                return f"argument expected for {first}"
            text = first[2:] or arguments.pop(0)
            return _target("module" if first[1] == "m" else "code", text, arguments, options)
        elif first.startswith("-") and first != "-":
            return f"unknown option {first} (options of python itself: python {first} -m tfcompat run ...)"
        else:
            return _target("script", first, arguments, options)
    return "nothing to run" if sys.stdin is None or sys.stdin.isatty() else _target("script", "", [], options)


def _wrong_version(option: str, version: str) -> str | None:
    if option == "--python":
        return None if version in ("2", "3") else f"--python is 2 or 3, not {version!r}"
    if option == "--as":
        return None if version in VERSIONS else f"--as is {' or '.join(VERSIONS)}, not {version!r}"
    return None if version in tf0_version.ALL else f"--tf is one of {', '.join(tf0_version.ALL)}, not {version!r}"


def _target(kind: str, text: str, arguments: list[str], options: dict[str, Any]) -> Target | str:
    target = Target(kind, text, arguments, **options)
    if target.strict and tf0_version.is_old(target.tensorflow):
        return f"--strict runs nothing as TensorFlow before 1.0: leave it out, or --tf {target.tensorflow}"
    return target


def main(arguments: list[str]) -> int:
    """Runs what `arguments` name and returns the exit status; an exception of the program goes through."""
    if arguments[:1] in (["-h"], ["--help"]):
        sys.stdout.write(USAGE)
        return 0
    target = parse(list(arguments))
    if isinstance(target, str):
        sys.stderr.write(f"tfcompat run: {target}\n\n{USAGE}")
        return 2
    install(target.answers_as)
    jax_processes.join()
    if not target.strict:
        restore.restore()
    inheritance.begin(target.strict, target.answers_as)
    nan_search.Switch.is_on = target.debug_nans
    decide_meaning(target)
    sys.excepthook = report
    interrupts.keep()
    record = None
    if target.record is not None:
        try:
            record = recording.begin(target.record, [target.text, *target.arguments], ["--all-tensors"] * target.all_tensors)
        except OSError as e:
            sys.stderr.write(f"tfcompat run: cannot record: {e}\n")
            return 2
    try:
        status = {"script": run_script, "module": run_module, "code": run_code}[target.kind](target)
    except BaseException as error:
        jax_threads.know_status(status_of(error))
        raise
    finally:
        if record is not None:
            recording.end(record)
        if python2.is_installed():
            end_line()
    jax_threads.know_status(status)
    return status


def decide_meaning(target: Target) -> None:
    """Runs a program as Python 2, or as an old TensorFlow, where the command line says so, or its files; these decisions are told."""
    files: list[tuple[bytes, str]] = []
    if not target.strict and (target.python is None or target.tensorflow is None):
        files += evidence.files(*source_of(target))
    of_python = evidence.find(files) if target.python is None else None
    of_tensorflow = tf0_evidence.find(files) if target.tensorflow is None else None
    for found in filter(None, (of_python, of_tensorflow)):
        sys.stderr.write(f"tfcompat: {found}\n")
    if target.python == 2 or of_python is not None:
        python2.install()
    version = target.tensorflow or (of_tensorflow and of_tensorflow.version)
    if version is not None:
        importlib.import_module("tfcompat._src.cli.tf0.program").install(version, is_given=target.tensorflow is not None)


def source_of(target: Target) -> tuple[bytes, str, list[str]]:
    """The source of a target, its path, and the folders of its imports; no source where it cannot be read without running any."""
    path, folder = os.path.join(os.getcwd(), target.text), os.getcwd()
    if target.kind == "code":
        return target.text.encode(), "<string>", [folder, *sys.path]
    if target.kind == "module":
        path = os.path.join(folder, *target.text.split("."))
        path = path + ".py" if not os.path.isdir(path) else os.path.join(path, "__main__.py")
    elif target.text in ("-", ""):
        return b"", "<stdin>", []
    else:
        path = os.path.join(path, "__main__.py") if os.path.isdir(path) else path
        folder = os.path.dirname(os.path.realpath(path))
    if not path.endswith(".py") or not os.path.isfile(path):
        return b"", path, []
    with open(path, "rb") as file:
        return file.read(), path, [folder, *sys.path]


def status_of(error: BaseException) -> int:
    """The exit status of a program that ends with an exception, -SIGINT where that is an interrupt."""
    if isinstance(error, KeyboardInterrupt):
        return -signal.SIGINT
    if not isinstance(error, SystemExit):
        return 1
    return error.code & 0xFF if isinstance(error.code, int) else int(error.code is not None)


def install(version: str = "1.15") -> None:
    """Makes `import tensorflow` mean tfcompat, which answers as a version, and sets the process up for graphs.

    These are many small objects that live long: the garbage collector leaves those of the imports alone and comes less often.
    """
    process_settings.apply(process_settings.OF_COMMAND)
    install_as_tensorflow(version)
    keep_programs()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def run_script(target: Target) -> int:
    if target.text in ("-", ""):
        return execute(sys.stdin.buffer.read(), "<stdin>", target.text, target.arguments, "")
    path = os.path.join(os.getcwd(), target.text)
    if os.path.isdir(path) or (importer_of(path) and not path.endswith((".py", ".pyc"))):
        prepare(target.text, target.arguments, path)
        return as_main("__main__", alter_argv=False)
    try:
        with open(path, "rb") as file:
            source = file.read()
    except OSError as error:
        sys.stderr.write(f"tfcompat run: can't open file {path!r}: [Errno {error.errno}] {error.strerror}\n")
        return 2
    return execute(source, path, target.text, target.arguments, os.path.dirname(os.path.realpath(path)))


def run_module(target: Target) -> int:
    prepare("-m", target.arguments, os.getcwd())
    return as_main(target.text, alter_argv=True)


def run_code(target: Target) -> int:
    return execute(target.text.encode(), "<string>", "-c", target.arguments, "")


def importer_of(path: str) -> Any:
    """The importer of a zip archive, or None for a plain file."""
    for hook in sys.path_hooks:
        try:
            return hook(path)
        except ImportError:
            continue
    return None


def prepare(program: str, arguments: list[str], folder: str) -> types.ModuleType:
    """Sets `sys.argv` and `sys.path`, and puts a fresh `__main__` in place of the command's."""
    sys.argv[:] = [program, *arguments]
    if not sys.flags.safe_path:
        sys.path[0] = folder
    module = types.ModuleType("__main__")
    module.__dict__["__builtins__"] = names.BUILTIN if python2.is_installed() else sys.modules["builtins"]
    if sys.version_info < (3, 14):  # which makes them of the module's code
        module.__dict__["__annotations__"] = {}
    sys.modules["__main__"] = module
    return module


def as_main(module: str, alter_argv: bool) -> int:
    runpy._run_module_as_main(module, alter_argv=alter_argv)  # type: ignore[attr-defined]
    return 0


def execute(source: bytes, path: str, program: str, arguments: list[str], folder: str) -> int:
    """Runs source text, or the bytes of a compiled file, in a fresh `__main__`."""
    module = prepare(program, arguments, folder)
    if program not in ("-", "", "-c"):
        loader_class = SourcelessFileLoader if path.endswith(".pyc") else SourceFileLoader
        module.__dict__.update(__cached__=None, __loader__=loader_class("__main__", path))
    if program != "-c":
        module.__dict__["__file__"] = path
    code = module.__loader__.get_code("__main__") if path.endswith(".pyc") else compiled(source, path)
    exec(code, module.__dict__)  # type: ignore[arg-type]  # noqa: S102
    return 0


def compiled(source: bytes, path: str) -> types.CodeType:
    """The code of a program's source: of Python 2 where this process is."""
    return compiler.compiled(source, path) if python2.is_installed() else sources.compiled(source, path)


def _is_own(trace: types.TracebackType) -> bool:
    return trace.tb_frame.f_code.co_filename.startswith(OWN_FILES)


def _without_helpers(trace: types.TracebackType | None) -> types.TracebackType | None:
    """A traceback without the functions that do what an operator of Python 2 did."""
    if trace is None or not python2.is_installed():
        return trace
    kept = []
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith(HELPERS):
            kept.append(trace)
        trace = trace.tb_next
    for one, following in zip(kept, [*kept[1:], None]):
        one.tb_next = following
    return kept[0] if kept else None


def report(kind: type[BaseException], error: BaseException, trace: types.TracebackType | None) -> None:
    """Prints an uncaught exception as python does, without the frames that lead to the program and those of tfcompat inside."""
    inner, were_own = trace, False
    while inner is not None and not (were_own and not _is_own(inner)):
        were_own = _is_own(inner)
        inner = inner.tb_next
    while inner is not None and inner.tb_frame.f_code.co_filename.startswith(RUNPY_FILES):
        inner = inner.tb_next
    if inner is not None or isinstance(error, SyntaxError):
        error = error.with_traceback(_without_helpers(inner))
    with folded(error) as note:
        if note and sys.stderr is not None:
            sys.stderr.write(note)
        sys.__excepthook__(kind, error, error.__traceback__)
    if isinstance(error, SyntaxError) and PYTHON_2.search(str(error)):
        sys.stderr.write(
            f"tfcompat: {error.filename} seems to be written for Python 2: run it without --strict and --python 3, or with --python 2, "
            "or convert it (python -m fissix -w FILE)\n"
        )
