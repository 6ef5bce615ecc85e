"""Where arrays go to user code or come from it: rows for `test_array_boundaries.py`, which run under TensorFlow 1.15.5 too.

    python tests/runtime/array_boundaries.py tensorflow     # or tfcompat: prints what each row observes

A row of `GIVEN` gives an array of ones to the program, changes it to nines, and returns what the program has of it: ones where
it took a copy. A row of `RECEIVED` gets arrays of ones from the program and writes nines into them, where it may; it returns
whether each could be written, and what the program has afterwards.
"""

import gc
import importlib
import json
import sys

import boundaries_given  # noqa: F401
import boundaries_given_eagerly  # noqa: F401
import boundaries_received  # noqa: F401
import boundaries_received_eagerly  # noqa: F401
from boundary_rows import GIVEN, RECEIVED


def observe(tf, table, name):
    """What a row sees; `tf` executes eagerly where the row does.

    What the row has left is collected before: while the collector waits, all of it is young, and nothing else is looked through.
    """
    gc.disable()
    try:
        found = table[name][0](tf)
        gc.collect(0)
    finally:
        gc.enable()
    values, writable = found if table is RECEIVED else (found, [])
    return {"seen": [float(v) for v in values], "writable": writable}


def main():
    tf = importlib.import_module(sys.argv[1])
    if sys.argv[1] == "tfcompat":
        tf.install_as_tensorflow()
    eager = sys.argv[2:] == ["eager"]
    tf.logging.set_verbosity("ERROR")
    if eager:
        tf.enable_eager_execution()
    found = {}
    for table in (GIVEN, RECEIVED):
        for name, (_, is_eager) in table.items():
            if is_eager != eager:
                continue
            try:
                if eager:
                    found[name] = observe(tf, table, name)
                else:
                    with tf.Graph().as_default():
                        found[name] = observe(tf, table, name)
            except Exception as e:  # noqa: BLE001  (a row that fails is shown as such)
                found[name] = "%s: %s" % (type(e).__name__, str(e).strip().split("\n")[0][:160])
    print(json.dumps(found, indent=0))


if __name__ == "__main__":
    main()
