"""What variants of rows give: `GENERATED_MODULE=MODULE python rows_worker.py ANSWERS SECONDS PLACES SLOPES PREFIXES`.

MODULE is tensorflow or tfcompat, SECONDS the limit for one, PLACES and PREFIXES are joined by commas, SLOPES is 1 for gradients. ANSWERS
gets a pickled (name, answer) for each: ("value", arrays) or ("error", classes of the exception, message). Python 3.7 reads this.
"""

import logging
import os
import pickle
import signal
import sys
import warnings

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import numpy as np  # noqa: E402

from generated.surroundings import NO_GRADIENT, Variant, rows, tf  # noqa: E402


class Late(Exception):
    """A variant took longer than the limit."""


def late(number, frame):
    raise Late()


def plain(array):
    """An array that pickles the same way everywhere."""
    if array.dtype.name == "bfloat16":
        return array.astype(np.float32)
    if array.dtype.names:
        return array.view(np.uint8)
    if array.dtype.kind == "O":
        return np.array([v if isinstance(v, (bytes, str)) else repr(v) for v in array.ravel()], object)
    return array


def answer(variant, seconds):
    """What a variant gives; None where the row alone does not run."""
    given = variant.given()
    try:
        signal.alarm(seconds)
        given.plain = Variant(variant.case, "static").values(given)
    except Exception:  # noqa: BLE001
        return None
    finally:
        signal.alarm(0)
    try:
        signal.alarm(seconds)
        return "value", [plain(v) for v in variant.values(given)]
    except Exception as e:  # noqa: BLE001 (compared)
        return "error", [c.__name__ for c in type(e).__mro__], str(e)[:300]
    finally:
        signal.alarm(0)


def main(answers, seconds, places, slopes, prefixes):
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    tf.logging.set_verbosity(tf.logging.FATAL)
    signal.signal(signal.SIGALRM, late)
    with open(answers, "wb") as file:
        for case in rows():
            if not case.id.startswith(tuple(prefixes.split(","))) or (slopes == "1" and not case.grad):
                continue
            for place in places.split(","):
                if slopes != "1" or place not in NO_GRADIENT:
                    variant = Variant(case, place, slopes == "1")
                    pickle.dump((variant.name, answer(variant, int(seconds))), file, 2)
                    file.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
