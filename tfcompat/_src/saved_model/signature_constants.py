"""Keys of signatures and of their inputs and outputs, and the names of the methods they are for."""

from __future__ import annotations

from tfcompat._src.base.export import export

DEFAULT_SERVING_SIGNATURE_DEF_KEY = export(
    "saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY", "saved_model.signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY"
)("serving_default")  # fmt: skip
CLASSIFY_INPUTS = export("saved_model.CLASSIFY_INPUTS", "saved_model.signature_constants.CLASSIFY_INPUTS")("inputs")
CLASSIFY_METHOD_NAME = export(
    "saved_model.CLASSIFY_METHOD_NAME", "saved_model.signature_constants.CLASSIFY_METHOD_NAME"
)("tensorflow/serving/classify")  # fmt: skip
CLASSIFY_OUTPUT_CLASSES = export(
    "saved_model.CLASSIFY_OUTPUT_CLASSES", "saved_model.signature_constants.CLASSIFY_OUTPUT_CLASSES"
)("classes")  # fmt: skip
CLASSIFY_OUTPUT_SCORES = export(
    "saved_model.CLASSIFY_OUTPUT_SCORES", "saved_model.signature_constants.CLASSIFY_OUTPUT_SCORES"
)("scores")  # fmt: skip
PREDICT_INPUTS = export("saved_model.PREDICT_INPUTS", "saved_model.signature_constants.PREDICT_INPUTS")("inputs")
PREDICT_METHOD_NAME = export(
    "saved_model.PREDICT_METHOD_NAME", "saved_model.signature_constants.PREDICT_METHOD_NAME"
)("tensorflow/serving/predict")  # fmt: skip
PREDICT_OUTPUTS = export("saved_model.PREDICT_OUTPUTS", "saved_model.signature_constants.PREDICT_OUTPUTS")("outputs")
REGRESS_INPUTS = export("saved_model.REGRESS_INPUTS", "saved_model.signature_constants.REGRESS_INPUTS")("inputs")
REGRESS_METHOD_NAME = export(
    "saved_model.REGRESS_METHOD_NAME", "saved_model.signature_constants.REGRESS_METHOD_NAME"
)("tensorflow/serving/regress")  # fmt: skip
REGRESS_OUTPUTS = export("saved_model.REGRESS_OUTPUTS", "saved_model.signature_constants.REGRESS_OUTPUTS")("outputs")
DEFAULT_EVAL_SIGNATURE_DEF_KEY = "eval"
DEFAULT_TRAIN_SIGNATURE_DEF_KEY = "train"
SUPERVISED_EVAL_METHOD_NAME = "tensorflow/supervised/eval"
SUPERVISED_TRAIN_METHOD_NAME = "tensorflow/supervised/training"
