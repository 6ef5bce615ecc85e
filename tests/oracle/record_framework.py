"""Records what TensorFlow's dtypes, shapes, devices and nest give for framework_expressions.py.

Run with tensorflow==1.15.5 installed: python tests/oracle/record_framework.py
"""

import json
import os

import framework_expressions
from tensorflow.python.framework import device, device_spec, dtypes, tensor_shape
from tensorflow.python.util import nest

GOLDEN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "golden", "framework")


def main():
    names = framework_expressions.namespace(dtypes, tensor_shape, device, device_spec, nest)
    for group, outcomes in framework_expressions.all_outcomes(names).items():
        with open(os.path.join(GOLDEN, group + ".json"), "w") as sink:
            json.dump(outcomes, sink, indent=1, sort_keys=True)
            sink.write("\n")


if __name__ == "__main__":
    main()
