"""A float64 case for each differentiable op type that no other table has one of: the slope is checked by differences."""

import numpy as np

from cases.table import F64, Table

TABLE = Table("gradients64")
UNIT = dict(low=0.2, high=0.8)
POSITIVE = dict(low=0.5, high=2.0)


def raw(op_type, attrs=None, constants=None, suffix="", **inputs):
    """A case of one op type: placeholders for `inputs`, and constant inputs and attributes."""
    given = dict(attrs or {}, **(constants or {}))
    TABLE.case(
        op_type + suffix,
        lambda tf, **placeholders: getattr(tf.raw_ops, op_type)(**dict(given, **placeholders)),
        partial=False,
        **inputs
    )


def listed(op_type, key, attrs=None, **inputs):
    """A case of an op type whose placeholders make one list input."""
    given = attrs or {}
    TABLE.case(
        op_type,
        lambda tf, **placeholders: getattr(tf.raw_ops, op_type)(
            **dict(given, **{key: [placeholders[k] for k in sorted(placeholders)]})
        ),
        partial=False,
        **inputs
    )


# ---- elementwise ----
raw("Inv", x=F64(3, 4, **POSITIVE))
raw("ConjugateTranspose", {"perm": [1, 0]}, x=F64(3, 4))
raw("CheckNumerics", {"message": "bad"}, tensor=F64(3, 4))
raw("PlaceholderWithDefault", {"shape": [3, 4]}, input=F64(3, 4))
for name in ("InvGrad", "ReciprocalGrad", "RsqrtGrad", "SqrtGrad", "TanhGrad", "SigmoidGrad"):
    raw(name, y=F64(3, 4, **POSITIVE), dy=F64(3, 4))
for name in ("ReluGrad", "Relu6Grad", "LeakyReluGrad", "SoftplusGrad"):
    raw(name, gradients=F64(3, 4), features=F64(3, 4))
for name in ("EluGrad", "SeluGrad"):
    raw(name, gradients=F64(3, 4), outputs=F64(3, 4))
for name in ("Div", "MulNoNan", "FloorMod", "Xdivy", "Xlogy"):
    raw(name, x=F64(3, 4, low=2.1, high=2.9), y=F64(4, **POSITIVE))
raw("Igamma", constants={"a": np.array([[1.5, 2.0, 0.7]])}, x=F64(2, 3, **POSITIVE))
raw("Igammac", constants={"a": np.array([[1.5, 2.0, 0.7]])}, x=F64(2, 3, **POSITIVE))
raw("Zeta", constants={"x": np.array([2.5, 3.0, 4.0])}, q=F64(2, 3, **POSITIVE))
raw("Polygamma", constants={"a": np.array([1.0, 2.0, 3.0])}, x=F64(2, 3, **POSITIVE))
raw("Betainc", constants={"a": np.array([1.5, 2.0, 0.7]), "b": np.array([0.5, 1.0, 2.0])}, x=F64(3, **UNIT))
raw("SelectV2", constants={"condition": np.array([True, False, True])}, t=F64(2, 3), e=F64(3))
listed("AddN", "inputs", a=F64(2, 3), b=F64(2, 3), c=F64(2, 3))
TABLE.case("AccumulateNV2", lambda tf, a, b: tf.raw_ops.AccumulateNV2(inputs=[a, b], shape=[2, 3]), partial=False, a=F64(2, 3), b=F64(2, 3))
TABLE.case("ComplexParts", lambda tf, x, y: [
    f(tf.complex(x, y)) for f in (tf.abs, tf.math.angle, tf.math.real, tf.math.imag)], partial=False, x=F64(3, **POSITIVE), y=F64(3))  # fmt: skip
for name in ("FFT", "FFT2D", "FFT3D", "IFFT", "IFFT2D", "IFFT3D"):
    TABLE.case(name, lambda tf, x, y, n=name: [
        f(getattr(tf.raw_ops, n)(input=tf.complex(x, y))) for f in (tf.math.real, tf.math.imag)],
        partial=False, x=F64(2, 3, 4), y=F64(2, 3, 4))  # fmt: skip

# ---- shape and order ----
raw("BroadcastTo", {"shape": [2, 3, 4]}, input=F64(3, 1))
raw("EnsureShape", {"shape": [3, 4]}, input=F64(3, 4))
raw("Fill", {"dims": [2, 3]}, value=F64())
raw("Diag", diagonal=F64(3))
raw("DiagPart", input=F64(3, 3))
raw("MatrixDiag", diagonal=F64(2, 3))
MAIN = {"k": 0, "padding_value": np.float64(0)}
raw("MatrixDiagV2", dict(MAIN, num_rows=-1, num_cols=-1), diagonal=F64(2, 3))
raw("MatrixDiagPartV2", MAIN, input=F64(2, 3, 3))
raw("MatrixSetDiagV2", {"k": 0}, input=F64(2, 3, 3), diagonal=F64(2, 3))
raw("Slice", {"begin": [1, 0], "size": [2, 3]}, input=F64(4, 5))
raw("StridedSliceGrad", {"shape": [4, 5], "begin": [3, 1], "end": [0, 5], "strides": [-2, 2]}, dy=F64(2, 2))
raw("Tile", {"multiples": [2, 3]}, input=F64(2, 3))
raw("PadV2", {"paddings": [[1, 2], [0, 1]]}, input=F64(2, 3), constant_values=F64())
raw("MirrorPadGrad", {"paddings": [[1, 1], [2, 0]], "mode": "REFLECT"}, input=F64(5, 6))
raw("Reverse", {"dims": [True, False]}, tensor=F64(2, 3))
raw("ReverseV2", {"axis": [-1]}, tensor=F64(2, 3))
raw("ReverseSequence", {"seq_lengths": [2, 3], "seq_dim": 1, "batch_dim": 0}, input=F64(2, 4))
raw("Roll", {"shift": [1, -2], "axis": [0, 1]}, input=F64(3, 4))
raw("Split", {"axis": 1, "num_split": 2}, value=F64(3, 4))
raw("SplitV", {"size_splits": [1, 3], "axis": 1, "num_split": 2}, value=F64(3, 4))
raw("Unpack", {"num": 3}, value=F64(3, 4))
listed("Concat", "values", {"concat_dim": 1}, a=F64(2, 3), b=F64(2, 1))
raw("BatchToSpace", {"crops": [[0, 1], [1, 0]], "block_size": 2}, input=F64(4, 2, 2, 1))
raw("BatchToSpaceND", {"block_shape": [2, 1], "crops": [[0, 1], [0, 0]]}, input=F64(4, 2, 2, 1))
raw("SpaceToBatch", {"paddings": [[0, 1], [1, 0]], "block_size": 2}, input=F64(1, 3, 3, 2))
raw("SpaceToBatchND", {"block_shape": [2, 1], "paddings": [[0, 1], [0, 0]]}, input=F64(1, 3, 3, 2))
raw("DepthToSpace", {"block_size": 2}, input=F64(1, 2, 2, 4))
raw("SpaceToDepth", {"block_size": 2}, input=F64(1, 4, 4, 1))
raw("ExtractImagePatches", {"ksizes": [1, 2, 2, 1], "strides": [1, 1, 2, 1], "rates": [1, 1, 1, 1], "padding": "SAME"}, images=F64(1, 3, 4, 2))
raw("ExtractVolumePatches", {"ksizes": [1, 2, 2, 1, 1], "strides": [1, 1, 1, 1, 1], "padding": "VALID"}, input=F64(1, 3, 3, 2, 1))

# ---- gather, scatter, partition ----
raw("Gather", {"indices": [2, 0, 2]}, params=F64(3, 2))
for name in ("TensorScatterAdd", "TensorScatterSub", "TensorScatterUpdate"):
    raw(name, {"indices": [[2], [0]]}, tensor=F64(4, 2), updates=F64(2, 2))
raw("ScatterNdNonAliasingAdd", {"indices": [[2], [0], [2]]}, input=F64(4, 2), updates=F64(3, 2))
raw("DynamicPartition", {"partitions": [1, 0, 1, 2], "num_partitions": 3}, data=F64(4, 2))
for name in ("DynamicStitch", "ParallelDynamicStitch"):
    listed(name, "data", {"indices": [[0, 2], [1, 3, 4]]}, a=F64(2, 3), b=F64(3, 3))
for name in ("SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN"):
    raw(name, {"indices": [0, 2, 1, 2], "segment_ids": [0, 0, 1, 3]}, data=F64(4, 2))
    raw(name + "WithNumSegments", {"indices": [0, 2, 1, 2], "segment_ids": [0, 0, 1, 3], "num_segments": 5}, data=F64(4, 2))
raw("NthElement", {"n": 2}, input=F64(3, 5))

# ---- products and decompositions ----
raw("BatchMatMul", {"adj_y": True}, x=F64(2, 3, 4), y=F64(2, 5, 4))
raw("MatrixSolveLs", {"l2_regularizer": np.float64(0.1), "fast": True}, matrix=F64(4, 3), rhs=F64(4, 2))

# ---- images and neural networks ----
raw("BiasAddV1", value=F64(2, 3), bias=F64(3))
raw("BiasAddGrad", out_backprop=F64(2, 2, 3))
raw("Dilation2D", {"strides": [1, 1, 1, 1], "rates": [1, 1, 1, 1], "padding": "VALID"}, input=F64(1, 4, 4, 2), filter=F64(2, 2, 2))
raw("DepthwiseConv2dNativeBackpropInput", {"input_sizes": [1, 4, 4, 2], "strides": [1, 1, 1, 1], "padding": "SAME"},
    filter=F64(2, 2, 2, 1), out_backprop=F64(1, 4, 4, 2))  # fmt: skip
raw("DepthwiseConv2dNativeBackpropFilter", {"filter_sizes": [2, 2, 2, 1], "strides": [1, 1, 1, 1], "padding": "SAME"},
    input=F64(1, 4, 4, 2), out_backprop=F64(1, 4, 4, 2))  # fmt: skip
raw("Conv3DBackpropFilterV2", {"filter_sizes": [2, 2, 2, 1, 2], "strides": [1] * 5, "padding": "VALID"},
    input=F64(1, 3, 3, 3, 1), out_backprop=F64(1, 2, 2, 2, 2))  # fmt: skip
WINDOW = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"}
VOLUME = {"ksize": [1, 2, 2, 2, 1], "strides": [1, 1, 1, 1, 1], "padding": "VALID"}
TABLE.case("AvgPoolGrad", lambda tf, g: tf.raw_ops.AvgPoolGrad(orig_input_shape=[1, 4, 4, 2], grad=g, **WINDOW), partial=False, g=F64(1, 2, 2, 2))
raw("AvgPool3D", VOLUME, input=F64(1, 3, 3, 3, 1))
TABLE.case("AvgPool3DGrad", lambda tf, g: tf.raw_ops.AvgPool3DGrad(orig_input_shape=[1, 3, 3, 3, 1], grad=g, **VOLUME), partial=False,
           g=F64(1, 2, 2, 2, 1))
raw("MaxPoolV2", WINDOW, input=F64(1, 4, 4, 2))
TABLE.case("MaxPoolWithArgmax", lambda tf, x: tf.raw_ops.MaxPoolWithArgmax(input=x, **WINDOW).output, partial=False, x=F64(1, 4, 4, 2))
for name in ("FractionalAvgPool", "FractionalMaxPool"):
    TABLE.case(name, lambda tf, x, n=name: getattr(tf.raw_ops, n)(
        value=x, pooling_ratio=[1.0, 1.5, 1.5, 1.0], deterministic=True, seed=3, seed2=4).output, partial=False, x=F64(1, 6, 6, 1))  # fmt: skip


def _pooled(tf, x, op_type, attrs):
    return getattr(tf.raw_ops, op_type)(input=x, **attrs)


X4 = F64(1, 4, 4, 2)
for name, kind in (("MaxPoolGrad", dict(WINDOW)), ("MaxPoolGradV2", dict(WINDOW))):
    TABLE.case(name, lambda tf, x, g, n=name, k=kind: getattr(tf.raw_ops, n)(
        orig_input=x, orig_output=tf.stop_gradient(_pooled(tf, x, "MaxPool", k)), grad=g, **k),
        partial=False, x=X4, g=F64(1, 2, 2, 2))  # fmt: skip
TABLE.case("MaxPoolGradGrad", lambda tf, x, g: tf.raw_ops.MaxPoolGradGrad(
    orig_input=x, orig_output=tf.stop_gradient(_pooled(tf, x, "MaxPool", WINDOW)), grad=g, **WINDOW),
    partial=False, x=X4, g=X4)  # fmt: skip

def _array(tf, x, y):
    array = tf.TensorArray(tf.float64, 2, infer_shape=False).split(x, [1, 2])
    other = tf.TensorArray(tf.float64, 3, clear_after_read=False).write(1, y[0] * x[1]).scatter([2, 0], y)
    return array.concat(), other.gather([0, 2, 1]), other.read(1)


TABLE.case("tensor_array", _array, partial=False, x=F64(3, 2), y=F64(2, 2))


def _lists(tf, x):
    R = tf.raw_ops
    shape, one = tf.constant([2], tf.int32), dict(element_dtype=tf.float64)
    items = R.TensorListFromTensor(tensor=x, element_shape=shape)
    items = R.TensorListSetItem(input_handle=items, index=1, item=x[0] * x[2])
    items = R.TensorListPushBack(input_handle=items, tensor=x[1] ** 2)
    items, last = R.TensorListPopBack(input_handle=items, element_shape=shape, **one)
    picked = R.TensorListGather(input_handle=items, indices=[2, 0], element_shape=shape, **one)
    first = R.TensorListGetItem(input_handle=items, index=0, element_shape=shape, **one)
    return R.TensorListStack(input_handle=items, element_shape=shape, **one), last, picked, first


def _list_parts(tf, x):
    R = tf.raw_ops
    one = dict(element_dtype=tf.float64)
    parts = R.TensorListSplit(tensor=x, element_shape=[-1, 2], lengths=tf.constant([1, 2], tf.int64))
    joined = R.TensorListConcat(input_handle=parts, **one).tensor
    again = R.TensorListConcatV2(
        input_handle=parts, element_shape=[-1, 2], leading_dims=tf.constant([], tf.int64), **one
    ).tensor
    placed = R.TensorListScatter(tensor=x, indices=[2, 0, 1], element_shape=tf.constant([2], tf.int32))
    placed = R.TensorListScatterIntoExistingList(input_handle=placed, tensor=x[:1] * 2, indices=[1])
    other = R.TensorListScatterV2(tensor=x, indices=[1, 0, 2], element_shape=tf.constant([2], tf.int32), num_elements=-1)
    stacks = [R.TensorListStack(input_handle=h, element_shape=tf.constant([2], tf.int32), **one) for h in (placed, other)]
    return [joined, again] + stacks


TABLE.case("tensor_list", _lists, partial=False, x=F64(3, 2))
TABLE.case("tensor_list_parts", _list_parts, partial=False, x=F64(3, 2))



def _ragged(tf, x):
    gathered = tf.raw_ops.RaggedGather(
        params_nested_splits=[tf.constant([0, 2, 3], tf.int64)], params_dense_values=x, indices=[1, 0, 1], OUTPUT_RAGGED_RANK=1
    )
    sparse = tf.raw_ops.RaggedTensorToSparse(
        rt_nested_splits=gathered.output_nested_splits, rt_dense_values=gathered.output_dense_values
    )
    return sparse.sparse_values


TABLE.case("ragged", _ragged, partial=False, x=F64(3))
TABLE.case("Conj", lambda tf, x, y: tf.math.imag(tf.math.conj(tf.complex(x, y))), partial=False, x=F64(3), y=F64(3))
TABLE.case("Print", lambda tf, x: tf.Print(x, [x[:0]], summarize=0), partial=False, x=F64(3))
TABLE.case(
    "TensorListResize",
    lambda tf, x: tf.raw_ops.TensorListStack(
        input_handle=tf.raw_ops.TensorListResize(
            input_handle=tf.raw_ops.TensorListFromTensor(tensor=x, element_shape=tf.constant([2], tf.int32)), size=2
        ),
        element_shape=tf.constant([2], tf.int32),
        element_dtype=tf.float64,
    ),
    partial=False,
    x=F64(3, 2),
)


def _optional(tf, x, y):
    optional = tf.raw_ops.OptionalFromValue(components=[x * x, y + 1])
    found = tf.raw_ops.OptionalGetValue(optional=optional, output_types=[tf.float64] * 2, output_shapes=[[2], [3]])
    return found[0] * 3, found[1] ** 2


TABLE.case("optional", _optional, partial=False, x=F64(2), y=F64(3))
NO_GRADIENT = {
    "shuffle": lambda tf, x: tf.random_shuffle(x),
    "unique": lambda tf, x: tf.unique(x)[0],
    "bits": lambda tf, x: tf.bitcast(x, tf.int64),
    "guarantee_const": lambda tf, x: tf.guarantee_const(x),
    "where": lambda tf, x: tf.where(x),
    "update": lambda tf, x: tf.scatter_update(tf.Variable(np.zeros(3)), [0, 2, 1], x),
}
for name, build in NO_GRADIENT.items():
    TABLE.error_case("none_" + name, lambda tf, x, f=build: tf.gradients(f(tf, x), x), x=F64(3))
