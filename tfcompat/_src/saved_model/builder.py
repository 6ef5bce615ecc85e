"""tf.saved_model.Builder: graphs, variables and assets written as a SavedModel."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import add_to_collection, get_collection
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.meta_graph import write_message
from tfcompat._src.platform import compat, file_io, logging
from tfcompat._src.platform.temporary_files import replacing
from tfcompat._src.proto import messages
from tfcompat._src.saved_model import constants, files
from tfcompat._src.saved_model.signature_def_utils import op_signature_def
from tfcompat._src.train.saver import Saver
from tfcompat._src.train.saver_builder import V2
from tfcompat._src.variables.collections import all_saveable_objects


class _SavedModelBuilder:
    """Builds a SavedModel that names its initial and training operation in signatures, as exporters of keras and Estimator do.

    Args:
      export_dir: the folder, which must not exist or be empty.

    Raises:
      AssertionError: the folder is not empty.
    """

    def __init__(self, export_dir: object) -> None:
        self._saved_model = messages.SavedModel(saved_model_schema_version=constants.SAVED_MODEL_SCHEMA_VERSION)
        self._export_dir = export_dir
        if not file_io.exists(export_dir):
            file_io.makedirs(export_dir)
        elif file_io.listdir(export_dir):
            raise AssertionError(
                "Export directory already exists, and isn't empty. Please choose a different export directory, or delete all the "
                f"contents of the specified directory: {export_dir}"
            )
        self._has_saved_variables = False

    def add_meta_graph(
        self, tags: Iterable[str], signature_def_map: dict[str, Any] | None = None, assets_list: Any = None,
        clear_devices: bool = False, init_op: Any = None, train_op: Any = None, saver: Saver | None = None,
    ) -> None:  # fmt: skip
        """Adds the default graph, for the variables that are saved already; arguments are those of `add_meta_graph_and_variables`."""
        self._require_variables(True)
        signatures = self._with_ops(signature_def_map, init_op, train_op)
        self._add_graph(tags, signatures, self._saver(saver), clear_devices, True, self._adder_of_assets(assets_list))

    def add_meta_graph_and_variables(
        self, sess: SessionLike, tags: Iterable[str], signature_def_map: dict[str, Any] | None = None, assets_list: Any = None,
        clear_devices: bool = False, init_op: Any = None, train_op: Any = None, strip_default_attrs: bool = False,
        saver: Saver | None = None,
    ) -> None:  # fmt: skip
        """Adds the default graph and writes the values that its variables have in a session.

        Args:
          sess: the session. tags: what the graph is found by.
          signature_def_map: SignatureDef messages by key.
          assets_list: string constants, the paths of files to copy.
          clear_devices: leave devices out.
          init_op: what a loader runs after restoring. train_op: what a training step runs.
          strip_default_attrs: leave out attributes with default values.
          saver: saves and restores the variables; by default a new one for all.

        Raises:
          AssertionError: variables are saved already, or a TensorInfo in a signature is not complete.
          KeyError: the key of a signature is reserved.
        """
        self._require_variables(False)
        signatures = self._with_ops(signature_def_map, init_op, train_op)
        saver = self._save_variables(sess, saver)
        self._add_graph(tags, signatures, saver, clear_devices, strip_default_attrs, self._adder_of_assets(assets_list))
        self._has_saved_variables = True

    def save(self, as_text: bool = False) -> bytes:
        """Writes the message of the SavedModel; the path of its file.

        Args:
          as_text: write the text form.
        """
        name = constants.SAVED_MODEL_FILENAME_PBTXT if as_text else constants.SAVED_MODEL_FILENAME_PB
        path = os.path.join(compat.as_text(self._export_dir), name)
        write_message(self._saved_model, path, as_text)
        logging.info("SavedModel written to: %s", path)
        return compat.as_bytes(path)

    # ---- steps ----

    def _require_variables(self, wanted: bool) -> None:
        if self._has_saved_variables and not wanted:
            raise AssertionError(
                "Graph state including variables and assets has already been saved. Please invoke `add_meta_graph()` instead."
            )
        if wanted and not self._has_saved_variables:
            raise AssertionError(
                "Graph state including variables and assets has not been saved yet. Please invoke `add_meta_graph_and_variables()` "
                "first."
            )

    def _with_ops(self, signature_def_map: dict[str, Any] | None, init_op: object, train_op: object) -> dict[str, Any]:
        """The signatures, checked, and those that name the operations."""
        found = {} if signature_def_map is None else signature_def_map
        self._validate_signature_def_map(found)
        for op, key in ((init_op, constants.INIT_OP_SIGNATURE_KEY), (train_op, constants.TRAIN_OP_SIGNATURE_KEY)):
            if op is not None:
                found[key] = op_signature_def(op, key)
        return found

    def _save_variables(self, sess: SessionLike, saver: Saver | None) -> Saver:
        files.get_or_create_variables_dir(self._export_dir)
        saver = self._saver(saver)
        path = files.get_variables_path(self._export_dir)
        saver.save(sess, path, write_meta_graph=False, write_state=False)
        return saver

    def _add_graph(
        self, tags: Iterable[str], signatures: dict[str, Any], saver: Saver, clear_devices: bool, strip_default_attrs: bool,
        add_assets: Callable[[Any], None],
    ) -> None:  # fmt: skip
        """Adds the default graph; `add_assets` is called with its MetaGraphDef."""
        found = saver.export_meta_graph(clear_devices=clear_devices, strip_default_attrs=strip_default_attrs)
        add_assets(found)
        self._tag_and_add_meta_graph(found, tags, signatures)

    def _tag_and_add_meta_graph(self, meta_graph_def: messages.MetaGraphDef, tags: Iterable[str], signatures: dict[str, Any]) -> None:
        meta_graph_def.meta_info_def.tags.extend(tags)
        for key, signature in signatures.items():
            meta_graph_def.signature_def[key].CopyFrom(signature)
        self._saved_model.meta_graphs.append(meta_graph_def)

    def _saver(self, saver: Saver | None) -> Saver:
        return saver or Saver(all_saveable_objects(), sharded=True, write_version=V2, allow_empty=True)

    def _adder_of_assets(self, tensors: object) -> Callable[[Any], None]:
        return lambda meta_graph_def: self._save_assets(tensors, meta_graph_def.asset_file_def.append)

    def _save_assets(self, tensors: Any, add: Callable[[Any], None]) -> None:
        """Copies the files that string constants name, and adds an AssetFileDef for each constant."""
        paths: dict[bytes, bytes] = {}
        for tensor in () if tensors is None else tensors:
            path = _asset_path(tensor)
            name = get_asset_filename_to_add(path, paths)
            paths[name] = path
            add(messages.AssetFileDef(filename=compat.as_text(name), tensor_info=messages.TensorInfo(name=tensor.name)))
        logging.info("No assets to save." if tensors is None else "Assets added to graph.")
        if not paths:
            logging.info("No assets to write.")
            return
        copy_assets_to_destination_dir(paths, self._export_dir)

    def _validate_signature_def_map(self, signature_def_map: dict[str, Any]) -> None:
        for signature in signature_def_map.values():
            for info in (*signature.inputs.values(), *signature.outputs.values()):
                self._validate_tensor_info(info)
        for key, what in ((constants.INIT_OP_SIGNATURE_KEY, "initialization"), (constants.TRAIN_OP_SIGNATURE_KEY, "the train op")):
            if key in signature_def_map:
                raise KeyError(f'SignatureDef map key "{key}" is reserved for {what}. Please use a different key.')

    def _validate_tensor_info(self, tensor_info: Any) -> None:
        if tensor_info is None:
            raise AssertionError("All TensorInfo protos used in the SignatureDefs must have the name and dtype fields set.")
        encoding = tensor_info.WhichOneof("encoding")
        if encoding is None:
            raise AssertionError(
                "All TensorInfo protos used in the SignatureDefs must have one of the 'encoding' fields (e.g., name or coo_sparse) "
                f"set: {tensor_info}"
            )
        if encoding == "composite_tensor":
            for part in tensor_info.composite_tensor.components:
                self._validate_tensor_info(part)
        elif not tensor_info.dtype:
            raise AssertionError(f"All TensorInfo protos used in the SignatureDefs must have the dtype field set: {tensor_info}")


@export("saved_model.Builder", "saved_model.builder.SavedModelBuilder")
class SavedModelBuilder(_SavedModelBuilder):
    """Builds a SavedModel: graphs with tags, the values of their variables, and the files they need.

    Args:
      export_dir: the folder, which must not exist or be empty.

    Raises:
      AssertionError: the folder is not empty.
    """

    def add_meta_graph(  # type: ignore[override]
        self, tags: Iterable[str], signature_def_map: dict[str, Any] | None = None, assets_collection: object = None,
        legacy_init_op: object = None, clear_devices: bool = False, main_op: object = None, strip_default_attrs: bool = False,
        saver: Saver | None = None,
    ) -> None:  # fmt: skip
        """Adds the default graph, for the variables that are saved already; arguments are those of `add_meta_graph_and_variables`.

        Raises:
          AssertionError: no variables are saved yet.
        """
        self._require_variables(True)
        signatures = self._with_ops(signature_def_map, None, None)
        self._add_collections(assets_collection, main_op or legacy_init_op, None)
        self._add_graph(tags, signatures, self._saver(saver), clear_devices, strip_default_attrs, _assets_are_a_collection)

    def add_meta_graph_and_variables(  # type: ignore[override]
        self, sess: SessionLike, tags: Iterable[str], signature_def_map: dict[str, Any] | None = None, assets_collection: object = None,
        legacy_init_op: object = None, clear_devices: bool = False, main_op: object = None, strip_default_attrs: bool = False,
        saver: Saver | None = None,
    ) -> None:  # fmt: skip
        """Adds the default graph and writes the values that its variables have in a session.

        Args:
          sess: the session. tags: what the graph is found by.
          signature_def_map: SignatureDef messages by key.
          assets_collection: string constants, the paths of files to copy.
          legacy_init_op: the older name of `main_op`.
          clear_devices: leave devices out.
          main_op: the operation that a loader runs after restoring.
          strip_default_attrs: leave out attributes with default values.
          saver: saves and restores the variables; by default a new one for all.

        Raises:
          AssertionError: variables are saved already, or a TensorInfo in a signature is not complete.
          KeyError: the key of a signature is reserved.
          TypeError: `main_op` is no operation. ValueError: the graph has one already.
        """
        self._require_variables(False)
        signatures = self._with_ops(signature_def_map, None, None)
        self._add_collections(assets_collection, main_op or legacy_init_op, None)
        saver = self._save_variables(sess, saver)
        self._add_graph(tags, signatures, saver, clear_devices, strip_default_attrs, _assets_are_a_collection)
        self._has_saved_variables = True

    def _add_collections(self, assets_collection: object, main_op: object, train_op: object) -> None:
        """Puts assets and operations into the collections that the graph is saved with."""
        self._save_assets(assets_collection, _add_asset_to_collection)
        self._maybe_add_main_op(main_op)
        self._add_train_op(train_op)

    def _maybe_add_main_op(self, main_op: object) -> None:
        if main_op is None:
            return
        if not isinstance(main_op, Operation):
            raise TypeError(f"main_op needs to be an Operation: {main_op!r}")
        for key in (constants.MAIN_OP_KEY, constants.LEGACY_INIT_OP_KEY):
            if get_collection(key):
                raise ValueError(f"Graph already contains one or more main ops under the collection {key}.")
        add_to_collection(constants.MAIN_OP_KEY, main_op)

    def _add_train_op(self, train_op: object) -> None:
        if train_op is None:
            return
        if not isinstance(train_op, (Tensor, Operation)):
            raise TypeError(f"train_op needs to be a Tensor or Op: {train_op!r}")
        add_to_collection(constants.TRAIN_OP_KEY, train_op)


def _assets_are_a_collection(meta_graph_def: Any) -> None:
    """Adds nothing: the assets are in a collection of the graph."""


def _asset_path(tensor: object) -> bytes:
    """The path that a string constant holds."""
    if not isinstance(tensor, Tensor):
        raise TypeError("Asset path tensor must be a Tensor.")
    if tensor.op.type != "Const":
        raise TypeError("Asset path tensor must be of type constant.")
    if tensor.dtype != dtypes.string:
        raise TypeError("Asset path tensor must be of dtype string.")
    values = tensor.op.get_attr("value").string_val
    if len(values) != 1:
        raise TypeError("Asset path tensor must be a scalar.")
    if not values[0]:
        raise ValueError(f"Invalid asset filepath tensor {tensor}")
    return values[0]


def get_asset_filename_to_add(asset_filepath: bytes, asset_filename_map: dict[bytes, bytes]) -> bytes:
    """The name of a file among the assets: a number is added where it is that of another file with other content.

    Args:
      asset_filepath: the path of the file. asset_filename_map: paths of the files so far, by name.
    """
    name = os.path.basename(asset_filepath)
    other = asset_filename_map.get(name)
    if other is None or other == asset_filepath or file_io.filecmp(asset_filepath, other):
        return name
    number, unique = 1, name
    while unique in asset_filename_map:
        unique = compat.as_bytes(name) + b"_%d" % number
        number += 1
    return unique


def copy_assets_to_destination_dir(asset_filename_map: dict[bytes, bytes], destination_dir: object) -> None:
    """Copies files to the assets of a SavedModel, where they are not there yet.

    Args:
      asset_filename_map: paths of the files by their new names. destination_dir: the folder of the SavedModel.
    """
    folder = files.get_or_create_assets_dir(destination_dir)
    for name, path in asset_filename_map.items():
        target = os.path.join(folder, compat.as_text(name))
        if not file_io.exists(target):
            with replacing(target) as temporary:
                file_io.copy(path, temporary)
    logging.info("Assets written to: %s", folder)


def _add_asset_to_collection(asset: object) -> None:
    packed = messages.google.protobuf.Any()
    packed.Pack(asset)
    add_to_collection(constants.ASSETS_KEY, packed)
