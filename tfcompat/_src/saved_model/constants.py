"""Names of the files of a SavedModel, and keys of what it keeps in collections and signatures."""

from __future__ import annotations

from tfcompat._src.base.export import export

ASSETS_DIRECTORY = export("saved_model.ASSETS_DIRECTORY", "saved_model.constants.ASSETS_DIRECTORY")("assets")
ASSETS_KEY = export("saved_model.ASSETS_KEY", "saved_model.constants.ASSETS_KEY")("saved_model_assets")
LEGACY_INIT_OP_KEY = export("saved_model.LEGACY_INIT_OP_KEY", "saved_model.constants.LEGACY_INIT_OP_KEY")("legacy_init_op")
MAIN_OP_KEY = export("saved_model.MAIN_OP_KEY", "saved_model.constants.MAIN_OP_KEY")("saved_model_main_op")
SAVED_MODEL_SCHEMA_VERSION = export(
    "saved_model.SAVED_MODEL_SCHEMA_VERSION", "saved_model.constants.SAVED_MODEL_SCHEMA_VERSION"
)(1)  # fmt: skip
SAVED_MODEL_FILENAME_PB = export(
    "saved_model.SAVED_MODEL_FILENAME_PB", "saved_model.constants.SAVED_MODEL_FILENAME_PB"
)("saved_model.pb")  # fmt: skip
SAVED_MODEL_FILENAME_PBTXT = export(
    "saved_model.SAVED_MODEL_FILENAME_PBTXT", "saved_model.constants.SAVED_MODEL_FILENAME_PBTXT"
)("saved_model.pbtxt")  # fmt: skip
VARIABLES_DIRECTORY = export("saved_model.VARIABLES_DIRECTORY", "saved_model.constants.VARIABLES_DIRECTORY")("variables")
VARIABLES_FILENAME = export("saved_model.VARIABLES_FILENAME", "saved_model.constants.VARIABLES_FILENAME")("variables")
EXTRA_ASSETS_DIRECTORY = "assets.extra"
INIT_OP_SIGNATURE_KEY = "__saved_model_init_op"
SAVED_MODEL_FILENAME_JSON = "saved_model.json"
TRAIN_OP_KEY = "saved_model_train_op"
TRAIN_OP_SIGNATURE_KEY = "__saved_model_train_op"
