"""tf.contrib.legacy_seq2seq: encoders and decoders over lists of tensors."""

import numpy as np

from cases.table import F32, I32, Table

TABLE = Table("legacy_seq2seq")
case, error_case = TABLE.case, TABLE.error_case


def initialized(tf, session, outputs, feed):
    session.run(tf.global_variables_initializer())
    return session.run(outputs, feed)


MODEL = dict(run=initialized, seed=3, partial=False, rtol=2e-5, atol=2e-6, reason="sums of products in another order")
VECTORS = dict(x=F32(2, 3, 4), y=F32(2, 3, 4))
SYMBOLS = dict(x=I32(2, 3, low=0, high=5), y=I32(2, 3, low=0, high=5))


def model(name, **options):
    """Outputs and last state of a model over two lists of two steps."""

    def build(tf, x, y, fed=None):
        given = dict(options)
        if fed is not None:
            given["feed_previous"] = fed
        cell = tf.nn.rnn_cell.GRUCell(4)
        outputs, state = getattr(tf.contrib.legacy_seq2seq, name)(tf.unstack(x), tf.unstack(y), cell, **given)
        return list(outputs) + [state]

    return build


case("basic", model("basic_rnn_seq2seq"), **dict(MODEL, **VECTORS))
case("tied", model("tied_rnn_seq2seq"), **dict(MODEL, **VECTORS))
for _name, _options in (
    ("embedding_rnn_seq2seq", dict(num_encoder_symbols=5, num_decoder_symbols=6, embedding_size=3)),
    ("embedding_tied_rnn_seq2seq", dict(num_symbols=5, embedding_size=3)),
    ("embedding_attention_seq2seq", dict(num_encoder_symbols=5, num_decoder_symbols=6, embedding_size=3, num_heads=2)),
):
    case(_name, model(_name, **_options), **dict(MODEL, **SYMBOLS))
    case(_name + "_fed", model(_name, feed_previous=True, **_options), **dict(MODEL, **SYMBOLS))
    case(_name + "_chosen", model(_name, **_options), fed=np.array(True), **dict(MODEL, **SYMBOLS))
case("attention_initial", model("embedding_attention_seq2seq", num_encoder_symbols=5, num_decoder_symbols=6, embedding_size=3,
     initial_state_attention=True), **dict(MODEL, **SYMBOLS))  # fmt: skip


def projected(tf, x, y):
    """A decoder whose outputs are projected only where they are fed back."""
    projection = (tf.get_variable("weights", [4, 5]), tf.get_variable("biases", [5]))
    return model("embedding_rnn_seq2seq", num_encoder_symbols=5, num_decoder_symbols=5, embedding_size=3, feed_previous=True,
                 output_projection=projection)(tf, x, y)  # fmt: skip


def several(tf, x, y):
    cells = {"a": tf.nn.rnn_cell.GRUCell(4), "b": tf.nn.rnn_cell.GRUCell(4)}
    inputs = {"a": tf.unstack(y), "b": tf.unstack(y)[:1]}
    outputs, states = tf.contrib.legacy_seq2seq.one2many_rnn_seq2seq(
        tf.unstack(x), inputs, tf.nn.rnn_cell.GRUCell(4), cells, 5, {"a": 5, "b": 6}, embedding_size=3
    )
    return outputs["a"] + outputs["b"] + [states["a"], states["b"]]


def buckets(tf, x, y):
    def seq2seq(sources, targets):
        return tf.contrib.legacy_seq2seq.embedding_rnn_seq2seq(
            sources, targets, tf.nn.rnn_cell.GRUCell(4), 5, 5, embedding_size=3
        )

    targets, weights = tf.unstack(y), [tf.ones([3]), tf.constant([1.0, 0.0, 1.0])]
    outputs, losses = tf.contrib.legacy_seq2seq.model_with_buckets(
        tf.unstack(x), targets, targets, weights, [(1, 1), (2, 2)], seq2seq
    )
    return [outputs[0], outputs[1], losses]


case("projected", projected, **dict(MODEL, **SYMBOLS))
case("one_to_many", several, **dict(MODEL, **SYMBOLS))
case("buckets", buckets, **dict(MODEL, **SYMBOLS))
for _average in (True, False):
    case(
        "loss_%s" % _average,
        lambda tf, x, y, average=_average: tf.contrib.legacy_seq2seq.sequence_loss(
            tf.unstack(x), tf.unstack(y), [tf.ones([3]), tf.constant([1.0, 0.0, 1.0])], average, average
        ),
        x=F32(2, 3, 5),
        y=I32(2, 3, low=0, high=5),
        partial=False,
    )
error_case("loss_lengths", lambda tf, x: tf.contrib.legacy_seq2seq.sequence_loss([x], [x, x], [x]), x=F32(3, 5))
error_case("no_inputs", lambda tf, x: tf.contrib.legacy_seq2seq.attention_decoder([], x, x, tf.nn.rnn_cell.GRUCell(4)), x=F32(3, 5))
error_case("no_heads", lambda tf, x: tf.contrib.legacy_seq2seq.attention_decoder([x], x, x, tf.nn.rnn_cell.GRUCell(4), num_heads=0), x=F32(3, 5))
