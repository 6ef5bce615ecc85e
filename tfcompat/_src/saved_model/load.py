"""tf.saved_model.load_v2: the objects of a SavedModel, with their variables and functions, in the default graph."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from tfcompat._src.base import dtypes, nest
from tfcompat._src.base.composite_tensor import CompositeTensor
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.function.def_function import ConcreteFunction, Function
from tfcompat._src.graph.attr_values import FunctionRef
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import add_to_collection, control_dependencies, executing_eagerly, get_default_graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.graph.tensor_proto import make_ndarray
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant
from tfcompat._src.nodes.graph_import import add_functions
from tfcompat._src.nodes.tensor_spec import TensorSpec
from tfcompat._src.nodes.type_spec import TypeSpec
from tfcompat._src.proto import messages
from tfcompat._src.saved_model import files, load_v1
from tfcompat._src.saved_model.named_function import NamedFunction
from tfcompat._src.saved_model.nested_structure_coder import StructureCoder
from tfcompat._src.train import revived_types
from tfcompat._src.train.checkpoint import object_metadata
from tfcompat._src.train.checkpoint_utils import load_checkpoint
from tfcompat._src.train.trackable_data_structures import AutoTrackable
from tfcompat._src.train.tracking import TrackableAsset, TrackableResource
from tfcompat._src.variables.variable import Variable


@export("saved_model.load_v2")
def load(export_dir: str, tags: Iterable[str] | str | None = None) -> Any:
    """The root object of a SavedModel that `tf.saved_model.save` of TensorFlow 1.15 or 2 wrote.

    Variables are added to the default graph, and their initializers give them the saved values. Functions add calls to it.

    Args:
      export_dir: the folder of the SavedModel. tags: exactly those of its graph; by default any.

    Returns:
      an object with the attributes of the one that was saved; `signatures` has its signatures by key. For a graph
      without objects it has `signatures`, `variables`, `graph`, and `prune(feeds, fetches)`, which gives functions.

    Raises:
      OSError: there is no SavedModel. ValueError: it has several graphs and no tags are given, or its tags differ.
      RuntimeError: none of its graphs has these tags.
    """
    return load_objects(export_dir, tags)


def load_objects(export_dir: str, tags: Iterable[str] | str | None = None, loader: type[Loader] | None = None) -> Any:
    """`load` by a Loader, which says of what classes the objects are."""
    graphs = files.read_saved_model(export_dir).meta_graphs
    wanted = [tags] if isinstance(tags, str) else tags
    if len(graphs) != 1 or not graphs[0].HasField("object_graph_def"):
        return load_v1.load(export_dir, load_v1.selected(graphs, tags, export_dir), SignatureMap())
    if wanted is not None and set(wanted) != set(graphs[0].meta_info_def.tags):
        raise ValueError(
            f"The SavedModel at {export_dir} has one MetaGraph with tags {list(graphs[0].meta_info_def.tags)}, but got an "
            f"incompatible argument tags={tags} to tf.saved_model.load."
        )
    return (loader or Loader)(export_dir, graphs[0]).root


class SignatureMap(Mapping):
    """The signatures of a loaded object by key: functions from named tensors to a dict of tensors."""

    def __init__(self) -> None:
        self._signatures: dict[str, ConcreteFunction] = {}

    def __getitem__(self, key: str) -> ConcreteFunction:
        return self._signatures[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._signatures)

    def __len__(self) -> int:
        return len(self._signatures)

    def __repr__(self) -> str:
        return f"_SignatureMap({self._signatures})"


class RestoredFunction(Function):
    """A tf.function of a SavedModel: it has the traces that were saved and makes no others.

    Args:
      function_spec: FunctionSpec message of the Python function. name: of the function. traces: the saved ones.
    """

    def __init__(self, function_spec: Any, name: str, traces: list[ConcreteFunction]) -> None:
        coder = StructureCoder()
        signature = coder.decode_proto(function_spec.input_signature) if function_spec.HasField("input_signature") else None

        def restored(*args: Any, **kwargs: Any) -> Any:
            raise ValueError(f"{name} was loaded from a SavedModel and cannot be traced again")

        restored.__name__ = name
        restored.__signature__ = _signature(coder.decode_proto(function_spec.fullargspec), function_spec.is_method)  # type: ignore[attr-defined]
        super().__init__(restored, name, signature)
        self._restored = traces

    def concrete_functions(self) -> list[ConcreteFunction]:
        """The saved traces."""
        return list(self._restored)

    def _concrete(self, args: tuple, kwargs: dict) -> ConcreteFunction:
        for trace in self._restored:
            if _fits(trace.structured_input_signature, (args, kwargs)):
                return trace
        options = "\n".join(f"Option {i}: {t.structured_input_signature}" for i, t in enumerate(self._restored, 1))
        raise ValueError(f"Could not find matching function to call loaded from the SavedModel. Got: {args}, {kwargs}\n{options}")


def _signature(spec: Any, is_method: bool) -> inspect.Signature:
    """What `inspect.getfullargspec` said, as a signature, without the object of a method."""
    kinds = inspect.Parameter
    defaults = list(spec.defaults or ())
    names = list(spec.args)
    values = [kinds.empty] * (len(names) - len(defaults)) + defaults
    found = [kinds(n, kinds.POSITIONAL_OR_KEYWORD, default=v) for n, v in zip(names, values)][1 if is_method else 0 :]
    if spec.varargs:
        found.append(kinds(spec.varargs, kinds.VAR_POSITIONAL))
    only = spec.kwonlydefaults or {}
    found.extend(kinds(n, kinds.KEYWORD_ONLY, default=only.get(n, kinds.empty)) for n in spec.kwonlyargs)
    if spec.varkw:
        found.append(kinds(spec.varkw, kinds.VAR_KEYWORD))
    return inspect.Signature(found)


def _fits(expected: object, given: object) -> bool:
    try:
        leaves = nest.flatten_up_to(expected, given)
        nest.assert_same_structure(nest.pack_sequence_as(expected, leaves), given, check_types=False)
    except (TypeError, ValueError):
        return False
    pairs = zip(nest.flatten(expected), leaves, strict=True)
    return all(_leaf_fits(spec, value) for spec, value in pairs)


def _leaf_fits(spec: object, value: object) -> bool:
    if isinstance(spec, TypeSpec) and not isinstance(spec, TensorSpec):
        return isinstance(value, (CompositeTensor, TypeSpec)) and spec.is_compatible_with(value)
    if not isinstance(spec, TensorSpec):
        return not isinstance(value, (Tensor, TensorSpec)) and spec == value
    if not isinstance(value, (Tensor, TensorSpec)):
        return False
    return spec.dtype == value.dtype.base_dtype and spec.shape.is_compatible_with(TensorShape(value.shape))


class Loader:
    """Makes the objects of one graph of a SavedModel."""

    def __init__(self, export_dir: str, meta_graph_def: Any) -> None:
        self._dir, self._objects, self._assets = export_dir, meta_graph_def.object_graph_def, meta_graph_def.asset_file_def
        self._constants = {n.name: n for n in meta_graph_def.graph_def.node if n.op == "Const"}
        library = messages.FunctionDefLibrary()
        library.CopyFrom(meta_graph_def.graph_def.library)
        self._new_names = _rename_taken(library)
        self._library = add_functions(get_default_graph(), library)
        self._keys = self._checkpoint_keys()
        self._made: dict[int, Any] = {}
        self._setters: dict[int, Callable] = {}
        self._concrete: dict[str, ConcreteFunction] = {}
        self._resources: dict[int, _RestoredResource] = {}
        for number, node in enumerate(self._objects.nodes):
            for child in sorted(node.children, key=lambda c: int(c.local_name) if c.local_name.isdigit() else -1):
                self._attach(number, child.local_name, self._object(child.node_id))
        for number, resource in self._resources.items():
            resource.fill(self._entries(number))

    @property
    def root(self) -> Any:
        return self._object(0)

    def _object(self, number: int) -> Any:
        if number not in self._made:
            self._made[number] = self._make(number)
        return self._made[number]

    def _checkpoint_keys(self) -> dict[int, str]:
        """The key of the value of each variable and table in the checkpoint, by node."""
        if not any(node.WhichOneof("kind") in ("variable", "resource") for node in self._objects.nodes):
            return {}
        saved = object_metadata(files.get_variables_path(self._dir)).nodes
        found, waiting, seen = {}, [(0, 0)], set()
        while waiting:
            number, in_checkpoint = waiting.pop()
            if number in seen:
                continue
            seen.add(number)
            for attribute in saved[in_checkpoint].attributes:
                found[number] = attribute.checkpoint_key
            ids = {child.local_name: child.node_id for child in saved[in_checkpoint].children}
            for child in self._objects.nodes[number].children:
                if child.local_name in ids:
                    waiting.append((child.node_id, ids[child.local_name]))
            slots = {(s.slot_name, s.original_variable_node_id): s.slot_variable_node_id for s in saved[in_checkpoint].slot_variables}
            for slot in self._objects.nodes[number].slot_variables:
                place = slots.get((slot.slot_name, slot.original_variable_node_id))
                if place is not None:
                    waiting.append((slot.slot_variable_node_id, place))
        return found

    def _make(self, number: int) -> Any:
        node = self._objects.nodes[number]
        kind = node.WhichOneof("kind")
        if kind == "user_object":
            return self._user_object(number, node)
        if kind == "variable":
            return self._variable(number, node.variable)
        if kind == "constant":
            return constant(make_ndarray(self._constants[node.constant.operation].attr["value"].tensor))
        if kind == "function":
            traces = [self._function(name) for name in node.function.concrete_functions]
            name = traces[0].function_name if traces else "function"
            return RestoredFunction(node.function.function_spec, name, traces)
        if kind == "bare_concrete_function":
            return self._function(node.bare_concrete_function.concrete_function_name)
        if kind == "asset":
            return self._asset(node.asset.asset_file_def_index)
        if kind == "resource":
            return self._resource(number, node)
        raise NotImplementedError(f"tf.saved_model.load_v2: object {number} of {self._dir} is of kind {kind}, which tfcompat does not load.")

    def _user_object(self, number: int, node: Any) -> Any:
        if node.user_object.identifier == "signature_map":
            return SignatureMap()
        revived = revived_types.deserialize(node.user_object)
        if revived is not None:
            self._setters[number] = revived[1]
            return revived[0]
        is_called = any(child.local_name == "__call__" for child in node.children)
        return (_Callable if is_called else _UserObject)()

    def _asset(self, index: int) -> TrackableAsset:
        return TrackableAsset(os.path.join(files.get_assets_dir(self._dir), self._assets[index].filename))

    def _resource(self, number: int, node: Any) -> _RestoredResource:
        functions = {child.local_name: child.node_id for child in node.children}
        found = _RestoredResource(node.resource.device)
        found._create_resource = self._object(functions["_create_resource"])  # type: ignore[method-assign]
        self._resources[number] = found
        return found

    def _entries(self, number: int) -> list[Tensor]:
        """The keys and values of a table that the checkpoint holds, if it does."""
        if number not in self._keys:
            return []
        path = files.get_variables_path(self._dir)
        kinds = load_checkpoint(path).get_variable_to_dtype_map()
        keys = [self._keys[number] + part for part in ("-keys", "-values")]
        return list(raw.RestoreV2(path, keys, ["", ""], [kinds[key] for key in keys]))

    def _variable(self, number: int, saved: Any) -> Any:
        dtype, shape = dtypes.as_dtype(saved.dtype), TensorShape(saved.shape)

        def value() -> Tensor:
            (found,) = raw.RestoreV2(files.get_variables_path(self._dir), [self._keys[number]], [""], [dtype])
            found.set_shape(shape)
            return found

        return Variable(
            initial_value=value, trainable=saved.trainable, name=saved.name or None, dtype=dtype, use_resource=True,
            validate_shape=shape.is_fully_defined(),
        )  # fmt: skip

    def _function(self, name: str) -> ConcreteFunction:
        """A trace that calls a function of the library with what it was bound to."""
        if name in self._concrete:
            return self._concrete[name]
        entry = self._objects.concrete_functions[name]
        function = get_default_graph()._get_function(self._new_names[name])
        bound = [self._captured(number) for number in entry.bound_inputs]
        coder = StructureCoder()
        args, kwargs = coder.decode_proto(entry.canonicalized_input_signature)
        outputs = coder.decode_proto(entry.output_signature)
        kinds = [dtypes.as_dtype(arg.type) for arg in function.definition.signature.output_arg]
        make = raw.StatefulPartitionedCall if function.is_stateful else raw.PartitionedCall

        def call(*args: Any, **kwargs: Any) -> Any:
            leaves = nest.flatten((args, kwargs), expand_composites=True)
            tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
            get_default_graph()._add_function(function)
            found = make([*tensors, *bound], kinds, FunctionRef(function.name))
            return _packed(outputs, [] if isinstance(found, Operation) else found if isinstance(found, list) else [found])

        short = name.removeprefix("__inference_").rpartition("_")[0] or name
        if args == () and kwargs and all(isinstance(spec, TensorSpec) for spec in kwargs.values()):
            made = self._concrete[name] = NamedFunction(short, call, kwargs)
        else:
            made = self._concrete[name] = ConcreteFunction(short, call, args, kwargs, [])
        made.function_name = short
        return made

    def _captured(self, number: int) -> Any:
        made = self._object(number)
        if isinstance(made, Variable):
            return made.handle
        return getattr(made, "resource_handle", getattr(made, "asset_path", made))

    def _attach(self, number: int, name: str, child: Any) -> None:
        parent = self._object(number)
        if number in self._setters:
            self._setters[number](parent, name, child)
        elif isinstance(parent, SignatureMap):
            parent._signatures[name] = child
        elif isinstance(child, SignatureMap):
            vars(parent)[name] = child
        elif isinstance(parent, AutoTrackable):
            setattr(parent, name, child)


class _UserObject(AutoTrackable):
    """An object of a SavedModel; dependencies named by position or key can be asked for like elements."""

    def __getitem__(self, key: object) -> Any:
        return getattr(self, str(key))


class _RestoredResource(TrackableResource, _UserObject):
    """A table: the functions that were saved with it make and fill it.

    The loader sets these, as attributes. Without them, making the resource and filling it raise RuntimeError.
    """

    def _create_resource(self) -> Tensor:
        raise RuntimeError("The function that makes this resource was not restored from the SavedModel.")

    def _initialize(self) -> Any:
        raise RuntimeError("The function that fills this resource was not restored from the SavedModel.")

    def fill(self, entries: list[Tensor]) -> None:
        """Fills the table: at once, or where a session runs `tf.tables_initializer()`.

        Args:
          entries: keys and values that it had when it was saved; none where its function knows them.
        """
        with control_dependencies([self._initialize()]):
            done = raw.LookupTableImportV2(self.resource_handle, *entries) if entries else raw.NoOp()
        if not executing_eagerly():
            self.initializer = done
            add_to_collection(GraphKeys.TABLE_INITIALIZERS, self.initializer)


class _Callable(_UserObject):
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return vars(self)["__call__"](*args, **kwargs)


def _packed(structure: object, tensors: list[Tensor]) -> Any:
    specs = nest.flatten(structure, expand_composites=True)
    for tensor, spec in zip(tensors, [s for s in specs if s is not None]):
        tensor.set_shape(spec.shape)
    rest = iter(tensors)
    leaves = [None if spec is None else next(rest) for spec in specs]
    return nest.pack_sequence_as(structure, leaves, expand_composites=True)


def _rename_taken(library: Any) -> dict[str, str]:
    """Gives functions whose names the default graph has already other ones; the new names of all."""
    graph = get_default_graph()
    names = {f.signature.name: f.signature.name for f in library.function}
    for name in names:
        number = 0
        while graph._is_function(names[name]):
            number += 1
            names[name] = f"{name}_loaded_{number}"
    for function in library.function:
        function.signature.name = names[function.signature.name]
        for node in function.node_def:
            node.op = names.get(node.op, node.op)
            for value in node.attr.values():
                for called in (value.func, *value.list.func) if value.WhichOneof("value") in ("func", "list") else ():
                    if called.name:
                        called.name = names.get(called.name, called.name)
    for gradient in library.gradient:
        gradient.function_name = names.get(gradient.function_name, gradient.function_name)
        gradient.gradient_func = names.get(gradient.gradient_func, gradient.gradient_func)
    return names
