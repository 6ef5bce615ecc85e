"""Edits the tree of a program by an APIChangeSpec, and reports each change with its line and column."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from tfcompat._src.tools.compatibility import written_tree
from tfcompat._src.tools.compatibility.api_changes import (
    ERROR,
    INFO,
    WARNING,
    AnalysisResult,
    APIAnalysisSpec,
    APIChangeSpec,
    ImportRename,
    Log,
    full_name_node,
    full_name_of,
    get_arg_value,
    has_double_star,
    has_star,
)

_BY_HAND = "(Manual check required) upgrading {} may require {}, but it was passed variable-length {}. The upgrade script cannot handle these automatically."


class Walk:
    """Visits the nodes of a tree, outer ones first, and keeps messages; `visit_X` methods handle nodes of class X."""

    def __init__(self) -> None:
        self.log: list[Log] = []
        self._stack: list[Any] = []

    def visit(self, node: ast.AST) -> None:
        """Visits a node and all below it."""
        self._stack.append(node)
        handler: Callable[[Any], None] = getattr(self, f"visit_{type(node).__name__}", self.visit_children)
        handler(node)
        self._stack.pop()

    def visit_children(self, node: ast.AST) -> None:
        for _, value in ast.iter_fields(node):
            for item in value if isinstance(value, list) else [value]:
                if isinstance(item, ast.AST):
                    self.visit(item)

    @property
    def errors(self) -> list[Log]:
        return [log for log in self.log if log[0] == ERROR]

    @property
    def warnings_and_errors(self) -> list[Log]:
        return [log for log in self.log if log[0] in (WARNING, ERROR)]

    def say(self, level: str, node: ast.AST, message: str) -> None:
        """Keeps a message on a node and prints it."""
        self.add_logs([(level, *written_tree.first_line_and_column(node), message)])

    def add_logs(self, logs: list[Log]) -> None:
        """Keeps messages and prints them."""
        self.log.extend(logs)
        for log in logs:
            print("{} line {}:{}: {}".format(*log))


class PastaAnalyzeVisitor(Walk):
    """Finds the names and imports of an APIAnalysisSpec in a program, which it leaves unchanged."""

    def __init__(self, api_analysis_spec: APIAnalysisSpec) -> None:
        super().__init__()
        self._wanted = api_analysis_spec
        self.results: list[AnalysisResult] = []

    def _report(self, found: AnalysisResult | None, node: ast.AST) -> None:
        if found is not None:
            self.results.append(found)
            self.say(found.log_level, node, found.log_message)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self._report(self._wanted.symbols_to_detect.get(full_name_of(node) or ""), node)
        self.visit_children(node)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._report(self._wanted.imports_to_detect.get((alias.name, alias.asname)), node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names if node.module else []:
            self._report(self._wanted.imports_to_detect.get((f"{node.module}.{alias.name}", alias.asname)), node)


class Editor(Walk):
    """Changes calls, names and imports as an APIChangeSpec says."""

    def __init__(self, spec: APIChangeSpec) -> None:
        super().__init__()
        self._spec = spec

    def _rows(self, table: str, full_name: str | None, name: str | None) -> list[Any]:
        """The entries of a table for a call: those of its full name, of its last name ("*.name"), of all calls ("*")."""
        entries = getattr(self._spec, table, {})
        keys = [full_name, f"*.{name}" if name else None, "*"]
        return [entries[key] for key in keys if key in entries]

    def visit_Call(self, node: ast.Call) -> None:
        full_name = full_name_of(node.func)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else full_name
        self._warn_of_arguments(node, full_name, name)
        self._name_arguments(node, full_name)
        self._rename_keywords(node, full_name, name)
        self.visit_children(self._transformed(node, full_name, name))

    def _warn_of_arguments(self, node: ast.Call, full_name: str | None, name: str | None) -> None:
        if isinstance(node.func, ast.Attribute):
            self._warn(node, f"*.{name}")
        rows: dict[tuple[str, int | None], tuple[str, str]] = {}
        for entries in reversed(self._rows("function_arg_warnings", full_name, name)):
            rows.update(entries)
        called = full_name or name or ""
        for (keyword, position), (level, message) in sorted(rows.items()):
            if get_arg_value(node, keyword, position)[0]:
                how = f"with {keyword} argument,"
                if has_star(node) or has_double_star(node):
                    how = f"with *args or **kwargs that may include {keyword},"
                self.say(level, node, f"{called} called {how} requires manual check: {message.replace('<function name>', called)}")

    def _warn(self, node: ast.AST, full_name: str) -> None:
        if full_name in self._spec.function_warnings:
            level, message = self._spec.function_warnings[full_name]
            self.say(level, node, f"{full_name} requires manual check. {message.replace('<function name>', full_name)}")

    def _name_arguments(self, node: ast.Call, full_name: str | None) -> None:
        """Gives positional arguments their old names, where the order changes. Starred ones are lost, as TensorFlow 1.15 loses them."""
        order = self._spec.function_reorders.get(full_name or "")
        if order is None:
            return
        if has_star(node):
            self.say(WARNING, node, _BY_HAND.format(full_name, "re-ordering the call arguments", "positional *args"))
        plain = [value for value in node.args if not isinstance(value, ast.Starred)]
        if plain:
            self.say(INFO, node, f"Added keywords to args of function {full_name!r}")
            named = [ast.keyword(arg=order[index], value=value) for index, value in enumerate(plain)]
            node.args, node.keywords = [], [*named, *node.keywords]

    def _rename_keywords(self, node: ast.Call, full_name: str | None, name: str | None) -> None:
        renames: dict[str, str | None] = {}
        for entries in reversed(self._rows("function_keyword_renames", full_name, name)):
            renames.update(entries)
        if not renames:
            return
        if has_double_star(node):
            self.say(WARNING, node, _BY_HAND.format(full_name or name, "renaming or removing call arguments", "*args or **kwargs"))
        kept = []
        for keyword in node.keywords:
            old = keyword.arg
            new = renames[old] if old in renames else old
            if old is not None and new is None:
                self.say(INFO, node, f"Removed argument {old} for function {full_name or name}")
                continue
            if old in renames:
                keyword.arg = new
                self.say(INFO, node, f"Renamed keyword argument for {full_name} from {old} to {new}")
            kept.append(keyword)
        node.keywords = kept

    def _transformed(self, node: ast.Call, full_name: str | None, name: str | None) -> ast.Call:
        """The call, or what the spec's own functions put in its place."""
        transformers = self._rows("function_transformers", full_name, name)
        if transformers and (has_star(node) or has_double_star(node)):
            self.say(WARNING, node, _BY_HAND.format(full_name or name, "modifying call arguments", "*args or **kwargs"))
        for transformer in transformers:
            logs: list[Log] = []
            parent = self._stack[-2]
            new = transformer(parent, node, full_name, name, logs)
            self.add_logs(logs)
            if new is not None and new is not node:
                written_tree.replace(parent, node, new)
                node = self._stack[-1] = new
        return node

    def visit_Attribute(self, node: ast.Attribute) -> None:
        full_name = full_name_of(node)
        if full_name is not None:
            self._warn(node, full_name)
            if self._renamed(node, full_name) or self._called(node, full_name):
                return
            self._warn_of_module(node, full_name)
        self.visit_children(node)

    def _renamed(self, node: ast.Attribute, full_name: str) -> bool:
        new_name = self._spec.symbol_renames.get(full_name)
        if not new_name:
            return False
        self.say(INFO, node, f"Renamed {full_name!r} to {new_name!r}")
        written_tree.replace(self._stack[-2], node, full_name_node(new_name, node.ctx))
        return True

    def _called(self, node: ast.Attribute, full_name: str) -> bool:
        parent = self._stack[-2]
        if full_name not in self._spec.change_to_function or isinstance(parent, ast.Call):
            return False
        written_tree.replace(parent, node, ast.Call(func=node, args=[], keywords=[]))
        self.say(INFO, node, f"Changed {full_name!r} to a function call")
        return True

    def _warn_of_module(self, node: ast.Attribute, full_name: str) -> None:
        if full_name in self._spec.module_deprecations:
            level, message = self._spec.module_deprecations[full_name]
            outer = len(self._stack) - 1
            while isinstance(self._stack[outer - 1], ast.Attribute):
                outer -= 1
            whole = written_tree.whole_text(self._stack[outer], self._stack[outer - 1])
            self.say(level, node, f"Using member {whole} in deprecated module {full_name}. {message.replace('<function name>', whole)}")

    def _rename_of(self, module: str) -> ImportRename | None:
        renames: dict[str, ImportRename] = getattr(self._spec, "import_renames", {})
        return renames.get(module.split(".")[0])

    def visit_Import(self, node: ast.Import) -> None:
        names, inserted = [], []
        for alias in node.names:
            rename = self._rename_of(alias.name)
            if rename is None or not rename.concerns(alias.name):
                names.append(alias)
                continue
            first, dot, rest = alias.name.partition(".")
            names.append(ast.alias(name=rename.new_name + dot + rest, asname=alias.asname if alias.asname or dot else first))
            lines = getattr(self._spec, "inserts_after_imports", {}).get((alias.name, alias.asname), [])
            inserted += lines
            for line in lines:
                self.say(INFO, node, f"Adding `{line}` after import of {alias.name}")
        if names != node.names:
            self._replace_import(node, ast.Import(names=names), behind=inserted)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        rename = self._rename_of(node.module) if node.module else None
        if rename is None or node.module is None:
            return
        moved = [alias for alias in node.names if rename.concerns(f"{node.module}.{alias.name}")]
        kept = [alias for alias in node.names if alias not in moved]
        if moved:
            _, dot, rest = node.module.partition(".")
            new = ast.ImportFrom(module=rename.new_name + dot + rest, names=moved, level=node.level)
            same = [ast.ImportFrom(module=node.module, names=kept, level=node.level)] if kept else []
            self._replace_import(node, new, before=same)

    def _replace_import(
        self, node: ast.Import | ast.ImportFrom, new: ast.stmt, *, before: list[ast.ImportFrom] | None = None, behind: list[str] | None = None
    ) -> None:
        """Puts `new` where `node` is, other imports on lines before it and statements on lines behind it, and says so."""
        prefix, rest = written_tree.lines_before(node), written_tree.dress(node).suffix
        if behind and "\n" not in rest:
            rest += "\n"
            written_tree.set_dress(node, "", rest)
        written_tree.replace(self._stack[-2], node, new)
        was, now = prefix + written_tree.write(node), prefix + written_tree.write(new)
        earlier = "".join(written_tree.write(statement) + "\n" for statement in before or [])
        written_tree.set_dress(new, earlier + prefix * bool(earlier), rest + "".join(f"{prefix}{line}\n" for line in behind or []))
        also = f" and {prefix + earlier!r}" if earlier else ""
        self.say(INFO, node, f"Changed import from {was!r} to {now!r}{also}.")


def analyzed(root: ast.Module, wanted: APIAnalysisSpec) -> PastaAnalyzeVisitor:
    """A visitor that has been through a program."""
    visitor = PastaAnalyzeVisitor(wanted)
    visitor.visit(root)
    return visitor


