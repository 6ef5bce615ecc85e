"""Programs of constants, each in a child process: the compiler must not compute them while it compiles, where that ends the process."""

import children
import pytest

BEGIN = "import numpy as np, tfcompat as tf\n"


def run(program):
    """What a program prints, and how its process ended."""
    found = children.warm("-c", BEGIN + program)
    return found.stdout.split(), (found.returncode, found.stderr[-500:] if found.returncode else "")


def test_reduction_of_a_constant_times_zeros():
    program = """
x = tf.constant(np.arange(12, dtype=np.float32).reshape(3, 4) - 5)
with tf.Session() as session:
    print(session.run(tf.reduce_max(tf.nn.relu(x), 1) * tf.zeros([3])).tolist() == [0, 0, 0])
"""
    assert run(program) == (["True"], (0, ""))


@pytest.mark.parametrize(("dtype", "index", "dims"), [
    ("tf.int32", "[-1]", "[65536, 65536]"), ("tf.int32", "5", "[65536, 65536]"), ("tf.int64", "[3]", "[2 ** 32, 2 ** 32, 3]"),
])  # fmt: skip
def test_unravelled_index_in_a_shape_that_overflows(dtype, index, dims):
    """1.15.5 divides by zero, and dies."""
    program = f"""
with tf.Session() as session:
    try:
        session.run(tf.unravel_index(tf.constant({index}, {dtype}), tf.constant({dims}, {dtype})))
    except tf.errors.InvalidArgumentError:
        print("refused")
"""
    assert run(program) == (["refused"], (0, ""))


@pytest.mark.parametrize("size", [10**5, 2**31 - 1])
@pytest.mark.parametrize("kind", ["max", "avg"])
def test_pooling_by_windows_far_larger_than_the_input(kind, size):
    """1.15.5: each window holds the whole input; so do the gradients of each, which the windows share out."""
    program = f"""
x = tf.constant(np.arange(16, dtype=np.float32).reshape(1, 4, 4, 1))
y = tf.nn.{kind}_pool(x, [1, {size}, {size}, 1], [1, 1, 1, 1], "SAME")
with tf.Session() as session:
    pooled, gradient = session.run([y, tf.gradients(y, x)[0]])
print(*set(pooled.ravel().tolist()), gradient.shape, *sorted(set(gradient.ravel().tolist())), sep=" ")
"""
    expected = {"max": "15.0 (1, 4, 4, 1) 0.0 16.0", "avg": "7.5 (1, 4, 4, 1) 1.0"}[kind]
    assert run(program) == (expected.split(), (0, ""))


@pytest.mark.parametrize("literals", ["tf.constant([1, 2, -2 ** 31]), tf.constant([0, 3, -1])", "tf.ones([300, 100], tf.int32), tf.zeros([300, 100], tf.int32)"])
@pytest.mark.parametrize("name", ["FloorDiv", "FloorMod", "TruncateDiv", "TruncateMod"])
def test_division_of_constants_by_zero(name, literals):
    program = f"""
with tf.Session() as session:
    try:
        session.run(tf.raw_ops.{name}(**dict(zip("xy", ({literals})))))
    except tf.errors.InvalidArgumentError as e:
        print(e.message.split("\\n")[0] == "Integer division by zero")
"""
    assert run(program) == (["True"], (0, ""))
