"""Renames the variables of recurrent cells in checkpoints of TensorFlow before 1.2, whose cells named them differently."""

from __future__ import annotations

import collections
import importlib.resources
import json

from tfcompat._src.checkpoint.reader import NewCheckpointReader
from tfcompat._src.graph.graph import Graph
from tfcompat._src.platform import logging
from tfcompat._src.proto import messages
from tfcompat._src.runtime.session.session import Session
from tfcompat._src.train.saver import Saver
from tfcompat._src.variables.collections import global_variables_initializer
from tfcompat._src.variables.variable import Variable

_TABLES = json.loads(importlib.resources.files(__package__).joinpath("names_of_cells.json").read_text())
RNN_NAME_REPLACEMENTS = collections.OrderedDict(_TABLES[0])
"""Part of an old name -> what stands there now; the first that a name contains counts."""
_RNN_SHARDED_NAME_REPLACEMENTS = collections.OrderedDict(_TABLES[1])
"""The same for parts of variables, in names that end in a number. As in TensorFlow 1.15, `convert_names` leaves such names unchanged."""


def convert_names(
    checkpoint_from_path: str, checkpoint_to_path: str, write_v1_checkpoint: bool = False
) -> tuple[dict[str, Variable], dict[str, str]]:
    """Writes a checkpoint with the new names of cells' variables.

    Returns the variables, of a graph of their own, by their new names, and the new name for each old one that changed.
    """
    with Graph().as_default():
        reader = NewCheckpointReader(checkpoint_from_path)
        converted = {name: _new_name(name) for name in reader.get_variable_to_shape_map()}
        found = {new: Variable(reader.get_tensor(old), name=old) for old, new in converted.items()}
        version = messages.SaverDef.V1 if write_v1_checkpoint else messages.SaverDef.V2
        saver = Saver(found, write_version=version)
        with Session() as session:
            session.run(global_variables_initializer())
            saver.save(session, checkpoint_to_path)
    return found, {old: new for old, new in converted.items() if old != new}


def _new_name(name: str) -> str:
    for old, new in RNN_NAME_REPLACEMENTS.items():
        if old in name:
            logging.info("Converted: %s --> %s", name, name.replace(old, new))
            return name.replace(old, new)
    return name
