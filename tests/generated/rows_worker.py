"""What variants of rows give: `GENERATED_MODULE=MODULE python rows_worker.py ANSWERS FIRST SECONDS PLACES SLOPES PREFIXES`.

MODULE is tensorflow or tfcompat, FIRST the number of the variant to begin with, SECONDS the limit for one, PLACES and PREFIXES are joined by
commas, SLOPES is 1 for gradients. ANSWERS gets a pickled name before each variant, and (name, answer) after it: ("value", arrays),
("error", classes of the exception, message), or None where the row alone does not run. Python 3.7 reads this.
"""

import itertools
import logging
import os
import pickle
import signal
import sys
import warnings

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import numpy as np  # noqa: E402

from generated.surroundings import Variant, tf, variants  # noqa: E402


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


def main(answers, first, seconds, places, slopes, prefixes):
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    tf.logging.set_verbosity(tf.logging.FATAL)
    signal.signal(signal.SIGALRM, late)
    chosen = variants(prefixes.split(","), places.split(","), slopes == "1")
    with open(answers, "ab") as file:
        for variant in itertools.islice(chosen, int(first), None):
            pickle.dump(variant.name, file, 2)
            file.flush()
            pickle.dump((variant.name, answer(variant, int(seconds))), file, 2)


if __name__ == "__main__":
    main(*sys.argv[1:])
