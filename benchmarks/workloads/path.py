"""Operations that whole kinds of programs live on: sparse products, lookups, eager steps, candidate losses, forests, CTC.

Each row is a function of the `tf` module that returns a step, a function without arguments. Runs on Python 3.7 too.
`python -m benchmarks.paths` measures them.
"""

import numpy as np

NODES, VALUES, UNITS = 2708, 139000, 16
ROWS, WIDTH, BATCH, IDS = 20000, 64, 512, 8192
VOCABULARY, SIZE, SAMPLED = 50000, 128, 64


def _runner(tf, fetches, feeds=None):
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return lambda: session.run(fetches, feeds)


def _normal(random, *shape):
    return random.standard_normal(shape).astype(np.float32)


# ---- sparse products, segments and lookups: fed, as graph networks and recommenders do ----


def _sparse_product(tf, differentiated):
    random = np.random.RandomState(0)
    places = np.sort(random.choice(NODES * NODES, VALUES, replace=False))
    indices = np.stack([places // NODES, places % NODES], 1).astype(np.int64)
    adjacency = tf.sparse_placeholder(tf.float32)
    dense = tf.placeholder(tf.float32, [NODES, UNITS])
    product = tf.sparse_tensor_dense_matmul(adjacency, dense)
    feeds = {adjacency: (indices, _normal(random, VALUES), (NODES, NODES)), dense: _normal(random, NODES, UNITS)}
    fetches = tf.gradients(product, dense) if differentiated else product
    return _runner(tf, [product, fetches], feeds)


def _segments(tf, make):
    """A step with `make(tf, rows, indices, segments)` and its gradient."""
    random = np.random.RandomState(0)
    rows = tf.placeholder(tf.float32, [ROWS, WIDTH])
    indices, segments = tf.placeholder(tf.int32, [IDS]), tf.placeholder(tf.int32, [IDS])
    result = make(tf, rows, indices, segments)
    feeds = {
        rows: _normal(random, ROWS, WIDTH),
        indices: random.randint(0, ROWS, IDS).astype(np.int32),
        segments: np.sort(random.randint(0, BATCH, IDS)).astype(np.int32),
    }
    gradient = tf.gradients(result, rows)[0]
    if isinstance(gradient, tf.IndexedSlices):
        gradient = gradient.values
    return _runner(tf, [result, gradient], feeds)


def _unsorted(tf):
    random = np.random.RandomState(0)
    data, ids = tf.placeholder(tf.float32, [IDS, WIDTH]), tf.placeholder(tf.int32, [IDS])
    result = tf.unsorted_segment_sum(data, ids, BATCH)
    feeds = {data: _normal(random, IDS, WIDTH), ids: random.randint(0, BATCH, IDS).astype(np.int32)}
    return _runner(tf, [result, tf.gradients(result, data)], feeds)


def _lookup_sparse(tf, optimizer):
    """A step that trains a table through embedding_lookup_sparse."""
    random = np.random.RandomState(0)
    table = tf.Variable(_normal(random, ROWS, WIDTH))
    ids = tf.sparse_placeholder(tf.int64)
    looked_up = tf.nn.embedding_lookup_sparse(table, ids, None, combiner="mean")
    loss = tf.reduce_sum(tf.square(looked_up))
    rows = np.sort(random.randint(0, BATCH, IDS))
    feeds = {ids: (np.stack([rows, np.arange(IDS)], 1), random.randint(0, ROWS, IDS), (BATCH, IDS))}
    return _runner(tf, [optimizer(tf).minimize(loss), loss], feeds)


def _slices_update(tf, optimizer):
    """A step that trains a table through a gather of rows."""
    random = np.random.RandomState(0)
    table, ids = tf.Variable(_normal(random, ROWS, WIDTH)), tf.placeholder(tf.int32, [IDS])
    loss = tf.reduce_sum(tf.square(tf.gather(table, ids)))
    return _runner(tf, [optimizer(tf).minimize(loss), loss], {ids: random.randint(0, ROWS, IDS).astype(np.int32)})


# ---- eager execution ----


def _eager_add(tf):
    tf.enable_eager_execution()
    x, y = tf.constant(1.0), tf.constant(2.0)
    return lambda: tf.add(x, y)


def _eager_matmul(tf):
    tf.enable_eager_execution()
    random = np.random.RandomState(0)
    x, y = tf.constant(_normal(random, 128, 784)), tf.constant(_normal(random, 784, 256))
    return lambda: tf.matmul(x, y)


def _eager_layers(tf):
    tf.enable_eager_execution()
    random = np.random.RandomState(0)
    layers = [tf.layers.Dense(256, activation=tf.nn.relu), tf.layers.Dense(256, activation=tf.nn.relu), tf.layers.Dense(10)]
    x, labels = tf.constant(_normal(random, 128, 784)), tf.constant(random.randint(0, 10, 128))

    def loss():
        hidden = x
        for layer in layers:
            hidden = layer(hidden)
        return tf.losses.sparse_softmax_cross_entropy(labels, hidden)

    return tf.contrib.eager.implicit_gradients(loss)


def _eager_adam(tf):
    pairs = _eager_layers(tf)()
    optimizer = tf.train.AdamOptimizer(1e-3)
    return lambda: optimizer.apply_gradients(pairs)


# ---- candidate losses ----


def _candidates(tf, loss, optimizer):
    random = np.random.RandomState(0)
    words, contexts = tf.placeholder(tf.int32, [128]), tf.placeholder(tf.int32, [128, 1])
    vectors = tf.Variable(tf.random_uniform([VOCABULARY, SIZE], -1.0, 1.0))
    weights = tf.Variable(tf.truncated_normal([VOCABULARY, SIZE], stddev=SIZE**-0.5))
    biases = tf.Variable(tf.zeros([VOCABULARY]))
    mean = tf.reduce_mean(
        getattr(tf.nn, loss)(weights, biases, contexts, tf.nn.embedding_lookup(vectors, words), SAMPLED, VOCABULARY)
    )
    drawn = np.exp(random.rand(256) * np.log(VOCABULARY)).astype(np.int32)
    return _runner(tf, [optimizer(tf).minimize(mean), mean], {words: drawn[:128], contexts: drawn[128:, None]})


# ---- forests and CTC ----


def _forest(tf):
    random = np.random.RandomState(0)
    forest = tf.contrib.tensor_forest.python.tensor_forest
    params = forest.ForestHParams(
        num_classes=10, num_features=784, num_trees=10, max_nodes=1000, split_after_samples=250
    ).fill()  # fmt: skip
    graph = forest.RandomForestGraphs(params)
    x, y = tf.placeholder(tf.float32, [None, 784]), tf.placeholder(tf.int32, [None])
    fetches = [graph.training_graph(x, y), graph.training_loss(x, y)]
    session = tf.Session()
    session.run([tf.global_variables_initializer()] + [resource.create for resource in tf.get_collection(tf.GraphKeys.RESOURCES)])
    labels = random.randint(0, 10, 1024).astype(np.int32)
    return lambda: session.run(fetches, {x: random.rand(1024, 784).astype(np.float32) + labels[:, None] / 10.0, y: labels})


def _speech():
    """Logits `(time, batch, classes)` of 150 x 16 x 29, labels as the parts of a sparse matrix, and lengths."""
    random = np.random.RandomState(0)
    rows = [random.randint(0, 28, 30 + i) for i in range(16)]
    indices = np.array([[i, j] for i, row in enumerate(rows) for j in range(len(row))], np.int64)
    labels = (indices, np.concatenate(rows).astype(np.int32), (16, 46))
    return 3 * _normal(random, 150, 16, 29), labels, np.full(16, 150, np.int32)


def _ctc_loss(tf):
    logits, labels, lengths = _speech()
    x, y, n = tf.placeholder(tf.float32, logits.shape), tf.sparse_placeholder(tf.int32), tf.placeholder(tf.int32, [16])
    loss = tf.reduce_mean(tf.nn.ctc_loss(y, x, n))
    return _runner(tf, [loss, tf.gradients(loss, x)], {x: logits, y: labels, n: lengths})


def _ctc_beam(tf):
    logits, _, lengths = _speech()
    x, n = tf.placeholder(tf.float32, logits.shape), tf.placeholder(tf.int32, [16])
    return _runner(tf, tf.nn.ctc_beam_search_decoder(x, n, beam_width=100), {x: logits, n: lengths})


def _gradient_descent(tf):
    return tf.train.GradientDescentOptimizer(0.01)


def _adam(tf):
    return tf.train.AdamOptimizer(1e-3)


PATHS = {
    "sparse_product": lambda tf: _sparse_product(tf, False),
    "sparse_product_gradient": lambda tf: _sparse_product(tf, True),
    "embedding_lookup_sparse_sgd": lambda tf: _lookup_sparse(tf, _gradient_descent),
    "embedding_lookup_sparse_adam": lambda tf: _lookup_sparse(tf, _adam),
    "sparse_segment_sum": lambda tf: _segments(tf, lambda tf, x, i, s: tf.sparse_segment_sum(x, i, s, num_segments=BATCH)),
    "sparse_segment_mean": lambda tf: _segments(tf, lambda tf, x, i, s: tf.sparse_segment_mean(x, i, s)),
    "unsorted_segment_sum": _unsorted,
    "slices_update_sgd": lambda tf: _slices_update(tf, _gradient_descent),
    "slices_update_adam": lambda tf: _slices_update(tf, _adam),
    "eager_add": _eager_add,
    "eager_matmul": _eager_matmul,
    "eager_implicit_gradients": _eager_layers,
    "eager_adam_apply": _eager_adam,
    "nce_loss_sgd": lambda tf: _candidates(tf, "nce_loss", _gradient_descent),
    "nce_loss_adam": lambda tf: _candidates(tf, "nce_loss", _adam),
    "sampled_softmax_sgd": lambda tf: _candidates(tf, "sampled_softmax_loss", _gradient_descent),
    "sampled_softmax_adam": lambda tf: _candidates(tf, "sampled_softmax_loss", _adam),
    "tensor_forest": _forest,
    "ctc_loss": _ctc_loss,
    "ctc_beam_search": _ctc_beam,
}
