"""Bad input of random operations and candidate samplers; fed, unless the name ends in _static or _attr."""

import numpy as np

from cases.bad_control import fed
from cases.table import Table

TABLE = Table("bad_random")
error_case = TABLE.error_case


def numbers(tf, *values):
    return fed(tf, values, np.float32)


def seeded(tf, op, seed=(1, 2), shape=(2,), **inputs):
    """An op whose numbers depend on its seed alone."""
    return getattr(tf.raw_ops, op)(shape=fed(tf, shape), seed=fed(tf, seed), **inputs)


def bounded(tf, **inputs):
    given = dict(shape=[2, 3], means=0.0, stdevs=1.0, minvals=-1.0, maxvals=1.0)
    return tf.raw_ops.ParameterizedTruncatedNormal(**{k: fed(tf, v) for k, v in dict(given, **inputs).items()})


def sampled(tf, kind="LogUniform", classes=((0, 1), (2, 0)), **attrs):
    given = dict(num_true=2, num_sampled=3, unique=True, range_max=5)
    return getattr(tf.raw_ops, kind + "CandidateSampler")(true_classes=fed(tf, classes, np.int64), **dict(given, **attrs))[0]


def hits(tf, classes, candidates, num_true=2):
    return tf.raw_ops.ComputeAccidentalHits(true_classes=classes, sampled_candidates=candidates, num_true=num_true)[0]


def generated(tf, state, algorithm=1):
    """Numbers of a generator whose state is a variable."""
    held = tf.Variable(np.array(state, np.int64), use_resource=True)
    return tf.raw_ops.StatefulUniform(resource=held.handle, algorithm=np.int64(algorithm), shape=np.array([2], np.int64))


# fmt: off
ROWS = {
    "normal_shape_negative": lambda tf: tf.random.normal(fed(tf, [2, -1])),
    "normal_shape_rank": lambda tf: tf.random.normal(fed(tf, 2)),
    "normal_shape_rank_static": lambda tf: tf.random.normal(2),
    "uniform_int_order": lambda tf: tf.random.uniform([2], 5, fed(tf, 5), tf.int32),
    "uniform_int_bounds_rank": lambda tf: tf.random.uniform([2], fed(tf, [0, 1]), 5, tf.int32),
    "uniform_int_no_maximum_attr": lambda tf: tf.random.uniform([2], dtype=tf.int32),
    "gamma_shape": lambda tf: tf.random.gamma(fed(tf, [-1]), 1.0),
    "poisson_shape": lambda tf: tf.random.poisson(1.0, fed(tf, [-1])),
    "truncated_means": lambda tf: bounded(tf, means=[0.0, 1.0, 2.0]),
    "truncated_means_rank_static": lambda tf: tf.raw_ops.ParameterizedTruncatedNormal(
        shape=[2, 3], means=[[0.0]], stdevs=1.0, minvals=-1.0, maxvals=1.0
    ),
    "truncated_shape": lambda tf: bounded(tf, shape=[-1]),
    "truncated_order": lambda tf: bounded(tf, minvals=2.0),
    "multinomial_count": lambda tf: tf.random.multinomial(fed(tf, [[1.0, 2.0]]), fed(tf, -1)),
    "multinomial_count_static": lambda tf: tf.random.multinomial([[1.0, 2.0]], -1),
    "multinomial_rank": lambda tf: tf.random.multinomial(numbers(tf, 1.0, 2.0), 3),
    "multinomial_no_classes": lambda tf: tf.random.multinomial(fed(tf, np.zeros([2, 0])), 3),
    "stateless_seed": lambda tf: seeded(tf, "StatelessRandomUniform", (1, 2, 3)),
    "stateless_seed_rank": lambda tf: seeded(tf, "StatelessRandomNormal", ((1, 2),)),
    "stateless_seed_static": lambda tf: tf.random.stateless_normal([2], [1, 2, 3]),
    "stateless_shape": lambda tf: seeded(tf, "StatelessTruncatedNormal", shape=(-1,)),
    "stateless_int_seed": lambda tf: seeded(tf, "StatelessRandomUniformInt", (1,), minval=0, maxval=5),
    "stateless_int_order": lambda tf: seeded(tf, "StatelessRandomUniformInt", minval=5, maxval=fed(tf, 2)),
    "stateless_multinomial_seed": lambda tf: tf.raw_ops.StatelessMultinomial(
        logits=fed(tf, [[1.0, 2.0]]), num_samples=3, seed=fed(tf, [[1, 2]])
    ),
    "crop_size": lambda tf: tf.random_crop(fed(tf, np.ones([2, 2])), fed(tf, [3, 1])),
    "sampler_many_attr": lambda tf: sampled(tf, num_sampled=6),
    "sampler_range_attr": lambda tf: sampled(tf, range_max=0),
    "sampler_classes": lambda tf: sampled(tf, "Uniform", (0, 1)),
    "sampler_width": lambda tf: sampled(tf, "LearnedUnigram", ((0,),)),
    "hits_width_static": lambda tf: hits(tf, tf.constant([[0, 1]], tf.int64), fed(tf, [0], np.int64), num_true=3),
    "hits_candidates_static": lambda tf: hits(tf, fed(tf, [[0, 1]], np.int64), tf.constant([[0]], tf.int64)),
    "hits_candidates": lambda tf: hits(tf, fed(tf, [[0, 1]], np.int64), fed(tf, [[0]], np.int64)),
    "generator_state": lambda tf: generated(tf, [1, 2]),
    "generator_algorithm": lambda tf: generated(tf, [1, 2, 3], 9),
}
# fmt: on

for _name, _build in ROWS.items():
    error_case(_name, _build)
