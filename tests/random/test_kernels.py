"""Random kernels against numbers recorded from TensorFlow 1.15 (tests/oracle/record_random.py).

Single precision and narrower are equal to the last bit. In double precision NumPy, XLA and glibc round log, sin, cos and pow
differently in the last places.
"""

import os
import sys
import types
import zlib

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

from tfcompat._src.graph import op_spec
from tfcompat._src.ops.nn import candidates  # noqa: F401
from tfcompat._src.ops.random import candidate_samplers, distributions, philox, stateful, stateless  # noqa: F401

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import random_cases as cases  # noqa: E402

GOLDEN = np.load(os.path.join(os.path.dirname(__file__), os.pardir, "golden", "random", "random.npz"))
DOUBLE_ULPS = 16
EXPECTED_COUNT_ULPS = 2


def _arguments(name, arguments):
    """Kernel inputs as arrays in the op's order, and the attributes that the kernel takes."""
    arguments = dict(arguments)
    cast = arguments.pop("cast", None)
    spec = op_spec.get(name)
    inputs = [np.asarray(arguments.pop(a.name)) for a in spec.signature.inputs]
    if cast:
        inputs = inputs[:1] + [x.astype(cast) for x in inputs[1:]]
    named = {"bfloat16": ml_dtypes.bfloat16}
    attrs = {}
    for key in spec.kernel_attrs:
        value = arguments.get(key, spec.signature.attrs[key].default)
        value = value.decode() if isinstance(value, bytes) else tuple(value) if isinstance(value, list) else value
        attrs[key] = np.dtype(named.get(value, value)) if "dtype" in key else value
    return spec, inputs, attrs


def _compare(name, run, values):
    values = values if isinstance(values, tuple) else (values,)
    for i, value in enumerate(map(np.asarray, values)):
        key = f"{name}/{run}/{i}"
        if value.dtype == ml_dtypes.bfloat16:
            value = value.view(np.uint16)
        if key + "/crc" in GOLDEN:
            flat = value.reshape(-1)
            np.testing.assert_array_equal(flat[:100], GOLDEN[key + "/head"])
            np.testing.assert_array_equal(flat[-100:], GOLDEN[key + "/tail"])
            assert zlib.crc32(flat.tobytes()) == GOLDEN[key + "/crc"]
            continue
        wanted = GOLDEN[key]
        assert (value.dtype, value.shape) == (wanted.dtype, wanted.shape)
        if value.dtype == np.float64:
            np.testing.assert_array_max_ulp(value, wanted, DOUBLE_ULPS)
        elif "CandidateSampler" in name and i:
            np.testing.assert_array_max_ulp(value, wanted, EXPECTED_COUNT_ULPS)
        else:
            np.testing.assert_array_equal(value, wanted)


def _rng(spec, inputs, attrs, run):
    key, counter = philox.seed_to_key_counter(cases.SEED, cases.SEED2)
    wanted = {k: attrs[k] for k in op_spec.keyword_names(spec.reserve)}
    return key, philox.advance(counter, run * spec.reserve(None, *inputs, **wanted))


def _compiled(spec, inputs, attrs, **rng):
    """The kernel under jit; constants stay NumPy values."""
    traced = [i for i in range(len(inputs)) if spec.signature.inputs[i].name not in spec.constants]

    def call(arrays, rng):
        whole = list(inputs)
        for i, array in zip(traced, arrays):
            whole[i] = array
        return spec.kernel(*whole, **attrs, **rng)

    with jax.enable_x64(True):
        return jax.jit(call)([jnp.asarray(inputs[i]) for i in traced], rng)


ON_THE_HOST = {"LearnedUnigramCandidateSampler", "ThreadUnsafeUnigramCandidateSampler", "ParameterizedTruncatedNormal"}
DEVICE_CASES = [n for n, (op, _) in cases.CASES.items() if op not in ON_THE_HOST]
HOST_CASES = [n for n in cases.CASES if n not in DEVICE_CASES]


@pytest.mark.parametrize("name", DEVICE_CASES)
@pytest.mark.parametrize("run", range(cases.RUNS))
def test_numpy_twin(name, run):
    spec, inputs, attrs = _arguments(*cases.CASES[name])
    _compare(name, run, spec.fold(*inputs, **attrs, rng=_rng(spec, inputs, attrs, run)))


@pytest.mark.parametrize("name", DEVICE_CASES)
def test_compiled_kernel(name):
    spec, inputs, attrs = _arguments(*cases.CASES[name])
    _compare(name, 1, _compiled(spec, inputs, attrs, rng=_rng(spec, inputs, attrs, 1)))


@pytest.mark.parametrize("name", cases.STATELESS)
def test_stateless_numpy_twin(name):
    spec, inputs, attrs = _arguments(*cases.STATELESS[name])
    _compare(name, 0, spec.fold(*inputs, **attrs))


@pytest.mark.parametrize("name", cases.STATELESS)
def test_stateless_compiled_kernel(name):
    spec, inputs, attrs = _arguments(*cases.STATELESS[name])
    _compare(name, 0, _compiled(spec, inputs, attrs))


@pytest.mark.parametrize("name", HOST_CASES)
def test_host_kernel(name):
    spec, inputs, attrs = _arguments(*cases.CASES[name])
    context = (_Context(),) if spec.context else ()
    for run in range(cases.RUNS):
        _compare(name, run, spec.kernel(*context, *inputs, **attrs, rng=_rng(spec, inputs, attrs, run)))


class _Context:
    """What a candidate sampler keeps between runs."""

    def __init__(self):
        self.run = types.SimpleNamespace(resources={})
        self.op = types.SimpleNamespace(name="sampler")


def test_philox_reference_vectors():
    """The known answers published with the authors' Random123 library for philox4x32-10."""
    ones = 0xFFFFFFFF
    vectors = [
        ([0] * 2, [0] * 4, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
        ([ones] * 2, [ones] * 4, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
        (
            [0xA4093822, 0x299F31D0],
            [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
            [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
        ),
    ]
    for key, counter, wanted in vectors:
        key, counter = np.array(key, np.uint32), np.array(counter, np.uint32)
        for xp in (np, jnp):
            words = philox.draw(xp, xp.asarray(key), xp.asarray(counter), xp.zeros(1, xp.uint32))
            assert [int(w[0]) for w in words] == wanted


@pytest.mark.parametrize("start", [2**32 - 2, 2**64 - 2, 2**96 - 2, 2**128 - 2])
@pytest.mark.parametrize("xp", [np, jnp])
def test_counter_carries(xp, start):
    """Draw `index * 256 + step` after a counter is draw 0 after the counter so far advanced."""
    key, zero = philox.seed_to_key_counter(5, 6)[0], np.zeros(1, np.uint32)
    counter = philox.advance(np.zeros(4, np.uint32), start)
    index = np.array([0, 1, 3, 2**24 + 1, 2**32 - 1], np.uint32)
    found = np.stack(philox.draw(xp, xp.asarray(key), xp.asarray(counter), xp.asarray(index), 8, 3), axis=1)
    for row, i in zip(found, index):
        advanced = philox.advance(counter, int(i) * 256 + 3)
        np.testing.assert_array_equal(row, np.concatenate(philox.draw(np, key, advanced, zero)))


def test_unseeded_ops_differ():
    first, second = philox.seed_to_key_counter(0, 0), philox.seed_to_key_counter(0, 0)
    assert not np.array_equal(np.concatenate(first), np.concatenate(second))


def test_too_many_unique_candidates_are_refused():
    sampler, stream = candidate_samplers.UniformSampler(3), candidate_samplers.WordStream(*philox.seed_to_key_counter(1, 2))
    with pytest.raises(candidate_samplers.errors.InvalidArgumentError, match="range is too small"):
        candidate_samplers.sample_candidates(sampler, stream, np.zeros((1, 1), np.int64), 4, True)


@pytest.mark.parametrize("unique", [False, True])
@pytest.mark.parametrize("rejected", [2**30, 3 * 2**30])
def test_words_that_choose_no_bucket_are_left_out(monkeypatch, rejected, unique):
    """Where many words are rejected, one block of a trace is too short, and the values are those of Python's loop over words."""
    sampler = candidate_samplers.FixedUnigramSampler(1 + np.arange(600) % 7, 1.0)
    monkeypatch.setattr(sampler, "_rejected", rejected)
    key, counter = philox.seed_to_key_counter(5, 8)
    stream, wanted, tries = candidate_samplers.WordStream(key, counter), [], 0
    while len(wanted) < 50:
        uniform, bucket, tries = (stream.word() & 0x7FFFFF) * 2.0**-23, stream.word(), tries + 1
        while bucket < rejected:
            bucket = stream.word()
        value = bucket % 600 if uniform < sampler._threshold[bucket % 600] else sampler._alias[bucket % 600]
        if not unique or value not in wanted:
            wanted.append(value)
    p = (1 + np.array(wanted) % 7) / np.sum(1 + np.arange(600) % 7)
    expected = -np.expm1(tries * np.log1p(-p)) if unique else 50 * p

    def traced(key, counter):
        return candidate_samplers.candidates(jnp, key, counter, np.array([wanted]), sampler, 50, unique)

    with jax.enable_x64(True):
        for sampled, of_true, of_sampled in (jax.jit(traced)(key, counter), candidate_samplers.candidates(np, key, counter, np.array([wanted]), sampler, 50, unique)):
            np.testing.assert_array_equal(sampled, wanted)
            np.testing.assert_allclose(of_true, expected[None], rtol=1e-5)
            np.testing.assert_allclose(of_sampled, expected, rtol=1e-5)


def test_gamma_gradient():
    """Values of RandomGammaGrad recorded from TensorFlow 1.15, float64."""
    alpha, sample = np.array([0.05, 0.5, 1.0, 3.0, 50.0]), np.float32([0.001, 0.3, 1.2, 2.5, 48.0]).astype(np.float64)
    wanted = [0.12833852, 1.00980197, 1.28547178, 0.96336183, 0.98299977]
    with jax.enable_x64(True):
        found = op_spec.get("RandomGammaGrad").kernel(alpha, sample)
    np.testing.assert_allclose(found, wanted, rtol=1e-7)


def test_few_draws_are_those_of_many():
    key, counter = np.array([2**32 - 1, 77], np.uint32), np.array([2**32 - 2, 2**32 - 1, 5, 9], np.uint32)
    many = np.array(philox.draw(np, key, counter, np.arange(40, dtype=np.uint32)))
    for count in (1, 2, 4, 5):
        parts = [np.array(philox.draw(np, key, counter, np.arange(i, i + count, dtype=np.uint32))) for i in range(0, 40, count)]
        np.testing.assert_array_equal(np.concatenate(parts, axis=1), many)


def test_words_of_runs_that_follow_are_those_of_each_alone():
    key, counter = np.array([3, 2**31], np.uint32), np.array([2**32 - 700, 2**32 - 1, 1, 2], np.uint32)
    for run in range(40):
        start = philox.advance(counter, 1024 * run)
        following, alone = candidate_samplers.WordStream(key, start, 1024), candidate_samplers.WordStream(key, start)
        for count in (12, 7, 900):
            np.testing.assert_array_equal(following.take(count), alone.take(count))
