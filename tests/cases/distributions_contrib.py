"""tf.contrib.distributions: mixtures, matrices, vectors, quantized numbers, statistics of samples."""

import numpy as np

from cases.table import F32, F64, Table

TABLE = Table("distributions_contrib")
case, error_case = TABLE.case, TABLE.error_case
CLOSE = dict(rtol=2e-5, atol=2e-5, reason="another order of sums and products in triangular solves and logarithms")
POSITIVE = dict(low=0.5, high=2.0)


def _statistics(make, value, names, seed=None):
    """The log density at a value and statistics of a distribution."""

    def build(tf, x, **inputs):
        d = make(tf, **inputs)
        return [d.log_prob(x)] + [getattr(d, name)() for name in names]

    return build


def _once(tf, session, outputs, feed):
    """One run: the number of samples of each component, which later nodes are compiled for, is another in each."""
    return session.run(outputs, feed)


def _mixture(tf, w, a, b):
    ds = tf.contrib.distributions
    return ds.Mixture(cat=ds.Categorical(logits=w), components=[ds.Normal(a, 1.0), ds.Laplace(b, 2.0)])


case("mixture", _statistics(_mixture, None, ["mean", "stddev", "variance", "entropy_lower_bound", "batch_shape_tensor"]),
     x=F32(3), w=F32(3, 2), a=F32(3), b=F32(3), partial=False)  # fmt: skip
case("mixture_log_cdf", lambda tf, x, w, a, b: _mixture(tf, w, a, b).log_cdf(x), x=F32(3), w=F32(3, 2), a=F32(3), b=F32(3), partial=False)
case("mixture_sample", lambda tf, w, a, b: _mixture(tf, w, a, b).sample(5, seed=7), run=_once, w=F32(3, 2), a=F32(3), b=F32(3), partial=False)


def _static_mixture(tf, w):
    ds = tf.contrib.distributions
    parts = [ds.MultivariateNormalDiag([float(k), 2.0 * k], [1.0, 0.5]) for k in range(3)]
    return ds.Mixture(cat=ds.Categorical(logits=w), components=parts, use_static_graph=True, validate_args=True)


case("mixture_static", lambda tf, w: [_static_mixture(tf, w).sample(4, seed=3), _static_mixture(tf, w).mean()], w=F32(3), partial=False, grad=False)
for i, broken in enumerate((
    lambda ds: ds.Mixture(cat=ds.Normal(0.0, 1.0), components=[ds.Normal(0.0, 1.0)]),
    lambda ds: ds.Mixture(cat=ds.Categorical([0.0, 1.0]), components=[]),
    lambda ds: ds.Mixture(cat=ds.Categorical([0.0, 1.0]), components=[ds.Normal(0.0, 1.0)]),
    lambda ds: ds.Mixture(cat=ds.Categorical([0.0]), components=[1.0]),
    lambda ds: ds.Mixture(cat=ds.Categorical([0.0, 1.0]), components=[ds.Normal(0.0, 1.0), ds.Normal(np.float64(0), np.float64(1))]),
    lambda ds: ds.Mixture(cat=ds.Categorical([0.0, 1.0]), components=[ds.Normal(0.0, 1.0), ds.Normal([0.0] * 3, 1.0)]),
)):
    error_case("mixture_bad_%d" % i, lambda tf, b=broken: b(tf.contrib.distributions))

case("deterministic", _statistics(lambda tf, m: tf.contrib.distributions.Deterministic(m, atol=0.5, rtol=0.1, validate_args=True),
     None, ["mean", "variance", "entropy", "mode", "sample"]), x=F32(4), m=F32(4), partial=False, grad=False)  # fmt: skip
case("deterministic_cdf", lambda tf, x, m: tf.contrib.distributions.Deterministic(m).cdf(x), x=F32(4), m=F32(4), grad=False, partial=False)
case("vector_deterministic", lambda tf, x, m: [
    tf.contrib.distributions.VectorDeterministic(m, atol=1.0, validate_args=True).prob(x),
    tf.contrib.distributions.VectorDeterministic(m).sample(3)], x=F32(2, 3), m=F32(2, 3), partial=False, grad=False)  # fmt: skip
error_case("vector_deterministic_scalar", lambda tf: tf.contrib.distributions.VectorDeterministic(1.0, validate_args=True))


def _quantized(tf, m, validate_args=False):
    ds = tf.contrib.distributions
    return ds.QuantizedDistribution(ds.Normal(m, 2.0), low=-2.0, high=3.0, validate_args=validate_args)


WHOLE = np.array([-3.0, -2.0, 0.0, 2.0, 3.0, 4.0], np.float32)
case("quantized", lambda tf, x, m: [getattr(_quantized(tf, m), f)(x) for f in (
    "prob", "cdf", "survival_function", "log_prob", "log_cdf", "log_survival_function")],
    x=WHOLE, m=F32(6), partial=False, grad=False, **CLOSE)  # fmt: skip
case("quantized_sample", lambda tf, m: _quantized(tf, m).sample(5, seed=9), m=F32(3), partial=False, grad=False)
error_case("quantized_fraction", lambda tf, x: _quantized(tf, 0.0, True).prob(x), x=np.float32(0.5))
error_case("quantized_bounds", lambda tf: tf.contrib.distributions.QuantizedDistribution(
    tf.distributions.Normal(0.0, 1.0), low=3.0, high=2.0, validate_args=True).sample())  # fmt: skip
error_case("quantized_dtype", lambda tf: tf.contrib.distributions.QuantizedDistribution(
    tf.distributions.Normal(0.0, 1.0), low=np.float64(3.0)))  # fmt: skip

MATRIX = np.array([[2.0, 0.4, 0.1], [0.4, 1.5, -0.2], [0.1, -0.2, 1.0]])
FACTORS = np.stack([np.linalg.cholesky(MATRIX), np.linalg.cholesky(MATRIX + np.eye(3))])
for dtype in (np.float32, np.float64):
    case("wishart_full_" + dtype.__name__, _statistics(
        lambda tf, s: tf.contrib.distributions.WishartFull(df=5.0, scale=s, validate_args=True), None,
        ["mean", "variance", "stddev", "mode", "entropy", "mean_log_det", "log_normalization", "scale"]),
        x=(MATRIX + np.eye(3)).astype(dtype), s=MATRIX.astype(dtype), partial=False, grad=False, **CLOSE)  # fmt: skip
case("wishart_cholesky", _statistics(
    lambda tf, s: tf.contrib.distributions.WishartCholesky(df=4.0, scale=s, cholesky_input_output_matrices=True), None,
    ["mean", "variance", "mode", "entropy", "scale"]),
    x=np.stack([FACTORS, 2 * FACTORS]).astype(np.float32), s=FACTORS.astype(np.float32), partial=False, grad=False, **CLOSE)  # fmt: skip
case("wishart_sample", lambda tf, s: tf.contrib.distributions.WishartCholesky(df=5.0, scale=s).sample([2, 3], seed=5),
     s=FACTORS.astype(np.float32), partial=False, grad=False, **CLOSE)  # fmt: skip
error_case("wishart_df", lambda tf: tf.contrib.distributions.WishartFull(df=2.0, scale=np.eye(3)))
error_case("wishart_stddev", lambda tf: tf.contrib.distributions.WishartCholesky(
    df=4.0, scale=np.eye(3), cholesky_input_output_matrices=True).stddev())  # fmt: skip

for name in ("VectorLaplaceDiag", "VectorExponentialDiag", "VectorSinhArcsinhDiag"):
    statistics = ["mean", "variance", "stddev", "covariance", "mode"] if name != "VectorSinhArcsinhDiag" else []
    case(name, _statistics(lambda tf, m, s, n=name: getattr(tf.contrib.distributions, n)(m, s), None, statistics),
         x=F32(4, 3, low=3.0, high=4.0), m=F32(3), s=F32(3, **POSITIVE), partial=False, **CLOSE)  # fmt: skip
    case(name + "_sample", lambda tf, m, s, n=name: getattr(tf.contrib.distributions, n)(m, s).sample(4, seed=2),
         m=F32(3), s=F32(3, **POSITIVE), partial=False, **CLOSE)  # fmt: skip
case("VectorSinhArcsinhDiag_skewed", lambda tf, x, m, s, k: tf.contrib.distributions.VectorSinhArcsinhDiag(
    m, s, skewness=k, tailweight=1.5).log_prob(x), x=F32(4, 3), m=F32(3), s=F32(3, **POSITIVE), k=F32(3), partial=False, **CLOSE)  # fmt: skip


def _counts(tf, m, s, scheme="quantiles"):
    ds = tf.contrib.distributions
    return ds.PoissonLogNormalQuadratureCompound(
        m, s, quadrature_size=5, quadrature_fn=getattr(ds, "quadrature_scheme_lognormal_" + scheme)
    )


for scheme in ("quantiles", "gauss_hermite"):
    case("poisson_lognormal_" + scheme, _statistics(lambda tf, m, s, k=scheme: _counts(tf, m, s, k), None, ["mean", "variance", "stddev"]),
         x=np.array([0.0, 2.0, 5.0], np.float32), m=F32(3, low=-1.0, high=1.0), s=F32(3, **POSITIVE), partial=False, grad=False, **CLOSE)  # fmt: skip
case("poisson_lognormal_sample", lambda tf, m, s: _counts(tf, m, s).sample(6, seed=3),
     m=F32(3, low=-1.0, high=1.0), s=F32(3, **POSITIVE), partial=False, grad=False)  # fmt: skip


def _autoregressive(tf):
    ds = tf.contrib.distributions

    def normal(sample=None):
        mean = tf.zeros([3]) if sample is None else 0.5 * tf.concat([tf.zeros_like(sample[..., :1]), sample[..., :-1]], -1)
        return ds.Independent(ds.Normal(mean, 0.5), 1)

    return ds.Autoregressive(normal, sample0=tf.zeros([3]))


case("autoregressive", lambda tf, x: _autoregressive(tf).log_prob(x), x=F32(2, 3), partial=False)
case("autoregressive_sample", lambda tf: _autoregressive(tf).sample(2, seed=3))
error_case("autoregressive_steps", lambda tf: tf.contrib.distributions.Autoregressive(lambda x=None: tf.distributions.Normal([0.0], 1.0), num_steps=0))

for interpolation in (None, "lower", "higher"):
    for q in (0.0, 37.0, 100.0):
        case("percentile_%s_%d" % (interpolation, q), lambda tf, x, q=q, i=interpolation: [
            tf.contrib.distributions.percentile(x, q, axis=a, interpolation=i, keep_dims=k) for a, k in ((None, False), ([0], True), ([-1, 0], False))],
            x=F64(4, 5), partial=False, grad=False)  # fmt: skip
error_case("percentile_axis", lambda tf, x: tf.contrib.distributions.percentile(x, 50.0, axis=[2]), x=F32(2, 3))
error_case("percentile_interpolation", lambda tf, x: tf.contrib.distributions.percentile(x, 50.0, interpolation="bad"), x=F32(2, 3))
error_case("percentile_q", lambda tf, x: tf.contrib.distributions.percentile(x, 150.0, validate_args=True), x=F32(2, 3))
for center in (True, False):
    case("auto_correlation_%s" % center, lambda tf, x, c=center: [
        tf.contrib.distributions.auto_correlation(x, axis=0, max_lags=3, center=c), tf.contrib.distributions.auto_correlation(x, normalize=False)],
        x=F32(6, 4), partial=False, grad=False, **CLOSE)  # fmt: skip
error_case("auto_correlation_dtype", lambda tf: tf.contrib.distributions.auto_correlation([1, 2, 3]))


def _moving(tf, x):
    ds = tf.contrib.distributions
    mean, variance = ds.moving_mean_variance(x, 0.75)
    log_mean = tf.Variable([0.5, 0.1])
    return mean, variance, ds.assign_log_moving_mean_exp(log_mean, x, 0.75)


def _three(tf, session, outputs, feed):
    session.run(tf.global_variables_initializer())
    return [session.run(outputs, feed) for _ in range(3)]


case("moving_stats", _moving, run=_three, x=F32(2))


def _head(tf, x, y, mode):
    learn, softplus = tf.contrib.learn, tf.nn.softplus
    make = lambda logits: tf.distributions.Normal(loc=logits[..., 0], scale=softplus(logits[..., 1]))  # noqa: E731
    head = tf.contrib.distributions.estimator_head_distribution_regression(make, logits_dimension=2)
    ops = head.create_model_fn_ops({}, getattr(learn.ModeKeys, mode), y, train_op_fn=lambda loss: tf.no_op(), logits=x)
    return [ops.predictions["scores"], *([ops.loss] if ops.loss is not None else [])]


for mode in ("TRAIN", "INFER"):
    case(
        "head_" + mode.lower(),
        lambda tf, x, y, m=mode: _head(tf, x, y, m),
        partial=False,
        grad=False,
        x=F32(4, 2),
        y=F32(4, 1),
    )
error_case("head_no_function", lambda tf: tf.contrib.distributions.estimator_head_distribution_regression(None))
error_case("head_dimension", lambda tf: tf.contrib.distributions.estimator_head_distribution_regression(lambda x: x, 0))
