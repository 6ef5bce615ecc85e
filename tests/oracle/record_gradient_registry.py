"""Records for which names TensorFlow 1.15.5 has registered that they have a gradient (true) or none (false), contrib included.

Writes tests/golden/gradient_registry.json, all names, and tfcompat/_src/base/registered_gradients.txt, those that no module of tfcompat
registers by itself: a name, and behind it "none", or the module and the name of the function.
"""

import json
import os

import tensorflow.contrib
import tensorflow.contrib.factorization
import tensorflow.contrib.text
from tensorflow.python.framework import op_def_registry, ops

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GOLDEN = os.path.join(TESTS, "golden", "gradient_registry.json")
NAMES = os.path.join(os.path.dirname(TESTS), "tfcompat", "_src", "base", "registered_gradients.txt")


def main():
    for module in dir(tensorflow.contrib):
        getattr(tensorflow.contrib, module)
    registry = ops._gradient_registry
    found = {name: registry.lookup(name) is not None for name in registry.list()}
    with open(GOLDEN, "w") as sink:
        json.dump(found, sink, indent=0, sort_keys=True)
        sink.write("\n")
    # Functions under names that are no op types are for gradient_override_map: contrib's modules register them here too.
    op_types = op_def_registry.get_registered_ops()
    with open(NAMES, "w") as sink:
        for name in sorted(found):
            if not found[name] or name in op_types:
                rule = registry.lookup(name)
                sink.write(name + (" {0.__module__}:{0.__name__}".format(rule) if rule else " none") + "\n")


if __name__ == "__main__":
    main()
