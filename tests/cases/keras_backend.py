"""tf.keras.backend: values, gradients and node lists."""

import numpy as np

from cases.table import BOOL, F32, I32, Table

TABLE = Table("keras_backend")
case, error_case = TABLE.case, TABLE.error_case
LOOSE = dict(rtol=1e-5, atol=1e-6, reason="sums have another order")
IMAGE = F32(2, 5, 5, 2)


def backend(name, compute, **options):
    """A case that calls `compute(tf.keras.backend, *inputs)`."""
    case(name, lambda tf, *args, **kwargs: compute(tf.keras.backend, *args, **kwargs), **options)


for reduction in ("max", "min", "sum", "prod", "mean", "var", "std"):
    backend(reduction, lambda k, x, r=reduction: getattr(k, r)(x, axis=-1, keepdims=True), x=F32(3, 4), **LOOSE)
for reduction in ("any", "all"):
    backend(reduction, lambda k, x, r=reduction: getattr(k, r)(x, axis=0), x=BOOL(3, 4))
for function in ("square", "abs", "exp", "round", "sign", "sin", "cos", "sqrt", "softplus", "softsign", "hard_sigmoid"):
    backend(function, lambda k, x, f=function: getattr(k, f)(x), x=F32(3, 4), grad=function != "sqrt", **LOOSE)
backend("clip", lambda k, x: k.clip(x, 1.0, -1.0), x=F32(3, 4))
backend("relu", lambda k, x: [k.relu(x, 0.1, 1.0, 0.5), k.relu(x, max_value=6), k.relu(x, 0.2)], x=F32(3, 4))
backend("elu", lambda k, x: k.elu(x, 0.5), x=F32(3, 4), **LOOSE)
backend("dot", lambda k, x, y: k.dot(x, y), x=F32(2, 3, 4), y=F32(5, 4, 6), **LOOSE)
backend("batch_dot", lambda k, x, y: k.batch_dot(x, y, axes=(2, 1)), x=F32(2, 3, 4), y=F32(2, 4, 5), **LOOSE)
backend("batch_dot_vectors", lambda k, x, y: k.batch_dot(x, y, axes=1), x=F32(2, 3), y=F32(2, 3), **LOOSE)
backend("batch_dot_ranks", lambda k, x, y: k.batch_dot(x, y, axes=(1, 1)), x=F32(2, 3, 4), y=F32(2, 3), **LOOSE)
backend("repeat_elements", lambda k, x: k.repeat_elements(x, 3, axis=1), x=F32(2, 3))
backend("repeat", lambda k, x: k.repeat(x, 3), x=F32(2, 3))
backend("batch_flatten", lambda k, x: k.batch_flatten(x), x=F32(2, 3, 4))
backend("resize_images", lambda k, x: k.resize_images(x, 2, 3, "channels_first", "bilinear"), x=IMAGE, **LOOSE)
backend("spatial_3d_padding", lambda k, x: k.spatial_3d_padding(x), x=F32(1, 2, 2, 2, 1))
backend("arange", lambda k: [k.arange(-3), k.arange(1, 7, 2, dtype="float32")])
backend("one_hot", lambda k, x: k.one_hot(x, 4), x=I32(3, low=0, high=4))
backend("switch", lambda k, c, x, y: k.switch(c, x, y), c=BOOL(3), x=F32(3, 4), y=F32(3, 4))
backend("in_train_phase", lambda k, x: k.in_train_phase(x, lambda: x * 2.0), x=F32(3))
backend("conv1d", lambda k, x, w: k.conv1d(x, w, padding="causal", dilation_rate=2), x=F32(2, 6, 3), w=F32(2, 3, 4), **LOOSE)
backend("pool2d", lambda k, x: k.pool2d(x, (2, 2), padding="same", pool_mode="avg"), x=IMAGE, **LOOSE)
backend("local_conv1d", lambda k, x, w: k.local_conv1d(x, w, (2,), (1,)), x=F32(2, 4, 3), w=F32(3, 6, 2), **LOOSE)
for shape in ((2,), (3, 4, 2)):
    for data_format in ("channels_last", "channels_first"):
        backend(
            "bias_add_%d_%s" % (len(shape), data_format),
            lambda k, x, b, f=data_format: k.bias_add(x, b, data_format=f),
            x=F32(2, 3, 4, 2) if data_format == "channels_last" else F32(2, 2, 3, 4), b=F32(*shape),
        )  # fmt: skip
backend("categorical_crossentropy", lambda k, x: k.categorical_crossentropy(k.softmax(x), k.softmax(-x)), x=F32(3, 4), **LOOSE)
backend(
    "sparse_categorical_crossentropy",
    lambda k, t, x: k.sparse_categorical_crossentropy(t, k.abs(x) + 0.1, axis=1),
    t=I32(2, 3, low=0, high=4), x=F32(2, 4, 3), **LOOSE
)  # fmt: skip
backend(
    "binary_crossentropy",
    lambda k, x: [k.binary_crossentropy(k.sigmoid(x), k.sigmoid(-x)), k.binary_crossentropy(k.sigmoid(x), k.abs(x) / 3.0)],
    x=F32(3, 4), **LOOSE
)  # fmt: skip
backend(
    "normalize_batch_in_training",
    lambda k, x: list(k.normalize_batch_in_training(x, None, None, [0, 1])),
    x=F32(2, 3, 4), rtol=1e-4, atol=1e-5, reason="sums have another order",
)  # fmt: skip
backend("ctc_decode", lambda k, x: k.ctc_decode(k.softmax(x), np.array([4, 3], "int32"))[0][0], x=F32(2, 4, 3), grad=False, partial=False)


def _step(k):
    return lambda x, states: (x + states[0], [x + 2.0 * states[0]])


def rnn(name, **options):
    """A case of a recurrence with sums."""
    backend(
        name, lambda k, x, s: list(k.rnn(_step(k), x, [s], **options)[:2]), x=F32(2, 4, 3), s=F32(2, 3), partial=False,
        **LOOSE
    )  # fmt: skip


MASK = np.array([[True, False, True, True], [False, True, True, False]])
rnn("rnn")
rnn("rnn_backwards", go_backwards=True)
rnn("rnn_unrolled", unroll=True)
backend(
    "rnn_masked",
    lambda k, x, s: list(k.rnn(_step(k), x, [s], mask=k.constant(MASK, dtype="bool"))[:2]),
    x=F32(2, 4, 3), s=F32(2, 3), partial=False, **LOOSE
)  # fmt: skip
error_case("rnn_rank", lambda tf, x: tf.keras.backend.rnn(_step(tf.keras.backend), x, [x])[0], x=F32(2, 3))
error_case("pool2d_mode", lambda tf, x: tf.keras.backend.pool2d(x, (2, 2), pool_mode="median"), x=IMAGE)
error_case("learning_phase", lambda tf, x: tf.keras.backend.set_learning_phase(2), x=F32(2))
