"""Records the nodes that TensorFlow 1.15.5's tf.gradients makes for the rows of the case tables, in tests/golden/gradient_nodes.

.venv-tf1/bin/python tests/oracle/record_gradient_nodes.py [family ...]
"""

import importlib
import os
import sys

from record_cases import TESTS, families, tf

from oracle import golden, gradient_nodes


def main(names):
    """Records the families."""
    for family in names or families():
        table = importlib.import_module("cases." + family).TABLE
        entries = {}
        for case in table.cases:
            found = gradient_nodes.entry(tf, case) if case.grad and case.seed is None else None
            if found is not None:
                entries[case.id] = found
        path = os.path.join(TESTS, "golden", "gradient_nodes", family + ".json.gz")
        if entries:
            golden.write(path, entries)
            print("%-20s %4d rows %7d bytes" % (family, len(entries), os.path.getsize(path)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
