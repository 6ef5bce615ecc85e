"""A tagger of sequences of different lengths: LSTMs with peepholes forward, a residual GRU stack backward."""
import sys

import numpy as np
import tensorflow as tf

data = np.random.RandomState(1)
BATCH, TIME, DEPTH, TAGS = 16, 9, 6, 4
inputs = data.normal(size=[20, BATCH, TIME, DEPTH]).astype(np.float32)
tags = data.randint(0, TAGS, [20, BATCH, TIME]).astype(np.int32)
lengths = data.randint(1, TIME + 1, [20, BATCH]).astype(np.int32)

tf.set_random_seed(7)
x = tf.placeholder(tf.float32, [None, None, DEPTH])
y = tf.placeholder(tf.int32, [None, None])
n = tf.placeholder(tf.int32, [None])
forward = tf.nn.rnn_cell.LSTMCell(12, use_peepholes=True, num_proj=8, cell_clip=3.0)
cells = [tf.nn.rnn_cell.GRUCell(DEPTH), tf.nn.rnn_cell.ResidualWrapper(tf.nn.rnn_cell.GRUCell(DEPTH))]
backward = tf.nn.rnn_cell.MultiRNNCell(cells)
outputs, _ = tf.nn.bidirectional_dynamic_rnn(forward, backward, x, n, dtype=tf.float32)
logits = tf.layers.dense(tf.concat(outputs, 2), TAGS)
each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
loss = tf.reduce_mean(tf.boolean_mask(each, tf.sequence_mask(n, tf.shape(x)[1])))
train = tf.train.AdamOptimizer(1e-2).minimize(loss)

losses = []
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    initial = {v.op.name: sess.run(v) for v in tf.trainable_variables()}
    for step in range(20):
        feed = {x: inputs[step], y: tags[step], n: lengths[step]}
        losses.append(sess.run([train, loss], feed)[1])
if len(sys.argv) > 1:
    np.savez_compressed(sys.argv[1], losses=np.array(losses), **initial)
print("final loss %.3f" % losses[-1])
