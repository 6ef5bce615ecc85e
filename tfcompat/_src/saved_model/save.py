"""tf.saved_model.save: an object, its variables and its functions as a SavedModel."""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

from tfcompat._src.base import dtypes, nest
from tfcompat._src.base.composite_tensor import CompositeTensor
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.base.trackable import Trackable, TrackableReference
from tfcompat._src.function.def_function import ConcreteFunction, Function, as_spec
from tfcompat._src.graph import constant_value
from tfcompat._src.graph.attr_values import FunctionRef
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.scopes import control_dependencies, executing_eagerly, get_default_graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant
from tfcompat._src.nodes.function_body import with_held
from tfcompat._src.nodes.meta_graph import write_message
from tfcompat._src.nodes.tensor_spec import TensorSpec
from tfcompat._src.nodes.type_spec import TypeSpec
from tfcompat._src.ops.control.groups import group
from tfcompat._src.platform import compat
from tfcompat._src.proto import messages
from tfcompat._src.runtime.session.session import Session
from tfcompat._src.saved_model import constants, files
from tfcompat._src.saved_model.builder import copy_assets_to_destination_dir, get_asset_filename_to_add
from tfcompat._src.saved_model.nested_structure_coder import StructureCoder
from tfcompat._src.saved_model.signature_constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from tfcompat._src.saved_model.signature_def_utils import op_signature_def, predict_signature_def
from tfcompat._src.saved_model.tag_constants import SERVING
from tfcompat._src.train import revived_types
from tfcompat._src.train.checkpoint import TrackableSaver
from tfcompat._src.train.saver import Saver
from tfcompat._src.train.trackable_data_structures import TrackableDataStructure
from tfcompat._src.train.trackable_graph import ATTRIBUTES, ObjectGraphView, SerializedGraph
from tfcompat._src.train.trackable_restore import present_session
from tfcompat._src.train.tracking import CapturableResource, TrackableAsset
from tfcompat._src.variables.resource_variable import is_resource_variable

_OBJECT_VERSION = {"producer": 1, "min_consumer": 1}
_RESERVED = "signatures"


@export("saved_model.save", "saved_model.experimental.save")
def save(obj: object, export_dir: str, signatures: object = None) -> None:
    """Writes an object with the variables and functions that it reaches as a SavedModel.

    Args:
      obj: a tf.Module, tf.train.Checkpoint or other trackable object; variables have the values of the default session.
      export_dir: the folder.
      signatures: a tf.function with an input signature, a concrete function, or a dict of them by key; by default the only
        function of `obj` with an input signature, if there is one.

    Raises:
      ValueError: `obj` is not trackable or has an attribute `signatures`; a signature is no such function, or gives anything but
        a tensor, a flat sequence or a dict of tensors; a function captures a tensor that is neither constant nor a variable;
        a table can be changed.
      KeyError: a function uses a variable or table that `obj` does not reach.
      AssertionError: the call is in a function that is being traced.
    """
    if get_default_graph().building_function:
        raise AssertionError("tf.saved_model.save is not supported inside a traced @tf.function: call it outside, where it runs once.")
    if not isinstance(obj, Trackable):
        raise ValueError(f"Expected a Trackable object for export, got {obj}.")
    if any(name == _RESERVED for name, _ in obj._checkpoint_dependencies):
        raise ValueError(
            "The attribute 'signatures' is reserved and specifies SavedModel signatures: pass them as save(..., signatures=...), and "
            "delete the attribute (del obj.signatures)."
        )
    functions = _signature_functions(obj, signatures)
    view = _SavedView(obj)
    writer = _Writer(view, {key: _wrapped(key, function) for key, function in functions.items()})
    message = messages.SavedModel(saved_model_schema_version=constants.SAVED_MODEL_SCHEMA_VERSION)
    message.meta_graphs.append(writer.meta_graph())
    files.get_or_create_variables_dir(export_dir)
    session = None if executing_eagerly() else present_session() or Session(graph=get_default_graph())
    view.saved = message.meta_graphs[0].object_graph_def
    TrackableSaver(view).save(files.get_variables_path(export_dir), session=session)
    if writer.assets:
        copy_assets_to_destination_dir(writer.assets, export_dir)
    write_message(message, f"{export_dir}/{constants.SAVED_MODEL_FILENAME_PB}", as_text=False)


class _SavedView(ObjectGraphView):
    """The objects below a root as a SavedModel and its checkpoint hold them: with what objects have for such files alone.

    Args:
      root: the object.

    Attributes:
      saved: the SavedObjectGraph message once it is made: its first nodes are the objects, others functions and signatures.
    """

    saved: Any = None

    def __init__(self, root: object) -> None:
        super().__init__(root)
        self._cache: dict[Any, Any] = {}
        self._extra: dict[int, dict[str, Any]] = {}

    def dependencies(self, obj: Any) -> list[Any]:
        if id(obj) not in self._extra:
            self._extra[id(obj)] = obj._list_extra_dependencies_for_serialization(self._cache)
        extra = self._extra[id(obj)]
        own = [TrackableReference(name, extra.get(name, dependency)) for name, dependency in obj._checkpoint_dependencies]
        names = {name for name, _ in own}
        return own + [TrackableReference(name, value) for name, value in extra.items() if name not in names]

    def functions(self, obj: Any) -> dict[str, Any]:
        """The tf.functions of an object by name."""
        return {**obj._list_functions_for_serialization(self._cache), **dict(functions_of(obj))}

    def serialize_object_graph(self, frozen: bool = False) -> SerializedGraph:
        found = super().serialize_object_graph(frozen)
        nodes = found.proto.nodes
        for number, node in enumerate(self.saved.nodes):
            target = nodes[number] if number < len(nodes) else nodes.add()
            del target.children[:]
            target.children.extend(node.children)
        return found


def functions_of(obj: object) -> Iterator[tuple[str, Any]]:
    """(name, tf.function or concrete function) of the attributes of an object, or of the elements of a list or dict."""
    if isinstance(obj, TrackableDataStructure):
        yield from ((name, value) for name, value in obj._named_values() if isinstance(value, (Function, ConcreteFunction)))
        return
    kind = type(obj)
    for name in sorted({*vars(obj), *(name for base in kind.__mro__ for name in vars(base))}):
        if name.startswith("__") and name != "__call__" or isinstance(inspect.getattr_static(kind, name, None), property):
            continue
        value = getattr(obj, name, None)
        if isinstance(value, (Function, ConcreteFunction)):
            yield name, value


# ---- signatures ----

_signature_makers: list[Callable[[Any], Function | None]] = []


def register_default_signature(make: Callable[[Any], Function | None]) -> Callable[[Any], Function | None]:
    """Has `make` give the function that is the default signature of an object, or None for objects of other kinds."""
    _signature_makers.append(make)
    return make


def _add_default_signature(obj: object) -> None:
    for make in _signature_makers:
        found = make(obj)
        if found is not None:
            object.__setattr__(obj, "_default_save_signature", found)


def _signature_functions(obj: object, signatures: Any) -> dict[str, ConcreteFunction]:
    if signatures is None:
        _add_default_signature(obj)
        with_signature = [f for _, f in functions_of(obj) if isinstance(f, Function) and f.input_signature is not None]
        default = getattr(obj, "_default_save_signature", None)
        chosen = default if isinstance(default, Function) else with_signature[0] if len(with_signature) == 1 else None
        signatures = {} if chosen is None else chosen
    if not hasattr(signatures, "items"):
        signatures = {DEFAULT_SERVING_SIGNATURE_DEF_KEY: signatures}
    return {key: _concrete(function) for key, function in signatures.items()}


def _concrete(function: object) -> ConcreteFunction:
    if isinstance(function, Function) and function.input_signature is not None:
        return function.get_concrete_function()
    if isinstance(function, ConcreteFunction):
        return function
    raise ValueError(
        f"Expected a TensorFlow function to generate a signature for, but got {function}. Python functions may be decorated with "
        "`@tf.function` with an input signature or passed to `tf.function` directly, or created by `get_concrete_function`."
    )


def _wrapped(key: str, function: ConcreteFunction) -> ConcreteFunction:
    """The function with tensors by name as arguments and a dict of tensors as result."""
    count = len(function.inputs) - len(function.captured_inputs)
    names = [t.op.name for t in function.inputs[:count]]
    specs = {name: TensorSpec(t.shape, t.dtype, name) for name, t in zip(names, function.inputs)}

    def signature_wrapper(**kwargs: Any) -> dict[str, Any]:
        return _as_dict(function._call([kwargs[name] for name in names]), key)

    return ConcreteFunction("signature_wrapper", signature_wrapper, (), specs, [])


def _as_dict(outputs: object, key: str) -> dict[str, Any]:
    if isinstance(outputs, dict):
        for name, value in outputs.items():
            if not isinstance(value, (Tensor, CompositeTensor)):
                raise ValueError(
                    f"Got a dictionary containing non-Tensor value {value!r} for key {name!r} in the output of the function used to "
                    f"generate the SavedModel signature {key!r}. Dictionaries outputs for functions used as signatures should have "
                    "one Tensor output per string key."
                )
        return outputs
    values = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    if not all(isinstance(value, (Tensor, CompositeTensor)) for value in values):
        raise ValueError(
            f"Got non-flat outputs '{outputs}' from the function of signature {key!r}. Signatures have one Tensor per output, so to "
            "have predictable names Python functions used to generate these signatures should avoid outputting Tensors in nested "
            "structures."
        )
    return {f"output_{i}": value for i, value in enumerate(values)}


# ---- the message ----


class _Writer:
    """Collects the nodes of an object graph, and a graph with its variables, constants and functions.

    Args:
      view: of the objects. signatures: functions by key, with named arguments and results.
    """

    def __init__(self, view: _SavedView, signatures: dict[str, ConcreteFunction]) -> None:
        self._signatures, self._view = signatures, view
        self._objects, self._paths = view._traverse()
        view._slots(self._objects, self._paths)
        self._numbers: dict[int, int] = {id(o): i for i, o in enumerate(self._objects)}
        self._graph = Graph()
        self._inside: dict[Tensor, Tensor] = {}
        self._proto = messages.SavedObjectGraph()
        self._captured: dict[Tensor, int] = {}
        self._saved: dict[str, Tensor] = {}
        self.assets: dict[bytes, bytes] = {}
        self._asset_definitions: list[Any] = []
        self._asset_paths: dict[Tensor, Tensor] = {}
        self._initial_ops: list[Any] = []
        self._resource_functions: dict[int, dict[str, Function]] = {}

    def meta_graph(self) -> Any:
        """The MetaGraphDef message."""
        for obj in self._objects:
            self._write_object(self._proto.nodes.add(), obj)
        for number, obj in enumerate(self._objects):
            for name, dependency in self._view.dependencies(obj):
                self._link(number, name, self._numbers[id(dependency)])
            for name, function in (*self._view.functions(obj).items(), *self._resource_functions.get(number, {}).items()):
                self._link(number, name, self._function_node(function))
        self._write_signature_map()
        self._add_resource_initializers()
        with self._graph.as_default():
            saver = Saver(self._saved, allow_empty=True)
            signatures = {key: self._signature(key, function) for key, function in self._signatures.items()}
            signatures[constants.INIT_OP_SIGNATURE_KEY] = op_signature_def(group(*self._initial_ops), constants.INIT_OP_SIGNATURE_KEY)
            found = saver.export_meta_graph(strip_default_attrs=True)
        found.meta_info_def.tags.append(SERVING)
        for key, signature in signatures.items():
            found.signature_def[key].CopyFrom(signature)
        found.object_graph_def.CopyFrom(self._proto)
        found.asset_file_def.extend(self._asset_definitions)
        return found

    def _link(self, parent: int, name: str, child: int) -> None:
        self._proto.nodes[parent].children.add(node_id=child, local_name=name)

    def _new_node(self) -> tuple[int, Any]:
        return len(self._proto.nodes), self._proto.nodes.add()

    def _write_object(self, node: Any, obj: Any) -> None:
        if isinstance(obj, TrackableAsset):
            self._write_asset(node, obj)
            return
        if isinstance(obj, CapturableResource):
            self._write_resource(node, obj)
            return
        if not is_resource_variable(obj):
            node.user_object.CopyFrom(revived_types.serialize(obj) or _user_object(obj))
            return
        name = obj.name.partition(":")[0]
        node.variable.CopyFrom(messages.SavedVariable(
            dtype=obj.dtype.base_dtype.as_datatype_enum, shape=obj.shape.as_proto(), trainable=bool(obj.trainable), name=name
        ))  # fmt: skip
        with self._graph.as_default():
            shared_name = self._graph.unique_name(name, mark_as_used=False)
            handle = raw.VarHandleOp(dtype=obj.dtype.base_dtype, shape=obj.shape, shared_name=shared_name, name=name)
            read = raw.ReadVariableOp(handle, obj.dtype.base_dtype, name=f"{handle.op.name}/Read/ReadVariableOp")
        self._inside[obj.handle] = handle
        self._captured[obj.handle] = self._numbers[id(obj)]
        self._saved[f"{self._paths[id(obj)]}/{ATTRIBUTES}/VARIABLE_VALUE"] = read

    def _write_asset(self, node: Any, asset: TrackableAsset) -> None:
        """Its file joins `assets`; its path is a variable that the initial operation of the graph fills."""
        path = compat.as_bytes(constant_value.constant_value(asset.asset_path).item())
        name = get_asset_filename_to_add(path, self.assets)
        self.assets[name] = path
        with self._graph.as_default():
            initial = raw.Placeholder(dtypes.string, [], name="asset_path_initializer")
            handle = raw.VarHandleOp(dtype=dtypes.string, shape=[], shared_name=initial.op.name, name="asset_path")
            self._initial_ops.append(raw.AssignVariableOp(handle, initial))
            inside = raw.ReadVariableOp(handle, dtypes.string)
        node.asset.asset_file_def_index = len(self._asset_definitions)
        definition = messages.AssetFileDef(filename=compat.as_text(name))
        definition.tensor_info.name = initial.name
        self._asset_definitions.append(definition)
        self._inside[asset.asset_path] = inside
        self._asset_paths[asset.asset_path] = initial
        self._captured[asset.asset_path] = self._numbers[id(asset)]

    def _write_resource(self, node: Any, resource: CapturableResource) -> None:
        """A table: functions make and fill it, and the graph has one of its own."""
        if resource._gather_saveables_for_checkpoint():
            raise ValueError(
                f"{resource} holds entries that a SavedModel of objects does not keep: save it with tf.train.Saver or "
                "tf.train.Checkpoint, or use a table that an initializer fills."
            )
        number, own = self._numbers[id(resource)], dict(functions_of(resource))
        node.resource.device = resource._resource_device
        self._resource_functions[number] = {
            name: function for name, function in functions_of_resource(resource).items() if name not in own
        }
        handle = resource.resource_handle
        if handle is not None:
            with self._graph.as_default():
                self._inside[handle] = copy.copy(resource)._create_resource()
            self._captured[handle] = number

    def _add_resource_initializers(self) -> None:
        """Adds calls that fill the resources of the graph, from files where the loader says that they are."""
        values = {**self._inside, **self._asset_paths}
        for obj in self._objects:
            if isinstance(obj, CapturableResource):
                made = dict(functions_of(obj)) | self._resource_functions[self._numbers[id(obj)]]
                for function in made["_initialize"].concrete_functions():
                    with self._graph.as_default(), control_dependencies(None):
                        self._initial_ops.append(_add_call(function, [values[t] for t in function.captured_inputs])[0].op)

    # ---- functions ----

    def _function_node(self, function: Any) -> int:
        if id(function) in self._numbers:
            return self._numbers[id(function)]
        number, node = self._new_node()
        self._numbers[id(function)] = number
        if isinstance(function, ConcreteFunction):
            self._write_bare(node, function, [])
            return number
        traces = function.concrete_functions()
        node.function.concrete_functions.extend(self._add_function(trace) for trace in traces)
        node.function.function_spec.CopyFrom(_function_spec(function))
        return number

    def _write_bare(self, node: Any, function: ConcreteFunction, keywords: list[str]) -> None:
        node.bare_concrete_function.concrete_function_name = self._add_function(function)
        names = [t.op.name for t in function.inputs[: len(function.inputs) - len(function.captured_inputs)]]
        node.bare_concrete_function.argument_keywords.extend(keywords or names)
        node.bare_concrete_function.allowed_positional_arguments = int(len(keywords) == 1) if keywords else len(names)

    def _add_function(self, function: ConcreteFunction) -> str:
        if function.name not in self._proto.concrete_functions:
            _check_saveable(function)
            bound = [self._capture(tensor, function) for tensor in function.captured_inputs]
            function.add_to_graph(self._graph)
            entry = self._proto.concrete_functions[function.name]
            entry.bound_inputs.extend(bound)
            coder = StructureCoder()
            entry.canonicalized_input_signature.CopyFrom(coder.encode_structure(_named_signature(function)))
            outputs = nest.map_structure(as_spec, function.structured_outputs)
            entry.output_signature.CopyFrom(coder.encode_structure(outputs))
        return function.name

    def _capture(self, tensor: Tensor, function: ConcreteFunction) -> int:
        """The node of a captured variable or constant."""
        if tensor in self._captured:
            return self._captured[tensor]
        if tensor.dtype == dtypes.resource:
            raise KeyError(
                f"Tried to export function {function.name}, which uses {tensor.op.name}, but no variable or table behind it is reachable "
                "from root: make it an attribute of the object that is saved."
            )
        value = constant_value.constant_value(tensor)
        if value is None:
            raise ValueError(
                f"Attempted to save a function {function.name} which references a symbolic Tensor {tensor} that is not a simple "
                "constant. This is not supported."
            )
        with self._graph.as_default():
            inside = constant(value, tensor.dtype)
        number, node = self._new_node()
        node.constant.operation = inside.op.name
        self._inside[tensor] = inside
        self._captured[tensor] = number
        return number

    # ---- signatures ----

    def _write_signature_map(self) -> None:
        number, node = self._new_node()
        node.user_object.identifier = "signature_map"
        node.user_object.version.CopyFrom(messages.VersionDef(**_OBJECT_VERSION))
        self._link(0, _RESERVED, number)
        for key, function in sorted(self._signatures.items()):
            child, child_node = self._new_node()
            names = sorted(function.structured_input_signature[1])
            self._write_bare(child_node, function, names)
            self._link(number, key, child)

    def _signature(self, key: str, function: ConcreteFunction) -> Any:
        """Adds a call of the function with placeholders; its SignatureDef."""
        specs = function.structured_input_signature[1]
        inputs = {
            name: raw.Placeholder(spec.dtype, spec.shape, name=f"{key}_{name}") for name, spec in sorted(specs.items())
        }
        tensors = _add_call(function, [*inputs.values(), *(self._inside[t] for t in function.captured_inputs)])
        outputs = nest.pack_sequence_as(function.structured_outputs, tensors, expand_composites=True)
        if inputs:
            return predict_signature_def(inputs, outputs)
        found_def = predict_signature_def(outputs, outputs)
        found_def.ClearField("inputs")
        return found_def


def _user_object(obj: Any) -> Any:
    return messages.SavedUserObject(
        identifier=obj._object_identifier, metadata=obj._tracking_metadata, version=messages.VersionDef(**_OBJECT_VERSION)
    )


def functions_of_resource(resource: CapturableResource) -> dict[str, Function]:
    """The functions with which a SavedModel makes, fills and releases a resource."""

    def creator() -> Tensor:
        return resource._create_resource()

    def initializer() -> int:
        resource._initialize()
        return 1

    def destroyer() -> int:
        resource._destroy_resource()
        return 1

    made = {"_create_resource": creator, "_initialize": initializer, "_destroy_resource": destroyer}
    return {name: Function(function, f"_{function.__name__}", ()) for name, function in made.items()}


def _add_call(function: ConcreteFunction, arguments: list[Tensor]) -> list[Tensor]:
    """Adds a call of a function, with what it captures among the arguments, to the default graph; its results."""
    made = function.add_to_graph(get_default_graph())
    make = raw.StatefulPartitionedCall if made.is_stateful else raw.PartitionedCall
    found = make(arguments, [t.dtype.base_dtype for t in function.outputs], FunctionRef(function.name))
    tensors = list(found) if isinstance(found, (list, tuple)) else [found]
    for tensor, inner in zip(tensors, function.outputs):
        tensor.set_shape(inner.shape)
    return tensors


def _check_saveable(function: ConcreteFunction) -> None:
    """ValueError where the function, or one that it calls, was marked as one that cannot be saved."""
    called = with_held([function._traced.function()]).values()
    reasons = [r for each in called if "body" in vars(each) for r in each.body.saving_errors]
    if reasons:
        raise ValueError(f"Tried to export the function {function.name}, which cannot be saved: " + "; ".join(dict.fromkeys(reasons)))


def _named_signature(function: ConcreteFunction) -> Any:
    """The signature of a function, with the names of its arguments in the specs."""
    tensors = iter(function.inputs)

    def named(value: object) -> Any:
        if isinstance(value, TensorSpec):
            return TensorSpec(TensorShape(value.shape), value.dtype, next(tensors).op.name)
        for _ in nest.flatten(value, expand_composites=True) if isinstance(value, TypeSpec) else ():
            next(tensors)
        return value

    return nest.map_structure(named, function.structured_input_signature)


def _arguments(python_function: Callable) -> inspect.FullArgSpec:
    """What a function takes; a partial takes what it leaves open in front of its keywords."""
    spec = inspect.getfullargspec(python_function)._replace(annotations={})
    if isinstance(python_function, functools.partial):
        return spec._replace(kwonlyargs=[], kwonlydefaults={} if python_function.keywords else None)
    return spec


def _function_spec(function: Function) -> Any:
    """What a tf.function's Python function takes, as a FunctionSpec message."""
    spec = _arguments(function.python_function)
    coder = StructureCoder()
    is_encodable = coder.can_encode(spec)
    found = messages.FunctionSpec(is_method=inspect.ismethod(function.python_function))
    found.fullargspec.CopyFrom(coder.encode_structure(spec if is_encodable else spec._replace(defaults=None)))
    found.input_signature.CopyFrom(coder.encode_structure(function.input_signature))
    return found
