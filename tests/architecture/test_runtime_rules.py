"""The rules of the runtime: who knows what of operations, of sessions and of the stages."""

import ast
import pathlib
import re

import pytest

from tfcompat._src import namespaces
from tfcompat._src.graph import op_spec

ROOT = pathlib.Path(namespaces.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
RUNTIME = sorted((ROOT / "runtime").glob("*.py"))
FIELDS = {"_inputs", "_outputs", "_attrs", "_dtype", "_control_inputs"}
CONTROL_FLOW = re.compile(r"(Ref)?(Switch|Merge|Enter|Exit|NextIteration|Identity)|Loop(Cond|Record|Gradient|GradientGradient)")


def name(path):
    return str(path.relative_to(ROOT))


def tree(path):
    return ast.parse(path.read_text())


@pytest.mark.parametrize("path", FILES, ids=name)
def test_fields_of_operations_and_tensors_are_read_by_public_names(path):
    nodes = list(ast.walk(tree(path)))
    methods = {id(n.func) for n in nodes if isinstance(n, ast.Call)}
    reads = [n for n in nodes if isinstance(n, ast.Attribute) and n.attr in FIELDS and isinstance(n.ctx, ast.Load) and id(n) not in methods]
    found = [ast.unparse(n) for n in reads if ast.unparse(n.value) not in ("self", "cls")]
    assert not found


@pytest.mark.parametrize("path", RUNTIME, ids=name)
def test_the_runtime_names_no_op_type_but_control_flow(path):
    words = [n.value for n in ast.walk(tree(path)) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    assert not [w for w in words if op_spec.find(w) is not None and not CONTROL_FLOW.fullmatch(w)]


def test_one_module_calls_the_stages_of_a_plan():
    def imports(path):
        return {alias.name for node in ast.walk(tree(path)) if isinstance(node, ast.ImportFrom) for alias in node.names}

    assert [name(path) for path in FILES if "Partitioner" in imports(path)] == ["runtime/planner.py"]


@pytest.mark.parametrize("path", FILES, ids=name)
def test_sessions_have_a_type(path):
    annotated = [n for n in ast.walk(tree(path)) if isinstance(n, (ast.arg, ast.AnnAssign)) and n.annotation is not None]
    names = [n.arg if isinstance(n, ast.arg) else ast.unparse(n.target) for n in annotated if ast.unparse(n.annotation) == "Any"]
    assert "session" not in names


@pytest.mark.parametrize("path", RUNTIME, ids=name)
def test_the_runtime_keeps_nothing_for_the_whole_process_by_graph(path):
    found = [ast.unparse(n) for n in tree(path).body if isinstance(n, (ast.Assign, ast.AnnAssign)) and "WeakSet" in ast.unparse(n)]
    assert not found
