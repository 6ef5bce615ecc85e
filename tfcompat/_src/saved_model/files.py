"""The files of a SavedModel: where they are, and its message read from them."""

from __future__ import annotations

import os
from typing import Any

from google.protobuf import text_format
from google.protobuf.message import DecodeError

from tfcompat._src.base.export import export
from tfcompat._src.platform import compat, file_io
from tfcompat._src.proto import messages, pool
from tfcompat._src.saved_model import constants


def get_variables_dir(export_dir: object) -> str:
    """The folder of a SavedModel with the variables."""
    return os.path.join(compat.as_text(export_dir), constants.VARIABLES_DIRECTORY)


def get_variables_path(export_dir: object) -> str:
    """The prefix of the checkpoint in a SavedModel."""
    return os.path.join(get_variables_dir(export_dir), constants.VARIABLES_FILENAME)


def get_assets_dir(export_dir: object) -> str:
    """The folder of a SavedModel with the assets."""
    return os.path.join(compat.as_text(export_dir), constants.ASSETS_DIRECTORY)


def get_or_create_variables_dir(export_dir: object) -> str:
    """`get_variables_dir`, made where it does not exist."""
    return _made(get_variables_dir(export_dir))


def get_or_create_assets_dir(export_dir: object) -> str:
    """`get_assets_dir`, made where it does not exist."""
    return _made(get_assets_dir(export_dir))


def _made(folder: str) -> str:
    file_io.makedirs(folder)
    return folder


def _message_path(export_dir: object, filename: str) -> str:
    return os.path.join(compat.as_text(export_dir), filename)


@export(
    "saved_model.contains_saved_model", "saved_model.maybe_saved_model_directory", "saved_model.loader.maybe_saved_model_directory"
)
def contains_saved_model(export_dir: str) -> bool:
    """Whether a folder holds a SavedModel's message; it is not read."""
    names = (constants.SAVED_MODEL_FILENAME_PBTXT, constants.SAVED_MODEL_FILENAME_PB)
    return any(file_io.exists(_message_path(export_dir, name)) for name in names)


def read_saved_model(saved_model_dir: object) -> Any:
    """The SavedModel message of a folder; the binary form comes first where both exist.

    Raises:
      OSError: there is none, or it cannot be parsed.
    """
    binary = _message_path(saved_model_dir, constants.SAVED_MODEL_FILENAME_PB)
    text = _message_path(saved_model_dir, constants.SAVED_MODEL_FILENAME_PBTXT)
    for path, is_binary in ((binary, True), (text, False)):
        if file_io.exists(path):
            return read_message(path, messages.SavedModel, is_binary)
    names = f"{{{constants.SAVED_MODEL_FILENAME_PBTXT}|{constants.SAVED_MODEL_FILENAME_PB}}}"
    raise OSError(f"SavedModel file does not exist at: {compat.as_text(saved_model_dir)}/{names}")


def read_message(path: str, kind: Any, is_binary: bool) -> Any:
    """The message in a file, of the given class, in its binary or text form; OSError where it cannot be parsed."""
    data = file_io.read_file_to_string(path, binary_mode=True)
    try:
        return kind.FromString(data) if is_binary else text_format.Parse(data, kind(), descriptor_pool=pool.POOL)
    except (DecodeError, text_format.ParseError, UnicodeDecodeError) as e:
        raise OSError(f"Cannot parse file {path}: {e}.") from None


def get_saved_model_tag_sets(saved_model_dir: object) -> list[list[str]]:
    """The tags of each graph in a SavedModel."""
    return [list(graph.meta_info_def.tags) for graph in read_saved_model(saved_model_dir).meta_graphs]


def get_meta_graph_def(saved_model_dir: object, tag_set: str) -> Any:
    """The MetaGraphDef message with exactly the given tags.

    Args:
      saved_model_dir: the folder of the SavedModel.
      tag_set: the tags, separated by commas.

    Raises:
      RuntimeError: no graph has these tags.
    """
    found = with_tags(read_saved_model(saved_model_dir), tag_set.split(","))
    if found is None:
        raise RuntimeError(f"MetaGraphDef associated with tag-set {tag_set} could not be found in SavedModel")
    return found


def with_tags(saved_model: Any, tags: Any) -> Any:
    """The MetaGraphDef of a SavedModel message that has exactly these tags, or None."""
    return next((g for g in saved_model.meta_graphs if set(g.meta_info_def.tags) == set(tags)), None)
