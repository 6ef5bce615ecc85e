"""The text of reference.md: signatures and docstrings of the names in reference.txt, and their examples.

reference.txt has a paragraph for each name: the name, and an example that tests run here and that ran in TensorFlow 1.15.5
(tests/oracle/reference_examples.py). The names are the 200 that 60 public repositories of TensorFlow 1 programs call most, without `tf.test.main`, which
ends the process.
"""

from __future__ import annotations

import inspect
import pathlib
import re
from collections.abc import Iterator
from typing import Any

HEAD = """# Reference

{note}
The 200 functions and classes that public TensorFlow 1 programs call most. Tests run the examples, in the order of this page; they gave the same
in TensorFlow 1.15.5. They begin with

```pycon
>>> import os, tempfile, unittest
>>> import numpy as np
>>> import tfcompat as tf
```
"""
SECTION = re.compile(r"^(Args|Returns|Raises|Yields|Attributes):$")


def entries() -> Iterator[tuple[str, str]]:
    """("", heading) for a section, (name, example) for a name, in the order of reference.txt."""
    for paragraph in pathlib.Path(__file__).with_suffix(".txt").read_text().strip().split("\n\n"):
        first, _, rest = paragraph.partition("\n")
        yield ("", first.removeprefix("# ")) if first.startswith("# ") else (first, rest)


def shown(parameter: inspect.Parameter) -> str:
    """A parameter as in a call's documentation: its name and default, without annotation."""
    default = parameter.default
    if default is not parameter.empty and " at 0x" in repr(default):
        return f"{parameter.name}={getattr(default, '__name__', type(default).__name__)}"
    return str(parameter.replace(annotation=parameter.empty)).replace(" = ", "=")


def signature(found: Any) -> str:
    """The arguments of a function or class: "(x, name=None)"."""
    try:
        parameters = list(inspect.signature(found).parameters.values())
    except ValueError:  # a class that takes none
        return "()"
    catches_all = {p.kind for p in parameters} == {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    if isinstance(found, type) and catches_all:  # a metaclass chooses the class: the docstring has the arguments
        named = re.findall(r"^  (\w+(?:, \w+)*): ", inspect.getdoc(found) or "", re.MULTILINE)
        return f"({', '.join(named)})"
    return f"({', '.join(map(shown, parameters))})"


def sections(docstring: str) -> str:
    """A docstring as Markdown: its sections as lists with an item for each argument or error."""
    lines, inside = [], ""
    for line in docstring.splitlines():
        heading = SECTION.match(line)
        if heading:
            inside = heading[1]
            lines.append({"Args": "Arguments", "Attributes": "Attributes"}.get(inside, inside) + ":\n")
        elif inside and line.startswith("  ") and not line.startswith("   "):
            name, colon, text = line.strip().partition(": ")
            named = inside in ("Args", "Raises", "Attributes") and colon
            lines.append(f"- `{name}`: {text}" if named else f"- {line.strip()}")
        else:
            inside = inside if not line or line.startswith(" ") else ""
            lines.append(line)
    return "\n".join(lines)


def documentation(cls: type, name: str) -> str:
    """The docstring of a method or property, which one without has from the class above: Python's own, before 3.13, finds none for properties."""
    docs = (vars(base)[name].__doc__ for base in cls.__mro__ if name in vars(base))
    return inspect.cleandoc(next(filter(None, docs), ""))


def methods(cls: type) -> str:
    """The public methods that a class, or a class below it in the same module, defines: names and first sentences."""
    found = {}
    for base in cls.__mro__:
        for name, member in vars(base).items() if base.__module__ == cls.__module__ else ():
            if not name.startswith("_") and (callable(member) or isinstance(member, (property, classmethod, staticmethod))):
                found.setdefault(name, documentation(cls, name))
    items = [f"- `{name}`: {' '.join(doc.partition(chr(10) * 2)[0].split())}\n" for name, doc in sorted(found.items()) if doc]
    return "Methods and properties:\n\n" + "".join(items) + "\n" if items else ""


def page(get: Any, note: str) -> str:
    """The page; `get` finds "nn.relu", `note` says who wrote it."""
    parts = [HEAD.format(note=note)]
    for name, text in entries():
        if not name:
            parts.append(f"\n## {text}\n\n")
            continue
        found = get(name.partition(".")[2])
        parts.append(f"### {name}\n\n```text\n{name}{signature(found)}\n```\n\n{sections(inspect.getdoc(found) or '')}\n\n")
        parts.append((methods(found) if isinstance(found, type) else "") + f"```pycon\n{text}\n```\n\n")
    return "".join(parts).rstrip() + "\n"
