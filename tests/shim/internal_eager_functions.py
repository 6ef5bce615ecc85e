"""Runs operations by the functions below TensorFlow 1.15's own; what it prints is the same under both."""

import tensorflow as tf
from tensorflow.python import pywrap_tensorflow as p
from tensorflow.python.eager import backprop, cancellation, context, core, execute
from tensorflow.python.ops import resource_variable_ops as rvo

tf.compat.v1.enable_eager_execution()
ctx = context.context()
ctx.ensure_initialized()
a = tf.constant([[1.0, 2.0], [3.0, 4.0]])


def t(f):
    try:
        r = f()
        print(
            type(r).__name__,
            [x.numpy().tolist() if hasattr(x, "numpy") else x for x in (r if isinstance(r, (list, tuple)) else [r])],
        )
    except (core._NotOkStatusException, core._FallbackException, tf.errors.OpError, TypeError, ValueError) as e:
        print(type(e).__name__, str(e).split("[Op:")[0].split("{{")[0].split("\n")[0][:140])


def F(*x):
    return p.TFE_Py_FastPathExecute(ctx._handle, ctx.device_name, *x)


t(lambda: F("MatMul", None, None, a, a, "transpose_a", True, "transpose_b", False))
t(lambda: F("AddN", None, None, [a, a]))
t(lambda: F("MatMul", None, None, a, [[1.0, 2.0], [3.0, 4.0]], "transpose_a", False))
t(lambda: F("Split", None, None, 0, a, "num_split", 2))
t(lambda: F("NoOp", None, None))
t(lambda: F("MatMul", None, None, a, tf.constant([[1.0], [2.0], [3.0]])))
t(lambda: F("MatMul", None, None, a))
t(lambda: F("IdentityN", None, None, [a, tf.constant(3)]))
t(lambda: F("Cast", None, None, a, "DstT", tf.int32))
t(lambda: F("Unique", None, None, tf.constant([1, 1, 2]), "out_idx", tf.int64))


def E(*x):
    return p.TFE_Py_Execute(ctx._handle, ctx.device_name, *x)


t(lambda: E("MatMul", [a, a], ("transpose_a", False, "transpose_b", False, "T", a.dtype.as_datatype_enum), 1))
t(lambda: E("AddN", [a, a], ("N", 2, "T", a.dtype.as_datatype_enum), 1))
t(lambda: E("MatMul", [a, tf.constant([[1.0], [2.0], [3.0]])], ("transpose_a", False, "transpose_b", False, "T", 1), 1))
t(lambda: execute.execute("Mul", 1, [a, a], ("T", a.dtype.as_datatype_enum), ctx))
t(lambda: execute.execute("Split", 2, [tf.constant(0), a], ("num_split", 2, "T", 1), ctx))
t(lambda: execute.execute("NoOp", 0, [], None, ctx))
t(lambda: execute.execute("Mul", 1, [a, tf.constant([1.0, 2.0, 3.0])], ("T", 1), ctx, name="nm"))
t(lambda: execute.execute("Mul", 1, [a, 3], ("T", 1), ctx))
for o, n in [
    ("MatMul", "transpose_a"),
    ("Cast", "SrcT"),
    ("Placeholder", "shape"),
    ("Const", "value"),
    ("IdentityN", "T"),
    ("If", "then_branch"),
    ("PrintV2", "output_stream"),
    ("Print", "message"),
    ("Bucketize", "boundaries"),
    ("ParseExample", "dense_shapes"),
    ("Conv2D", "strides"),
]:
    print(o, n, backprop.op_attr_type(o, n))
print(
    backprop.make_attr(p.TF_ATTR_TYPE, 1),
    backprop.make_attr([p.TF_ATTR_TYPE], [1, 3]),
    repr(backprop.make_attr(p.TF_ATTR_SHAPE, [1, None])),
    backprop.make_attr([p.TF_ATTR_SHAPE], [[2]]),
    backprop.make_attr(p.TF_ATTR_STRING, "x"),
    backprop.make_attr(p.TF_ATTR_INT, 5),
)
t(lambda: backprop.op_attr_type("MatMul", "zz"))
print(
    p.TF_ATTR_STRING,
    p.TF_ATTR_INT,
    p.TF_ATTR_FLOAT,
    p.TF_ATTR_BOOL,
    p.TF_ATTR_TYPE,
    p.TF_ATTR_SHAPE,
    p.TF_ATTR_TENSOR,
    p.TF_ATTR_PLACEHOLDER,
    p.TF_ATTR_FUNC,
)
t(lambda: p.TFE_Py_RegisterExceptionClass(3))
t(lambda: p.TFE_Py_RegisterExceptionClass(str))
t(lambda: p.TFE_Py_RegisterExceptionClass(core._NotOkStatusException))
t(lambda: p.TFE_Py_RegisterForwardGradientFunction(3))
t(lambda: backprop.aggregate_indexed_slices_gradients([]))
t(lambda: backprop.aggregate_indexed_slices_gradients([a]))
t(lambda: backprop.aggregate_indexed_slices_gradients([a, None, a]))
i1 = tf.IndexedSlices(a, tf.constant([0, 1]), tf.constant([3, 2]))
i2 = tf.IndexedSlices(a, tf.constant([1, 2], tf.int64), tf.constant([3, 2]))
r = backprop.aggregate_indexed_slices_gradients([i1, None, i2])
print(r.values.numpy().tolist(), r.indices.numpy().tolist(), r.indices.dtype)
v = tf.Variable([1.0, 2.0])
print(rvo.get_eager_safe_handle_data(v.handle))
m = cancellation.CancellationManager()
f = tf.function(lambda x: x * 2).get_concrete_function(tf.TensorSpec([], tf.float32))
g = m.get_cancelable_function(f)
t(lambda: g(tf.constant(3.0)))
print(m.is_cancelled)
m.start_cancel()
print(m.is_cancelled)
t(lambda: g(tf.constant(3.0)))
c = context._EagerTensorCache(max_items=2, max_tensor_size=3)
for k in range(3):
    c.put(k, tf.constant([k]))
c.put(9, tf.constant([1, 2, 3, 4]))
print(c.get(0), c.get(2).numpy(), c.get(9))
c.flush()
print(c.get(2))
for d in ("/job:localhost/replica:0/task:0/device:CPU:0", "/cpu:0", "/gpu:0", None, "", "CPU:0", "nonsense"):
    t(lambda: p.TFE_Py_FastPathExecute(ctx._handle, d, "Neg", None, None, a).device)
    t(lambda: p.TFE_Py_Execute(ctx._handle, d, "Neg", [a], ("T", 1), 1)[0].device)
