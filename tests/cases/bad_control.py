"""Bad input of conditionals, loops, TensorArrays and functions over rows; the words that the message must have stand in `text`."""

import numpy as np

from cases.table import Table

TABLE = Table("bad_control")
error_case = TABLE.error_case


def fed(tf, value, dtype=None, shape=None):
    """A tensor of unknown rank; numbers have 32 bits."""
    array = np.asarray(value, dtype)
    kinds = {"i": np.int32, "f": np.float32}
    return tf.placeholder_with_default(array if dtype else array.astype(kinds.get(array.dtype.kind, array.dtype)), shape)


def vector(tf, *values):
    """A float32 vector of unknown static shape."""
    return fed(tf, values, np.float32)


def loop(tf, body, *start, **options):
    """while_loop over a counter that ends at three, and the variables of start."""
    return tf.while_loop(lambda i, *_: i < 3, lambda i, *v: [i + 1, body(*v)], [0] + list(start), **options)[1]


def inner(tf, make):
    """A tensor that stands inside a loop, seen from outside."""
    seen = []

    def body(x):
        seen.append(make(x))
        return x + 1.0

    loop(tf, body, 1.0)
    return seen[0]


def in_branch(tf, predicate):
    """A tensor that stands in the first branch of a conditional."""
    seen = []

    def branch():
        seen.append(tf.constant(1.0) * 2.0)
        return seen[0]

    tf.cond(fed(tf, predicate), branch, lambda: tf.constant(2.0))
    return seen[0]


def array(tf):
    return tf.TensorArray(tf.float32, 2)


def elsewhere(tf):
    with tf.Graph().as_default():
        return tf.constant(1.0)


def asserted(tf, i):
    with tf.control_dependencies([tf.Assert(i < 3, [i])]):
        return i + 1


def refuse(x):
    raise ValueError("x is refused")


def slope(tf, function):
    x = tf.constant(2.0)
    return tf.gradients(function(x), x)


# fmt: off
COND = {
    "predicate_python": lambda tf: tf.cond(True, lambda: 1, lambda: 2),
    "predicate_number": lambda tf: tf.cond(1, lambda: 1, lambda: 2),
    "predicate_float_tensor": lambda tf: tf.cond(tf.constant(1.0), lambda: 1, lambda: 2),
    "predicate_int_fed": lambda tf: tf.cond(fed(tf, 1), lambda: 1, lambda: 2),
    "predicate_string": lambda tf: tf.cond(fed(tf, b"x", object), lambda: 1, lambda: 2),
    "predicate_vector": lambda tf: tf.cond(tf.constant([True, False]), lambda: 1, lambda: 2),
    "predicate_vector_fed": lambda tf: tf.cond(fed(tf, [True, False]), lambda: tf.constant(1), lambda: tf.constant(2)),
    "predicate_none": lambda tf: tf.cond(None, lambda: 1, lambda: 2),
    "not_callable": lambda tf: tf.cond(fed(tf, True), 1, lambda: 2),
    "no_second": lambda tf: tf.cond(fed(tf, True), lambda: 1),
    "both_keywords": lambda tf: tf.cond(fed(tf, True), lambda: 1, lambda: 2, fn1=lambda: 3),
    "argument_wanted": lambda tf: tf.cond(fed(tf, True), lambda x: x, lambda: 2),
    "branch_none": lambda tf: tf.cond(fed(tf, True), lambda: None, lambda: 2),
    "branches_none": lambda tf: tf.cond(fed(tf, True), lambda: None, lambda: None),
    "dtypes": lambda tf: tf.cond(fed(tf, True), lambda: tf.constant(1), lambda: tf.constant(1.0)),
    "lengths": lambda tf: tf.cond(fed(tf, True), lambda: (1, 2), lambda: (1, 2, 3)),
    "structures": lambda tf: tf.cond(fed(tf, True), lambda: (1, [2]), lambda: ([1], 2)),
    "structure_types": lambda tf: tf.cond(fed(tf, True), lambda: (1, 2), lambda: [1, 2]),
    "keys": lambda tf: tf.cond(fed(tf, True), lambda: {"a": 1}, lambda: {"b": 1}),
    "one_and_list": lambda tf: tf.cond(fed(tf, True), lambda: tf.constant(1), lambda: [tf.constant(1), tf.constant(2)], strict=True),
    "object": lambda tf: tf.cond(fed(tf, True), lambda: object(), lambda: 1),
    "other_graph": lambda tf: tf.cond(fed(tf, True), lambda: elsewhere(tf), lambda: 1.0),
    "slices_and_dense": lambda tf: tf.cond(
        fed(tf, True), lambda: tf.IndexedSlices(tf.ones([1, 2]), tf.constant([0])), lambda: tf.ones([3, 2])
    ),
    "fetch_true_inside": lambda tf: in_branch(tf, False),
    "fetch_inside_feeds": lambda tf: in_branch(tf, False) + 1.0,
    "raises_inside": lambda tf: tf.cond(fed(tf, True), lambda: tf.reshape(vector(tf, 1.0, 2.0), [3]), lambda: tf.zeros([3])),
    "case_not_list": lambda tf: tf.case(3),
    "case_not_pairs": lambda tf: tf.case([fed(tf, True)]),
    "case_triple": lambda tf: tf.case([(fed(tf, True), lambda: 1, 2)]),
    "case_not_boolean": lambda tf: tf.case([(fed(tf, 1), lambda: 1)]),
    "case_not_callable": lambda tf: tf.case([(fed(tf, True), 1)]),
    "case_default_not_callable": lambda tf: tf.case([(fed(tf, True), lambda: 1)], default=3),
    "case_none_true": lambda tf: tf.case([(fed(tf, False), lambda: tf.constant(1)), (fed(tf, False), lambda: tf.constant(2))]),
    "case_two_true": lambda tf: tf.case(
        [(fed(tf, True), lambda: tf.constant(1)), (fed(tf, True), lambda: tf.constant(2))], lambda: tf.constant(3), exclusive=True
    ),
    "case_dtypes": lambda tf: tf.case([(fed(tf, True), lambda: tf.constant(1))], default=lambda: tf.constant(1.0)),
    "case_python_predicates": lambda tf: tf.case([(True, lambda: 1)]),
    "switch_case_keys": lambda tf: tf.switch_case(fed(tf, 1), {1: lambda: 1, 2: lambda: 2}),
    "switch_case_index": lambda tf: tf.switch_case(fed(tf, 1.0), [lambda: 1, lambda: 2]),
    "switch_case_python_index": lambda tf: tf.switch_case(1, [lambda: 1, lambda: 2]),
    "switch_case_not_callable": lambda tf: tf.switch_case(fed(tf, 1), [1, 2]),
    "switch_case_none": lambda tf: tf.switch_case(fed(tf, 1), []),
    "switch_case_repeated": lambda tf: tf.switch_case(fed(tf, 1), [(0, lambda: 1), (0, lambda: 2)]),
    "switch_case_vector": lambda tf: tf.switch_case(fed(tf, [0, 1]), [lambda: tf.constant(1), lambda: tf.constant(2)]),
    "switch_case_dtypes": lambda tf: tf.switch_case(fed(tf, 1), [lambda: tf.constant(1), lambda: tf.constant(2.0)]),
    "group_none": lambda tf: tf.group(3),
    "tuple_empty": lambda tf: tf.tuple([None]),
    "tuple_not_list": lambda tf: tf.tuple(fed(tf, 1.0)),
    "dependencies": lambda tf: tf.control_dependencies([3]).__enter__(),
    "merge_empty": lambda tf: tf.raw_ops.Merge(inputs=[]),
    "merge_types": lambda tf: tf.raw_ops.Merge(inputs=[tf.constant(1), tf.constant(1.0)]),
    "switch_predicate": lambda tf: tf.raw_ops.Switch(data=fed(tf, 1.0), pred=fed(tf, [True, False])).output_true,
    "merge_none_alive": lambda tf: tf.raw_ops.Merge(
        inputs=[tf.raw_ops.Switch(data=fed(tf, 1.0), pred=fed(tf, True)).output_false] * 2
    ).output,
    "assert_not_boolean": lambda tf: tf.Assert(fed(tf, 1.0), [fed(tf, 1)]),
    "abort": lambda tf: tf.raw_ops.Abort(error_msg=3),
    "smart_cond_callable": lambda tf: tf.contrib.framework.smart_cond(True, 1, 2),
    "smart_cond_predicate": lambda tf: tf.contrib.framework.smart_cond(3, lambda: 1, lambda: 2),
    "smart_case": lambda tf: tf.contrib.framework.smart_case([(3, lambda: 1)]),
}
LOOP = {
    "no_variables": lambda tf: tf.while_loop(lambda: True, lambda: [], []),
    "variables_none": lambda tf: tf.while_loop(lambda x: True, lambda x: x, None),
    "condition_not_callable": lambda tf: tf.while_loop(True, lambda i: i, [0]),
    "body_not_callable": lambda tf: tf.while_loop(lambda i: i < 3, 3, [0]),
    "parallel_iterations": lambda tf: tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0], parallel_iterations=0),
    "parallel_iterations_float": lambda tf: tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0], parallel_iterations=1.5),
    "condition_number": lambda tf: tf.while_loop(lambda i: i - 3, lambda i: i + 1, [0]),
    "condition_float": lambda tf: tf.while_loop(lambda i: tf.to_float(i), lambda i: i + 1, [0]),
    "condition_python_number": lambda tf: tf.while_loop(lambda i: 3, lambda i: i + 1, [0]),
    "condition_none": lambda tf: tf.while_loop(lambda i: None, lambda i: i + 1, [0]),
    "condition_vector": lambda tf: tf.while_loop(lambda i: tf.less([i], 3), lambda i: i + 1, [0]),
    "condition_vector_fed": lambda tf: tf.while_loop(lambda i: fed(tf, [True, False]), lambda i: i + 1, [0]),
    "condition_arguments": lambda tf: tf.while_loop(lambda: True, lambda i: i + 1, [0]),
    "body_arguments": lambda tf: tf.while_loop(lambda i: i < 3, lambda i, j: i + 1, [0]),
    "body_none": lambda tf: tf.while_loop(lambda i: i < 3, lambda i: None, [0]),
    "body_fewer": lambda tf: tf.while_loop(lambda i, j: i < 3, lambda i, j: i + 1, [0, 0]),
    "body_more": lambda tf: tf.while_loop(lambda i: i < 3, lambda i: (i + 1, i), [0]),
    "body_structure": lambda tf: tf.while_loop(lambda i, j: i < 3, lambda i, j: (i + 1, j[0]), (0, [1])),
    "body_keys": lambda tf: tf.while_loop(lambda d: d["a"] < 3, lambda d: {"b": d["a"]}, [{"a": 0}]),
    "body_dtype": lambda tf: loop(tf, tf.to_int32, 1.0),
    "body_dtype_python": lambda tf: tf.while_loop(lambda i: i < 3, lambda i: 1.5, [0]),
    "body_text": lambda tf: tf.while_loop(lambda i: i < 3, lambda i: "x", [0]),
    "body_slices_for_dense": lambda tf: loop(tf, lambda x: tf.IndexedSlices(x, tf.constant([0])), tf.ones([1, 2])),
    "shape": lambda tf: loop(tf, lambda x: tf.concat([x, x], 0), tf.ones([2])),
    "shape_rank": lambda tf: loop(tf, lambda x: x[None], tf.ones([2])),
    "shape_unknown": lambda tf: loop(tf, lambda x: tf.reshape(x, fed(tf, [2])), tf.ones([2])),
    "shape_from_scalar": lambda tf: loop(tf, lambda x: x + [1.0, 2.0], 1.0),
    "shape_broader": lambda tf: loop(tf, lambda x: x + vector(tf, 1.0, 2.0), tf.ones([1])),
    "invariant_less": lambda tf: loop(tf, lambda x: x, tf.ones([2]), shape_invariants=[tf.TensorShape([]), tf.TensorShape([3])]),
    "invariant_broken": lambda tf: loop(
        tf, lambda x: tf.concat([x, x], 1), tf.ones([2, 2]), shape_invariants=[tf.TensorShape([]), tf.TensorShape([None, 2])]
    ),
    "invariant_rank": lambda tf: loop(
        tf, lambda x: x, tf.ones([2, 2]), shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])]
    ),
    "invariant_count": lambda tf: loop(tf, lambda x: x, tf.ones([2]), shape_invariants=[tf.TensorShape([])]),
    "invariant_type": lambda tf: loop(tf, lambda x: x, tf.ones([2]), shape_invariants=[3, 4]),
    "invariant_array": lambda tf: loop(
        tf, lambda a: a, array(tf), shape_invariants=[tf.TensorShape([]), tf.TensorShape([2, 3])]
    ),
    "maximum_vector": lambda tf: loop(tf, lambda x: x, 1.0, maximum_iterations=[1, 2]),
    "maximum_text": lambda tf: loop(tf, lambda x: x, 1.0, maximum_iterations="two"),
    "maximum_vector_fed": lambda tf: loop(tf, lambda x: x, 1.0, maximum_iterations=fed(tf, [1, 2])),
    "maximum_float_fed": lambda tf: loop(tf, lambda x: x, 1.0, maximum_iterations=fed(tf, 2.5)),
    "fetch_inside": lambda tf: inner(tf, lambda x: x * 2.0),
    "use_inside": lambda tf: inner(tf, lambda x: x * 2.0) + 1.0,
    "use_inside_in_cond": lambda tf: tf.cond(fed(tf, True), lambda: inner(tf, lambda x: x * 2.0) + 1.0, lambda: 1.0),
    "use_inside_other_loop": lambda tf: loop(tf, lambda x, seen=inner(tf, lambda x: x * 2.0): x + seen, 1.0),
    "return_of_other_loop": lambda tf: loop(tf, lambda x, seen=inner(tf, lambda x: x * 2.0): seen, 1.0),
    "start_inside": lambda tf: loop(tf, lambda x: x, inner(tf, lambda x: x * 2.0)),
    "feed_inside": lambda tf: inner(tf, lambda x: x * 2.0),
    "raises_inside": lambda tf: loop(tf, lambda x: tf.reshape(vector(tf, 1.0, 2.0), [3]), tf.ones([3])),
    "divides_inside": lambda tf: loop(tf, lambda x: x // fed(tf, 0), 1),
    "gather_inside": lambda tf: tf.while_loop(
        lambda i, s: i < 5, lambda i, s: (i + 1, s + tf.gather(fed(tf, [1.0, 2.0], shape=[None]), i)), [0, 0.0]
    ),
    "assert_inside": lambda tf: tf.while_loop(lambda i: i < 5, lambda i: asserted(tf, i), [0]),
    "py_func_inside": lambda tf: loop(tf, lambda x: tf.reshape(tf.py_func(refuse, [x], tf.float32), []), 1.0),
    "py_func_shape_inside": lambda tf: loop(
        tf, lambda x: tf.py_func(lambda y: np.ones([4], np.float32), [x], tf.float32), vector(tf, 1.0)
    ) + vector(tf, 1.0, 2.0),
    "placeholder_inside": lambda tf: loop(tf, lambda x: x + tf.placeholder(tf.float32, []), 1.0),
    "uninitialized_inside": lambda tf: loop(
        tf, lambda x, v=tf.Variable(1.0, collections=[], use_resource=True): x + v, 1.0
    ),
    "variable_inside": lambda tf: loop(tf, lambda x: x + tf.Variable(x), 1.0),
    "get_variable_inside": lambda tf: loop(tf, lambda x: x + tf.get_variable("v", initializer=x), 1.0),
    "nested_shape": lambda tf: loop(tf, lambda x: loop(tf, lambda y: tf.concat([y, y], 0), x), tf.ones([2])),
}
# fmt: on

OWN_WORDS = {"cond_predicate_number", "cond_slices_and_dense", "cond_case_default_not_callable", "loop_py_func_shape_inside"}
"""Rows whose message is worded otherwise, and says the same."""


for _family, _rows in (("cond", COND), ("loop", LOOP)):
    for _name, _build in _rows.items():
        error_case(_family + "_" + _name, _build, same_words=_family + "_" + _name not in OWN_WORDS)
