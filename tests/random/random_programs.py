"""Calls whose nodes are compared with TensorFlow 1.15: name and a function of the `tf` module."""

PROGRAMS = {
    "uniform": lambda tf: tf.random_uniform([3, 4], 1, 5),
    "uniform_int": lambda tf: tf.random_uniform([3], 0, 5, tf.int32),
    "uniform_scalar": lambda tf: tf.random_uniform([], seed=7),
    "normal": lambda tf: tf.random_normal([3]),
    "normal_named": lambda tf: tf.random_normal([3], 1.0, 2.0, tf.float64, 3, "noise"),
    "truncated_normal": lambda tf: tf.truncated_normal([3]),
    "shuffle": lambda tf: tf.random_shuffle([1, 2, 3]),
    "multinomial": lambda tf: tf.multinomial([[1.0, 2.0]], 3),
    "categorical": lambda tf: tf.random.categorical([[1.0, 2.0]], 3, tf.int32),
    "gamma": lambda tf: tf.random_gamma([3], [1.0, 2.0], 2.0),
    "poisson": lambda tf: tf.random_poisson([1.0, 2.0], [3]),
    "stateless_uniform": lambda tf: tf.random.stateless_uniform([3], [1, 2]),
    "stateless_uniform_int": lambda tf: tf.random.stateless_uniform([3], [1, 2], 0, 5, tf.int32),
    "stateless_normal": lambda tf: tf.random.stateless_normal([3], [1, 2]),
    "stateless_truncated_normal": lambda tf: tf.random.stateless_truncated_normal([3], [1, 2]),
    "stateless_multinomial": lambda tf: tf.random.stateless_multinomial([[1.0, 2.0]], 3, [1, 2]),
    "stateless_categorical": lambda tf: tf.random.stateless_categorical([[1.0, 2.0]], 3, [1, 2]),
    "uniform_candidates": lambda tf: tf.random.uniform_candidate_sampler([[1]], 1, 5, True, 20),
    "log_uniform_candidates": lambda tf: tf.nn.log_uniform_candidate_sampler([[1]], 1, 5, True, 20),
    "fixed_unigram_candidates": lambda tf: tf.nn.fixed_unigram_candidate_sampler(
        [[1]], 1, 2, True, 3, unigrams=[1.0, 2.0, 3.0]
    ),
    "learned_unigram_candidates": lambda tf: tf.nn.learned_unigram_candidate_sampler([[1]], 1, 2, True, 3),
    "all_candidates": lambda tf: tf.nn.all_candidate_sampler([[1]], 1, 5, True),
    "accidental_hits": lambda tf: tf.nn.compute_accidental_hits([[1]], [1, 2], 1),
}

GRAPH_SEED = 42
EXTREME_SEEDS = [(None, 0), (0, None), (0, 0), (-1, 2**40), (2**31 - 1, 2**31 - 1), (None, None), (5, -3)]


def describe(graph):
    """Name, type, inputs and seeds of every node."""
    found = []
    for op in graph.get_operations():
        seeds = [op.get_attr(k) for k in ("seed", "seed2")] if "seed" in op.node_def.attr else []
        found.append([op.name, op.type, [t.name for t in op.inputs], [int(s) for s in seeds]])
    return found
