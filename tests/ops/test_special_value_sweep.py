"""Every elementwise op, gradient kernel, cast and reduction at special values; the expected values are TensorFlow 1.15.5's.

Zeros, ones, ties, infinities, NaN, denormal numbers and limits are combined with each other in every dtype that 1.15 has a kernel for
(`special_value_cases`). What differs stands in `deviations.SPECIAL_VALUES`.
"""

import collections
import fnmatch
import functools
import json
from pathlib import Path

import deviations
import numpy as np
import pytest
import special_value_cases as special

import tfcompat as tf
from tfcompat._src.graph import op_spec
from tfcompat._src.graph.shape_inference import broadcast_inputs, unchanged
from tfcompat._src.ops import all as all_ops  # noqa: F401

_PROGRAM = 120  # cases of one program
GOLDEN = Path(__file__).parents[1] / "golden/special_values.npz"
ENGINES = ("interpret", "compile")


@functools.cache
def _recorded():
    """{name of a case: (outputs as pairs of dtype and array, indices of elements that are not compared)}."""
    with np.load(GOLDEN) as file:
        data = {name: file[name] for name in file.files}
    rows, taken = {}, collections.Counter()
    for name, shapes, varying in json.loads(data.pop("index").tobytes()):
        outputs = []
        for dtype, shape in shapes:
            end = taken[dtype] + int(np.prod(shape, dtype=int))
            outputs.append((dtype, data[dtype][taken[dtype] : end].reshape(shape)))
            taken[dtype] = end
        rows[name] = outputs, varying
    assert taken == {dtype: array.size for dtype, array in data.items()}
    return rows


def _results(cases):
    """The outputs of all cases, by name, of one run."""
    with tf.Graph().as_default(), tf.Session() as session:
        outputs, feeds = {}, {}
        for case in cases:
            tensors = []
            for name, (dtype, array) in case.inputs.items():
                array = special.fed(tf, dtype, array)
                if name in special.STATIC:
                    tensors.append(tf.constant(array))
                else:
                    tensors.append(tf.placeholder(dtype, array.shape))
                    feeds[tensors[-1]] = array
            outputs[case.name] = special.apply(tf, case, tensors)
        return session.run(outputs, feeds)


def _unexplained(case, outputs, varying, found, used):
    """How many elements differ from the record without a reason; adds the deviations that apply to `used`."""
    total = 0
    for (dtype, wanted), array in zip(outputs, found, strict=True):
        array = special.stored(dtype, array)
        assert (array.dtype, array.shape) == (wanted.dtype, wanted.shape), case.name
        differs = np.array(special.differences(case, dtype, array, wanted))
        if varying:
            differs[varying] = False
        for pattern, where in deviations.SPECIAL_VALUES:
            if differs.any() and fnmatch.fnmatchcase(case.name, pattern):
                explained = differs & special.WHERE[where](case, dtype, array, wanted)
                if explained.any():
                    used.add((pattern, where))
                    differs &= ~explained
        total += int(differs.sum())
    return total


@pytest.mark.parametrize("family", special.FAMILIES)
def test_special_values(monkeypatch, family):
    recorded = _recorded()
    cases = [case for case in special.FAMILIES[family]() if case.name in recorded]
    used, unexplained = set(), {}
    for engine in ENGINES:
        monkeypatch.setattr("tfcompat._src.runtime.engines.choice.ENGINE", engine)
        for start in range(0, len(cases), _PROGRAM):
            program = cases[start : start + _PROGRAM]
            results = _results(program)
            for case in program:
                if count := _unexplained(case, *recorded[case.name], results[case.name], used):
                    unexplained[engine, case.name] = count
    assert not unexplained
    names = [case.name for case in cases]
    listed = {key for key in deviations.SPECIAL_VALUES if fnmatch.filter(names, key[0])}
    assert listed == used, f"listed in deviations.py and equal now: {sorted(listed - used)}"


# Their results have the shape of an argument, but they move elements, need state, or return what they are given.
_NOT_ELEMENTWISE = frozenset(
    "BatchMatrixBandPart CheckNumerics Copy CopyHost CumulativeLogsumexp DataFormatDimMap DataFormatVecPermute DebugGradientRefIdentity"
    " DestroyTemporaryVariable Dilation2DBackpropInput ImageProjectiveTransform InplaceAdd InplaceSub InplaceUpdate MatrixBandPart NcclBroadcast QuantizeAndDequantize"
    " RandomShuffle RefIdentity StridedSliceAssign TensorStridedSliceUpdate XlaClusterOutput".split()
)


def test_every_elementwise_op_has_cases():
    alike = [spec for spec in op_spec.registered() if spec.shape in (unchanged, broadcast_inputs)]
    elementwise = {spec.name for spec in alike if spec.side is op_spec.DEVICE}
    assert elementwise - {case.op for case in special.cases()} <= _NOT_ELEMENTWISE


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dtype", special.SIGNED)
def test_the_least_integer_divided_by_minus_one_wraps(monkeypatch, dtype, engine):
    """1.15 ends its process there."""
    monkeypatch.setattr("tfcompat._src.runtime.engines.choice.ENGINE", engine)
    least = np.iinfo(dtype).min
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = tf.placeholder(dtype, [2]), tf.placeholder(dtype, [2])
        names = ["Div", "FloorDiv", "TruncateDiv"] + (["FloorMod", "Mod", "TruncateMod"] if dtype in ("int32", "int64") else [])
        outputs = [getattr(tf.raw_ops, name)(x=x, y=y) for name in names]
        found = session.run(outputs, {x: [least, least], y: [-1, 1]})
        assert [f.tolist() for f in found] == [[least, least]] * 3 + [[0, 0]] * (len(names) - 3)
        for output in outputs:
            with pytest.raises(tf.errors.InvalidArgumentError, match="Integer division by zero"):
                session.run(output, {x: [least, 1], y: [0, 0]})
