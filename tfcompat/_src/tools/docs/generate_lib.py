"""Writes the documents of an API: a page for each module, class and function, a table of contents, an index."""

from __future__ import annotations

import argparse
import inspect
import os
import tempfile
from collections.abc import Callable, Mapping
from typing import Any

from tfcompat._src.tools import doc_controls
from tfcompat._src.tools.docs.doc_generator_visitor import DocGeneratorVisitor
from tfcompat._src.tools.docs.docstrings import documentation_path, is_free_function
from tfcompat._src.tools.docs.guides import build_doc_index, build_guide_index, replace_refs, update_id_tags_inplace
from tfcompat._src.tools.docs.page_info import ParserConfig, docs_for_object, generate_global_index
from tfcompat._src.tools.docs.pretty_docs import build_md_page
from tfcompat._src.tools.docs.references import ReferenceResolver
from tfcompat._src.tools.public_objects import Members, PublicAPIVisitor, traverse

_PAGES = "api_docs/python"
_PRIVATE = {
    "tf.contrib.autograph": ["utils", "operators"],
    "tf.test": ["mock"],
    "tf.compat": ["v1", "v2"],
    "tf.contrib.estimator": ["python"],
}
_CLOSED = {
    "tf": ["cli", "lib", "wrappers"],
    "tf.contrib": [
        "compiler", "grid_rnn", "keras", "labeled_tensor", "quantization", "session_bundle", "slim", "solvers", "specs", "tensor_forest",
        "tensorboard", "testing", "tfprof",
    ],
    "tf.contrib.bayesflow": ["special_math", "stochastic_gradient_estimators", "stochastic_variables"],
    "tf.contrib.ffmpeg": ["ffmpeg_ops"],
    "tf.contrib.graph_editor": ["edit", "match", "reroute", "subgraph", "transform", "select", "util"],
    "tf.contrib.keras": ["api", "python"],
    "tf.contrib.layers": ["feature_column", "summaries"],
    "tf.contrib.learn": ["datasets", "head", "graph_actions", "io", "models", "monitors", "ops", "preprocessing", "utils"],
    "tf.contrib.util": ["loader"],
}  # fmt: skip
"""Modules whose members are not documented."""


def add_dict_to_dict(add_from: Mapping[str, list[str]], add_to: dict[str, list[str]]) -> None:
    """Appends the lists of one dict to those of another."""
    for key, values in add_from.items():
        add_to[key] = [*add_to.get(key, []), *values]


class DocControlsAwareCrawler(PublicAPIVisitor):
    """Visits what is public, but for what `doc_controls` leaves out."""

    def __call__(self, path: str, parent: object, children: Members) -> None:
        children[:] = [(name, child) for name, child in children if not doc_controls.should_skip(child)]
        super().__call__(path, parent, children)


def extract(
    py_modules: list[tuple[str, Any]],
    private_map: Mapping[str, list[str]],
    do_not_descend_map: Mapping[str, list[str]],
    visitor_cls: Callable[[str], DocGeneratorVisitor] = DocGeneratorVisitor,
) -> DocGeneratorVisitor:
    """Walks through modules, (name, module) each; the maps say by full names which members are left out, and which not entered."""
    visitor = visitor_cls(py_modules[0][0])
    crawler = DocControlsAwareCrawler(visitor)
    add_dict_to_dict(private_map, crawler.private_map)
    add_dict_to_dict(do_not_descend_map, crawler.do_not_descend_map)
    for name, module in py_modules:
        visitor.set_root_name(name)
        crawler.set_root_name(name)
        traverse(module, crawler)
    return visitor


def write_docs(
    output_dir: str,
    parser_config: ParserConfig,
    yaml_toc: bool,
    root_title: str = "TensorFlow",
    search_hints: bool = True,
    site_api_path: str = "",
) -> None:
    """Writes the pages of an API below a folder.

    Args:
      output_dir: the folder, an absolute path.
      parser_config: what is documented.
      yaml_toc: whether to write `_toc.yaml`, a table of contents.
      root_title: the name of the library, for the title of `index.md`.
      search_hints: whether pages begin with a block for search engines.
      site_api_path: the folder's path below the root of the site, for `_toc.yaml` and `_redirects.yaml`.

    Raises:
      ValueError: `output_dir` is not absolute.
    """
    if not os.path.isabs(output_dir):
        raise ValueError(f"'output_dir' must be an absolute path.\n    output_dir='{output_dir}'")
    os.makedirs(output_dir, exist_ok=True)
    by_module: dict[str, list[str]] = {}
    redirects = []
    for name, value in parser_config.index.items():
        parser_config.reference_resolver.current_doc_full_name = name
        if name not in parser_config.duplicate_of and _has_page(name, value, parser_config):
            _note_place(name, value, parser_config, by_module)
            _write_page(output_dir, name, value, parser_config, search_hints)
            redirects += [(other, name) for other in parser_config.duplicates.get(name, []) if other != name]
    if redirects:
        _write_redirects(output_dir, redirects, site_api_path)
    if yaml_toc:
        _write_contents(output_dir, by_module, site_api_path)
    with open(os.path.join(output_dir, "index.md"), "w") as file:
        file.write(generate_global_index(root_title, parser_config.index, parser_config.reference_resolver))


def _has_page(name: str, value: object, parser_config: ParserConfig) -> bool:
    return inspect.ismodule(value) or inspect.isclass(value) or is_free_function(value, name, parser_config.index)


def _note_place(name: str, value: object, parser_config: ParserConfig, by_module: dict[str, list[str]]) -> None:
    """Adds a symbol to those of its module, for the table of contents."""
    if inspect.ismodule(value):
        if name in parser_config.tree:
            by_module.setdefault(name, [])
        return
    module = name.rpartition(".")[0]
    while not inspect.ismodule(parser_config.index[module]):
        module = module[: module.rindex(".")]
    by_module.setdefault(module, []).append(name)


def _write_page(output_dir: str, name: str, value: object, parser_config: ParserConfig, search_hints: bool) -> None:
    page = docs_for_object(name, value, parser_config)
    path = os.path.join(output_dir, documentation_path(name))
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(((page.get_metadata_html() if search_hints else "") + "\n" + build_md_page(page)).encode("utf-8"))
    except OSError as e:
        raise OSError(f"Cannot write documentation for {name} to {os.path.dirname(path)}") from e


def _write_redirects(output_dir: str, redirects: list[tuple[str, str]], site_api_path: str) -> None:
    pairs = sorted(tuple(os.path.join("/", site_api_path, name.replace(".", "/")) for name in pair) for pair in redirects)
    with open(os.path.join(output_dir, "_redirects.yaml"), "w") as file:
        file.write("redirects:\n" + "".join(f"- from: {old}\n  to: {new}\n" for old, new in pairs))


def _write_contents(output_dir: str, by_module: dict[str, list[str]], site_api_path: str) -> None:
    """Writes the table of contents: modules and their symbols by name, upper and lower case together."""

    def entry(title: str, name: str) -> list[str]:
        page = os.path.join(_PAGES, documentation_path(name)[:-3])
        return [f"  - title: {title}", f"    path: {os.path.join('/', site_api_path, page)}"]

    with open(os.path.join(output_dir, "_toc.yaml"), "w") as file:
        file.write("# Automatically generated file; please do not edit\ntoc:\n")
        for module in sorted(by_module, key=str.upper):
            depth = max(module.count("."), 1)
            lines = [f"- title: {module.split('.')[-1] if depth > 1 else module}", "  section:", *entry("Overview", module)]
            for name in sorted(by_module[module], key=lambda each: (each.upper(), each)):
                lines += entry(name[len(module) + 1 :], name)
            file.write("".join("  " * depth + line + "\n" for line in lines))


class DocGenerator:
    """A program that writes the documents of modules; `set_py_modules` says which."""

    def __init__(self) -> None:
        self.argument_parser = argparse.ArgumentParser()
        self._py_modules: list[tuple[str, Any]] | None = None
        self._private_map = dict(_PRIVATE)
        self._do_not_descend_map = dict(_CLOSED)
        self.yaml_toc = True
        add = self.argument_parser.add_argument
        add("--no_search_hints", dest="search_hints", action="store_false", default=True)
        add("--site_api_path", type=str, default="", help="The path from the root of the site to the folder api_docs.")
        add("--api_cache_out_path", type=str, default=None, help="A file for what is needed to make links without the documents.")

    def add_output_dir_argument(self) -> None:
        """Adds the flag --output_dir, where the documents are written."""
        self.argument_parser.add_argument("--output_dir", type=str, default=None, required=True, help="The folder to write to.")

    def add_src_dir_argument(self) -> None:
        """Adds the flag --src_dir, documents that are copied with links, by default none."""
        folder = tempfile.mkdtemp()
        self.argument_parser.add_argument("--src_dir", type=str, default=folder, help="A folder of documents to put links into.")

    def add_base_dir_argument(self, default_base_dir: str) -> None:
        """Adds the flag --base_dir, the folder that paths of source files start from."""
        self.argument_parser.add_argument("--base_dir", type=str, default=default_base_dir, help="What paths of files start from.")

    def parse_known_args(self) -> argparse.Namespace:
        """The flags of the command line."""
        return self.argument_parser.parse_known_args()[0]

    def add_to_private_map(self, d: Mapping[str, list[str]]) -> None:
        """Adds members to leave out."""
        add_dict_to_dict(d, self._private_map)

    def add_to_do_not_descend_map(self, d: Mapping[str, list[str]]) -> None:
        """Adds members that are not entered."""
        add_dict_to_dict(d, self._do_not_descend_map)

    def set_private_map(self, d: dict[str, list[str]]) -> None:
        """Says which members are left out."""
        self._private_map = d

    def set_do_not_descend_map(self, d: dict[str, list[str]]) -> None:
        """Says which members are not entered."""
        self._do_not_descend_map = d

    def set_py_modules(self, py_modules: list[tuple[str, Any]]) -> None:
        """Says what is documented, (name, module) each."""
        self._py_modules = py_modules

    def _modules(self) -> list[tuple[str, Any]]:
        if self._py_modules is None:
            raise RuntimeError("Must call set_py_modules() before running py_module_names().")
        return self._py_modules

    def py_module_names(self) -> list[str]:
        """The names of the modules."""
        return [name for name, _ in self._modules()]

    def make_reference_resolver(self, visitor: DocGeneratorVisitor, doc_index: Mapping[str, Any]) -> ReferenceResolver:
        """What makes links to the symbols that a visitor has met."""
        return ReferenceResolver.from_visitor(visitor, doc_index, py_module_names=self.py_module_names())

    def make_parser_config(
        self, visitor: DocGeneratorVisitor, reference_resolver: ReferenceResolver, guide_index: Mapping[str, list], base_dir: str
    ) -> ParserConfig:
        """What pages of the symbols that a visitor has met are made from."""
        found = visitor.duplicates, visitor.duplicate_of, visitor.tree, visitor.index, visitor.reverse_index
        return ParserConfig(reference_resolver, *found, guide_index, base_dir)

    def run_extraction(self) -> DocGeneratorVisitor:
        """Walks through the modules."""
        return extract(self._modules(), self._private_map, self._do_not_descend_map)

    def build(self, flags: Any) -> int:
        """Writes the pages, and the documents of `flags.src_dir` with links, below `flags.output_dir`; returns how many errors there were."""
        doc_index = build_doc_index(flags.src_dir)
        visitor = self.run_extraction()
        resolver = self.make_reference_resolver(visitor, doc_index)
        if getattr(flags, "api_cache_out_path", None):
            resolver.to_json_file(flags.api_cache_out_path)
        guide_index = build_guide_index(os.path.join(flags.src_dir, "api_guides/python"))
        write_docs(
            os.path.join(flags.output_dir, _PAGES), self.make_parser_config(visitor, resolver, guide_index, flags.base_dir),
            yaml_toc=self.yaml_toc, root_title=getattr(flags, "root_title", "TensorFlow"), search_hints=getattr(flags, "search_hints", True),
            site_api_path=getattr(flags, "site_api_path", ""),
        )  # fmt: skip
        replace_refs(flags.src_dir, flags.output_dir, resolver, "*.md")
        guides = os.path.join(flags.output_dir, "api_guides/python")
        if os.path.exists(guides):
            update_id_tags_inplace(guides)
        resolver.log_errors()
        return resolver.num_errors()
