"""tf.saved_model.load_v2 of SavedModels that hold a graph and no objects: signatures as functions, lifted variables."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

from tfcompat._src.base import nest
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.function.variable_lifting import UnliftableError
from tfcompat._src.function.wrapped_function import part_between
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import add_to_collection, control_dependencies, executing_eagerly, get_default_graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.nodes.graph_import import import_graph_def
from tfcompat._src.nodes.tensor_spec import TensorSpec
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.proto import messages
from tfcompat._src.runtime.session.session import Session
from tfcompat._src.saved_model import constants, files
from tfcompat._src.saved_model.loader import get_asset_tensors
from tfcompat._src.saved_model.named_function import NamedFunction
from tfcompat._src.train.saver import _import_meta_graph_with_return_elements
from tfcompat._src.train.trackable_data_structures import AutoTrackable
from tfcompat._src.train.tracking import CapturableResource, TrackableAsset
from tfcompat._src.variables.assign import is_variable_initialized
from tfcompat._src.variables.resource_variable import ResourceVariable, is_resource_variable

_VARIABLES = (GraphKeys.GLOBAL_VARIABLES, GraphKeys.TRAINABLE_VARIABLES, GraphKeys.LOCAL_VARIABLES)
_STATEFUL = ("resource", "variant")


class _Trackable(AutoTrackable):
    """An object of the loaded SavedModel."""


class _Table(CapturableResource):
    """A table of the graph.

    Args:
      op: the node that makes it. fill: what fills it. handle: of the table; by default one is made.
    """

    def __init__(self, op: Operation, fill: Callable[[], None], handle: Tensor | None = None) -> None:
        super().__init__()
        self.op, self._fill, self._resource_handle = op, fill, handle

    def _create_resource(self) -> Tensor:
        attrs = {**self.op.attrs, "shared_name": self.op.attrs["shared_name"] or self.op.name.encode()}
        made: Tensor = get_default_graph().make_op(self.op.spec, get_default_graph().unique_name(self.op.name), (), attrs).outputs[0]
        return made

    def _initialize(self) -> None:
        self._fill()


def _is_table(op: Operation) -> bool:
    return not op.inputs and op.type.endswith("HashTableV2")


class _Loader:
    """Puts the variables, tables and initial operation of a graph into the default graph."""

    def __init__(self, export_dir: str, meta_graph_def: messages.MetaGraphDef) -> None:
        self._dir, self._meta_graph = export_dir, messages.MetaGraphDef()
        self._meta_graph.CopyFrom(meta_graph_def)
        self._init_name = self._take_init_op()
        self._assets = get_asset_tensors(self._dir, self._meta_graph)
        for key in set(self._meta_graph.collection_def) - set(_VARIABLES):
            del self._meta_graph.collection_def[key]
        self.template = Graph()
        with self.template.as_default():
            import_graph_def(self._meta_graph.graph_def, name="")
        self._files = {name: TrackableAsset(path) for name, path in self._assets.items()}
        self.asset_paths = list(self._files.values())
        self.initializer: Operation | None = None
        if executing_eagerly():
            self._make_values()
        else:
            self._lift()

    def _take_init_op(self) -> str | None:
        """The name of what runs after the variables are restored."""
        signature = self._meta_graph.signature_def.get(constants.INIT_OP_SIGNATURE_KEY)
        if signature is not None:
            return signature.outputs[constants.INIT_OP_SIGNATURE_KEY].name
        for key in (constants.MAIN_OP_KEY, constants.LEGACY_INIT_OP_KEY):
            if key in self._meta_graph.collection_def:
                return self._meta_graph.collection_def[key].node_list.value[0]
        return None

    def _lift(self) -> None:
        """Adds the graph once, below a name scope; its initial operations fill variables and tables."""
        graph, saver_def = get_default_graph(), self._meta_graph.saver_def
        restores = self._meta_graph.HasField("saver_def")
        paths = {name: each.asset_path for name, each in self._files.items()}
        if restores:
            paths[saver_def.filename_tensor_name] = constant(files.get_variables_path(self._dir))
        names = [node.name for node in self._meta_graph.graph_def.node]
        before = {key: list(graph.get_collection(key)) for key in _VARIABLES}
        _, elements = _import_meta_graph_with_return_elements(
            self._meta_graph, import_scope=graph.unique_name("load", mark_as_used=False), input_map=paths,
            return_elements=names,
        )  # fmt: skip
        self._lifted: dict[str, Operation] = dict(zip(names, elements, strict=True))
        made = {key: [v for v in graph.get_collection(key) if v not in before[key]] for key in _VARIABLES}
        self.variables = [
            each
            for key in (GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES)
            for each in made[key]
            if is_resource_variable(each)
        ]
        restore = self._lifted[saver_def.restore_op_name] if restores else None
        if restore is not None:
            add_to_collection(GraphKeys.TABLE_INITIALIZERS, restore)
            for variable in made[GraphKeys.GLOBAL_VARIABLES]:
                variable._initializer_op = restore
        self.initializer = self._lifted[self._init_name.partition(":")[0]] if self._init_name else None
        if self.initializer is not None:
            add_to_collection(GraphKeys.TABLE_INITIALIZERS, self.initializer)
            for variable in made[GraphKeys.LOCAL_VARIABLES]:
                variable._initializer_op = self.initializer
        self._state = self._stateful_tensors() | paths
        self.tables = [
            _Table(op, self._initialize, op.outputs[0]) for name, op in self._lifted.items() if _is_table(self.template.get_operation_by_name(name))
        ]

    def _make_values(self) -> None:
        """Makes variables with the values that they have when the graph is restored and initialized, and tables, where operations run at once."""
        made, values = self._restored()
        self._state, self.variables = {}, []
        for variable, value in zip(made, values, strict=True):
            trainable = variable.trainable
            held = ResourceVariable(value, trainable=trainable, name=variable.op.name, dtype=variable.dtype.base_dtype)
            self._state[variable.op.outputs[0].name] = held.handle if is_resource_variable(variable) else held
            self.variables += [held] if is_resource_variable(variable) else []
        self.tables = [_Table(op, self._initialize) for op in self.template.get_operations() if _is_table(op)]
        self._state |= {table.op.outputs[0].name: table.resource_handle for table in self.tables}
        self._state |= {name: each.asset_path for name, each in self._files.items()}
        if self.tables:
            self._initialize()

    def _restored(self) -> tuple[list[Any], list[Any]]:
        """The variables of the graph as it was saved that have values, and these."""
        saver_def = self._meta_graph.saver_def
        with Graph().as_default() as graph, Session() as session:
            paths = {name: constant(path) for name, path in self._assets.items()}
            if self._meta_graph.HasField("saver_def"):
                paths[saver_def.filename_tensor_name] = constant(files.get_variables_path(self._dir))
            _import_meta_graph_with_return_elements(self._meta_graph, import_scope="", input_map=paths)
            if self._meta_graph.HasField("saver_def"):
                session.run(graph.get_operation_by_name(saver_def.restore_op_name))
            if self._init_name:
                session.run(graph.as_graph_element(self._init_name.partition(":")[0]))
            variables = [each for key in (GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES) for each in graph.get_collection(key)]
            known = session.run([is_variable_initialized(each) for each in variables])
            variables = [each for each, is_known in zip(variables, known, strict=True) if is_known]
            return variables, session.run(variables)

    def _initialize(self) -> None:
        """Adds a call of the initial operation to the default graph, or runs it at once: it fills tables."""
        if self._init_name:
            self.prune({}, self.template.get_operation_by_name(self._init_name.partition(":")[0]), "initialize")()

    def _stateful_tensors(self) -> dict[str, Tensor]:
        """The tensors of variables and tables in the default graph, by their names in the graph that was saved."""
        found = {}
        for name, op in self._lifted.items():
            for i, output in enumerate(() if op.inputs else op.outputs):
                if output.dtype._is_ref_dtype:
                    with control_dependencies(None):
                        found[f"{name}:{i}"] = identity(output)
                elif output.dtype.name in _STATEFUL:
                    found[f"{name}:{i}"] = output
        return found

    def prune(self, feeds: object, fetches: object, name: str = "pruned") -> NamedFunction:
        """The part of the graph from `feeds` to `fetches`, as a function.

        Args:
          feeds: nest or dict of tensors of `graph` or their names, the inputs.
          fetches: nest of tensors of `graph`, TensorInfo messages, names of tensors, and operations.
          name: of the function.

        Raises:
          UnliftableError: the part needs a placeholder that is not in `feeds`.
        """
        if isinstance(feeds, dict):
            inputs = {key: self._element(each) for key, each in feeds.items()}
        else:
            inputs = {each.op.name: each for each in map(self._element, nest.flatten(feeds))}
        leaves = [self._element(each) for each in nest.flatten(fetches)]
        part = part_between(inputs.values(), leaves, self._meta_graph.graph_def)
        present = {node.name for node in part.node}
        wanted = [leaf.name for leaf in leaves]
        shapes = [_shape_of(each) for each in nest.flatten(fetches)]

        def compute(**given: Tensor) -> Any:
            fed = {inputs[key].name: value for key, value in given.items()}
            state = {key: convert_to_tensor(value) for key, value in self._state.items() if key.partition(":")[0] in present}
            with control_dependencies(None):
                found = import_graph_def(part, input_map={**state, **fed}, return_elements=wanted, name="")
            for tensor, shape in zip(found, shapes, strict=True):
                if isinstance(tensor, Tensor) and shape is not None:
                    tensor.set_shape(shape)
            return nest.pack_sequence_as(fetches, found)

        specs = {key: TensorSpec(value.shape, value.dtype, key) for key, value in inputs.items()}
        return NamedFunction(name, compute, specs)

    def _element(self, value: object) -> Any:
        if isinstance(value, messages.TensorInfo):
            value = value.name
        return self.template.as_graph_element(value)

    def signatures(self) -> dict[str, NamedFunction]:
        """The signatures by key; UnliftableError where one does not feed a placeholder that it needs."""
        found = {}
        for key, signature in self._meta_graph.signature_def.items():
            if key in (constants.INIT_OP_SIGNATURE_KEY, constants.TRAIN_OP_SIGNATURE_KEY):
                continue
            try:
                found[key] = self.prune(dict(signature.inputs), dict(signature.outputs), f"signature_wrapper_{key}")
            except UnliftableError as error:
                raise UnliftableError(
                    "A SavedModel signature needs an input for each placeholder the signature's outputs use. An output "
                    f"for signature '{key}' depends on a placeholder which is not an input (i.e. the placeholder is not "
                    f"fed a value).\n\n{error}"
                ) from None
        return found


def _shape_of(fetched: object) -> TensorShape | None:
    return TensorShape(fetched.tensor_shape) if isinstance(fetched, messages.TensorInfo) else None


def load(export_dir: str, meta_graph_def: Any, signature_map: Any) -> AutoTrackable:
    """The root object of a graph: `signatures`, `variables`, `prune`, `graph`, `asset_paths`, `initializer`.

    Args:
      export_dir: the folder of the SavedModel.
      meta_graph_def: the graph.
      signature_map: an empty map that takes the signatures.
    """
    loader = _Loader(os.fspath(export_dir), meta_graph_def)
    root = _Trackable()
    signature_map._signatures.update(loader.signatures())
    root.variables, root.asset_paths, root._tables = loader.variables, loader.asset_paths, loader.tables
    attributes = {
        "signatures": signature_map, "initializer": loader.initializer, "graph": loader.template, "prune": loader.prune,
        "tensorflow_version": meta_graph_def.meta_info_def.tensorflow_version,
        "tensorflow_git_version": meta_graph_def.meta_info_def.tensorflow_git_version,
    }  # fmt: skip
    vars(root).update(attributes)
    return root


def selected(graphs: list[Any], tags: Iterable[str] | str | None, export_dir: str) -> Any:
    """The graph with exactly the given tags, or the only one; ValueError where it is not clear which is meant."""
    if tags is None:
        if len(graphs) != 1:
            sets = [list(graph.meta_info_def.tags) for graph in graphs]
            raise ValueError(
                "Importing a SavedModel with tf.saved_model.load requires a 'tags=' argument if there is more than one "
                f"MetaGraph. Got 'tags=None', but there are {len(graphs)} MetaGraphs in the SavedModel with tag sets "
                f"{sets}. Pass a 'tags=' argument to load this SavedModel."
            )
        return graphs[0]
    wanted = {tags} if isinstance(tags, str) else set(tags)
    for graph in graphs:
        if set(graph.meta_info_def.tags) == wanted:
            return graph
    known = [set(graph.meta_info_def.tags) for graph in graphs]
    raise RuntimeError(
        f"MetaGraphDef associated with tags {sorted(wanted)} could not be found in SavedModel {export_dir}, "
        f"which has {known}"
    )
