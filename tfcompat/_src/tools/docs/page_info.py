"""Collects what the page of a function, class or module says."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from google.protobuf.message import Message

from tfcompat._src.tools import doc_controls
from tfcompat._src.tools.docs.docstrings import PROPERTIES, _DocstringInfo, parse_md_docstring, relative_root
from tfcompat._src.tools.docs.references import ReferenceResolver
from tfcompat._src.tools.docs.signatures import generate_signature

_OF_EVERY_CLASS = {
    "__class__", "__base__", "__weakref__", "__doc__", "__module__", "__dict__", "__abstractmethods__", "__slots__", "__getnewargs__",
    "__str__", "__repr__", "__hash__", "__reduce__",
    "__match_args__", "__static_attributes__", "__firstlineno__",
}  # fmt: skip
_OF_EVERY_MODULE = {"__builtins__", "__doc__", "__file__", "__name__", "__path__", "__package__", "__cached__", "__loader__", "__spec__"}
_BASES_WITHOUT_PAGES = (object, type, tuple, BaseException, Exception)
_OF_MESSAGES = {"CMessage", "Message", "MessageMeta"}
_SCHEMA = "http://developers.google.com/ReferenceObject"


class _LinkInfo(NamedTuple):
    """A class, function or module with a page of its own."""

    short_name: str
    full_name: str
    obj: Any
    doc: _DocstringInfo
    url: str

    def is_link(self) -> bool:
        return True


class _OtherMemberInfo(NamedTuple):
    """A member that is no function, class, property or module."""

    short_name: str
    full_name: str
    obj: Any
    doc: _DocstringInfo

    def is_link(self) -> bool:
        return False


class _PropertyInfo(NamedTuple):
    """A property of a class."""

    short_name: str
    full_name: str
    obj: Any
    doc: _DocstringInfo


class _MethodInfo(NamedTuple):
    """A method of a class; `signature` is its arguments as text, `decorators` says "classmethod" or "staticmethod"."""

    short_name: str
    full_name: str
    obj: Any
    doc: _DocstringInfo
    signature: list[str]
    decorators: list[str]


class ParserConfig:
    """What all pages of a set of documents are made from.

    Args:
      reference_resolver: makes links.
      duplicates: the name under which a symbol is documented -> all of its names.
      duplicate_of: each other name -> the one under which it is documented.
      tree: full name -> names of members.
      index: full name -> object.
      reverse_index: id of an object -> full name.
      guide_index: full name -> objects with `make_md_link(url_prefix)`, the places in guides that mention it.
      base_dir: the folder that paths of files are written from.
    """

    def __init__(
        self,
        reference_resolver: ReferenceResolver,
        duplicates: Mapping[str, list[str]],
        duplicate_of: Mapping[str, str],
        tree: Mapping[str, list[str]],
        index: Mapping[str, Any],
        reverse_index: Mapping[int, str],
        guide_index: Mapping[str, list],
        base_dir: str,
    ) -> None:
        self.reference_resolver = reference_resolver
        self.duplicates = duplicates
        self.duplicate_of = duplicate_of
        self.tree = tree
        self.reverse_index = reverse_index
        self.index = index
        self.guide_index = guide_index
        self.base_dir = base_dir
        self.defined_in_prefix = "tensorflow/"
        self.code_url_prefix = "/code/stable/tensorflow/"

    def py_name_to_object(self, full_name: str) -> Any:
        """The object with a full name."""
        return self.index[full_name]

    def described(self, value: object, root: str) -> _DocstringInfo:
        """The parsed docstring of an object, for a page from whose folder `root` leads to the root of the documents."""
        return parse_md_docstring(value, root, self.reference_resolver)


class _Page:
    """What every page has: names of the symbol, its docstring, links to guides, the file that defines it."""

    kind = ""

    def __init__(self, full_name: str) -> None:
        self.full_name = full_name
        self.defined_in: _DefinedIn | None = None
        self.aliases: list[str] | None = None
        self.doc: _DocstringInfo | None = None
        self.guides: str | None = None

    def for_function(self) -> bool:
        """Whether the page is of a function."""
        return self.kind == "function"

    def for_class(self) -> bool:
        """Whether the page is of a class."""
        return self.kind == "class"

    def for_module(self) -> bool:
        """Whether the page is of a module."""
        return self.kind == "module"

    @property
    def short_name(self) -> str:
        """The last part of the name."""
        return self.full_name.split(".")[-1]

    def _described_here(self) -> list[str]:
        """The short names of members that the page describes itself."""
        return []

    def get_metadata_html(self) -> str:
        """The block at the top of the page that search engines read."""
        lines = [f'<div itemscope itemtype="{_SCHEMA}">', f'<meta itemprop="name" content="{self.full_name}" />']
        lines.append('<meta itemprop="path" content="Stable" />')
        lines += [f'<meta itemprop="property" content="{name}"/>' for name in self._described_here()]
        return "\n".join([*lines, "</div>", ""])


class _FunctionPageInfo(_Page):
    """The page of a function."""

    kind = "function"

    def __init__(self, full_name: str) -> None:
        super().__init__(full_name)
        self.signature: list[str] | None = None
        self.decorators: list[str] = []


class _ModulePageInfo(_Page):
    """The page of a module."""

    kind = "module"

    def __init__(self, full_name: str) -> None:
        super().__init__(full_name)
        self.modules: list[_LinkInfo] = []
        self.classes: list[_LinkInfo] = []
        self.functions: list[_LinkInfo] = []
        self.other_members: list[_OtherMemberInfo] = []

    def _described_here(self) -> list[str]:
        return [member.short_name for member in self.other_members]

    def collect_docs_for_module(self, parser_config: ParserConfig) -> None:
        """Collects the members of the module."""
        root = relative_root(self.full_name)
        for name in parser_config.tree.get(self.full_name, []):
            if name in _OF_EVERY_MODULE:
                continue
            full_name = f"{self.full_name}.{name}" if self.full_name else name
            member = parser_config.py_name_to_object(full_name)
            doc = parser_config.described(member, root)
            url = parser_config.reference_resolver.reference_to_url(full_name, root)
            for check, found in (
                (inspect.ismodule, self.modules), (inspect.isclass, self.classes), (inspect.isfunction, self.functions)
            ):  # fmt: skip
                if check(member):
                    found.append(_LinkInfo(name, full_name, member, doc, url))
                    break
            else:
                self.other_members.append(_OtherMemberInfo(name, full_name, member, doc))


class _ClassPageInfo(_Page):
    """The page of a class."""

    kind = "class"

    def __init__(self, full_name: str) -> None:
        super().__init__(full_name)
        self.namedtuplefields: tuple[str, ...] | None = None
        self.bases: list[_LinkInfo] = []
        self.methods: list[_MethodInfo] = []
        self.classes: list[_LinkInfo] = []
        self.other_members: list[_OtherMemberInfo] = []
        self._properties: dict[str, _PropertyInfo] = {}

    @property
    def properties(self) -> list[_PropertyInfo]:
        """The properties: fields of a named tuple in their order, then the others by name."""
        left = dict(self._properties)
        fields = [left.pop(name) for name in self.namedtuplefields or ()]
        return fields + sorted(left.values(), key=lambda each: each.short_name)

    def _described_here(self) -> list[str]:
        return [member.short_name for member in (*self.classes, *self.properties, *self.methods, *self.other_members)]

    def collect_docs_for_class(self, py_class: type, parser_config: ParserConfig) -> None:
        """Collects the bases and members of the class."""
        if issubclass(py_class, tuple) and all(hasattr(py_class, name) for name in ("_asdict", "_fields", "_make", "_replace")):
            self.namedtuplefields = py_class._fields  # type: ignore[attr-defined]
        root = relative_root(self.full_name)
        self._collect_bases(root, parser_config)
        for name in parser_config.tree[self.full_name]:
            defining = next((cls for cls in inspect.getmro(py_class) if name in vars(cls)), None)
            is_of_others = defining in _BASES_WITHOUT_PAGES or (defining is not None and defining.__name__ in _OF_MESSAGES)
            if name not in _OF_EVERY_CLASS and not is_of_others and not doc_controls.should_skip_class_attr(py_class, name):
                self._collect_member(py_class, name, defining, root, parser_config)

    def _collect_bases(self, root: str, parser_config: ParserConfig) -> None:
        for base in parser_config.py_name_to_object(self.full_name).__bases__:
            name = parser_config.reverse_index.get(id(base))
            if name is not None:
                url = parser_config.reference_resolver.reference_to_url(name, root)
                self.bases.append(_LinkInfo(name.split(".")[-1], name, base, parser_config.described(base, root), url))

    def _collect_member(self, py_class: type, name: str, defining: type | None, root: str, parser_config: ParserConfig) -> None:
        full_name = f"{self.full_name}.{name}"
        member = parser_config.py_name_to_object(full_name)
        doc = parser_config.described(member, root)
        if isinstance(member, PROPERTIES):
            if re.match("Alias for field number [0-9]+", doc.docstring):
                doc = doc._replace(docstring="", brief="")
            self._properties[name] = _PropertyInfo(name, full_name, member, doc)
        elif inspect.isclass(member):
            if defining is not None:
                url = parser_config.reference_resolver.reference_to_url(full_name, root)
                self.classes.append(_LinkInfo(name, full_name, member, doc, url))
        elif inspect.isroutine(member):
            if defining is not None:
                self._collect_method(py_class, _OtherMemberInfo(name, full_name, member, doc), defining, parser_config)
        elif not issubclass(py_class, Message) or not (name.endswith("_FIELD_NUMBER") or name in ("__slots__", "DESCRIPTOR")):
            self.other_members.append(_OtherMemberInfo(name, full_name, member, doc))

    def _collect_method(self, py_class: type, member: _OtherMemberInfo, defining: type, parser_config: ParserConfig) -> None:
        name = member.short_name
        of_named_tuple = (getattr(vars(defining)[name], "__module__", None) or "").startswith("namedtuple")
        if of_named_tuple or (name in ("__del__", "__copy__") and not member.doc.brief.strip()):
            return
        try:
            signature = generate_signature(member.obj, parser_config.reverse_index)
        except TypeError:  # a slot of C code, which has no arguments to show
            return
        kinds = {"classmethod": classmethod, "staticmethod": staticmethod}
        decorators = [word for word, kind in kinds.items() if isinstance(vars(py_class).get(name), kind)]
        self.methods.append(_MethodInfo(*member, signature, decorators))


class _DefinedIn:
    """The file that defines a symbol: "python", "proto", "generated" or, without a file, "builtin"."""

    def __init__(self, kind: str, path: str, parser_config: ParserConfig) -> None:
        self.kind, self.path = kind, path
        self.path_prefix, self.code_url_prefix = parser_config.defined_in_prefix, parser_config.code_url_prefix

    def is_builtin(self) -> bool:
        """Whether Python itself defines the symbol."""
        return self.kind == "builtin"

    def is_python_file(self) -> bool:
        """Whether a Python file that a person wrote defines it."""
        return self.kind == "python"

    def is_generated_file(self) -> bool:
        """Whether a program wrote the file."""
        return self.kind == "generated"

    def __str__(self) -> str:
        if self.is_builtin():
            return "This is an alias for a Python built-in.\n\n"
        if self.is_generated_file():
            return f"Defined in generated file: `{self.path_prefix}{self.path}`.\n\n"
        return f"Defined in [`{self.path_prefix}{self.path}`]({self.code_url_prefix}{self.path}).\n\n"


def _defined_in(py_object: object, parser_config: ParserConfig) -> _DefinedIn | None:
    """Where an object is defined; None outside of the documented library."""
    try:
        path = os.path.relpath(inspect.getfile(inspect.unwrap(py_object)), parser_config.base_dir)
    except TypeError:
        return _DefinedIn("builtin", "", parser_config)
    path = path[:-1] if path.endswith(".pyc") else path
    if path.startswith("..") or re.search(r"\b_api\b", path):
        return None
    if re.match(r".*/gen_[^/]*\.py$", path) or "genfiles" in path or "tools/api/generator" in path:
        return _DefinedIn("generated", path, parser_config)
    if path.endswith("_pb2.py"):
        return _DefinedIn("proto", path.removesuffix("_pb2.py") + ".proto", parser_config)
    return _DefinedIn("python", path, parser_config)


def _links_to_guides(names: list[str], guide_index: Mapping[str, list], root: str) -> str:
    prefix = "../" * (root.count("/") + 3)
    links = sorted({guide.make_md_link(prefix) for name in names for guide in guide_index.get(name, [])})
    return f"See the guide{'s' if len(links) > 1 else ''}: {', '.join(links)}\n\n" if links else ""


def docs_for_object(full_name: str, py_object: object, parser_config: ParserConfig) -> _Page:
    """The page of a function, class or module.

    Raises:
      RuntimeError: `py_object` is something else.
    """
    name = parser_config.reference_resolver.py_master_name(full_name)
    names = parser_config.duplicates.get(name, [full_name])
    page: _FunctionPageInfo | _ClassPageInfo | _ModulePageInfo
    if inspect.isroutine(py_object):
        page = _FunctionPageInfo(name)
        page.signature = generate_signature(py_object, parser_config.reverse_index)
    elif inspect.isclass(py_object):
        page = _ClassPageInfo(name)
        page.collect_docs_for_class(py_object, parser_config)
    elif inspect.ismodule(py_object):
        page = _ModulePageInfo(name)
        page.collect_docs_for_module(parser_config)
    else:
        raise RuntimeError(f"Cannot make docs for object {full_name}: {py_object!r}")
    root = relative_root(full_name)
    page.doc = parser_config.described(py_object, root)
    page.aliases = names
    page.guides = _links_to_guides(names, parser_config.guide_index, root)
    page.defined_in = _defined_in(py_object, parser_config)
    return page


def generate_global_index(library_name: str, index: Mapping[str, Any], reference_resolver: ReferenceResolver) -> str:
    """A page with links to all modules, classes and functions of `index` (full name -> object)."""
    lines = [f"# All symbols in {library_name}", ""]
    for name, value in sorted(index.items(), key=lambda item: item[0]):
        is_method = inspect.isfunction(value) and inspect.isclass(index.get(name.rpartition(".")[0]))
        if not is_method and (inspect.ismodule(value) or inspect.isfunction(value) or inspect.isclass(value)):
            lines.append("*  " + reference_resolver.python_link(name, name, "."))
    return "\n".join(lines)
