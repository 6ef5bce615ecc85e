"""Loops, branches and calls of functions made by Defun: `tensorflow.python.ops.functional_ops`."""

import importlib

import numpy as np

from cases.table import F32, Table

TABLE = Table("functional_ops")
case, error_case = TABLE.case, TABLE.error_case


def of(tf, real_module, name, own_module):
    """A name of TensorFlow's module, and of ours."""
    module = real_module if tf.__name__.startswith("tensorflow") else own_module
    return getattr(importlib.import_module(module), name)


def defun(tf, *types, **options):
    return of(tf, "tensorflow.python.framework.function", "Defun", "tfcompat._src.function.defun")(*types, **options)


def functional(tf, name):
    return of(tf, "tensorflow.python.ops.functional_ops", name, "tfcompat._src.function.functional_calls")


def double(tf, kind):
    return defun(tf, kind, func_name="Double")(lambda x: x * 2)


def minus_one(tf, kind):
    return defun(tf, kind, func_name="MinusOne")(lambda x: x - 1)


def branch(tf, predicate, x):
    return functional(tf, "If")(predicate, [x], double(tf, tf.float32), minus_one(tf, tf.float32))


for _name, _predicate in (
    ("true", True), ("zero", 0), ("number", 1.5), ("text", "x"), ("no_text", ""), ("vector", [0, 0]),
    ("empty", np.zeros([0], np.float32)),
):  # fmt: skip
    case("if_" + _name, lambda tf, x, p=_predicate: branch(tf, tf.constant(p), x), grad=False, x=F32(3))


def loop(tf, x, hostmem=None):
    below = defun(tf, tf.float32, func_name="Below")(lambda x: tf.reduce_sum(x) < 100.0)
    return functional(tf, "While")([x], below, double(tf, tf.float32), hostmem=hostmem)


case("while", loop, grad=False, partial=False, x=np.array([1.0, 2.0], np.float32))
case("while_host", lambda tf, x: loop(tf, x, [0]), grad=False, partial=False, x=np.array([1.0, 2.0], np.float32))


def loop_on_number(tf, x):
    count = defun(tf, tf.int32, func_name="Count")(lambda x: x)
    return functional(tf, "While")([x], count, minus_one(tf, tf.int32))


case("while_number", loop_on_number, x=np.array(5, np.int32))


def loop_with_capture(tf, x, k):
    below = defun(tf, tf.float32, func_name="Below")(lambda x: x < 100.0)
    times = defun(tf, tf.float32, func_name="Times")(lambda x: x * k)
    return functional(tf, "While")([x], below, times)


case("while_captures", loop_with_capture, grad=False, x=np.float32(1.5), k=np.float32(3))


def capturing_condition(tf, x, k):
    below = defun(tf, tf.float32, func_name="Below")(lambda x: x < k)
    return functional(tf, "While")([x], below, double(tf, tf.float32))


error_case("while_condition_captures", capturing_condition, x=np.float32(1), k=np.float32(3))
error_case(
    "while_signatures", lambda tf, x: functional(tf, "While")([x], double(tf, tf.float32), minus_one(tf, tf.int32)), x=np.int32(1)
)


def counted(tf, x, numbers, **options):
    body = defun(tf, tf.int32, tf.int32, func_name="Body")(lambda i, x: x + i)
    return functional(tf, "For")(*numbers, inputs=[x], body=body, **options)


for _numbers in ((0, 3, 1), (0, 10, 3), (10, 0, -3), (0, 0, 1)):
    for _rewritten in (None, True):
        case(
            "for_%d_%d_%d%s" % (_numbers + ("_rewritten" if _rewritten else "",)),
            lambda tf, x, n=_numbers, r=_rewritten: counted(tf, x, n, rewrite_with_while=r),
            run=lambda tf, session, outputs, feed: session.run(outputs, feed), x=np.array(1, np.int32),
        )  # fmt: skip
for _numbers in ((3, 0, 1), (0, 3, 0), (0, 3, -1)):
    error_case("for_%d_%d_%d" % _numbers, lambda tf, x, n=_numbers: counted(tf, x, n), x=np.array(1, np.int32))


def counted_with_capture(tf, x, k, **options):
    body = defun(tf, tf.int32, tf.float32, func_name="Body")(lambda i, x: x * k)
    return functional(tf, "For")(0, 3, 1, [x], body, **options)


case("for_captures", counted_with_capture, grad=False, x=np.float32(1.5), k=np.float32(2))


case("remote_call", lambda tf, x: tf.raw_ops.RemoteCall(target="/cpu:0", args=[x], Tout=[tf.float32], f=double(tf, tf.float32)), grad=False, x=F32(2))
case(
    "gradient",
    lambda tf, x: functional(tf, "Gradient")([x, x, tf.ones_like(x)], defun(tf, tf.float32, tf.float32, func_name="Product")(lambda x, y: x * y)),
    grad=False, x=F32(2),
)  # fmt: skip
