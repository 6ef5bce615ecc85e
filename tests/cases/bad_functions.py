"""Bad input of conditionals and loops in functions, and of the nodes that run functions."""

from cases.bad_control import fed, vector
from cases.functional_ops import defun, functional
from cases.table import Table

TABLE = Table("bad_functions")
error_case = TABLE.error_case


def called(tf, body):
    """What a tf.function without arguments gives."""
    return tf.function(body)()


def loop(tf, body, *start, **options):
    """In a function: while_loop over a counter that ends at three, and the variables of start."""
    return called(tf, lambda: tf.while_loop(lambda i, *_: i < 3, lambda i, *v: [i + 1, body(*v)], [0] + [s() for s in start], **options)[1])


def branches(tf, first, second, predicate=True):
    """In a function: a conditional on a fed predicate."""
    predicate = fed(tf, predicate)
    return called(tf, lambda: tf.cond(predicate, first, second))


def inside(tf):
    """A tensor of the body of a loop in a function."""
    seen = []

    def body(x):
        seen.append(x * 2.0)
        return x

    loop(tf, body, lambda: 1.0)
    return seen[0]


# fmt: off
ROWS = {
    "cond_dtypes": lambda tf: branches(tf, lambda: tf.constant(1), lambda: tf.constant(1.0)),
    "cond_structures": lambda tf: branches(tf, lambda: (1, [2]), lambda: ([1], 2)),
    "cond_keys": lambda tf: branches(tf, lambda: {"a": 1}, lambda: {"b": 1}),
    "cond_predicate_bool": lambda tf: called(tf, lambda: tf.cond(True, lambda: 1, lambda: 2)),
    "cond_predicate_vector": lambda tf: branches(tf, lambda: tf.constant(1), lambda: tf.constant(2), [True, False]),
    "cond_object": lambda tf: branches(tf, lambda: object(), lambda: tf.constant(2)),
    "cond_not_callable": lambda tf: branches(tf, 3, lambda: 2),
    "cond_slices_and_dense": lambda tf: branches(
        tf, lambda: tf.IndexedSlices(tf.ones([1, 2]), tf.constant([0])), lambda: tf.ones([3, 2])
    ),
    "cond_raises_inside": lambda tf: branches(tf, lambda: tf.reshape(vector(tf, 1.0, 2.0), [3]), lambda: tf.zeros([3])),
    "switch_case_dtypes": lambda tf: called(
        tf, lambda: tf.switch_case(tf.constant(1), [lambda: tf.constant(1), lambda: tf.constant(2.0)])
    ),
    "loop_shape": lambda tf: loop(tf, lambda x: tf.concat([x, x], 0), lambda: tf.ones([2])),
    "loop_rank": lambda tf: loop(tf, lambda x: x[None], lambda: tf.ones([2])),
    "loop_dtype": lambda tf: loop(tf, tf.to_int32, lambda: tf.constant(1.0)),
    "loop_structure": lambda tf: loop(tf, lambda x: (x, x), lambda: tf.constant(1.0)),
    "loop_fewer": lambda tf: called(tf, lambda: tf.while_loop(lambda i, j: i < 3, lambda i, j: i + 1, [0, 0])),
    "loop_invariant_broken": lambda tf: loop(
        tf, lambda x: tf.concat([x, x], 1), lambda: tf.ones([2, 2]), shape_invariants=[tf.TensorShape([]), tf.TensorShape([None, 2])]
    ),
    "loop_maximum_vector": lambda tf: loop(tf, lambda x: x, lambda: tf.constant(1.0), maximum_iterations=[1, 2]),
    "loop_raises_inside": lambda tf: loop(tf, lambda x: tf.reshape(vector(tf, 1.0, 2.0), [3]), lambda: tf.ones([3])),
    "loop_fetch_inside": inside,
    "loop_use_inside": lambda tf: inside(tf) + 1.0,
    "array_read_past_end": lambda tf: called(tf, lambda: tf.TensorArray(tf.float32, 2).write(0, 1.0).read(fed(tf, 5))),
    "array_write_shape": lambda tf: called(tf, lambda: tf.TensorArray(tf.float32, 2).write(0, [1.0]).write(1, [1.0, 2.0]).stack()),
    "map_shapes": lambda tf: called(tf, lambda: tf.map_fn(lambda n: tf.zeros([n]), fed(tf, [1, 2]), dtype=tf.float32)),
    "if_inputs": lambda tf: functional(tf, "If")(
        fed(tf, True), [vector(tf, 1.0)] * 2, defun(tf, tf.float32, func_name="F5")(lambda x: x),
        defun(tf, tf.float32, func_name="F6")(lambda x: x),
    ),
    "if_input_types": lambda tf: functional(tf, "If")(
        fed(tf, True), [fed(tf, [1])], defun(tf, tf.float32, func_name="F7")(lambda x: x),
        defun(tf, tf.float32, func_name="F8")(lambda x: x),
    ),
    "while_lengths": lambda tf: functional(tf, "While")(
        [fed(tf, 1.0)], defun(tf, tf.float32, func_name="F9")(lambda x: x < 3.0),
        defun(tf, tf.float32, func_name="F10")(lambda x: (x, x)),
    ),
    "while_condition_lengths": lambda tf: functional(tf, "While")(
        [fed(tf, 1.0)], defun(tf, tf.float32, func_name="F11")(lambda x: (x < 3.0, x)),
        defun(tf, tf.float32, func_name="F12")(lambda x: x + 1.0),
    ),
    "while_condition_arguments": lambda tf: functional(tf, "While")(
        [fed(tf, 1.0)], defun(tf, tf.float32, tf.float32, func_name="F13")(lambda x, y: x < 3.0),
        defun(tf, tf.float32, func_name="F14")(lambda x: x + 1.0),
    ),
}
# fmt: on

for _name, _build in ROWS.items():
    error_case(_name, _build, same_words=_name.startswith(("if_", "while_")))
