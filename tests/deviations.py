"""Known differences from TensorFlow 1.15.5, each with its reason; the README's list is printed from here.

CASES maps "family/case" to {aspect: reason}; the aspects are "nodes", "collections", "shapes", "values", "gradients",
"error" and "roundtrip". A difference that is listed here and no longer there fails the case's test.
"""

SQUARE_ROOT = "1.15's vectorised square root gives NaN for infinity and loses the sign of zero; here as IEEE 754 says"
NAN_EXTREME = "1.15 drops or keeps a NaN depending on its position in the vector; here the result is NaN"

CASES: dict[str, dict[str, str]] = {
    "math_unary/special_sqrt": {"values": SQUARE_ROOT},
    "math_unary/special_rsqrt": {"values": SQUARE_ROOT},
    "reduction/nan_reduce_max": {"values": NAN_EXTREME},
    "reduction/nan_reduce_min": {"values": NAN_EXTREME},
}
