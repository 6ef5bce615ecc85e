"""Runs the rows of the case tables eagerly under TensorFlow 1.15.5 and writes tests/golden/eager_rows.json.gz.

.venv-tf1/bin/python tests/oracle/record_eager.py

For each row: "same" where values and gradients are those of the graph, "values" where only the values are, else the class of the
exception; rows of which eager execution says nothing (random ones, graphs only, what 1.15 lacks there) are left out.
"""

import importlib
import os
import sys
import warnings

warnings.simplefilter("ignore")
os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
sys.path.insert(0, TESTS)

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from cases import observe  # noqa: E402
from tensorflow.python.eager import context  # noqa: E402

from oracle import golden  # noqa: E402
from oracle.record_cases import families  # noqa: E402

tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.ERROR)


def is_same(want, have):
    """Whether two values agree as graph and eager mode do."""
    have = np.asarray(have)
    if want.dtype != have.dtype.name or want.array.shape != have.shape:
        return False
    if want.array.dtype.kind in "fc":
        return np.allclose(want.array, have.astype(want.array.dtype), 1e-3, 1e-5, equal_nan=True)
    return want.array.tolist() == have.tolist()


def observed(case, want):
    """What one row gives in eager mode, next to what it gave in a graph; None where nothing can be said."""
    try:
        with tf.Graph().as_default(), context.eager_mode():
            values, gradients = observe.eager_results(tf, case)
    except (RuntimeError, ValueError, TypeError, tf.errors.InvalidArgumentError) as error:
        return None if isinstance(error, NotImplementedError) else type(error).__name__
    except (AttributeError, tf.errors.OpError):
        return None
    left, right = [v for _, v in want["values"]], [v for _, v in values]
    if len(left) != len(right) or not all(isinstance(a, golden.Value) and is_same(a, b) for a, b in zip(left, right)):
        return None
    mine = [g for g in want["gradients"] if g[0] in case.arrays]
    kinds = [k for _, k, _ in mine] == [k for _, k, _ in gradients]
    return "same" if kinds and all(a[1] is None or is_same(a[2], b[2]) for a, b in zip(mine, gradients)) else "values"


def main():
    rows = {}
    for family in (f for f in families() if os.path.exists(os.path.join(TESTS, "golden", "cases", f + ".json.gz"))):
        recorded = golden.read(os.path.join(TESTS, "golden", "cases", family + ".json.gz"))
        for case in importlib.import_module("cases." + family).TABLE.cases:
            if case.fetch and case.run is None and not case.error and case.seed is None:
                found = observed(case, recorded[case.id])
                if found is not None:
                    rows[case.id] = found
    golden.write(os.path.join(TESTS, "golden", "eager_rows.json.gz"), rows)
    kinds = sorted(set(rows.values()))
    print({kind: sum(1 for v in rows.values() if v == kind) for kind in kinds})


if __name__ == "__main__":
    main()
