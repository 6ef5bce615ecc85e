"""Programs of branch_kinds.py: Switch and Merge as they are."""

import numpy as np
from branch_kinds import PATTERN, PROGRAMS, by_kind, program


def n_ways(tf, flow, k, data, count=4):
    return flow.merge([flow.switch(data, tf.equal(k, c))[1] * 10.0 + c for c in range(count)])


def numbers(tf, kind):
    """(an int tensor, the feeds that give it a value)."""
    if kind == "fed":
        k = tf.placeholder(tf.int32, [])
        return k, lambda n: {k: n}
    if kind == "computed":
        k = tf.placeholder_with_default(0, [])
        return k + 0, lambda n: {k: n}
    count = tf.get_variable("count", [], tf.int32, tf.zeros_initializer(), use_resource=True, trainable=False)
    k = tf.placeholder(tf.int32, [])
    with tf.control_dependencies([count.assign(k, read_value=False)]):
        return count.read_value(), lambda n: {k: n}


def by_number(build):
    for kind in ("fed", "computed", "read"):

        def named(tf, flow, kind=kind):
            k, feed = numbers(tf, kind)
            return build(tf, flow, k, lambda fetches, values=(2, 0, 3, 1, 2, 5, 0): [(fetches, feed(n)) for n in values])

        named.__name__ = f"{build.__name__}_{kind}"
        PROGRAMS[named.__name__] = named
    return build


@by_number
def merge_of_four(tf, flow, k, runs):
    return runs(list(n_ways(tf, flow, k, tf.constant([1.0, 2.0]))))


@by_number
def merge_of_four_and_more(tf, flow, k, runs):
    v = tf.get_variable("v", [], initializer=tf.zeros_initializer(), use_resource=True)
    w = tf.get_variable("w", [], initializer=tf.zeros_initializer(), use_resource=True)
    y, index = n_ways(tf, flow, k, tf.constant([1.0, 2.0]))
    beside = tf.identity(w.assign_add(1.0))
    with tf.control_dependencies([y]):
        behind = v.assign_add(100.0)
    return [s for run in runs([tf.reduce_sum(y) + 1.0, index * 2]) for s in (run, (v, {}))] + [
        s for run in runs([beside, behind.op]) for s in (run, ([v, w], {}))
    ]


@by_number
def gradient_of_a_merge_of_four(tf, flow, k, runs):
    x = tf.constant([1.0, 2.0])
    y = flow.merge([flow.switch(x, tf.equal(k, c))[1] * (10.0 + c) for c in range(4)])[0]
    return runs([y, tf.gradients(y, x)[0]])


@by_number
def random_selector(tf, flow, k, runs):
    x = tf.constant([[0.25, 0.5, 0.75]])

    def drawn(v):
        with tf.control_dependencies([tf.identity(v)]):
            return tf.random_uniform([1, 3], seed=3)

    outside = tf.random_uniform([1, 3], seed=4)
    kinds = [lambda v: tf.sqrt(v) * outside, lambda v: v * v, drawn, lambda v: -v]
    y = flow.merge([f(flow.switch(x, tf.equal(k, c))[1]) for c, f in enumerate(kinds)])[0]
    return runs(tf.clip_by_value(y, 0.0, 0.6), (0, 2, 1, 2, 3, 2, 0, 2))


@by_number
def merge_of_four_of_different_shapes(tf, flow, k, runs):
    x = tf.constant([1.0, 2.0])
    y, index = flow.merge([tf.fill([c + 1], tf.reduce_sum(flow.switch(x, tf.equal(k, c))[1])) for c in range(3)])
    return runs([tf.reduce_sum(y), tf.shape(y), index])


@by_number
def merge_of_effects(tf, flow, k, runs):
    v = tf.get_variable("v", [], initializer=tf.zeros_initializer(), use_resource=True)

    def side(c):
        taken = tf.identity(flow.switch(tf.constant(float(c)), tf.equal(k, c))[1])
        return tf.identity(v.assign_add(10.0**c + taken * 0.0))

    y = flow.merge([side(c) for c in range(4)])[0]
    return [s for run in runs(y) for s in (run, (v, {}))]


@by_number
def merge_of_strings(tf, flow, k, runs):
    names = tf.constant(["a", "b"])
    y = flow.merge([tf.strings.join([flow.switch(names, tf.equal(k, c))[1], str(c)]) for c in range(3)])[0]
    return runs(y)


@by_number
def two_selectors(tf, flow, k, runs):
    x = tf.constant([1.0, 2.0])
    y = n_ways(tf, flow, k, x)[0]
    z = n_ways(tf, flow, 3 - k, y + 1.0)[0]
    return runs([z, y])


@by_number
def selector_in_a_conditional(tf, flow, k, runs):
    x = tf.constant([1.0, 2.0])
    y = tf.cond(tf.greater(k, 0), lambda: n_ways(tf, flow, k, x * 1.0)[0] + 0.5, lambda: -x)
    return runs(y + 1.0)


@by_number
def conditional_behind_a_selector(tf, flow, k, runs):
    y = n_ways(tf, flow, k, tf.constant([1.0, 2.0]))[0]
    return runs(tf.cond(tf.greater(y[0], 11.5), lambda: y * 2.0, lambda: y * 0.5))


@by_number
def selector_in_a_loop(tf, flow, k, runs):
    x = tf.constant([1.0, 2.0])

    def body(i, total):
        sides = [flow.switch(total, tf.equal((k + i) % 3, c))[1] * 2.0 + c for c in range(3)]
        merged = flow.merge(sides)[0]
        merged.set_shape([2])
        return i + 1, merged

    return runs(tf.while_loop(lambda i, _: i < 4, body, [0, x])[1])


@by_number
def loop_behind_a_selector(tf, flow, k, runs):
    y = n_ways(tf, flow, k, tf.constant([1.0, 2.0]))[0]
    return runs(tf.while_loop(lambda i, _: i < 3, lambda i, t: (i + 1, t * 2.0), [0, y])[1])


@by_number
def overlapping_guards(tf, flow, k, runs):
    x = tf.constant([1.0, 2.0])
    low, high = flow.switch(x, tf.greater(k, 1))
    lowest, middle = flow.switch(low, tf.equal(k, 1))
    y = flow.merge([lowest * 1.0, middle * 2.0, high * 3.0])
    return runs(list(y))


@by_number
def two_of_three_alive_or_none(tf, flow, k, runs):
    x = tf.constant([1.0, 2.0])
    y = flow.merge([flow.switch(x, tf.equal(k, 2))[1], flow.switch(x * 3.0, tf.less(k, 1))[1]])
    return runs([y[0], y[1]], (2, 0, -1, 1, 2, 3))


@by_number
def dead_beside_live(tf, flow, k, runs):
    y = n_ways(tf, flow, k, tf.constant([1.0, 2.0]), 2)[0]
    return runs([y, k + 1]) + runs(k + 2)


@by_number
def merge_by_a_dead_predicate(tf, flow, k, runs):
    x = tf.constant([1.0, 2.0])
    first = flow.switch(tf.less(k, 2), tf.greater(k, 0))[1]
    off, on = flow.switch(x, first)
    y = flow.merge([off + 1.0, on + 2.0])
    z = flow.merge([y[0], flow.switch(x, tf.greater(k, 0))[0] * 7.0])
    return runs([z[0], z[1]])


@by_number
def case_computed(tf, flow, k, runs):
    x = tf.constant([1.0, 2.0])
    cases = [(tf.equal(k, c), lambda c=c: x * (c + 1.0)) for c in range(3)]
    y = tf.case(cases, default=lambda: -x, exclusive=True)
    return runs([y, tf.gradients(y, x)[0]])


@by_number
def switch_case_with_an_outer_update(tf, flow, k, runs):
    v = tf.get_variable("v", [], initializer=tf.zeros_initializer(), use_resource=True)
    added = tf.identity(v.assign_add(1.0))
    y = tf.switch_case(k, [lambda: added * 1.0, lambda: added * 10.0, lambda: tf.constant(-1.0)])
    return [s for run in runs(y) for s in (run, (v, {}))]


@by_number
def second_gradient_of_a_nested_case(tf, flow, k, runs):
    x = tf.constant([1.0, 2.0])

    def inner():
        return tf.case([(tf.equal(k, 1), lambda: x * x * x), (tf.equal(k, 2), lambda: x * x)], default=lambda: 3.0 * x)

    y = tf.case([(tf.greater(k, 0), inner)], default=lambda: x * x * x * x)
    first = tf.gradients(y, x)[0]
    return runs([y, first, tf.gradients(first, x)[0]])


@by_kind
def merge_of_an_update_of_a_ref(tf, flow, on, runs):
    v = tf.get_variable("v", [], initializer=tf.zeros_initializer(), use_resource=False)
    off_side, on_side = flow.switch(tf.assign_add(v, 1.0), on)
    y = flow.merge([off_side * 10.0, on_side * 100.0])[0]
    return [s for run in runs(y) for s in (run, (v, {}))]


@by_kind
def merge_of_an_update_of_a_resource(tf, flow, on, runs):
    v = tf.get_variable("v", [], initializer=tf.zeros_initializer(), use_resource=True)
    off_side, on_side = flow.switch(tf.identity(v.assign_add(1.0)), on)
    y = flow.merge([off_side * 10.0, on_side * 100.0])[0]
    return [s for run in runs(y) for s in (run, (v, {}))]


@by_kind
def merge_of_refs(tf, flow, on, runs):
    v = tf.get_variable("v", [], initializer=tf.zeros_initializer(), use_resource=False)
    w = tf.get_variable("w", [], initializer=tf.ones_initializer(), use_resource=False)
    first = flow.switch_ref(v._ref(), on)[1]
    second = flow.switch_ref(w._ref(), on)[0]
    chosen, index = flow.merge([first, second])
    out = tf.assign_add(chosen, 10.0)
    return [s for run in runs([out, index]) for s in (run, ([v, w], {}))]


@by_number
def merge_of_three_refs(tf, flow, k, runs):
    made = [tf.get_variable(f"v{i}", [], initializer=tf.zeros_initializer(), use_resource=False) for i in range(3)]
    chosen, index = flow.merge([flow.switch_ref(v._ref(), tf.equal(k, i))[1] for i, v in enumerate(made)])
    out = tf.assign_add(chosen, 1.0)
    return [s for run in runs([out, index]) for s in (run, (made, {}))]


@by_number
def merge_of_three_handles(tf, flow, k, runs):
    made = [tf.get_variable(f"v{i}", [], initializer=tf.constant_initializer(i), use_resource=True) for i in range(3)]
    handle = flow.merge([flow.switch(v.handle, tf.equal(k, i))[1] for i, v in enumerate(made)])[0]
    read = tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)
    return runs(read)


@by_kind
def merge_of_the_same(tf, flow, on, runs):
    side = flow.switch(tf.constant([1.0, 2.0]), on)[1] * 2.0
    y = flow.merge([side, side])[0]
    return runs(y)


@by_kind
def merge_of_one(tf, flow, on, runs):
    off_side, on_side = flow.switch(tf.constant([1.0, 2.0]), on)
    one = flow.merge([on_side * 3.0])
    y = flow.merge([one[0], off_side])
    return runs([y[0], y[1]])


@by_kind
def trigger_behind_a_dead_node(tf, flow, on, runs):
    v = tf.get_variable("v", [], initializer=tf.zeros_initializer(), use_resource=True)
    dead = flow.switch(tf.constant(1.0), on)[1] + 1.0
    with tf.control_dependencies([dead]):
        trigger = tf.raw_ops.ControlTrigger()
    with tf.control_dependencies([trigger]):
        behind = v.assign_add(1.0)
    with tf.control_dependencies([dead]):
        not_behind = v.assign_add(100.0).op
    return [s for run in runs([behind]) + runs([not_behind]) for s in (run, (v, {}))]


@by_kind
def updates_of_two_refs(tf, flow, on, runs):
    v, w = (tf.get_variable(n, [], initializer=tf.zeros_initializer(), use_resource=False) for n in "vw")
    off_side, on_side = flow.switch(tf.constant(5.0), on)
    y = flow.merge([tf.assign(v, off_side), tf.assign_add(w, on_side)])[0]
    return [s for run in runs(y) for s in (run, ([v, w], {}))]


@by_kind
def update_of_a_ref_fetched_dead(tf, flow, on, runs):
    v = tf.get_variable("v", [], initializer=tf.zeros_initializer(), use_resource=False)
    y = tf.assign_add(v, flow.switch(tf.constant(5.0), on)[1])
    return [s for run in runs(y) for s in (run, (v, {}))]


@by_number
def map_behind_a_selector(tf, flow, k, runs):
    w = tf.get_variable("w", [2], initializer=tf.zeros_initializer(), use_resource=True)
    z = tf.map_fn(lambda t: t * 2.0, n_ways(tf, flow, k, tf.constant([1.0, 2.0]))[0])
    up = w.assign(z, read_value=False)
    return [s for a, b in zip(runs(z), runs(up)) for s in (a, b, (w, {}))]


@by_number
def optimizer_behind_a_selector(tf, flow, k, runs):
    w = tf.get_variable("w", [2], initializer=tf.ones_initializer(), use_resource=True)
    y = flow.merge([flow.switch(w * 1.0, tf.equal(k, c))[1] * (1.0 + c) for c in range(3)])[0]
    step = tf.train.MomentumOptimizer(0.1, 0.9).minimize(tf.reduce_sum(y * y))
    return [s for run in runs(step) for s in (run, (w, {}))]


@by_number
def selector_of_other_shapes_in_each_run(tf, flow, k, runs):
    x = tf.placeholder(tf.float32, [None])
    y = flow.merge([flow.switch(x, tf.equal(k, c))[1][c:] for c in range(4)])[0]
    z = tf.reshape(y, [-1, 1]) * tf.cast(tf.size(y), tf.float32)
    return [(f, {**feed, x: np.arange(i + 4.0)}) for i, (f, feed) in enumerate(runs(z, (2, 0, 3, 1, 2, 2, 0, 3)))]


@by_number
def queues_and_a_selector(tf, flow, k, runs):
    first, second = tf.FIFOQueue(40, tf.int32, [[]]), tf.FIFOQueue(40, tf.float32, [[]])
    fill = first.enqueue_many([tf.range(12)])
    item = first.dequeue()
    x = tf.cast(item, tf.float32)
    y = flow.merge([flow.switch(x, tf.equal(item % 4, c))[1] * 10.0 + c for c in range(4)])[0]
    y.set_shape([])
    step = second.enqueue([y + tf.cast(k, tf.float32)])
    return [(fill, {}), *[s for run in runs(step) for s in (run, (second.dequeue(), {}))]]


@by_number
def switch_case_in_a_function(tf, flow, k, runs):
    @tf.function(autograph=False)
    def chosen(k):
        return tf.switch_case(k, [lambda: tf.constant(1.0), lambda: tf.constant(2.0), lambda: tf.constant(3.0)]) * 10.0

    return runs(chosen(k))


@by_number
def update_behind_a_dead_index(tf, flow, k, runs):
    v = tf.get_variable("v", [], initializer=tf.zeros_initializer(), use_resource=True)
    with tf.control_dependencies([n_ways(tf, flow, k, tf.constant(1.0), 3)[1]]):
        up = v.assign_add(1.0).op
    return [s for run in runs(up) for s in (run, (v, {}))]


@program
def selector_in_a_dataset(tf, flow):
    def mapped(i):
        return n_ways(tf, flow, tf.cast(i % 4, tf.int32), tf.cast(i, tf.float32))[0]

    data = tf.data.Dataset.range(8).map(mapped)
    return [(tf.compat.v1.data.make_one_shot_iterator(data).get_next(), {})] * 8


@program
def case_on_a_fed_string(tf, flow):
    name = tf.placeholder(tf.string, [])
    v = tf.get_variable("v", [], initializer=tf.zeros_initializer(), use_resource=True)
    added = tf.identity(v.assign_add(1.0))
    y = tf.case([(tf.equal(name, "a"), lambda: added * 10.0), (tf.equal(name, "b"), lambda: -added)], default=lambda: tf.constant(-2.0))
    return [s for n in ("a", "b", "c", "a") for s in ((y, {name: n}), (v, {}))]


@program
def fed_tensors_that_others_wait_for(tf, flow):
    k, c = tf.placeholder_with_default(0, []), tf.placeholder(tf.int32, [])
    queue = tf.FIFOQueue(20, tf.int32, [[]])
    item = queue.dequeue()
    middle = c + 5
    with tf.control_dependencies([k]):
        y = c * 10
    with tf.control_dependencies([middle]):
        z = middle + c * 2
    with tf.control_dependencies([item]):
        late = item + c
    return [
        (queue.enqueue_many([tf.range(10)]), {}),
        *[([y, k + 0, z, late], {k: 1 + i, c: i, middle: 100 + i, item: 50 + i}) for i in range(4)],
        *[([y, k + 0, z, late], {c: i}) for i in range(2)],
    ]


@program
def dropout_in_two_towers(tf, flow):
    training = tf.placeholder(tf.bool, [])
    x = tf.placeholder(tf.float32, [4, 3])
    losses = []
    for i in range(2):
        with tf.variable_scope("net", reuse=bool(i), use_resource=True):
            h = tf.layers.dense(x[2 * i : 2 * i + 2], 2, kernel_initializer=tf.ones_initializer())
            h = tf.layers.dropout(h, 0.5, training=training, seed=7)
            losses.append(tf.reduce_mean(h))
    total = tf.add_n(losses) / 2.0
    grads = tf.gradients(total, tf.trainable_variables())
    feed = np.arange(12.0).reshape(4, 3)
    return [([total, *grads], {x: feed, training: value}) for value in PATTERN]
