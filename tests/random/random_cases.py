"""The random ops that are compared with TensorFlow 1.15: op type and arguments, without seeds."""

import numpy as np

SEED, SEED2 = 87654321, 2**40 + 5
RUNS = 2
FLOATS = ("float16", "bfloat16", "float32", "float64")


def _logits(rows, classes, dtype="float32"):
    values = np.sin(np.arange(rows * classes) * 1.7).reshape(rows, classes) * 3
    return values.astype(dtype)


def _with_infinities():
    logits = _logits(6, 5)
    logits[1, 2] = -np.inf
    logits[2, 0] = np.nan
    logits[3, :4] = -np.inf
    return logits


CASES = {}
for _dtype in FLOATS:
    for _op in ("RandomUniform", "RandomStandardNormal", "TruncatedNormal"):
        CASES[f"{_op}_{_dtype}"] = (_op, dict(shape=[17, 59], dtype=_dtype))
for _op in ("RandomUniform", "RandomStandardNormal", "TruncatedNormal"):
    CASES[f"{_op}_large"] = (_op, dict(shape=[300007], dtype="float32"))
for _dtype in ("int32", "int64"):
    _info = np.iinfo(_dtype)
    for _name, _low, _high in (("small", -3, 40), ("wide", _info.min, _info.max), ("large", 0, 10**9 + 7)):
        _bounds = dict(minval=np.array(_low, _dtype), maxval=np.array(_high, _dtype))
        CASES[f"RandomUniformInt_{_dtype}_{_name}"] = ("RandomUniformInt", dict(shape=[1003], **_bounds))
for _rows in (0, 1, 2, 5, 6, 1001):
    CASES[f"RandomShuffle_{_rows}"] = ("RandomShuffle", dict(value=np.arange(_rows, dtype=np.int32)))
CASES["RandomShuffle_matrix"] = ("RandomShuffle", dict(value=np.arange(300, dtype=np.float32).reshape(100, 3)))
for _name, _values in (
    ("float32", _logits(7, 11)),
    ("float16", _logits(7, 11, "float16")),
    ("float64", _logits(3, 400, "float64")),
    ("infinite", _with_infinities()),
):
    CASES[f"Multinomial_{_name}"] = ("Multinomial", dict(logits=_values, num_samples=13, output_dtype="int64"))
CASES["Multinomial_wide"] = ("Multinomial", dict(logits=_logits(64, 500), num_samples=1, output_dtype="int32"))
for _dtype in ("float16", "float32", "float64"):
    _alpha = np.array([[0.05, 0.5, 1.0], [1.5, 30.0, 1000.0]], _dtype)
    CASES[f"RandomGamma_{_dtype}"] = ("RandomGamma", dict(shape=[50, 3], alpha=_alpha))
    _rate = np.array([0.0, 0.3, 4.0, 9.99, 10.0, 11.5, 200.0, 3000.0], _dtype)
    CASES[f"RandomPoissonV2_{_dtype}"] = ("RandomPoissonV2", dict(shape=[40, 3], rate=_rate, dtype=_dtype))
CASES["RandomPoissonV2_int64"] = ("RandomPoissonV2", dict(shape=[99], rate=np.float64([2.5, 77.0]), dtype="int64"))

_REGIMES = {
    "normal": (0.5, 2.0, -3.0, 4.0),
    "one_sided": (0.0, 1.0, -2.0, np.inf),
    "flipped": (0.0, 1.0, -np.inf, 2.5),
    "uniform": (1.0, 2.0, 0.5, 1.5),
    "uniform_tail": (0.0, 1.0, 3.0, 3.2),
    "exponential": (0.0, 1.0, 2.0, np.inf),
    "exponential_low": (1.0, 0.5, -np.inf, -1.0),
}
for _name, _parameters in _REGIMES.items():
    for _dtype in ("float32", "float64") if _name != "normal" else ("float16", "float32", "float64"):
        _values = dict(zip(("means", "stdevs", "minvals", "maxvals"), (np.array(v, np.float64) for v in _parameters)))
        _values = dict(_values, shape=[11, 59], cast=_dtype)
        CASES[f"ParameterizedTruncatedNormal_{_name}_{_dtype}"] = ("ParameterizedTruncatedNormal", _values)
CASES["ParameterizedTruncatedNormal_rows"] = (
    "ParameterizedTruncatedNormal",
    dict(
        shape=[4, 37],
        means=np.float64([0, 1, 2, 3]),
        stdevs=np.float64([1, 2, 1, 0.5]),
        minvals=np.float64([-2, 0.5, 4, -np.inf]),
        maxvals=np.float64([2, 1.5, np.inf, 2]),
        cast="float32",
    ),
)

_TRUE = np.array([[0, 3], [7, 1], [40, 2]], np.int64)
for _unique in (False, True):
    for _op in ("UniformCandidateSampler", "LogUniformCandidateSampler", "LearnedUnigramCandidateSampler"):
        for _range in (64, 1000, 1000003):
            _sampled = 30 if _range == 64 else 64
            CASES[f"{_op}_{_range}_{_unique}"] = (
                _op,
                dict(true_classes=_TRUE, num_true=2, num_sampled=_sampled, unique=_unique, range_max=_range),
            )
    _unigrams = [float(v) for v in np.round(1 + 50 * np.abs(np.sin(np.arange(60.0))))]
    CASES[f"FixedUnigramCandidateSampler_{_unique}"] = (
        "FixedUnigramCandidateSampler",
        dict(
            true_classes=_TRUE, num_true=2, num_sampled=25, unique=_unique, range_max=62,
            unigrams=_unigrams, distortion=0.75, num_reserved_ids=2,
        ),
    )
CASES["FixedUnigramCandidateSampler_shard"] = (
    "FixedUnigramCandidateSampler",
    dict(
        true_classes=_TRUE, num_true=2, num_sampled=9, unique=False, range_max=21, unigrams=_unigrams,
        distortion=1.0, num_reserved_ids=2, num_shards=3, shard=1,
    ),
)
CASES["FixedUnigramCandidateSampler_rejected"] = (  # of the words of the first run, 331002 < 2**32 % 331274 may choose no bucket
    "FixedUnigramCandidateSampler",
    dict(
        true_classes=_TRUE, num_true=2, num_sampled=2000, unique=False, range_max=331274, distortion=0.75,
        unigrams=np.round(1 + 50 * np.abs(np.sin(np.arange(331274.0)))).tolist(),
    ),
)
CASES["AllCandidateSampler"] = (
    "AllCandidateSampler",
    dict(true_classes=_TRUE, num_true=2, num_sampled=41, unique=True),
)

STATELESS = {}
for _seed in (np.int32([7, -3]), np.int64([2**40 + 1, -5])):
    for _op in ("StatelessRandomUniform", "StatelessRandomNormal", "StatelessTruncatedNormal"):
        for _dtype in FLOATS:
            STATELESS[f"{_op}_{_dtype}_{_seed.dtype}"] = (_op, dict(shape=[203], seed=_seed, dtype=_dtype))
    for _dtype in ("int32", "int64"):
        STATELESS[f"StatelessRandomUniformInt_{_dtype}_{_seed.dtype}"] = (
            "StatelessRandomUniformInt",
            dict(shape=[203], seed=_seed, minval=np.array(-5, _dtype), maxval=np.array(1000, _dtype)),
        )
    STATELESS[f"StatelessMultinomial_{_seed.dtype}"] = (
        "StatelessMultinomial",
        dict(logits=_logits(5, 9), num_samples=11, seed=_seed, output_dtype="int64"),
    )
