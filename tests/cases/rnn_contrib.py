"""The cells of tf.contrib.rnn."""

import numpy as np

from cases.table import F32, Table

TABLE = Table("rnn_contrib")
case, error_case = TABLE.case, TABLE.error_case


def _grid(rnn, **options):
    return rnn.GridLSTMCell(3, feature_size=2, frequency_skip=1, num_frequency_blocks=[3], **options)


def _both(rnn, **options):
    return rnn.BidirectionalGridLSTMCell(3, feature_size=2, frequency_skip=1, num_frequency_blocks=[3], **options)


def _blocks(rnn, **options):
    return rnn.GridLSTMCell(
        2, feature_size=2, frequency_skip=1, num_frequency_blocks=[1, 2], start_freqindex_list=[0, 1],
        end_freqindex_list=[2, 4], **options
    )  # fmt: skip


CELLS = {
    "coupled": lambda tf, r: r.CoupledInputForgetGateLSTMCell(3, use_peepholes=True, num_proj=2, proj_clip=0.5),
    "coupled_norm": lambda tf, r: r.CoupledInputForgetGateLSTMCell(3, layer_norm=True, num_unit_shards=2),
    "coupled_joined": lambda tf, r: r.CoupledInputForgetGateLSTMCell(3, state_is_tuple=False),
    "grid": lambda tf, r: _grid(r),
    "grid_peepholes": lambda tf, r: _grid(r, use_peepholes=True, cell_clip=0.3, num_unit_shards=2),
    "grid_shared": lambda tf, r: _grid(r, use_peepholes=True, share_time_frequency_weights=True),
    "grid_coupled": lambda tf, r: _grid(r, use_peepholes=True, couple_input_forget_gates=True),
    "grid_joined": lambda tf, r: _grid(r, state_is_tuple=False),
    "grid_blocks": lambda tf, r: _blocks(r),
    "bidirectional_grid": lambda tf, r: _both(r, use_peepholes=True),
    "bidirectional_grid_offset": lambda tf, r: _both(r, backward_slice_offset=1),
    "embedding_free_projection": lambda tf, r: r.InputProjectionWrapper(r.GRUCell(3), 2, activation=tf.nn.relu),
    "output_projection": lambda tf, r: r.OutputProjectionWrapper(r.GRUCell(3), 2, activation=tf.tanh),
    "highway": lambda tf, r: r.HighwayWrapper(r.GRUCell(4)),
    "highway_free": lambda tf, r: r.HighwayWrapper(r.GRUCell(4), False, 0.5),
    "attention": lambda tf, r: r.AttentionCellWrapper(r.GRUCell(3), 2),
    "attention_lstm": lambda tf, r: r.AttentionCellWrapper(r.BasicLSTMCell(3), 3, attn_size=2, attn_vec_size=5),
    "attention_joined": lambda tf, r: r.AttentionCellWrapper(r.GRUCell(3), 2, state_is_tuple=False),
    "layer_norm_basic": lambda tf, r: r.LayerNormBasicLSTMCell(3, norm_gain=0.9, norm_shift=0.1),
    "layer_norm_dropout": lambda tf, r: r.LayerNormBasicLSTMCell(
        3, layer_norm=False, dropout_keep_prob=0.5, dropout_prob_seed=3
    ),
    "nas": lambda tf, r: r.NASCell(3, use_bias=True),
    "nas_projection": lambda tf, r: r.NASCell(3, num_proj=2),
    "ugrnn": lambda tf, r: r.UGRNNCell(3),
    "intersection": lambda tf, r: r.IntersectionRNNCell(4),
    "intersection_projection": lambda tf, r: r.IntersectionRNNCell(3, num_in_proj=3),
    "compiled": lambda tf, r: r.CompiledWrapper(r.BasicLSTMCell(3)),
    "glstm": lambda tf, r: r.GLSTMCell(4, number_of_groups=2, num_proj=2),
    "sru": lambda tf, r: r.SRUCell(3),
    "ind_rnn": lambda tf, r: r.IndRNNCell(3),
    "indy_gru": lambda tf, r: r.IndyGRUCell(3),
    "indy_lstm": lambda tf, r: r.IndyLSTMCell(3),
    "lstm_block": lambda tf, r: r.LSTMBlockCell(3),
    "lstm_block_peephole": lambda tf, r: r.LSTMBlockCell(3, use_peephole=True, cell_clip=0.2, forget_bias=0.5),
    "gru_block": lambda tf, r: r.GRUBlockCell(3),
    "gru_block_v2": lambda tf, r: r.GRUBlockCellV2(3),
}


def _run(tf, session, outputs, feed):
    """The outputs, and the gradients of a sum of them for inputs and weights."""
    flat = [y for y in tf.contrib.framework.nest.flatten(outputs) if y.dtype.is_floating]
    loss = tf.add_n([tf.reduce_sum(y * y) for y in flat])
    found = tf.gradients(loss, list(feed) + tf.trainable_variables())
    session.run(tf.global_variables_initializer())
    return session.run([outputs, [g for g in found if g is not None]], feed)


def _dynamic(make):
    def build(tf, x):
        return tf.nn.dynamic_rnn(make(tf, tf.contrib.rnn), x, dtype=tf.float32, parallel_iterations=1)

    return build


for name in sorted(CELLS):
    settings = {}
    if name.startswith("attention"):
        settings = dict(atol=1e-7, reason="gradients that cancel in the softmax are rounding only")
    elif name.startswith("layer_norm_basic") or name == "coupled_norm":
        settings = dict(atol=1e-5, reason="the variance of three units magnifies rounding")
    elif name == "bidirectional_grid":
        settings = dict(atol=1e-8, reason="gradients of peepholes are sums of products that cancel: below 1e-8 is rounding")
    case(name, _dynamic(CELLS[name]), run=_run, seed=21, partial=False, x=F32(2, 3, 4), **settings)


def _time_freq(tf, x):
    cell = tf.contrib.rnn.TimeFreqLSTMCell(3, use_peepholes=True, feature_size=2, frequency_skip=2, cell_clip=0.5)
    return cell(x, tf.ones([2, 12]) * 0.1)


case("time_freq", _time_freq, run=_run, seed=22, partial=False, x=F32(2, 4))


def _embedding(tf, x):
    cell = tf.contrib.rnn.EmbeddingWrapper(tf.contrib.rnn.GRUCell(3), embedding_classes=5, embedding_size=2)
    return cell(tf.constant([[1], [4]]), x)


case("embedding", _embedding, run=_run, seed=23, partial=False, x=F32(2, 3))


def _phased(tf, x):
    cell = tf.contrib.rnn.PhasedLSTMCell(3, use_peepholes=True, ratio_on=0.4, period_init_max=5.0)
    return cell((tf.constant([[2.0], [7.5]]), x), cell.zero_state(2, tf.float32))


case("phased", _phased, run=_run, seed=24, partial=False, x=F32(2, 3))


def _convolution(ndims):
    def build(tf, x):
        make = getattr(tf.contrib.rnn, "Conv%dDLSTMCell" % ndims)
        cell = make(
            input_shape=[3] * ndims + [2], output_channels=2, kernel_shape=[2] * ndims, skip_connection=ndims == 2
        )
        size = cell.state_size
        state = type(size)(tf.ones([2] + size.c.as_list()), tf.ones([2] + size.h.as_list()))
        return cell(x, state)

    return build


case("conv1d", _convolution(1), run=_run, seed=25, partial=False, x=F32(2, 3, 2))
case("conv2d", _convolution(2), run=_run, seed=25, partial=False, x=F32(2, 3, 3, 2))
case("conv3d", _convolution(3), run=_run, seed=25, partial=False, x=F32(2, 3, 3, 3, 2))


LENGTHS = np.array([2, 3], np.int32)


def _fused(tf, x, sequence_length=None, **options):
    cell = tf.contrib.rnn.LSTMBlockFusedCell(3, **options)
    return cell(x, dtype=tf.float32, sequence_length=sequence_length)


case("fused", lambda tf, x: _fused(tf, x), run=_run, seed=26, partial=False, x=F32(3, 2, 4))
case(
    "fused_peephole",
    lambda tf, x: _fused(tf, x, use_peephole=True, cell_clip=0.2),
    run=_run,
    seed=26,
    partial=False,
    x=F32(3, 2, 4),
)
case("fused_lengths", lambda tf, x: _fused(tf, x, LENGTHS), run=_run, seed=26, partial=False, x=F32(3, 2, 4))


def _adaptor(dynamic, backward):
    def build(tf, x):
        cell = tf.contrib.rnn.FusedRNNCellAdaptor(tf.contrib.rnn.GRUCell(3), use_dynamic_rnn=dynamic)
        cell = tf.contrib.rnn.TimeReversedFusedRNN(cell) if backward else cell
        return cell(x, dtype=tf.float32, sequence_length=LENGTHS)

    return build


case("adaptor", _adaptor(False, False), run=_run, seed=27, partial=False, x=F32(3, 2, 4))
case("adaptor_dynamic_reversed", _adaptor(True, True), run=_run, seed=27, partial=False, x=F32(3, 2, 4))


def _stacked(tf, x):
    rnn = tf.contrib.rnn
    cells = [rnn.GRUCell(3), rnn.GRUCell(2)], [rnn.BasicLSTMCell(3), rnn.GRUCell(2)]
    return rnn.stack_bidirectional_dynamic_rnn(cells[0], cells[1], x, dtype=tf.float32, sequence_length=LENGTHS)


def _stacked_static(tf, x):
    rnn = tf.contrib.rnn
    cells = [rnn.GRUCell(3), rnn.GRUCell(2)], [rnn.BasicLSTMCell(3), rnn.GRUCell(2)]
    return rnn.stack_bidirectional_rnn(cells[0], cells[1], tf.unstack(x), dtype=tf.float32)


case("stacked", _stacked, run=_run, seed=28, partial=False, x=F32(2, 3, 4))
case("stacked_static", _stacked_static, run=_run, seed=28, partial=False, x=F32(3, 2, 4))

error_case("glstm_groups", lambda tf, x: tf.contrib.rnn.GLSTMCell(3, number_of_groups=2)(x, x), x=F32(2, 4))
error_case("intersection_sizes", lambda tf, x: tf.contrib.rnn.IntersectionRNNCell(3)(x, x), x=F32(2, 4))
error_case(
    "attention_length",
    lambda tf, x: tf.contrib.rnn.AttentionCellWrapper(tf.contrib.rnn.GRUCell(3), 0)(x, x),
    x=F32(2, 4),
)
error_case("stack_lengths", lambda tf, x: tf.contrib.rnn.stack_bidirectional_rnn([1, 2], [1], [x]), x=F32(2, 4))
