"""Programs of branch_kinds.py: what stands outside of a branch, and is used inside of it."""

import numpy as np
from branch_kinds import by_kind, dataset, program, without_state


@by_kind
def next_outside(tf, flow, on, runs):
    nxt = dataset(tf)
    return runs(tf.cond(on, lambda: nxt, lambda: tf.constant(-1, tf.int64)))


@by_kind
def pair_of_iterators(tf, flow, on, runs):
    train, test = dataset(tf), dataset(tf, 50) * 100
    return runs(tf.cond(on, lambda: tf.identity(train), lambda: tf.identity(test)))


@by_kind
def assign_add_of_a_ref_outside(tf, flow, on, runs):
    v = tf.get_variable("v", [], initializer=tf.zeros_initializer(), use_resource=False)
    added = tf.assign_add(v, 1.0) * 1.0
    out = tf.cond(on, lambda: added * 10.0, lambda: tf.constant(-1.0))
    return [step for run in runs(out) for step in (run, (v, {}))]


@by_kind
def assign_add_of_a_resource_outside(tf, flow, on, runs):
    v = tf.get_variable("v", [], initializer=tf.zeros_initializer(), use_resource=True)
    added = tf.identity(v.assign_add(1.0, read_value=True))
    out = tf.cond(on, lambda: added * 10.0, lambda: tf.constant(-1.0))
    return [step for run in runs(out) for step in (run, (v, {}))]


@by_kind
def assign_waited_for_in_a_branch(tf, flow, on, runs):
    v = tf.get_variable("v", [], initializer=tf.zeros_initializer(), use_resource=True)
    added = v.assign_add(1.0, read_value=False)

    def taken():
        with tf.control_dependencies([added]):
            return tf.constant(5.0) + 1.0

    out = tf.cond(on, taken, lambda: tf.constant(-1.0))
    return [step for run in runs(out) for step in (run, (v, {}))]


@by_kind
def dequeue_outside(tf, flow, on, runs):
    queue = tf.FIFOQueue(20, tf.int32, [[]])
    fill = queue.enqueue_many([tf.range(20)])
    item = queue.dequeue()
    out = tf.cond(on, lambda: item + 100, lambda: tf.constant(-1))
    return [(fill, {}), *[step for run in runs(out) for step in (run, (queue.size(), {}))]]


@by_kind
def py_func_outside(tf, flow, on, runs):
    calls = []

    def call():
        calls.append(1)
        return np.int64(len(calls))

    number = tf.py_func(call, [], tf.int64)
    return runs(tf.cond(on, lambda: number * 2, lambda: tf.constant(-1, tf.int64)))


@by_kind
def random_outside(tf, flow, on, runs):
    drawn = tf.random_uniform([2], seed=5)
    return runs(tf.cond(on, lambda: drawn * 2.0, lambda: tf.zeros([2])))


@by_kind
def random_inside(tf, flow, on, runs):
    return runs(tf.cond(on, lambda: tf.random_uniform([2], seed=5), lambda: tf.zeros([2])))


@by_kind
def metric_outside(tf, flow, on, runs):
    value, update = tf.metrics.mean(tf.constant([1.0, 2.0, 3.0]))
    total = next(v for v in tf.local_variables() if "total" in v.name)
    out = tf.cond(on, lambda: update * 1.0, lambda: tf.constant(-1.0))
    return [step for run in runs(out) for step in (run, (total, {}))]


@by_kind
def nested(tf, flow, on, runs):
    nxt = dataset(tf)
    deep = tf.greater(nxt, 2)
    return runs(tf.cond(on, lambda: tf.cond(deep, lambda: nxt * 10, lambda: nxt + 1000), lambda: tf.constant(-1, tf.int64)))


@by_kind
def case_of_two(tf, flow, on, runs):
    v = tf.get_variable("v", [], initializer=tf.zeros_initializer(), use_resource=True)
    first = tf.identity(v.assign_add(1.0))
    with tf.control_dependencies([first]):
        second = tf.identity(v.assign_add(10.0))
    cases = [(on, lambda: first * 1.0), (tf.logical_not(on), lambda: second * 1.0)]
    return runs(tf.case(cases, default=lambda: tf.constant(-1.0), exclusive=False))


@without_state
def assertion_outside(tf, flow, on, runs):
    x = tf.placeholder_with_default(1.0, [])
    with tf.control_dependencies([tf.Assert(tf.greater(x, 0.0), ["too small"])]):
        y = x * 3.0
    out = tf.cond(on, lambda: y, lambda: tf.constant(-1.0))
    return [(f, {**feed, x: 1.0 if i % 2 else -1.0}) for i, (f, feed) in enumerate(runs(out))]


@without_state
def check_numerics_outside(tf, flow, on, runs):
    x = tf.placeholder_with_default(1.0, [])
    y = tf.check_numerics(tf.log(x), "no number")
    out = tf.cond(on, lambda: y + 1.0, lambda: tf.constant(-1.0))
    return [(f, {**feed, x: 1.0 if i % 3 else -1.0}) for i, (f, feed) in enumerate(runs(out))]


@without_state
def gather_outside(tf, flow, on, runs):
    place = tf.placeholder_with_default(0, [])
    y = tf.gather(tf.constant([1.0, 2.0, 3.0]), place)
    out = tf.cond(on, lambda: y + 1.0, lambda: tf.constant(-1.0))
    return [(f, {**feed, place: i}) for i, (f, feed) in enumerate(runs(out))]


@without_state
def uninitialized_outside(tf, flow, on, runs):
    v = tf.get_variable("v", [], initializer=tf.zeros_initializer(), use_resource=True, collections=["late"])
    value = v.read_value() + 1.0
    out = tf.cond(on, lambda: value, lambda: tf.constant(-1.0))
    all_runs = runs(out)
    return [*all_runs[:3], (v.initializer, {}), *all_runs[3:]]


@by_kind
def in_a_loop(tf, flow, on, runs):
    v = tf.get_variable("v", [], initializer=tf.zeros_initializer(), use_resource=True)

    def body(i, total):
        added = tf.identity(v.assign_add(1.0, read_value=True))
        return i + 1, total + tf.cond(on, lambda: added, lambda: tf.constant(0.5))

    out = tf.while_loop(lambda i, _: i < 3, body, [0, 0.0], parallel_iterations=1)[1]
    return [step for run in runs(out) for step in (run, (v, {}))]


@by_kind
def outer_in_a_loop_by_round(tf, flow, on, runs):
    v = tf.get_variable("v", [], initializer=tf.zeros_initializer(), use_resource=True)

    def body(i, total):
        added = tf.identity(v.assign_add(1.0, read_value=True))
        chosen = tf.logical_and(on, tf.equal(i % 2, 0))
        return i + 1, total + tf.cond(chosen, lambda: added, lambda: tf.constant(0.25))

    out = tf.while_loop(lambda i, _: i < 4, body, [0, 0.0], parallel_iterations=1)[1]
    return [step for run in runs(out) for step in (run, (v, {}))]


@by_kind
def summary_outside(tf, flow, on, runs):
    x = tf.check_numerics(tf.constant(2.0), "x")
    text = tf.summary.scalar("loss", x)
    return runs(tf.cond(on, lambda: text, lambda: tf.constant("")))


@by_kind
def function_outside(tf, flow, on, runs):
    v = tf.get_variable("v", [], initializer=tf.zeros_initializer(), use_resource=True)

    @tf.function
    def step(x):
        return v.assign_add(x)

    out = tf.cond(on, lambda: step(tf.constant(2.0)) * 1.0, lambda: tf.constant(-1.0))
    before = step(tf.constant(1.0))
    chosen = tf.cond(on, lambda: before * 1.0, lambda: tf.constant(-1.0))
    return [s for a, b in zip(runs(out), runs(chosen)) for s in (a, (v, {}), b, (v, {}))]


@by_kind
def function_with_a_branch(tf, flow, on, runs):
    v = tf.get_variable("v", [], initializer=tf.zeros_initializer(), use_resource=True)

    @tf.function(autograph=False)
    def step(sel):
        added = v.assign_add(1.0)
        return tf.cond(sel, lambda: added * 10.0, lambda: tf.constant(-1.0))

    return [s for run in runs(step(on)) for s in (run, (v, {}))]


@by_kind
def gradient_beside(tf, flow, on, runs):
    x = tf.constant([1.0, 2.0])
    w = tf.get_variable("w", [2], initializer=tf.ones_initializer(), use_resource=True)
    h = w * x
    out = tf.cond(on, lambda: tf.reduce_sum(h * h), lambda: tf.reduce_sum(3.0 * h))
    return runs([out, tf.gradients(out, w)[0]])


@program
def constant_predicate(tf, flow):
    nxt = dataset(tf)
    made = [tf.cond(tf.constant(v), lambda: nxt, lambda: tf.constant(-1, tf.int64)) for v in (True, False)]
    raw = [flow.merge(list(flow.switch(nxt, tf.constant(v))))[0] for v in (True, False)]
    return [(t, {}) for t in (made[1], made[0], raw[1], raw[0], made[1], made[0])]


@program
def fetched_in_an_untaken_branch(tf, flow):
    on = tf.placeholder(tf.bool, [])
    v = tf.get_variable("v", [], initializer=tf.zeros_initializer(), use_resource=True)
    off_side, on_side = flow.switch(tf.identity(v.assign_add(1.0)), on)
    a, b = tf.identity(off_side), tf.identity(on_side)
    return [(a, {on: True}), (b, {on: True}), (v, {}), (a, {on: False}), ([v, b], {on: False}), (v, {}), (b.op, {on: False}), (v, {})]
