"""Reader of the message definitions in `defs/`, which gives one FileDescriptorProto per .proto file.

The notation, with two spaces of indentation per level::

    file <path> [package <name>]            package `tensorflow` when left out
      message <Name>                        messages and enums nest
        <field>: <type> = <number>, ...     type: a scalar, a message or an enum; `T*` repeated; `{K: V}` a map
        oneof <name> | <fields>             several lines may continue one oneof
      enum <Name>
        <VALUE> = <number>, ...
      service <Name>
        <Method>: [stream ]<request> -> [stream ]<reply>

Type names are looked up from the innermost scope outwards, as protoc does.
"""

from __future__ import annotations

import functools
import re
from typing import NamedTuple

from google.protobuf import any_pb2, descriptor_pb2, wrappers_pb2

from tfcompat._src.proto.defs import cluster, example_util, framework, other, profiler, protobuf, serving, tpu, trees

_TEXTS = [part.DEFINITIONS for part in (framework, protobuf, cluster, example_util, profiler, tpu, trees, other, serving)]
_GOOGLE_FILES = {descriptor.name: descriptor for descriptor in (any_pb2.DESCRIPTOR, wrappers_pb2.DESCRIPTOR)}

_Field = descriptor_pb2.FieldDescriptorProto
_SCALARS = {
    name[len("TYPE_"):].lower(): number
    for name, number in _Field.Type.items()
    if name not in ("TYPE_MESSAGE", "TYPE_ENUM", "TYPE_GROUP")
}
_KINDS = {"message": _Field.TYPE_MESSAGE, "enum": _Field.TYPE_ENUM, "service": None}
_FIELD = re.compile(r"(\w+): (?:\{(\w+): ([\w.]+)\}|([\w.]+)(\*?)) = (\d+)")
_VALUE = re.compile(r"(\w+) = (-?\d+)")
_METHOD = re.compile(r"(\w+): (stream )?([\w.]+) -> (stream )?([\w.]+)")


class Symbol(NamedTuple):
    """Where a message, enum or service is defined, and which of the three it is."""

    kind: str
    file: str


class File(NamedTuple):
    """One .proto file: its package and the lines of its definitions."""

    package: str
    lines: list[str]


class Line(NamedTuple):
    """A line of a definition: `scope` is the full name it stands in, `body` its text without indentation."""

    scope: str
    body: str


@functools.cache
def files() -> dict[str, File]:
    """Returns every file of `defs/` by its path."""
    found = {}
    for text in _TEXTS:
        for section in re.split(r"^file ", text, flags=re.MULTILINE)[1:]:
            head, *lines = section.rstrip("\n").split("\n")
            path, _, package = head.partition(" package ")
            found[path] = File(package or "tensorflow", lines)
    return found


@functools.cache
def symbols() -> dict[str, Symbol]:
    """Returns every message, enum and service by its full name."""
    found = {}
    for path, file in files().items():
        for line in _scoped_lines(file):
            kind, _, name = line.body.partition(" ")
            if kind in _KINDS:
                found[f"{line.scope}.{name}"] = Symbol(kind, path)
    for path, descriptor in _GOOGLE_FILES.items():
        for name in descriptor.message_types_by_name:
            found[f"{descriptor.package}.{name}"] = Symbol("message", path)
    return found


def file_proto(path: str) -> descriptor_pb2.FileDescriptorProto:
    """Returns the FileDescriptorProto of the .proto file at `path`; KeyError when there is none."""
    if path in _GOOGLE_FILES:
        return descriptor_pb2.FileDescriptorProto.FromString(_GOOGLE_FILES[path].serialized_pb)
    file = files()[path]
    proto = descriptor_pb2.FileDescriptorProto(name=path, package=file.package, syntax="proto3")
    open_scopes = {file.package: proto}
    used: set[str] = set()
    for line in _scoped_lines(file):
        parent = open_scopes[line.scope]
        head, _, name = line.body.partition(" ")
        if head in _KINDS:
            open_scopes[f"{line.scope}.{name}"] = _add_definition(parent, head, name)
        elif isinstance(parent, descriptor_pb2.EnumDescriptorProto):
            for value, number in _VALUE.findall(line.body):
                parent.value.add(name=value, number=int(number))
        elif isinstance(parent, descriptor_pb2.ServiceDescriptorProto):
            _add_method(parent, line, used)
        else:
            _add_fields(parent, line, used)
    proto.dependency.extend(sorted({symbols()[name].file for name in used} - {path}))
    return proto


def _scoped_lines(file: File) -> list[Line]:
    scopes = [file.package]
    lines = []
    for text in file.lines:
        body = text.lstrip(" ")
        if not body:
            continue
        depth = (len(text) - len(body)) // 2
        del scopes[depth:]
        lines.append(Line(scopes[-1], body))
        head, _, name = body.partition(" ")
        if head in _KINDS:
            scopes.append(f"{scopes[-1]}.{name}")
    return lines


def _add_definition(parent, kind: str, name: str):
    if kind == "service":
        return parent.service.add(name=name)
    if kind == "enum":
        return parent.enum_type.add(name=name)
    if isinstance(parent, descriptor_pb2.FileDescriptorProto):
        return parent.message_type.add(name=name)
    return parent.nested_type.add(name=name)


def _add_method(service: descriptor_pb2.ServiceDescriptorProto, line: Line, used: set[str]) -> None:
    ((name, client_stream, request, server_stream, reply),) = _METHOD.findall(line.body)
    full_names = [_resolve(type_name, line.scope) for type_name in (request, reply)]
    used.update(full_names)
    service.method.add(
        name=name, input_type="." + full_names[0], output_type="." + full_names[1],
        client_streaming=bool(client_stream), server_streaming=bool(server_stream),
    )


def _add_fields(message: descriptor_pb2.DescriptorProto, line: Line, used: set[str]) -> None:
    body = line.body
    oneof = None
    if body.startswith("oneof "):
        oneof, _, body = body[len("oneof "):].partition(" | ")
        if oneof not in [declared.name for declared in message.oneof_decl]:
            message.oneof_decl.add(name=oneof)
    for name, key, value, type_name, star, number in _FIELD.findall(body):
        field = message.field.add(name=name, number=int(number), label=_Field.LABEL_OPTIONAL)
        if key:
            _make_map(field, message, key, value, line.scope, used)
            continue
        _set_type(field, type_name, line.scope, used)
        if star:
            field.label = _Field.LABEL_REPEATED
        if oneof is not None:
            field.oneof_index = [declared.name for declared in message.oneof_decl].index(oneof)


def _make_map(field, message: descriptor_pb2.DescriptorProto, key: str, value: str, scope: str, used: set[str]) -> None:
    entry = message.nested_type.add(name="".join(part.capitalize() for part in field.name.split("_")) + "Entry")
    entry.options.map_entry = True
    for number, (name, type_name) in enumerate((("key", key), ("value", value)), 1):
        part = entry.field.add(name=name, number=number, label=_Field.LABEL_OPTIONAL)
        _set_type(part, type_name, scope, used)
    field.label = _Field.LABEL_REPEATED
    field.type = _Field.TYPE_MESSAGE
    field.type_name = f".{scope}.{entry.name}"


def _set_type(field, type_name: str, scope: str, used: set[str]) -> None:
    if type_name in _SCALARS:
        field.type = _SCALARS[type_name]
        return
    full_name = _resolve(type_name, scope)
    used.add(full_name)
    field.type = _KINDS[symbols()[full_name].kind]
    field.type_name = "." + full_name


def _resolve(type_name: str, scope: str) -> str:
    while scope:
        if (candidate := f"{scope}.{type_name}") in symbols():
            return candidate
        scope = scope.rpartition(".")[0]
    if type_name in symbols():
        return type_name
    raise KeyError(f"Type {type_name} is not defined in any file of tfcompat's message definitions.")
