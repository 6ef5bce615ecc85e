"""Known differences from TensorFlow 1.15.5, each with its reason; the README's list is printed from here.

CASES maps "family/case" to {aspect: reason}; the aspects are "nodes", "collections", "shapes", "values", "gradients",
"error" and "roundtrip". A difference that is listed here and no longer there fails the case's test.
"""

SQUARE_ROOT = "1.15's vectorised square root gives NaN for infinity and loses the sign of zero; here as IEEE 754 says"
UNSORTED_TOP_K = "sorted=False gives falling order too; 1.15 leaves the elements in the order of its heap"
ADJOINT_INVERSE = "1.15's gradient of MatrixInverse ignores its attribute adjoint; here it is the derivative"
KNOWN_BRANCH = "1.15 evaluates constants through Switch nodes: the static shape of one node in a branch is not known here"
DENSE_CTC = "1.15 makes two While nodes that run functions; here tf.while_loop makes the same two loops"
ADDRESS_ORDER = "1.15 keeps more than eight edges into a node in the order of addresses, which a run does not repeat"
SET_SHAPES = "shapes that tf.while_loop and TensorArray set are not in a GraphDef; 1.15 loses them on import too"
SWISH_KEYWORD = "1.15's decorator of swish refuses keywords with ValueError; here Python does, with TypeError"
KNOWN_SIZE = "shape functions here know more than 1.15's: the Size of a tensor of known shape, sizes known in part"
ASSERTION_TEXT = "the text of an assertion about the size of an image is other than 1.15's"
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
    **{f"contrib_nets/{name}": {"roundtrip": SET_SHAPES} for name in ("bow_encoder", "odeint", "odeint_fixed")},
    **{f"rnn_estimator/{name}": {"roundtrip": SET_SHAPES} for name in ("classifier_eval", "classifier_infer", "estimator_cell_fn")},
    **{f"rnn_estimator/classifier_{name}": {"roundtrip": SET_SHAPES} for name in ("train", "context")},
    "rnn_estimator/classifier_gru": {"nodes": ADDRESS_ORDER, "roundtrip": SET_SHAPES},
    "contrib_nets/scaled_softplus": {"roundtrip": FUNCTION_SHAPE},
    "sparse/transpose_fed": {"nodes": KNOWN_SIZE},
    "sparse/safe_lookup_weights": {"roundtrip": SET_SHAPES},
    "training/hessians": {"roundtrip": SET_SHAPES},
    "math_unary/swish_named": {"error": SWISH_KEYWORD},
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
}

EAGER: dict[str, str] = {
    "functional_ops/while_number": "1.15 takes no number as the condition of an eager While, as it does in graphs",
    "nn_misc/unsorted_unsorted_segment_max": "1.15 fails in the gradient of it in eager mode",
}
"""Rows that eager mode does otherwise than TensorFlow 1.15, and why."""

# ---- malformed input: names of rows of tests/generated ----

RUNS: dict[str, str] = {
    "assign_before_failed_assert": "a step of a run that fails leaves all variables as they were before it; 1.15 keeps the updates that ran before the failure",
    "gather_that_only_control_edges_use": "an operation that others only wait for runs, and its error is raised; 1.15 does so without its rewriting of graphs, which removes it",
    "constants_of_a_sum_with_a_ref": "c - (v.assign_sub(x) + 1) reads v before an update that waits for the sum; 1.15's rewriting of graphs adds the constants first, and then reads v after it",
    "sum_with_itself_in_a_branch": "x + x in the branch of tf.cond for True is the sum; 1.15's rewriting of graphs makes it a product without a value (\"Retval[0] does not have value\")",
    "draw_beside_failed_read": "a run that fails stops, and what has not run yet draws no random numbers; 1.15 goes on with what does not wait for the failed operation",
    "assign_beside_read": "an update and a read that nothing orders run in the order in which their nodes were made; 1.15 runs them in any order",
}
"""Of runs."""

INTERNAL_NODES = "nodes that only 1.15's runtime makes have no op here"
WHOLE_SHAPES = "1.15 says it when the value of a tensor is handed to NumPy, which had 32 dimensions then"
UNREAD_FIELDS = "what no program writes is not read: strings in tensor_content, resources in messages"
LIBRARY_TYPE = "1.15's Python gives TypeError, UnicodeDecodeError or nothing where the message of a checkpoint is damaged; here it is DataLossError"
EARLY_SLICES = "slices that do not fit their tensor are found when a checkpoint is opened"
GRAPPLER = "1.15's rewriting of graphs of constants loses the value of this loop"
ERROR_IN_ERROR = "1.15 fails while it writes the message"
UNREAD_SLICES = "1.15 says that it does not join slices, or has no array of this type, in files of version 1; here they are read"
STRICTER = "here an error where 1.15 passes over damage"
LATER = "1.15 looks for a function that nothing runs"
OTHER_CLASS = "another class of error for the same damage"
EARLIER = "the error comes when the graph is imported or when it runs, and in 1.15 at the other of these"

MALFORMED: dict[str, str] = {
    "1/113 checkpoint v1_parts m table": UNREAD_SLICES,
    "1/221 vocabulary 0 words bytes": STRICTER,
    "1/281 checkpoint v1_parts m table": UNREAD_SLICES,
    "1/303 sequence_example 0 example bytes": STRICTER,
    "1/365 checkpoint v1_parts m table": UNREAD_SLICES,
    "1/38 image 1 image bytes": STRICTER,
    "1/477 checkpoint v1_parts m table": UNREAD_SLICES,
    "1/617 checkpoint v1_parts m table": UNREAD_SLICES,
    "1/79 sequence_example 0 example message": STRICTER,
    "checkpoint checkpoint_dtype_99": LIBRARY_TYPE,
    "checkpoint checkpoint_dtype_negative": LIBRARY_TYPE,
    "checkpoint checkpoint_dtype_resource": UNREAD_FIELDS,
    "checkpoint checkpoint_entry_empty": LIBRARY_TYPE,
    "checkpoint checkpoint_header_missing": LIBRARY_TYPE,
    "checkpoint checkpoint_huge_and_size": OTHER_CLASS,
    "checkpoint checkpoint_key_not_utf8": LIBRARY_TYPE,
    "checkpoint checkpoint_keys_twice": LIBRARY_TYPE,
    "checkpoint checkpoint_no_dtype": LIBRARY_TYPE,
    "checkpoint checkpoint_slices_negative": EARLY_SLICES,
    "checkpoint checkpoint_slices_outside": EARLY_SLICES,
    "checkpoint checkpoint_slices_rank": EARLY_SLICES,
    "checkpoint v1_dtype_99": LIBRARY_TYPE,
    "checkpoint v1_dtype_none": LIBRARY_TYPE,
    "checkpoint v1_slices_negative": EARLY_SLICES,
    "checkpoint v1_values_bytes": OTHER_CLASS,
    "checkpoint v1_values_short": STRICTER,
    "graph_text arg_in_a_graph": INTERNAL_NODES,
    "graph_text function_attr_missing": OTHER_CLASS,
    "graph_text function_input_two_parts": STRICTER,
    "graph_text loop_next_from_merge": GRAPPLER,
    "graph_text loop_whole": GRAPPLER,
    "graph_text map_of_nothing": LATER,
    "graph_text merge_first_closes": STRICTER,
    "graph_text pad_int_max": EARLIER,
    "graph_text range_overflow": STRICTER,
    "graph_text retval_in_a_graph": INTERNAL_NODES,
    "graph_text send_without_device": INTERNAL_NODES,
    "graph_text slice_minus_two": EARLIER,
    "graph_text tensor_rank_254": WHOLE_SHAPES,
    "graph_text tensor_rank_33": WHOLE_SHAPES,
    "graph_text tensor_rank_65": WHOLE_SHAPES,
    "graph_text tensor_resource": UNREAD_FIELDS,
    "graph_text tensor_zero_times_huge": WHOLE_SHAPES,
    "pattern pattern_posix_unknown": ERROR_IN_ERROR,
    "vocabulary vocabulary_empty": OTHER_CLASS,
}

UNKNOWN_AXIS = "1.15 takes an axis, a size or a rank that is not known for -1, and says what need not hold"
OTHER_RANK = "1.15 reads past the end of the attribute where the input has another rank"
FOUR_DIMENSIONS = "1.15 forgets one of the three inner dimensions where it does not know all of them"

SHAPES: dict[str, tuple[tuple[str, ...], str]] = {
    "CombinedNonMaxSuppression": (("refused there",), UNKNOWN_AXIS),
    "ExtractVolumePatches": (("other",), FOUR_DIMENSIONS),
    "FusedPadConv2D": (("refused there",), UNKNOWN_AXIS),
    "FusedResizeAndPadConv2D": (("refused there",), UNKNOWN_AXIS),
    "MatrixDiagV2": (("less known here",), UNKNOWN_AXIS),
    "MatrixSetDiagV2": (("less known here", "refused there"), UNKNOWN_AXIS),
    "PeriodicResample": (("other",), OTHER_RANK),
    "SplitV": (("less known here", "refused there"), UNKNOWN_AXIS),
    "Substr": (("refused there",), UNKNOWN_AXIS),
}
"""By op type: how static shapes may differ (generated/compare_shapes.py), and why."""

# ---- special values: cases of tests/ops/special_value_cases.py, and which of their elements ----

SIGN, DENORMAL, INTEGER_LIMITS = "the sign of zero", "denormal numbers", "the limits of integers"
NOT_FINITE, EVERYWHERE = "infinities, NaN and the largest numbers", "everywhere"

FLUSHED = "denormal numbers are 0 in arithmetic in both programs, but which functions (and libraries) see them as numbers differs"
COMPLEX_ZEROS = "complex products and functions are computed by other formulas, which give a zero part the other sign"
COMPLEX_INFINITE = "complex products and functions of infinite parts are computed by other formulas: C's recover infinities from NaN"
BRANCH_CUT = "compiled programs pass over the sign of a zero part that says on which side of a branch cut a number is"
SUM_FROM_ZERO = "1.15 adds to +0, and extremes of zeros of both signs are either; here sums of -0 alone are -0, and -0 < 0"
WRAPPED_QUOTIENT = "1.15 computes (|x| + |y| - 1) / |y|, whose sum wraps around near the limits; here the floor of the quotient"
ITERATIONS = "1.15 stops series after a number of steps, or overflows in them; libraries differ in the last digits"
FROM_LOWEST = "1.15 compares with the lowest finite number first, and begins again after a NaN"
JOINED = "the compiler joins products and sums into one rounding, and selects where 1.15 multiplies by 0"
IN_FLOAT32 = "float16 and bfloat16 are summed in float32, or in another order, and rounded once"
ROUNDED_COMPLEX = "complex quotients and powers are rounded otherwise"

_SPECIAL_VALUES = (
    (SIGN, COMPLEX_ZEROS, "complex*", "Acosh Asinh Atanh Cumprod Exp Expm1 InvGrad Log1p Pow Prod ReciprocalGrad Rsqrt RsqrtGrad SegmentProd Sign Sin Sinh Sqrt Tan Tanh"),
    (SIGN, SUM_FROM_ZERO, "*float*", "AvgPool AvgPoolGrad MaxPool MaxPoolGrad Relu Relu6 SegmentMax SegmentMin UnsortedSegmentMax UnsortedSegmentMin"),
    (SIGN, SUM_FROM_ZERO, "*", "Cumsum SegmentMean SegmentSum"),
    (SIGN, FLUSHED, "float*", "IgammaGradA Pow"),
    (SIGN, JOINED, "8", "FakeQuantWithMinMaxArgsGradient"),
    (INTEGER_LIMITS, WRAPPED_QUOTIENT, "int*", "FloorDiv"),
    (DENORMAL, FLUSHED, "complex*", "Acosh Angle Asinh Atanh Cos Cosh Exp Expm1 Log Log1p Rsqrt Sigmoid Sign Sin Sinh Sqrt Tan Tanh"),
    (DENORMAL, FLUSHED, "*float*", "Asin Atan2 Betainc Cumprod Cumsum Igamma IgammaGradA Igammac Lgamma Log Max MaxPool MaxPoolGrad Maximum Min Minimum Polygamma Pow"),
    (DENORMAL, FLUSHED, "*float*", "RandomGammaGrad Relu Relu6 Relu6Grad ReluGrad RsqrtGrad SegmentMax SegmentMean SegmentMin SegmentProd SegmentSum Tanh"),
    (DENORMAL, FLUSHED, "*float*", "UnsortedSegmentMax UnsortedSegmentMin Zeta"),
    (DENORMAL, FLUSHED, "*", "ClipByValue FakeQuantWithMinMaxArgs FakeQuantWithMinMaxArgsGradient"),
    (DENORMAL, FLUSHED, "bfloat16/bool", "Cast"),
    (NOT_FINITE, COMPLEX_INFINITE, "complex*", "Acosh Asinh Atanh ComplexAbs Cos Cosh Cumprod EuclideanNorm Exp Expm1 Log Log1p Pow Prod Rsqrt RsqrtGrad SegmentMean"),
    (NOT_FINITE, COMPLEX_INFINITE, "complex*", "SegmentProd Sigmoid Sign Sin Sinh Sqrt SqrtGrad Square Tan Tanh UnsortedSegmentProd Xlogy"),
    (NOT_FINITE, COMPLEX_INFINITE, "complex*", "Cumsum SegmentSum"),
    (NOT_FINITE, SQUARE_ROOT, "float32*", "EuclideanNorm"),
    (NOT_FINITE, IN_FLOAT32, "float16*", "AvgPool Mean Sum"),
    (NOT_FINITE, IN_FLOAT32, "bfloat16", "Softplus"),
    (NOT_FINITE, ITERATIONS, "float*", "Betainc Igamma IgammaGradA Igammac RandomGammaGrad Zeta"),
    (NOT_FINITE, FROM_LOWEST, "*float*", "UnsortedSegmentMax UnsortedSegmentMin"),
    (NOT_FINITE, FLUSHED, "*float*", "SegmentProd"),
    (NOT_FINITE, JOINED, "*", "FakeQuantWithMinMaxArgs FakeQuantWithMinMaxArgsGradient"),
    (EVERYWHERE, BRANCH_CUT, "complex*", "Acosh Asinh Sqrt"),
    (EVERYWHERE, ROUNDED_COMPLEX, "complex*", "Pow Xdivy"),
    (EVERYWHERE, FROM_LOWEST, "*float*/pairs/*", "ArgMax ArgMin"),
    (EVERYWHERE, FLUSHED, "*float*", "SegmentProd"),
    (EVERYWHERE, ITERATIONS, "float64", "Betainc Digamma Igammac Polygamma"),
    (EVERYWHERE, ITERATIONS, "float*", "Lgamma"),
    (EVERYWHERE, JOINED, "*", "FakeQuantWithMinMaxArgs"),
)  # fmt: skip
SPECIAL_VALUES: dict[tuple[str, str], str] = {
    (f"{op}/{dtypes}", where): reason for where, reason, dtypes, ops in _SPECIAL_VALUES for op in ops.split()
}
"""Elements of results that are not 1.15's at special values; `special_value_cases.WHERE` says which elements are meant."""
