"""tf.contrib.constrained_optimization."""

import numpy as np

from cases.table import Table

TABLE = Table("constrained")
case, error_case = TABLE.case, TABLE.error_case


def problem_of(tf, x, proxies):
    """Two weights with a sum of at most 1 and a first one of at least 0.2."""
    w = tf.Variable(np.array([0.9, 0.8], np.float32), name="w", use_resource=True)
    objective = tf.reduce_sum(tf.square(w - x))
    constraints = tf.stack([tf.reduce_sum(w) - 1.0, 0.2 - w[0]])

    class Problem(tf.contrib.constrained_optimization.ConstrainedMinimizationProblem):
        @property
        def objective(self):
            return objective

        @property
        def constraints(self):
            return constraints

        @property
        def proxy_constraints(self):
            return 2.0 * constraints if proxies else None

        @property
        def pre_train_ops(self):
            return [constraints.op]

    return Problem()


def trained(tf, session, out, feed):
    for _ in range(10):
        session.run(out["train"], feed)
    return session.run(tf.global_variables())


def built(tf, x, make, proxies=False, **options):
    step = tf.train.get_or_create_global_step()
    optimizer = make(tf.contrib.constrained_optimization, tf.train.GradientDescentOptimizer(0.2), tf)
    return {"train": optimizer.minimize(problem_of(tf, x, proxies), global_step=step, **options)}


OPTIMIZERS = {
    "external": lambda c, o, tf: c.AdditiveExternalRegretOptimizer(o, tf.train.GradientDescentOptimizer(0.5)),
    "external_radius": lambda c, o, tf: c.AdditiveExternalRegretOptimizer(
        o, tf.train.GradientDescentOptimizer(0.5), maximum_multiplier_radius=0.3
    ),
    "swap": lambda c, o, tf: c.AdditiveSwapRegretOptimizer(o),
    "multiplicative": lambda c, o, tf: c.MultiplicativeSwapRegretOptimizer(o, initial_multiplier_radius=0.5),
    "multiplicative_two": lambda c, o, tf: c.MultiplicativeSwapRegretOptimizer(
        o, tf.train.GradientDescentOptimizer(0.5)
    ),
}
X = np.array([1.0, 0.1], np.float32)
for _name, _make in sorted(OPTIMIZERS.items()):
    case(_name, lambda tf, x, m=_make: built(tf, x, m), x=X, run=trained)
case("proxies", lambda tf, x: built(tf, x, OPTIMIZERS["external"], True), x=X, run=trained)
error_case(
    "steps_without_global_step",
    lambda tf, x: tf.contrib.constrained_optimization.AdditiveExternalRegretOptimizer(
        tf.train.GradientDescentOptimizer(0.2)
    ).minimize(problem_of(tf, x, False), unconstrained_steps=3),
    x=X,
)
error_case("radius", lambda tf: tf.contrib.constrained_optimization.MultiplicativeSwapRegretOptimizer(
    None, minimum_multiplier_radius=2.0
))  # fmt: skip
