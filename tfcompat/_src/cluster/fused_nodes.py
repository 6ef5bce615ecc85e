"""Takes apart the fused nodes of parts whose master is TensorFlow's: its optimizer replaces products that are followed by a bias, a batch
normalization or an activation by one node, of an op type that no graph of a program has.

Parts of tfcompat are compiled as a whole, where the compiler fuses what it can, so the operations are put back as they were.
"""

from __future__ import annotations

from tfcompat._src.proto import messages

_PRODUCTS = {
    "_FusedMatMul": ("MatMul", ("T", "transpose_a", "transpose_b")),
    "_FusedConv2D": ("Conv2D", ("T", "strides", "padding", "explicit_paddings", "data_format", "dilations", "use_cudnn_on_gpu")),
}
"""The op type of the product in a fused node, and the attributes that the product keeps."""
_ARGUMENTS = {"BiasAdd": 1, "FusedBatchNorm": 4}
"""How many of a fused node's further inputs an operation takes; activations take none."""
_ATTRS = {"BiasAdd": ("T", "data_format"), "FusedBatchNorm": ("T", "data_format", "epsilon")}
"""The attributes that an operation takes over, if the fused node has them; activations take the dtype."""


def taken_apart(graph_def: messages.GraphDef) -> messages.GraphDef:
    """Returns a GraphDef message in which the operations of each fused node are nodes; the same message if it has no fused nodes."""
    if not any(node.op in _PRODUCTS for node in graph_def.node):
        return graph_def
    found = messages.GraphDef(versions=graph_def.versions, library=graph_def.library)
    for node in graph_def.node:
        found.node.extend(_parts(node) if node.op in _PRODUCTS else [node])
    return found


def _parts(node: messages.NodeDef) -> list[messages.NodeDef]:
    """Returns the nodes that compute a fused node; the last one has its name, all have its control inputs."""
    product, kept = _PRODUCTS[node.op]
    operations = [product, *(text.decode() for text in node.attr["fused_ops"].list.s)]
    data = [text for text in node.input if not text.startswith("^")]
    waits = [text for text in node.input if text.startswith("^")]
    arguments = iter(data[2:])
    parts: list[messages.NodeDef] = []
    for number, operation in enumerate(operations):
        is_last = number == len(operations) - 1
        part = messages.NodeDef(name=node.name if is_last else f"{node.name}/{operation}", op=operation, device=node.device)
        taken = [next(arguments) for _ in range(_ARGUMENTS.get(operation, 0))]
        part.input.extend([*(data[:2] if number == 0 else [parts[-1].name]), *taken, *waits])
        for name in kept if number == 0 else _ATTRS.get(operation, ("T",)):
            if name in node.attr:
                part.attr[name].CopyFrom(node.attr[name])
        if operation == "FusedBatchNorm":
            part.attr["is_training"].b = False
        parts.append(part)
    return parts
