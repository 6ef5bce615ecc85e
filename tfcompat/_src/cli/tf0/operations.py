"""Operations with the names and the arguments that they had before TensorFlow 1.0.

Where an operation has kept its name, each call tells by its arguments which of the two orders it has: what the old order gives first, an
axis or logits, 1.15 refuses there.
"""

from __future__ import annotations

import functools
import numbers
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.cli.tf0 import names
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.scopes import colocate_with, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.array.join import split as split_of_1
from tfcompat._src.ops.array.shape import shape
from tfcompat._src.ops.math.unary import floor
from tfcompat._src.ops.nn import embedding
from tfcompat._src.ops.random.stateful import random_uniform
from tfcompat._src.variables.initializers import Ones, Zeros
from tfcompat._src.variables.variable import Variable

Given = Sequence[Any]


def _is_scalar(value: Any) -> bool:
    """Whether a value has no dimensions: an axis or a size, and no list of tensors."""
    if isinstance(value, Tensor):
        return value.shape.ndims == 0
    return isinstance(value, (int, np.integer)) or (isinstance(value, np.ndarray) and value.ndim == 0)


def _is_integer(value: Any) -> bool:
    dtype = value.dtype if hasattr(value, "dtype") else np.asarray(value).dtype
    return dtypes.as_dtype(dtype).is_integer


class Old(NamedTuple):
    """How an operation of 1.15 was called.

    Args:
      order: the operation's arguments in their old order, by the names of 1.15.
      is_old: whether arguments by position are in this order.
      renamed: keywords -> those of 1.15.
      name: the name of the node, where the operation had another one.
    """

    order: str
    is_old: Callable[[Given], bool] = lambda given: True
    renamed: Mapping[str, str] = {}
    name: str | None = None

    def calling(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """An operation of 1.15 that takes the old arguments, too."""

        @functools.wraps(function)
        def operation(*given: Any, **named: Any) -> Any:
            named = {self.renamed.get(keyword, keyword): value for keyword, value in named.items()}
            if self.name is not None and named.get("name") is None and "name" not in self.order.split()[: len(given)]:
                named["name"] = self.name
            if given and self.is_old(given):
                named.update(zip(self.order.split(), given, strict=False))
                given = ()
            return function(*given, **named)

        return operation


_LOSS = "weights biases inputs labels num_sampled num_classes num_true sampled_values"


def _is_inputs_first(given: Given) -> bool:
    return len(given) > 2 and not _is_integer(given[2])


CHANGED: dict[str, Old] = {
    "complex_abs": Old("x name", name="ComplexAbs"),
    "concat": Old("axis values name", lambda given: _is_scalar(given[0]), {"concat_dim": "axis"}),
    "concat_v2": Old("values axis name", name="concat_v2"),
    "contrib.metrics.confusion_matrix": Old("predictions labels num_classes dtype name weights"),
    "image.per_image_whitening": Old("image"),
    "inv": Old("x name", name="Inv"),
    "listdiff": Old("x y index_dtype name", name="ListDiff"),
    "mul": Old("x y name", name="Mul"),
    "neg": Old("x name", name="Neg"),
    "nn.ctc_loss": Old(
        "inputs labels sequence_length preprocess_collapse_repeated ctc_merge_repeated time_major",
        lambda given: len(given) > 1 and isinstance(given[1], SparseTensor),
    ),
    "nn.deconv2d": Old("value filter output_shape strides padding name"),
    "nn.log_poisson_loss": Old("log_input targets compute_full_loss name"),
    "nn.nce_loss": Old(f"{_LOSS} remove_accidental_hits partition_strategy name", _is_inputs_first),
    "nn.sampled_softmax_loss": Old(f"{_LOSS} remove_accidental_hits partition_strategy name", _is_inputs_first),
    "nn.sigmoid_cross_entropy_with_logits": Old("logits labels name", renamed={"targets": "labels"}),
    "nn.softmax_cross_entropy_with_logits": Old("logits labels dim name"),
    "nn.sparse_softmax_cross_entropy_with_logits": Old("logits labels name"),
    "pack": Old("values axis name", name="pack"),
    "select": Old("condition x y name", renamed={"t": "x", "e": "y"}, name="Select"),
    "split": Old("axis num_or_size_splits value name", lambda given: _is_scalar(given[0]), {"split_dim": "axis", "num_split": "num_or_size_splits"}),
    "split_v": Old("value num_or_size_splits axis num name", renamed={"size_splits": "num_or_size_splits", "split_dim": "axis"}, name="split_v"),
    "sub": Old("x y name", name="Sub"),
    "unpack": Old("value num axis name", name="unpack"),
}  # fmt: skip
"""Operation -> how it was called, where it was called in another way."""


def batch_matmul(x: Any, y: Any, adj_x: bool = False, adj_y: bool = False, name: str | None = None) -> Tensor:
    """`matmul` of the last two dimensions."""
    return raw.BatchMatMul(x, y, adj_x=adj_x, adj_y=adj_y, name=name)


def mod(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The remainder of a division that rounds towards zero."""
    with name_scope(name, "Mod", [x, y]) as scope:
        return raw.TruncateMod(*_alike(x, y), name=scope)


def div(x: Any, y: Any, name: str | None = None) -> Tensor:
    """A quotient in the type of its operands: of integers rounded towards zero."""
    with name_scope(name, "Div", [x, y]) as scope:
        return raw.Div(*_alike(x, y), name=scope)


def floordiv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """A quotient of integers, rounded towards zero, or of floats, rounded down."""
    with name_scope(name, "floordiv", [x, y]) as scope:
        x, y = _alike(x, y)
        return raw.Div(x, y, name=scope) if x.dtype.is_integer else floor(raw.Div(x, y), name=scope)


def dropout(x: Any, keep_prob: Any, noise_shape: Any = None, seed: int | None = None, name: str | None = None) -> Tensor:
    """Sets random elements to 0 and divides the others by `keep_prob`, by the nodes of 0.12: seeds that follow count them."""
    with name_scope(name, "dropout", [x]):
        x = convert_to_tensor(x, name="x")
        if isinstance(keep_prob, numbers.Real) and not 0 < keep_prob <= 1:
            raise ValueError(f"keep_prob must be a scalar tensor or a float in the range (0, 1], got {keep_prob:g}")
        keep_prob = convert_to_tensor(keep_prob, dtype=x.dtype.base_dtype, name="keep_prob")
        keep_prob.shape.assert_has_rank(0)
        if constant_value(keep_prob) == 1:
            return x
        noise_shape = shape(x) if noise_shape is None else noise_shape
        kept = floor(raw.Add(keep_prob, random_uniform(noise_shape, seed=seed, dtype=x.dtype), name="add"))
        found = raw.Div(x, keep_prob) * kept
        found.set_shape(x.shape)
        return found


def split(value: Any, num_or_size_splits: Any, axis: Any = 0, num: int | None = None, name: str = "split") -> list[Tensor]:
    """Splits a tensor: into equal parts by one node."""
    if isinstance(num_or_size_splits, (int, np.integer)):
        return list(raw.Split(axis, value, num_split=int(num_or_size_splits), name=name))
    return split_of_1(value, num_or_size_splits, axis, num, name)


def gather(params: Any, indices: Any, validate_indices: Any = None, name: str | None = None) -> Tensor:
    """The rows of `params` at `indices`: one node."""
    return raw.Gather(params, indices, name=name)


def embedding_lookup(
    params: Any, ids: Any, partition_strategy: str = "mod", name: str | None = None, validate_indices: bool = True, max_norm: float | None = None,
) -> Tensor:  # fmt: skip
    """The rows `ids` of a table: one node where the table has one part."""
    part = params[0] if isinstance(params, (list, tuple)) and len(params) == 1 else params
    if not isinstance(part, (Tensor, Variable)) or max_norm is not None:
        return embedding.embedding_lookup(params, ids, partition_strategy, name, validate_indices, max_norm)
    with name_scope(name, "embedding_lookup", [part, ids]) as scope, colocate_with(part):
        return gather(part, ids, name=scope)


def _alike(x: Any, y: Any) -> tuple[Tensor, Tensor]:
    """Two operands as tensors of one type."""
    if isinstance(y, Tensor) and not isinstance(x, Tensor):
        return convert_to_tensor(x, dtype=y.dtype.base_dtype), y
    x = convert_to_tensor(x)
    return x, convert_to_tensor(y, dtype=x.dtype.base_dtype)


def reverse_of(reverse: Callable[..., Any]) -> Callable[..., Any]:
    """`reverse` that takes a bool for each dimension, or a list of dimensions as 1.15 does."""

    @functools.wraps(reverse)
    def operation(tensor: Any, dims: Any = None, name: str | None = None, axis: Any = None) -> Tensor:
        chosen = convert_to_tensor(axis if dims is None else dims)
        if chosen.dtype.base_dtype == dtypes.bool:
            return raw.Reverse(tensor, chosen, name=name)
        return reverse(tensor, chosen, name=name)

    return operation


def resize_images_of(resize_images: Callable[..., Any]) -> Callable[..., Any]:
    """`resize_images` that takes a height and a width, or a list of both as 1.15 does."""

    @functools.wraps(resize_images)
    def operation(images: Any, *given: Any, **named: Any) -> Tensor:
        for prefix in ("new_", "target_"):
            if f"{prefix}width" in named:
                height = named.pop(f"{prefix}height", None)
                given = (given[0] if height is None else height, named.pop(f"{prefix}width"), *given[1 if height is None else 0 :])
        if len(given) > 1 and _is_scalar(given[0]) and _is_scalar(given[1]):
            given = (list(given[:2]), *given[2:])
        return resize_images(images, *given, **named)

    return operation


def initializer_of(kind: type[Zeros] | type[Ones]) -> Callable[..., Any]:
    """`zeros_initializer`, a function of a shape that gives the tensor; without a shape the initializer of 1.15."""

    def initializer(shape: Any = None, dtype: Any = dtypes.float32, partition_info: object = None) -> Any:
        if shape is None or isinstance(shape, dtypes.DType):
            return kind(dtype if shape is None else shape)
        return kind(dtype)(shape)

    return initializer


class Operand:
    """A tensor as an operand of `%`, `//` and Python 2's `/`, which meant something else for negative numbers."""

    __array_ufunc__ = None  # arrays leave operations with it to it

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor

    def __mod__(self, other: Any) -> Tensor:
        return mod(self._tensor, _value_of(other), name="mod")

    def __rmod__(self, other: Any) -> Tensor | str:
        return other % self._tensor if isinstance(other, (str, bytes)) else mod(other, self._tensor, name="mod")

    def __floordiv__(self, other: Any) -> Tensor:
        return floordiv(self._tensor, _value_of(other))

    def __rfloordiv__(self, other: Any) -> Tensor:
        return floordiv(other, self._tensor)

    def __div__(self, other: Any) -> Tensor:
        return div(self._tensor, _value_of(other), name="div")

    def __rdiv__(self, other: Any) -> Tensor:
        return div(other, self._tensor, name="div")

    def __truediv__(self, other: Any) -> Tensor:
        return self._tensor / _value_of(other)

    def __rtruediv__(self, other: Any) -> Tensor:
        return other / self._tensor

    def __str__(self) -> str:
        return str(self._tensor)

    __repr__ = __str__


def _value_of(value: Any) -> Any:
    return value._tensor if isinstance(value, Operand) else value


def found(names_of_1: Callable[[str], Any]) -> dict[str, Any]:
    """All operations by their paths; `names_of_1` gives the operation of 1.15 at a path."""
    operations = {path: names_of_1(now) for path, now in names.RENAMED.items()}
    for path, old in CHANGED.items():
        operations[path] = old.calling(split if path in ("split", "split_v") else names_of_1(names.RENAMED.get(path, path)))
    return {
        **operations, "batch_matmul": batch_matmul, "div": div, "floordiv": floordiv, "gather": gather, "mod": mod, "nn.dropout": dropout,
        "nn.embedding_lookup": embedding_lookup, "image.resize_images": resize_images_of(names_of_1("image.resize_images")),
        "ones_initializer": initializer_of(Ones), "reverse": reverse_of(names_of_1("reverse")), "zeros_initializer": initializer_of(Zeros),
    }  # fmt: skip
