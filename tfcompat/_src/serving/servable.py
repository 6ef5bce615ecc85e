"""A SavedModel that answers requests: its graph in a session of its own, and its signatures."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tfcompat._src.base import dtypes, errors
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.graph import op_spec
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.proto import messages
from tfcompat._src.runtime.session.session import Session
from tfcompat._src.saved_model import loader
from tfcompat._src.serving.batching import Batcher
from tfcompat._src.serving.metrics import GRAPH_RUNS


class Servable:
    """One version of a model, loaded.

    Args:
      name, version: of the model. path: the folder of the SavedModel. tags: of its graph.
      batcher: what joins runs of signatures into batches, or None.

    Raises:
      OSError, RuntimeError, errors.OpError: the SavedModel cannot be read, has no graph with these tags, or cannot be restored.
    """

    def __init__(self, name: str, version: int, path: str, tags: Sequence[str], batcher: Batcher | None = None) -> None:
        self.name, self.version, self.path, self.tags = name, version, path, tuple(tags)
        self._batcher = batcher
        self._session = Session(graph=Graph())
        try:
            meta_graph = loader.load(self._session, tags, path)
        except BaseException:
            self._session.close()
            raise
        self.signatures: Mapping[str, Any] = meta_graph.signature_def
        self._library = meta_graph.graph_def.library
        self._batched = {_tensors(signature) for signature in self.signatures.values() if signature.inputs}

    def run(self, feeds: Mapping[str, NDArray], fetches: Sequence[str], seconds: float = 0) -> list[NDArray]:
        """The values of tensors, computed in a batch with those of other runs where there is a batcher and a signature has these tensors.

        Args:
          feeds: values by the names of the tensors that they replace; they have the tensors' dtypes.
          fetches: names of tensors. seconds: how long it may take at most; 0 for any time.

        Raises:
          errors.InvalidArgumentError: there is no such tensor, or a value has another dtype. errors.DeadlineExceededError: the time is over.
          errors.OpError, ValueError: what else `Session.run` raises, and `Batcher.run`.
        """
        if self._batcher is not None and (frozenset(feeds), frozenset(fetches)) in self._batched:
            return self._batcher.run(self.run_at_once, feeds, fetches, seconds)
        return self.run_at_once(feeds, fetches, seconds)

    def run_at_once(self, feeds: Mapping[str, NDArray], fetches: Sequence[str], seconds: float = 0) -> list[NDArray]:
        """What `run` gives, without a batcher."""
        options = messages.RunOptions(timeout_in_ms=max(1, int(seconds * 1000))) if seconds else None
        return self.run_session(feeds, fetches, (), options)

    def run_session(
        self, feeds: Mapping[str, NDArray], fetches: Sequence[str], targets: Sequence[str], options: object = None, metadata: object = None
    ) -> list[NDArray]:  # fmt: skip
        """The values of tensors, of any name in the graph, after a run of them and of operations.

        Args:
          feeds, fetches: as for `run`. targets: names of operations. options: a RunOptions message. metadata: a RunMetadata message to fill in.

        Raises:
          what `run` raises.
        """
        graph = self._session.graph
        tensors = {_tensor(graph, name): value for name, value in feeds.items()}
        wanted = [_tensor(graph, name) for name in fetches]
        try:
            run = [graph.get_operation_by_name(name) for name in targets]
        except (KeyError, ValueError) as e:
            raise errors.InvalidArgumentError(None, None, f"An operation is named that the graph does not have: {e}") from None
        for number, (tensor, value) in enumerate(tensors.items()):
            given, needed = dtype_of(value), tensor.dtype.base_dtype
            if given != needed:
                raise errors.InvalidArgumentError(
                    None, None, f"Expects arg[{number}] to be {type_name(needed)} but {type_name(given)} is provided"
                )
        GRAPH_RUNS.add()
        found: list[NDArray] = self._session.run([*wanted, *run], tensors, options, metadata)
        return found[: len(wanted)]

    def changes(self, signature: Any) -> list[str]:
        """The types of operations that change variables, tables, queues or files when a signature is run."""
        graph = self._session.graph
        waiting = [_tensor(graph, info.name).op for info in signature.outputs.values() if info.name]
        types, called, seen = set(), set(), set()
        while waiting:
            op = waiting.pop()
            if op not in seen:
                seen.add(op)
                types.add(op.type)
                called |= _functions_of(op.node_def)
                waiting += [*(tensor.op for tensor in op.inputs), *op.control_inputs]
        bodies = {function.signature.name: function.node_def for function in self._library.function}
        unread = [bodies[name] for name in called if name in bodies]
        while unread:
            for node in unread.pop():
                types.add(node.op)
                new = _functions_of(node) - called
                called |= new
                unread += [bodies[name] for name in new if name in bodies]
        return sorted(type_ for type_ in types if _CHANGING.search(type_) or (spec := op_spec.find(type_)) is not None and spec.effects.writes)

    def example_for(self, name: str) -> bytes:
        """A serialized Example with zeros for the dense features that the graph parses from a tensor; b"" where it parses none."""
        example = messages.Example()
        for op in _tensor(self._session.graph, name).consumers():
            if op.type == "ParseExample":
                keys = op.inputs[2 + op.get_attr("Nsparse") :][: op.get_attr("Ndense")]
                for key, dtype, shape in zip(keys, op.get_attr("Tdense"), op.get_attr("dense_shapes"), strict=True):
                    feature = example.features.feature[constant_value(key).item()]
                    values, zero = _FEATURES[dtypes.as_dtype(dtype).name](feature)
                    values.extend([zero] * math.prod(abs(dim.size) for dim in shape.dim))
        return example.SerializeToString()

    def close(self) -> None:
        """Gives back the session's memory; no request may be under way."""
        self._session.close()
        del self._session


_CHANGING = re.compile("TableInsert|TableRemove|TableImport|Enqueue|Dequeue|WriteFile|PyFunc|Save")
"""Types of operations that change what is not a variable."""


def _functions_of(node: Any) -> set[str]:
    """The functions that attributes of a node name."""
    named = [value.func.name for value in node.attr.values() if value.HasField("func")]
    return {*named, *(each.name for value in node.attr.values() for each in value.list.func)}


def _tensor(graph: Graph, name: str) -> Tensor:
    """The tensor of a name; one without a number is that of an operation's first output.

    Raises:
      errors.InvalidArgumentError: the graph has none, in the words of TensorFlow's DirectSession (graph_execution_state.cc).
    """
    full = name if ":" in name else name + ":0"
    try:
        return graph.get_tensor_by_name(full)
    except (KeyError, ValueError):
        raise errors.InvalidArgumentError(
            None, None, f"Tensor {full}, specified in either feed_devices or fetch_devices was not found in the Graph"
        ) from None


def _tensors(signature: Any) -> tuple[frozenset[str], frozenset[str]]:
    return frozenset(info.name for info in signature.inputs.values()), frozenset(info.name for info in signature.outputs.values())


_FEATURES: dict[str, Callable[[Any], tuple[Any, Any]]] = {
    "float32": lambda feature: (feature.float_list.value, 0.0),
    "int64": lambda feature: (feature.int64_list.value, 0),
    "string": lambda feature: (feature.bytes_list.value, b""),
}


def dtype_of(value: NDArray) -> dtypes.DType:
    """The dtype of an array, where arrays of objects are strings."""
    return dtypes.string if value.dtype.kind in "OSU" else dtypes.as_dtype(np.dtype(value.dtype))


def type_name(dtype: dtypes.DType) -> str:
    """The name of a dtype as texts of the server have it: "float", "double", "half"."""
    return messages.DataType.Name(dtype.as_datatype_enum).removeprefix("DT_").lower()
