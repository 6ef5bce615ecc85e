"""Replaces references to symbols and documents in texts by links."""

from __future__ import annotations

import inspect
import json
import os
import re
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from tfcompat._src.platform import logging
from tfcompat._src.tools.docs.docstrings import documentation_path, is_free_function

if TYPE_CHECKING:
    from tfcompat._src.tools.docs.doc_generator_visitor import DocGeneratorVisitor


SYMBOL_REFERENCE_RE = re.compile(r"@\{([^}]+)\}")
AUTO_REFERENCE_RE = re.compile(r"`([a-zA-Z0-9_.]+?)`")
_CC_PAGES = {
    "tensorflow::ClientSession": "class/tensorflow/client-session.md",
    "tensorflow::Scope": "class/tensorflow/scope.md",
    "tensorflow::Status": "class/tensorflow/status.md",
    "tensorflow::Tensor": "class/tensorflow/tensor.md",
    "tensorflow::ops::Const": "namespace/tensorflow/ops.md#const",
}


class TFDocsError(Exception):
    """A reference leads nowhere."""


def _code_in_html(text: str) -> str:
    return re.sub("`(.*?)`", r"<code>\1</code>", text)


def _link(url: str, html: str) -> str:
    return f'<a href="{url}">{html}</a>'


class ReferenceResolver:
    """Makes links of "@{tf.symbol}", "@{$document}" and "`tf.symbol`" in texts.

    Args:
      duplicate_of: names of symbols -> the names under which they are documented.
      doc_index: names of documents -> objects with `url` and `title`.
      is_fragment: the full name of each symbol -> whether it is described on its parent's page.
      py_module_names: the first parts of names of Python symbols, as "tf".
    """

    def __init__(
        self, duplicate_of: dict[str, str], doc_index: Mapping[str, Any], is_fragment: dict[str, bool], py_module_names: Collection[str]
    ) -> None:
        self._duplicate_of = duplicate_of
        self._doc_index = doc_index
        self._is_fragment = is_fragment
        self._py_module_names = list(py_module_names)
        self._errors: list[tuple[str | None, str]] = []
        self.current_doc_full_name: str | None = None

    @classmethod
    def from_visitor(cls, visitor: DocGeneratorVisitor, doc_index: Mapping[str, Any], **kwargs: Any) -> ReferenceResolver:
        """A resolver for the symbols that a visitor has met."""
        index = visitor.index
        is_fragment = {
            name: not (inspect.isclass(value) or inspect.ismodule(value) or is_free_function(value, name, index))
            for name, value in index.items()
        }
        return cls(duplicate_of=visitor.duplicate_of, doc_index=doc_index, is_fragment=is_fragment, **kwargs)

    @classmethod
    def from_json_file(cls, filepath: str, doc_index: Mapping[str, Any]) -> ReferenceResolver:
        """The resolver that `to_json_file` wrote."""
        with open(filepath) as file:
            return cls(doc_index=doc_index, **json.load(file))

    def to_json_file(self, filepath: str) -> None:
        """Writes what `from_json_file` reads: everything but the index of documents."""
        os.makedirs(os.path.dirname(filepath) or ".", exist_ok=True)
        held = {"duplicate_of": self._duplicate_of, "is_fragment": self._is_fragment, "py_module_names": self._py_module_names}
        with open(filepath, "w") as file:
            json.dump(held, file, indent=2, sort_keys=True)

    def add_error(self, message: str) -> None:
        """Notes an error in the current document."""
        self._errors.append((self.current_doc_full_name, message))

    def log_errors(self) -> None:
        """Logs all errors as warnings."""
        for document, message in self._errors:
            logging.warning("ERROR:\n    output file name: %s\n    %s\n\n", document, message)

    def num_errors(self) -> int:
        """How many errors were noted."""
        return len(self._errors)

    def replace_references(self, string: str, relative_path_to_root: str) -> str:
        """The text with links, whose paths start at `relative_path_to_root`; one that leads nowhere becomes BAD_LINK and is noted."""

        def required(match: re.Match) -> str:
            try:
                return self._replaced(match, relative_path_to_root)
            except TFDocsError as e:
                self.add_error(str(e.args[0]))
                return "BAD_LINK"

        def where_possible(match: re.Match) -> str:
            try:
                return self._replaced(match, relative_path_to_root)
            except TFDocsError:
                return match.group(0)

        return AUTO_REFERENCE_RE.sub(where_possible, SYMBOL_REFERENCE_RE.sub(required, string))

    def python_link(self, link_text: str, ref_full_name: str, relative_path_to_root: str, code_ref: bool = True) -> str:
        """A link to a Python symbol; `code_ref` sets all of its text as code."""
        html = f"<code>{link_text}</code>" if code_ref else _code_in_html(link_text)
        return _link(self.reference_to_url(ref_full_name, relative_path_to_root), html)

    def py_master_name(self, full_name: str) -> str:
        """The name under which a symbol is documented."""
        return self._duplicate_of.get(full_name, full_name)

    def reference_to_url(self, ref_full_name: str, relative_path_to_root: str) -> str:
        """The path of the page of a symbol, or of its parent's with a fragment.

        Raises:
          TFDocsError: no page is made for it.
        """
        name = self.py_master_name(ref_full_name)
        if name not in self._is_fragment:
            raise TFDocsError(f'Cannot make link to "{name}": Not in index.')
        return os.path.join(relative_path_to_root, documentation_path(name, self._is_fragment[name]))

    def _replaced(self, match: re.Match, root: str) -> str:
        """The link for one reference, "name" or "name$text of the link"."""
        name = text = match.group(1)
        dollar = name.rfind("$")
        has_text = dollar > 0
        if has_text:
            name, text = name[:dollar], name[dollar + 1 :]
        if name.startswith("$"):
            return self._document_link(name[1:], text if has_text else None, root)
        if name.startswith("tensorflow::"):
            if name not in _CC_PAGES:
                raise TFDocsError(f'C++ reference not understood: "{name}"')
            return _link(os.path.normpath(os.path.join(root, "../cc", _CC_PAGES[name])), f"<code>{text}</code>")
        if any(name == module or name.startswith(module + ".") for module in self._py_module_names):
            return self.python_link(text, name, root, code_ref=not has_text)
        raise TFDocsError(f'Did not understand "{match.group(0)}"', "BROKEN_LINK")

    def _document_link(self, name: str, text: str | None, root: str) -> str:
        name, sharp, tag = name.partition("#")
        if name not in self._doc_index:
            raise TFDocsError(f'Unknown Document "{name}"')
        document = self._doc_index[name]
        url = os.path.normpath(os.path.join(root, "../..", document.url))
        return _link(url + sharp + tag, _code_in_html(document.title if text is None else text))
