"""TensorFlow's protobuf messages, built when first asked for in a descriptor pool of tfcompat's own.

The pool is separate from protobuf's default one, so that an installed TensorFlow or TensorBoard can be loaded in the
same process. It holds its own `google.protobuf.Any`, which is `message("google.protobuf.Any")`.
"""

from __future__ import annotations

import copyreg
import functools
import threading
import types
from typing import NamedTuple

from google.protobuf import descriptor_pool, message_factory
from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper
from google.protobuf.message import Message

from tfcompat._src.proto import definitions
from tfcompat._src.proto.text import text

POOL = descriptor_pool.DescriptorPool()

_MESSAGES_MODULE = "tfcompat._src.proto.messages"
_built: set[str] = set()
_classes: dict[str, type] = {}
_lock = threading.RLock()


class Method(NamedTuple):
    """One method of a gRPC service: `path` is `/package.Service/Method`."""

    path: str
    request: type[Message]
    reply: type[Message]
    client_streaming: bool
    server_streaming: bool


class Namespace:
    """The messages and enums of one protobuf package, as attributes."""

    def __init__(self, package: str):
        self._package = package

    def __getattr__(self, name: str):
        try:
            found = lookup(f"{self._package}.{name}")
        except KeyError as error:
            raise AttributeError(f"protobuf package {self._package} has no {name!r}") from error
        setattr(self, name, found)
        return found


@functools.cache
def lookup(full_name: str):
    """Returns the class of a message, the wrapper of an enum or the Namespace of a package; KeyError when unknown."""
    symbol = definitions.symbols().get(full_name)
    if symbol is None:
        if any(name.startswith(full_name + ".") for name in definitions.symbols()):
            return Namespace(full_name)
        raise KeyError(f"No protobuf message, enum or package is named {full_name}.")
    return {"message": message, "enum": enum, "service": service}[symbol.kind](full_name)


@functools.cache
def message(full_name: str) -> type:
    """Returns the class of the message `full_name`, for instance "tensorflow.NodeDef"; KeyError when unknown."""
    _build(definitions.symbols()[full_name].file)
    return _message_class(POOL.FindMessageTypeByName(full_name))


@functools.cache
def enum(full_name: str) -> EnumTypeWrapper:
    """Returns the wrapper of the enum `full_name`, for instance "tensorflow.DataType"; KeyError when unknown."""
    _build(definitions.symbols()[full_name].file)
    return EnumTypeWrapper(POOL.FindEnumTypeByName(full_name))


@functools.cache
def service(full_name: str) -> dict[str, Method]:
    """Returns the methods of the gRPC service `full_name` by name; KeyError when unknown."""
    _build(definitions.symbols()[full_name].file)
    return {
        method.name: Method(
            f"/{full_name}/{method.name}", message(method.input_type.full_name), message(method.output_type.full_name),
            method.client_streaming, method.server_streaming,
        )
        for method in POOL.FindServiceByName(full_name).methods
    }


@functools.cache
def module(path: str) -> types.ModuleType:
    """Returns what TensorFlow's generated module of the .proto file `path` holds: DESCRIPTOR, message classes, enum
    wrappers and the values of the enums at top level; KeyError when there is no such file."""
    _build(path)
    descriptor = POOL.FindFileByName(path)
    members = {"DESCRIPTOR": descriptor}
    for name, enum_type in descriptor.enum_types_by_name.items():
        members[name] = enum(enum_type.full_name)
        members.update((value.name, value.number) for value in enum_type.values)
    for name, message_type in descriptor.message_types_by_name.items():
        members[name] = message(message_type.full_name)
    found = types.ModuleType(path.removesuffix(".proto").replace("/", ".") + "_pb2")
    vars(found).update(members)
    return found


def _build(path: str) -> None:
    with _lock:
        if path in _built:
            return
        proto = definitions.file_proto(path)
        for dependency in proto.dependency:
            _build(dependency)
        POOL.AddSerializedFile(proto.SerializeToString())
        _built.add(path)


def _message_class(descriptor) -> type:
    """The class of a message. Those of its fields are made with it, else protobuf makes them anew, as cycles of objects, for each use."""
    found = _classes.get(descriptor.full_name)
    if found is None:
        found = _classes[descriptor.full_name] = message_factory.GetMessageClass(descriptor)
        found.__module__ = _MESSAGES_MODULE
        found.__qualname__ = descriptor.full_name.removeprefix("tensorflow.")
        found.__str__ = found.__repr__ = text
        for nested in descriptor.nested_types:
            copyreg.pickle(_message_class(nested), _reduce_nested)
        for field in descriptor.fields:
            if field.message_type is not None:
                _message_class(field.message_type)
    return found


def _reduce_nested(value) -> tuple:
    """Pickles a nested message by its class; protobuf's own way looks the name up in the default pool."""
    return type(value), (), value.__getstate__()
