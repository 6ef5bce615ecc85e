"""Where the internal names of TensorFlow's modules live here: the only table of them that is written by hand."""

from __future__ import annotations

SHIM = "tfcompat._src.shim."

REAL_MODULES = {
    "tensorflow.examples.tutorials.mnist.input_data": SHIM + "examples.input_data",
    "tensorflow.python.framework.combinations": "tfcompat._src.testing.combinations",
    "tensorflow.python.framework.test_combinations": "tfcompat._src.testing.test_combinations",
    "tensorflow.python.framework.test_ops": "tfcompat._src.testing.test_ops",
    "tensorflow.python.platform.googletest": "tfcompat._src.testing.googletest",
    "tensorflow.python.platform.test.mock": "unittest.mock",
    "tensorflow.python.platform.flags": "tfcompat._src.platform.flags",
    "tensorflow.python.tf2": SHIM + "internal.tf2",
    "tensorflow.python.util.compat": SHIM + "internal.compat",
    "tensorflow.python.util.tf_inspect": SHIM + "internal.tf_inspect",
}
"""Modules that are modules of ours, name for name."""

NAMES = {
    "tensorflow.python.ops.init_ops._compute_fans": "@tensorflow.python.ops.init_ops:compute_fans",
    "tensorflow.python.ops.math_ops._bucketize": "raw:Bucketize",
}
"""Names of TensorFlow's modules without a public path that mean something of ours under another name (`resolve.target`)."""

PLACES = {
    "tensorflow.contrib": ("contrib",),
    "tensorflow.python.client": ("runtime",),
    "tensorflow.python.compat": ("platform.compat",),
    "tensorflow.python.data": ("data",),
    "tensorflow.python.debug": ("debug",),
    "tensorflow.python.distribute": ("distribute",),
    "tensorflow.python.eager": ("eager", "framework"),
    "tensorflow.python.eager.context": ("shim.internal.context",),
    "tensorflow.python.eager.execution_callbacks": ("shim.internal.execution_callbacks",),
    "tensorflow.python.estimator": ("estimator",),
    "tensorflow.python.feature_column": ("feature_column",),
    "tensorflow.python.framework": ("framework", "ops", "runtime"),
    "tensorflow.python.framework.common_shapes": ("shim.internal.common_shapes",),
    "tensorflow.python.framework.function": ("function.defun",),
    "tensorflow.python.framework.graph_to_function_def": ("framework.function_def",),
    "tensorflow.python.framework.ops": ("shim.internal.ops", "framework", "ops", "runtime", "gradients"),
    "tensorflow.python.framework.smart_cond": ("ops.control",),
    "tensorflow.python.framework.test_util": ("testing",),
    "tensorflow.python.framework.versions": ("platform.versions",),
    "tensorflow.python.keras": ("keras", "layers"),
    "tensorflow.python.layers": ("layers",),
    "tensorflow.python.lib": ("platform", "data"),
    "tensorflow.python.ops": ("variables", "ops", "gradients", "layers", "framework", "train"),
    "tensorflow.python.ops.gradient_checker": ("testing.gradient_checker",),
    "tensorflow.python.ops.gradient_checker_v2": ("testing.gradient_checker_v2",),
    "tensorflow.python.platform": ("platform",),
    "tensorflow.python.platform.test": ("testing",),
    "tensorflow.python.platform.tf_logging": ("platform.logging",),
    "tensorflow.python.saved_model": ("saved_model",),
    "tensorflow.python.summary": ("summary",),
    "tensorflow.python.tools": ("saved_model",),
    "tensorflow.python.training": ("train", "runtime"),
    "tensorflow.python.util": ("framework", "platform"),
    "tensorflow.python.util.deprecation": ("shim.internal.deprecation",),
    "tensorflow.python.util.lazy_loader": ("shim.internal.lazy_loader",),
    "tensorflow.python.util.tf_contextlib": ("shim.internal.decorators",),
    "tensorflow.python.util.tf_decorator": ("shim.internal.decorators",),
    "tensorflow.python.util.tf_export": ("shim.internal.tf_export",),
    "tensorflow_estimator": ("estimator",),
}
"""Module or package of TensorFlow -> modules and packages of `tfcompat._src` that are searched for its internal names.

The longest path that fits counts.
"""


def places(module: str) -> tuple[str, ...]:
    """Where internal names of TensorFlow's `module` are looked for, below `tfcompat._src`."""
    while module not in PLACES:
        module, _, last = module.rpartition(".")
        if not last:
            return ()
    return PLACES[module]
