"""A GRU language model: 35 steps of truncated backpropagation, 650 units, 10,000 words, batch 20, clipped gradient descent."""

from benchmarks.workloads.model import GraphModel, token_batches

BATCH, STEPS, UNITS, WORDS, NORM = 20, 35, 650, 10000, 5.0


def batches():
    return token_batches(8, BATCH, STEPS, WORDS)


def build(tf):
    words, following = (tf.placeholder(tf.int32, [BATCH, STEPS]) for _ in range(2))
    state = tf.get_variable("state", [BATCH, UNITS], initializer=tf.zeros_initializer(), trainable=False)
    vectors = tf.get_variable("vectors", [WORDS, UNITS])
    outputs, last = tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(UNITS), tf.nn.embedding_lookup(vectors, words), initial_state=state)
    weights, biases = tf.get_variable("weights", [UNITS, WORDS]), tf.get_variable("biases", [WORDS])
    logits = tf.matmul(tf.reshape(outputs, [-1, UNITS]), weights) + biases
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.reshape(following, [-1]), logits=logits)
    loss = tf.reduce_mean(losses)
    variables = tf.trainable_variables()
    gradients, _ = tf.clip_by_global_norm(tf.gradients(loss, variables), NORM)
    train = tf.train.GradientDescentOptimizer(0.5).apply_gradients(zip(gradients, variables))
    return GraphModel((words, following), [train, tf.assign(state, last).op, loss], loss)
