"""tf.saved_model.simple_save: a SavedModel for serving in one call."""

from __future__ import annotations

from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.graph.scopes import get_collection
from tfcompat._src.saved_model.builder import SavedModelBuilder
from tfcompat._src.saved_model.signature_constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from tfcompat._src.saved_model.signature_def_utils import predict_signature_def
from tfcompat._src.saved_model.tag_constants import SERVING


@export("saved_model.simple_save")
def simple_save(session: SessionLike, export_dir: str, inputs: dict, outputs: dict, legacy_init_op: object = None) -> None:
    """Writes the default graph and a session's variables as a SavedModel with one signature for Predict.

    Args:
      session: the session. export_dir: the folder, which must not exist or be empty.
      inputs: tensors by key. outputs: the same.
      legacy_init_op: the operation that a loader runs after restoring.
    """
    signatures = {DEFAULT_SERVING_SIGNATURE_DEF_KEY: predict_signature_def(inputs, outputs)}
    builder = SavedModelBuilder(export_dir)
    builder.add_meta_graph_and_variables(
        session,
        tags=[SERVING],
        signature_def_map=signatures,
        assets_collection=get_collection(GraphKeys.ASSET_FILEPATHS),
        main_op=legacy_init_op,
        clear_devices=True,
    )
    builder.save()
