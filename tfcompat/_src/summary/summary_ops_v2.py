"""Summaries that are written by nodes of the graph or at once, where a writer is set: tf.contrib.summary, tf.compat.v2.summary."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.default_stack import SESSIONS
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import (
    add_to_collection,
    control_dependencies,
    device,
    executing_eagerly,
    get_collection,
    get_default_graph,
    name_scope,
)
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.ops.array.constant import identity, placeholder
from tfcompat._src.ops.control.cond import smart_cond
from tfcompat._src.ops.control.groups import no_op
from tfcompat._src.platform import logging
from tfcompat._src.proto import messages
from tfcompat._src.summary import scope as summary_op_util
from tfcompat._src.summary.recording import CPU, STATE, get_step, is_recording, should_record_summaries
from tfcompat._src.summary.summary_writers import summary_writer_initializer_op
from tfcompat._src.variables.training_util import get_or_create_global_step

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_INVALID_SCOPE_CHARACTERS = re.compile(r"[^-_/.A-Za-z0-9]")


@export("summary.initialize", "contrib.summary.initialize", "contrib.summary.summary.initialize")
def initialize(graph: object = None, session: SessionLike | None = None) -> None:
    """Opens the writers of the default graph; where operations run at once, they are open already.

    Args:
      graph: a Graph or GraphDef that is then written.
      session: the Session, by default the default one.

    Raises:
      RuntimeError: the thread has no writer. ValueError: there is no session.
    """
    if executing_eagerly():
        return
    if STATE.writer is None:
        raise RuntimeError("No default tf.contrib.summary.SummaryWriter found")
    session = session or SESSIONS.top()
    if session is None:
        raise ValueError("session must be passed if no default session exists")
    session.run(summary_writer_initializer_op())
    if graph is not None:
        fed = placeholder(dtypes.string)
        session.run(graph_summary(fed, 0), feed_dict={fed: _serialized(graph)})


def _serialized(graph: Any) -> bytes:
    message = graph.as_graph_def(add_shapes=True) if isinstance(graph, Graph) else graph
    return message.SerializeToString()



@export("summary.all_v2_summary_ops", "contrib.summary.all_summary_ops", "contrib.summary.summary.all_summary_ops")
def all_v2_summary_ops() -> list[Any] | None:
    """The nodes of the default graph that write summaries, but those of `graph` and `import_event`; None in eager mode."""
    if executing_eagerly():
        return None
    return get_collection(GraphKeys._SUMMARY_COLLECTION)


def _choose_step(step: TensorLike) -> Any:
    if step is None:
        return get_or_create_global_step()
    return step if isinstance(step, Tensor) else convert_to_tensor(step, dtypes.int64)


def summary_writer_function(name: str, tensor: object, function: Callable, family: str | None = None) -> Any:
    """A node that writes a summary where that is wanted.

    Args:
      name, family: as for `tf.summary.scalar`.
      tensor: what is written.
      function: makes the writing operation, given tag and name scope.

    Returns:
      a bool Tensor, or a `no_op` where the thread has no writer.
    """
    scope_name = get_default_graph().get_name_scope()

    def record() -> Tensor:
        with name_scope(scope_name + "/" if scope_name else ""), summary_op_util.summary_scope(name, family, values=[tensor]) as (tag, scope):
            with control_dependencies([function(tag, scope)]):
                return constant(True)

    if STATE.writer is None:
        return no_op()
    return _written(should_record_summaries, record, "")


def _written(condition: Callable[[], Tensor], record: Callable[[], Tensor], name: str) -> Tensor:
    """A bool scalar: whether the condition held and `record` wrote."""
    with device(CPU):
        found = smart_cond(condition(), record, lambda: constant(False), name=name)
        if not executing_eagerly():
            add_to_collection(GraphKeys._SUMMARY_COLLECTION, found)
    return found


@export("contrib.summary.generic", "contrib.summary.summary.generic")
def generic(name: str, tensor: TensorLike, metadata: Any = None, family: str | None = None, step: TensorLike | None = None) -> Any:
    """Writes a whole tensor.

    Args:
      name, family: as for `tf.summary.scalar`.
      tensor: of any dtype and shape.
      metadata: a SummaryMetadata message, or it serialized.
      step: int64 scalar, by default the global step.

    Returns:
      a node that writes it where summaries are recorded; a `no_op` where the thread has no writer.
    """

    def function(tag: str, scope: str) -> Operation:
        if metadata is None or hasattr(metadata, "SerializeToString"):
            serialized = constant("" if metadata is None else metadata.SerializeToString())
        else:
            serialized = metadata
        handle, at = STATE.writer._resource, _choose_step(step)
        return raw.WriteSummary(handle, at, identity(tensor), tag, serialized, name=scope)

    return summary_writer_function(name, tensor, function, family=family)


@export("contrib.summary.scalar", "contrib.summary.summary.scalar")
def scalar(name: str, tensor: TensorLike, family: str | None = None, step: TensorLike | None = None) -> Any:
    """Writes a number; arguments and result as for `generic`."""

    def function(tag: str, scope: str) -> Operation:
        return raw.WriteScalarSummary(STATE.writer._resource, _choose_step(step), tag, identity(tensor), name=scope)

    return summary_writer_function(name, tensor, function, family=family)


@export("contrib.summary.histogram", "contrib.summary.summary.histogram")
def histogram(name: str, tensor: TensorLike, family: str | None = None, step: TensorLike | None = None) -> Any:
    """Writes the distribution of the elements of a tensor; arguments and result as for `generic`."""

    def function(tag: str, scope: str) -> Operation:
        return raw.WriteHistogramSummary(STATE.writer._resource, _choose_step(step), tag, identity(tensor), name=scope)

    return summary_writer_function(name, tensor, function, family=family)


@export("contrib.summary.image", "contrib.summary.summary.image")
def image(
    name: str, tensor: TensorLike, bad_color: object = None, max_images: int = 3, family: str | None = None, step: TensorLike | None = None
) -> Any:
    """Writes images as `tf.summary.image` does; `bad_color`, uint8 [channels], stands for pixels that are not finite.

    Other arguments and the result are as for `generic`.
    """

    def function(tag: str, scope: str) -> Operation:
        color = constant([255, 0, 0, 255], dtype=dtypes.uint8) if bad_color is None else bad_color
        handle, at = STATE.writer._resource, _choose_step(step)
        return raw.WriteImageSummary(handle, at, tag, identity(tensor), color, max_images, name=scope)

    return summary_writer_function(name, tensor, function, family=family)


@export("contrib.summary.audio", "contrib.summary.summary.audio")
def audio(name: str, tensor: TensorLike, sample_rate: TensorLike, max_outputs: int, family: str | None = None, step: TensorLike | None = None) -> Any:
    """Writes sounds as `tf.summary.audio` does; `family`, `step` and the result are as for `generic`."""

    def function(tag: str, scope: str) -> Operation:
        return raw.WriteAudioSummary(
            STATE.writer._resource, _choose_step(step), tag, identity(tensor), sample_rate=sample_rate,
            max_outputs=max_outputs, name=scope,
        )  # fmt: skip

    return summary_writer_function(name, tensor, function, family=family)


@export("contrib.summary.graph", "contrib.summary.summary.graph")
def graph_summary(param: Tensor, step: TensorLike | None = None, name: str | None = None) -> Operation:
    """An operation that writes a graph, whether or not summaries are recorded.

    Args:
      param: string scalar, a serialized GraphDef; where operations run at once, a Graph or GraphDef too.
      step: int64 scalar, by default the global step.
      name: node name.

    Raises:
      TypeError: `param` is no Tensor, in a graph.
    """
    if not executing_eagerly() and not isinstance(param, Tensor):
        raise TypeError(f"graph() needs a tf.Tensor (e.g. tf.placeholder) in graph mode, but was: {type(param)}")
    if STATE.writer is None:
        return no_op()
    with device(CPU):
        is_graph = isinstance(param, (Graph, messages.GraphDef))
        serialized = convert_to_tensor(_serialized(param), dtypes.string) if is_graph else identity(param)
        return raw.WriteGraphSummary(STATE.writer._resource, _choose_step(step), serialized, name=name)


@export("contrib.summary.import_event", "contrib.summary.summary.import_event")
def import_event(tensor: TensorLike, name: str | None = None) -> Operation:
    """An operation that writes a serialized Event, a string scalar, whether or not summaries are recorded."""
    return raw.ImportEvent(STATE.writer._resource, tensor, name=name)


@export("contrib.summary.eval_dir", "contrib.summary.summary.eval_dir")
def eval_dir(model_dir: str, name: str | None = None) -> str:
    """The folder of the summaries of an evaluation."""
    return os.path.join(model_dir, f"eval_{name}" if name else "eval")

# ---- summaries of tf.compat.v2.summary ----


@export("compat.v2.summary.experimental.summary_scope")
@contextlib.contextmanager
def summary_scope(name: str | None, default_name: str = "summary", values: Iterable[Any] | None = None) -> Iterator[tuple[str, str]]:
    """A block in the scope of a summary; gives its tag, the scopes around and the name as it is, and the name scope.

    Args:
      name: of the summary. default_name: where there is none. values: tensors, as for `tf.name_scope`.
    """
    name = name or default_name
    around = get_default_graph().get_name_scope()
    tag = f"{around}/{name}" if around else name
    with name_scope(_INVALID_SCOPE_CHARACTERS.sub("", name) or None, default_name, values) as scope:
        yield tag, scope


def _at_step(step: object) -> Any:
    found = get_step() if step is None else step
    if found is None:
        raise ValueError("No step set via 'step' argument or tf.summary.experimental.set_step()")
    return found


def _recorded(make: Callable[[], Any]) -> Tensor:
    """A bool scalar: whether summaries are recorded and `make` wrote one."""

    def record() -> Tensor:
        with device(CPU), control_dependencies([make()]):
            return constant(True)

    return _written(lambda: is_recording(True), record, "summary_cond")


@export("compat.v2.summary.write")
def write(tag: str, tensor: TensorLike, step: object = None, metadata: object = None, name: str | None = None) -> Tensor:
    """Writes a tensor with the writer of this thread.

    Args:
      tag: of the summary, as `summary_scope` gives it.
      tensor: of any dtype and shape.
      step: int64 scalar, by default what `set_step` set.
      metadata: a SummaryMetadata message, or it serialized.
      name: node name.

    Returns:
      a bool scalar, whether it was written: false where there is no writer.

    Raises:
      ValueError: there is a writer and no step.
    """
    with name_scope(name, "write_summary") as scope:
        if STATE.writer is None:
            return constant(False)
        at = _at_step(step)
        given = b"" if metadata is None else metadata
        serialized = given.SerializeToString() if hasattr(given, "SerializeToString") else given
        return _recorded(lambda: raw.WriteSummary(STATE.writer._resource, at, identity(tensor), tag, serialized, name=scope))


@export("compat.v2.summary.experimental.write_raw_pb")
def write_raw_pb(tensor: TensorLike, step: object = None, name: str | None = None) -> Tensor:
    """Writes Summary messages; `tensor` has them serialized, strings of any shape. Otherwise as `write`."""
    with name_scope(name, "write_raw_pb") as scope:
        if STATE.writer is None:
            return constant(False)
        at = _at_step(step)
        return _recorded(lambda: raw.WriteRawProtoSummary(STATE.writer._resource, at, identity(tensor), name=scope))


def _write_text(name: str, default_name: str, plugin: str, text: object, step: object) -> Tensor:
    """Writes a string for a plugin of TensorBoard, in version 1 of its format."""
    metadata = messages.SummaryMetadata()
    metadata.plugin_data.plugin_name, metadata.plugin_data.content = plugin, b"1"
    with summary_scope(name, default_name, [step]) as (tag, _):
        with device(CPU):
            tensor = constant(text, dtype=dtypes.string)
        return write(tag, tensor, step=step, metadata=metadata)


def run_metadata(name: str, data: Any, step: Any = None) -> Tensor:
    """Writes a RunMetadata message; `step` and the result are as for `write`."""
    return _write_text(name, "graph_run_metadata_summary", "graph_run_metadata", data.SerializeToString(), step)


def run_metadata_graphs(name: str, data: Any, step: object = None) -> Tensor:
    """Writes the graphs of a RunMetadata message; `step` and the result are as for `write`."""
    graphs = messages.RunMetadata(function_graphs=data.function_graphs, partition_graphs=data.partition_graphs)
    return _write_text(name, "graph_run_metadata_graph_summary", "graph_run_metadata_graph", graphs.SerializeToString(), step)


def keras_model(name: str, data: Any, step: object = None) -> Tensor | bool:
    """Writes the configuration of a Keras model; False, and a warning, where it has none. Otherwise as `write`."""
    try:
        text = data.to_json()
    except Exception as exc:  # noqa: BLE001 - as in 1.15, a model that cannot be written stops no training
        logging.warn(f"Model failed to serialize as JSON. Ignoring... {exc}")
        return False
    return _write_text(name, "graph_keras_model", "graph_keras_model", text, step)
