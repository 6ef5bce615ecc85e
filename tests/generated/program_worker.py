"""A child process that runs drawn programs: `python -m generated.program_worker BANK`, where BANK is a file of pickled usages.

It reads lines "FIRST COUNT", and writes the number of each program before it runs and "NUMBER<tab>OUTCOME<tab>TYPES<tab>TEXT"
after it, so that whoever started it knows which program ended the process. With `--show` it prints the steps of programs.
"""

import logging
import os
import pickle
import resource
import sys
import traceback

import tfcompat as tf
from generated.programs import Drawing
from tfcompat._src.graph import op_spec

MOST_BYTES = 16 << 30
NOT_FIT = "cannot be computed of these inputs and attributes"
"""What the message of a kernel's own Python exception says."""


def outcome(drawing):
    """How a program ends, in one word, and what to know of it."""
    with tf.Graph().as_default():
        try:
            fetched = drawing.build()
            if not fetched:
                return "refused", str(drawing.refused[-1][1])
            with tf.Session() as session:
                session.run(fetched)
        except (tf.errors.InternalError, tf.errors.UnknownError) as e:
            return "internal", f"{type(e).__name__}: {e.message}"
        except tf.errors.OpError as e:
            return "unfit" if NOT_FIT in e.message else "raised", f"{type(e).__name__}: {e.message}"
        except Exception as e:  # noqa: BLE001 (counted)
            return "internal", _described(e)
    return "value", ""


def _described(error):
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "/tfcompat/" in f.filename]
    place = f"{frames[-1].filename.split('/tfcompat/')[-1]}:{frames[-1].lineno}" if frames else "?"
    return f"{type(error).__name__} at {place}: {error}"


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # libraries print there
    logging.disable(logging.CRITICAL)
    tf.logging.set_verbosity(tf.logging.FATAL)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with open(sys.argv[1], "rb") as file:
        bank = {name: uses for name, uses in pickle.load(file).items() if op_spec.find(name) is not None}
    for line in sys.stdin:
        first, count = map(int, line.split())
        for number in range(first, first + count):
            print(number, file=answers, flush=True)
            drawing = Drawing(bank, number)
            word, text = outcome(drawing)
            if "--show" in sys.argv:
                print(*drawing.steps, *(f"refused: {step}" for step, _ in drawing.refused), sep="\n", file=answers)
            types = "+".join(dict.fromkeys(s.split("(")[0] for s in drawing.steps))
            print(f"{number}\t{word}\t{types}\t{' '.join(text.split())[:400]}", file=answers, flush=True)


if __name__ == "__main__":
    main()
