"""Bad input of recurrent networks, sequence decoders, CRF and CTC; numbers of time steps are fed, so that the run sees them."""

import numpy as np

from cases.bad_control import fed
from cases.table import Table

TABLE = Table("bad_sequences")
error_case = TABLE.error_case


def frames(tf, batch=2, steps=3, depth=4, rank=3):
    """Inputs of a network, zeros of unknown batch size and number of steps."""
    sizes = [batch, steps, depth][:rank]
    return fed(tf, np.zeros(sizes), np.float32, [None] * (rank - 1) + sizes[rank - 1 :])


def cell(tf, units=4):
    return tf.nn.rnn_cell.GRUCell(units)


def dynamic(tf, x=None, made=None, **options):
    """The outputs of a dynamic_rnn."""
    options.setdefault("dtype", tf.float32)
    return tf.nn.dynamic_rnn(made or cell(tf), frames(tf) if x is None else x, **options)[0]


def raw(tf, change):
    """A raw_rnn of two steps, whose loop function's result `change` replaces in part."""

    def step(time, output, state, loop_state):
        at_start = output is None
        found = {
            "finished": time >= tf.fill([2], 2), "input": tf.zeros([2, 3]), "state": tf.zeros([2, 4]) if at_start else state,
            "emit": None if at_start else output, "loop_state": None,
        }
        found.update(change(at_start))
        return tuple(found[k] for k in ("finished", "input", "state", "emit", "loop_state"))

    return tf.nn.raw_rnn(cell(tf), step)[0].stack()


def bidirectional(tf, **options):
    return tf.nn.bidirectional_dynamic_rnn(cell(tf), cell(tf), frames(tf), dtype=tf.float32, **options)[0]


def decoded(tf, helper, units=4, **options):
    """What a decoder on a helper gives."""
    seq = tf.contrib.seq2seq
    decoder = seq.BasicDecoder(cell(tf, units), helper, tf.zeros([2, units]))
    return seq.dynamic_decode(decoder, **options)[0].rnn_output


def training(tf, lengths, **options):
    return tf.contrib.seq2seq.TrainingHelper(frames(tf), lengths, **options)


def crf(tf, batch=2, steps=3, tags=3, indices=None, lengths=(3, 2), transitions=None):
    shape = [batch, steps, tags]
    indices = np.zeros([batch, steps], np.int32) if indices is None else np.array(indices, np.int32)
    return tf.contrib.crf.crf_log_likelihood(
        fed(tf, np.zeros(shape), np.float32, [None, None, tags]), fed(tf, indices, shape=[None, None]), fed(tf, list(lengths), shape=[None]),
        tf.zeros([tags, tags]) if transitions is None else transitions,
    )[0]  # fmt: skip


def sparse(tf, places=((0, 0), (1, 0)), values=(0, 1), shape=(2, 2)):
    return tf.SparseTensor(np.array(places, np.int64), fed(tf, list(values), shape=[None]), np.array(shape, np.int64))


def logits(tf, steps=4, batch=2, classes=3):
    return fed(tf, np.zeros([steps, batch, classes]), np.float32, [None, None, classes])


# fmt: off
NETWORKS = {
    "lengths_negative": lambda tf: dynamic(tf, sequence_length=fed(tf, [-1, 2])) + fed(tf, [1.0, 2.0]),
    "lengths_batch": lambda tf: dynamic(tf, sequence_length=fed(tf, [1, 2, 3])),
    "lengths_batch_static": lambda tf: dynamic(tf, tf.zeros([2, 3, 4]), sequence_length=[1, 2, 3]),
    "lengths_rank": lambda tf: dynamic(tf, sequence_length=[[1, 2]]),
    "lengths_scalar": lambda tf: dynamic(tf, sequence_length=2),
    "lengths_float": lambda tf: dynamic(tf, sequence_length="x"),
    "input_rank": lambda tf: dynamic(tf, frames(tf, rank=2)),
    "input_rank_one": lambda tf: dynamic(tf, frames(tf, rank=1)),
    "input_depth_unknown": lambda tf: dynamic(tf, fed(tf, np.zeros([2, 3, 4]), np.float32, [2, 3, None])),
    "input_dtype": lambda tf: dynamic(tf, fed(tf, np.zeros([2, 3, 4]), np.int32, [2, 3, 4])),
    "input_none": lambda tf: tf.nn.dynamic_rnn(cell(tf), None, dtype=tf.float32),
    "state_dtype": lambda tf: dynamic(tf, initial_state=tf.zeros([2, 4], tf.float64)),
    "state_batch": lambda tf: dynamic(tf, initial_state=tf.zeros([3, 4])),
    "state_batch_static": lambda tf: dynamic(tf, tf.zeros([2, 3, 4]), initial_state=tf.zeros([3, 4])),
    "state_depth": lambda tf: dynamic(tf, initial_state=tf.zeros([2, 5])),
    "state_structure": lambda tf: dynamic(tf, made=tf.nn.rnn_cell.LSTMCell(4), initial_state=tf.zeros([2, 4])),
    "state_list": lambda tf: dynamic(tf, made=tf.nn.rnn_cell.MultiRNNCell([cell(tf), cell(tf)]), initial_state=tf.zeros([2, 4])),
    "cell_type": lambda tf: dynamic(tf, made=tf.layers.Dense(3)),
    "cell_output_changes": lambda tf: dynamic(tf, made=Wrong(tf, lambda x, s: (tf.concat([x, x], 1), s))),
    "cell_state_changes": lambda tf: dynamic(tf, made=Wrong(tf, lambda x, s: (s, tf.concat([s, s], 1)))),
    "cell_state_structure_changes": lambda tf: dynamic(tf, made=Wrong(tf, lambda x, s: (s, (s, s)))),
    "cell_dtype_changes": lambda tf: dynamic(tf, made=Wrong(tf, lambda x, s: (s, tf.to_int32(s)))),
    "output_inside": lambda tf: dynamic(tf, made=Leaking(tf)) * LEAKED[-1],
    "bidirectional_cell": lambda tf: tf.nn.bidirectional_dynamic_rnn(3, cell(tf), frames(tf), dtype=tf.float32),
    "bidirectional_lengths": lambda tf: bidirectional(tf, sequence_length=fed(tf, [4, 2])),
    "bidirectional_lengths_batch": lambda tf: bidirectional(tf, sequence_length=fed(tf, [1, 2, 3], shape=[None])),
    "bidirectional_negative": lambda tf: bidirectional(tf, sequence_length=fed(tf, [-1, 2], shape=[None])),
    "bidirectional_no_dtype": lambda tf: tf.nn.bidirectional_dynamic_rnn(cell(tf), cell(tf), frames(tf)),
    "raw_not_callable": lambda tf: tf.nn.raw_rnn(cell(tf), 3),
    "raw_cell": lambda tf: tf.nn.raw_rnn(3, lambda *a: a),
    "raw_finished_dtype": lambda tf: raw(tf, lambda start: {"finished": tf.zeros([2])}),
    "raw_input_rank": lambda tf: raw(tf, lambda start: {"input": tf.zeros([3])}),
    "raw_input_unknown": lambda tf: raw(tf, lambda start: {"input": tf.placeholder(tf.float32, [2, None])}),
    "raw_emit_structure": lambda tf: raw(tf, lambda start: {} if start else {"emit": (tf.zeros([2, 4]), tf.zeros([2, 4]))}),
    "raw_state_structure": lambda tf: raw(tf, lambda start: {} if start else {"state": (tf.zeros([2, 4]), tf.zeros([2, 4]))}),
    "raw_state_shape": lambda tf: raw(tf, lambda start: {} if start else {"state": tf.zeros([2, 5])}),
    "raw_state_dtype": lambda tf: raw(tf, lambda start: {} if start else {"state": tf.zeros([2, 4], tf.int32)}),
    "raw_short_result": lambda tf: tf.nn.raw_rnn(cell(tf), lambda *a: (tf.constant([True]), tf.zeros([1, 3]))),
    "static_lengths": lambda tf: tf.nn.static_rnn(cell(tf), [tf.zeros([2, 3])] * 2, dtype=tf.float32, sequence_length=[1, 2, 3])[0],
    "static_lengths_rank": lambda tf: tf.nn.static_rnn(cell(tf), [tf.zeros([2, 3])], dtype=tf.float32, sequence_length=[[1]])[0],
    "static_state": lambda tf: tf.nn.static_rnn(cell(tf), [tf.zeros([2, 3])], initial_state=tf.zeros([3, 4]))[0],
    "static_depths": lambda tf: tf.nn.static_rnn(cell(tf), [tf.zeros([2, 3]), tf.zeros([2, 5])], dtype=tf.float32)[0],
    "static_depth_unknown": lambda tf: tf.nn.static_rnn(cell(tf), [tf.placeholder(tf.float32, [2, None])], dtype=tf.float32)[0],
    "static_bidirectional": lambda tf: tf.nn.static_bidirectional_rnn(cell(tf), cell(tf), [], dtype=tf.float32),
    "saving_state_names": lambda tf: tf.nn.static_state_saving_rnn(
        tf.nn.rnn_cell.LSTMCell(4), [tf.zeros([2, 3])], state_saver=None, state_name="c"
    ),
    "cell_input_rank": lambda tf: cell(tf)(tf.zeros([2, 3, 4]), tf.zeros([2, 4])),
    "cell_input_unknown": lambda tf: cell(tf)(tf.placeholder(tf.float32, [2, None]), tf.zeros([2, 4])),
    "cell_batches": lambda tf: cell(tf)(tf.zeros([2, 3]), tf.zeros([3, 4])),
    "cell_batches_fed": lambda tf: cell(tf)(frames(tf, rank=2, steps=3), fed(tf, np.zeros([3, 4]), np.float32, [None, 4]))[0],
    "cell_reuse": lambda tf: (tf.nn.rnn_cell.GRUCell(4, name="a")(tf.zeros([2, 3]), tf.zeros([2, 4])),
                              tf.nn.rnn_cell.GRUCell(4, reuse=True, name="b")(tf.zeros([2, 3]), tf.zeros([2, 4]))),
    "lstm_state": lambda tf: tf.nn.rnn_cell.BasicLSTMCell(4)(tf.zeros([2, 3]), tf.zeros([2, 4])),
    "lstm_projection": lambda tf: tf.nn.rnn_cell.LSTMCell(4, num_proj=3)(tf.zeros([2, 3]), (tf.zeros([2, 4]), tf.zeros([2, 4]))),
    "dropout_keep": lambda tf: tf.nn.rnn_cell.DropoutWrapper(cell(tf), input_keep_prob=1.5),
    "dropout_cell": lambda tf: tf.nn.rnn_cell.DropoutWrapper(3),
    "dropout_seed": lambda tf: tf.nn.rnn_cell.DropoutWrapper(cell(tf), variational_recurrent=True, input_keep_prob=0.5, dtype=tf.float32),
    "multi_not_list": lambda tf: tf.nn.rnn_cell.MultiRNNCell(cell(tf)),
    "multi_tuple_state": lambda tf: tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.LSTMCell(4)] * 2, state_is_tuple=False),
    "residual_depth": lambda tf: tf.nn.rnn_cell.ResidualWrapper(cell(tf, 5))(tf.zeros([2, 3]), tf.zeros([2, 5])),
    "zero_state_none": lambda tf: cell(tf).zero_state(None, tf.float32),
}
DECODERS = {
    "lengths": lambda tf: decoded(tf, training(tf, fed(tf, [5, 2], shape=[None]))),
    "maximum_negative": lambda tf: decoded(tf, training(tf, [3, 2]), maximum_iterations=fed(tf, -1, shape=[])) + fed(tf, [0.0, 1.0, 2.0]),
    "maximum_dtype": lambda tf: decoded(tf, training(tf, [3, 2]), maximum_iterations=2.5),
    "helper_type": lambda tf: tf.contrib.seq2seq.BasicDecoder(cell(tf), 3, tf.zeros([2, 4])),
    "layer_type": lambda tf: tf.contrib.seq2seq.BasicDecoder(cell(tf), training(tf, [3, 2]), tf.zeros([2, 4]), output_layer=3),
    "state_depth": lambda tf: tf.contrib.seq2seq.dynamic_decode(
        tf.contrib.seq2seq.BasicDecoder(cell(tf), training(tf, [3, 2]), tf.zeros([2, 5]))
    )[0].rnn_output,
    "start_token": lambda tf: decoded(tf, tf.contrib.seq2seq.GreedyEmbeddingHelper(tf.zeros([5, 4]), fed(tf, [9, 1], shape=[2]), 2), maximum_iterations=2),
    "attention_batch": lambda tf: attention(tf, memory=3),
    "attention_lengths": lambda tf: attention(tf, lengths=[1, 2, 3]),
    "attention_lengths_zero": lambda tf: attention(tf, lengths=[0, 0]) + fed(tf, [1.0, 2.0, 3.0]),
    "attention_state": lambda tf: attention(tf, state=tf.zeros([2, 4])),
    "beam_width": lambda tf: beams(tf, width=3, tiled=2),
    "beam_start": lambda tf: beams(tf, start=[[1, 1]]),
    "beam_vocabulary": lambda tf: beams(tf, start=[9, 1]),
    "gather_tree": lambda tf: tf.contrib.seq2seq.gather_tree(
        fed(tf, np.zeros([3, 2, 2]), np.int32), fed(tf, np.full([3, 2, 2], 5), np.int32), fed(tf, [3, 3]), 1
    ),
    "gather_tree_batch": lambda tf: tf.contrib.seq2seq.gather_tree(
        fed(tf, np.zeros([3, 2, 2]), np.int32), fed(tf, np.zeros([3, 2, 2]), np.int32), fed(tf, [3, 3, 3]), 1
    ),
    "loss_weights": lambda tf: tf.contrib.seq2seq.sequence_loss(
        fed(tf, np.zeros([2, 3, 4]), np.float32, [None, None, 4]), fed(tf, np.zeros([2, 3]), np.int32, [None, None]),
        fed(tf, np.zeros([2, 2]), np.float32, [None, None]),
    ),
    "loss_targets": lambda tf: tf.contrib.seq2seq.sequence_loss(
        fed(tf, np.zeros([2, 3, 4]), np.float32, [None, None, 4]), fed(tf, np.full([2, 3], 9), np.int32, [None, None]),
        fed(tf, np.ones([2, 3]), np.float32, [None, None]),
    ),
    "tile_scalar": lambda tf: tf.contrib.seq2seq.tile_batch(tf.constant(1.0), 2),
}
LABELS = {
    "crf_tag": lambda tf: crf(tf, indices=[[0, 9, 0], [0, 0, 0]]),
    "crf_lengths": lambda tf: crf(tf, lengths=[3, 2, 1]),
    "crf_steps": lambda tf: crf(tf, indices=[[0, 0], [0, 0]]),
    "crf_transitions": lambda tf: crf(tf, transitions=tf.zeros([4, 4])),
    "crf_viterbi": lambda tf: tf.contrib.crf.viterbi_decode(np.zeros([2, 3]), np.zeros([2, 2])),
    "ctc_lengths": lambda tf: tf.nn.ctc_loss(sparse(tf), logits(tf), fed(tf, [9, 4], shape=[None])),
    "ctc_lengths_negative": lambda tf: tf.nn.ctc_loss(sparse(tf), logits(tf), fed(tf, [-1, 4], shape=[None])),
    "ctc_lengths_batch": lambda tf: tf.nn.ctc_loss(sparse(tf), logits(tf), fed(tf, [4, 4, 4], shape=[None])),
    "ctc_batch": lambda tf: tf.nn.ctc_loss(sparse(tf, places=((0, 0), (5, 0)), shape=(6, 2)), logits(tf), fed(tf, [4, 4], shape=[None])),
    "ctc_greedy_lengths": lambda tf: tf.nn.ctc_greedy_decoder(logits(tf), fed(tf, [9, 4], shape=[None]))[0][0],
    "ctc_beam_width": lambda tf: tf.nn.ctc_beam_search_decoder(logits(tf), fed(tf, [4, 4], shape=[None]), beam_width=0),
    "ctc_beam_paths": lambda tf: tf.nn.ctc_beam_search_decoder(logits(tf), fed(tf, [4, 4], shape=[None]), top_paths=0),
    "ctc_rank": lambda tf: tf.nn.ctc_loss(sparse(tf), tf.zeros([4, 2]), [4, 4]),
    "mask_scalar": lambda tf: tf.sequence_mask(fed(tf, [1, 2]), fed(tf, [3])),
    "mask_none": lambda tf: tf.sequence_mask(None),
}
# fmt: on

LEAKED = []


def Wrong(tf, function):
    """A cell that does what a function says."""

    class Wrong_(tf.nn.rnn_cell.RNNCell):
        state_size = output_size = 4

        def call(self, inputs, state):
            return function(inputs, state)

    return Wrong_()


def Leaking(tf):
    """A cell that lets a tensor of the loop out."""

    def leak(x, state):
        LEAKED.append(x * 2.0)
        return state, state

    return Wrong(tf, leak)


def attention(tf, memory=2, depth=4, lengths=None, state=None):
    """One step of an attention cell."""
    seq = tf.contrib.seq2seq
    values = fed(tf, np.zeros([memory, 3, depth]), np.float32, [None, None, depth])
    wrapper = seq.AttentionWrapper(cell(tf), seq.LuongAttention(4, values, lengths), attention_layer_size=4)
    start = wrapper.zero_state(2, tf.float32) if state is None else state
    return wrapper(tf.zeros([2, 4]), start)[0]


def beams(tf, width=2, tiled=None, start=(1, 1)):
    """What a beam search over two sequences decodes."""
    seq = tf.contrib.seq2seq
    state = seq.tile_batch(tf.zeros([2, 4]), tiled or width)
    decoder = seq.BeamSearchDecoder(cell(tf), fed(tf, np.zeros([5, 4]), np.float32, [5, 4]), fed(tf, start), 2, state, width,
                                    output_layer=tf.layers.Dense(5))  # fmt: skip
    return seq.dynamic_decode(decoder, maximum_iterations=2)[0].predicted_ids


OWN_WORDS = {
    "decoder_attention_batch", "decoder_attention_lengths_zero", "decoder_attention_state", "decoder_gather_tree", "decoder_lengths",
    "decoder_loss_weights", "decoder_maximum_negative", "decoder_state_depth", "labels_crf_lengths", "labels_crf_steps",
    "network_bidirectional_lengths_batch", "network_cell_batches", "network_cell_type", "network_lengths_negative",
    "network_lstm_projection", "network_multi_not_list", "network_state_batch_static", "network_state_depth", "network_state_dtype",
    "network_state_list", "network_static_depths", "network_static_state",
}
"""Rows whose message is worded otherwise (1.15 puts the converted source of a cell before it), and says the same."""

for _family, _rows in (("network", NETWORKS), ("decoder", DECODERS), ("labels", LABELS)):
    for _name, _build in _rows.items():
        error_case(_family + "_" + _name, _build, same_words=_family + "_" + _name not in OWN_WORDS)
