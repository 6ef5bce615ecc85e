"""The parts of a tensor's shape: samples, batch and event."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.distributions.distribution import parameter
from tfcompat._src.distributions.util import pick_vector, rotate_transpose
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.search import where_v2
from tfcompat._src.ops.array.shape import rank, reshape, shape, squeeze
from tfcompat._src.ops.array.slice import slice_
from tfcompat._src.ops.composed.check_ops import assert_non_negative
from tfcompat._src.ops.composed.rank_checks import assert_rank
from tfcompat._src.ops.control.groups import with_dependencies
from tfcompat._src.ops.math.compare import equal, logical_and
from tfcompat._src.ops.math.sequence import arange

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def _all_known(*values: Tensor) -> bool:
    return all(constant_value(value) is not None for value in values)


class DistributionShape:
    """Splits shapes into sample, batch and event dimensions, of which the last two are so many.

    Args:
      batch_ndims, event_ndims: int32 scalars, not negative.
      validate_args: whether values are checked in a run.
      name: name scope.

    Raises:
      ValueError: a number is missing or known to be wrong. TypeError: it is not int32.
    """

    def __init__(
        self, batch_ndims: TensorLike | None = None, event_ndims: TensorLike | None = None, validate_args: bool = False,
        name: str = "DistributionShape",
    ) -> None:  # fmt: skip
        for given, value in (("batch_ndims", batch_ndims), ("event_ndims", event_ndims)):
            if value is None:
                raise ValueError(f"{given} cannot be None")
        self._batch_ndims, self._event_ndims = batch_ndims, event_ndims
        self._validate_args = validate_args
        with name_scope(name):
            self._name = name
            with name_scope("init"):
                self._batch_ndims = self._assert_non_negative_int32_scalar(
                    convert_to_tensor(batch_ndims, name="batch_ndims")
                )
                self._batch_ndims_static, self._batch_ndims_is_0 = self._introspect_ndims(self._batch_ndims)
                self._event_ndims = self._assert_non_negative_int32_scalar(
                    convert_to_tensor(event_ndims, name="event_ndims")
                )
                self._event_ndims_static, self._event_ndims_is_0 = self._introspect_ndims(self._event_ndims)

    name = parameter("name", "Name scope of the operations.")
    batch_ndims = parameter("batch_ndims", "The number of batch dimensions.")
    event_ndims = parameter("event_ndims", "The number of event dimensions.")
    validate_args = parameter("validate_args", "Whether values are checked in a run.")

    def get_ndims(self, x: TensorLike, name: str = "get_ndims") -> Tensor:
        """The rank of `x`."""
        with self._name_scope(name, values=[x]):
            x = convert_to_tensor(x, name="x")
            if x.shape.ndims is None:
                return rank(x, name="ndims")
            return convert_to_tensor(x.shape.ndims, dtype=dtypes.int32, name="ndims")

    def get_sample_ndims(self, x: object, name: str = "get_sample_ndims") -> Tensor:
        """The number of sample dimensions of `x`; ValueError where it is known to be negative."""
        with self._name_scope(name, values=[x]):
            ndims = self.get_ndims(x, name=name)
            if _all_known(ndims, self.batch_ndims, self.event_ndims):
                known = constant_value(ndims)
                count = known - self._batch_ndims_static - self._event_ndims_static
                if count < 0:
                    raise ValueError(
                        f"expected batch_ndims({self._batch_ndims_static}) + event_ndims({self._event_ndims_static}) "
                        f"<= ndims({known})"
                    )
                return convert_to_tensor(count, name="sample_ndims")
            with name_scope("sample_ndims"):
                count = ndims - self.batch_ndims - self.event_ndims
                if self.validate_args:
                    count = with_dependencies([assert_non_negative(count)], count)
            return count

    def _parts(self, x: object, name: str) -> list[tuple[list[Tensor], Tensor, str]]:
        """For sample, batch and event: (what comes before, how many dimensions, the name)."""
        count = self.get_sample_ndims(x, name=name)
        return [
            ([], count, "sample"), ([count], self.batch_ndims, "batch"),
            ([count, self.batch_ndims], self.event_ndims, "event"),
        ]  # fmt: skip

    def get_dims(self, x: object, name: str = "get_dims") -> tuple[Tensor, ...]:
        """The indices of sample, batch and event dimensions of `x`."""
        with self._name_scope(name, values=[x]):

            def dims(before: list[Tensor], count: Tensor, name: str) -> Tensor:
                before = before or [zeros([], dtype=dtypes.int32, name="zero")]
                if _all_known(count, *before):
                    start = sum(constant_value(each) for each in before)
                    places = list(range(start, start + constant_value(count)))
                    return convert_to_tensor(places, dtype=dtypes.int32, name=name)
                start = sum(before)
                return arange(start, start + count)

            return tuple(dims(before, count, f"{part}_dims") for before, count, part in self._parts(x, name))

    def get_shape(self, x: TensorLike, name: str = "get_shape") -> tuple[Tensor, ...]:
        """The sample, batch and event shape of `x`, int32 vectors."""
        with self._name_scope(name, values=[x]):
            x = convert_to_tensor(x, name="x")

            def sizes(before: list[Tensor], count: Tensor, name: str) -> Tensor:
                before = before or [zeros([], dtype=dtypes.int32, name="zero")]
                if x.shape.ndims is not None and _all_known(count, *before):
                    start = sum(constant_value(each) for each in before)
                    known = x.shape[start : start + constant_value(count)].as_list()
                    if None not in known:
                        return convert_to_tensor(known, dtype=dtypes.int32, name=name)
                return slice_(shape(x), [sum(before)], [count])

            return tuple(sizes(before, count, f"{part}_shape") for before, count, part in self._parts(x, name))

    def make_batch_of_event_sample_matrices(
        self, x: TensorLike, expand_batch_dim: bool = True, name: str = "make_batch_of_event_sample_matrices"
    ) -> tuple[Tensor, Tensor]:
        """(`x` as batch + [event, samples], the sample shape); an empty event or batch shape becomes [1]."""
        with self._name_scope(name, values=[x]):
            x = convert_to_tensor(x, name="x")
            sample, batch, event = self.get_shape(x)
            event = pick_vector(self._event_ndims_is_0, [1], event)
            if expand_batch_dim:
                batch = pick_vector(self._batch_ndims_is_0, [1], batch)
            x = reshape(x, shape=concat([[-1], batch, event], 0))
            return rotate_transpose(x, shift=-1), sample

    def undo_make_batch_of_event_sample_matrices(
        self, x: TensorLike, sample_shape: TensorLike, expand_batch_dim: bool = True,
        name: str = "undo_make_batch_of_event_sample_matrices",
    ) -> Tensor:  # fmt: skip
        """What `make_batch_of_event_sample_matrices` was given."""
        with self._name_scope(name, values=[x, sample_shape]):
            x = convert_to_tensor(x, name="x")
            sample = convert_to_tensor(sample_shape, name="sample_shape")
            x = rotate_transpose(x, shift=1)
            if _all_known(self.batch_ndims, self.event_ndims):
                axes = [-1] if self._event_ndims_is_0 else []
                axes += [1] if self._batch_ndims_is_0 and expand_batch_dim else []
                if axes:
                    x = squeeze(x, axis=axes)
                _, batch, event = self.get_shape(x)
            else:
                sizes = shape(x)
                if x.shape.is_fully_defined():
                    sizes = convert_to_tensor(x.shape.as_list(), dtype=dtypes.int32)
                batch = sizes[1 : 1 + self.batch_ndims]
                is_expanded = logical_and(expand_batch_dim, self._batch_ndims_is_0)
                start = where_v2(is_expanded, 2, 1 + self.batch_ndims)
                event = sizes[start : start + self.event_ndims]
            return reshape(x, shape=concat([sample, batch, event], 0))

    @contextlib.contextmanager
    def _name_scope(self, name: str | None = None, values: list | None = None) -> Iterator[str]:
        with name_scope(self.name):
            with name_scope(name, values=[*(values or []), self.batch_ndims, self.event_ndims]) as scope:
                yield scope

    def _assert_non_negative_int32_scalar(self, x: TensorLike) -> Tensor:
        x = convert_to_tensor(x, name="x")
        if x.dtype.base_dtype != dtypes.int32:
            raise TypeError(f"{x.name}.dtype={x.dtype} is not {dtypes.int32}")
        known = constant_value(x)
        if x.shape.ndims is not None and known is not None:
            if x.shape.ndims:
                raise ValueError(f"{x.name}.ndims={x.shape.ndims} is not 0 (scalar)")
            if known < 0:
                raise ValueError(f"{x.name}.value={known} cannot be negative")
        elif self.validate_args:
            x = with_dependencies([assert_rank(x, 0), assert_non_negative(x)], x)
        return x

    def _introspect_ndims(self, ndims: Tensor) -> tuple[Any, Any]:
        """(the known number or None, whether it is 0)."""
        known = constant_value(ndims)
        return (None, equal(ndims, 0)) if known is None else (known, known == 0)
