"""Known differences from TensorFlow 1.15.5, each with its reason; the README's list is printed from here.

CASES maps "family/case" to {aspect: reason}; the aspects are "nodes", "collections", "shapes", "values", "gradients",
"error" and "roundtrip". A difference that is listed here and no longer there fails the case's test.
"""

SQUARE_ROOT = "1.15's vectorised square root gives NaN for infinity and loses the sign of zero; here as IEEE 754 says"
UNSORTED_TOP_K = "sorted=False gives falling order too; 1.15 leaves the elements in the order of its heap"
ADJOINT_INVERSE = "1.15's gradient of MatrixInverse ignores its attribute adjoint; here it is the derivative"
KNOWN_BRANCH = "1.15 evaluates constants through Switch nodes: the static shape of one node in a branch is not known here"
DENSE_CTC = "1.15 makes two While nodes that run functions; here tf.while_loop makes the same two loops"
GRADIENT_NODES = "nodes that tf.gradients makes compute the same under other names"
SET_SHAPES = "shapes that tf.while_loop and TensorArray set are not in a GraphDef; 1.15 loses them on import too"
SWISH_KEYWORD = "1.15's decorator of swish refuses keywords with ValueError; here Python does, with TypeError"
KNOWN_SIZE = "shape functions here know more than 1.15's: the Size of a tensor of known shape, sizes known in part"
ASSERTION_TEXT = "the text of an assertion about the size of an image is other than 1.15's"
POOLING_SEQUENCE = "1.15's static shape of a pooling sequence is one too small"
CONTROL_ORDER = "control inputs stand in the order of the call; 1.15 reorders them where a branch replaces a data input"
LOGARITHM_OF_SIZE = "1.15 evaluates the logarithm of a size while it infers shapes; here the padded size is not known"
FUNCTION_SHAPE = "the shape function of a Defun is Python; a GraphDef does not hold it, and 1.15 infers shapes on import"
EDITED_SHAPES = "an edited node keeps its static shape; a GraphDef does not hold it, and 1.15 loses it on import too"
COPIED_MERGE = "the inputs of a copied Merge stand in the order of the original; 1.15 turns them round"

CASES: dict[str, dict[str, str]] = {
    **{
        f"contrib_small/kmeans_{name}": {"nodes": CONTROL_ORDER}
        for name in ("plus_plus_squared_euclidean", "plus_plus_cosine", "two_copies")
    },
    "graph_editor/graph_replace_loop": {"nodes": COPIED_MERGE, "roundtrip": SET_SHAPES},
    **{f"graph_editor/{name}": {"roundtrip": EDITED_SHAPES} for name in ("bypass", "detach", "detach_inputs")},
    "distributions_contrib/auto_correlation_True": {"nodes": LOGARITHM_OF_SIZE, "roundtrip": LOGARITHM_OF_SIZE},
    "distributions_contrib/auto_correlation_False": {"nodes": LOGARITHM_OF_SIZE, "roundtrip": LOGARITHM_OF_SIZE},
    "gradients64/FractionalAvgPool": {"nodes": POOLING_SEQUENCE},
    "gradients64/FractionalMaxPool": {"nodes": POOLING_SEQUENCE},
    **{
        f"contrib_nets/optimize_loss_{name}": {"nodes": GRADIENT_NODES}
        for name in ("sgd", "adam_clipped", "momentum_summaries", "multipliers")
    },
    **{f"contrib_nets/{name}": {"roundtrip": SET_SHAPES} for name in ("bow_encoder", "odeint", "odeint_fixed")},
    "contrib_nets/scaled_softplus": {"roundtrip": FUNCTION_SHAPE},
    "sparse/transpose_fed": {"nodes": KNOWN_SIZE},
    "sparse/safe_lookup_weights": {"roundtrip": SET_SHAPES},
    "math_unary/swish_named": {"error": SWISH_KEYWORD},
    **{
        f"training/{name}": {"nodes": GRADIENT_NODES}
        for name in ("gradients_zero", "gradients_intermediate", "hessians", "aggregation", "name")
    },
    **{
        f"control/{name}": {"roundtrip": SET_SHAPES}
        for name in (
            "while_single", "while_same_structure", "while_shape_invariants", "tensor_array_methods", "tensor_array_growing",
        )
    },
    **{f"ctc/{name}": {"nodes": DENSE_CTC} for name in ("loss_v2", "loss_v2_unique", "loss_v2_blank")},
    **{
        f"linalg_more/expm_{name}": {"roundtrip": SET_SHAPES}
        for name in ("0.001", "0.05", "0.3", "1.0", "4.0", "float32", "complex")
    },
    "signal/stft_dynamic": {"roundtrip": SET_SHAPES},
    "linear_operators/Kronecker": {"nodes": "1.15 takes the shape of the right-hand sides twice and uses it once"},
    "ctc/unique_labels": {"roundtrip": SET_SHAPES},
    "feature_column/variables_of_columns": {"roundtrip": SET_SHAPES},
    **{f"crf/{name}": {"roundtrip": SET_SHAPES} for name in ("multitag", "decode", "decode_unknown_time")},
    **{
        f"optimizers_contrib/{name}{kind}": {"nodes": GRADIENT_NODES}
        for name in ("multitask", "shampoo", "shampoo_interval", "shampoo_iterative")
        for kind in ("", "_resource")
    },
    **{
        f"optimizers_contrib/{name}": {"nodes": CONTROL_ORDER}
        for name in ("elastic_average", "accumulated_gradient", "model_average")
    },
    "nn_misc/top_k": {"values": UNSORTED_TOP_K, "gradients": UNSORTED_TOP_K},
    "checks/is_non_decreasing": {"nodes": KNOWN_BRANCH, "roundtrip": KNOWN_BRANCH},
    "checks/is_strictly_increasing": {"nodes": KNOWN_BRANCH, "roundtrip": KNOWN_BRANCH},
    "checks/is_increasing_short": {"roundtrip": KNOWN_BRANCH},
    "linalg/matrix_inverse_adjoint": {"gradients": ADJOINT_INVERSE},
    "math_unary/special_sqrt": {"values": SQUARE_ROOT},
    "math_unary/special_rsqrt": {"values": SQUARE_ROOT},
    **{
        f"image_files/any_{name}": {"nodes": CONTROL_ORDER}
        for name in ("palette", "animation", "bmp", "cmyk", "float", "first_frame")
    },
    **{f"image_contrib/{name}": {"nodes": ASSERTION_TEXT} for name in ("dense_image_warp", "sparse_image_warp")},
    **{
        f"image_contrib/fractional_{name}_{kind}": {"nodes": POOLING_SEQUENCE}
        for name in ("max", "avg")
        for kind in ("00", "01", "10", "11", "gradient", "ints")
    },
}

EAGER: dict[str, str] = {
    "functional_ops/while_number": "1.15 takes no number as the condition of an eager While, as it does in graphs",
    "nn_misc/unsorted_unsorted_segment_max": "1.15 fails in the gradient of it in eager mode",
}
"""Rows that eager mode does otherwise than TensorFlow 1.15, and why."""
