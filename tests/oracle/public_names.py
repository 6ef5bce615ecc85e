"""Records which names the public namespaces of TensorFlow 1.15.5 hold, for `tfcompat/_src/base/tf1_names.txt`.

    /path/to/tensorflow-1.15.5/bin/python tests/oracle/public_names.py > tfcompat/_src/base/tf1_names.txt

One line for each namespace: its path ("." is tf itself) and its names. tf.compat.v1, which is tf again, is left out.
"""

import logging
import types
import warnings

SPACES = ("_api.v1", "_api.v2", "estimator.api._v1", "estimator.api._v2", "keras.api._v1", "keras.api._v2")


def is_namespace(path, value):
    """Whether `tf.path` is a module made for users: generated, or a package of contrib or right below one."""
    if not isinstance(value, types.ModuleType) or path in ("compat.v1", "compat.v2.compat", "compat.v2.raw_ops"):
        return False
    if path.startswith("contrib."):
        return path.count(".") <= 2 and "contrib." in value.__name__ and not path.endswith((".python", ".ops", ".proto"))
    return path == "contrib" or any(space in value.__name__ for space in SPACES)


def record(tf):
    """Namespace -> its names, sorted."""
    found, todo = {}, [("", tf)]
    while todo:
        path, module = todo.pop()
        names = {name for name in dir(module) if not name.startswith("_")} - {"absolute_import", "division", "print_function"}
        names |= {"contrib"} if path == "" else set()
        found[path] = sorted(names)
        inner = [(f"{path}.{name}".strip("."), getattr(module, name, None)) for name in names]
        todo += [(each, value) for each, value in inner if is_namespace(each, value)]
    return found


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    import tensorflow

    for space, held in sorted(record(tensorflow).items()):
        print(space or ".", *held)
