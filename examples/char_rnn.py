"""A character-level language model: an LSTM learns a nursery rhyme letter by letter, and recites it.

Shows tf.nn.dynamic_rnn over stacked cells, state that is carried from batch to batch (truncated backpropagation through
time), clipped gradients, a decaying learning rate, and sampling one character at a time.

    tfcompat run examples/char_rnn.py
"""

import numpy as np
import tensorflow as tf

flags = tf.app.flags
flags.DEFINE_integer("steps", 241, "training steps")
flags.DEFINE_integer("units", 64, "size of each LSTM layer")
flags.DEFINE_integer("letters", 100, "how many characters to recite")
FLAGS = flags.FLAGS
BATCH, TIME, LAYERS = 8, 25, 2
STORY = [
    ("malt", "lay in"), ("rat", "ate"), ("cat", "killed"), ("dog", "worried"), ("cow with the crumpled horn", "tossed"),
    ("maiden all forlorn", "milked"), ("man all tattered and torn", "kissed"), ("priest all shaven and shorn", "married"),
]  # fmt: skip


def rhyme():
    """The House That Jack Built, every verse longer than the one before."""
    verses, tail = [], "the house that Jack built.\n"
    verses.append("This is " + tail)
    for who, does in STORY:
        tail = "the %s\nthat %s %s" % (who, does, tail)
        verses.append("This is " + tail)
    return "\n".join(verses)


def batches(codes):
    """Endless pairs of inputs and targets [BATCH, TIME]; each batch goes on where the last one ended, from a start that says so."""
    length = (len(codes) - 1) // (BATCH * TIME) * TIME
    inputs = codes[: BATCH * length].reshape(BATCH, length)
    targets = codes[1 : BATCH * length + 1].reshape(BATCH, length)
    while True:
        for first in range(0, length, TIME):
            yield first == 0, inputs[:, first : first + TIME], targets[:, first : first + TIME]


class CharRNN(object):
    """The graph: characters and a state go in, logits and the next state come out."""

    def __init__(self, symbols, units):
        self.characters = tf.placeholder(tf.int32, [None, None], name="characters")
        embedding = tf.get_variable("embedding", [symbols, 16])
        cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.LSTMCell(units) for _ in range(LAYERS)])
        self.start = cell.zero_state(tf.shape(self.characters)[0], tf.float32)
        embedded = tf.nn.embedding_lookup(embedding, self.characters)
        outputs, self.end = tf.nn.dynamic_rnn(cell, embedded, initial_state=self.start)
        self.logits = tf.layers.dense(outputs, symbols)

    def train_op(self, targets):
        """The loss, and one step of Adam on clipped gradients."""
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=targets, logits=self.logits))
        step = tf.train.get_or_create_global_step()
        optimizer = tf.train.AdamOptimizer(tf.train.exponential_decay(0.01, step, 200, 0.5))
        gradients, variables = zip(*optimizer.compute_gradients(loss))
        clipped, _ = tf.clip_by_global_norm(gradients, 5.0)
        return loss, optimizer.apply_gradients(zip(clipped, variables), global_step=step)


def recite(sess, model, alphabet, begin, letters):
    """`begin` and the most probable characters after it."""
    text, state, following = begin, None, [alphabet.index(c) for c in begin]
    choice = tf.argmax(model.logits[:, -1], axis=1)
    for _ in range(letters):
        feed = {model.characters: [following]}
        if state is not None:
            feed[model.start] = state
        following, state = sess.run([choice, model.end], feed)
        text += alphabet[following[0]]
    return text


def main(_):
    """Trains and recites."""
    text = rhyme()
    alphabet = sorted(set(text))
    codes = np.array([alphabet.index(c) for c in text], np.int32)
    print("%d characters, %d different ones" % (len(text), len(alphabet)))
    tf.set_random_seed(3)
    model = CharRNN(len(alphabet), FLAGS.units)
    targets = tf.placeholder(tf.int32, [None, None], name="targets")
    loss, train = model.train_op(targets)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        state = None
        for step, (is_first, x, y) in zip(range(FLAGS.steps), batches(codes)):
            feed = {model.characters: x, targets: y}
            if not is_first:
                feed[model.start] = state
            value, state, _ = sess.run([loss, model.end, train], feed)
            if step % 40 == 0 or step == FLAGS.steps - 1:
                print("step %3d  loss %.4f" % (step, value))
        print(recite(sess, model, alphabet, "This is the cat", FLAGS.letters))


if __name__ == "__main__":
    tf.app.run()
