"""Small graphs of Switch and Merge, each run several times in one session with changing feeds.

A program is a function of (`tf`, `flow`, where `switch` and `merge` are) that returns its runs: pairs of fetches and feeds by tensor.
`record_branches.py` records what 1.15.5 gives, `test_branch_programs.py` compares.
"""


PROGRAMS = {}
PATTERN = [True, False, False, True, False, True]


def program(build):
    PROGRAMS[build.__name__] = build
    return build


def without_state(build):
    """Adds a program for each kind of predicate that changes no variable: whether another operation failed before is a race."""
    return by_kind(build, ("fed", "computed"))


def by_kind(build, kinds=("fed", "computed", "read")):
    """Adds a program for each kind of predicate: fed, and computed in the run from a feed or from a variable."""
    for kind in kinds:

        def named(tf, flow, kind=kind):
            on = tf.placeholder(tf.bool, [])
            if kind == "fed":
                return build(tf, flow, on, lambda fetches: [(fetches, {on: value}) for value in PATTERN])
            if kind == "computed":
                number = tf.placeholder_with_default(-1.0, [])
                return build(tf, flow, tf.less(0.0, number), lambda fetches: [(fetches, {number: 1.0 if v else -1.0}) for v in PATTERN])
            count = tf.get_variable("count", [], tf.int32, tf.zeros_initializer(), use_resource=True, trainable=False)
            number = tf.placeholder(tf.int32, [])
            there = count.assign_add(number, read_value=False)
            with tf.control_dependencies([there]):
                read = tf.identity(count.read_value())
            return build(tf, flow, tf.equal(read % 2, 1), lambda fetches: [(fetches, {number: int(v)}) for v in PATTERN])

        named.__name__ = f"{build.__name__}_{kind}"
        PROGRAMS[named.__name__] = named
    return build


def dataset(tf, n=100):
    return tf.compat.v1.data.make_one_shot_iterator(tf.data.Dataset.range(n)).get_next()
