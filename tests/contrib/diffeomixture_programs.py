"""tf.contrib.distributions.VectorDiffeomixture: densities, moments, samples, gradients and what it refuses."""

import functools

import numpy as np


def operators(tf, kinds, d):
    kit = tf.linalg
    made = {
        "identity": lambda: kit.LinearOperatorIdentity(d, is_positive_definite=True),
        "scaled": lambda: kit.LinearOperatorScaledIdentity(d, np.float32(1.1), is_positive_definite=True),
        "diagonal": lambda: kit.LinearOperatorDiag(np.linspace(2.5, 3.5, d).astype(np.float32), is_positive_definite=True),
        "triangle": lambda: kit.LinearOperatorLowerTriangular(np.tril(np.ones([d, d], np.float32)) + np.eye(d, dtype=np.float32)),
        "batch": lambda: kit.LinearOperatorDiag(np.float32([[1.0, 2.0, 3.0], [2.0, 1.0, 0.5]])[:, :d], is_positive_definite=True),
        "full": lambda: kit.LinearOperatorFullMatrix(2 * np.eye(d, dtype=np.float32), is_positive_definite=True),
        "double": lambda: kit.LinearOperatorIdentity(d, dtype=tf.float64, is_positive_definite=True),
    }
    return [made[kind]() for kind in kinds]


def outcome(kinds, loc, mix_loc, scheme, tf, folder, d=3, **options):
    kit = tf.contrib.distributions
    mix = tf.constant(mix_loc, tf.float32)
    made = kit.VectorDiffeomixture(
        mix, [1.5], kit.Normal(0.5, 1.2), loc, operators(tf, kinds, d), quadrature_size=5,
        quadrature_fn=getattr(kit, "quadrature_scheme_softmaxnormal_" + scheme), validate_args="triangle" not in kinds, **options
    )  # fmt: skip
    points = np.random.RandomState(1).normal(size=(4, 1, d)).astype(np.float32)
    density = made.log_prob(points)
    fetches = [
        made.grid, made.mixture_distribution.probs, density, made.mean(), made.covariance(), made.variance(), made.stddev(),
        tf.gradients(density, mix)[0], made.batch_shape_tensor(), made.event_shape_tensor(), made.sample(5, seed=3),
    ]  # fmt: skip
    with tf.Session() as session:
        found = session.run(fetches)
        drawn = session.run(made.sample(2000, seed=7))
    means = np.abs(drawn.mean(0) - found[3]).max() < 0.6
    return [*found[:-1], list(found[-1].shape), bool(means), str(made.batch_shape), str(made.event_shape)]


LOC = [None, np.float32([2.0, -1.0, 0.5])]
BOTH = [np.float32([[0.0, 1.0, 2.0]]), np.float32([2.0, -1.0, 0.5])]
CASES = {
    "diagonal": (("scaled", "diagonal"), LOC, [1.0], "quantiles"),
    "identities": (("identity", "scaled"), None, [0.0], "quantiles"),
    "one_identity": (("identity", "identity"), LOC[::-1], [0.5], "quantiles"),
    "triangle": (("triangle", "diagonal"), BOTH, [0.3], "quantiles"),
    "batch_of_mixtures": (("scaled", "diagonal"), LOC, [[0.0], [1.0]], "quantiles"),
    "batch_of_scales": (("batch", "diagonal"), BOTH, [[0.0], [1.0]], "quantiles"),
    "full_matrix": (("full", "diagonal"), LOC, [1.0], "quantiles"),
    "dtypes": (("double", "double"), LOC, [1.0], "quantiles"),
    "one_scale": (("diagonal",), LOC[:1], [1.0], "quantiles"),
    "three_scales": (("diagonal",) * 3, LOC + [None], [1.0], "quantiles"),
    "other_count": (("diagonal",) * 2, LOC[:1], [1.0], "quantiles"),
    "mix_of_two": (("diagonal",) * 2, LOC, [[1.0, 2.0]], "quantiles"),
}
PROGRAMS = {name: functools.partial(outcome, *case) for name, case in CASES.items()}


def schemes(tf, folder):
    kit = tf.contrib.distributions
    with tf.Session() as session:
        return session.run([
            getattr(kit, "quadrature_scheme_softmaxnormal_" + name)([[0.5], [-2.0]], [[1.0], [0.3]], 4) for name in ("quantiles",)
        ])  # fmt: skip


def scalar_scale(tf, folder):
    return tf.contrib.distributions.quadrature_scheme_softmaxnormal_quantiles([0.5], 1.0, 4)


def wide_scale(tf, folder):
    return tf.contrib.distributions.quadrature_scheme_softmaxnormal_quantiles([0.5], [1.0, 2.0], 4)


PROGRAMS.update({f.__name__: f for f in (schemes, scalar_scale, wide_scale)})
