"""tf.contrib.slim.tfexample_decoder: items made of the features of tf.Example messages."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.contrib.slim.data import DataDecoder
from tfcompat._src.graph import tensor as graph_tensor
from tfcompat._src.nodes import sparse_tensor
from tfcompat._src.ops.array.join import concat, stack
from tfcompat._src.ops.array.reorder import transpose
from tfcompat._src.ops.array.shape import expand_dims, reshape, shape
from tfcompat._src.ops.array.slice import slice_
from tfcompat._src.ops.control.cond import case, cond
from tfcompat._src.ops.image.adjust import decode_image, is_jpeg
from tfcompat._src.ops.image.codec import decode_jpeg
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import equal, logical_or
from tfcompat._src.ops.math.reduce import reduce_prod
from tfcompat._src.ops.parsing.features import FixedLenFeature
from tfcompat._src.ops.parsing.functions import parse_single_example
from tfcompat._src.ops.sparse.convert import sparse_tensor_to_dense
from tfcompat._src.ops.sparse.layout import sparse_reshape
from tfcompat._src.ops.strings.numbers import decode_raw
from tfcompat._src.variables.functional import map_fn

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

Features = Mapping[str, Any]


def _dense(value: Any, default: object = 0) -> graph_tensor.Tensor:
    sparse = isinstance(value, sparse_tensor.SparseTensor)
    return sparse_tensor_to_dense(value, default_value=default) if sparse else value


@export("contrib.slim.tfexample_decoder.ItemHandler")
class ItemHandler(abc.ABC):
    """Makes one item of the features with given keys.

    Args:
      keys: names of the features, one or a list.
    """

    def __init__(self, keys: str | Sequence[str]) -> None:
        self._keys = keys if isinstance(keys, (tuple, list)) else [keys]

    @property
    def keys(self) -> Sequence[str]:
        return self._keys

    @abc.abstractmethod
    def tensors_to_item(self, keys_to_tensors: Features) -> Any:
        """The item, for a dict from the keys to Tensors and SparseTensors."""


@export("contrib.slim.tfexample_decoder.ItemHandlerCallback")
class ItemHandlerCallback(ItemHandler):
    """What a function makes of the features.

    Args:
      keys: names of the features.
      func: function of a dict from keys to features.
    """

    def __init__(self, keys: str | Sequence[str], func: Callable[[Features], Any]) -> None:
        super().__init__(keys)
        self._func = func

    def tensors_to_item(self, keys_to_tensors: Features) -> Any:
        return self._func(keys_to_tensors)


@export("contrib.slim.tfexample_decoder.BoundingBox")
class BoundingBox(ItemHandler):
    """Boxes [number, 4] of four features.

    Args:
      keys: four names, by default ymin, xmin, ymax, xmax.
      prefix: what stands before each name.
    """

    def __init__(self, keys: Sequence[str] | None = None, prefix: str = "") -> None:
        if keys is not None and len(keys) != 4:
            raise ValueError(f"BoundingBox expects 4 keys but got {len(keys)}")
        super().__init__([prefix + key for key in keys or ("ymin", "xmin", "ymax", "xmax")])

    def tensors_to_item(self, keys_to_tensors: Features) -> graph_tensor.Tensor:
        sides = []
        for key in self.keys:
            side = keys_to_tensors[key]
            sides.append(expand_dims(side.values if isinstance(side, sparse_tensor.SparseTensor) else side, 0))
        return transpose(concat(sides, 0))


@export("contrib.slim.tfexample_decoder.Tensor")
class Tensor(ItemHandler):
    """A feature as a Tensor.

    Args:
      tensor_key: name of the feature.
      shape_keys: name or names of the features that are its shape.
      shape: its shape; not both.
      default_value: the elements that a sparse feature does not have.
    """

    def __init__(self, tensor_key: str, shape_keys: Any = None, shape: Any = None, default_value: Any = 0) -> None:
        if shape_keys and shape is not None:
            raise ValueError("Cannot specify both shape_keys and shape parameters.")
        self._shape_keys = [shape_keys] if shape_keys and not isinstance(shape_keys, list) else shape_keys or []
        self._tensor_key, self._shape, self._default_value = tensor_key, shape, default_value
        super().__init__([tensor_key, *self._shape_keys])

    def tensors_to_item(self, keys_to_tensors: Features) -> Any:
        tensor, wanted = keys_to_tensors[self._tensor_key], self._shape
        if self._shape_keys:
            wanted = reshape(stack([_dense(keys_to_tensors[key]) for key in self._shape_keys]), [-1])
        if isinstance(tensor, sparse_tensor.SparseTensor):
            tensor = tensor if wanted is None else sparse_reshape(tensor, wanted)
            return _dense(tensor, self._default_value)
        return tensor if wanted is None else reshape(tensor, wanted)


@export("contrib.slim.tfexample_decoder.LookupTensor")
class LookupTensor(Tensor):
    """A feature looked up in a table; arguments as of `Tensor`, after the name the `table`."""

    def __init__(
        self, tensor_key: str, table: Any, shape_keys: object = None, shape: object = None, default_value: object = ""
    ) -> None:
        self._table = table
        super().__init__(tensor_key, shape_keys, shape, default_value)

    def tensors_to_item(self, keys_to_tensors: Features) -> Any:
        return self._table.lookup(super().tensors_to_item(keys_to_tensors))


@export("contrib.slim.tfexample_decoder.BackupHandler")
class BackupHandler(ItemHandler):
    """The item of one handler, or of a second where that item is empty; ValueError where one is no ItemHandler."""

    def __init__(self, handler: ItemHandler, backup: ItemHandler) -> None:
        for name, given in (("Primary", handler), ("Backup", backup)):
            if not isinstance(given, ItemHandler):
                raise ValueError(f"{name} handler is of type {type(given)} instead of ItemHandler")
        self._handler, self._backup = handler, backup
        super().__init__([*handler.keys, *backup.keys])

    def tensors_to_item(self, keys_to_tensors: Features) -> Any:
        item = self._handler.tensors_to_item(keys_to_tensors)
        return cond(
            pred=equal(reduce_prod(shape(item)), 0),
            true_fn=lambda: self._backup.tensors_to_item(keys_to_tensors),
            false_fn=lambda: item,
        )


@export("contrib.slim.tfexample_decoder.SparseTensor")
class SparseTensor(ItemHandler):
    """A SparseTensor of two features: the last coordinate of each element, and the elements.

    Args:
      indices_key, values_key: names of the features, "indices" and "values" by default.
      shape_key: name of the feature that is the dense shape.
      shape: the dense shape, by default that of the indices.
      densify: whether the item is a Tensor.
      default_value: the elements of the Tensor that are not there.
    """

    def __init__(
        self, indices_key: str | None = None, values_key: str | None = None, shape_key: str | None = None,
        shape: object = None, densify: bool = False, default_value: object = 0,
    ) -> None:  # fmt: skip
        self._indices_key, self._values_key = indices_key or "indices", values_key or "values"
        self._shape_key, self._shape = shape_key, shape
        self._densify, self._default_value = densify, default_value
        super().__init__([self._indices_key, self._values_key, *([shape_key] if shape_key else [])])

    def tensors_to_item(self, keys_to_tensors: Features) -> Any:
        indices, values = keys_to_tensors[self._indices_key], keys_to_tensors[self._values_key]
        if self._shape_key:
            dense_shape = _dense(keys_to_tensors[self._shape_key])
        else:
            dense_shape = self._shape or indices.dense_shape
        rank = shape(indices.indices)[1]
        ids = cast(indices.values, dtypes.int64)
        kept = slice_(indices.indices, [0, 0], stack([-1, rank - 1]))
        item = sparse_tensor.SparseTensor(concat([kept, reshape(ids, [-1, 1])], 1), values.values, dense_shape)
        return _dense(item, self._default_value) if self._densify else item


@export("contrib.slim.tfexample_decoder.Image")
class Image(ItemHandler):
    """A decoded image.

    Args:
      image_key, format_key: features with the encoded image and its format ("image/encoded", "image/format").
      shape: shape of the image, which raw data need.
      channels: number of channels.
      dtype: of the image.
      repeated: whether there are several images.
      dct_method: of JPEG.
    """

    def __init__(
        self, image_key: str | None = None, format_key: str | None = None, shape: object = None, channels: int = 3,
        dtype: object = dtypes.uint8, repeated: bool = False, dct_method: str = "",
    ) -> None:  # fmt: skip
        super().__init__([image_key or "image/encoded", format_key or "image/format"])
        self._shape, self._channels, self._dtype = shape, channels, dtype
        self._repeated, self._dct_method = repeated, dct_method

    def tensors_to_item(self, keys_to_tensors: Features) -> Any:
        encoded, image_format = (keys_to_tensors[key] for key in self.keys)
        if self._repeated:
            return map_fn(lambda each: self._decode(each, image_format), encoded, dtype=self._dtype)
        return self._decode(encoded, image_format)

    def _decode(self, encoded: object, image_format: Any) -> Any:
        def any_format() -> Any:
            return cast(decode_image(encoded, channels=self._channels), self._dtype)

        def jpeg() -> Any:
            return cast(decode_jpeg(encoded, channels=self._channels, dct_method=self._dct_method), self._dtype)

        is_raw = logical_or(equal(image_format, "raw"), equal(image_format, "RAW"))
        image = case(
            [(is_raw, lambda: decode_raw(encoded, out_type=self._dtype))],
            default=lambda: cond(is_jpeg(encoded), jpeg, any_format, name="cond_jpeg"),
            exclusive=True,
        )
        image.set_shape([None, None, self._channels])
        return image if self._shape is None else reshape(image, self._shape)


@export("contrib.slim.tfexample_decoder.TFExampleDecoder")
class TFExampleDecoder(DataDecoder):
    """Decodes serialized tf.Example messages.

    Args:
      keys_to_features: dict from names to FixedLenFeature, VarLenFeature and others.
      items_to_handlers: dict from items to ItemHandlers.
    """

    def __init__(self, keys_to_features: Features, items_to_handlers: Mapping[str, ItemHandler]) -> None:
        self._keys_to_features = keys_to_features
        self._items_to_handlers = items_to_handlers

    def list_items(self) -> list[str]:
        return list(self._items_to_handlers)

    def decode(self, serialized_example: TensorLike, items: Sequence[str] | None = None) -> list:
        """The items, by default all, of a scalar string Tensor."""
        example = parse_single_example(serialized_example, self._keys_to_features)
        for key, feature in sorted(self._keys_to_features.items(), key=lambda pair: pair[0]):
            if isinstance(feature, FixedLenFeature):
                example[key] = reshape(example[key], feature.shape)
        handlers = [self._items_to_handlers[item] for item in items or self._items_to_handlers]
        return [each.tensors_to_item({key: example[key] for key in each.keys}) for each in handlers]
