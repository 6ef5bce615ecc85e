"""tf.contrib.seq2seq: decoders, helpers, attention and beam search."""

import numpy as np

from cases.table import F32, I32, Table

TABLE = Table("seq2seq")
case, error_case = TABLE.case, TABLE.error_case

LENGTHS = np.array([3, 4, 2], np.int32)
UNITS, WORDS = 5, 6
ROUNDING = dict(rtol=2e-5, atol=2e-6, reason="sums of products in another order")


def initialized(tf, session, outputs, feed):
    session.run(tf.global_variables_initializer())
    return session.run(outputs, feed)


MODEL = dict(run=initialized, seed=3, partial=False, **ROUNDING)


def table(tf):
    return tf.constant(np.linspace(-1, 1, WORDS * UNITS).reshape(WORDS, UNITS).astype(np.float32))


def cell_of(tf, size=UNITS):
    return tf.nn.rnn_cell.GRUCell(size)


def decode(tf, helper, cell=None, state=None, **options):
    cell = cell or cell_of(tf)
    state = cell.zero_state(3, tf.float32) if state is None else state
    layer = tf.layers.Dense(WORDS, name="words") if options.pop("project", False) else None
    decoder = tf.contrib.seq2seq.BasicDecoder(cell, helper, state, layer)
    outputs, last, lengths = tf.contrib.seq2seq.dynamic_decode(decoder, **options)
    return [outputs.rnn_output, outputs.sample_id, lengths] + tf.contrib.framework.nest.flatten(last)


def training(**options):
    return lambda tf, x, n: decode(tf, tf.contrib.seq2seq.TrainingHelper(x, n), **options)


case("training", training(), x=F32(3, 4, UNITS), n=LENGTHS, **MODEL)
case("training_imputed", training(impute_finished=True, project=True), x=F32(3, 4, UNITS), n=LENGTHS, **MODEL)
case("training_limited", training(maximum_iterations=2, output_time_major=True), x=F32(3, 4, UNITS), n=LENGTHS, **MODEL)
case("training_time_major", lambda tf, x, n: decode(tf, tf.contrib.seq2seq.TrainingHelper(x, n, time_major=True), scope="here"),
     x=F32(4, 3, UNITS), n=LENGTHS, **MODEL)  # fmt: skip
error_case("decoder_type", lambda tf, x: tf.contrib.seq2seq.dynamic_decode(x), x=F32(3))
error_case("limit_rank", lambda tf, x, n: training(maximum_iterations=[2])(tf, x, n), x=F32(3, 4, UNITS), n=LENGTHS)
error_case("length_rank", lambda tf, x: tf.contrib.seq2seq.TrainingHelper(x, 3), x=F32(3, 4, UNITS))


def gradients(tf, session, outputs, feed):
    """The gradients of a decoder's outputs with respect to its inputs and weights."""
    session.run(tf.global_variables_initializer())
    inputs = [x for x in feed if x.dtype == tf.float32]
    return session.run(tf.gradients(outputs[0], inputs + tf.trainable_variables()), feed)


def greedy(tf, starts):
    return decode(tf, tf.contrib.seq2seq.GreedyEmbeddingHelper(table(tf), starts, 2), project=True, maximum_iterations=5)


def sampled(tf, starts):
    helper = tf.contrib.seq2seq.SampleEmbeddingHelper(table(tf), starts, 2, softmax_temperature=0.7, seed=5)
    return decode(tf, helper, project=True, maximum_iterations=5)


def inference(tf, x):
    helper = tf.contrib.seq2seq.InferenceHelper(
        sample_fn=lambda outputs: outputs > 0.0, sample_shape=[UNITS], sample_dtype=tf.bool, start_inputs=x,
        end_fn=lambda ids: tf.reduce_any(ids, 1), next_inputs_fn=lambda ids: tf.cast(ids, tf.float32),
    )  # fmt: skip
    return decode(tf, helper, maximum_iterations=3)


def custom(tf, x):
    helper = tf.contrib.seq2seq.CustomHelper(
        lambda: (tf.zeros([3], tf.bool), x),
        lambda time, outputs, state: tf.argmax(outputs, 1, output_type=tf.int32),
        lambda time, outputs, state, sample_ids: (tf.equal(sample_ids, time), outputs, state),
    )
    return decode(tf, helper, maximum_iterations=4)


def scheduled_embedding(tf, x, n):
    helper = tf.contrib.seq2seq.ScheduledEmbeddingTrainingHelper(x, n, table(tf), 1.0, seed=5, scheduling_seed=6)
    return decode(tf, helper, project=True)


def scheduled_output(**options):
    def build(tf, x, n):
        given = dict(options)
        if given.pop("auxiliary", False):
            given["auxiliary_inputs"] = x * 2.0
        if given.pop("function", False):
            given["next_inputs_fn"] = lambda outputs: outputs * 3.0
        return decode(tf, tf.contrib.seq2seq.ScheduledOutputTrainingHelper(x, n, 0.5, seed=5, **given))

    return build


case("training_gradient", training(project=True), x=F32(3, 4, UNITS), n=LENGTHS, **dict(MODEL, run=gradients))
case("greedy", greedy, starts=I32(3, low=0, high=WORDS), **MODEL)
case("sampled", sampled, starts=I32(3, low=0, high=WORDS), **MODEL)
case("inference", inference, x=F32(3, UNITS), **MODEL)
case("custom", custom, x=F32(3, UNITS), **MODEL)
case("scheduled_embedding", scheduled_embedding, x=F32(3, 4, UNITS), n=LENGTHS, **MODEL)
case("scheduled_output", scheduled_output(), x=F32(3, 4, UNITS), n=LENGTHS, **MODEL)
case("scheduled_output_function", scheduled_output(function=True), x=F32(3, 4, UNITS), n=LENGTHS, **MODEL)
case("scheduled_output_auxiliary", scheduled_output(auxiliary=True), x=F32(3, 4, UNITS), n=LENGTHS, **MODEL)
case("scheduled_output_both", scheduled_output(function=True, auxiliary=True), x=F32(3, 4, UNITS), n=LENGTHS, **MODEL)
error_case("sampling_probability_rank", lambda tf, x, n: tf.contrib.seq2seq.ScheduledOutputTrainingHelper(x, n, [[0.5]]), x=F32(3, 4, 2), n=LENGTHS)
error_case("start_rank", lambda tf, x: tf.contrib.seq2seq.GreedyEmbeddingHelper(x, 1, 2), x=F32(3, 4))
error_case("end_rank", lambda tf, x: tf.contrib.seq2seq.GreedyEmbeddingHelper(x, [1], [2]), x=F32(3, 4))


def attentive(make, **options):
    """Decodes with an AttentionWrapper around the mechanism that make(seq2seq, memory) gives."""

    def build(tf, x, memory, n):
        cell = tf.contrib.seq2seq.AttentionWrapper(cell_of(tf), make(tf.contrib.seq2seq, memory, n), **options)
        state = cell.zero_state(3, tf.float32)
        helper = tf.contrib.seq2seq.TrainingHelper(x, n)
        decoder = tf.contrib.seq2seq.BasicDecoder(cell, helper, state)
        outputs, last, lengths = tf.contrib.seq2seq.dynamic_decode(decoder)
        arrays = [a.stack() for a in tf.contrib.framework.nest.flatten(last.alignment_history)]
        kept = tf.contrib.framework.nest.flatten(last._replace(alignment_history=()))
        return [outputs.rnn_output, outputs.sample_id, lengths] + kept + arrays

    return build


def attention_case(name, make, **options):
    case("attention_" + name, attentive(make, **options), x=F32(3, 4, 2), memory=F32(3, 5, 4), n=LENGTHS, **MODEL)


case("attention_gradient", attentive(lambda s, m, n: s.BahdanauAttention(4, m, n, normalize=True), attention_layer_size=3),
     x=F32(3, 4, 2), memory=F32(3, 5, 4), n=LENGTHS, **dict(MODEL, run=gradients))  # fmt: skip
attention_case("bahdanau", lambda s, m, n: s.BahdanauAttention(4, m))
attention_case("bahdanau_normalized", lambda s, m, n: s.BahdanauAttention(4, m, n, normalize=True), attention_layer_size=3)
attention_case("luong", lambda s, m, n: s.LuongAttention(UNITS, m, n), output_attention=False)
attention_case("luong_scaled", lambda s, m, n: s.LuongAttention(UNITS, m, n, scale=True, probability_fn=s.hardmax), alignment_history=True)
attention_case("bahdanau_monotonic", lambda s, m, n: s.BahdanauMonotonicAttention(4, m, n, normalize=True, score_bias_init=-1.0))
attention_case("luong_monotonic", lambda s, m, n: s.LuongMonotonicAttention(UNITS, m, n, scale=True, mode="hard"))
attention_case("several", lambda s, m, n: [s.LuongAttention(UNITS, m, n), s.BahdanauAttention(3, m)], attention_layer_size=[3, 4],
               alignment_history=True)  # fmt: skip


def noisy(tf, memory, n):
    mechanism = tf.contrib.seq2seq.LuongMonotonicAttention(UNITS, memory, n, sigmoid_noise=0.5, sigmoid_noise_seed=4)
    return list(mechanism(tf.ones([3, UNITS]), mechanism.initial_state(3, tf.float32)))


case("attention_noise", noisy, memory=F32(3, 5, 4), n=LENGTHS, **MODEL)


def wrapper(tf, make, **options):
    memory = tf.ones([3, 5, 4])
    return tf.contrib.seq2seq.AttentionWrapper(cell_of(tf), make(tf.contrib.seq2seq, memory), **options)


def bahdanau(seq2seq, memory):
    return seq2seq.BahdanauAttention(4, memory)


error_case("wrapper_mechanism", lambda tf: wrapper(tf, lambda s, m: 3))
error_case("wrapper_mechanisms", lambda tf: wrapper(tf, lambda s, m: [3]))
error_case("wrapper_two_layers", lambda tf: wrapper(tf, bahdanau, attention_layer_size=3, attention_layer=tf.layers.Dense(3)))
error_case("wrapper_sizes", lambda tf: wrapper(tf, bahdanau, attention_layer_size=[3, 4]))
error_case("wrapper_input_fn", lambda tf: wrapper(tf, bahdanau, cell_input_fn=3))
error_case("wrapper_batch", lambda tf: wrapper(tf, bahdanau).zero_state(4, tf.float32))
error_case("wrapper_clone", lambda tf: wrapper(tf, bahdanau).zero_state(3, tf.float32).clone(time=tf.zeros([2], tf.int32)))
error_case("luong_depth", lambda tf, x: tf.contrib.seq2seq.LuongAttention(3, tf.ones([2, 4, 3]))(x, None), x=F32(2, 5))
error_case("memory_depth", lambda tf: tf.contrib.seq2seq.LuongAttention(3, tf.placeholder(tf.float32, [2, 4, None])))
error_case("memory_length", lambda tf, x, n: tf.contrib.seq2seq.LuongAttention(3, tf.ones([2, 4, 3]), n)(x, None), x=F32(2, 3), n=np.array([1, 0]),
           run=initialized)  # fmt: skip

case("hardmax", lambda tf, x: tf.contrib.seq2seq.hardmax(x), x=F32(3, 4), grad=False)
case("safe_cumprod", lambda tf, x: tf.contrib.seq2seq.safe_cumprod(x, axis=1, exclusive=True), x=F32(3, 4, low=0.1, high=0.9), **ROUNDING)
for _mode in ("recursive", "parallel", "hard"):
    case("monotonic_" + _mode, lambda tf, p, a, mode=_mode: tf.contrib.seq2seq.monotonic_attention(p, a, mode),
         p=F32(3, 4, low=0.1, high=0.9), a=F32(3, 4, low=0.0, high=0.3), partial=False, **ROUNDING)  # fmt: skip
error_case("monotonic_mode", lambda tf, p: tf.contrib.seq2seq.monotonic_attention(p, p, "soft"), p=F32(3, 4))


def beam(attention=False, **options):
    """The best sequences of a search with 3 beams."""

    def build(tf, memory, starts):
        seq2seq = tf.contrib.seq2seq
        cell = cell_of(tf)
        state = cell.zero_state(9, tf.float32)
        if attention:
            mechanism = seq2seq.BahdanauAttention(4, seq2seq.tile_batch(memory, 3))
            cell = seq2seq.AttentionWrapper(cell, mechanism, attention_layer_size=4, alignment_history=True)
            state = cell.zero_state(9, tf.float32)
        decoder = seq2seq.BeamSearchDecoder(cell, table(tf), starts, 2, state, 3, tf.layers.Dense(WORDS), **options)
        outputs, last, lengths = seq2seq.dynamic_decode(decoder, maximum_iterations=5)
        steps = outputs.beam_search_decoder_output
        found = [outputs.predicted_ids, steps.scores, steps.predicted_ids, steps.parent_ids, lengths, last.log_probs, last.lengths]
        return found + ([last.cell_state.alignment_history.stack()] if attention else [])

    return build


BEAMS = dict(memory=F32(3, 5, 4), starts=I32(3, low=0, high=WORDS))
case("beam", beam(), **dict(MODEL, **BEAMS))
case("beam_length_penalty", beam(length_penalty_weight=0.8), **dict(MODEL, **BEAMS))
case("beam_attention", beam(attention=True, coverage_penalty_weight=0.3, reorder_tensor_arrays=False), **dict(MODEL, **BEAMS))
error_case("beam_coverage", beam(coverage_penalty_weight=0.3), **BEAMS)
error_case("beam_state", lambda tf, starts: tf.contrib.seq2seq.BeamSearchDecoder(
    cell_of(tf), table(tf), starts, 2, tf.zeros([3, UNITS]), 3), starts=I32(3, low=0, high=WORDS))  # fmt: skip
error_case("beam_layer", lambda tf, starts: tf.contrib.seq2seq.BeamSearchDecoder(
    cell_of(tf), table(tf), starts, 2, tf.zeros([9, UNITS]), 3, 5), starts=I32(3, low=0, high=WORDS))  # fmt: skip
case("tile_batch", lambda tf, x, y: tf.contrib.seq2seq.tile_batch((x, y), 3), x=F32(2, 4), y=F32(2))
error_case("tile_batch_scalar", lambda tf, x: tf.contrib.seq2seq.tile_batch(x, 3), x=F32())

STEPS = np.array([[[1, 2, 3]], [[4, 5, 6]], [[7, 8, 9]], [[-1, -1, -1]]], np.int32)
PARENTS = np.array([[[0, 0, 0]], [[0, 1, 1]], [[2, 1, 2]], [[-1, -1, -1]]], np.int32)
case("gather_tree", lambda tf, s, p: tf.contrib.seq2seq.gather_tree(s, p, [3], 10), s=STEPS, p=PARENTS, partial=False)
case("gather_tree_ended", lambda tf, s, p: tf.contrib.seq2seq.gather_tree(s, p, [3], 6, name="tree"), s=STEPS, p=PARENTS, partial=False)
error_case("gather_tree_parent", lambda tf, s, p: tf.contrib.seq2seq.gather_tree(s, p - 1, [3], 10), s=STEPS, p=PARENTS)
error_case("gather_tree_rank", lambda tf, s: tf.contrib.seq2seq.gather_tree(s, s, [3], 10), s=STEPS[0])

LOGITS = dict(x=F32(2, 3, 4), y=I32(2, 3, low=0, high=4), w=np.array([[1, 0.5, 0], [1, 0, 0]], np.float32))
for _name, _options in (
    ("averaged", {}),
    ("over_time", dict(average_across_batch=False)),
    ("over_batch", dict(average_across_timesteps=False)),
    ("plain", dict(average_across_timesteps=False, average_across_batch=False)),
    ("per_entry", dict(average_across_timesteps=False, average_across_batch=False, sum_over_timesteps=True, sum_over_batch=True)),
    ("per_step", dict(average_across_timesteps=False, average_across_batch=False, sum_over_batch=True)),
):
    case("loss_" + _name, lambda tf, x, y, w, options=_options: tf.contrib.seq2seq.sequence_loss(x, y, w, **options), partial=False, **LOGITS)
error_case("loss_rank", lambda tf, x, y, w: tf.contrib.seq2seq.sequence_loss(x[0], y, w), **LOGITS)
error_case("loss_both", lambda tf, x, y, w: tf.contrib.seq2seq.sequence_loss(x, y, w, sum_over_batch=True), **LOGITS)
