"""tf.contrib.session_bundle.exporter: folders with a checkpoint, a meta graph and signatures, as before SavedModels."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from google.protobuf.any_pb2 import Any as AnyMessage

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.contrib.session_bundle import constants, gc
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import add_to_collection, get_default_graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.platform import gfile, logging
from tfcompat._src.proto import pool
from tfcompat._src.proto.messages import GraphDef
from tfcompat._src.train.saver import Saver
from tfcompat._src.variables.training_util import global_step

if TYPE_CHECKING:
    from tfcompat._src.proto import messages

manifest_pb2 = export("contrib.session_bundle.manifest_pb2")(pool.module("tensorflow/contrib/session_bundle/manifest.proto"))


@export("contrib.session_bundle.exporter.gfile_copy_callback")
def gfile_copy_callback(files_to_copy: dict[Any, Any], export_dir_path: Any) -> None:
    """Copies files into a folder, over what is there.

    Args:
      files_to_copy: dict from paths to names in the folder.
      export_dir_path: the folder.
    """
    logging.info("Write assets into: %s using gfile_copy.", export_dir_path)
    gfile.recursive_create_dir(export_dir_path)
    for source, name in files_to_copy.items():
        target = os.path.join(os.fsencode(export_dir_path), os.fsencode(name))
        logging.info("Copying asset %s to path %s.", source, target)
        gfile.copy(source, target, overwrite=True)


@export("contrib.session_bundle.exporter.regression_signature")
def regression_signature(input_tensor: Tensor, output_tensor: Tensor) -> Any:
    """The Signature message of a regression with these two Tensors."""
    signature = manifest_pb2.Signature()
    signature.regression_signature.input.tensor_name = input_tensor.name
    signature.regression_signature.output.tensor_name = output_tensor.name
    return signature


@export("contrib.session_bundle.exporter.classification_signature")
def classification_signature(
    input_tensor: Tensor, classes_tensor: Tensor | None = None, scores_tensor: Tensor | None = None
) -> Any:
    """The Signature message of a classification with these Tensors."""
    signature = manifest_pb2.Signature()
    signature.classification_signature.input.tensor_name = input_tensor.name
    if classes_tensor is not None:
        signature.classification_signature.classes.tensor_name = classes_tensor.name
    if scores_tensor is not None:
        signature.classification_signature.scores.tensor_name = scores_tensor.name
    return signature


@export("contrib.session_bundle.exporter.generic_signature")
def generic_signature(name_tensor_map: dict[str, Tensor]) -> Any:
    """The Signature message of a dict from names to Tensors."""
    signature = manifest_pb2.Signature()
    for name, tensor in name_tensor_map.items():
        signature.generic_signature.map[name].tensor_name = tensor.name
    return signature


def _add_message(collection: str, message: Any) -> None:
    packed = AnyMessage()
    packed.Pack(message)
    add_to_collection(collection, packed)


def _asset_path(tensor: object) -> bytes:
    """The path in a constant Tensor."""
    if not isinstance(tensor, Tensor):
        raise TypeError("tensor is not a Tensor")
    if tensor.op.type != "Const":
        raise TypeError("Only constants tensor are supported")
    if tensor.dtype != dtypes.string:
        raise TypeError("File paths should be string")
    values = tensor.op.get_attr("value").string_val
    if len(values) != 1:
        raise TypeError("Only scalar tensors are supported")
    if not values[0]:
        raise ValueError(f"invalid asset filepath tensor {tensor}")
    return values[0]


@export("contrib.session_bundle.exporter.Exporter")
class Exporter:
    """Writes a model to a folder for serving: `init` adds what it needs to the graph, `export` writes one version.

    Args:
      saver: the Saver of the variables; its rules about old checkpoints are left out.
    """

    def __init__(self, saver: Saver) -> None:
        saver_def = saver.as_saver_def()
        saver_def.ClearField("max_to_keep")
        self._saver = Saver(saver_def=saver_def)
        self._has_init = False
        self._assets_to_copy: dict[bytes, bytes] = {}
        self._assets_callback: Callable | None = None

    def init(
        self, graph_def: messages.GraphDef | None = None, init_op: object = None, clear_devices: bool = False, default_graph_signature: object = None,
        named_graph_signatures: dict[str, Any] | None = None, assets_collection: Any = None,
        assets_callback: Callable | None = gfile_copy_callback,
    ) -> None:  # fmt: skip
        """Adds the graph, the initialization, the signatures and the assets to collections of the default graph.

        Args:
          graph_def: GraphDef to serve, by default the graph itself.
          init_op: Operation that is run after loading.
          clear_devices: whether nodes are served without their devices.
          default_graph_signature: a Signature message.
          named_graph_signatures: dict from names to Signature messages.
          assets_collection: constant string Tensors with the paths of files to copy.
          assets_callback: `f(dict from paths to names, folder)` that copies them.

        Raises:
          RuntimeError: called before.
          TypeError: `init_op` is no Operation, or an asset no constant string scalar.
          ValueError: the path of an asset is empty.
        """
        assets = []
        for tensor in assets_collection or ():
            path = _asset_path(tensor)
            assets.append((os.path.basename(path), tensor))
            self._assets_to_copy[path] = os.path.basename(path)
        if self._has_init:
            raise RuntimeError("init should be called only once")
        self._has_init = True
        if graph_def or clear_devices:
            served = GraphDef()
            served.CopyFrom(graph_def or get_default_graph().as_graph_def())
            for node in served.node if clear_devices else ():
                node.device = ""
            _add_message(constants.GRAPH_KEY, served)
        if init_op:
            if not isinstance(init_op, Operation):
                raise TypeError(f"init_op needs to be an Operation: {init_op}")
            add_to_collection(constants.INIT_OP_KEY, init_op)
        signatures = manifest_pb2.Signatures()
        if default_graph_signature:
            signatures.default_signature.CopyFrom(default_graph_signature)
        for name, signature in (named_graph_signatures or {}).items():
            signatures.named_signatures[name].CopyFrom(signature)
        _add_message(constants.SIGNATURES_KEY, signatures)
        for name, tensor in assets:
            asset = manifest_pb2.AssetFile(filename=name.decode())
            asset.tensor_binding.tensor_name = tensor.name
            _add_message(constants.ASSETS_KEY, asset)
        self._assets_callback = assets_callback

    def export(
        self, export_dir_base: str, global_step_tensor: Any, sess: Any = None, exports_to_keep: Callable | None = None
    ) -> bytes:
        """Writes the folder `export_dir_base/<global step, eight digits>`, and removes old ones.

        Args:
          export_dir_base: the folder of all versions.
          global_step_tensor: Tensor, or its name.
          sess: Session with the variables.
          exports_to_keep: rule of `session_bundle.gc` for the versions to keep; by default all.

        Returns:
          the folder's path, bytes.

        Raises:
          RuntimeError: `init` was not called, or the folder is there.
        """
        if not self._has_init:
            raise RuntimeError("init must be called first")
        base = export_dir_base.removesuffix("/")
        folder = os.path.join(base, constants.VERSION_FORMAT_SPECIFIER % global_step(sess, global_step_tensor))
        if gfile.file_exists(folder):
            raise RuntimeError(
                f"Overwriting exports can cause corruption and are not allowed. Duplicate export dir: {folder}"
            )
        temporary = folder + "-tmp"
        gfile.recursive_create_dir(temporary)
        self._saver.save(
            sess, os.path.join(temporary, constants.EXPORT_BASE_NAME), meta_graph_suffix=constants.EXPORT_SUFFIX_NAME
        )
        if self._assets_callback and self._assets_to_copy:
            assets = os.path.join(temporary, constants.ASSETS_DIRECTORY)
            gfile.recursive_create_dir(assets)
            self._assets_callback(self._assets_to_copy, os.fsencode(assets))
        gfile.rename(temporary, folder)
        if exports_to_keep:
            for path in gc.negation(exports_to_keep)(gc.get_paths(base, parser=_version_in(base))):
                gfile.delete_recursively(path.path)
        return os.fsencode(folder)


def _version_in(base: str) -> Callable:
    """A parser of the paths of versions in a folder; None for others."""
    pattern = re.compile(re.escape(base) + r"/(\d{8})$")

    def parsed(path: Any) -> Any:
        found = pattern.match(path.path)
        return path._replace(export_version=int(found[1])) if found else None

    return parsed
