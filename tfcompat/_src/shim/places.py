"""Where the internal names of TensorFlow's modules live here: the only table of them that is written by hand."""

from __future__ import annotations

SHIM = "tfcompat._src.shim."

REAL_MODULES = {
    "tensorflow.contrib.all_reduce.python.all_reduce": "tfcompat._src.distribute.all_reduce",
    "tensorflow.examples.tutorials.mnist.input_data": SHIM + "examples.input_data",
    "tensorflow.python.framework.combinations": "tfcompat._src.testing.combinations",
    "tensorflow.python.framework.test_combinations": "tfcompat._src.testing.test_combinations",
    "tensorflow.python.framework.test_ops": "tfcompat._src.testing.test_ops",
    "tensorflow.python.ops.linalg.linear_operator_addition": "tfcompat._src.linalg.addition",
    "tensorflow.python.ops.linalg.linear_operator_algebra": "tfcompat._src.linalg.algebra",
    "tensorflow.python.ops.linalg.linear_operator_test_util": "tfcompat._src.testing.linear_operator_test_util",
    "tensorflow.python.ops.linalg.linear_operator_util": "tfcompat._src.linalg.util",
    "tensorflow.python.ops.linalg.registrations_util": "tfcompat._src.linalg.hints",
    "tensorflow.python.kernel_tests.random.util": "tfcompat._src.testing.sample_statistics",
    "tensorflow.python.ops.control_flow_util": "tfcompat._src.ops.control.control_flow_util",
    "tensorflow.python.ops.spectral_ops_test_util": "tfcompat._src.testing.spectral_ops_test_util",
    "tensorflow.python.platform.googletest": "tfcompat._src.testing.googletest",
    "tensorflow.python.platform.test.mock": "unittest.mock",
    "tensorflow.python.platform.flags": "tfcompat._src.platform.flags",
    "tensorflow.python.platform.tf_logging": "tfcompat._src.platform.logging",
    "tensorflow.python.tools.freeze_graph": "tfcompat._src.saved_model.freeze_graph",
    "tensorflow.python.tools.inspect_checkpoint": "tfcompat._src.train.inspect_checkpoint",
    "tensorflow.python.tools.optimize_for_inference": "tfcompat._src.saved_model.optimize_for_inference",
    "tensorflow.python.tools.optimize_for_inference_lib": "tfcompat._src.saved_model.optimize_for_inference",
    "tensorflow.python.tools.saved_model_cli": "tfcompat._src.cli.saved_model",
    "tensorflow.python.tools.saved_model_utils": "tfcompat._src.saved_model.files",
    "tensorflow.python.tools.strip_unused": "tfcompat._src.saved_model.strip_unused",
    "tensorflow.python.tools.strip_unused_lib": "tfcompat._src.saved_model.strip_unused",
    "tensorflow.python.training.saver_test_utils": "tfcompat._src.testing.saver_test_utils",
    "tensorflow.python.training.checkpoint_management": "tfcompat._src.train.checkpoint_management",
    "tensorflow.python.tf2": SHIM + "internal.tf2",
    "tensorflow.python.util.compat": SHIM + "internal.compat",
    "tensorflow.python.util.tf_inspect": SHIM + "internal.tf_inspect",
}
"""Modules that are modules of ours, name for name."""

NAMES = {
    "tensorflow.contrib.distributions.python.ops.bijectors.masked_autoregressive._gen_mask":
        "@tensorflow.contrib.distributions.python.ops.bijectors.masked_autoregressive:gen_mask",
    "tensorflow.contrib.distributions.python.ops.gumbel._Gumbel":
        "@tensorflow.contrib.distributions.python.ops.gumbel:Gumbel",
    "tensorflow.contrib.distributions.python.ops.shape._DistributionShape":
        "@tensorflow.contrib.distributions.python.ops.shape:DistributionShape",
    "tensorflow.contrib.image.python.ops.dense_image_warp._interpolate_bilinear":
        "@tensorflow.contrib.image.python.ops.dense_image_warp:interpolate_bilinear",
    "tensorflow.contrib.image.python.ops.sparse_image_warp._get_boundary_locations":
        "@tensorflow.contrib.image.python.ops.sparse_image_warp:boundary_locations",
    "tensorflow.contrib.image.python.ops.sparse_image_warp._get_grid_locations":
        "@tensorflow.contrib.image.python.ops.sparse_image_warp:grid_locations",
    "tensorflow.contrib.rnn.python.ops.core_rnn_cell._Linear": "@tensorflow.contrib.rnn.python.ops.core_rnn_cell:Linear",
    "tensorflow.contrib.rnn.python.ops.core_rnn_cell._linear": "@tensorflow.contrib.rnn.python.ops.core_rnn_cell:linear",
    "tensorflow.python.ops.image_ops_impl._verify_compatible_image_shapes":
        "@tensorflow.python.ops.image_ops_impl:verify_compatible_image_shapes",
    "tensorflow.python.ops.init_ops._compute_fans": "@tensorflow.python.ops.init_ops:compute_fans",
    "tensorflow.contrib.rnn.python.ops.lstm_ops._block_lstm": "@tensorflow.contrib.rnn.python.ops.lstm_ops:block_lstm",
    "tensorflow.contrib.rnn.python.ops.lstm_ops._lstm_block_cell": "@tensorflow.contrib.rnn.python.ops.lstm_ops:lstm_block_cell",
    "tensorflow.python.framework.versions.__git_version__": "GIT_VERSION",
    "tensorflow.python.framework.versions.__version__": "VERSION",
    "tensorflow.python.ops.gen_rnn_ops.BlockLSTM": "raw:BlockLSTM",
    "tensorflow.python.ops.gen_rnn_ops.BlockLSTMV2": "raw:BlockLSTMV2",
    "tensorflow.python.ops.gen_data_flow_ops._stack": "raw:Stack",
    "tensorflow.python.ops.linalg.linalg.diag": "linalg.diag",
    "tensorflow.python.ops.linalg.linalg.diag_part": "linalg.diag_part",
    "tensorflow.python.ops.linalg.linalg.solve": "linalg.solve",
    "tensorflow.python.ops.linalg.linalg_impl.diag": "linalg.diag",
    "tensorflow.python.ops.linalg.linalg_impl.diag_part": "linalg.diag_part",
    "tensorflow.python.ops.linalg.linalg_impl.solve": "linalg.solve",
    "tensorflow.python.ops.linalg.linear_operator_circulant._to_complex":
        "@tensorflow.python.ops.linalg.linear_operator_util:to_complex",
    "tensorflow.python.ops.linalg.linear_operator_toeplitz._to_complex":
        "@tensorflow.python.ops.linalg.linear_operator_util:to_complex",
    "tensorflow.python.ops.control_flow_ops._SwitchRefOrTensor": "@tensorflow.python.ops.control_flow_ops:switch_ref_or_tensor",
    "tensorflow.python.ops.math_ops._bucketize": "raw:Bucketize",
    "tensorflow.python.ops.math_ops.reduce_sum": "reduce_sum",
    "tensorflow.python.ops.variables._all_saveable_objects": "@tensorflow.python.ops.variables:all_saveable_objects",
    "tensorflow.python.saved_model.loader_impl.parse_saved_model": "@tensorflow.python.saved_model.loader_impl:read_saved_model",
    "tensorflow.python.saved_model.loader_impl._parse_saved_model": "@tensorflow.python.saved_model.loader_impl:read_saved_model",
    "tensorflow.python.ops.variable_scope._get_default_variable_store": "@tensorflow.python.ops.variable_scope:get_variable_store",
    "tensorflow.python.ops.while_v2.while_loop": "@tensorflow.python.ops.while_v2:while_v2",
    "tensorflow.python.training.warm_starting_util._infer_var_name": "@tensorflow.python.training.warm_starting_util:_saved_name",
    "tensorflow.python.training.tracking.util.Checkpoint": "train.Checkpoint",
    "tensorflow.python.ops.sparse_ops._add_many_sparse_to_tensors_map": "@tensorflow.python.ops.sparse_ops:add_many_sparse_to_tensors_map",
    "tensorflow.python.ops.sparse_ops._add_sparse_to_tensors_map": "@tensorflow.python.ops.sparse_ops:add_sparse_to_tensors_map",
    "tensorflow.python.ops.sparse_ops._take_many_sparse_from_tensors_map": "@tensorflow.python.ops.sparse_ops:take_many_sparse_from_tensors_map",
    "tensorflow.python.ops.rnn._best_effort_input_batch_size": "@tensorflow.python.ops.rnn:best_effort_input_batch_size",
    "tensorflow.python.ops.rnn._concat": "@tensorflow.python.ops.rnn:concat_sizes",
    "tensorflow.python.ops.rnn._reverse_seq": "@tensorflow.python.ops.rnn:reverse_seq",
    "tensorflow.python.ops.rnn._rnn_step": "@tensorflow.python.ops.rnn:rnn_step",
    "tensorflow.python.ops.rnn._transpose_batch_time": "@tensorflow.python.ops.rnn:transpose_batch_time",
    "tensorflow.python.ops.rnn_cell_impl._concat": "@tensorflow.python.ops.rnn:concat_sizes",
    "tensorflow.python.ops.rnn_cell_impl._zero_state_tensors": "@tensorflow.python.ops.rnn:zero_state_tensors",
    "tensorflow.python.ops.rnn_cell_impl._BIAS_VARIABLE_NAME": "@tensorflow.python.ops.rnn:BIAS",
    "tensorflow.python.ops.rnn_cell_impl._WEIGHTS_VARIABLE_NAME": "@tensorflow.python.ops.rnn:KERNEL",
}
"""Names of TensorFlow's modules without a public path that mean something of ours under another name (`resolve.target`)."""

PLACES = {
    "tensorflow.contrib": ("contrib",),
    "tensorflow.contrib.bayesflow": ("contrib.bayesflow",),
    "tensorflow.contrib.distributions": ("contrib.distributions", "distributions"),
    "tensorflow.contrib.distributions.python.ops.gumbel": ("contrib.distributions.location_scale",),
    "tensorflow.contrib.distributions.python.ops.bijectors": ("contrib.distributions.bijectors",),
    "tensorflow.contrib.cudnn_rnn": ("contrib.cudnn_rnn",),
    "tensorflow.contrib.grid_rnn": ("contrib.grid_rnn",),
    "tensorflow.contrib.predictor": ("contrib.predictor",),
    "tensorflow.contrib.recurrent": ("contrib.recurrent",),
    "tensorflow.contrib.saved_model.python.saved_model.reader": ("saved_model.files",),
    "tensorflow.contrib.rnn": ("contrib.rnn", "rnn"),
    "tensorflow.python.client": ("runtime",),
    "tensorflow.python.client.timeline": ("profiler.timeline",),
    "tensorflow.python.compat": ("platform.compat",),
    "tensorflow.python.data": ("data",),
    "tensorflow.python.debug": ("debug",),
    "tensorflow.python.distribute": ("distribute",),
    "tensorflow.python.eager": ("eager", "function", "framework"),
    "tensorflow.python.eager.context": ("shim.internal.context",),
    "tensorflow.python.eager.execution_callbacks": ("shim.internal.execution_callbacks",),
    "tensorflow.python.estimator": ("estimator",),
    "tensorflow.python.feature_column": ("feature_column",),
    "tensorflow.python.framework": ("framework", "ops", "runtime"),
    "tensorflow.python.framework.common_shapes": ("shim.internal.common_shapes",),
    "tensorflow.python.framework.function": ("function.defun",),
    "tensorflow.python.framework.func_graph": ("function",),
    "tensorflow.python.framework.graph_to_function_def": ("framework.function_def",),
    "tensorflow.python.framework.ops": ("shim.internal.ops", "framework", "ops", "runtime", "gradients"),
    "tensorflow.python.framework.smart_cond": ("ops.control",),
    "tensorflow.python.framework.test_util": ("testing",),
    "tensorflow.python.framework.versions": ("platform.versions",),
    "tensorflow.python.keras": ("keras", "layers"),
    "tensorflow.python.layers": ("layers",),
    "tensorflow.python.lib": ("platform", "io", "data"),
    "tensorflow.python.ops.distributions": ("distributions",),
    "tensorflow.python.ops.distributions.bijector_test_util": ("testing.bijector_test_util",),
    "tensorflow.python.ops.cond_v2": ("function.control_flow_v2",),
    "tensorflow.python.ops.while_v2": ("function.control_flow_v2",),
    "tensorflow.python.module": ("train.module",),
    "tensorflow.python.ops.linalg": ("ops.linalg", "linalg", "ops"),
    "tensorflow.python.ops.signal": ("ops.signal", "ops"),
    "tensorflow.python.ops": ("variables", "ops", "gradients", "layers", "framework", "train"),
    "tensorflow.python.ops.control_flow_ops": ("shim.internal.control_flow", "variables", "ops", "gradients", "layers", "framework", "train"),
    "tensorflow.python.ops.image_ops": ("ops.image",),
    "tensorflow.python.ops.nccl_ops": ("ops.math.nccl_ops",),
    "tensorflow.python.ops.image_ops_impl": ("ops.image",),
    "tensorflow.python.ops.lookup_ops": ("lookup", "ops", "train"),
    "tensorflow.python.ops.ragged": ("ops.ragged", "ops"),
    "tensorflow.python.ops.ragged.ragged_map_ops": ("variables.ragged_map",),
    "tensorflow.python.ops.ctc_ops": ("ops.nn.ctc", "ops.nn.ctc_labels", "function.ctc_dense"),
    "tensorflow.python.ops.gradient_checker": ("testing.gradient_checker",),
    "tensorflow.python.ops.gradient_checker_v2": ("testing.gradient_checker_v2",),
    "tensorflow.python.ops.summary_op_util": ("summary.scope",),
    "tensorflow.python.ops.summary_ops_v2": ("summary.summary_ops_v2",),
    "tensorflow.python.platform": ("platform",),
    "tensorflow.python.profiler": ("profiler",),
    "tensorflow.python.pywrap_tensorflow_internal": ("io",),
    "tensorflow.python.platform.test": ("testing",),
    "tensorflow.python.ops.rnn": ("rnn",),
    "tensorflow.python.ops.rnn_cell": ("rnn",),
    "tensorflow.python.ops.rnn_cell_impl": ("rnn",),
    "tensorflow.python.ops.rnn_cell_wrapper_impl": ("rnn",),
    "tensorflow.python.saved_model": ("saved_model",),
    "tensorflow.python.summary": ("summary",),
    "tensorflow.python.tools": ("saved_model",),
    "tensorflow.python.training": ("train", "runtime"),
    "tensorflow.python.training.tracking": ("train", "framework.trackable"),
    "tensorflow.python.tpu": ("contrib.tpu",),
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
