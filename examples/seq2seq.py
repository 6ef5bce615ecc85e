"""Sequence to sequence with attention: a bidirectional encoder reads digits, a decoder writes them in reverse as words.

tf.contrib.seq2seq: TrainingHelper for learning, GreedyEmbeddingHelper and BeamSearchDecoder for decoding, with
LuongAttention over what the encoder gives. The three decoders share their variables by name.

    tfcompat run examples/seq2seq.py
"""

import numpy as np
import tensorflow as tf

seq2seq = tf.contrib.seq2seq
flags = tf.app.flags
flags.DEFINE_integer("steps", 300, "training steps")
flags.DEFINE_integer("units", 32, "size of the encoder's and the decoder's cells")
flags.DEFINE_integer("beams", 4, "width of the beam search")
FLAGS = flags.FLAGS
BATCH, LONGEST = 32, 6
WORDS = "<pad> <go> <end> zero one two three four five six seven eight nine".split()
GO, END = 1, 2


def make_batch(random, size=BATCH):
    """Padded digits [n, t] (1 to 10; 0 is padding), their lengths, and padded words [n, t + 1] that end in END."""
    lengths = random.randint(2, LONGEST + 1, size)
    digits = random.randint(1, 11, [size, LONGEST]) * (np.arange(LONGEST) < lengths[:, None])
    words = np.zeros([size, LONGEST + 1], np.int64)
    for row, target, length in zip(digits, words, lengths):
        target[:length] = row[:length][::-1] + 2
        target[length] = END
    return digits, lengths, words


def encoder(digits, lengths, units):
    """Outputs [n, t, 2 * units] for attention, and the first state of the decoder."""
    embedding = tf.get_variable("digits", [11, 16])
    outputs, states = tf.nn.bidirectional_dynamic_rnn(
        tf.nn.rnn_cell.GRUCell(units), tf.nn.rnn_cell.GRUCell(units), tf.nn.embedding_lookup(embedding, digits),
        sequence_length=lengths, dtype=tf.float32,
    )  # fmt: skip
    return tf.concat(outputs, 2), tf.layers.dense(tf.concat(states, 1), units, tf.tanh, name="bridge")


class Decoder(object):
    """The decoder: its variables are made once and are used for training, greedy decoding and beam search."""

    def __init__(self, units):
        self.units = units
        self.embedding = tf.get_variable("words", [len(WORDS), 16])
        self.projection = tf.layers.Dense(len(WORDS), use_bias=False, name="projection")

    def attend(self, memory, state, lengths):
        """The cell with attention over `memory`, and its first state, which holds `state`."""
        attention = seq2seq.LuongAttention(self.units, memory, memory_sequence_length=lengths)
        cell = seq2seq.AttentionWrapper(tf.nn.rnn_cell.GRUCell(self.units), attention, self.units)
        start = cell.zero_state(tf.shape(memory)[0], tf.float32)
        return cell, start.clone(cell_state=state)

    def train_logits(self, memory, state, lengths, words):
        """Logits [n, t, words], where the decoder is told the word before each."""
        cell, start = self.attend(memory, state, lengths)
        inputs = tf.concat([tf.fill([tf.shape(words)[0], 1], np.int64(GO)), words[:, :-1]], 1)
        embedded, full = tf.nn.embedding_lookup(self.embedding, inputs), tf.fill(tf.shape(lengths), LONGEST + 1)
        helper = seq2seq.TrainingHelper(embedded, full)
        outputs, _, _ = seq2seq.dynamic_decode(seq2seq.BasicDecoder(cell, helper, start, self.projection))
        return outputs.rnn_output

    def greedy(self, memory, state, lengths):
        """The most probable word at each step [n, t]."""
        cell, start = self.attend(memory, state, lengths)
        helper = seq2seq.GreedyEmbeddingHelper(self.embedding, tf.fill(tf.shape(lengths), GO), END)
        decoder = seq2seq.BasicDecoder(cell, helper, start, self.projection)
        return seq2seq.dynamic_decode(decoder, maximum_iterations=LONGEST + 2)[0].sample_id

    def beams(self, memory, state, lengths, width):
        """The best sequences [n, t, width], and the log probability of each [n, width]."""
        tiled = [seq2seq.tile_batch(tensor, width) for tensor in (memory, state, lengths)]
        cell, start = self.attend(*tiled)
        decoder = seq2seq.BeamSearchDecoder(
            cell, self.embedding, tf.fill(tf.shape(lengths), GO), END, start, width, self.projection,
            length_penalty_weight=0.0,
        )  # fmt: skip
        outputs, final, _ = seq2seq.dynamic_decode(decoder, maximum_iterations=LONGEST + 2)
        return outputs.predicted_ids, final.log_probs


def spell(codes):
    """Words up to the end."""
    words = [WORDS[code] for code in codes]
    return " ".join(words[: words.index("<end>")] if "<end>" in words else words)


def main(_):
    """Trains, and decodes what was not seen, greedily and by beam search."""
    tf.set_random_seed(8)
    digits = tf.placeholder(tf.int64, [None, None], name="digits_in")
    lengths = tf.placeholder(tf.int32, [None], name="lengths")
    words = tf.placeholder(tf.int64, [None, None], name="words_out")
    with tf.variable_scope("encoder"):
        encoded = encoder(digits, lengths, FLAGS.units)
    with tf.variable_scope("words"):
        decoder = Decoder(FLAGS.units)
    with tf.variable_scope("decode"):
        logits = decoder.train_logits(*encoded, lengths=lengths, words=words)
    with tf.variable_scope("decode", reuse=True):
        greedy = decoder.greedy(*encoded, lengths=lengths)
    with tf.variable_scope("decode", reuse=True):
        found, scores = decoder.beams(*encoded, lengths=lengths, width=FLAGS.beams)
    weights = tf.sequence_mask(lengths + 1, LONGEST + 1, tf.float32)
    loss = seq2seq.sequence_loss(logits, words, weights)
    optimizer = tf.train.AdagradOptimizer(0.2)
    gradients, variables = zip(*optimizer.compute_gradients(loss))
    train = optimizer.apply_gradients(zip(tf.clip_by_global_norm(gradients, 1.0)[0], variables))
    for variable in variables:
        print("%-62s %s" % (variable.op.name, variable.shape))

    random = np.random.RandomState(8)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for step in range(FLAGS.steps + 1):
            batch = dict(zip([digits, lengths, words], make_batch(random)))
            if step % 50 == 0:
                print("step %3d  loss %.4f" % (step, sess.run(loss, batch)))
            sess.run(train, batch)
        unseen = make_batch(random, 3)
        feed = dict(zip([digits, lengths], unseen))
        said, best, log_probs = sess.run([greedy, found, scores], feed)
        for i in range(3):
            print("%s -> %s" % (" ".join(str(d - 1) for d in unseen[0][i][: unseen[1][i]]), spell(said[i])))
            for beam in range(2):
                print("    beam %d, log p %.3f: %s" % (beam, log_probs[i, beam], spell(best[i, :, beam])))


if __name__ == "__main__":
    tf.app.run()
