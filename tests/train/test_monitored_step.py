"""A step with hooks costs one compiled call: whether the global step has a value is known before the run."""

import pytest

import tfcompat as tf
from tfcompat._src.variables import training_util


@pytest.mark.parametrize("use_resource", [False, True])
def test_step_that_reads_the_global_step_is_one_compiled_call(use_resource):
    with tf.Graph().as_default(), tf.variable_scope("", use_resource=use_resource), tf.Session() as session:
        step = tf.train.create_global_step()
        weight = tf.get_variable("weight", [])
        train = tf.train.GradientDescentOptimizer(0.5).minimize(weight * 2.0, global_step=step)
        fetches = {"train": train, "step": training_util._get_or_create_global_step_read()}
        session.run(tf.global_variables_initializer())
        plan = session.plan(fetches)
        assert len(plan.steps) == len(plan.clusters) == 1
        assert [session.run(fetches)["step"] for _ in range(3)] == [1, 2, 3]


@pytest.mark.parametrize("use_resource", [False, True])
def test_answer_follows_the_variable(use_resource):
    with tf.Graph().as_default(), tf.Session() as session:
        variable = tf.Variable(3.0, use_resource=use_resource)
        fetches = [tf.is_variable_initialized(variable), variable.initialized_value()]
        assert session.run(fetches) == [False, 3.0]
        variable.load(5.0, session)
        assert session.run(fetches) == [True, 5.0]
