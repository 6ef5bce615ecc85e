"""Uses sessions, statuses and nodes by TensorFlow 1.15's C interface; what it prints is the same under both."""

import tensorflow as tf
from tensorflow.python import pywrap_tensorflow as p
from tensorflow.python.framework import c_api_util, errors, ops


def t(f):
    try:
        print(repr(f()))
    except (tf.errors.OpError, TypeError, ValueError) as e:
        print(type(e).__name__, str(e).split(" using ")[0].split(" of type")[0])


opts = p.TF_NewSessionOptions()
g = ops.get_default_graph()
s = p.TF_NewSession(g._c_graph, opts)
devices = p.TF_SessionListDevices(s)
n = p.TF_DeviceListCount(devices)
print(n >= 1, p.TF_DeviceListName(devices, 0), p.TF_DeviceListType(devices, 0), p.TF_DeviceListMemoryBytes(devices, 0) > 0)
for f in (p.TF_DeviceListName, p.TF_DeviceListType, p.TF_DeviceListMemoryBytes, p.TF_DeviceListIncarnation):
    t(lambda f=f: f(devices, n))
    t(lambda f=f: f(devices, -1))
p.TF_DeleteDeviceList(devices)
t(lambda: p.TF_CloseSession(s))
t(lambda: p.TF_CloseSession(s))
t(lambda: p.TF_DeleteSession(s))
t(lambda: p.TF_NewSessionOptions(target="grpc://x:1", config=tf.compat.v1.ConfigProto()))
st = c_api_util.ScopedTFStatus()
print(p.TF_GetCode(st.status), repr(p.TF_Message(st.status)))
t(lambda: p.TF_SetStatus(st.status, 3, "bad"))
print(p.TF_GetCode(st.status), repr(p.TF_Message(st.status)))
a = tf.constant(3.0)
b = a * 2
ph = tf.compat.v1.placeholder(tf.float32)
t(lambda: p.TF_TryEvaluateConstant_wrapper(g._c_graph, b._as_tf_output()))
t(lambda: p.TF_TryEvaluateConstant_wrapper(g._c_graph, (ph + b)._as_tf_output()))
t(lambda: p.TF_TryEvaluateConstant_wrapper(g._c_graph, tf.random.uniform([])._as_tf_output()))
t(
    lambda: p.TF_TryEvaluateConstant_wrapper(
        g._c_graph, tf.shape(tf.compat.v1.placeholder(tf.float32, [2, 3]))._as_tf_output()
    )
)
t(lambda: p.TF_TryEvaluateConstant_wrapper(g._c_graph, tf.constant("a")._as_tf_output()))
with errors.raise_exception_on_not_ok_status() as status:
    print(p.TF_GetCode(status if not hasattr(status, "status") else status.status))


def bad():
    with errors.raise_exception_on_not_ok_status() as status:
        p.TF_SetStatus(status, 5, "gone") if not hasattr(status, "status") else p.TF_SetStatus(status.status, 5, "gone")


t(bad)
c = ops._create_c_op(g, ops._NodeDef("Add", "myop"), [a, b], [ph.op])
op = g._create_op_from_tf_operation(c)
print(
    op.name,
    op.type,
    [i.name for i in op.inputs],
    op.control_inputs[0].name,
    op.outputs,
    g.get_operation_by_name("myop") is op,
)
print(g._create_op_from_tf_operation(ops._create_c_op(g, ops._NodeDef("AddN", "mm"), [[a, b]], [])).name)
t(lambda: ops._create_c_op(g, ops._NodeDef("Add", "myop2"), [a], []))
