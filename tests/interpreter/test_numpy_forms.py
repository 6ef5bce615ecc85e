import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.interpreter.against_xla import check
from tfcompat._src.base import jax_compat
from tfcompat._src.interpreter import cores, engine
from tfcompat._src.interpreter.table import CALLS, preparation
from tfcompat._src.ops.nn import conv_kernels
from tfcompat._src.ops.random import candidate_samplers, distributions, philox

KEY, COUNTER = philox.seed_to_key_counter(7, 11)
LOW, HIGH = np.int32(-3), np.int32(40)
ROW = {
    distributions.uniform: lambda k, c: distributions.uniform(jnp, k, c, 70001, np.dtype(np.float32)),
    distributions.uniform_int: lambda k, c: distributions.uniform_int(jnp, k, c, 1001, LOW, HIGH),
    distributions.full_int: lambda k, c: distributions.full_int(jnp, k, c, 1001, np.dtype(np.uint64)),
    distributions.normal: lambda k, c: distributions.normal(jnp, k, c, 1001, np.dtype(np.float64)),
    distributions.truncated_normal: lambda k, c: distributions.truncated_normal(jnp, k, c, 1001, np.dtype(np.float32)),
    distributions.shuffle: lambda k, c: distributions.shuffle(jnp, k, c, 129),
}


CLASSES, LOG_UNIFORM = np.arange(6).reshape(3, 2), candidate_samplers.LogUniformSampler(40)
ROW[candidate_samplers.candidates] = lambda k, c: candidate_samplers.candidates(jnp, k, c, CLASSES, LOG_UNIFORM, 30, True)


@pytest.mark.parametrize("draw", ROW, ids=lambda draw: draw.__name__)
def test_a_drawing_function_is_one_call_and_draws_what_xla_draws(draw):
    check(ROW[draw], KEY, COUNTER)
    with jax_compat.x64():
        (equation,) = jax.make_jaxpr(ROW[draw])(KEY, COUNTER).eqns
    assert preparation(equation) is not None


def test_a_loop_inside_a_drawing_function_is_none_that_an_evaluation_goes_round_in():
    with jax_compat.x64():
        drawing = jax.make_jaxpr(ROW[candidate_samplers.candidates])(KEY, COUNTER)
        counting = jax.make_jaxpr(jax.jit(lambda n: jax.lax.while_loop(lambda i: i < n, lambda i: i + 1, 0)))(3)
    assert any(e.primitive.name == "while" for e in drawing.eqns[0].params["jaxpr"].eqns)
    assert not engine.has_unbounded_loops(drawing.jaxpr)
    assert engine.has_unbounded_loops(counting.jaxpr)


CONVOLUTIONS = [
    ((3, 9, 11, 1), (3, 2, 1, 4), dict(strides=(1, 2, 1, 1), padding="SAME", data_format="NHWC")),
    ((2, 1, 9, 8), (3, 3, 1, 5), dict(strides=(1, 1, 1, 1), padding="VALID", data_format="NCHW", dilations=(1, 1, 2, 3))),
    ((600, 30, 30, 1), (5, 5, 1, 2), dict(strides=(1, 1, 1, 1), padding="EXPLICIT", explicit_paddings=(0, 0, 1, 2, 0, 3, 0, 0), data_format="NHWC")),
    ((2, 4, 5, 6, 1), (2, 2, 3, 1, 3), dict(strides=(1, 1, 1, 2, 1), padding="SAME", data_format="NDHWC")),
]


@pytest.mark.parametrize("image, filters, how", CONVOLUTIONS)
def test_a_convolution_that_a_program_sums_up_tap_by_tap_is_one_call(image, filters, how):
    rng = np.random.RandomState(5)
    x, w = (rng.randint(1, 6, shape).astype(np.float32) for shape in (image, filters))
    check(lambda x, w: conv_kernels.conv(x, w, **how), x, w)
    (call, *_) = (e for e in jax.make_jaxpr(lambda x, w: conv_kernels.conv(x, w, **how))(x, w).eqns if e.primitive.name in CALLS and preparation(e))
    assert preparation(call) is not None


def test_products_that_are_divided_among_cores_are_whole(monkeypatch):
    divided, for_each = [], cores.for_each

    def noted(parts, compute):
        divided.append(len(parts))
        for_each(parts, compute)

    monkeypatch.setattr(cores, "CORES", 3)
    monkeypatch.setattr(cores, "for_each", noted)
    rng = np.random.RandomState(6)
    x, y = rng.randint(1, 6, (700, 300)).astype(np.float32), rng.randint(1, 6, (300, 400)).astype(np.float32)
    image, filters = rng.randint(1, 6, (40, 40, 40, 8)).astype(np.float32), rng.randint(1, 6, (5, 5, 8, 3)).astype(np.float32)

    def convolution(x, w):
        return conv_kernels.conv(x, w, strides=(1, 1, 1, 1), padding="SAME", data_format="NHWC")

    check(lambda x, y: x @ y, x, y)
    check(lambda x, y: y.T @ x.T, x, y)
    check(convolution, image, filters)
    check(lambda x, w: jax.grad(lambda w: (convolution(x, w) * x[..., :3]).sum())(w), image, filters)
    assert len(divided) >= 4 and min(divided) >= 3


def test_draws_of_several_counters_are_those_of_each():
    counters = np.stack([philox.advance(COUNTER, 1000 * i) for i in range(3)])
    with jax_compat.x64():
        trace = jax.make_jaxpr(jax.vmap(ROW[distributions.uniform], (None, 0)))(KEY, counters)
    (drawn,) = engine.prepare(trace)(KEY, counters)
    expected = [distributions.uniform(np, KEY, counter, 70001, np.dtype(np.float32)) for counter in counters]
    np.testing.assert_array_equal(drawn, expected)


def test_where_products_must_be_portable_no_call_stands_in_the_trace(monkeypatch):
    monkeypatch.setattr(philox.FORM, "is_portable", True)
    with jax_compat.x64():
        trace = jax.make_jaxpr(lambda k, c: distributions.uniform(jnp, k, c, 9, np.dtype(np.float32)))(KEY, COUNTER)
    assert len(trace.eqns) > 1


@pytest.mark.parametrize("differentiate", [jax.grad, lambda f: lambda *a: jax.vjp(f, *a)[1](np.float32(2))])
def test_parts_of_a_drawing_function_that_jax_makes_are_computed_as_they_are(differentiate):
    """JAX takes what every iteration computes out of a loop, and keeps what its derivative needs: calls of the same name compute parts then."""

    def loss(x, key, counter):
        def iteration(state, step):
            drawn = distributions.uniform(jnp, key, counter + step, 8, np.dtype(np.float32))
            return jnp.tanh(state * jnp.reshape(drawn, [2, 4])), None

        return jax.lax.scan(iteration, x, jnp.arange(3, dtype=jnp.uint32))[0].sum()

    check(lambda x, key, counter: differentiate(lambda x: loss(x, key, counter))(x), np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4), KEY, COUNTER, rtol=1e-5)
