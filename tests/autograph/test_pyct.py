"""Tools for syntax trees, and operators: what they give is what 1.15.5 gives; what stands there in no output is shown here."""

import ast
import difflib
import pathlib
import subprocess
import sys

import pytest

from tfcompat._src.autograph import entities, options, passes
from tfcompat._src.autograph.pyct import anno, compiler, errors, origin_info, parser, pretty_printer, transformer

HERE = pathlib.Path(__file__).parent


@pytest.mark.parametrize("name", ["operators", "passes", "pyct"])
def test_a_program_prints_what_it_prints_under_1_15(name):
    done = subprocess.run([sys.executable, "-m", "tfcompat", "run", HERE / f"{name}_program.py"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    expected = (HERE / f"{name}_expected.txt").read_text()
    assert done.stdout == expected, "\n".join(difflib.unified_diff(expected.split("\n"), done.stdout.split("\n"), lineterm=""))


def test_classes_give_no_tree():
    with pytest.raises(NotImplementedError, match="convert_entity_to_ast gives trees of functions, but got the class <class 'int'>"):
        entities.convert_entity_to_ast(int, passes.ProgramContext(options.STANDARD_OPTIONS, None))


class Doubling(transformer.Base):
    """Doubles numbers, and writes each statement twice."""

    def visit_Constant(self, node):
        return ast.Constant(2 * node.value)

    def visit_FunctionDef(self, node):
        node.body = self.visit_block(node.body, after_visit=lambda made: ([made, made], None))
        return node


def _pass(kind, node):
    return kind(transformer.Context(transformer.EntityInfo("", None, (), {}))).visit(node)


def test_a_pass_changes_a_function_that_then_runs():
    node = parser.parse_str("def f(a):\n  a = a + 1  # once\n  return a")
    origin_info.resolve(node, "def f(a):\n  a = a + 1  # once\n  return a", "file.py", 10, 0)
    module, source, source_map = compiler.ast_to_object(_pass(Doubling, node), include_source_map=True)
    assert module.f(1) == 5
    assert source == "# coding=utf-8\ndef f(a):\n  a = a + 2\n  a = a + 2\n  return a\n  return a\n"
    origin = source_map[origin_info.LineLocation(module.__file__, 4)]
    assert (origin.loc.lineno, origin.function_name, origin.comment) == (11, "f", "once")
    frame = errors._stack_trace_inside_mapped_code([("run.py", 1, "main", "f(1)"), (module.__file__, 4, "f", "a = a + 2")], source_map)
    assert frame == (("file.py", 11, "f", "  a = a + 1  # once", True),)


def test_scopes_of_passes():
    class Scoped(transformer.Base):
        def visit_Return(self, node):
            self.set_local("kept", 1)
            self.enter_local_scope(inherit=["kept"])
            self.set_local("inner", self.get_local("kept") + 1)
            assert self.exit_local_scope(keep=["inner"]) == {"kept": 1, "inner": 2}
            assert [type(each).__name__ for each in self.enclosing_entities] == ["FunctionDef"]
            return self.create_assignment("a", node.value) if self.get_local("inner") == 2 else node

    changed = _pass(Scoped, parser.parse_str("def f(a):\n  return a"))
    assert compiler.ast_to_source(changed, include_encoding_marker=False) == "def f(a):\n  a = a\n"
    with pytest.raises(ValueError, match="visit_block"):
        _pass(Scoped, [])


def test_nodes_that_are_not_visited_and_scopes_that_are_left_open():
    class Open(transformer.Base):
        def visit_Name(self, node):
            self.enter_local_scope()
            return node

    node = parser.parse_expression("a")
    with pytest.raises(AssertionError, match="not well paired"):
        _pass(Open, node)
    anno.setanno(node, anno.Basic.SKIP_PROCESSING, True)
    assert _pass(Open, node) is node


def test_sources_that_are_no_statement():
    pair = (lambda x: x + 1, lambda: 2)
    node, source = parser.parse_entity(pair[0], ())
    assert isinstance(node, ast.stmt) and "lambda x: x + 1" in source
    with pytest.raises(ValueError, match="Unable to locate the source code"):
        parser.parse_entity(eval("lambda: 1"), ())


def test_text_of_trees():
    assert pretty_printer.fmt(parser.parse_expression("a(1)"), color=False, noanno=True).split("\n")[:5] == [
        "Call:", "| func=Name:", '| | id=u"a"', "| | ctx=Load()", "| args=["
    ]  # fmt: skip
    assert "\033[34m" in pretty_printer.fmt(parser.parse_expression("a"))


def test_messages_of_errors():
    stack = [("/home/user/a.py", 3, "main", "f()"), ("/home/user/b.py", 4, "f", None)]
    metadata = errors.ErrorMetadataBase(stack, None, "first\nsecond", {})
    assert metadata.get_message() == (
        "in converted code:\n    relative to /home/user:\n\n    a.py:3 main\n        f()\n    b.py:4 f\n        <source unavailable>\n\n"
        "    first\n    second\n"
    )
    made = metadata.to_exception(ValueError("x"))
    assert isinstance(made, ValueError) and made.ag_error_metadata is metadata
    assert str(metadata.to_exception(KeyError("x"))) == metadata.get_message()
    assert metadata.create_exception(UnicodeDecodeError("utf-8", b"", 0, 1, "x")) is None
