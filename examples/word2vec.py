"""Word vectors by skip-gram with negative sampling (NCE), learned from sentences that a small grammar makes.

Words that are used alike, the animals, the meals, the places, end up close to each other.

    tfcompat run examples/word2vec.py
"""

import collections

import numpy as np
import tensorflow as tf

flags = tf.app.flags
flags.DEFINE_integer("steps", 2000, "training steps")
flags.DEFINE_integer("dimensions", 16, "size of a word vector")
FLAGS = flags.FLAGS
BATCH, NEGATIVE, SENTENCES, WINDOW = 64, 8, 2000, 2
GRAMMAR = {
    "animal": "cat dog horse mouse sheep goat".split(),
    "meal": "bread cheese apples corn soup rice".split(),
    "place": "garden kitchen barn field cellar yard".split(),
    "time": "morning noon evening night".split(),
}
SENTENCE = "every <time> the <animal> eats <meal> in the <place>".split()


def corpus(random):
    """Words of random sentences, in order."""
    for _ in range(SENTENCES):
        for word in SENTENCE:
            yield random.choice(GRAMMAR[word[1:-1]]) if word.startswith("<") else word


def skip_grams(codes, random):
    """All pairs (word, word near it) [n, 2], shuffled."""
    pairs = [np.stack([codes[:-d], codes[d:]], 1) for d in range(1, WINDOW + 1)]
    pairs = np.concatenate([p for near in pairs for p in (near, near[:, ::-1])])
    return pairs[random.permutation(len(pairs))]


def main(_):
    """Trains the vectors and prints the neighbours of some words."""
    random = np.random.RandomState(4)
    words = list(corpus(random))
    vocabulary = [word for word, _ in sorted(collections.Counter(words).items(), key=lambda item: (-item[1], item[0]))]
    index = {word: i for i, word in enumerate(vocabulary)}
    pairs = skip_grams(np.array([index[word] for word in words]), random)
    print("%d words, %d different ones, %d pairs" % (len(words), len(vocabulary), len(pairs)))

    tf.set_random_seed(4)
    size, dimensions = len(vocabulary), FLAGS.dimensions
    centre = tf.placeholder(tf.int64, [None], name="centre")
    context = tf.placeholder(tf.int64, [None, 1], name="context")
    embeddings = tf.Variable(tf.random_uniform([size, dimensions], -1.0, 1.0), name="embeddings")
    weights = tf.Variable(tf.truncated_normal([size, dimensions], stddev=dimensions**-0.5), name="nce_weights")
    biases = tf.Variable(tf.zeros([size]), name="nce_biases")
    embedded = tf.nn.embedding_lookup(embeddings, centre)
    loss = tf.reduce_mean(tf.nn.nce_loss(weights, biases, context, embedded, NEGATIVE, size))
    train = tf.train.AdagradOptimizer(0.5).minimize(loss)

    query = tf.placeholder(tf.int64, [None], name="query")
    unit = tf.nn.l2_normalize(embeddings, 1)
    similarity, nearest = tf.nn.top_k(tf.matmul(tf.gather(unit, query), unit, transpose_b=True), 4)

    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        losses = []
        for step in range(FLAGS.steps):
            batch = pairs[np.arange(step * BATCH, (step + 1) * BATCH) % len(pairs)]
            losses.append(sess.run([loss, train], {centre: batch[:, 0], context: batch[:, 1:]})[0])
            if (step + 1) % (FLAGS.steps // 4) == 0:
                print("step %4d  mean loss %.4f" % (step + 1, np.mean(losses)))
                losses = []
        asked = ["cat", "cheese", "barn", "noon"]
        found = sess.run([similarity, nearest], {query: [index[word] for word in asked]})
        for word, near, numbers in zip(asked, found[1], found[0]):
            print("%-7s" % word, "  ".join("%s %.3f" % (vocabulary[i], s) for i, s in zip(near[1:], numbers[1:])))


if __name__ == "__main__":
    tf.app.run()
