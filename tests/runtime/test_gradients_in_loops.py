"""The gradient of every op in a loop of one round is its gradient outside of loops, at zeros, ties, infinities and NaN too."""

import jax
import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.graph import op_spec, shape_inference
from tfcompat._src.runtime.engines import choice

SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -1.5, np.inf, -np.inf, np.nan, 1e-30, 6.0, 1e30], np.float32)
LEFT, RIGHT = np.repeat(SPECIAL, len(SPECIAL)), np.tile(SPECIAL, len(SPECIAL))
ELEMENTWISE = (shape_inference.unchanged, shape_inference.broadcast_inputs, shape_inference.merged_inputs)


def _ties(*shape):
    """Small numbers with zeros and many equal ones."""
    return (np.arange(np.prod(shape)) * 7 % 5 - 1).reshape(shape).astype(np.float32)


def _special(*shape):
    return np.resize(SPECIAL, shape)


def _drawn(*shape, seed=0):
    return np.random.RandomState(seed).uniform(-1, 1, shape).astype(np.float32)


def _complex(*shape):
    return (_special(*shape) + 1j * _ties(*shape)).astype(np.complex64)


_SPD = np.array([[4.0, 2.0, 1.0], [2.0, 3.0, 0.0], [1.0, 0.0, 2.0]], np.float32)
_IMAGE = _ties(1, 4, 4, 2)
_POOL = {"ksize": [1, 2, 2, 1], "strides": [1, 1, 1, 1], "padding": "VALID"}
_POOL_3D = {"ksize": [1, 2, 2, 2, 1], "strides": [1, 1, 1, 1, 1], "padding": "VALID"}
_CONV = {"strides": [1, 1, 1, 1], "padding": "SAME"}
_CONV_3D = {"strides": [1, 1, 1, 1, 1], "padding": "SAME"}
_IDS = np.array([0, 2, 2, 0])

# For each op type: inputs by name (those of floating dtype are differentiated), and attributes.
ROWS = {
    "AccumulateNV2": ({"inputs": [_special(13), _special(13)]}, {"shape": [13]}),
    "AddN": ({"inputs": [_special(13), _special(13)]}, {}),
    "AvgPool": ({"value": _special(1, 4, 4, 2)}, _POOL),
    "AvgPool3D": ({"input": _special(1, 3, 3, 3, 2)}, _POOL_3D),
    "AvgPool3DGrad": ({"orig_input_shape": [1, 3, 3, 3, 2], "grad": _special(1, 2, 2, 2, 2)}, _POOL_3D),
    "AvgPoolGrad": ({"orig_input_shape": [1, 4, 4, 2], "grad": _special(1, 3, 3, 2)}, _POOL),
    "BatchMatMul": ({"x": _special(2, 3, 4), "y": _ties(2, 4, 3)}, {}),
    "BatchMatMulV2": ({"x": _special(2, 3, 4), "y": _ties(4, 3)}, {}),
    "BatchToSpace": ({"input": _special(4, 2, 2, 1), "crops": [[0, 1], [0, 0]]}, {"block_size": 2}),
    "BatchToSpaceND": ({"input": _special(4, 2, 2, 1), "block_shape": [2, 2], "crops": [[0, 1], [0, 0]]}, {}),
    "Betainc": ({"a": np.float32([1, 2, 0.5]), "b": np.float32([1, 0.5, 2]), "x": np.float32([0, 0.5, 1])}, {}),
    "BiasAdd": ({"value": _special(3, 4), "bias": _special(4)}, {}),
    "BiasAddGrad": ({"out_backprop": _special(3, 4)}, {}),
    "BiasAddV1": ({"value": _special(3, 4), "bias": _special(4)}, {}),
    "BroadcastTo": ({"input": _special(3, 1), "shape": [3, 2]}, {}),
    "CheckNumerics": ({"tensor": _ties(13)}, {"message": ""}),
    "Cholesky": ({"input": _SPD}, {}),
    "Concat": ({"concat_dim": 0, "values": [_special(3, 2), _special(1, 2)]}, {}),
    "ConcatV2": ({"values": [_special(3, 2), _special(1, 2)], "axis": 0}, {}),
    "ConjugateTranspose": ({"x": _complex(3, 2), "perm": [1, 0]}, {}),
    "Conv2D": ({"input": _drawn(1, 4, 4, 2), "filter": _drawn(2, 2, 2, 3)}, _CONV),
    "Conv2DBackpropFilter": ({"input": _drawn(1, 4, 4, 2), "filter_sizes": [2, 2, 2, 3], "out_backprop": _drawn(1, 4, 4, 3)}, _CONV),
    "Conv2DBackpropInput": ({"input_sizes": [1, 4, 4, 2], "filter": _drawn(2, 2, 2, 3), "out_backprop": _drawn(1, 4, 4, 3)}, _CONV),
    "Conv3D": ({"input": _drawn(1, 3, 3, 3, 2), "filter": _drawn(2, 2, 2, 2, 1)}, _CONV_3D),
    "Conv3DBackpropFilterV2": ({"input": _drawn(1, 3, 3, 3, 2), "filter_sizes": [2, 2, 2, 2, 1], "out_backprop": _drawn(1, 3, 3, 3, 1)}, _CONV_3D),
    "Conv3DBackpropInputV2": ({"input_sizes": [1, 3, 3, 3, 2], "filter": _drawn(2, 2, 2, 2, 1), "out_backprop": _drawn(1, 3, 3, 3, 1)}, _CONV_3D),
    "CropAndResize": ({"image": _IMAGE, "boxes": _drawn(2, 4), "box_ind": [0, 0], "crop_size": [3, 3]}, {}),
    "Cross": ({"a": _special(4, 3), "b": _ties(4, 3)}, {}),
    "CumulativeLogsumexp": ({"x": _special(13), "axis": 0}, {}),
    "Cumprod": ({"x": _ties(3, 7), "axis": 1}, {}),
    "Cumsum": ({"x": _special(13), "axis": 0}, {}),
    "DepthToSpace": ({"input": _special(1, 2, 2, 4)}, {"block_size": 2}),
    "DepthwiseConv2dNative": ({"input": _drawn(1, 4, 4, 2), "filter": _drawn(2, 2, 2, 2)}, _CONV),
    "DepthwiseConv2dNativeBackpropFilter": ({"input": _drawn(1, 4, 4, 2), "filter_sizes": [2, 2, 2, 2], "out_backprop": _drawn(1, 4, 4, 4)}, _CONV),
    "DepthwiseConv2dNativeBackpropInput": ({"input_sizes": [1, 4, 4, 2], "filter": _drawn(2, 2, 2, 2), "out_backprop": _drawn(1, 4, 4, 4)}, _CONV),
    "Diag": ({"diagonal": _special(4)}, {}),
    "DiagPart": ({"input": _special(4, 4)}, {}),
    "Dilation2D": ({"input": _IMAGE, "filter": _ties(2, 2, 2)}, {"strides": [1] * 4, "rates": [1] * 4, "padding": "VALID"}),
    "EnsureShape": ({"input": _special(4)}, {"shape": [None]}),
    "ExpandDims": ({"input": _special(4), "axis": 0}, {}),
    "FakeQuantWithMinMaxArgs": ({"inputs": SPECIAL}, {"min": -1.0, "max": 2.5}),
    "FakeQuantWithMinMaxVars": ({"inputs": SPECIAL, "min": np.array(-1.0, np.float32), "max": np.array(2.5, np.float32)}, {}),
    "FakeQuantWithMinMaxVarsPerChannel": ({"inputs": _special(3, 2), "min": _ties(2) - 3, "max": _ties(2) + 3}, {}),
    "Fill": ({"dims": [3], "value": np.float32(np.inf)}, {}),
    "FusedBatchNorm": ({"x": _IMAGE, "scale": _drawn(2), "offset": _drawn(2), "mean": np.zeros(0, "f4"), "variance": np.zeros(0, "f4")}, {}),
    "FusedBatchNormV2": ({"x": _IMAGE, "scale": _drawn(2), "offset": _drawn(2), "mean": np.zeros(0, "f4"), "variance": np.zeros(0, "f4")}, {}),
    "FusedBatchNormV3": ({"x": _IMAGE, "scale": _drawn(2), "offset": _drawn(2), "mean": np.zeros(0, "f4"), "variance": np.zeros(0, "f4")}, {}),
    "Gather": ({"params": _special(4, 2), "indices": _IDS}, {}),
    "GatherNd": ({"params": _special(4, 2), "indices": _IDS[:, None]}, {}),
    "GatherV2": ({"params": _special(4, 2), "indices": _IDS, "axis": 0}, {}),
    "Igamma": ({"a": np.float32([1, 0.5, 2]), "x": np.float32([0, 1, 0.5])}, {}),
    "Igammac": ({"a": np.float32([1, 0.5, 2]), "x": np.float32([0, 1, 0.5])}, {}),
    "IRFFT": ({"input": _drawn(5).astype(np.complex64), "fft_length": [8]}, {}),
    "IRFFT2D": ({"input": _drawn(4, 3).astype(np.complex64), "fft_length": [4, 4]}, {}),
    "Identity": ({"input": SPECIAL}, {}),
    "IdentityN": ({"input": [_special(4), _special(3)]}, {}),
    "L2Loss": ({"t": _special(4)}, {}),
    "LRN": ({"input": _IMAGE}, {}),
    "LogMatrixDeterminant": ({"input": _SPD}, {}),
    "LogSoftmax": ({"logits": _special(4, 5)}, {}),
    "MatMul": ({"a": _special(3, 4), "b": _ties(4, 2)}, {}),
    "MatrixBandPart": ({"input": _special(3, 3), "num_lower": np.int64(1), "num_upper": np.int64(0)}, {}),
    "MatrixDeterminant": ({"input": _SPD}, {}),
    "MatrixDiag": ({"diagonal": _special(2, 3)}, {}),
    "MatrixDiagPart": ({"input": _special(2, 3, 3)}, {}),
    "MatrixDiagPartV2": ({"input": _special(2, 3, 3), "k": 1, "padding_value": np.float32(0)}, {}),
    "MatrixDiagV2": ({"diagonal": _special(2, 3), "k": 1, "num_rows": -1, "num_cols": -1, "padding_value": np.float32(0)}, {}),
    "MatrixInverse": ({"input": _SPD}, {}),
    "MatrixSetDiag": ({"input": _special(2, 3, 3), "diagonal": _special(2, 3)}, {}),
    "MatrixSetDiagV2": ({"input": _special(2, 3, 3), "diagonal": _special(2, 2), "k": 1}, {}),
    "MatrixSolve": ({"matrix": _SPD, "rhs": _ties(3, 2)}, {}),
    "MatrixSolveLs": ({"matrix": _SPD, "rhs": _ties(3, 2), "l2_regularizer": np.float64(0.1)}, {}),
    "MatrixTriangularSolve": ({"matrix": _SPD, "rhs": _ties(3, 2)}, {}),
    "Max": ({"input": _special(3, 7), "axis": [1]}, {}),
    "MaxPool": ({"input": _IMAGE}, _POOL),
    "MaxPool3D": ({"input": _ties(1, 3, 3, 3, 2)}, _POOL_3D),
    "MaxPoolV2": ({"input": _IMAGE, "ksize": [1, 2, 2, 1], "strides": [1, 1, 1, 1]}, {"padding": "VALID"}),
    "MaxPoolWithArgmax": ({"input": _IMAGE}, _POOL),
    "Mean": ({"input": _special(3, 7), "axis": [1]}, {}),
    "Min": ({"input": _special(3, 7), "axis": [1]}, {}),
    "MirrorPad": ({"input": _special(3, 4), "paddings": [[1, 1], [2, 0]]}, {"mode": "REFLECT"}),
    "MirrorPadGrad": ({"input": _special(5, 6), "paddings": [[1, 1], [2, 0]]}, {"mode": "SYMMETRIC"}),
    "NthElement": ({"input": _ties(3, 7), "n": 2}, {}),
    "Pack": ({"values": [_special(4), _special(4)]}, {}),
    "Pad": ({"input": _special(3, 4), "paddings": [[1, 1], [2, 0]]}, {}),
    "PadV2": ({"input": _special(3, 4), "paddings": [[1, 1], [2, 0]], "constant_values": np.float32(0)}, {}),
    "PlaceholderWithDefault": ({"input": SPECIAL}, {"shape": [13]}),
    "Polygamma": ({"a": np.float32([1, 2, 3]), "x": np.float32([1, 0.5, 2])}, {}),
    "Prod": ({"input": _ties(3, 7), "axis": [1]}, {}),
    "Qr": ({"input": _SPD}, {}),
    "QuantizeAndDequantizeV2": ({"input": SPECIAL, "input_min": np.float32(-1), "input_max": np.float32(2)}, {"range_given": True}),
    "QuantizeAndDequantizeV3": ({"input": SPECIAL, "input_min": np.float32(-1), "input_max": np.float32(2), "num_bits": 8}, {}),
    "RFFT": ({"input": _drawn(8), "fft_length": [8]}, {}),
    "RFFT2D": ({"input": _drawn(4, 4), "fft_length": [4, 4]}, {}),
    "RGBToHSV": ({"images": _ties(4, 4, 3)}, {}),
    "Reshape": ({"tensor": _special(3, 4), "shape": [2, 6]}, {}),
    "ResizeBicubic": ({"images": _IMAGE, "size": [3, 5]}, {}),
    "ResizeBilinear": ({"images": _IMAGE, "size": [3, 5]}, {}),
    "ResizeNearestNeighbor": ({"images": _IMAGE, "size": [3, 5]}, {}),
    "Reverse": ({"tensor": _special(3, 4), "dims": [True, False]}, {}),
    "ReverseSequence": ({"input": _special(3, 4), "seq_lengths": [1, 3, 4]}, {"seq_dim": 1}),
    "ReverseV2": ({"tensor": _special(3, 4), "axis": [0]}, {}),
    "Roll": ({"input": _special(3, 4), "shift": 1, "axis": 1}, {}),
    "ScaleAndTranslate": ({"images": _IMAGE, "size": [3, 5], "scale": np.float32([1, 2]), "translation": np.float32([0, 1])}, {}),
    "ScatterNd": ({"indices": _IDS[:, None], "updates": _special(4, 2), "shape": np.array([4, 2])}, {}),
    "ScatterNdNonAliasingAdd": ({"input": _special(4, 2), "indices": _IDS[:, None], "updates": _special(4, 2)}, {}),
    "Select": ({"condition": LEFT > RIGHT, "x": LEFT, "y": RIGHT}, {}),
    "SelectV2": ({"condition": LEFT > RIGHT, "t": LEFT, "e": RIGHT}, {}),
    "SelfAdjointEigV2": ({"input": _SPD}, {}),
    "Slice": ({"input": _special(3, 4), "begin": [1, 0], "size": [2, 3]}, {}),
    "Softmax": ({"logits": _special(4, 5)}, {}),
    "SoftmaxCrossEntropyWithLogits": ({"features": _special(4, 5), "labels": _ties(4, 5)}, {}),
    "SpaceToBatch": ({"input": _special(1, 4, 4, 1), "paddings": [[0, 0], [0, 0]]}, {"block_size": 2}),
    "SpaceToBatchND": ({"input": _special(1, 4, 4, 1), "block_shape": [2, 2], "paddings": [[0, 0], [0, 0]]}, {}),
    "SpaceToDepth": ({"input": _special(1, 4, 4, 1)}, {"block_size": 2}),
    "SparseMatMul": ({"a": _special(3, 4), "b": _ties(4, 2)}, {}),
    "SparseSoftmaxCrossEntropyWithLogits": ({"features": _special(4, 5), "labels": _IDS}, {}),
    "SparseTensorDenseAdd": ({"a_indices": _IDS[::2, None], "a_values": _special(2), "a_shape": np.array([4]), "b": _special(4)}, {}),
    "SparseTensorDenseMatMul": ({"a_indices": np.array([[0, 1], [2, 0]]), "a_values": _ties(2), "a_shape": np.array([3, 4]), "b": _special(4, 2)}, {}),
    "Split": ({"axis": 0, "value": _special(4, 2)}, {"num_split": 2}),
    "SplitV": ({"value": _special(4, 2), "size_splits": np.array([1, 3]), "axis": 0}, {"num_split": 2}),
    "Squeeze": ({"input": _special(4, 1)}, {}),
    "StridedSlice": ({"input": _special(5, 2), "begin": [4], "end": [0], "strides": [-2]}, {}),
    "StridedSliceGrad": ({"shape": [5, 2], "begin": [4], "end": [0], "strides": [-2], "dy": _special(2, 2)}, {}),
    "Sum": ({"input": _special(3, 7), "axis": [1]}, {}),
    "Svd": ({"input": _drawn(3, 3)}, {}),
    "TensorScatterAdd": ({"tensor": _special(4, 2), "indices": _IDS[1:, None][::2], "updates": _special(2, 2)}, {}),
    "TensorScatterSub": ({"tensor": _special(4, 2), "indices": _IDS[1:, None][::2], "updates": _special(2, 2)}, {}),
    "TensorScatterUpdate": ({"tensor": _special(4, 2), "indices": _IDS[1:, None][::2], "updates": _special(2, 2)}, {}),
    "Tile": ({"input": _special(3, 4), "multiples": [2, 1]}, {}),
    "TopKV2": ({"input": _ties(3, 7), "k": 3}, {}),
    "Transpose": ({"x": _special(3, 4), "perm": [1, 0]}, {}),
    "TridiagonalMatMul": ({"superdiag": _ties(1, 3), "maindiag": _ties(1, 3), "subdiag": _ties(1, 3), "rhs": _ties(3, 2)}, {}),
    "TridiagonalSolve": ({"diagonals": _drawn(3, 3) + 2, "rhs": _ties(3, 2)}, {}),
    "Unpack": ({"value": _special(4, 2)}, {"num": 4}),
    "UnsortedSegmentMax": ({"data": _ties(4, 3), "segment_ids": _IDS, "num_segments": 4}, {}),
    "UnsortedSegmentMin": ({"data": _ties(4, 3), "segment_ids": _IDS, "num_segments": 4}, {}),
    "UnsortedSegmentProd": ({"data": _ties(4, 3), "segment_ids": _IDS, "num_segments": 4}, {}),
    "UnsortedSegmentSum": ({"data": _special(4, 3), "segment_ids": _IDS, "num_segments": 4}, {}),
    "Zeta": ({"x": np.float32([2, 3, 1.5]), "q": np.float32([1, 0.5, 2])}, {}),
    **{name: ({"input": (_drawn(2, 4, 4) + 1j * _drawn(2, 4, 4, seed=1)).astype(np.complex64)}, {}) for name in ("FFT", "IFFT", "FFT2D", "IFFT2D", "FFT3D", "IFFT3D")},
    **{name: ({"input": _complex(13)}, {}) for name in ("Real", "Imag", "Angle", "Conj")},
    "ComplexAbs": ({"x": _complex(13)}, {}),
}  # fmt: skip

OTHERWISE_TESTED = {
    "what a loop is made of": "Enter Exit NextIteration Switch Merge LoopGradient RefEnter RefExit RefNextIteration RefSwitch RefMerge RefIdentity",
    "calls of functions, which a run inlines": "PartitionedCall StatelessIf StatelessWhile StatelessCase For XlaClusterOutput",
    "values of TensorArrays": "TensorArrayWriteV3 TensorArrayReadV3 TensorArrayGatherV3 TensorArrayScatterV3 TensorArrayConcatV3 TensorArraySplitV3",
    "over several devices": "NcclReduce NcclBroadcast",
    "the gradient raises, as in 1.15": "PreventGradient",
    "inputs that only another op makes": "MaxPoolGrad MaxPoolGradV2 MaxPoolGradGrad MaxPool3DGrad MaxPool3DGradGrad FusedBatchNormGrad FusedBatchNormGradV2 "
    "FusedBatchNormGradV3 CudnnRNN CudnnRNNV2 CudnnRNNV3 BlockLSTM BlockLSTMV2 LSTMBlockCell GRUBlockCell BatchNormWithGlobalNormalization",
    "random numbers": "RandomGamma",
    "removed from GraphDef before 1.15": "QuantizeAndDequantize TopK",
    "debugging": "DebugGradientIdentity DebugGradientRefIdentity",
    "of contrib": "ImageProjectiveTransformV2 PeriodicResample Resampler",
}


def _with_gradients():
    kept = {name for names in OTHERWISE_TESTED.values() for name in names.split()}
    pure = (op_spec.PURE, op_spec.RANDOM)
    specs = [s for s in op_spec.registered() if callable(s.gradient) and s.side == op_spec.DEVICE and s.effects in pure]
    return sorted(s.name for s in specs if s.name not in kept)


def _row(name):
    """Inputs and attributes of an op type: every pair of special values, where it works element by element."""
    if name in ROWS:
        return ROWS[name]
    spec = op_spec.get(name)
    assert spec.shape in ELEMENTWISE, f"{name} has a gradient: add a row with its inputs"
    arguments = spec.signature.inputs
    inputs = {a.name: values for a, values in zip(arguments, (SPECIAL,) if len(arguments) == 1 else (LEFT, RIGHT), strict=True)}
    return inputs, {"DstT": tf.float64} if name == "Cast" else {}


def _is_differentiated(value):
    return np.asarray(value[0] if isinstance(value, list) else value).dtype.kind in "fc" and not np.isscalar(value)


def _sources(value):
    """Tensors for an input whose value a run does not know before it begins."""
    if isinstance(value, list):
        return [_sources(v) for v in value]
    return tf.placeholder_with_default(value, np.shape(value))


def _results(name, inputs, attrs):
    results = getattr(tf.raw_ops, name)(**inputs, **attrs)
    flat = [results] if isinstance(results, tf.Tensor) else list(results)
    return [t for t in flat if (t.dtype.is_floating or t.dtype.is_complex) and t.shape.is_fully_defined()]


INCOMING = ([1.0, 3.0, -0.5], [0.0], [np.nan, 2.0, np.inf])


def _gradients(name):
    """The gradients of an op type, plain and in a loop, for cycles of each of the INCOMING numbers as gradients of its outputs."""
    inputs, attrs = _row(name)
    moving = {key: _sources(value) for key, value in inputs.items() if _is_differentiated(value)}
    flat = tf.contrib.framework.nest.flatten(moving)

    def compute():
        return _results(name, {**inputs, **tf.contrib.framework.nest.pack_sequence_as(moving, flat)}, attrs)

    plain = compute()
    starts = [tf.zeros(t.shape, t.dtype) for t in plain]
    looped = tf.while_loop(lambda i, *_: i < 1, lambda i, *_: [i + 1, *compute()], [0, *starts], maximum_iterations=1)[1:]
    # The gradient of CheckNumerics is a check itself, and a loop drops the checks of gradients.
    for incoming in INCOMING[:2] if name == "CheckNumerics" else INCOMING:
        grads = [tf.constant(np.resize(np.asarray(incoming, t.dtype.as_numpy_dtype), t.shape.as_list())) for t in plain]
        yield [tf.gradients(outputs, flat, grads) for outputs in (plain, looped)]


@pytest.mark.parametrize("name", _with_gradients())
def test_gradient_in_a_loop_is_that_of_the_op(name):
    with tf.Graph().as_default(), tf.Session() as session:
        pairs = [
            (tf.zeros_like(have) if want is None else want, tf.zeros_like(want) if have is None else have)
            for plain, looped in _gradients(name)
            for want, have in zip(plain, looped, strict=True)
            if want is not None or have is not None
        ]
        found = session.run([[tf.convert_to_tensor(g) for g in pair] for pair in pairs])
    for want, have in found:
        np.testing.assert_allclose(have, want, rtol=1e-5, atol=1e-6)


def test_gradient_of_complex_numbers_in_a_loop():
    def divided(z):
        return tf.math.divide_no_nan(z, tf.constant(2 + 1j, tf.complex64))

    with tf.Session() as session:
        z = tf.constant(np.complex64([1 + 2j, -3j]))
        y = tf.while_loop(lambda i, _: i < 1, lambda i, v: (i + 1, divided(v)), (0, z), maximum_iterations=1)[1]
        plain, looped = session.run([tf.gradients(tf.abs(divided(z)), z)[0], tf.gradients(tf.abs(y), z)[0]])
    np.testing.assert_allclose(looped, plain, rtol=1e-5)


def test_error_of_tracing_a_gradient_in_a_loop_is_raised(monkeypatch):
    reads_a_value = lambda y, dy: y * int(dy[0])  # which no trace knows
    monkeypatch.setitem(op_spec.get("TanhGrad").__dict__, "kernel", reads_a_value)
    monkeypatch.setattr(choice, "ENGINE", "interpret")
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [4])
        y = tf.while_loop(lambda i, _: i < 3, lambda i, v: (i + 1, tf.tanh(v)), (0, x), maximum_iterations=3)[1]
        # JAX follows the causes of an error to their end, so that it must not be its own cause.
        with pytest.raises(jax.errors.ConcretizationTypeError):
            session.run(tf.gradients(y, x), {x: np.ones(4)})
