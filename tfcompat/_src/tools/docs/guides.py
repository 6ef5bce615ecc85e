"""Reads and rewrites guides and other documents beside the pages of an API."""

from __future__ import annotations

import fnmatch
import os
import shutil
from typing import NamedTuple

from tfcompat._src.tools.docs.py_guide_parser import PyGuideParser, md_files_in_dir
from tfcompat._src.tools.docs.references import AUTO_REFERENCE_RE, ReferenceResolver

EXCLUDED = {"__init__.py", "OWNERS", "README.txt"}


class _DocInfo(NamedTuple):
    """A document: its path below the root, and its title."""

    url: str
    title: str


class _GuideRef(NamedTuple):
    """A place in a guide."""

    url: str
    link_text: str

    def make_md_link(self, url_prefix: str) -> str:
        """A link to the place, from a page from which `url_prefix` leads to the root."""
        return f"[{self.link_text}]({url_prefix}{self.url})"


class _Title(PyGuideParser):
    """Finds the first title of a guide."""

    title: str | None = None

    def process_title(self, line_number: int, title: str) -> None:
        self.title = title if self.title is None else self.title


class _Mentions(_Title):
    """Notes for each symbol where a guide mentions it."""

    def __init__(self) -> None:
        super().__init__()
        self.index: dict[str, list[_GuideRef]] = {}
        self._section: tuple[str, str] | None = None

    def of_guide(self, full_path: str, base_name: str) -> None:
        """Reads a guide; `base_name` is its path in links."""
        self._base_name, self.title, self._section = base_name, None, None
        self.process(full_path)

    def process_section(self, line_number: int, section_title: str, tag: str) -> None:
        self._section = section_title, tag

    def process_line(self, line_number: int, line: str) -> None:
        title, tag = self._section or ("", "")
        url = f"api_guides/python/{self._base_name}" + (f"#{tag}" if tag else "")
        place = _GuideRef(url, f"{self.title} > {title}" if title else str(self.title))
        for name in AUTO_REFERENCE_RE.findall(line):
            self.index.setdefault(name, []).append(place)


class _Tags(PyGuideParser):
    """Writes second-level headings with their ids."""

    def process_section(self, line_number: int, section_title: str, tag: str) -> None:
        self.replace_line(line_number, f'<h2 id="{tag}">{section_title}</h2>')


def _markdown_files(folder: str) -> list[str]:
    return [os.path.join(where, name) for where, _, names in os.walk(folder) for name in names if name.endswith(".md")]


def build_doc_index(src_dir: str) -> dict[str, _DocInfo]:
    """The documents below a folder by file name, and by folder and file name.

    Raises:
      ValueError: the path is not absolute, there is no such folder, or a document has no title.
    """
    if not os.path.isabs(src_dir):
        raise ValueError(f"'src_dir' must be an absolute path.\n    src_dir='{src_dir}'")
    if not os.path.exists(src_dir):
        raise ValueError(f"'src_dir' path must exist.\n    src_dir='{src_dir}'")
    found = {}
    for path in _markdown_files(src_dir):
        reader = _Title()
        reader.process(path)
        if reader.title is None:
            raise ValueError(f"`{path}` has no markdown title (# title)")
        url = os.path.join(os.path.relpath(os.path.dirname(path), src_dir), os.path.basename(path))
        parts = url[:-3].split("/")
        parts = parts[:-1] if parts[-1] == "index" else parts
        for key in {parts[-1], "/".join(parts[-2:])}:
            found[key] = _DocInfo(url, reader.title)
    return found


def build_guide_index(guide_src_dir: str) -> dict[str, list[_GuideRef]]:
    """Name of a symbol -> the places in the guides of a folder that mention it."""
    reader = _Mentions()
    if os.path.exists(guide_src_dir):
        for path, name in md_files_in_dir(guide_src_dir):
            reader.of_guide(path, name)
    return reader.index


def update_id_tags_inplace(src_dir: str) -> None:
    """Gives all second-level headings of the Markdown files below a folder ids that links can name."""
    for path in _markdown_files(src_dir):
        text = _Tags().process(path)
        with open(path, "w") as file:
            file.write(text)


def replace_refs(
    src_dir: str, output_dir: str, reference_resolver: ReferenceResolver, file_pattern: str = "*.md", api_docs_relpath: str = "api_docs"
) -> None:
    """Copies the files below `src_dir` to `output_dir`, with references replaced by links in those that match `file_pattern`.

    `api_docs_relpath` leads from `src_dir` to the pages of the API.
    """
    for folder, _, names in os.walk(src_dir):
        root = os.path.join(os.path.relpath(src_dir, folder), api_docs_relpath, "python")
        target = os.path.join(output_dir, os.path.relpath(folder, src_dir))
        os.makedirs(target, exist_ok=True)
        for name in names:
            if name not in EXCLUDED:
                _copy(os.path.join(folder, name), os.path.normpath(os.path.join(target, name)), reference_resolver, file_pattern, root)


def _copy(source: str, target: str, reference_resolver: ReferenceResolver, file_pattern: str, root: str) -> None:
    reference_resolver.current_doc_full_name = source
    if fnmatch.fnmatch(os.path.basename(source), file_pattern):
        with open(source, encoding="utf-8", newline="") as file:
            text = reference_resolver.replace_references(file.read(), root)
        with open(target, "w", encoding="utf-8", newline="") as file:
            file.write(text)
    elif source != target:
        shutil.copyfile(source, target)
