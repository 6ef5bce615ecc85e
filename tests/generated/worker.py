"""A process that reads damaged files: lines `kind folder` come in, a JSON object for each goes out. For Python 3.7 too.

    python worker.py MODULE LIMIT        MODULE: tensorflow or tfcompat; LIMIT: bytes of address space beyond the start
"""

import dis
import importlib
import json
import os
import resource
import sys
import warnings

warnings.simplefilter("ignore")
os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["TFCOMPAT_CACHE_DIR"] = ""
os.environ.setdefault("JAX_PLATFORMS", "cpu")
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def memory(key):
    """Bytes of memory of this process: VmRSS, VmHWM (the most since it was reset) or VmSize."""
    with open("/proc/self/status") as source:
        return next(int(line.split()[1]) << 10 for line in source if line.startswith(key))


def forget_peak():
    with open("/proc/self/clear_refs", "w") as target:
        target.write("5")


def is_stated(error):
    """Whether a `raise` statement of the program raised an error, and not something that it called."""
    trace = error.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
    code = trace.tb_frame.f_code
    is_ours = "/tfcompat/" in code.co_filename or "/tensorflow" in code.co_filename
    return is_ours and dis.opname[code.co_code[trace.tb_lasti]] in ("RAISE_VARARGS", "RERAISE")


def place(error):
    """Where in the program an error came up."""
    trace, found = error.__traceback__, ""
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if "/tfcompat/" in name or "/tensorflow" in name:
            found = "%s:%d" % ("/".join(name.split("/")[-3:]), trace.tb_lineno)
        trace = trace.tb_next
    return found


def outcome(tf, reader, folder):
    """What reading a folder gives: the class of an error (or "value"), the stage, and how much memory it took."""
    stage = ["start"]
    forget_peak()
    before = memory("VmRSS")
    found = {"outcome": "value"}
    try:
        reader(tf, folder, stage)
    except Exception as error:  # noqa: BLE001 -- what comes of any input is what is asked
        found = {
            "outcome": type(error).__name__, "is_op_error": isinstance(error, tf.errors.OpError), "stated": is_stated(error),
            "text": str(error)[:300], "place": place(error),
        }  # fmt: skip
    found["stage"], found["memory"] = stage[0], memory("VmHWM") - before
    return found


def main(module, limit):
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    tf = importlib.import_module(module)
    from generated.readers import READERS, warm

    tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.FATAL)
    warm(tf)
    most = memory("VmSize") + int(limit)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    answers.write("ready\n")
    answers.flush()
    for line in sys.stdin:
        kind, folder = line.split()
        answers.write(json.dumps(outcome(tf, READERS[kind], folder)) + "\n")
        answers.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
