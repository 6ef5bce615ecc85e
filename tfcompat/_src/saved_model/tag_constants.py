"""Tags of the graphs in a SavedModel."""

from __future__ import annotations

from tfcompat._src.base.export import export

SERVING = export("saved_model.SERVING", "saved_model.tag_constants.SERVING")("serve")
TRAINING = export("saved_model.TRAINING", "saved_model.tag_constants.TRAINING")("train")
EVAL = "eval"
GPU = export("saved_model.GPU", "saved_model.tag_constants.GPU")("gpu")
TPU = export("saved_model.TPU", "saved_model.tag_constants.TPU")("tpu")
