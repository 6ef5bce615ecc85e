"""What every distribution is: shapes, samples, densities and statistics, from the methods that a class defines."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape, as_shape
from tfcompat._src.distributions import kullback_leibler
from tfcompat._src.distributions.util import pick_vector
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.graph.tensor_like import is_tensor
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.shape import (
    broadcast_dynamic_shape,
    broadcast_static_shape,
    rank,
    reshape,
    shape,
)  # fmt: skip
from tfcompat._src.ops.math.compare import equal
from tfcompat._src.ops.math.reduce import reduce_prod
from tfcompat._src.ops.math.unary import exp, log, log1p, sqrt, square

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@export("distributions.ReparameterizationType", "contrib.distributions.ReparameterizationType")
class ReparameterizationType:
    """Whether gradients flow through samples to the parameters; instances equal themselves only."""

    def __init__(self, rep_type: str) -> None:
        self._rep_type = rep_type

    def __repr__(self) -> str:
        return f"<Reparameteriation Type: {self._rep_type}>"

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__


FULLY_REPARAMETERIZED = export("distributions.FULLY_REPARAMETERIZED", "contrib.distributions.FULLY_REPARAMETERIZED")(
    ReparameterizationType("FULLY_REPARAMETERIZED")
)
NOT_REPARAMETERIZED = export("distributions.NOT_REPARAMETERIZED", "contrib.distributions.NOT_REPARAMETERIZED")(
    ReparameterizationType("NOT_REPARAMETERIZED")
)


def parameter(name: str, doc: str | None = None) -> Any:
    """A read-only property that gives the attribute `_name`."""
    return property(lambda self: getattr(self, "_" + name), doc=doc)


def first_implemented(*ways: Callable[[], Any]) -> Any:
    """The result of the first way that is implemented, else the NotImplementedError of the first."""
    error = None
    for way in ways:
        try:
            return way()
        except NotImplementedError as e:
            error = error or e
    raise error


def _recording(init: Callable) -> Callable:
    """A constructor that keeps its arguments as the parameters of an instance of its own class."""
    signature = inspect.signature(init)

    @functools.wraps(init)
    def made(self: Any, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **kwargs)
        if type(self).__init__ is made and not self._parameters:
            bound = signature.bind(self, *args, **kwargs)
            bound.apply_defaults()
            self._parameters = _flat_arguments(bound)

    return made


def _flat_arguments(bound: inspect.BoundArguments) -> dict[str, Any]:
    """The arguments by name, those behind ** among them, without the first."""
    found = dict(list(bound.arguments.items())[1:])
    for name, each in bound.signature.parameters.items():
        if each.kind is each.VAR_KEYWORD:
            found.update(found.pop(name))
    return found


@functools.cache
def _not_implemented(name: str) -> Callable:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{name} is not implemented: {type(self).__name__}")

    return method


@export("distributions.Distribution", "contrib.distributions.Distribution")
class Distribution:
    """A batch of distributions; samples have the shape sample_shape + batch_shape + event_shape.

    A class defines `_batch_shape`, `_event_shape`, their `_tensor` forms, `_sample_n(n, seed)`, `_log_prob(x)` or
    `_prob(x)`, and what else it can of `_cdf`, `_mean`, `_variance`, `_entropy`, `_mode`, ...

    Args:
      dtype: of samples.
      reparameterization_type: FULLY_REPARAMETERIZED or NOT_REPARAMETERIZED.
      validate_args: whether parameters and values are checked in a run.
      allow_nan_stats: whether undefined statistics are NaN; else a run fails.
      parameters: dict of the constructor's arguments, for `copy`.
      graph_parents: tensors that the distribution was made from.
      name: name scope of its operations.

    Raises:
      ValueError: a member of `graph_parents` is no Tensor.
    """

    def __init__(
        self, dtype: Any, reparameterization_type: ReparameterizationType, validate_args: bool, allow_nan_stats: bool,
        parameters: dict[str, Any] | None = None, graph_parents: list | None = None, name: str | None = None,
    ) -> None:  # fmt: skip
        graph_parents = [] if graph_parents is None else graph_parents
        for i, parent in enumerate(graph_parents):
            if parent is None or not is_tensor(parent):
                raise ValueError(f"Graph parent item {i} is not a Tensor; {parent}.")
        if not name or name[-1] != "/":
            with name_scope(name or type(self).__name__) as name:
                pass
        self._dtype = dtype
        self._reparameterization_type = reparameterization_type
        self._allow_nan_stats = allow_nan_stats
        self._validate_args = validate_args
        self._parameters = {k: v for k, v in (parameters or {}).items() if k != "self"}
        self._graph_parents = graph_parents
        self._name = name

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__init__" in vars(cls):
            cls.__init__ = _recording(cls.__init__)

    # ---- what it was made from ----

    name = parameter("name", "Name scope of the operations, with a slash at the end.")
    dtype = parameter("dtype", "DType of samples.")
    reparameterization_type = parameter("reparameterization_type", "Whether gradients flow through samples.")
    allow_nan_stats = parameter("allow_nan_stats", "Whether undefined statistics are NaN.")
    validate_args = parameter("validate_args", "Whether parameters and values are checked in a run.")

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments of the constructor."""
        return {k: v for k, v in self._parameters.items() if not k.startswith("__") and k != "self"}

    def copy(self, **override_parameters_kwargs: Any) -> Distribution:
        """Another distribution with the same arguments but for those given."""
        return type(self)(**dict(self.parameters, **override_parameters_kwargs))

    @classmethod
    def param_shapes(cls, sample_shape: object, name: str = "DistributionParamShapes") -> dict[str, Tensor]:
        """The shapes of parameters with which `sample()` has the shape `sample_shape`, by name."""
        with name_scope(name, values=[sample_shape]):
            return cls._param_shapes(sample_shape)

    @classmethod
    def param_static_shapes(cls, sample_shape: object) -> dict[str, TensorShape]:
        """`param_shapes` as TensorShapes; ValueError where `sample_shape` is not fully known."""
        if isinstance(sample_shape, TensorShape):
            if not sample_shape.is_fully_defined():
                raise ValueError("TensorShape sample_shape must be fully defined")
            sample_shape = sample_shape.as_list()
        found = {name: constant_value(sizes) for name, sizes in cls.param_shapes(sample_shape).items()}
        if any(value is None for value in found.values()):
            raise ValueError("sample_shape must be a fully-defined TensorShape or list/tuple")
        return {name: TensorShape(value) for name, value in found.items()}

    @staticmethod
    def _param_shapes(sample_shape: Any) -> dict[str, Tensor]:
        raise NotImplementedError("_param_shapes not implemented")

    # ---- shapes ----

    _batch_shape_tensor = _not_implemented("batch_shape_tensor")
    _event_shape_tensor = _not_implemented("event_shape_tensor")

    def _batch_shape(self) -> TensorShape:
        return TensorShape(None)

    def _event_shape(self) -> TensorShape:
        return TensorShape(None)

    @property
    def batch_shape(self) -> TensorShape:
        """The shape of the batch of distributions, as far as known."""
        return as_shape(self._batch_shape())

    @property
    def event_shape(self) -> TensorShape:
        """The shape of one sample of one distribution, as far as known."""
        return as_shape(self._event_shape())

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Tensor:
        """The shape of the batch, an int32 vector."""
        with self._name_scope(name):
            if self.batch_shape.is_fully_defined():
                return convert_to_tensor(self.batch_shape.as_list(), dtype=dtypes.int32, name="batch_shape")
            return self._batch_shape_tensor()

    def event_shape_tensor(self, name: str = "event_shape_tensor") -> Tensor:
        """The shape of one sample of one distribution, an int32 vector."""
        with self._name_scope(name):
            if self.event_shape.is_fully_defined():
                return convert_to_tensor(self.event_shape.as_list(), dtype=dtypes.int32, name="event_shape")
            return self._event_shape_tensor()

    def is_scalar_event(self, name: str = "is_scalar_event") -> Tensor:
        """A bool scalar: whether a sample of one distribution is a scalar."""
        with self._name_scope(name):
            return convert_to_tensor(_is_scalar(self.event_shape, self.event_shape_tensor), name="is_scalar_event")

    def is_scalar_batch(self, name: str = "is_scalar_batch") -> Tensor:
        """A bool scalar: whether there is one distribution and no batch of them."""
        with self._name_scope(name):
            return convert_to_tensor(_is_scalar(self.batch_shape, self.batch_shape_tensor), name="is_scalar_batch")

    # ---- samples ----

    _sample_n = _not_implemented("sample_n")

    def _call_sample_n(self, sample_shape: Any, seed: int | None, name: str, **kwargs: Any) -> Tensor:
        with self._name_scope(name, values=[sample_shape]):
            sample_shape = convert_to_tensor(sample_shape, dtype=dtypes.int32, name="sample_shape")
            sample_shape, n = self._expand_sample_shape_to_vector(sample_shape, "sample_shape")
            samples = self._sample_n(n, seed, **kwargs)
            sizes = concat([sample_shape, shape(samples)[1:]], 0)
            return self._set_sample_static_shape(reshape(samples, sizes), sample_shape)

    def sample(self, sample_shape: Any = (), seed: int | None = None, name: str = "sample") -> Tensor:
        """Samples of shape `sample_shape` + batch_shape + event_shape."""
        return self._call_sample_n(sample_shape, seed, name)

    def _expand_sample_shape_to_vector(self, x: Tensor, name: str) -> tuple[Tensor, Any]:
        """(`x` as a vector, how many samples it means)."""
        known, ndims = constant_value(x), x.shape.ndims
        count = reduce_prod(x) if known is None else np.prod(known, dtype=x.dtype.as_numpy_dtype())
        if ndims is None:
            sizes = pick_vector(equal(rank(x), 0), np.array([1], dtype=np.int32), shape(x))
            return reshape(x, sizes), count
        if ndims > 1:
            raise ValueError("Input is neither scalar nor vector.")
        if ndims:
            return x, count
        if known is None:
            return reshape(x, [1]), count
        return convert_to_tensor(np.array([known], dtype=x.dtype.as_numpy_dtype()), name=name), count

    def _set_sample_static_shape(self, x: Tensor, sample_shape: Tensor) -> Tensor:
        """`x`, whose static shape is sample shape, batch shape and event shape as far as known."""
        parts = [TensorShape(constant_value(sample_shape)), self.batch_shape, self.event_shape]
        ranks = [part.ndims for part in parts]
        total = x.shape.ndims
        if total is None and None not in ranks:
            total = sum(ranks)
        if total is None:
            return x
        if ranks.count(None) == 1:
            ranks[ranks.index(None)] = total - sum(r for r in ranks if r is not None)
        known = [[None] * (r or 0) if part.ndims is None else part.as_list() for part, r in zip(parts, ranks)]
        if None not in ranks:
            x.set_shape(known[0] + known[1] + known[2])
            return x
        x.set_shape(known[0] + [None] * (total - len(known[0])))
        x.set_shape([None] * (total - len(known[2])) + known[2])
        return x

    # ---- functions of a value ----

    _log_prob, _prob = _not_implemented("log_prob"), _not_implemented("prob")
    _log_cdf, _cdf = _not_implemented("log_cdf"), _not_implemented("cdf")
    _log_survival_function = _not_implemented("log_survival_function")
    _survival_function = _not_implemented("survival_function")
    _quantile = _not_implemented("quantile")

    def _call(self, of: str, value: TensorLike, name: str, other: Callable | None = None, **kwargs: Any) -> Tensor:
        """The method `_of` of a value, or `other` of it where the class lacks that."""
        with self._name_scope(name, values=[value]):
            value = convert_to_tensor(value, name="value", preferred_dtype=self.dtype)
            ways = [getattr(self, "_" + of), *([other] if other else [])]
            return first_implemented(*(functools.partial(way, value, **kwargs) for way in ways))

    def _call_log_prob(self, value: object, name: str, **kwargs: Any) -> Tensor:
        return self._call("log_prob", value, name, lambda x, **kw: log(self._prob(x, **kw)), **kwargs)

    def _call_prob(self, value: object, name: str, **kwargs: Any) -> Tensor:
        return self._call("prob", value, name, lambda x, **kw: exp(self._log_prob(x, **kw)), **kwargs)

    def _call_log_cdf(self, value: object, name: str, **kwargs: Any) -> Tensor:
        return self._call("log_cdf", value, name, lambda x, **kw: log(self._cdf(x, **kw)), **kwargs)

    def _call_cdf(self, value: object, name: str, **kwargs: Any) -> Tensor:
        return self._call("cdf", value, name, lambda x, **kw: exp(self._log_cdf(x, **kw)), **kwargs)

    def _call_log_survival_function(self, value: object, name: str, **kwargs: Any) -> Tensor:
        other = lambda x, **kw: log1p(-self.cdf(x, **kw))  # noqa: E731
        return self._call("log_survival_function", value, name, other, **kwargs)

    def _call_survival_function(self, value: object, name: str, **kwargs: Any) -> Tensor:
        return self._call("survival_function", value, name, lambda x, **kw: 1.0 - self.cdf(x, **kw), **kwargs)

    def _call_quantile(self, value: object, name: str, **kwargs: Any) -> Tensor:
        return self._call("quantile", value, name, **kwargs)

    def log_prob(self, value: Any, name: str = "log_prob") -> Tensor:
        """The logarithm of the density or probability at `value`, [sample..., batch...]."""
        return self._call_log_prob(value, name)

    def prob(self, value: Any, name: str = "prob") -> Tensor:
        """The density or probability at `value`."""
        return self._call_prob(value, name)

    def log_cdf(self, value: Any, name: str = "log_cdf") -> Tensor:
        """The logarithm of P(X <= value)."""
        return self._call_log_cdf(value, name)

    def cdf(self, value: Any, name: str = "cdf") -> Tensor:
        """P(X <= value)."""
        return self._call_cdf(value, name)

    def log_survival_function(self, value: Any, name: str = "log_survival_function") -> Tensor:
        """The logarithm of P(X > value)."""
        return self._call_log_survival_function(value, name)

    def survival_function(self, value: Any, name: str = "survival_function") -> Tensor:
        """P(X > value)."""
        return self._call_survival_function(value, name)

    def quantile(self, value: object, name: str = "quantile") -> Tensor:
        """The x with P(X <= x) = value."""
        return self._call_quantile(value, name)

    # ---- statistics ----

    _entropy, _mean, _mode = _not_implemented("entropy"), _not_implemented("mean"), _not_implemented("mode")
    _variance, _stddev = _not_implemented("variance"), _not_implemented("stddev")
    _covariance = _not_implemented("covariance")

    def entropy(self, name: str = "entropy") -> Tensor:
        """Shannon's entropy in nats."""
        with self._name_scope(name):
            return self._entropy()

    def mean(self, name: str = "mean") -> Tensor:
        """The mean."""
        with self._name_scope(name):
            return self._mean()

    def variance(self, name: str = "variance") -> Tensor:
        """The variance."""
        with self._name_scope(name):
            return first_implemented(lambda: self._variance(), lambda: square(self._stddev()))

    def stddev(self, name: str = "stddev") -> Tensor:
        """The standard deviation."""
        with self._name_scope(name):
            return first_implemented(lambda: self._stddev(), lambda: sqrt(self._variance()))

    def covariance(self, name: str = "covariance") -> Tensor:
        """The covariance matrix of vector-valued events."""
        with self._name_scope(name):
            return self._covariance()

    def mode(self, name: str = "mode") -> Tensor:
        """The most probable value."""
        with self._name_scope(name):
            return self._mode()

    def _cross_entropy(self, other: Distribution) -> Tensor:
        return kullback_leibler.cross_entropy(self, other, allow_nan_stats=self.allow_nan_stats)

    def cross_entropy(self, other: Distribution, name: str = "cross_entropy") -> Tensor:
        """The mean of -log(other) under this distribution."""
        with self._name_scope(name):
            return self._cross_entropy(other)

    def _kl_divergence(self, other: Distribution) -> Tensor:
        return kullback_leibler.kl_divergence(self, other, allow_nan_stats=self.allow_nan_stats)

    def kl_divergence(self, other: Distribution, name: str = "kl_divergence") -> Tensor:
        """KL(self || other)."""
        with self._name_scope(name):
            return self._kl_divergence(other)

    # ---- text and scope ----

    def __str__(self) -> str:
        batch = "" if self.batch_shape.ndims is None else f", batch_shape={self.batch_shape}"
        event = "" if self.event_shape.ndims is None else f", event_shape={self.event_shape}"
        return f'tfp.distributions.{type(self).__name__}("{self.name}"{batch}{event}, dtype={self.dtype.name})'

    def __repr__(self) -> str:
        return (
            f"<tfp.distributions.{type(self).__name__} '{self.name}' batch_shape={self.batch_shape} "
            f"event_shape={self.event_shape} dtype={self.dtype.name}>"
        )

    @contextlib.contextmanager
    def _name_scope(self, name: str | None = None, values: list | None = None) -> Iterator[str]:
        with name_scope(self.name):
            with name_scope(name, values=[*(values or []), *self._graph_parents]) as scope:
                yield scope


def _is_scalar(known: TensorShape, shape_tensor: Callable[[], Tensor]) -> Any:
    if known.ndims is not None:
        return known.ndims == 0
    sizes = shape_tensor()
    if sizes.shape.ndims is not None and sizes.shape.as_list()[0] is not None:
        return sizes.shape.as_list() == [0]
    return equal(shape(sizes)[0], 0)


class ScalarDistribution(Distribution):
    """A distribution of numbers whose parameters, the attributes named in `_PARAMETERS`, broadcast against each other."""

    _PARAMETERS: tuple[str, ...] = ()

    @classmethod
    def _param_shapes(cls, sample_shape: Any) -> dict[str, Tensor]:
        sizes = convert_to_tensor(sample_shape, dtype=dtypes.int32)
        return dict.fromkeys(cls._PARAMETERS, sizes)

    def _parameter_tensors(self) -> list[Tensor]:
        return [getattr(self, "_" + name) for name in self._PARAMETERS]

    def _batch_shape_tensor(self) -> Tensor:
        *others, last = [shape(each) for each in self._parameter_tensors()]
        return functools.reduce(lambda sizes, each: broadcast_dynamic_shape(each, sizes), reversed(others), last)

    def _batch_shape(self) -> TensorShape:
        return functools.reduce(broadcast_static_shape, (each.shape for each in self._parameter_tensors()))

    def _event_shape_tensor(self) -> Tensor:
        return constant([], dtype=dtypes.int32)

    def _event_shape(self) -> TensorShape:
        return TensorShape([])

    def _sample_shape(self, n: object) -> Tensor:
        """[n] + batch shape."""
        return concat([[n], self.batch_shape_tensor()], 0)
