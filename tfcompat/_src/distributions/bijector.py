"""Invertible functions with the logarithm of their Jacobian determinant, and the identity among them."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.distributions.util import maybe_get_static_value
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.graph.tensor_like import is_tensor
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.ops.array.fill import ones
from tfcompat._src.ops.array.shape import broadcast_static_shape, rank, shape
from tfcompat._src.ops.composed.check_ops import assert_greater_equal
from tfcompat._src.ops.composed.rank_checks import assert_rank
from tfcompat._src.ops.math.reduce import reduce_sum
from tfcompat._src.ops.math.sequence import arange

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@dataclass
class _Mapping:
    """A pair y = f(x) under one condition, as far as known, with the inverse log determinants by event rank."""

    x: Any = None
    y: Any = None
    condition: dict[str, Any] = field(default_factory=dict)
    ildj: dict[int, Tensor] = field(default_factory=dict)


def _condition_key(kwargs: dict[str, Any]) -> tuple:
    return tuple((name, _hashable(value)) for name, value in sorted(kwargs.items()))


def _hashable(value: object) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(_hashable(each) for each in value)
    return value if isinstance(value, (int, float, str, bool, type(None))) else id(value)


def _default_name(cls: type) -> str:
    words = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", cls.__name__.lstrip("_"))
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", words).lower()


def _checked_min_event_ndims(forward: Any, inverse: Any) -> tuple[int, int]:
    if forward is None and inverse is None:
        raise ValueError("Must specify at least one of `forward_min_event_ndims` and `inverse_min_event_ndims`.")
    forward, inverse = (inverse if forward is None else forward), (forward if inverse is None else inverse)
    for name, value in (("forward", forward), ("inverse", inverse)):
        if not isinstance(value, int):
            raise TypeError(f"Expected {name}_min_event_ndims to be of type int, got {type(value).__name__}")
        if value < 0:
            raise ValueError(f"{name}_min_event_ndims must be a non-negative integer.")
    return forward, inverse


@export("contrib.distributions.bijectors.Bijector")
class Bijector:
    """A function y = f(x) with f, its inverse, and log |det J| of one of the two.

    A class defines `_forward(x)`, `_inverse(y)`, and `_forward_log_det_jacobian(x)` or `_inverse_log_det_jacobian(y)`,
    which are of the last `min_event_ndims` dimensions. Results for one tensor are kept and reused.

    Args:
      graph_parents: tensors that the bijector was made from.
      is_constant_jacobian: whether the Jacobian does not depend on x.
      validate_args: whether values are checked in a run.
      dtype: of x and y; any by default.
      forward_min_event_ndims: the rank of the x that the function takes as one; of y by default.
      inverse_min_event_ndims: the rank of its y; of x by default.
      name: name scope, by default from the class.

    Raises:
      ValueError: neither rank is given, one is negative, or a parent is no Tensor. TypeError: a rank is no int.
    """

    def __init__(
        self, graph_parents: list | None = None, is_constant_jacobian: bool = False, validate_args: bool = False,
        dtype: Any = None, forward_min_event_ndims: int | None = None, inverse_min_event_ndims: int | None = None,
        name: str | None = None,
    ) -> None:  # fmt: skip
        self._graph_parents = graph_parents or []
        self._forward_min_event_ndims, self._inverse_min_event_ndims = _checked_min_event_ndims(
            forward_min_event_ndims, inverse_min_event_ndims
        )
        self._is_constant_jacobian = is_constant_jacobian
        self._constant_ildj_map: dict[int, Tensor] = {}
        self._validate_args = validate_args
        self._dtype = dtype
        self._from_x: dict[tuple, _Mapping] = {}
        self._from_y: dict[tuple, _Mapping] = {}
        self._name = name or _default_name(type(self))
        for i, parent in enumerate(self._graph_parents):
            if parent is None or not is_tensor(parent):
                raise ValueError(f"Graph parent item {i} is not a Tensor; {parent}.")

    @property
    def graph_parents(self) -> list:
        """The tensors that the bijector was made from."""
        return self._graph_parents

    @property
    def forward_min_event_ndims(self) -> int:
        """The least rank of x."""
        return self._forward_min_event_ndims

    @property
    def inverse_min_event_ndims(self) -> int:
        """The least rank of y."""
        return self._inverse_min_event_ndims

    @property
    def is_constant_jacobian(self) -> bool:
        """Whether the Jacobian does not depend on x."""
        return self._is_constant_jacobian

    @property
    def _is_injective(self) -> bool:
        """Whether each y has one x; else `inverse` and the inverse log determinant give tuples."""
        return True

    @property
    def validate_args(self) -> bool:
        """Whether values are checked in a run."""
        return self._validate_args

    @property
    def dtype(self) -> Any:
        """DType of x and y, or None."""
        return self._dtype

    @property
    def name(self) -> str:
        """Name scope of the operations."""
        return self._name

    # ---- shapes ----

    def _forward_event_shape_tensor(self, input_shape: Tensor) -> Tensor:
        return input_shape

    def forward_event_shape_tensor(self, input_shape: TensorLike, name: str = "forward_event_shape_tensor") -> Tensor:
        """The shape of f(x), an int32 vector, from that of x."""
        with self._name_scope(name, [input_shape]):
            input_shape = convert_to_tensor(input_shape, dtype=dtypes.int32, name="input_shape")
            return self._forward_event_shape_tensor(input_shape)

    def _forward_event_shape(self, input_shape: TensorShape) -> TensorShape:
        return input_shape

    def forward_event_shape(self, input_shape: object) -> TensorShape:
        """The static shape of f(x) from that of x."""
        return self._forward_event_shape(TensorShape(input_shape))

    def _inverse_event_shape_tensor(self, output_shape: Tensor) -> Tensor:
        return output_shape

    def inverse_event_shape_tensor(self, output_shape: TensorLike, name: str = "inverse_event_shape_tensor") -> Tensor:
        """The shape of x, an int32 vector, from that of f(x)."""
        with self._name_scope(name, [output_shape]):
            output_shape = convert_to_tensor(output_shape, dtype=dtypes.int32, name="output_shape")
            return self._inverse_event_shape_tensor(output_shape)

    def _inverse_event_shape(self, output_shape: Any) -> TensorShape:
        return TensorShape(output_shape)

    def inverse_event_shape(self, output_shape: object) -> TensorShape:
        """The static shape of x from that of f(x)."""
        return self._inverse_event_shape(output_shape)

    # ---- the function and its inverse ----

    def _forward(self, x: Tensor) -> Tensor:
        raise NotImplementedError("forward not implemented.")

    def _inverse(self, y: Tensor) -> Any:
        raise NotImplementedError("inverse not implemented")

    def _call_forward(self, x: object, name: str, **kwargs: Any) -> Tensor:
        with self._name_scope(name, [x]):
            x = self._checked(x, "x")
            if not self._is_injective:
                return self._forward(x, **kwargs)
            mapping = self._mapping_of(x=x, kwargs=kwargs)
            if mapping.y is None:
                self._learn(mapping, kwargs, y=self._forward(x, **kwargs))
            return mapping.y

    def forward(self, x: Any, name: str = "forward") -> Tensor:
        """f(x); TypeError where `x` is not of the bijector's dtype."""
        return self._call_forward(x, name)

    def _call_inverse(self, y: object, name: str, **kwargs: Any) -> Any:
        with self._name_scope(name, [y]):
            y = self._checked(y, "y")
            if not self._is_injective:
                return self._inverse(y, **kwargs)
            mapping = self._mapping_of(y=y, kwargs=kwargs)
            if mapping.x is None:
                self._learn(mapping, kwargs, x=self._inverse(y, **kwargs))
            return mapping.x

    def inverse(self, y: Any, name: str = "inverse") -> Any:
        """The x with f(x) = y; TypeError where `y` is not of the bijector's dtype."""
        return self._call_inverse(y, name)

    # ---- the logarithm of the Jacobian determinant ----

    def _inverse_log_det_jacobian(self, y: Tensor) -> Any:
        raise NotImplementedError("inverse_log_det_jacobian not implemented.")

    def _forward_log_det_jacobian(self, x: Tensor) -> Any:
        raise NotImplementedError("forward_log_det_jacobian not implemented.")

    def _call_inverse_log_det_jacobian(self, y: object, event_ndims: object, name: str, **kwargs: Any) -> Any:
        with self._name_scope(name, [y]):
            if self._known_constant(event_ndims) is not None:
                return self._known_constant(event_ndims)
            y = self._checked(y, "y")
            with control_dependencies(self._check_valid_event_ndims(self.inverse_min_event_ndims, event_ndims)):
                if not self._is_injective:
                    return self._ildj_of_fibers(y, event_ndims, kwargs)
                mapping = self._mapping_of(y=y, kwargs=kwargs)
                return self._log_det(mapping, event_ndims, kwargs, (self._by_inverse, self._by_forward))

    def inverse_log_det_jacobian(self, y: Any, event_ndims: Any, name: str = "inverse_log_det_jacobian") -> Any:
        """log |det| of the Jacobian of the inverse at `y`, summed over the last `event_ndims` dimensions.

        Raises:
          TypeError: `y` is not of the bijector's dtype.
          ValueError: `event_ndims` is no integer scalar or below the bijector's least rank.
          NotImplementedError: the bijector has no such method.
        """
        return self._call_inverse_log_det_jacobian(y, event_ndims, name)

    def _call_forward_log_det_jacobian(self, x: object, event_ndims: object, name: str, **kwargs: Any) -> Tensor:
        if not self._is_injective:
            raise NotImplementedError(
                "forward_log_det_jacobian cannot be implemented for non-injective transforms."
            )
        with self._name_scope(name, [x]):
            with control_dependencies(self._check_valid_event_ndims(self.forward_min_event_ndims, event_ndims)):
                if self._known_constant(event_ndims) is not None:
                    return -1.0 * self._known_constant(event_ndims)
                x = self._checked(x, "x")
                mapping = self._mapping_of(x=x, kwargs=kwargs)
                return -self._log_det(mapping, event_ndims, kwargs, (self._by_forward, self._by_inverse))

    def forward_log_det_jacobian(self, x: Any, event_ndims: Any, name: str = "forward_log_det_jacobian") -> Tensor:
        """log |det| of the Jacobian at `x`, summed over the last `event_ndims` dimensions; errors as of the inverse."""
        return self._call_forward_log_det_jacobian(x, event_ndims, name)

    def _known_constant(self, event_ndims: Any) -> Tensor | None:
        return None if isinstance(event_ndims, (Tensor, np.ndarray)) else self._constant_ildj_map.get(event_ndims)

    def _log_det(self, mapping: _Mapping, event_ndims: object, kwargs: dict, ways: tuple[Callable, Callable]) -> Tensor:
        """The inverse log determinant of a mapping, in the first of two ways that is implemented."""
        key = _hashable(event_ndims)
        if key not in mapping.ildj:
            try:
                found, new = ways[0](mapping, event_ndims, kwargs)
            except NotImplementedError as error:
                try:
                    found, new = ways[1](mapping, event_ndims, kwargs)
                except NotImplementedError:
                    raise error from None
            mapping.ildj[key] = found
            self._learn(mapping, kwargs, **new)
            if self.is_constant_jacobian:
                self._constant_ildj_map[key] = found
        return mapping.ildj[key]

    def _by_inverse(self, mapping: _Mapping, event_ndims: object, kwargs: dict) -> tuple[Tensor, dict]:
        new = {} if mapping.y is not None else {"y": self._forward(mapping.x, **kwargs)}
        y = new.get("y", mapping.y)
        ildj = self._inverse_log_det_jacobian(y, **kwargs)
        return self._reduce_jacobian_det_over_event(y, ildj, self.inverse_min_event_ndims, event_ndims), new

    def _by_forward(self, mapping: _Mapping, event_ndims: object, kwargs: dict) -> tuple[Tensor, dict]:
        new = {} if mapping.x is not None else {"x": self._inverse(mapping.y, **kwargs)}
        x = new.get("x", mapping.x)
        ildj = -self._forward_log_det_jacobian(x, **kwargs)
        return self._reduce_jacobian_det_over_event(x, ildj, self.forward_min_event_ndims, event_ndims), new

    def _ildj_of_fibers(self, y: Tensor, event_ndims: object, kwargs: dict) -> tuple:
        """The inverse log determinants at every x of `y`."""
        try:
            at, signed, least = y, self._inverse_log_det_jacobian(y, **kwargs), self.inverse_min_event_ndims
        except NotImplementedError as error:
            try:
                at = self._inverse(y, **kwargs)
                signed = [-each for each in self._forward_log_det_jacobian(at, **kwargs)]
                least = self.forward_min_event_ndims
            except NotImplementedError:
                raise error from None
        return tuple(self._reduce_jacobian_det_over_event(at, each, least, event_ndims) for each in signed)

    def _reduce_jacobian_det_over_event(self, y: Tensor, ildj: Tensor, min_event_ndims: int, event_ndims: object) -> Tensor:
        """`ildj` summed over the dimensions of an event that the function takes one by one."""
        y_rank = rank(y)
        sizes = shape(y)[y_rank - event_ndims : y_rank - min_event_ndims]
        wide = ones(sizes, ildj.dtype) * ildj
        found = reduce_sum(wide, axis=self._get_event_reduce_dims(min_event_ndims, event_ndims))
        known = self._maybe_get_static_event_ndims(event_ndims)
        if known is not None and y.shape.ndims is not None and ildj.shape.ndims is not None:
            y_sizes = y.shape[y.shape.ndims - known : y.shape.ndims - min_event_ndims]
            final = broadcast_static_shape(ildj.shape, y_sizes)
            if final.ndims is not None:
                found.set_shape(final[: final.ndims - (known - min_event_ndims)])
        return found

    def _get_event_reduce_dims(self, min_event_ndims: int, event_ndims: Any) -> Any:
        known = self._maybe_get_static_event_ndims(event_ndims)
        if known is not None:
            return [-index for index in range(1, known - min_event_ndims + 1)]
        return arange(-(event_ndims - min_event_ndims), 0)

    def _check_valid_event_ndims(self, min_event_ndims: int, event_ndims: TensorLike) -> list:
        """The checks that a run needs of `event_ndims`; raises at once what is known to be wrong."""
        event_ndims = convert_to_tensor(event_ndims, name="event_ndims")
        known, checks = constant_value(event_ndims), []
        if not event_ndims.dtype.is_integer:
            raise ValueError(f"Expected integer dtype, got dtype {event_ndims.dtype}")
        if event_ndims.shape.ndims:
            raise ValueError(f"Expected scalar event_ndims, got shape {event_ndims.shape}")
        if known is not None:
            if min_event_ndims > known:
                raise ValueError(f"event_ndims ({known}) must be larger than min_event_ndims ({min_event_ndims})")
        elif self.validate_args:
            checks.append(assert_greater_equal(event_ndims, min_event_ndims))
        if event_ndims.shape.ndims is None and self.validate_args:
            checks.append(assert_rank(event_ndims, 0, message="Expected scalar."))
        return checks

    def _maybe_get_static_event_ndims(self, event_ndims: object) -> int | None:
        known = maybe_get_static_value(event_ndims)
        if isinstance(known, (np.generic, np.ndarray)):
            if known.dtype not in (np.int32, np.int64):
                raise ValueError(f"Expected integer dtype, got dtype {known.dtype}")
            if known.ndim:
                raise ValueError(f"Expected a scalar integer, got {known}")
            known = int(known)
        return known

    # ---- what is known of x and y ----

    def _checked(self, value: Any, name: str) -> Tensor:
        value = convert_to_tensor(value, name=name)
        self._maybe_assert_dtype(value)
        return value

    def _maybe_assert_dtype(self, x: Tensor) -> None:
        if self.dtype is not None and self.dtype.base_dtype != x.dtype.base_dtype:
            raise TypeError(f"Input had dtype {self.dtype} but expected {x.dtype}.")

    def _mapping_of(self, kwargs: dict, x: object = None, y: object = None) -> _Mapping:
        """The mapping of a tensor, which both know from now on."""
        table, value = (self._from_y, y) if x is None else (self._from_x, x)
        key = (id(value), _condition_key(kwargs))
        if key not in table:
            return _Mapping(x=x, y=y, condition=kwargs)
        return table[key]

    def _learn(self, mapping: _Mapping, kwargs: dict, x: Any = None, y: Any = None) -> None:
        """Adds what was computed to a mapping."""
        condition = _condition_key(kwargs)
        mapping.x, mapping.y = (mapping.x if x is None else x), (mapping.y if y is None else y)
        if mapping.x is not None:
            self._from_x[id(mapping.x), condition] = mapping
        if mapping.y is not None:
            self._from_y[id(mapping.y), condition] = mapping

    @contextlib.contextmanager
    def _name_scope(self, name: str | None = None, values: list | None = None) -> Iterator[str]:
        with name_scope(self.name):
            with name_scope(name, values=[*(values or []), *self.graph_parents]) as scope:
                yield scope


@export("contrib.distributions.bijectors.Identity")
class Identity(Bijector):
    """y = x."""

    def __init__(self, validate_args: bool = False, name: str = "identity") -> None:
        super().__init__(forward_min_event_ndims=0, is_constant_jacobian=True, validate_args=validate_args, name=name)

    def _forward(self, x: Tensor) -> Tensor:
        return x

    def _inverse(self, y: Tensor) -> Tensor:
        return y

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        return constant(0.0, dtype=y.dtype)

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return constant(0.0, dtype=x.dtype)
