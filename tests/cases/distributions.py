"""tf.distributions: samples, densities, statistics and divergences."""

from cases.table import F32, I32, Table

TABLE = Table("distributions")
case, error_case = TABLE.case, TABLE.error_case

LOC, SCALE = F32(3), F32(2, 1, low=0.5, high=2.0)
POSITIVE, OTHER = F32(3, low=0.5, high=3.0), F32(3, low=0.5, high=3.0)
SHARE = F32(3, low=0.1, high=0.9)


def each(name, make, methods, value=None, **inputs):
    """A row for each method of a distribution."""
    for method in methods.split():
        if method == "sample":
            case(name + "_sample", lambda tf, **p: make(tf, **p).sample(4, seed=7), seed=5, grad=False, **inputs)
        elif value is None or method in ("mean", "variance", "stddev", "mode", "entropy"):
            case(name + "_" + method, lambda tf, method=method, **p: getattr(make(tf, **p), method)(), **inputs)
        else:
            case(
                name + "_" + method,
                lambda tf, value_, method=method, **p: getattr(make(tf, **p), method)(value_),
                value_=value,
                **inputs
            )


each(
    "normal",
    lambda tf, a, b: tf.distributions.Normal(a, b),
    "sample log_prob prob cdf log_cdf survival_function log_survival_function mean variance stddev mode entropy",
    LOC,
    a=LOC,
    b=SCALE,
)
each("normal", lambda tf, a, b: tf.distributions.Normal(a, b), "quantile", SHARE, a=LOC, b=SCALE)
each(
    "laplace",
    lambda tf, a, b: tf.distributions.Laplace(a, b),
    "sample log_prob cdf log_cdf log_survival_function mean stddev variance entropy",
    LOC,
    a=LOC,
    b=SCALE,
)
each(
    "uniform",
    lambda tf, a, b: tf.distributions.Uniform(a - 3.0, b),
    "sample prob log_prob cdf mean variance stddev entropy",
    LOC,
    a=LOC,
    b=SCALE,
)
each(
    "gamma",
    lambda tf, a, b: tf.distributions.Gamma(a, b),
    "log_prob mean variance stddev mode entropy",
    POSITIVE,
    a=POSITIVE,
    b=SCALE,
)
each(
    "exponential", lambda tf, a: tf.distributions.Exponential(a), "sample log_prob log_survival_function mean entropy", POSITIVE, a=POSITIVE
)
each(
    "beta",
    lambda tf, a, b: tf.distributions.Beta(a, b),
    "log_prob mean variance mode entropy",
    SHARE,
    a=POSITIVE,
    b=SCALE,
)
each(
    "student_t",
    lambda tf, a, b: tf.distributions.StudentT(a, 0.5, b),
    "log_prob mean variance mode entropy",
    LOC,
    a=POSITIVE,
    b=SCALE,
)
each("bernoulli", lambda tf, a: tf.distributions.Bernoulli(a), "sample mean variance mode entropy", a=LOC)
each("bernoulli_probs", lambda tf, a: tf.distributions.Bernoulli(probs=a), "sample log_prob", I32(3, low=0, high=2), a=SHARE)
each("categorical", lambda tf, a: tf.distributions.Categorical(a), "sample mode entropy", a=F32(2, 4))
each(
    "categorical_value", lambda tf, a: tf.distributions.Categorical(a), "log_prob prob cdf", I32(2, low=0, high=4), a=F32(2, 4)
)
each(
    "dirichlet",
    lambda tf, a: tf.distributions.Dirichlet(a),
    "mean variance mode entropy",
    a=F32(3, 3, low=1.5, high=3.0),
)
case(
    "multinomial_log_prob",
    lambda tf, a: tf.distributions.Multinomial(4.0, a).log_prob([1.0, 1.0, 2.0]),
    a=F32(2, 3),
)
for name in ("Normal", "Gamma", "Beta"):
    tolerance = {"rtol": 1e-4, "reason": "float32 digamma differs in its last bits, and terms cancel"} if name == "Beta" else {}
    case(
        "kl_" + name.lower(),
        lambda tf, a, b, c, d, name=name: tf.distributions.kl_divergence(
            getattr(tf.distributions, name)(a, b), getattr(tf.distributions, name)(c, d)
        ),
        a=POSITIVE,
        b=SCALE,
        c=OTHER,
        d=POSITIVE,
        **tolerance
    )
for name in ("Bernoulli", "Categorical", "Dirichlet"):
    case(
        "kl_" + name.lower(),
        lambda tf, a, b, name=name: tf.distributions.kl_divergence(
            getattr(tf.distributions, name)(a), getattr(tf.distributions, name)(b)
        ),
        a=F32(2, 3, low=0.5, high=2.0),
        b=F32(2, 3, low=0.5, high=2.0),
    )
error_case("bernoulli_both", lambda tf: tf.distributions.Bernoulli(logits=[0.0], probs=[0.5]))
error_case("kl_unregistered", lambda tf: tf.distributions.kl_divergence(tf.distributions.Normal(0.0, 1.0), tf.distributions.Beta(1.0, 1.0)))
error_case("normal_mixed_dtypes", lambda tf: tf.distributions.Normal(tf.constant(0.0, tf.float64), tf.constant(1.0)))
