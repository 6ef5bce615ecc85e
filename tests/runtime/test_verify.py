"""The verifier finds plans that are broken on purpose, each in another way."""

import dataclasses

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.runtime.ir.plan import Cluster, HostStep
from tfcompat._src.runtime.passes import verify
from tfcompat._src.runtime.passes.placement import Placement, Work
from tfcompat._src.runtime.passes.plan_guards import NOTHING_FED


@pytest.fixture
def parts():
    """A session, and the plan of a run with two clusters, host steps between, a variable that is read and written, and its items."""
    graph = tf.Graph()
    with graph.as_default():
        x = tf.placeholder(tf.float32, [None, 3], "x")
        v = tf.get_variable("v", [3], use_resource=True)
        w = tf.get_variable("w", [3], use_resource=True)
        kept = tf.boolean_mask(x * v, tf.reduce_sum(x, 1) > 0, name="kept")
        with tf.control_dependencies([tf.print(tf.shape(kept))]):
            update = v.assign_add(tf.reduce_sum(kept, 0))
        with tf.control_dependencies([update]):
            total = tf.reduce_sum(v.read_value() * w, name="total")
    session = tf.Session(graph=graph)
    session.run([v.initializer, w.initializer])
    plan = session.plan([total, update], {x: np.ones([2, 3], np.float32)})
    items = list(dict.fromkeys(item for step in plan.steps for item in step.items))
    verify.plan(plan, items)
    yield session, plan, items
    session.close()


def of_type(items, kind):
    return next(item for item in items if item.type == kind)


def clusters(plan):
    return [step for step in plan.steps if isinstance(step, Cluster)]


def with_steps(plan, steps):
    return dataclasses.replace(plan, steps=steps)


def test_a_tensor_that_two_items_make(parts):
    _, plan, items = parts
    with pytest.raises(verify.InvalidPlan, match="is made by .* and again by"):
        verify.structure([*items, items[-1]], plan.feeds, plan.known)


def test_an_item_before_its_source(parts):
    _, plan, items = parts
    with pytest.raises(verify.InvalidPlan, match="before .* has made it"):
        verify.structure(items[::-1], plan.feeds, plan.known)


def test_an_item_that_no_rule_places(parts):
    session, plan, items = parts
    placement = Placement(Work(items, plan.fetched, plan.feeds, plan.known, NOTHING_FED), session.context.placer)
    verify.placement(placement)
    del placement.rules[items[0]]
    with pytest.raises(verify.InvalidPlan, match="no rule says where"):
        verify.placement(placement)


def test_a_number_that_nothing_computes_before_compiling(parts):
    session, plan, items = parts
    placement = Placement(Work(items, plan.fetched, plan.feeds, plan.known, NOTHING_FED), session.context.placer)
    item = next(i for i in items if i not in placement.on_host and i.type == "Sum")
    placement.constants[item] = frozenset([0])
    with pytest.raises(verify.InvalidPlan, match="as a compile-time constant"):
        verify.placement(placement)


def test_steps_in_the_wrong_order(parts):
    _, plan, items = parts
    with pytest.raises(verify.InvalidPlan, match="no earlier step"):
        verify.plan(with_steps(plan, plan.steps[::-1]), items)


def test_a_cluster_that_does_not_give_what_a_later_step_takes(parts):
    _, plan, items = parts
    first = clusters(plan)[0]
    first.outputs.clear()
    with pytest.raises(verify.InvalidPlan, match="no earlier step"):
        verify.plan(plan, items)


def test_a_fetch_that_its_cluster_does_not_give(parts):
    _, plan, items = parts
    last = clusters(plan)[-1]
    last.outputs.remove(next(t for t in plan.fetched if t in last.outputs))
    with pytest.raises(verify.InvalidPlan, match="is fetched"):
        verify.plan(plan, items)


def test_an_item_that_acts_in_two_steps(parts):
    _, plan, items = parts
    printing = of_type(items, "PrintV2")
    with pytest.raises(verify.InvalidPlan, match="has effects, and runs in steps"):
        verify.plan(with_steps(plan, [*plan.steps, HostStep([printing])]), items)


def test_a_read_that_was_to_come_after_the_write(parts):
    _, plan, items = parts
    update = of_type(items, "AssignAddVariableOp")
    step = next(s for s in clusters(plan) if update in s.items)
    step.items.remove(update)
    step.items.append(update)
    with pytest.raises(verify.InvalidPlan, match="both use the variable /v"):
        verify.plan(plan, items)


def test_a_donated_buffer_that_is_read_again(parts):
    _, plan, items = parts
    step = next(s for s in clusters(plan) if s.updates)
    step.reads.append(step.updates[0])
    with pytest.raises(verify.InvalidPlan, match="donated and read"):
        verify.plan(plan, items)


def test_prints_in_another_order_than_they_were_made():
    graph = tf.Graph()
    with graph.as_default():
        prints = [tf.print(i) for i in range(2)]
    with tf.Session(graph=graph) as session:
        plan = session.plan(prints)
        items = [item for step in plan.steps for item in step.items]
        verify.plan(plan, items)
        with pytest.raises(verify.InvalidPlan, match="both have external effects"):
            verify.plan(plan, items[::-1])


def test_a_tensor_that_comes_into_a_cluster_twice(parts):
    _, plan, items = parts
    step = next(s for s in clusters(plan) if s.inputs)
    step.statics.append(step.inputs[0])
    with pytest.raises(verify.InvalidPlan, match="enters a cluster twice"):
        verify.plan(plan, items)
