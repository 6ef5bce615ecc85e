"""How often a tf.function calls its Python function, what each call gives and what it raises: those of TensorFlow 1.15.5."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.eager.mode import eager_mode

VECTOR, ANY = (tf.TensorSpec(sizes, tf.float32) for sizes in ([2], [None]))
X, Y, ROW = [1.0, 2.0], [3.0, 4.0, 5.0], [[1.0, 2.0]]
DOUBLE_X, DOUBLE_Y = [2.0, 4.0], [6.0, 8.0, 10.0]
MISFIT = (ValueError, "^Python inputs incompatible with input_signature:\n  inputs: ")
LATE = (ValueError, "Creating variables on a non-first call to a function decorated with tf.function")
REFUSED = (ValueError, "tf.function-decorated function tried to create variables on non-first call")


class Body:
    """A function that counts its calls, and makes a variable in those `makes` says: with 2.0, or its argument."""

    def __init__(self, makes=lambda body: not body.variables, of_argument=False):
        self.calls, self.variables, self.makes, self.of_argument = 0, [], makes, of_argument

    def __call__(self, a):
        self.calls += 1
        if self.makes(self):
            self.variables.append(tf.Variable(a if self.of_argument else 2.0))
        return a * self.variables[0] if self.variables else a * 2.0


def never(body):
    return False


def results(function, arguments):
    for each in arguments:
        try:
            yield function(*(tf.constant(v) for v in each)).numpy().tolist()
        except (TypeError, ValueError) as e:
            yield e


# the body, the signature, the arguments of calls, what they give or raise, how often the body is called
CASES = {
    "no_variable": (Body(never), None, [[X], [X], [Y]], [DOUBLE_X, DOUBLE_X, DOUBLE_Y], 2),
    "a_variable": (Body(), None, [[X], [X]], [DOUBLE_X] * 2, 2),
    "a_variable_and_two_shapes": (Body(), None, [[X], [Y], [X]], [DOUBLE_X, DOUBLE_Y, DOUBLE_X], 3),
    "a_variable_in_each_call": (Body(lambda body: True), None, [[X], [X]], [REFUSED] * 2, 3),
    "a_variable_in_the_second_trace": (
        Body(lambda body: body.calls > 1 and not body.variables), None, [[X], [Y], [X]], [DOUBLE_X, LATE, DOUBLE_X], 3,
    ),
    "signature": (Body(never), [VECTOR], [[X], [Y], [X]], [DOUBLE_X, MISFIT, DOUBLE_X], 1),
    "misfit_first": (Body(never), [VECTOR], [[Y]], [MISFIT], 1),
    "other_dtype": (Body(never), [VECTOR], [[[1, 2]]], [MISFIT], 1),
    "more_arguments": (
        Body(never), [VECTOR], [[X, X]],
        [(TypeError, r"When input_signature is provided, only pass arguments covered by it. Received 2 argument\(s\).")], 1,
    ),
    "fewer_arguments": (
        Body(never), [VECTOR], [[]],
        [(ValueError, r"Structure of Python function inputs does not match input_signature:\n  inputs: \(\n    \)\n  input_signature: ")], 1,
    ),
    "signature_and_a_variable": (Body(), [ANY], [[X], [Y], [ROW]], [DOUBLE_X, DOUBLE_Y, MISFIT], 2),
    "misfit_first_and_a_variable": (Body(), [ANY], [[ROW], [Y], [ROW]], [MISFIT, DOUBLE_Y, MISFIT], 2),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_calls(name):
    body, signature, arguments, wanted, calls = CASES[name]
    with eager_mode():
        found = list(results(tf.function(lambda *a: body(*a) if a else body(None), input_signature=signature), arguments))
    for value, expected in zip(found, wanted, strict=True):
        if isinstance(expected, tuple):
            kind, text = expected
            with pytest.raises(kind, match=text):
                raise value
        else:
            np.testing.assert_array_equal(value, expected)
    assert body.calls == calls


def test_a_function_in_a_function_makes_its_variable_once():
    inner = Body()
    calls = []
    with eager_mode():
        called = tf.function(lambda a: inner(a))

        @tf.function
        def around(a):
            calls.append(a)
            return called(a) + called(a)

        found = [around(tf.constant(X)).numpy().tolist() for _ in range(2)] + [called(tf.constant(X)).numpy().tolist()]
    assert found == [[4.0, 8.0]] * 2 + [DOUBLE_X]
    assert (len(calls), inner.calls) == (1, 3)


def test_equal_python_values_share_a_trace():
    body = Body(never)
    with eager_mode():
        function = tf.function(lambda a: body(tf.constant(X)) * a)
        found = [function(a).numpy().tolist() for a in (1, 1.0, True, 2, tf.constant(1.0), np.float32(1))]
    assert found == [DOUBLE_X] * 3 + [[4.0, 8.0]] + [DOUBLE_X] * 2
    assert body.calls == 3


def test_a_concrete_function_needs_two_traces_to_make_a_variable():
    body = Body()
    with eager_mode():
        concrete = tf.function(lambda a: body(a)).get_concrete_function(VECTOR)
        assert concrete(tf.constant(X)).numpy().tolist() == DOUBLE_X
    assert body.calls == 2
