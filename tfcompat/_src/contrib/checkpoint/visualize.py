"""A picture of the objects of a checkpoint."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.base.trackable import VARIABLE_VALUE_KEY
from tfcompat._src.checkpoint.reader import NewCheckpointReader
from tfcompat._src.train.checkpoint import object_metadata


def _quoted(text: str) -> str:
    return text.replace('"', '\\"')


def _variable(number: int, attribute: Any, is_slot: bool, reader: Any) -> str:
    """A point for a variable, with its name, shape and dtype as its tooltip."""
    kind, color = ("Slot variable", "orange") if is_slot else ("Variable", "blue")
    shape = reader.get_variable_to_shape_map()[attribute.checkpoint_key]
    dtype = reader.get_variable_to_dtype_map()[attribute.checkpoint_key]
    tooltip = f"{kind} {_quoted(attribute.full_name)} shape={shape} {dtype.name}"
    return f'N_{number} [shape=point label="" color={color} width=.25 tooltip="{tooltip}"]'


@export("contrib.checkpoint.dot_graph_from_checkpoint")
def dot_graph_from_checkpoint(save_path: str) -> str:
    """The objects of a checkpoint and how they depend on each other, as text for Graphviz (`dot -Tsvg`).

    Args:
      save_path: the prefix of a checkpoint of `tf.train.Checkpoint`.

    Returns:
      A graph in the DOT language; variables are blue, slots orange, and optimizers red.

    Raises:
      ValueError: the checkpoint is one of a Saver.
    """
    nodes, reader = object_metadata(save_path).nodes, NewCheckpointReader(save_path)
    slots = {slot.slot_variable_node_id for node in nodes for slot in node.slot_variables}
    lines = ["digraph {"]
    for number, node in enumerate(nodes):
        if [attribute.name for attribute in node.attributes] == [VARIABLE_VALUE_KEY]:
            lines.append(_variable(number, node.attributes[0], number in slots, reader))
        elif node.slot_variables:
            lines.append(f'N_{number} [shape=point label="" width=.25 color=red,tooltip="Optimizer"]')
        else:
            lines.append(f'N_{number} [shape=point label="" width=.25]')
        lines += [f'N_{number} -> N_{child.node_id} [label="{_quoted(child.local_name)}"]' for child in node.children]
        for slot in node.slot_variables:
            lines.append(f'N_{number} -> N_{slot.slot_variable_node_id} [label="{_quoted(slot.slot_name)}" style=dotted]')
            lines.append(f"N_{slot.original_variable_node_id} -> N_{slot.slot_variable_node_id} [style=dotted]")
    return "\n".join([*lines, "}\n"])
