"""Writes pages as Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import Any

from tfcompat._src.tools.docs.docstrings import _DocstringInfo

_CONSTRUCTORS = ("__init__", "__new__")
_RANGE = "``` python\ntf.range(limit, delta=1, dtype=None, name='range')\ntf.range(start, limit, delta=1, dtype=None, name='range')\n```\n\n"


def build_md_page(page_info: Any) -> str:
    """The Markdown of a page of a function, class or module."""
    if page_info.for_function():
        return _function_page(page_info)
    if page_info.for_class():
        return _class_page(page_info)
    if page_info.for_module():
        return _module_page(page_info)
    raise ValueError(f"Unknown Page Info Type: {type(page_info)}")


def _function_page(page: Any) -> str:
    signature = "" if page.signature is None else _signature(page, page.full_name)
    where = f"\n\n{page.defined_in}" if page.defined_in else ""
    return f"# {page.full_name}\n\n" + _aliases(page.aliases, "") + signature + where + page.guides + _described(page.doc)


def _class_page(page: Any) -> str:
    parts = [f"# {page.full_name}\n\n## Class `{page.short_name}`\n\n"]
    if page.bases:
        parts.append("Inherits From: " + ", ".join(f"[`{base.short_name}`]({base.url})" for base in page.bases))
    parts += ["\n\n", _aliases(page.aliases, "Class "), _definition(page), page.guides, _described(page.doc), "\n\n"]
    methods = sorted(page.methods, key=lambda each: each.short_name)
    constructors = [method for method in methods if method.short_name in _CONSTRUCTORS]
    if constructors:
        parts += [*(_method(method, 2) for method in constructors), "\n\n"]
    if page.classes:
        links = sorted(f"[`class {each.short_name}`]({each.url})\n\n" for each in page.classes)
        parts += ["## Child Classes\n", *links]
    if page.properties:
        properties = (f"{_heading(each.short_name)}{_described(each.doc)}\n\n" for each in page.properties)
        parts += ["## Properties\n\n", *properties, "\n\n"]
    if len(methods) > len(constructors):
        parts += ["## Methods\n\n", *(_method(each, 3) for each in methods if each not in constructors), "\n\n"]
    if page.other_members:
        names = sorted(each.short_name for each in page.other_members)
        parts += ["## Class Members\n\n", *map(_heading, names)]
    return "".join(parts)


def _module_page(page: Any) -> str:
    parts = [f"# Module: {page.full_name}\n\n", _aliases(page.aliases, "Module "), _definition(page), page.doc.docstring]
    parts += [_compatibility(page.doc.compatibility), "\n\n"]
    parts += _links("Modules", "[`{0.short_name}`]({0.url}) module", page.modules)
    parts += _links("Classes", "[`class {0.short_name}`]({0.url})", page.classes)
    parts += _links("Functions", "[`{0.short_name}(...)`]({0.url})", page.functions)
    if page.other_members:
        parts += ["## Other Members\n\n", *(_heading(each.short_name) for each in page.other_members)]
    return "".join(parts)


def _links(title: str, template: str, members: list) -> Iterable[str]:
    if members:
        yield f"## {title}\n\n"
    for each in members:
        yield template.format(each) + (f": {each.doc.brief}" if each.doc.brief else "") + "\n\n"


def _heading(name: str, level: int = 3) -> str:
    return f'<h{level} id="{name}"><code>{name}</code></h{level}>\n\n'


def _aliases(names: list[str], word: str) -> str:
    return "### Aliases:\n\n" + "".join(f"* {word}`{name}`\n" for name in names) + "\n" if len(names) > 1 else ""


def _definition(page: Any) -> str:
    return "" if page.defined_in is None else f"\n\n{page.defined_in}"


def _method(method: Any, level: int) -> str:
    signature = "" if method.signature is None else _signature(method, method.short_name)
    return f"{_heading(method.short_name, level)}{signature}{_described(method.doc)}\n\n"


def _signature(described: Any, name: str) -> str:
    if described.full_name == "tf.range":
        return _RANGE
    arguments = described.signature
    text = "".join(arguments) if len(arguments) < 2 else "\n" + ",\n".join(f"    {each}" for each in arguments) + "\n"
    return "\n".join(["``` python", *("@" + each for each in described.decorators), f"{name}({text})", "```\n\n"])


def _described(doc: _DocstringInfo) -> str:
    details = []
    for keyword, header, items in doc.function_details:
        rows = "".join(f"* <b>`{name}`</b>: {text}" for name, text in items)
        details.append(f"#### {keyword}:\n\n{textwrap.dedent(header)}{rows}")
    return doc.docstring + "\n".join(details) + _compatibility(doc.compatibility)


def _compatibility(notes: dict[str, str]) -> str:
    return "".join(f"\n\n#### {kind.title()} Compatibility\n{textwrap.dedent(text)}\n" for kind, text in sorted(notes.items()))
