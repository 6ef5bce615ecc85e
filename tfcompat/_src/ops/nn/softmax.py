"""Softmax, its logarithm, and the cross entropies of softmax and sigmoid."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from tfcompat._src.base import checks, dtypes, errors
from tfcompat._src.base.deprecation import deprecated_argument_lookup
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.op_spec import op
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import to_tensor
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.reorder import transpose
from tfcompat._src.ops.array.shape import rank, reshape, shape
from tfcompat._src.ops.composed.check_ops import assert_equal
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.math.sequence import arange

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

# ---- kernels ----


def _shifted(logits):
    """`logits` minus the largest of each row."""
    if not logits.ndim:
        raise errors.InvalidArgumentError(None, None, "logits must have >= 1 dimension, got []")
    last = logits.ndim - 1
    return lax.sub(logits, lax.expand_dims(lax.reduce_max(logits, (last,)), (last,)))


def _row_sums(x):
    """The sum of each row, in a last dimension of size 1."""
    last = x.ndim - 1
    return lax.expand_dims(lax.reduce_sum(x, (last,)), (last,))


def _at_least_one_dimension(c) -> list:
    return [si.with_rank_at_least(c.inputs[0], 1)]


def _softmax_gradient(op, g):
    y = op.outputs[0]
    total = raw.Sum(g * y, -1, keep_dims=True)
    return [(g - total) * y]


def _log_softmax_gradient(op, g):
    probability = raw.Exp(op.outputs[0])
    return [g - raw.Sum(g, -1, keep_dims=True) * probability]


def _near_softmax(x: Any) -> Any:
    found = np.exp(x - x.max(axis=-1, keepdims=True))
    return found / found.sum(axis=-1, keepdims=True)


def _near_log_softmax(x: Any) -> Any:
    shifted = x - x.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


@op("Softmax", "(logits: T, *, T: FLOAT) -> (softmax: T)", shape=_at_least_one_dimension, gradient=_softmax_gradient,
    near=_near_softmax)  # fmt: skip
def _softmax_kernel(logits):
    e = lax.exp(_shifted(logits))
    return lax.div(e, _row_sums(e))


@op(
    "LogSoftmax", "(logits: T, *, T: FLOAT) -> (logsoftmax: T)", shape=_at_least_one_dimension,
    gradient=_log_softmax_gradient, near=_near_log_softmax,
)  # fmt: skip
def _log_softmax_kernel(logits):
    shifted = _shifted(logits)
    return lax.sub(shifted, lax.log(_row_sums(lax.exp(shifted))))


# ---- cross entropy with a distribution ----


def _entropy_shape(c):
    features, labels = c.inputs
    rows = si.broadcast(features, labels)
    if features is None or labels is None:
        rows = si.with_rank(labels if features is None else features, 2)
    elif len(features) == len(labels) == 2:
        fits = all(a == b or None in (a, b) for a, b in zip(features, labels))
        rows = si.merge(features, labels) if fits else rows
    elif len(rows) != 2:
        raise ValueError(f"Shape must be broadcasted with rank 2, but is rank {len(rows)}")
    return [(rows[0],), rows]


def _scale_rows(scale: Tensor, rows: Tensor) -> Tensor:
    return raw.ExpandDims(scale, -1) * rows


def _is_zero(g: Tensor) -> bool:
    if g.op.type in ("ZerosLike", "Zeros"):
        return True
    value = constant_value(g)
    return value is not None and not np.any(value)


def _entropy_gradient(op, g, second):
    logits = op.inputs[0]
    grad = _scale_rows(g, op.outputs[1])
    if not _is_zero(second):
        probability = raw.Softmax(logits)
        product = matmul(raw.ExpandDims(second, 1), raw.ExpandDims(probability, 2))
        grad = grad + (second - raw.Squeeze(product, squeeze_dims=[1])) * probability
    minus_log = -raw.LogSoftmax(logits)
    return [grad, _scale_rows(g, minus_log)]


def _near_softmax_cross_entropy(features, labels):
    if features.shape != labels.shape or features.ndim != 2:
        features, labels = (np.asarray(x) for x in _same_shape(features, labels))
    shifted = features - features.max(axis=1, keepdims=True, initial=-np.inf)
    e = np.exp(shifted)
    total = e.sum(axis=1, keepdims=True)
    return (labels * (np.log(total) - shifted)).sum(axis=1, dtype=features.dtype), e / total - labels


@op(
    "SoftmaxCrossEntropyWithLogits", "(features: T, labels: T, *, T: FLOAT) -> (loss: T, backprop: T)",
    shape=_entropy_shape, gradient=_entropy_gradient, near=_near_softmax_cross_entropy,
)  # fmt: skip
def _softmax_cross_entropy(features, labels):
    features, labels = _same_shape(features, labels)
    shifted = _shifted(features)
    e = lax.exp(shifted)
    total = _row_sums(e)
    loss = lax.reduce_sum(lax.mul(labels, lax.sub(lax.log(total), shifted)), (1,))
    return loss, lax.sub(lax.div(e, total), labels)


def _same_shape(features, labels):
    if features.shape == labels.shape and features.ndim == 2:
        return features, labels
    try:
        sizes = np.broadcast_shapes(features.shape, labels.shape)
    except ValueError:
        sizes = ()
    if len(sizes) != 2 or () in (features.shape, labels.shape):
        raise errors.InvalidArgumentError(
            None, None,
            f"logits and labels must be broadcastable: logits_size={shape_text(features.shape)} "
            f"labels_size={shape_text(labels.shape)}",
        )  # fmt: skip
    return tuple(lax.broadcast_in_dim(x, sizes, range(2 - x.ndim, 2)) for x in (features, labels))


# ---- cross entropy with class numbers ----


def _sparse_entropy_shape(c):
    batch, classes = si.with_rank(c.inputs[0], 2)
    batch = si.merge_size(batch, si.with_rank(c.inputs[1], 1)[0])
    return [(batch,), (batch, classes)]


def _sparse_entropy_gradient(op, g, _):
    message = (
        "Currently there is no way to take the second derivative of "
        "sparse_softmax_cross_entropy_with_logits due to the "
        "fused implementation's interaction with tf.gradients()"
    )
    return [_scale_rows(g, raw.PreventGradient(op.outputs[1], message=message)), None]


def _require_classes(labels, classes: int) -> None:
    if not labels.size:
        return
    lowest, highest = labels.min(), labels.max()
    ok = (lowest >= 0) & (highest < classes)
    wrong = (np if isinstance(labels, np.ndarray) else jnp).where(lowest < 0, lowest, highest)
    checks.require(
        ok,
        lambda label, count, all_labels: f"Received a label value of {label} which is outside the valid range of [0, {count}).  "
        f"Label values: {' '.join(map(str, all_labels))}",
        wrong, classes, labels,
    )  # fmt: skip


def _near_sparse_softmax_cross_entropy(features, labels):
    _require_rows(features, labels)
    _require_classes(labels, features.shape[1])
    shifted = features - features.max(axis=1, keepdims=True)
    e = np.exp(shifted)
    total = e.sum(axis=1, keepdims=True)
    rows = np.arange(len(labels))
    backprop = e / total
    backprop[rows, labels] -= features.dtype.type(1)
    return np.log(total[:, 0]) - shifted[rows, labels], backprop


def _require_rows(features, labels) -> None:
    if features.ndim != 2 or labels.shape != features.shape[:1]:
        raise errors.InvalidArgumentError(
            None, None,
            "logits and labels must have the same first dimension, got logits shape "
            f"{shape_text(features.shape)} and labels shape {shape_text(labels.shape)}",
        )  # fmt: skip
    if not features.shape[1]:
        text = f"Must have at least one class, but got logits shape {shape_text(features.shape)}"
        raise errors.InvalidArgumentError(None, None, text)


@op(
    "SparseSoftmaxCrossEntropyWithLogits",
    "(features: T, labels: Tlabels, *, T: FLOAT, Tlabels: INDEX = int64) -> (loss: T, backprop: T)",
    shape=_sparse_entropy_shape, gradient=_sparse_entropy_gradient, near=_near_sparse_softmax_cross_entropy,
)  # fmt: skip
def _sparse_softmax_cross_entropy(features, labels):
    _require_rows(features, labels)
    _require_classes(labels, features.shape[1])
    shifted = _shifted(features)
    e = lax.exp(shifted)
    total = _row_sums(e)
    hit = lax.eq(lax.broadcasted_iota(labels.dtype, features.shape, 1), lax.expand_dims(labels, (1,)))
    zeros = lax.full_like(features, 0)
    chosen = lax.reduce_sum(lax.select(hit, lax.sub(lax.log(total), shifted), zeros), (1,))
    return chosen, lax.sub(lax.div(e, total), lax.convert_element_type(hit, features.dtype))


# ---- tf.nn.softmax, tf.nn.log_softmax ----


def _exchanged(x: Tensor, dim: Any, last: Tensor, name: str | None = None) -> Tensor:
    """`x` with dimension `dim` and the last one exchanged."""
    order = concat([arange(dim), [last], arange(dim + 1, last), [dim]], 0)
    return transpose(x, order, name=name or "transpose")


def _along(op_type: str, logits: TensorLike, axis: Any, name: str | None) -> Tensor:
    """`op_type`, which works on the last dimension, along `axis`."""
    apply = raw.function(op_type)
    logits = to_tensor(logits)
    sizes = logits._sizes
    if not isinstance(axis, Tensor) and (axis == -1 or sizes is not None and axis == len(sizes) - 1):
        return apply(logits, name=name)
    known = constant_value(axis) if isinstance(axis, Tensor) else axis
    if sizes is None:
        raise TypeError(f"{op_type} along dimension {known} needs a known rank: give logits a static shape.")
    ndims = len(sizes)
    if known is not None and not -ndims <= known < ndims:
        raise errors.InvalidArgumentError(
            None, None,
            f"Dimension ({known}) must be in the range [{-ndims}, {ndims}) where {ndims} is the "
            "number of dimensions in the "
            "input.",
        )  # fmt: skip
    all_dims = rank(logits)
    if isinstance(axis, Tensor):
        axis = raw.Select(raw.Less(axis, 0), axis + all_dims, axis)
    elif axis < 0:
        axis = axis + all_dims
    input_rank = rank(logits)
    dim = axis % ndims
    result = apply(_exchanged(logits, dim, raw.Sub(input_rank, 1)))
    result = _exchanged(result, dim, raw.Sub(input_rank, 1), name)
    result.set_shape(sizes)
    return result


def _softmax_function(name: str, op_type: str, doc: str) -> Callable:
    def function(logits, axis=None, name=None, dim=None):
        axis = deprecated_argument_lookup("axis", axis, "dim", dim)
        return _along(op_type, logits, -1 if axis is None else axis, name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""{doc}

    Args:
      logits: floating Tensor of at least one dimension.
      axis: the dimension of the classes, by default the last.
      name: node name.
      dim: old name of `axis`.

    Returns:
      a Tensor of the shape and dtype of `logits`.

    Raises:
      InvalidArgumentError: `axis` is outside the rank. TypeError: it is not the last one and the rank is unknown.
    """
    return function


softmax = export("nn.softmax", "math.softmax")(
    _softmax_function("softmax", "Softmax", "exp(logits), scaled to the sum 1 along a dimension.")
)
log_softmax = export("nn.log_softmax", "math.log_softmax")(
    _softmax_function("log_softmax", "LogSoftmax", "logits - log(sum(exp(logits))) along a dimension.")
)


# ---- tf.nn.*softmax_cross_entropy_with_logits* ----


def check_cross_entropy_arguments(function: str, sentinel: object, labels: object, logits: object) -> None:
    """ValueError where a cross entropy got positional arguments, or lacks one."""
    if sentinel is not None:
        raise ValueError(f"Only call `{function}` with named arguments (labels=..., logits=..., ...)")
    if labels is None or logits is None:
        raise ValueError("Both labels and logits must be provided.")


def _to_matrix(x: Tensor) -> Tensor:
    """`x` with all dimensions but the last flattened into one."""
    dims, sizes = rank(x), shape(x)
    last_size = raw.Slice(sizes, [raw.Sub(dims, 1)], [1])
    rows = raw.Reshape(x, concat([[-1], last_size], 0))
    if x._sizes is not None:
        count = si.num_elements(x._sizes[:-1])
        if count is not None:
            rows.set_shape((count, x._sizes[-1]))
    return rows


def _axis_moved_to_end(x: Tensor, axis: Any, input_rank: Tensor) -> Tensor:
    return transpose(x, concat([arange(axis), arange(axis + 1, input_rank), [axis]], 0))


@export("nn.softmax_cross_entropy_with_logits_v2", "compat.v2.nn.softmax_cross_entropy_with_logits")
def softmax_cross_entropy_with_logits_v2(
    labels: TensorLike, logits: TensorLike, axis: int | None = None, name: str | None = None, dim: int | None = None
) -> Tensor:
    """Cross entropy between distributions and the softmax of logits; the gradient flows to both.

    Args:
      labels: Tensor of the shape of `logits`, each row of `axis` a distribution.
      logits: floating Tensor.
      axis: the dimension of the classes, by default the last.
      name: node name.
      dim: old name of `axis`.

    Returns:
      a Tensor of the dtype of `logits` and its shape without `axis`.
    """
    axis = deprecated_argument_lookup("axis", axis, "dim", dim)
    axis = -1 if axis is None else axis
    with name_scope(name, "softmax_cross_entropy_with_logits", [logits, labels]) as name:
        logits, labels = to_tensor(logits, name="logits"), to_tensor(labels, name="labels")
        half = logits.dtype in (dtypes.float16, dtypes.bfloat16)
        precise = cast(logits, dtypes.float32) if half else logits
        labels = cast(labels, precise.dtype)
        input_rank = rank(precise)
        if axis != -1:
            precise = _axis_moved_to_end(precise, axis, input_rank)
            labels = _axis_moved_to_end(labels, axis, input_rank)
        input_shape = shape(precise)
        precise, labels = _to_matrix(precise), _to_matrix(labels)
        loss = raw.SoftmaxCrossEntropyWithLogits(precise, labels, name=name)[0]
        loss = raw.Reshape(loss, raw.Slice(input_shape, [0], [raw.Sub(input_rank, 1)]))
        if logits._sizes is not None:
            sizes = list(logits._sizes)
            del sizes[axis]
            loss.set_shape(sizes)
        return cast(loss, logits.dtype) if half else loss


@export("nn.softmax_cross_entropy_with_logits")
def softmax_cross_entropy_with_logits(
    _sentinel: object = None, labels: TensorLike | None = None, logits: TensorLike | None = None, dim: int = -1, name: str | None = None,
    axis: int | None = None,
) -> Tensor:  # fmt: skip
    """Cross entropy between `labels` and the softmax of `logits`, without a gradient to `labels`; arguments are named.

    Args:
      labels: Tensor of the shape and dtype of `logits`, each row a distribution.
      logits: floating Tensor [..., classes].
      dim, axis: the dimension of the classes, by default the last.
      name: name scope.

    Returns:
      a Tensor of the shape of `logits` without the dimension of the classes.

    Raises:
      ValueError: a positional argument, or `labels` or `logits` is missing.
    """
    dim = dim if axis is None else axis
    check_cross_entropy_arguments("softmax_cross_entropy_with_logits", _sentinel, labels, logits)
    with name_scope(name, "softmax_cross_entropy_with_logits_sg", [logits, labels]) as name:
        labels = raw.StopGradient(labels, name="labels_stop_gradient")
    return softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits, axis=dim, name=name)


@export("nn.sparse_softmax_cross_entropy_with_logits")
def sparse_softmax_cross_entropy_with_logits(
    _sentinel: object = None, labels: TensorLike | None = None, logits: TensorLike | None = None, name: str | None = None
) -> Tensor:
    """Cross entropy between class numbers and the softmax of logits; arguments are named.

    Args:
      labels: int32 or int64 Tensor of the shape of `logits` without its last dimension, in [0, classes).
      logits: floating Tensor [..., classes].
      name: node name.

    Returns:
      a Tensor of the shape of `labels` and the dtype of `logits`.

    Raises:
      ValueError: a positional argument, a missing one, or shapes that do not fit.
      InvalidArgumentError: when it runs, a label outside [0, classes).
    """
    check_cross_entropy_arguments("sparse_softmax_cross_entropy_with_logits", _sentinel, labels, logits)
    with name_scope(name, "SparseSoftmaxCrossEntropyWithLogits", [labels, logits]):
        labels, logits = to_tensor(labels), to_tensor(logits)
        half = logits.dtype is dtypes.float16
        precise = cast(logits, dtypes.float32) if half else logits
        labels_shape = shape(labels)
        known = _check_label_shape(labels, logits)
        if logits._sizes is not None and len(logits._sizes) == 2:
            loss = raw.SparseSoftmaxCrossEntropyWithLogits(precise, labels, name=name)[0]
        else:
            loss = _sparse_entropy_of_any_rank(labels, labels_shape, logits, precise, known, name)
        return cast(loss, dtypes.float16) if half else loss


def _check_label_shape(labels: Tensor, logits: Tensor) -> bool:
    """Whether both shapes are known, but for the number of classes; ValueError where they do not fit."""
    wanted, found = logits._sizes, labels._sizes
    if wanted == ():
        raise ValueError("Logits cannot be scalars - received shape ().")
    if wanted is None or found is None:
        return False
    if len(found) != len(wanted) - 1:
        raise ValueError(
            f"Rank mismatch: Rank of labels (received {len(found)}) should equal rank of logits minus "
            f"1 (received {len(wanted)})."
        )
    known = None not in found and None not in wanted[:-1]
    if known and found != wanted[:-1]:
        raise ValueError(
            f"Shape mismatch: The shape of labels (received {labels.shape}) should equal the shape of "
            "logits except for the "
            f"last dimension (received {logits.shape})."
        )
    return known


def _sparse_entropy_of_any_rank(
    labels: Tensor, labels_shape: Tensor, logits: Tensor, precise: Tensor, known: bool, name: str | None
) -> Tensor:
    with control_dependencies([] if known else [assert_equal(shape(labels), shape(logits)[:-1])]):
        classes = shape(logits)[rank(logits) - 1]
        precise, rows = reshape(precise, [-1, classes]), reshape(labels, [-1])
        loss = reshape(raw.SparseSoftmaxCrossEntropyWithLogits(precise, rows, name=name)[0], labels_shape)
        loss.set_shape(labels.shape)
        return loss
