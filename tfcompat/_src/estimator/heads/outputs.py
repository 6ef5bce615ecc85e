"""What classifying heads put out: class ids, class names, and what an exported model gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.estimator.heads.keys import (
    CLASSIFY_SERVING_KEY,
    DEFAULT_SERVING_KEY,
    PREDICT_SERVING_KEY,
    REGRESS_SERVING_KEY,
    PredictionKeys,
)  # fmt: skip
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.lookup.vocabulary import index_table_from_tensor, index_to_string_table_from_tensor
from tfcompat._src.ops.array.fill import zeros_like
from tfcompat._src.ops.array.join import concat, tile
from tfcompat._src.ops.array.shape import expand_dims, shape
from tfcompat._src.ops.math.reduce import argmax
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.ops.strings.numbers import as_string
from tfcompat._src.saved_model.model_utils.export_output import (
    ClassificationOutput,
    ExportOutput,
    PredictOutput,
    RegressionOutput,
)  # fmt: skip

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def _for_each_example(values: TensorLike, batch: Tensor) -> Tensor:
    """A vector as [batch, length]."""
    return tile(expand_dims(values, axis=0), multiples=[batch, 1])


def all_class_ids(logits: Tensor, n_classes: object) -> Tensor:
    """The ids of all classes, int32 [batch, n_classes]."""
    batch = shape(logits)[0]
    return _for_each_example(arange(n_classes), batch)


def all_classes(logits: Tensor, n_classes: object, label_vocabulary: object = None) -> Tensor:
    """The names of all classes, string [batch, n_classes]; the ids in decimal without a vocabulary."""
    batch = shape(logits)[0]
    return _for_each_example(label_vocabulary or as_string(arange(n_classes)), batch)


def class_id_table(label_vocabulary: Any) -> Any:
    """The table from class names to ids."""
    return index_table_from_tensor(vocabulary_list=tuple(label_vocabulary), name="class_id_lookup")


def best_class_ids(logits: Tensor) -> Tensor:
    """The id of the class with the largest logit, int64 [..., 1]."""
    return expand_dims(argmax(logits, axis=-1, name=PredictionKeys.CLASS_IDS), axis=-1)


def class_names(class_ids: Tensor, label_vocabulary: TensorLike) -> Tensor:
    """The names of classes, the ids in decimal without a vocabulary."""
    if not label_vocabulary:
        return as_string(class_ids, name="str_classes")
    return index_to_string_table_from_tensor(vocabulary_list=label_vocabulary, name="class_string_lookup").lookup(class_ids)


def two_class_logits(logits: Tensor) -> Tensor:
    """Logits of the classes 0 and 1 from those of class 1."""
    return concat((zeros_like(logits), logits), axis=-1, name="two_class_logits")


def classification_outputs(
    predictions: dict[str, Tensor], n_classes: object, label_vocabulary: object, logistic: Tensor | None = None
) -> dict[str, ExportOutput]:
    """What the exported model of a classifier gives, by signature."""
    scores = predictions[PredictionKeys.PROBABILITIES]
    classes = ClassificationOutput(scores=scores, classes=all_classes(scores, n_classes, label_vocabulary))
    outputs: dict[str, ExportOutput] = {DEFAULT_SERVING_KEY: classes, CLASSIFY_SERVING_KEY: classes}
    if logistic is not None:
        outputs[REGRESS_SERVING_KEY] = RegressionOutput(value=logistic)
    return {**outputs, PREDICT_SERVING_KEY: PredictOutput(predictions)}


def regression_outputs(predictions: dict[str, Tensor]) -> dict[str, ExportOutput]:
    """What the exported model of a regressor gives, by signature."""
    value = RegressionOutput(value=predictions[PredictionKeys.PREDICTIONS])
    return {
        DEFAULT_SERVING_KEY: value, REGRESS_SERVING_KEY: value, PREDICT_SERVING_KEY: PredictOutput(predictions),
    }  # fmt: skip
