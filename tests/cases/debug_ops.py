"""The ops that the TensorFlow debugger puts into graphs; 1.15 has no public functions for them."""

import numpy as np

from cases.table import BOOL, F32, I32, U8, Table

TABLE = Table("debug_ops")
case, error_case = TABLE.case, TABLE.error_case
OUTPUTS = {"DebugNanCount": "int64", "DebugNumericSummary": "float64"}


def node(tf, kind, x, **attrs):
    """The output of a node; attributes are bytes or floats."""
    named = {key: tf.AttrValue(**{"s" if isinstance(value, bytes) else "f": value}) for key, value in attrs.items()}
    dtype = tf.as_dtype(OUTPUTS.get(kind, x.dtype))
    return tf.get_default_graph().create_op(kind, [x], [dtype], attrs=named).outputs[0]


MIXED = np.array([[1.0, np.nan, np.inf], [-np.inf, -2.0, 0.0]], np.float32)
for _kind in ("Copy", "CopyHost", "DebugGradientIdentity"):
    case(_kind, lambda tf, x, k=_kind: node(tf, k, x), grad=False, x=F32(2, 3))
for _name, _x in (
    ("mixed", MIXED), ("int", I32(5)), ("bool", BOOL(7)), ("byte", U8(2, 3)), ("none", np.zeros([0, 3])), ("scalar", np.array(3.5)),
    ("not_finite", np.array([np.nan, np.inf])),
):  # fmt: skip
    for _kind in ("DebugNumericSummary",) if _name == "bool" else ("DebugNanCount", "DebugNumericSummary"):
        case(_kind + "_" + _name, lambda tf, x, k=_kind: node(tf, k, x, tensor_name=b"x:0"), grad=False, partial=False, x=_x)
case("identity", lambda tf, x: node(tf, "DebugIdentity", x, tensor_name=b"x:0"), grad=False, x=F32(2))
case("bounds", lambda tf, x: node(tf, "DebugNumericSummary", x, tensor_name=b"x:0", lower_bound=-1.5, upper_bound=0.5), grad=False,
     partial=False, x=MIXED)  # fmt: skip
error_case("no_name", lambda tf, x: node(tf, "DebugIdentity", x), x=F32(2))
error_case("half", lambda tf, x: node(tf, "DebugNumericSummary", x, tensor_name=b"x:0"), x=np.ones(2, np.float16))
error_case("gradient", lambda tf, x: tf.gradients(node(tf, "Copy", x), x), x=F32(2))
