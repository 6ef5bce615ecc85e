"""Runs one snippet under the module named on the command line and writes what it made, as JSON (see compare.py)."""

import importlib
import json
import sys
import traceback
import warnings

warnings.simplefilter("ignore")

import describe  # noqa: E402
import numpy as np  # noqa: E402


def fetched(session, fetches, namespace):
    """Values of the expressions, each with its dtype and shape; an exception in place of a value where one is raised."""
    values = {}
    for expression in fetches:
        try:
            result = session.run(eval(expression, namespace))
        except Exception as error:
            values[expression] = describe.exception(error)
            continue
        for path, leaf in describe.leaves(result):
            array = describe.dense(leaf)
            values[expression + ("/" + path if path else "")] = {
                "dtype": str(np.asarray(leaf).dtype),
                "shape": list(array.shape),
                "values": [repr(v) for v in array.ravel().tolist()],
            }
    return values


def gradients(tf, expression, namespace):
    """Names the gradients of the fetch with respect to every floating placeholder and trainable variable."""
    graph = tf.get_default_graph()
    sources = [
        op.outputs[0]
        for op in graph.get_operations()
        if op.type in ("Placeholder", "PlaceholderWithDefault") and op.outputs[0].dtype.is_floating
    ] + tf.trainable_variables()
    for i, grad in enumerate(tf.gradients(eval(expression, namespace), sources)):
        namespace["grad_%d" % i] = grad
    return ["grad_%d" % i for i in range(len(sources)) if namespace["grad_%d" % i] is not None]


def main(request):
    """Runs the request and returns the description of graph, values and exception."""
    module = importlib.import_module(request["module"])
    tf = sys.modules["tensorflow"] = module
    if request["module"] == "tensorflow":
        tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.ERROR)
    namespace = {"__name__": "__main__", "tf": tf, "np": np, "tensorflow": tf}
    result = {"nodes": [], "values": {}}
    try:
        if request["seed"] is not None:
            tf.set_random_seed(request["seed"])
        exec(compile(request["code"], request["file"], "exec"), namespace)
        fetches = list(request["fetch"])
        if not fetches and "y" in namespace and request["want_values"]:
            fetches = ["y"]
        graph = tf.get_default_graph()
        result["nodes"] = describe.nodes(graph)
        if request["grad"] and fetches:
            fetches += gradients(tf, fetches[0], namespace)
        if request["want_values"] and fetches:
            with tf.Session(graph=graph) as session:
                if tf.global_variables():
                    session.run(tf.global_variables_initializer())
                result["values"] = fetched(session, fetches, namespace)
    except Exception as error:
        result["exception"] = describe.exception(error)
        result["traceback"] = traceback.format_exc()
        if not result["nodes"] and hasattr(tf, "get_default_graph"):
            result["nodes"] = describe.nodes(tf.get_default_graph())
    return result


if __name__ == "__main__":
    with open(sys.argv[1]) as source:
        answer = main(json.load(source))
    with open(sys.argv[2], "w") as sink:
        json.dump(answer, sink)
