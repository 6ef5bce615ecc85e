"""A process that has imported tfcompat, and forks itself for each program that `children.warm` sends.

A line of standard input is a request in JSON; the answers are the number of the process and then its exit status, as in `subprocess`.
"""

import faulthandler
import gc
import json
import os
import runpy
import sys
import types

import tfcompat  # noqa: F401


def serve():
    """Forks for every request. In a forked process returns the arguments of its program, and at the end None."""
    answers = os.fdopen(os.dup(1), "w")
    for line in iter(sys.stdin.readline, ""):
        request = json.loads(line)
        process = os.fork()
        if not process:
            answers.close()
            prepare(request)
            return request["arguments"]
        print(process, file=answers, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), file=answers, flush=True)
    return None


def prepare(request):
    """Takes the folder, the environment and the files of a request."""
    for number, (name, mode) in enumerate(zip(request["files"], (os.O_RDONLY, os.O_WRONLY, os.O_WRONLY), strict=True)):
        file = os.open(name, mode)
        os.dup2(file, number)
        os.close(file)
    sys.stdin = open(0, encoding="utf-8")  # noqa: SIM115
    faulthandler.enable()
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.path[:1] = [p for p in request["environment"]["PYTHONPATH"].split(os.pathsep) if p not in sys.path]


def run(arguments):
    """Does what `python arguments...` does: `-c CODE`, `-m MODULE` or a script."""
    first, *rest = arguments
    kind, text = (first, rest.pop(0)) if first in ("-c", "-m") else ("", first)
    sys.argv[:] = [kind or text, *rest]
    sys.path.insert(0, {"-c": "", "-m": os.getcwd()}.get(kind, os.path.dirname(text)))
    if kind == "-m":
        runpy.run_module(text, run_name="__main__", alter_sys=True)
    elif kind == "-c":
        sys.modules["__main__"] = types.ModuleType("__main__")
        exec(compile(text, "<string>", "exec"), vars(sys.modules["__main__"]))
    else:
        runpy.run_path(text, run_name="__main__")


if __name__ == "__main__":
    gc.collect()
    gc.freeze()
    if (_arguments := serve()) is not None:
        run(_arguments)
