"""Conditional accumulators: gradients of several workers, summed or averaged when enough of them have come."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, NAMES_RESOURCE, WAITING, Effects, Facts, op
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.indexed_slices import IndexedSlices
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.queues.queue_ops import MAKES_HANDLE, NO_GRADIENT
from tfcompat._src.ops.queues.resource import SharedResource, invalid, shared_resource
from tfcompat._src.ops.sparse.parts import merged
from tfcompat._src.platform import logging

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.dtypes import DTypeLike
    from tfcompat._src.base.tensor_shape import ShapeLike


class Accumulator(SharedResource):
    """A sum of dense gradients, how many they are, and the step that they must not be older than."""

    def __init__(self, dtype: dtypes.DType, sizes: tuple | None, averages: bool) -> None:
        super().__init__()
        self.dtype, self.sizes, self.averages = dtype, sizes, averages
        self.count = self.step = 0
        self.total: Any = None
        self._wanted: list[int] = []

    def set_step(self, step: int) -> None:
        """Sets the step; a lower one than the present is logged."""
        with self.lock:
            if step < self.step:
                logging.warning("Attempt to set the step of accumulator %s from %d back to %d", self.name, self.step, step)
            self.step = step

    def apply(self, step: int, gradient: object) -> None:
        """Adds a gradient that was computed at a step; one of an old step is left out."""
        with self.lock:
            if step >= self.step:
                self.check(gradient)
                self.total = self.added(gradient) if self.count else self.first(gradient)
                self.count += 1
                if self.count in self._wanted:  # it wakes nobody who has to wait on
                    self.changed.notify_all()

    def take(self, required: int) -> Any:
        """The sum or mean of the gradients, once there are `required`; the accumulator is then empty, and a step further."""
        if required <= 0:
            raise invalid(f"Argument num_required must be positive, but was {required}")
        with self.lock:
            self._wanted.append(required)
            try:
                self.wait(lambda: self.count >= required, "TakeGrad")
            finally:
                self._wanted.remove(required)
            found = self.averaged() if self.averages else self.total
            self.step += 1
            self.count, self.total = 0, None
            return found

    # ---- dense gradients ----

    def check(self, gradient: Any) -> None:
        for wanted in (self.total.shape if self.count else None, self.sizes):
            if wanted is not None and (
                len(wanted) != gradient.ndim or any(w is not None and w != s for w, s in zip(wanted, gradient.shape))
            ):
                raise invalid(f"Shape mismatch: expected {shape_text(wanted)}, got {shape_text(gradient.shape)}")

    def first(self, gradient: Any) -> Any:
        return np.array(gradient)

    def added(self, gradient: Any) -> Any:
        return np.add(self.total, gradient, out=self.total)

    def averaged(self) -> Any:
        return _divided(self.total, np.asarray(self.count, self.total.dtype))


def _divided(total: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """`total / counts` in the type of `total`, whose memory it may take; integers are cut off towards zero."""
    if total.dtype.kind in "iu":
        return (np.sign(total) * (np.abs(total) // counts)).astype(total.dtype)
    return np.divide(total, counts, out=total)


class SparseAccumulator(Accumulator):
    """A sum of sparse gradients: rows by number, each with the number of gradients that had it."""

    def check(self, gradient: Any) -> None:
        indices, values, shape = gradient
        sizes = self.sizes or ()
        if indices.ndim != 1:
            raise invalid(f"Input indices should be vector but received shape: {shape_text(indices.shape)}")
        if not values.ndim:
            raise invalid("Values cannot be 0-dimensional.")
        if len(values) != len(indices):
            raise invalid(f"Expected {len(indices)} non-empty input values, got {len(values)}")
        if shape is not None:
            self._check_shape(sizes, shape.reshape(-1).tolist())
        if sizes and sizes[0] is not None:
            for place, index in enumerate(indices.tolist()):
                if index >= sizes[0]:
                    raise invalid(
                        f"Shape mismatch: index of slice {place} exceeded limits of shape; index is {index} exceeded {sizes[0]}"
                    )
        self._check_rows(sizes, values.shape)

    def _check_shape(self, sizes: tuple, shape: list[int]) -> None:
        if len(sizes) > len(shape):
            raise invalid(f"Shape mismatch: expected shape rank at least {len(sizes)}, got {len(shape)}")
        for i, (wanted, found) in enumerate(zip(sizes, shape)):
            if wanted is not None and wanted != found:
                raise invalid(f"Shape mismatch: expected shape dim {i} to be {wanted}, got {found}")

    def _check_rows(self, sizes: tuple, found: tuple) -> None:
        wanted = self.total[1].shape if self.count else sizes
        if self.count and len(found) != len(wanted):
            raise invalid(f"Shape mismatch: expected values rank {len(wanted)}, got {len(found)}")
        if len(found) < len(wanted):
            raise invalid(f"Shape mismatch: expected values rank at least {len(wanted)}, got {len(found)}")
        for i in range(1, len(wanted)):
            if wanted[i] is not None and wanted[i] != found[i]:
                raise invalid(f"Shape mismatch: expected values dim {i} to be {wanted[i]}, got {found[i]}")

    def first(self, gradient: Any) -> Any:
        indices, values, _ = gradient
        return np.array(indices), np.array(values), np.ones(len(indices), np.int64)

    def added(self, gradient: Any) -> Any:
        """The sum by row, for rising row numbers: 1.15 merges the two lists as they stand."""
        pairs = merged(self.total[0].tolist(), gradient[0].tolist())
        values = np.empty((len(pairs), *self.total[1].shape[1:]), self.total[1].dtype)
        counts = np.empty(len(pairs), np.int64)
        for place, (old, new) in enumerate(pairs):
            parts = [self.total[1][old]] * (old is not None) + [gradient[1][new]] * (new is not None)
            values[place] = parts[0] if len(parts) == 1 else parts[1] + parts[0]
            counts[place] = (0 if old is None else self.total[2][old]) + (new is not None)
        indices = [self.total[0][old] if old is not None else gradient[0][new] for old, new in pairs]
        return np.array(indices, np.int64), values, counts

    def averaged(self) -> Any:
        indices, values, counts = self.total
        return indices, _divided(values, counts.reshape(-1, *[1] * (values.ndim - 1)).astype(values.dtype)), counts

    def take(self, required: int) -> Any:
        indices, values, _ = super().take(required)
        rows = self.sizes[0] if self.sizes and self.sizes[0] is not None else -1
        return indices, values, np.array([rows, *values.shape[1:]], np.int64)


# ---- ops ----

_add = functools.partial(op, side=HOST, gradient=NO_GRADIENT)
_using = functools.partial(_add, effects=Effects(external=True, copies=True))
_ATTRS = (
    '(*, dtype: NUMBER, shape: shape, container: string = "", shared_name: string = "", '
    'reduction_type: {"MEAN", "SUM"} = "MEAN") -> (handle: '
)


def _maker(accumulator_class: type[Accumulator]) -> Any:
    def kernel(context):
        attrs = context.op.attrs
        averages = attrs["reduction_type"] == b"MEAN"
        return shared_resource(context, "accumulator", lambda: accumulator_class(attrs["dtype"], attrs["shape"].sizes, averages))

    return kernel


def _scalar(label: str, value: np.ndarray) -> int:
    if value.ndim:
        raise invalid(f"Argument {label} must be scalar, but had bad shape {shape_text(value.shape)}")
    return int(value)


def _require_dtype(accumulator: Accumulator, dtype: np.dtype) -> None:
    if dtypes.as_dtype(dtype) != accumulator.dtype:
        raise invalid(f"The accumulator holds gradients of type {accumulator.dtype.name}, not {dtypes.as_dtype(dtype).name}")


def _scalar_inputs(*indices: int) -> Callable:
    """A shape function of an op without outputs of which these inputs are scalars."""

    def shape(c: si.InferenceContext) -> list:
        for i in indices:
            si.with_rank(c.inputs[i], 0)
        return si.unknown(c)

    return shape


def _set_step(accumulator, step):
    accumulator.set_step(_scalar("new_global_step", step))
    return ()


def _apply(accumulator, step, gradient):
    _require_dtype(accumulator, gradient.dtype)
    accumulator.apply(_scalar("local_step", step), gradient)
    return ()


def _apply_sparse(accumulator, step, indices, values, shape, *, has_known_shape):
    _require_dtype(accumulator, values.dtype)
    accumulator.apply(_scalar("local_step", step), (indices, values, shape if has_known_shape else None))
    return ()


def _take(accumulator, required, *, dtype):
    _require_dtype(accumulator, dtype)
    return accumulator.take(_scalar("num_required", required))


_taking = functools.partial(_add, effects=WAITING, facts=Facts(gathers=True), shape=_scalar_inputs(1), kernel=_take)

_add("ConditionalAccumulator", _ATTRS + "Ref(string))", shape=lambda c: [(2,)], kernel=_maker(Accumulator),
     effects=MAKES_HANDLE, context=True, facts=NAMES_RESOURCE)  # fmt: skip
_add("ResourceConditionalAccumulator", _ATTRS + "resource)", shape=lambda c: [(2,)], kernel=_maker(Accumulator),
     effects=MAKES_HANDLE, context=True, facts=NAMES_RESOURCE)  # fmt: skip
_add("SparseConditionalAccumulator", _ATTRS + "Ref(string))", shape=lambda c: [(2,)], kernel=_maker(SparseAccumulator),
     effects=MAKES_HANDLE, context=True, facts=NAMES_RESOURCE)  # fmt: skip

for _prefix, _handle in (("", "handle: Ref(string)"), ("Resource", "handle: resource")):
    _using(f"{_prefix}AccumulatorNumAccumulated", f"({_handle}) -> (num_accumulated: int32)", shape=si.scalar,
           kernel=lambda accumulator: accumulator.count)  # fmt: skip
    _using(f"{_prefix}AccumulatorSetGlobalStep", f"({_handle}, new_global_step: int64) -> ()", shape=_scalar_inputs(1),
           kernel=_set_step)  # fmt: skip
    _using(f"{_prefix}AccumulatorApplyGradient", f"({_handle}, local_step: int64, gradient: dtype, *, dtype: NUMBER) -> ()",
           shape=_scalar_inputs(1), kernel=_apply)  # fmt: skip
    _taking(f"{_prefix}AccumulatorTakeGradient", f"({_handle}, num_required: int32, *, dtype: NUMBER) -> (average: dtype)")
_using(
    "SparseAccumulatorApplyGradient",
    "(handle: Ref(string), local_step: int64, gradient_indices: int64, gradient_values: dtype, gradient_shape: int64, *, "
    "dtype: NUMBER, has_known_shape: bool) -> ()",
    shape=_scalar_inputs(1), kernel=_apply_sparse,
)  # fmt: skip
_taking(
    "SparseAccumulatorTakeGradient",
    "(handle: Ref(string), num_required: int32, *, dtype: NUMBER) -> (indices: int64, values: dtype, shape: int64)",
)


# ---- public classes ----


@export("ConditionalAccumulatorBase")
class ConditionalAccumulatorBase:
    """What the accumulators have: gradients are added if they are not older than the step, and taken when they are enough.

    Attributes: `accumulator_ref` (the handle), `name`, `dtype`.
    """

    def __init__(self, dtype: Any, shape: Any, accumulator_ref: Tensor) -> None:
        self._dtype = dtype
        self._shape = TensorShape(shape)
        self._accumulator_ref = accumulator_ref
        self._name = accumulator_ref.op.name.split("/")[-1]

    @property
    def accumulator_ref(self) -> Tensor:
        return self._accumulator_ref

    @property
    def name(self) -> str:
        return self._name

    @property
    def dtype(self) -> Any:
        return self._dtype

    def _call(self, op_type: str, *inputs: Any, name: str | None, **attrs: Any) -> Any:
        prefix = "Resource" if self._accumulator_ref.dtype == dtypes.resource else ""
        return raw.function(prefix + op_type)(self._accumulator_ref, *inputs, name=name, **attrs)

    def num_accumulated(self, name: str | None = None) -> Tensor:
        """How many gradients there are, an int32 scalar."""
        return self._call("AccumulatorNumAccumulated", name=name or f"{self._name}_NumAccumulated")

    def set_global_step(self, new_global_step: TensorLike, name: str | None = None) -> Operation:
        """Sets the step (int64 scalar) that gradients must not be older than."""
        return self._call("AccumulatorSetGlobalStep", _as_step(new_global_step), name=name)


def _as_step(value: TensorLike) -> Tensor:
    return cast(convert_to_tensor(value), dtypes.int64)


@export("ConditionalAccumulator")
class ConditionalAccumulator(ConditionalAccumulatorBase):
    """Accumulates dense gradients.

    Args:
      dtype: of the gradients. shape: of the gradients, as far as known.
      shared_name: under which several nodes of a Session share the accumulator.
      name: node name.
      reduction_type: "MEAN" or "SUM".
    """

    def __init__(
        self, dtype: DTypeLike, shape: ShapeLike = None, shared_name: str | None = None, name: str = "conditional_accumulator",
        reduction_type: str = "MEAN",
    ) -> None:  # fmt: skip
        handle = raw.ResourceConditionalAccumulator(
            dtype=dtype, shape=shape, shared_name=shared_name, reduction_type=reduction_type, name=name
        )
        super().__init__(dtype, shape, handle)

    def apply_grad(self, grad: TensorLike, local_step: TensorLike = 0, name: str | None = None) -> Operation:
        """Adds a gradient computed at step `local_step` (int64 scalar), unless the accumulator is further."""
        grad = convert_to_tensor(grad, self._dtype)
        grad.shape.assert_is_compatible_with(self._shape)
        return self._call("AccumulatorApplyGradient", _as_step(local_step), grad, name=name)

    def take_grad(self, num_required: object, name: str | None = None) -> Tensor:
        """The mean or sum of the gradients; a run waits until there are `num_required` (int32 scalar)."""
        found = self._call("AccumulatorTakeGradient", num_required, dtype=self._dtype, name=name)
        found.set_shape(self._shape)
        return found


@export("sparse.SparseConditionalAccumulator", "SparseConditionalAccumulator")
class SparseConditionalAccumulator(ConditionalAccumulatorBase):
    """Accumulates sparse gradients, given as row numbers in rising order and rows. Args: as of ConditionalAccumulator."""

    def __init__(
        self, dtype: DTypeLike, shape: ShapeLike = None, shared_name: str | None = None, name: str = "sparse_conditional_accumulator",
        reduction_type: str = "MEAN",
    ) -> None:  # fmt: skip
        handle = raw.SparseConditionalAccumulator(
            dtype=dtype, shape=shape, shared_name=shared_name, reduction_type=reduction_type, name=name
        )
        super().__init__(dtype, shape, handle)

    def apply_indexed_slices_grad(self, grad: IndexedSlices, local_step: object = 0, name: str | None = None) -> Operation:
        """As `apply_grad`, of IndexedSlices."""
        return self.apply_grad(
            grad_indices=grad.indices, grad_values=grad.values, grad_shape=grad.dense_shape, local_step=local_step, name=name
        )

    def apply_grad(
        self, grad_indices: object, grad_values: TensorLike, grad_shape: object = None, local_step: TensorLike = 0, name: str | None = None
    ) -> Operation:
        """Adds a gradient: the rows `grad_values` [n, ...] at places `grad_indices` [n], of a tensor of shape `grad_shape`."""
        return raw.SparseAccumulatorApplyGradient(
            self._accumulator_ref, _as_step(local_step), cast(grad_indices, dtypes.int64), grad_values,
            cast([] if grad_shape is None else grad_shape, dtypes.int64), has_known_shape=grad_shape is not None, name=name,
        )  # fmt: skip

    def take_grad(self, num_required: TensorLike, name: str | None = None) -> Any:
        """(indices, values, shape) of the mean or sum, each row over the gradients that have it; a run waits for them."""
        return raw.SparseAccumulatorTakeGradient(self._accumulator_ref, num_required, dtype=self._dtype, name=name)

    def take_indexed_slices_grad(self, num_required: object, name: str | None = None) -> IndexedSlices:
        """As `take_grad`, as IndexedSlices."""
        found = self.take_grad(num_required, name)
        return IndexedSlices(indices=found.indices, values=found.values, dense_shape=found.shape)
