"""Random ops whose numbers go on from one run to the next."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from tfcompat._src.base import checks, dtypes, errors
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import dimension_value
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, RANDOM, Facts, NotDifferentiable, op
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.nodes import convert, raw
from tfcompat._src.ops.array.fill import ones, zeros_like
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.shape import shape as array_shape
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.ops.math.special import in_gamma_domain
from tfcompat._src.ops.random import bounded_normal, distributions, rejection
from tfcompat._src.ops.random.seeds import seed_attrs

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.dtypes import DTypeLike

_SEEDS = "seed: int = 0, seed2: int = 0"
_NO_GRADIENT = NotDifferentiable("random numbers do not depend on the inputs")
_SHUFFLED = NotDifferentiable("1.15 has no gradient of a shuffle", raises=True)
UNIFORM_TYPES = frozenset(dtypes.as_dtype(n) for n in ("float16", "bfloat16", "float32", "float64", "int32", "int64"))


def shape_of(sizes: Any) -> tuple[int, ...]:
    """A shape input as a tuple of Python integers; InvalidArgumentError where one is negative, or it is no vector."""
    if np.ndim(sizes) != 1:
        raise errors.InvalidArgumentError(None, None, f"shape must be a vector, got shape {shape_text(np.shape(sizes))}")
    checks.sizes(sizes)
    return tuple(int(n) for n in sizes)


def reserve_shape(outputs: object, shape: object, *inputs: object) -> int:
    """The draws that an op with a shape input sets aside."""
    return distributions.reserve_fill(math.prod(shape_of(shape)))


# ---- outputs of a given shape ----


def _filling(name: str, distribution: Callable) -> None:
    """An op that fills `shape` with numbers of a floating type."""

    def kernel_for(xp: ModuleType) -> Callable:
        def kernel(shape, *, dtype, rng):
            sizes = shape_of(shape)
            return distribution(xp, *rng, math.prod(sizes), dtype).reshape(sizes)

        return kernel

    op(
        name, f"(shape: T, *, {_SEEDS}, dtype: FLOAT, T: INDEX) -> (output: dtype)", shape=si.from_shape_input(0),
        kernel=kernel_for(jnp), fold=kernel_for(np), gradient=_NO_GRADIENT, constants=("shape",), effects=RANDOM,
        reserve=reserve_shape, depth=2,
    )  # fmt: skip


_filling("RandomUniform", distributions.uniform)
_filling("RandomStandardNormal", distributions.normal)
_filling("TruncatedNormal", distributions.truncated_normal)


def integers(xp: ModuleType, rng: tuple, shape: Any, minval: Any, maxval: Any) -> Any:
    """Integers in [minval, maxval); requires minval < maxval where there is anything to draw."""
    sizes = shape_of(shape)
    checks.scalar("minval", minval, "must be 0-D, got shape {}")
    checks.scalar("maxval", maxval, "must be 0-D, got shape {}")
    size = math.prod(sizes)
    if size:
        checks.require(minval < maxval, "Need minval < maxval, got {} >= {}", minval, maxval)
    return distributions.uniform_int(xp, *rng, size, minval, maxval).reshape(sizes)


def _random_uniform_int_numpy(shape, minval, maxval, *, rng):
    return integers(np, rng, shape, minval, maxval)


def _scalar_bounds(c):
    si.with_rank(c.inputs[1], 0)
    si.with_rank(c.inputs[2], 0)
    si.with_rank(c.inputs[0], 1)
    return [c.shape_value(0)]


@op(
    "RandomUniformInt", f"(shape: T, minval: Tout, maxval: Tout, *, {_SEEDS}, Tout: INDEX, T: INDEX) -> (output: Tout)",
    shape=_scalar_bounds, gradient=_NO_GRADIENT, constants=("shape",), fold=_random_uniform_int_numpy, effects=RANDOM,
    reserve=reserve_shape,
)  # fmt: skip
def _random_uniform_int(shape, minval, maxval, *, rng):
    return integers(jnp, rng, shape, minval, maxval)


def _reserve_bounded(outputs, shape, *parameters):
    return bounded_normal.reserve_bounded_normal(shape_of(shape), bounded_normal.is_one_distribution(*parameters))


def _parameterized_shape(c):
    for sizes in c.inputs[1:]:
        si.with_rank_at_most(sizes, 1)
    return si.from_shape_input(0)(c)


@op(
    "ParameterizedTruncatedNormal",
    "(shape: T, means: dtype, stdevs: dtype, minvals: dtype, maxvals: dtype, *, "
    f"{_SEEDS}, dtype: FLOAT, T: INDEX) -> (output: dtype)",
    shape=_parameterized_shape, gradient=_NO_GRADIENT, constants=("shape",), effects=RANDOM, side=HOST,
    reserve=_reserve_bounded,
)  # fmt: skip
def _parameterized_truncated_normal(shape, means, stdevs, minvals, maxvals, *, rng):
    sizes = shape_of(shape)
    for name, given in (("means", means), ("stdevs", stdevs), ("minvals", minvals), ("maxvals", maxvals)):
        if given.size not in (1, *sizes[:1]):
            raise errors.InvalidArgumentError(
                None, None, f"Input {name} should have length 1 or shape[0], got shape: {list(given.shape)}"
            )
    return bounded_normal.bounded_normal(*rng, sizes, means, stdevs, minvals, maxvals)


# ---- outputs that depend on an input ----


@op(
    "RandomShuffle", f"(value: T, *, {_SEEDS}, T: type) -> (output: T)", shape=si.unchanged, gradient=_SHUFFLED,
    effects=RANDOM,
    fold=lambda value, *, rng: _shuffled(np, value, rng),
    reserve=lambda outputs, value: distributions.reserve_shuffle(_rows_to_shuffle(value)),
)  # fmt: skip
def _random_shuffle(value, *, rng):
    return _shuffled(jnp, value, rng)


def _rows_to_shuffle(value: Any) -> int:
    return value.shape[0] if value.ndim and math.prod(value.shape) > 1 else 1


def _shuffled(xp: ModuleType, value: object, rng: tuple) -> Any:
    rows = _rows_to_shuffle(value)
    return value if rows <= 1 else xp.asarray(value)[distributions.shuffle(xp, *rng, rows)]


def samples_shape(c):
    """Rows of the logits by the number of samples."""
    si.with_rank(c.inputs[1], 0)
    return [(si.with_rank(c.inputs[0], 2)[0], si.size_from_input(c, 1))]


def categorical_samples(xp: ModuleType, rng: tuple, logits: Any, num_samples: Any, output_dtype: object) -> Any:
    """Class numbers; requires classes to choose from and no negative number of samples."""
    if logits.ndim != 2:
        raise errors.InvalidArgumentError(None, None, f"logits should be a matrix, got shape {shape_text(logits.shape)}")
    checks.scalar("num_samples", num_samples, "should be a scalar, got shape {}")
    count, classes = int(num_samples), logits.shape[1]
    checks.require(np.bool_(count >= 0), "num_samples should be nonnegative, got {}", count)
    checks.require(np.bool_(classes > 0), "num_classes should be positive, got {}", classes)
    return distributions.multinomial(xp, *rng, logits, count, output_dtype)


def _multinomial_numpy(logits, num_samples, *, output_dtype, rng):
    return categorical_samples(np, rng, logits, num_samples, output_dtype)


@op(
    "Multinomial",
    f"(logits: T, num_samples: int32, *, {_SEEDS}, T: REAL, output_dtype: INDEX = int64) -> (output: output_dtype)",
    shape=samples_shape, gradient=_NO_GRADIENT, constants=("num_samples",), effects=RANDOM, fold=_multinomial_numpy,
    reserve=lambda outputs, logits, count: distributions.reserve_multinomial(logits.shape[0], int(count)),
)  # fmt: skip
def _multinomial(logits, num_samples, *, output_dtype, rng):
    return categorical_samples(jnp, rng, logits, num_samples, output_dtype)


def _samples_of_each(c):
    si.with_rank(c.inputs[0], 1)
    samples, parameters = c.shape_value(0), c.inputs[1]
    return [None if samples is None or parameters is None else samples + parameters]


def _reserve_samples(outputs, shape, parameters):
    return distributions.reserve_fill(math.prod(shape_of(shape)) * math.prod(parameters.shape))


def add_leading_unit_dimensions(x: TensorLike, num_dimensions: object) -> Tensor:
    """A tensor with `num_dimensions` dimensions of size one in front of its own."""
    return raw.Reshape(x, concat([ones([num_dimensions], dtype=dtypes.int32), array_shape(x)], axis=0))


def _gamma_gradient(op, grad):
    """By implicit differentiation: Figurnov, Mohamed and Mnih, "Implicit Reparameterization Gradients", arXiv:1805.08498."""
    sizes, alpha = op.inputs
    with control_dependencies([grad]):
        dimensions = array_shape(sizes)[0]
        partial = raw.RandomGammaGrad(add_leading_unit_dimensions(alpha, dimensions), op.outputs[0])
        return [None, raw.Sum(grad * partial, arange(dimensions))]


def _gamma_kernel(xp: ModuleType) -> Callable:
    def kernel(shape, alpha, *, rng):
        sizes = shape_of(shape)
        samples = rejection.gamma(xp, *rng, math.prod(sizes), alpha.reshape(-1))
        return samples.reshape(sizes + alpha.shape)

    return kernel


op(
    "RandomGamma", f"(shape: S, alpha: T, *, {_SEEDS}, S: INDEX, T: {{float16, float32, float64}}) -> (output: T)",
    shape=_samples_of_each, gradient=_gamma_gradient, kernel=_gamma_kernel(jnp), fold=_gamma_kernel(np),
    constants=("shape",), effects=RANDOM, reserve=_reserve_samples, facts=Facts(rejects=True),
)  # fmt: skip


@op(
    "RandomGammaGrad", "(alpha: T, sample: T, *, T: {float32, float64}) -> (output: T)", shape=si.broadcast_inputs,
    gradient=NotDifferentiable("RandomGammaGrad has no gradient", raises=True),
)  # fmt: skip
def _random_gamma_grad(alpha, sample):
    """In double precision: lax.random_gamma_grad loses four digits of float32 where alpha is large. Zero where `sample` is."""
    dtype = sample.dtype
    alpha, sample = jnp.broadcast_arrays(alpha.astype(jnp.float64), sample.astype(jnp.float64))
    slope = in_gamma_domain(lax.random_gamma_grad)(alpha, sample)
    return jnp.where(sample == 0, 0, jnp.where((alpha > 0) & (alpha < np.inf) & (sample == np.inf), -0.0, slope)).astype(dtype)


def _poisson_kernel(xp: ModuleType) -> Callable:
    def kernel(shape, rate, *, dtype, rng):
        sizes = shape_of(shape)
        samples = rejection.poisson(xp, *rng, math.prod(sizes), rate.reshape(-1), dtype)
        return samples.reshape(sizes + rate.shape)

    return kernel


_POISSON_TYPES = "{float16, float32, float64, int32, int64}"
for _name, _types in (
    ("RandomPoisson", f"rate: dtype, *, {_SEEDS}, S: INDEX, dtype: {{float16, float32, float64}}"),
    (
        "RandomPoissonV2",
        f"rate: R, *, {_SEEDS}, S: INDEX, R: {_POISSON_TYPES} = float64, dtype: {_POISSON_TYPES} = int64",
    ),
):
    op(
        _name, f"(shape: S, {_types}) -> (output: dtype)", shape=_samples_of_each,
        gradient=NotDifferentiable("Poisson samples are whole numbers", raises=True), kernel=_poisson_kernel(jnp),
        fold=_poisson_kernel(np), constants=("shape",), effects=RANDOM, reserve=_reserve_samples,
    )  # fmt: skip


# ---- public functions ----


def shape_tensor(shape: object) -> Tensor:
    """A shape argument as a tensor; an empty list is int32."""
    is_list = isinstance(shape, (list, tuple))
    sizes = tuple(map(dimension_value, shape)) if is_list else shape
    return convert.convert_to_tensor(sizes, dtypes.int32 if is_list and not shape else None, name="shape")


def _scaled(
    scope: str, name: str | None, shape: object, mean: object, stddev: object, dtype: Any, seed: int | None, op_type: str
) -> Tensor:
    """`op_type` numbers times `stddev` plus `mean`."""
    with name_scope(name, scope, [shape, mean, stddev]) as name:
        sizes = shape_tensor(shape)
        mean = convert.convert_to_tensor(mean, dtype, name="mean")
        stddev = convert.convert_to_tensor(stddev, dtype, name="stddev")
        numbers = raw.function(op_type)(sizes, dtype=dtype, **seed_attrs(seed))
        return raw.Add(raw.Mul(numbers, stddev, name="mul"), mean, name=name)


@export("random.normal", "random_normal")
def random_normal(
    shape: object, mean: TensorLike = 0.0, stddev: TensorLike = 1.0, dtype: object = dtypes.float32, seed: int | None = None,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """Normal random numbers.

    Args:
      shape: 1-D integer tensor, the shape of the result.
      mean, stddev: of the distribution; broadcast against the result.
      dtype: floating type of the result.
      seed: op seed, see `tf.set_random_seed`.
      name: node name.
    """
    return _scaled("random_normal", name, shape, mean, stddev, dtype, seed, "RandomStandardNormal")


@export("random.truncated_normal", "truncated_normal")
def truncated_normal(
    shape: object, mean: TensorLike = 0.0, stddev: TensorLike = 1.0, dtype: object = dtypes.float32, seed: int | None = None,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """Normal random numbers less than two standard deviations from the mean; others are drawn again.

    Args:
      shape: 1-D integer tensor, the shape of the result.
      mean, stddev: of the normal distribution before truncation; broadcast against the result.
      dtype: floating type of the result.
      seed: op seed, see `tf.set_random_seed`.
      name: node name.
    """
    return _scaled("truncated_normal", name, shape, mean, stddev, dtype, seed, "TruncatedNormal")


def parameterized_truncated_normal(
    shape: object, means: object = 0.0, stddevs: object = 1.0, minvals: object = -2.0, maxvals: object = 2.0,
    dtype: Any = dtypes.float32, seed: int | None = None, name: str | None = None,
) -> Tensor:  # fmt: skip
    """Normal random numbers between bounds.

    Args:
      shape: 1-D integer tensor, the shape of the result.
      means, stddevs, minvals, maxvals: scalars, or vectors along the first dimension of the result.
      dtype: float16, float32 or float64.
      seed: op seed, see `tf.set_random_seed`.
      name: scope of the nodes.
    """
    with name_scope(name, "parameterized_truncated_normal", [shape, means, stddevs, minvals, maxvals]):
        sizes = shape_tensor(shape)
        named = {"means": means, "stddevs": stddevs, "minvals": minvals, "maxvals": maxvals}
        parameters = [convert.convert_to_tensor(value, dtype, name=key) for key, value in named.items()]
        return raw.ParameterizedTruncatedNormal(sizes, *parameters, **seed_attrs(seed))


def uniform_bounds(dtype: DTypeLike, maxval: object) -> tuple[dtypes.DType, Any]:
    """The result type and upper bound of a uniform distribution; ValueError where they cannot be."""
    dtype = dtypes.as_dtype(dtype)
    if dtype not in UNIFORM_TYPES:
        raise ValueError(f"Invalid dtype {dtype!r}")
    if maxval is None and dtype.is_integer:
        raise ValueError(f"Must specify maxval for integer dtype {dtype!r}")
    return dtype, 1 if maxval is None else maxval


@export("random.uniform", "random_uniform")
def random_uniform(
    shape: object, minval: TensorLike = 0, maxval: object = None, dtype: Any = dtypes.float32, seed: int | None = None,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """Uniform random numbers in [minval, maxval).

    Args:
      shape: 1-D integer tensor, the shape of the result.
      minval: lower bound, a scalar.
      maxval: upper bound, a scalar; 1 by default for floating types, required for integers.
      dtype: float16, bfloat16, float32, float64, int32 or int64.
      seed: op seed, see `tf.set_random_seed`.
      name: node name.

    Raises:
      ValueError: another dtype, or no `maxval` for an integer.
    """
    dtype, maxval = uniform_bounds(dtype, maxval)
    with name_scope(name, "random_uniform", [shape, minval, maxval]) as name:
        sizes = shape_tensor(shape)
        low = convert.convert_to_tensor(minval, dtype, name="min")
        high = convert.convert_to_tensor(maxval, dtype, name="max")
        if dtype.is_integer:
            return raw.RandomUniformInt(sizes, low, high, name=name, **seed_attrs(seed))
        numbers = raw.RandomUniform(sizes, dtype=dtype, **seed_attrs(seed))
        return scale_uniform(numbers, low, high, name)


def scale_uniform(numbers: Tensor, low: Tensor, high: Tensor, name: str) -> Tensor:
    """Numbers of [0, 1) moved to [low, high)."""
    width = raw.Sub(high, low, name="sub")
    return raw.Add(raw.Mul(numbers, width, name="mul"), low, name=name)


@export("random.shuffle", "random_shuffle")
def random_shuffle(value: TensorLike, seed: int | None = None, name: str | None = None) -> Tensor:
    """`value` with its rows (dimension 0) in random order.

    Args:
      value: any tensor.
      seed: op seed, see `tf.set_random_seed`.
      name: node name.
    """
    return raw.RandomShuffle(value, name=name, **seed_attrs(seed))


def _categorical(logits: TensorLike, num_samples: TensorLike, dtype: object, seed: int | None) -> Tensor:
    logits = convert.convert_to_tensor(logits, name="logits")
    return raw.Multinomial(logits, num_samples, output_dtype=dtype or dtypes.int64, **seed_attrs(seed))


@export("random.multinomial", "multinomial")
def multinomial(
    logits: TensorLike, num_samples: TensorLike, seed: int | None = None, name: str | None = None, output_dtype: object = None
) -> Tensor:
    """Deprecated name of `tf.random.categorical`.

    Args:
      logits: unnormalised log probabilities, floating, shape [rows, classes].
      num_samples: scalar int32, samples per row.
      seed: op seed, see `tf.set_random_seed`.
      name: scope of the node.
      output_dtype: int32 or int64 (default).

    Returns:
      Class numbers of shape [rows, num_samples].
    """
    with name_scope(name, "multinomial", [logits]):
        return _categorical(logits, num_samples, output_dtype, seed)


@export("random.categorical")
def categorical(
    logits: TensorLike, num_samples: TensorLike, dtype: object = None, seed: int | None = None, name: str | None = None
) -> Tensor:
    """Class numbers drawn with given log probabilities.

    Args:
      logits: unnormalised log probabilities, floating, shape [rows, classes].
      num_samples: scalar int32, samples per row.
      dtype: int32 or int64 (default).
      seed: op seed, see `tf.set_random_seed`.
      name: scope of the node.

    Returns:
      Class numbers of shape [rows, num_samples].
    """
    with name_scope(name, "categorical", [logits]):
        return _categorical(logits, num_samples, dtype, seed)


@export("random.gamma", "random_gamma")
def random_gamma(
    shape: TensorLike, alpha: object, beta: object = None, dtype: Any = dtypes.float32, seed: int | None = None,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """Gamma random numbers, differentiable in `alpha` and `beta`; at least the smallest normal number of the type.

    Args:
      shape: 1-D integer tensor, the shape of the samples drawn for each pair of parameters.
      alpha: shape parameters.
      beta: inverse scales, by default 1; broadcast against `alpha`.
      dtype: float16, float32 or float64.
      seed: op seed, see `tf.set_random_seed`.
      name: scope of the nodes.

    Returns:
      `dtype`, of shape `shape + (alpha + beta).shape`.
    """
    with name_scope(name, "random_gamma", [shape, alpha, beta]):
        sizes = convert.convert_to_tensor(shape, dtypes.int32, name="shape")
        alpha = convert.convert_to_tensor(alpha, dtype, name="alpha")
        beta = convert.convert_to_tensor(1 if beta is None else beta, dtype, name="beta")
        alpha = raw.AddV2(alpha, zeros_like(beta), name="add")
        samples = raw.RandomGamma(sizes, alpha, **seed_attrs(seed))
        smallest = np.finfo(alpha.dtype.as_numpy_dtype).tiny
        return raw.Maximum(smallest, raw.RealDiv(samples, beta, name="truediv"))


@export("random.poisson", "random_poisson")
def random_poisson(
    lam: TensorLike, shape: TensorLike, dtype: DTypeLike = dtypes.float32, seed: int | None = None, name: str | None = None
) -> Tensor:
    """Poisson random numbers.

    Args:
      lam: rates, any shape.
      shape: 1-D integer tensor, the shape of the samples drawn for each rate.
      dtype: float16, float32, float64, int32 or int64.
      seed: op seed, see `tf.set_random_seed`.
      name: scope of the node.

    Returns:
      `dtype`, of shape `shape + lam.shape`.
    """
    with name_scope(name, "random_poisson", [lam, shape]):
        sizes = convert.convert_to_tensor(shape, dtypes.int32, name="shape")
        return raw.RandomPoissonV2(sizes, lam, dtype=dtype, **seed_attrs(seed))


@export("compat.v2.random.poisson")
def random_poisson_v2(
    shape: TensorLike, lam: TensorLike, dtype: DTypeLike = dtypes.float32, seed: int | None = None, name: str | None = None
) -> Tensor:
    """`random_poisson` with the arguments in the order of TensorFlow 2."""
    return random_poisson(lam, shape, dtype=dtype, seed=seed, name=name)
