"""A two-layer GRU that predicts the next character, trained with truncated backpropagation and clipped gradients."""
import sys

import numpy as np
import tensorflow as tf

TEXT = "the quick brown fox jumps over the lazy dog and runs away from the big bad wolf. " * 30
letters = sorted(set(TEXT))
codes = np.array([letters.index(c) for c in TEXT], np.int32)
BATCH, STEPS, UNITS = 8, 12, 32
rows = codes[: len(codes) // BATCH * BATCH].reshape(BATCH, -1)

tf.set_random_seed(42)
inputs = tf.placeholder(tf.int32, [BATCH, STEPS])
targets = tf.placeholder(tf.int32, [BATCH, STEPS])
keep = tf.placeholder_with_default(1.0, [])
with tf.variable_scope("model", initializer=tf.random_uniform_initializer(-0.1, 0.1)):
    embedding = tf.get_variable("embedding", [len(letters), UNITS])
    cells = [tf.nn.rnn_cell.DropoutWrapper(tf.nn.rnn_cell.GRUCell(UNITS), output_keep_prob=keep) for _ in range(2)]
    cell = tf.nn.rnn_cell.MultiRNNCell(cells)
    start = cell.zero_state(BATCH, tf.float32)
    outputs, end = tf.nn.dynamic_rnn(cell, tf.nn.embedding_lookup(embedding, inputs), initial_state=start)
    softmax_w = tf.get_variable("softmax_w", [UNITS, len(letters)])
    softmax_b = tf.get_variable("softmax_b", [len(letters)])
logits = tf.matmul(tf.reshape(outputs, [-1, UNITS]), softmax_w) + softmax_b
losses_of = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.reshape(targets, [-1]), logits=logits)
loss = tf.reduce_sum(losses_of) / BATCH
variables = tf.trainable_variables()
gradients, norm = tf.clip_by_global_norm(tf.gradients(loss, variables), 1.0)
train = tf.train.GradientDescentOptimizer(0.5).apply_gradients(zip(gradients, variables))

losses = []
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    initial = {v.op.name: sess.run(v) for v in variables}
    state = sess.run(start)
    for step in range(20):
        at = step * STEPS
        feed = {inputs: rows[:, at : at + STEPS], targets: rows[:, at + 1 : at + STEPS + 1]}
        feed.update(zip(start, state))
        value, state, _ = sess.run([loss, end, train], feed)
        losses.append(value)
if len(sys.argv) > 1:
    np.savez_compressed(sys.argv[1], losses=np.array(losses), **initial)
print("final loss %.3f" % losses[-1])
