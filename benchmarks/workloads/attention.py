"""A training step of an attention seq2seq model: LSTM encoder and decoder, Luong attention, batch 32, 20 steps, 128 units."""

from benchmarks.workloads.model import GraphModel, token_batches

BATCH, STEPS, UNITS, WORDS = 32, 20, 128, 2000


def batches():
    return token_batches(8, BATCH, STEPS, WORDS)


def build(tf):
    seq2seq, cell = tf.contrib.seq2seq, tf.nn.rnn_cell.BasicLSTMCell
    source, target = (tf.placeholder(tf.int32, [BATCH, STEPS]) for _ in range(2))
    vectors = tf.get_variable("vectors", [WORDS, UNITS])
    lengths = tf.fill([BATCH], STEPS)
    with tf.variable_scope("encoder"):
        memory, state = tf.nn.dynamic_rnn(cell(UNITS), tf.nn.embedding_lookup(vectors, source), dtype=tf.float32)
    attention = seq2seq.LuongAttention(UNITS, memory)
    decoder_cell = seq2seq.AttentionWrapper(cell(UNITS), attention, attention_layer_size=UNITS)
    start = decoder_cell.zero_state(BATCH, tf.float32).clone(cell_state=state)
    helper = seq2seq.TrainingHelper(tf.nn.embedding_lookup(vectors, target), lengths)
    decoder = seq2seq.BasicDecoder(decoder_cell, helper, start, tf.layers.Dense(WORDS, use_bias=False))
    outputs, _, _ = seq2seq.dynamic_decode(decoder, maximum_iterations=STEPS)
    loss = seq2seq.sequence_loss(outputs.rnn_output, target, tf.ones([BATCH, STEPS]))
    train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    return GraphModel((source, target), [train, loss], loss)
