"""The rules that every source file of the implementation keeps. A file is parsed once, for all rules."""

import ast
import functools
import importlib
import pathlib
import re
from typing import NamedTuple

import pytest

from tfcompat._src import namespaces
from tfcompat._src.graph import op_spec

ROOT = pathlib.Path(namespaces.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
MAX_LINES = 650
LAYERS = """
    proto base platform io graph checkpoint nodes profiler ops interpreter runtime losses variables gradients cluster autograph function eager
    summary train metrics distributions linalg lookup saved_model interop serving data distribute keras layers rnn feature_column
    estimator horovod debug lite contrib tools testing shim convert notebook replay cli
""".split()
"""Every folder, lowest first: a folder imports from those before it, never from one after it."""
RANK = {name: rank for rank, name in enumerate(LAYERS)}
FIELDS = {"_inputs", "_outputs", "_attrs", "_dtype", "_control_inputs"}
CONTROL_FLOW = re.compile(r"(Ref)?(Switch|Merge|Enter|Exit|NextIteration|Identity)|Loop(Cond|Record|Gradient|GradientGradient)")
PRIVATE_OF_JAX = re.compile(r"^jaxlib\.|\b(interpreters|extend)\b|\._(?!_version)")
RULES = {}


class Source(NamedTuple):
    """A file: its name below `_src`, its text, its tree and all nodes of it."""

    name: str
    text: str
    tree: ast.Module
    nodes: list[ast.AST]

    @classmethod
    def of(cls, text, name="base/example.py"):
        tree = ast.parse(text)
        return cls(name, text, tree, list(ast.walk(tree)))

    @property
    def layer(self):
        return self.name.split("/")[0]


def rule(function):
    """Registers a function of a Source that yields what is wrong in it."""
    RULES[function.__name__] = function
    return function


@functools.cache
def findings():
    """What the rules find in all files, by rule."""
    found = {name: [] for name in RULES}
    for path in FILES:
        source = Source.of(path.read_text(), path.relative_to(ROOT).as_posix())
        for name, function in RULES.items():
            found[name] += [f"{source.name}: {finding}" for finding in function(source)]
    return found


def imports(source):
    """The modules of the implementation that a module imports, also by a string, with their lines."""
    for node in source.nodes:
        if isinstance(node, ast.ImportFrom) and node.module == "tfcompat._src":
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tfcompat._src."):
            yield node.lineno, node.module.removeprefix("tfcompat._src.")
        elif isinstance(node, ast.Import):
            yield from ((node.lineno, a.name.removeprefix("tfcompat._src.")) for a in node.names if a.name.startswith("tfcompat._src."))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and re.match(r"tfcompat\._src\.\w", node.value):
            yield node.lineno, node.value.removeprefix("tfcompat._src.")


@rule
def imports_stand_at_the_top(source):
    for function in source.nodes:
        if isinstance(function, (ast.FunctionDef, ast.Lambda)):
            hidden = [n.lineno for n in ast.walk(function) if isinstance(n, (ast.Import, ast.ImportFrom))]
            yield from (f"line {line}: an import inside a function" for line in hidden)


@rule
def imports_go_one_way(source):
    if source.layer in RANK:
        for line, module in imports(source):
            if RANK[module.split(".")[0]] > RANK[source.layer]:
                yield f"line {line}: {source.layer} imports {module}"


@rule
def files_are_small(source):
    lines = len(source.text.splitlines())
    if lines > MAX_LINES:
        yield f"{lines} lines; {MAX_LINES} are allowed"


@rule
def inits_are_empty(source):
    if source.name.endswith("/__init__.py") and source.text:
        yield "the __init__.py of an implementation package holds nothing"


def private_names_of_jax(source):
    """Imports and attributes of modules that JAX makes no promise about, and names of its modules with an underscore."""
    modules = set()
    for node in source.nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in ("jax", "jaxlib"):
            named = [f"{node.module}.{alias.name}" for alias in node.names]
            modules |= {alias.asname or alias.name for alias in node.names if alias.name[0].islower()}
        elif isinstance(node, ast.Import):
            named = [alias.name for alias in node.names if alias.name.split(".")[0] in ("jax", "jaxlib")]
            modules |= {alias.asname or alias.name.split(".")[0] for alias in node.names if alias.name in named}
        else:
            continue
        yield from (name for name in named if PRIVATE_OF_JAX.search(name))
    if not modules:
        return
    for node in source.nodes:
        if isinstance(node, ast.Attribute) and ast.unparse(node).split(".")[0] in modules and PRIVATE_OF_JAX.search(name := ast.unparse(node)):
            yield name


@rule
def private_names_of_jax_stand_in_one_file(source):
    if source.name != "base/jax_compat.py":
        names = [name for name in private_names_of_jax(source) if not name.startswith("jaxlib.__")]
        yield from (f"{name}: base/jax_compat.py has what JAX makes no promise about" for name in names)


@rule
def fields_of_operations_and_tensors_are_read_by_public_names(source):
    methods = {id(n.func) for n in source.nodes if isinstance(n, ast.Call)}
    for n in source.nodes:
        if isinstance(n, ast.Attribute) and n.attr in FIELDS and isinstance(n.ctx, ast.Load) and id(n) not in methods:
            if ast.unparse(n.value) not in ("self", "cls"):
                yield f"line {n.lineno}: {ast.unparse(n)}"


@rule
def the_runtime_names_no_op_type_but_control_flow(source):
    if source.layer == "runtime":
        words = [n.value for n in source.nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)]
        yield from (w for w in words if op_spec.find(w) is not None and not CONTROL_FLOW.fullmatch(w))


@rule
def one_module_calls_the_stages_of_a_plan(source):
    imported = {alias.name for node in source.nodes if isinstance(node, ast.ImportFrom) for alias in node.names}
    if "Partitioner" in imported and source.name != "runtime/passes/pipeline.py":
        yield "runtime/passes/pipeline.py alone imports Partitioner"


@rule
def what_chooses_engines_alone_knows_one(source):
    if source.name == "runtime/engines/choice.py":
        return
    for node in source.nodes:
        if isinstance(node, ast.ImportFrom) and node.module:
            of_engines = node.module == "tfcompat._src.runtime.engines"
            named = {f"{node.module}.{alias.name}" for alias in node.names} if of_engines else {node.module}
            if named & {"tfcompat._src.runtime.engines.interpreter", "tfcompat._src.runtime.engines.xla"}:
                yield f"line {node.lineno}: {', '.join(sorted(named))}"
        if isinstance(node, ast.Attribute) and ast.unparse(node) == "choice.ENGINE" or isinstance(node, ast.alias) and node.name == "ENGINE":
            yield f"line {node.lineno}: the setting that forces an engine"


@rule
def one_function_says_which_loops_are_derivatives(source):
    if source.layer not in ("graph", "gradients") and source.name != "runtime/passes/derivatives.py":
        written = {ast.unparse(n.func.value) for n in source.nodes if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr == "extend"}
        for node in source.nodes:
            if isinstance(node, ast.Attribute) and node.attr == "loop_derivatives" and ast.unparse(node) not in written:
                yield f"line {node.lineno}: ask runtime.passes.derivatives.noted_in"


@rule
def sessions_have_a_type(source):
    for n in source.nodes:
        if isinstance(n, (ast.arg, ast.AnnAssign)) and n.annotation is not None and ast.unparse(n.annotation) == "Any":
            if "session" == (n.arg if isinstance(n, ast.arg) else ast.unparse(n.target)):
                yield f"line {n.lineno}: session: Any"


@rule
def the_runtime_keeps_nothing_for_the_whole_process_by_graph(source):
    if source.layer == "runtime":
        kept = [ast.unparse(n) for n in source.tree.body if isinstance(n, (ast.Assign, ast.AnnAssign))]
        yield from (text for text in kept if "WeakSet" in text)


@rule
def raw_ops_are_registered(source):
    for node in source.nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "raw":
            if node.attr[0].isupper() and node.attr != "RawOp" and op_spec.find(node.attr) is None:
                yield f"line {node.lineno}: raw.{node.attr}"


@pytest.fixture(scope="module", autouse=True)
def operations_of_what_loads_on_first_use():
    """Registers those of contrib and of Horovod."""
    importlib.import_module("tfcompat._src.horovod.collectives")
    for path in (ROOT / "contrib").rglob("*.py"):
        importlib.import_module("tfcompat._src." + ".".join(path.relative_to(ROOT).with_suffix("").parts))


@pytest.mark.parametrize("name", RULES)
def test_rule(name):
    assert not findings()[name]


def test_every_folder_has_its_place():
    assert {p.name for p in ROOT.iterdir() if p.is_dir() and any(p.rglob("*.py"))} == set(LAYERS)


def test_imports_are_seen_however_they_are_written():
    text = 'from tfcompat._src import data\nfrom tfcompat._src.keras.layers import a\nimport tfcompat._src.train.saver\nload("tfcompat._src.cluster.x")'
    assert [module for _, module in imports(Source.of(text))] == ["data", "keras.layers", "train.saver", "cluster.x"]


def test_private_names_of_jax_are_seen():
    text = "import jax.extend as e\nfrom jax._src import core\nfrom jax import lax\nimport jaxlib\nlax._f(jax.numpy)\njax.Array._value\njaxlib.xla"
    found = {"jax.extend", "jax._src.core", "lax._f", "jaxlib.xla"}
    assert set(private_names_of_jax(Source.of(text))) == found
    text = "import jax\njax.Array._value\njax.interpreters.mlir\njax.lax.add"
    assert set(private_names_of_jax(Source.of(text))) == {"jax.Array._value", "jax.interpreters", "jax.interpreters.mlir"}


BROKEN = {
    "imports_stand_at_the_top": "def f():\n    import os",
    "imports_go_one_way": "from tfcompat._src.keras import layers",
    "files_are_small": "\n" * (MAX_LINES + 1),
    "private_names_of_jax_stand_in_one_file": "from jax._src import core",
    "fields_of_operations_and_tensors_are_read_by_public_names": "x = op._inputs",
    "the_runtime_names_no_op_type_but_control_flow": "x = 'MatMul'",
    "one_module_calls_the_stages_of_a_plan": "from a import Partitioner",
    "what_chooses_engines_alone_knows_one": "from tfcompat._src.runtime.engines import choice, interpreter",
    "one_function_says_which_loops_are_derivatives": "x = graph.loop_derivatives",
    "sessions_have_a_type": "def f(session: Any): pass",
    "the_runtime_keeps_nothing_for_the_whole_process_by_graph": "kept = weakref.WeakSet()",
    "raw_ops_are_registered": "raw.NoSuchOp(x)",
    "inits_are_empty": "import os",
}


@pytest.mark.parametrize("name", RULES)
def test_rule_sees_what_breaks_it(name):
    of_runtime = name.startswith("the_runtime")
    file = "runtime/example.py" if of_runtime else "base/__init__.py" if name == "inits_are_empty" else "base/example.py"
    assert len(list(RULES[name](Source.of(BROKEN[name], file)))) == 1
