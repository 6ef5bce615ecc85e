"""Operators on constants alone -> constants: what is left of them after lowering, as weights that a loop's body splits and transposes."""

from __future__ import annotations

import numpy as np

from tfcompat._src.lite import kernels
from tfcompat._src.lite import model as lite
from tfcompat._src.lite.graph_of import GraphOf
from tfcompat._src.runtime.session.session import Session


def fold_constants(subgraph: lite.Subgraph) -> None:
    """Computes, in one run, the operators that take constants only; those that make an output of the subgraph stay."""
    ends = set(subgraph.outputs)
    known: set[lite.Tensor] = set()
    folded = []
    for operator in subgraph.operators:
        if operator.builtin not in kernels.KERNELS or not operator.inputs or ends.intersection(operator.outputs):
            continue
        if all(t is None or t.data is not None or t in known for t in operator.inputs):
            folded.append(operator)
            known.update(operator.outputs)
    if not folded:
        return
    gone = set(folded)
    subgraph.operators[:] = [o for o in subgraph.operators if o not in gone]
    wanted = [t for t in subgraph.consumers() if t in known]
    built = GraphOf(lite.Model([lite.Subgraph([], wanted, folded)]), {})
    with Session(graph=built.graph) as session:
        for tensor, value in zip(wanted, session.run([built.tensors[t] for t in wanted])):
            tensor.data = np.asarray(value, lite.NUMPY_TYPES[tensor.dtype])
            tensor.shape = tuple(tensor.data.shape)
