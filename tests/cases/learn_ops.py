"""tf.contrib.learn: ops and models."""

import numpy as np

from cases.table import F32, Table

TABLE = Table("learn_ops")
case, error_case = TABLE.case, TABLE.error_case
SETTINGS = dict(seed=4, rtol=1e-4, atol=1e-5, reason="sums in another order", partial=False)
ONE_HOT = np.eye(3, dtype=np.float32)[[0, 2, 1, 1]]
X, Y, STEPS = F32(4, 5), F32(4), F32(2, 3, 4)


def learn(tf, name):
    return getattr(tf.contrib.learn.ops, name)


def model(tf, name):
    return getattr(tf.contrib.learn.models, name)


case("embedding_lookup", lambda tf, p: learn(tf, "embedding_lookup")(p, [[1, 0], [3, 2]]), p=F32(4, 3))
case("categorical_variable", lambda tf, x: learn(tf, "categorical_variable")(x, 4, 3, "my"), **dict(SETTINGS, x=np.array([[0, 3], [1, 1]], np.int32)))
case("regressor", lambda tf, x, y, w, b: learn(tf, "mean_squared_error_regressor")(x, y, w, b), **dict(SETTINGS, x=X, y=Y, w=F32(5, 1), b=F32(1)))
for _name, _weight in (("plain", None), ("weighted", [1.0, 2.0, 0.5])):
    case(
        "classifier_" + _name, lambda tf, x, y, w, b, c=_weight: learn(tf, "softmax_classifier")(x, y, w, b, c),
        **dict(SETTINGS, x=X, y=ONE_HOT, w=F32(5, 3), b=F32(3))
    )  # fmt: skip
case(
    "sequence_classifier", lambda tf, x: learn(tf, "sequence_classifier")([x, x * 2.0], [tf.nn.softmax(x)] * 2),
    **dict(SETTINGS, x=X)
)  # fmt: skip
case("seq2seq_inputs", lambda tf, x, y: learn(tf, "seq2seq_inputs")(x, y, 3, 2), x=STEPS, y=F32(2, 2, 4), partial=False)


def square_decoder(tf, x):
    return learn(tf, "rnn_seq2seq")(tf.unstack(x, axis=1), tf.unstack(x, axis=1)[:2], tf.nn.rnn_cell.BasicRNNCell(4))


case("rnn_decoder", lambda tf, x: learn(tf, "rnn_decoder")(tf.unstack(x, axis=1), tf.zeros([2, 4]), tf.nn.rnn_cell.GRUCell(4)), **dict(SETTINGS, x=STEPS))
case("rnn_seq2seq", square_decoder, **dict(SETTINGS, x=STEPS))
for _name, _options in (("default", {}), ("normal", {"init_mean": 0.5}), ("constant", {"init_mean": 2.0, "init_stddev": 0.0})):
    case("linear_" + _name, lambda tf, x, y, o=_options: model(tf, "linear_regression")(x, y, **o), **dict(SETTINGS, x=X, y=Y))
    case("logistic_" + _name, lambda tf, x, y, o=_options: model(tf, "logistic_regression")(x, y, **o), **dict(SETTINGS, x=X, y=ONE_HOT))
case("linear_zero", lambda tf, x, y: model(tf, "linear_regression_zero_init")(x, y), **dict(SETTINGS, x=X, y=ONE_HOT))
case("logistic_zero", lambda tf, x, y: model(tf, "logistic_regression_zero_init")(x, y), **dict(SETTINGS, x=X, y=ONE_HOT))


def class_weight(tf, x, y):
    tf.constant([1.0, 2.0, 0.5], name="class_weight")
    return model(tf, "logistic_regression")(x, y)


case("logistic_class_weight", class_weight, **dict(SETTINGS, x=X, y=ONE_HOT))


def network(tf, x, cell="gru", layers=2, both=False, attention=None):
    build = model(tf, "get_rnn_model")(
        3, cell, layers, lambda t: tf.unstack(t, axis=1), both, lambda state, y: (state, y), None, None,
        attention, attention, attention,
    )  # fmt: skip
    return build(x, 1.0)


for _name, _options in (
    ("gru", {}), ("rnn", {"cell": "rnn", "layers": 1}), ("lstm", {"cell": "lstm", "layers": 1}), ("both", {"both": True}),
    ("attention", {"attention": 2, "layers": 1}),
):  # fmt: skip
    case("rnn_model_" + _name, lambda tf, x, o=_options: network(tf, x, **o)[0], **dict(SETTINGS, x=STEPS))
error_case("rnn_model_cell", lambda tf, x: network(tf, x, cell="other"), same_words=True, x=STEPS)
error_case("bidirectional_cell", lambda tf, x: model(tf, "bidirectional_rnn")(1, 2, [x]), same_words=True, x=X)
error_case(
    "bidirectional_inputs",
    lambda tf, x: model(tf, "bidirectional_rnn")(tf.nn.rnn_cell.GRUCell(2), tf.nn.rnn_cell.GRUCell(2), []), same_words=True, x=X,
)  # fmt: skip
