import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.interpreter.against_xla import check
from tfcompat._src.base import jax_compat
from tfcompat._src.interpreter import engine
from tfcompat._src.interpreter.table import preparation
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
