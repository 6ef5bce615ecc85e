"""Sequence to sequence with attention: trained to reverse sequences, then decoded greedily and by beam search."""
import sys

import numpy as np
import tensorflow as tf

BATCH, TIME, WORDS, UNITS, START, END = 16, 8, 20, 24, 1, 2
seq2seq = tf.contrib.seq2seq

data = np.random.RandomState(0)
lengths = data.randint(3, TIME, [20, BATCH]).astype(np.int32)
words = data.randint(3, WORDS, [20, BATCH, TIME])
sources = np.where(np.arange(TIME) < lengths[..., None], words, 0).astype(np.int32)
targets = np.zeros([20, BATCH, TIME], np.int32)
for place in np.ndindex(20, BATCH):
    n = lengths[place]
    targets[place][:n] = sources[place][:n][::-1]
    targets[place][n] = END
inputs = np.concatenate([np.full([20, BATCH, 1], START), targets[:, :, :-1]], 2).astype(np.int32)

tf.set_random_seed(42)
source = tf.placeholder(tf.int32, [None, None], name="source")
length = tf.placeholder(tf.int32, [None], name="length")
target_in = tf.placeholder(tf.int32, [None, None], name="target_in")
target_out = tf.placeholder(tf.int32, [None, None], name="target_out")
batch_size = tf.shape(source)[0]

with tf.variable_scope("encoder"):
    embedding = tf.get_variable("embedding", [WORDS, UNITS])
    forward, backward = (tf.nn.rnn_cell.LSTMCell(UNITS // 2) for _ in range(2))
    states, last = tf.nn.bidirectional_dynamic_rnn(
        forward, backward, tf.nn.embedding_lookup(embedding, source), sequence_length=length, dtype=tf.float32
    )
    memory = tf.concat(states, 2)
    last = tf.nn.rnn_cell.LSTMStateTuple(tf.concat([s.c for s in last], 1), tf.concat([s.h for s in last], 1))

projection = tf.layers.Dense(WORDS, use_bias=False, name="projection")
target_embedding = tf.get_variable("target_embedding", [WORDS, UNITS])


def decoder_cell(memory, length, last, batch_size, reuse=None):
    """The attention cell and its first state."""
    with tf.variable_scope("decode", reuse=reuse):
        mechanism = seq2seq.BahdanauAttention(UNITS, memory, memory_sequence_length=length, normalize=True)
    cell = tf.nn.rnn_cell.LSTMCell(UNITS, name="cell", reuse=reuse)
    cell = seq2seq.AttentionWrapper(cell, mechanism, attention_layer_size=UNITS, name="attention")
    return cell, cell.zero_state(batch_size, tf.float32).clone(cell_state=last)


cell, state = decoder_cell(memory, length, last, batch_size)
helper = seq2seq.TrainingHelper(tf.nn.embedding_lookup(target_embedding, target_in), length + 1)
decoder = seq2seq.BasicDecoder(cell, helper, state, projection)
with tf.variable_scope("decode"):
    outputs, _, _ = seq2seq.dynamic_decode(decoder, scope="decoder")
weights = tf.sequence_mask(length + 1, dtype=tf.float32)
labels = target_out[:, : tf.reduce_max(length) + 1]
loss = seq2seq.sequence_loss(outputs.rnn_output, labels, weights)
optimizer = tf.train.AdamOptimizer(0.01)
gradients, variables = zip(*optimizer.compute_gradients(loss))
train = optimizer.apply_gradients(zip(tf.clip_by_global_norm(gradients, 1.0)[0], variables))

starts = tf.fill([batch_size], START)
with tf.variable_scope("decode", reuse=True):
    greedy = seq2seq.BasicDecoder(
        cell, seq2seq.GreedyEmbeddingHelper(target_embedding, starts, END), state, projection
    )
    greedy_ids = seq2seq.dynamic_decode(greedy, maximum_iterations=12, scope="decoder")[0].sample_id
WIDTH = 3
beam_cell, beam_state = decoder_cell(
    seq2seq.tile_batch(memory, WIDTH), seq2seq.tile_batch(length, WIDTH), seq2seq.tile_batch(last, WIDTH),
    batch_size * WIDTH, reuse=True,
)
with tf.variable_scope("decode", reuse=True):
    beam = seq2seq.BeamSearchDecoder(
        beam_cell, target_embedding, starts, END, beam_state, WIDTH, projection, length_penalty_weight=0.6
    )
    found, _, found_lengths = seq2seq.dynamic_decode(beam, maximum_iterations=12, scope="decoder")

losses = []
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    initial = {v.op.name: sess.run(v) for v in tf.trainable_variables()}
    for i in range(20):
        feed = {source: sources[i], length: lengths[i], target_in: inputs[i], target_out: targets[i]}
        losses.append(sess.run([train, loss], feed)[1])
    feed = {source: sources[0], length: lengths[0]}
    initial["greedy"], initial["beams"], initial["beam_lengths"] = sess.run(
        [greedy_ids, found.predicted_ids, found_lengths], feed
    )
if len(sys.argv) > 1:
    np.savez_compressed(sys.argv[1], losses=np.array(losses), **initial)
print("final loss %.3f" % losses[-1])
