"""Operations at special values: one case for each op, dtype and form. Imported by the recorder and by the test; names only NumPy.

A case has a name, an op of tf.raw_ops, its inputs by name, and its attributes. Inputs are pairs (dtype, array); bfloat16 is held as
uint16 (its bits), and `fed` makes of it the dtype of a library. Attributes that are types are names of dtypes in `Type`.
"""

import itertools
from collections import namedtuple

import numpy as np

Case = namedtuple("Case", "name op inputs attributes elementwise")
Type = namedtuple("Type", "name")

FLOATS = ("float16", "bfloat16", "float32", "float64")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
COMPLEX = ("complex64", "complex128")
REAL = FLOATS + SIGNED + UNSIGNED
ALL = REAL + COMPLEX + ("bool",)
# Numbers of exponent and fraction bits.
_FORMATS = {"float16": (5, 10), "bfloat16": (8, 7), "float32": (8, 23), "float64": (11, 52)}
_PARTS = {"complex64": "float32", "complex128": "float64"}


def bits_of(dtype):
    """The unsigned integer type that holds an element of `dtype` (a part of it, if complex)."""
    if dtype in _FORMATS:
        return f"uint{1 + sum(_FORMATS[dtype])}"
    return "uint8" if dtype == "bool" else dtype


def _float_bits(dtype):
    """The special floats of a format, as bits: limits first, then exact small numbers, of either sign."""
    exponent, fraction = _FORMATS[dtype]
    infinity = (2**exponent - 1) << fraction
    bias = 2 ** (exponent - 1) - 1
    one = bias << fraction
    half = (bias - 1) << fraction
    quarter_of_step = 1 << (fraction - 1)
    numbers = [0, one, half, one | quarter_of_step, ((bias + 1) << fraction) | (1 << (fraction - 2)), infinity, 1, 1 << fraction, infinity - 1]
    sign = 1 << (exponent + fraction)
    return [n | s for n in numbers for s in (0, sign)] + [infinity | quarter_of_step]


def _integers(dtype):
    limits = np.iinfo(dtype)
    width = limits.bits
    numbers = [0, 1, 2, 3, 7, width - 1, width, limits.max, limits.max - 1, limits.min, limits.min + 1, -1, -2, -3, -7]
    return [n for n in dict.fromkeys(numbers) if limits.min <= n <= limits.max]


def _stored(dtype, numbers):
    """An array of `dtype` as it is stored, of float64 numbers."""
    if dtype == "bfloat16":
        return (np.asarray(numbers, np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return np.asarray(numbers, dtype)


def values(dtype):
    """The special values of a dtype, as they are stored."""
    if dtype in _PARTS:
        parts = values(_PARTS[dtype])
        return np.array([complex(a, b) for a, b in itertools.product(parts, parts)], dtype)
    if dtype in _FORMATS:
        bits = np.array(_float_bits(dtype), bits_of(dtype))
        return bits if dtype == "bfloat16" else bits.view(dtype)
    return np.array([False, True]) if dtype == "bool" else np.array(_integers(dtype), dtype)


def few_values(dtype):
    """The complex numbers of a grid of pairs; other dtypes have all of their values in it."""
    if dtype not in _PARTS:
        return values(dtype)
    parts = [0.0, -0.0, 1.0, -2.5, np.inf, np.nan]
    return np.array([complex(a, b) for a, b in itertools.product(parts, parts)], dtype)


def pairs(dtype, x=None, y=None):
    """All pairs of special values, as two vectors."""
    x = few_values(dtype) if x is None else x
    y = few_values(dtype) if y is None else y
    return np.repeat(x, len(y)), np.tile(y, len(x))


# ---- what a cast is tried at besides: neighbours of the limits of the other types ----

_LIMITS = [float(sign * (2**n + d)) for n in (7, 8, 15, 16, 31, 32, 63, 64) for d in (-1, 0, 1) for sign in (1, -1)]
_CAST_FLOATS = _LIMITS + [1.2e19, -1.2e19, 3.0, 0.25, 100.7, -100.7, 127.9, 255.5, -128.9, 65519.0, 65520.0, 1e-8, 6e-8, 1e-40, 1.0 + 2.0**-9, 1.0 + 3 * 2.0**-9]


def cast_values(dtype):
    """The special values of a dtype with the neighbours of all limits of integers, as they are stored."""
    own = values(dtype)
    if dtype in _FORMATS:
        with np.errstate(over="ignore"):
            return np.concatenate([own, _stored(dtype, _CAST_FLOATS)])
    if dtype in _PARTS:
        return np.concatenate([own, np.array(_CAST_FLOATS, dtype)])
    if dtype == "bool":
        return own
    limits = np.iinfo(dtype)
    exact = [int(sign * (2**n + d)) for n in (7, 8, 15, 16, 24, 31, 32, 53, 63) for d in (-1, 0, 1) for sign in (1, -1)]
    return np.concatenate([own, np.array([n for n in exact if limits.min <= n <= limits.max], dtype)])


# ---- the tables ----

UNARY = {
    "x": (
        "Abs Acos Acosh Asin Asinh Atan Atanh BesselI0e BesselI1e Ceil Cos Cosh Digamma Erf Erfc Exp Expm1 Floor Inv Invert IsFinite IsInf"
        " IsNan Lgamma Log Log1p LogicalNot Neg OnesLike PopulationCount Reciprocal Rint Round Rsqrt Sigmoid Sign Sin Sinh Sqrt Square"
        " Tan Tanh ZerosLike"
    ),
    "features": "Elu LeakyRelu Relu Relu6 Selu Softplus Softsign",
    "input": "Conj",
}
BINARY = {
    ("x", "y"): (
        "Add AddV2 ApproximateEqual BitwiseAnd BitwiseOr BitwiseXor Div DivNoNan Equal FloorDiv FloorMod Greater GreaterEqual LeftShift Less"
        " LessEqual LogicalAnd LogicalOr Maximum Minimum Mod Mul MulNoNan NotEqual Pow RealDiv RightShift SquaredDifference Sub TruncateDiv"
        " TruncateMod Xdivy Xlogy"
    ),
    ("y", "x"): "Atan2",
    ("x1", "x2"): "NextAfter",
    ("a", "x"): "Igamma IgammaGradA Igammac Polygamma",
    ("x", "q"): "Zeta",
    ("alpha", "sample"): "RandomGammaGrad",
    ("y", "dy"): "InvGrad ReciprocalGrad RsqrtGrad SigmoidGrad SqrtGrad TanhGrad",
    ("gradients", "features"): "LeakyReluGrad Relu6Grad ReluGrad SoftplusGrad SoftsignGrad",
    ("gradients", "outputs"): "EluGrad SeluGrad",
}
REDUCTIONS = {"All": ("bool",), "Any": ("bool",), **dict.fromkeys("EuclideanNorm Max Mean Min Prod Sum".split(), REAL + COMPLEX)}
SCANS = "Cumprod Cumsum"
SEGMENTS = "Max Min Prod Sum"
# Here 1.15 has no answer: it raises, or the processor ends its process (the least integer divided by -1).
_DIVIDING = ("Div", "FloorDiv", "FloorMod", "Mod", "RealDiv", "TruncateDiv", "TruncateMod")
LENGTHS = (1, 2, 3, 5, 8, 13, 16, 17, 31, 40)


def _unary_cases():
    for argument, ops in UNARY.items():
        for op, dtype in itertools.product(ops.split(), ALL):
            yield Case(f"{op}/{dtype}", op, {argument: (dtype, values(dtype))}, {}, True)
    for dtype in COMPLEX:
        real = Type(_PARTS[dtype])
        for op in ("Angle", "Imag", "Real"):
            yield Case(f"{op}/{dtype}", op, {"input": (dtype, values(dtype))}, {"Tout": real}, True)
        yield Case("ComplexAbs/" + dtype, "ComplexAbs", {"x": (dtype, values(dtype))}, {"Tout": real}, True)
    for dtype in REAL:
        yield Case("Bucketize/" + dtype, "Bucketize", {"input": (dtype, values(dtype))}, {"boundaries": [-1.0, 0.0, 1.0, 2.0]}, True)
    for bits, narrow in ((8, False), (8, True), (2, False)):
        name = "FakeQuantWithMinMaxArgs/{}{}".format(bits, "_narrow" if narrow else "")
        attributes = {"min": -1.5, "max": 2.5, "num_bits": bits, "narrow_range": narrow}
        yield Case(name, "FakeQuantWithMinMaxArgs", {"inputs": ("float32", values("float32"))}, attributes, True)


def _binary_cases():
    for arguments, ops in BINARY.items():
        for op, dtype in itertools.product(ops.split(), ALL):
            x, y = pairs(dtype)
            if dtype in SIGNED + UNSIGNED:
                answered = np.ones(len(x), bool)
                if op in _DIVIDING:
                    answered = (y != 0) & ~((x == np.iinfo(dtype).min) & (y == y.dtype.type(-1) if dtype in SIGNED else False))
                elif op == "Pow":
                    answered = y >= 0
                x, y = x[answered], y[answered]
            yield Case(f"{op}/{dtype}", op, dict(zip(arguments, [(dtype, x), (dtype, y)])), {}, True)
    for part in ("float32", "float64"):
        x, y = pairs(part)
        tout = Type("complex64" if part == "float32" else "complex128")
        yield Case("Complex/" + part, "Complex", {"real": (part, x), "imag": (part, y)}, {"Tout": tout}, True)
    x, y = pairs("float32")
    inputs = {"gradients": ("float32", x), "inputs": ("float32", y)}
    yield Case("FakeQuantWithMinMaxArgsGradient/8", "FakeQuantWithMinMaxArgsGradient", inputs, {"min": -1.5, "max": 2.5}, True)


def _ternary_cases():
    for dtype in FLOATS:
        some = values(dtype)[[0, 1, 2, 3, 4, 8, 10, 11, 12, 18]]
        x, y, z = (np.ravel(a) for a in np.meshgrid(some, some, some))
        yield Case("Betainc/" + dtype, "Betainc", {"a": (dtype, x), "b": (dtype, y), "x": (dtype, z)}, {}, True)
    for dtype in REAL:
        x, y = pairs(dtype)
        low, high = (_stored(dtype, n) for n in ((0, 2) if dtype in UNSIGNED else (-1, 2)))
        inputs = {"t": (dtype, values(dtype)), "clip_value_min": (dtype, low), "clip_value_max": (dtype, high)}
        yield Case("ClipByValue/scalars/" + dtype, "ClipByValue", inputs, {}, True)
        inputs = {"t": (dtype, x), "clip_value_min": (dtype, y), "clip_value_max": (dtype, np.roll(y, 5))}
        yield Case("ClipByValue/" + dtype, "ClipByValue", inputs, {}, True)
    for dtype in ALL:
        x, y = pairs(dtype)
        inputs = {"condition": ("bool", np.arange(len(x)) % 3 == 0), "t": (dtype, x), "e": (dtype, y)}
        yield Case("Select/" + dtype, "Select", inputs, {}, True)


def _casts():
    for source, target, truncate in itertools.product(ALL, ALL, (False, True)):
        if truncate and not (source in FLOATS and target in FLOATS):
            continue
        name = "Cast/{}/{}{}".format(source, target, "/truncate" if truncate else "")
        yield Case(name, "Cast", {"x": (source, cast_values(source))}, {"DstT": Type(target), "Truncate": truncate}, True)


def _among_ones(dtype, length):
    """A row for each special value, which stands in one place of it among ones."""
    special = few_values(dtype)
    rows = np.repeat(_stored(dtype, [1.0])[0], len(special) * length).reshape(len(special), length)
    rows[np.arange(len(special)), np.arange(len(special)) * 7 % length] = special
    return rows


def _matrices(dtype):
    yield "pairs", np.stack(pairs(dtype), axis=1)
    for length in LENGTHS if dtype == "float32" else (17,):
        yield str(length), _among_ones(dtype, length)


def _reductions():
    for op, dtypes in REDUCTIONS.items():
        for dtype in dtypes:
            for form, matrix in _matrices(dtype):
                for axis in (0, 1):
                    x = np.ascontiguousarray(matrix if axis else matrix.T)
                    inputs = {"input": (dtype, x), "axis": ("int32", np.array([axis], np.int32))}
                    yield Case(f"{op}/{dtype}/{form}/{axis}", op, inputs, {}, False)
    for op, dtype in itertools.product(("ArgMax", "ArgMin"), REAL):
        for form, matrix in _matrices(dtype):
            for axis in (0, 1):
                x = np.ascontiguousarray(matrix if axis else matrix.T)
                inputs = {"input": (dtype, x), "dimension": ("int32", np.int32(axis))}
                index = Type("int64" if axis else "int32")
                yield Case(f"{op}/{dtype}/{form}/{axis}", op, inputs, {"output_type": index}, False)


def _of_rows():
    for dtype in REAL + COMPLEX:
        x, y = pairs(dtype)
        matrix = np.stack([x, y, x], axis=1)
        for op, reverse, exclusive in itertools.product(SCANS.split(), (False, True), (False, True)):
            inputs = {"x": (dtype, matrix), "axis": ("int32", np.int32(1))}
            name = "{}/{}{}{}".format(op, dtype, "/reverse" if reverse else "", "/exclusive" if exclusive else "")
            yield Case(name, op, inputs, {"reverse": reverse, "exclusive": exclusive}, False)
        segments = np.repeat(np.arange(len(x), dtype=np.int32), 2)
        data = np.stack([x, y], axis=1).ravel()
        for kind in SEGMENTS.split() + ["Mean"]:
            inputs = {"data": (dtype, data), "segment_ids": ("int32", segments)}
            yield Case(f"Segment{kind}/{dtype}", "Segment" + kind, inputs, {}, False)
            if kind != "Mean":
                inputs = {"data": (dtype, data), "segment_ids": ("int32", segments), "num_segments": ("int32", np.int32(len(x) + 1))}
                yield Case(f"UnsortedSegment{kind}/{dtype}", "UnsortedSegment" + kind, inputs, {}, False)
        yield Case("BiasAddGrad/" + dtype, "BiasAddGrad", {"out_backprop": (dtype, np.ascontiguousarray(matrix[:, :2].T))}, {}, False)
        inputs = {"value": (dtype, np.stack([x, y], axis=1)), "bias": (dtype, _stored(dtype, [1, 0]))}
        yield Case("BiasAdd/" + dtype, "BiasAdd", inputs, {}, False)
        yield Case("L2Loss/" + dtype, "L2Loss", {"t": (dtype, values(dtype)[:5])}, {}, False)
    for dtype in FLOATS:
        x, y = pairs(dtype)
        logits = np.stack([x, y, np.repeat(_stored(dtype, [1]), len(x))], axis=1)
        for op in ("Softmax", "LogSoftmax"):
            yield Case(f"{op}/{dtype}", op, {"logits": (dtype, logits)}, {}, False)
        labels = np.tile(_stored(dtype, [0.25, 0.75, 0]), (len(x), 1))
        inputs = {"features": (dtype, logits), "labels": (dtype, labels)}
        yield Case("SoftmaxCrossEntropyWithLogits/" + dtype, "SoftmaxCrossEntropyWithLogits", inputs, {}, False)
        inputs = {"features": (dtype, logits), "labels": ("int32", np.arange(len(x), dtype=np.int32) % 3)}
        yield Case("SparseSoftmaxCrossEntropyWithLogits/" + dtype, "SparseSoftmaxCrossEntropyWithLogits", inputs, {}, False)
        image = np.stack([x, y, y, x], axis=1).reshape(len(x), 2, 2, 1)
        window = {"ksize": [1, 1, 2, 1], "strides": [1, 1, 2, 1], "padding": "VALID"}
        pooled = image[:, :, :1]
        yield Case("MaxPool/" + dtype, "MaxPool", {"input": (dtype, image)}, window, False)
        yield Case("AvgPool/" + dtype, "AvgPool", {"value": (dtype, image)}, window, False)
        inputs = {"orig_input": (dtype, image), "orig_output": (dtype, pooled), "grad": (dtype, pooled[::-1])}
        yield Case("MaxPoolGrad/" + dtype, "MaxPoolGrad", inputs, window, False)
        inputs = {"orig_input_shape": ("int32", np.array(image.shape, np.int32)), "grad": (dtype, pooled)}
        yield Case("AvgPoolGrad/" + dtype, "AvgPoolGrad", inputs, window, False)


FAMILIES = {
    "unary": _unary_cases,
    "binary": _binary_cases,
    "ternary": _ternary_cases,
    "casts": _casts,
    "reductions": _reductions,
    "rows": _of_rows,
}


def cases():
    """All cases, in a fixed order; many have no kernel in 1.15, and are no rows of the record then."""
    for make in FAMILIES.values():
        yield from make()


# ---- comparison ----

# Functions that libraries compute to some units in the last place; all others are exact, to the sign of zero.
ROUNDED = dict.fromkeys(
    "Acos Acosh Angle Asin Asinh Atan Atan2 Atanh BesselI0e BesselI1e ComplexAbs Cos Cosh Elu Erf Erfc EuclideanNorm Exp Expm1 Lgamma Log Log1p"
    " LogSoftmax Mean Pow Rsqrt Selu Sigmoid Sin Sinh Softmax Softplus SoftplusGrad Tan Tanh Xlogy".split(),
    8,
)
ROUNDED.update(dict.fromkeys("Betainc Digamma Igamma IgammaGradA Igammac Polygamma RandomGammaGrad Zeta".split(), 64))
_ROUNDED_IF_COMPLEX = dict.fromkeys(("Div", "DivNoNan", "Inv", "Reciprocal", "RealDiv", "Sqrt", "Sign", "SqrtGrad"), 8)
# Their results are differences of probabilities, exact to units in the last place of 1.
_OF_PROBABILITIES = ("SoftmaxCrossEntropyWithLogits", "SparseSoftmaxCrossEntropyWithLogits")


def differences(case, dtype, found, wanted):
    """Returns where two stored arrays of `dtype` are different results of the case's op: NaN equals NaN, functions of ROUNDED have some room."""
    room = ROUNDED.get(case.op, 0)
    if dtype in _PARTS:
        parts = differences(case, _PARTS[dtype], found.real, wanted.real) | differences(case, _PARTS[dtype], found.imag, wanted.imag)
        room = room or _ROUNDED_IF_COMPLEX.get(case.op, 0)
        with np.errstate(all="ignore"):
            near = (np.abs(found - wanted) <= room * np.finfo(dtype).eps * np.abs(wanted)) & np.isfinite(wanted) & (wanted != 0)
        return parts & ~near
    if dtype not in _FORMATS:
        return found != wanted
    exponent, fraction = _FORMATS[dtype]
    a, b = (np.ascontiguousarray(x).view(bits_of(dtype)).astype(np.uint64).reshape(x.shape) for x in (found, wanted))
    sign = np.uint64(1 << (exponent + fraction))
    infinity = (2**exponent - 1) << fraction
    magnitudes = [(x & ~sign).astype(np.int64) for x in (a, b)]
    both_nan = (magnitudes[0] > infinity) & (magnitudes[1] > infinity)
    finite = (magnitudes[0] < infinity) & (magnitudes[1] < infinity)
    near = finite & ((a & sign) == (b & sign)) & (np.abs(magnitudes[0] - magnitudes[1]) <= room)
    if case.op in _OF_PROBABILITIES:
        x, y = numbers(dtype, found), numbers(dtype, wanted)
        with np.errstate(all="ignore"):
            near |= finite & (np.abs(x - y) <= 4 * 2.0**-fraction * np.maximum(1, np.abs(y)))
    return (a != b) & ~near & ~both_nan


# ---- which elements a deviation explains ----


def numbers(dtype, array):
    """A stored array as float64 or complex128 (wider where its type is)."""
    if dtype == "bfloat16":
        return (array.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return array.astype(np.float64) if dtype in _FORMATS else array


def _parts(dtype, array):
    """The real numbers that an array consists of, along a new first axis."""
    array = numbers(dtype, array)
    return np.stack([array.real, array.imag]) if dtype in _PARTS else array[None]


def _any_number(test):
    """A deviation that explains elements with a part, of a result or (elementwise) of an argument, of which `test(dtype, part)` holds."""

    def where(case, dtype, found, wanted):
        explained = test(dtype, _parts(dtype, found)).any(axis=0) | test(dtype, _parts(dtype, wanted)).any(axis=0)
        for kind, array in case.inputs.values() if case.elementwise else ():
            explained = explained | test(kind, _parts(kind, np.asarray(array))).any(axis=0)
        return explained

    return where


def _limits(dtype):
    """The smallest normal and the largest number of a floating type; those that hold no number, of other types."""
    dtype = _PARTS.get(dtype, dtype)
    if dtype not in _FORMATS:
        return -1.0, np.inf
    exponent, fraction = _FORMATS[dtype]
    bias = 2 ** (exponent - 1) - 1
    return 2.0 ** (1 - bias), (2 - 2.0**-fraction) * 2.0**bias


def _is_limit(dtype, x):
    return np.abs(x.astype(np.float64)) >= np.iinfo(dtype).max / 2 if dtype in SIGNED else np.zeros(x.shape, bool)


def _is_tiny(dtype, x):
    return (x != 0) & (np.abs(x) <= 4 * _limits(dtype)[0])


def _is_huge(dtype, x):
    return np.isnan(x) | (np.abs(x) >= _limits(dtype)[1] / 4)


WHERE = {
    "everywhere": lambda case, dtype, found, wanted: np.ones(np.shape(wanted), bool),
    "the sign of zero": lambda case, dtype, found, wanted: (numbers(dtype, found) == 0) & (numbers(dtype, wanted) == 0),
    "denormal numbers": _any_number(_is_tiny),
    "the limits of integers": _any_number(_is_limit),
    "infinities, NaN and the largest numbers": _any_number(_is_huge),
}


# Inputs that are constants of the program.
STATIC = ("axis", "dimension", "num_segments", "orig_input_shape", "segment_ids")


def stored(dtype, array):
    """A library's array as it is stored."""
    return np.asarray(array).view(np.uint16) if dtype == "bfloat16" else np.asarray(array)


def fed(tf, dtype, array):
    """The array as a library takes it."""
    return np.ascontiguousarray(array).view(tf.as_dtype(dtype).as_numpy_dtype) if dtype == "bfloat16" else array


def apply(tf, case, tensors):
    """The outputs of the case's op, of tensors in the order of its inputs."""
    attributes = {k: tf.as_dtype(v.name) if isinstance(v, Type) else v for k, v in case.attributes.items()}
    results = getattr(tf.raw_ops, case.op)(**dict(zip(case.inputs, tensors), **attributes))
    return list(results) if isinstance(results, (tuple, list)) else [results]
