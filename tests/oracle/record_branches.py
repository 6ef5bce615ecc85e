"""Records what TensorFlow gives for tests/runtime/branch_programs.py and routing_programs.py.

Run with tensorflow==1.15.5 installed: python tests/oracle/record_branches.py [program ...]
"""

import json
import os
import sys

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TESTS, "runtime"))

import branch_outcomes  # noqa: E402
import branch_programs  # noqa: E402, F401  (adds its programs)
import routing_programs  # noqa: E402, F401  (the same)
import tensorflow as tf  # noqa: E402
from branch_kinds import PROGRAMS  # noqa: E402
from tensorflow.python.ops import control_flow_ops  # noqa: E402

GOLDEN = os.path.join(TESTS, "golden", "runtime", "branches.json")


class Flow:
    switch = staticmethod(control_flow_ops.switch)
    switch_ref = staticmethod(control_flow_ops.switch_ref_or_tensor if hasattr(control_flow_ops, "switch_ref_or_tensor") else control_flow_ops._SwitchRefOrTensor)
    merge = staticmethod(control_flow_ops.merge)


def main():
    tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.ERROR)
    names = sys.argv[1:] or list(PROGRAMS)
    found = json.load(open(GOLDEN)) if sys.argv[1:] and os.path.exists(GOLDEN) else {}
    for name in names:
        found[name] = branch_outcomes.outcomes(PROGRAMS[name], tf, Flow)
    with open(GOLDEN, "w") as sink:
        json.dump(found, sink, indent=0, sort_keys=True)
        sink.write("\n")


if __name__ == "__main__":
    main()
