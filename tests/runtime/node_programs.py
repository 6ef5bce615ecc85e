"""Programs with loops that are fed another shape in each run. TensorFlow 1.15 runs them too: tests/oracle/record_nodes.py.

Each function takes the module and returns the fetches of a run, and the feeds of each run.
"""

import numpy as np


def _draw(seed):
    return np.random.RandomState(seed)


def _constants(tf, name, *sizes):
    values = np.linspace(-0.5, 0.5, int(np.prod(sizes)), dtype=np.float32)
    return tf.get_variable(name, initializer=np.resize(_draw(1).permutation(values), sizes).astype(np.float32))


def recurrent(tf):
    """dynamic_rnn with lengths, trained by momentum."""
    x = tf.placeholder(tf.float32, [None, None, 3])
    n = tf.placeholder(tf.int32, [None])
    with tf.variable_scope("rnn", initializer=tf.constant_initializer(0.25)):
        outputs, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(4), x * _constants(tf, "scale", 3), n, dtype=tf.float32)
    loss = tf.reduce_sum(outputs**2)
    train = tf.train.MomentumOptimizer(0.01, 0.9).minimize(loss)
    r = _draw(2)
    feeds = [{x: r.rand(b, t, 3).astype(np.float32), n: r.randint(0, t + 1, b)} for b, t in ((2, 5), (1, 1), (3, 7), (2, 5), (4, 2))]
    return [loss, outputs, train], feeds


def collatz(tf):
    """A loop that ends as data say, with a conditional, and the gradient of what it multiplies."""
    start = tf.placeholder(tf.int32, [])
    x = tf.placeholder(tf.float32, [None])
    factor = _constants(tf, "factor", 1)

    def step(number, y):
        odd = tf.equal(number % 2, 1)
        return tf.cond(odd, lambda: 3 * number + 1, lambda: number // 2), tf.cond(odd, lambda: y * (1 + factor), lambda: tf.tanh(y))

    _, y = tf.while_loop(lambda number, _: number > 1, step, [start, x], shape_invariants=[start.shape, tf.TensorShape([None])])
    return [y, tf.gradients(y, [x, factor])], [{start: s, x: np.linspace(0.1, 1, k)} for s, k in ((6, 2), (7, 5), (1, 3), (27, 1))]


def arrays(tf):
    """map_fn and scan, of which the length is fed; an accumulator is a variable that the loop adds to."""
    x = tf.placeholder(tf.float32, [None, 2])
    total = tf.get_variable("total", initializer=0.0)
    with tf.control_dependencies([total.assign_add(tf.reduce_sum(x))]):
        squares = tf.map_fn(lambda row: tf.reduce_sum(row**2), x)
    sums = tf.scan(lambda a, b: a * 0.5 + b, squares)
    return [squares, sums, tf.gradients(sums, x), total.read_value() if hasattr(total, "read_value") else total], [
        {x: _draw(k).rand(k, 2)} for k in (3, 1, 6, 3)
    ]


def nested(tf):
    """A loop in a loop, differentiated, with a sparse gradient of an embedding."""
    ids = tf.placeholder(tf.int32, [None, None])
    table = _constants(tf, "table", 5, 2)
    rows = tf.nn.embedding_lookup(table, ids)

    def outer(i, total):
        inner = tf.while_loop(lambda j, _: j < i + 1, lambda j, s: (j + 1, s * 0.5 + tf.reduce_sum(rows[i]) * tf.to_float(j + 1)), [0, 0.0])[1]
        return i + 1, total + inner**2

    total = tf.while_loop(lambda i, _: i < tf.shape(ids)[0], outer, [0, 0.0])[1]
    train = tf.train.AdagradOptimizer(0.1).minimize(total)
    return [total, train], [{ids: _draw(k).randint(0, 5, (k, j))} for k, j in ((2, 3), (4, 1), (1, 2), (3, 5))]


def decoder(tf):
    """dynamic_decode with attention: later nodes depend on the length of what the loop has made."""
    words = tf.placeholder(tf.int32, [None, None])
    lengths = tf.placeholder(tf.int32, [None])
    seq2seq = tf.contrib.seq2seq
    with tf.variable_scope("decoder", initializer=tf.constant_initializer(0.2)):
        inputs = tf.nn.embedding_lookup(_constants(tf, "table", 6, 3), words)
        attention = seq2seq.LuongAttention(3, inputs * 2.0, memory_sequence_length=lengths)
        cell = seq2seq.AttentionWrapper(tf.nn.rnn_cell.BasicLSTMCell(3), attention, attention_layer_size=3)
        state = cell.zero_state(tf.shape(words)[0], tf.float32)
        decoding = seq2seq.BasicDecoder(cell, seq2seq.TrainingHelper(inputs, lengths), state, tf.layers.Dense(6))
        results, _, _ = seq2seq.dynamic_decode(decoding)
    loss = tf.reduce_mean(results.rnn_output[:, :, 1] ** 2)
    train = tf.train.AdamOptimizer(0.01).minimize(loss)
    r = _draw(5)
    shapes = ((2, [3, 2]), (1, [4]), (3, [1, 5, 2]), (2, [2, 2]))
    return [loss, results.sample_id, train], [{words: r.randint(0, 6, (b, max(n))), lengths: n} for b, n in shapes]


PROGRAMS = {f.__name__: f for f in (recurrent, collatz, arrays, nested, decoder)}


def observed(tf, name):
    """What each run of a program gives, as lists of numbers; and the trained variables at the end."""
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(1)
        fetches, feeds = PROGRAMS[name](tf)
        session.run(tf.global_variables_initializer())
        runs = [session.run(fetches, feed) for feed in feeds]
        return [_plain(run) for run in runs] + [_plain(session.run(tf.trainable_variables()))]


def _plain(value):
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value if v is not None]
    return np.asarray(value).tolist()
