"""The rules of the code base: imports go one way, files stay small, generated files are current."""

import ast
import importlib
import json
import pathlib
import re
import tomllib

import pytest

from tfcompat._src import namespaces
from tfcompat._src.base import jax_compat
from tfcompat._src.graph import op_spec, signature

ROOT = pathlib.Path(namespaces.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
MAX_LINES = 650
LAYERS = """
    proto base platform io graph checkpoint nodes profiler ops interpreter runtime losses variables gradients cluster autograph function eager
    summary train metrics distributions linalg lookup saved_model interop serving data distribute keras layers rnn feature_column
    estimator debug contrib testing shim notebook cli
""".split()
"""Every folder, lowest first: a folder imports from those before it, never from one after it."""
RANK = {name: rank for rank, name in enumerate(LAYERS)}


def layer(path):
    return path.relative_to(ROOT).parts[0]


def imports(tree):
    """The modules of the implementation that a module imports, also by a string, with their lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "tfcompat._src":
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tfcompat._src."):
            yield node.lineno, node.module.removeprefix("tfcompat._src.")
        elif isinstance(node, ast.Import):
            yield from ((node.lineno, a.name.removeprefix("tfcompat._src.")) for a in node.names if a.name.startswith("tfcompat._src."))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and re.match(r"tfcompat\._src\.\w", node.value):
            yield node.lineno, node.value.removeprefix("tfcompat._src.")


def test_every_folder_has_its_place():
    assert {p.name for p in ROOT.iterdir() if p.is_dir() and any(p.rglob("*.py"))} == set(LAYERS)


def test_files_of_tests_have_names_of_their_own():
    """pytest imports those outside packages by their name alone."""
    files = [p for p in (ROOT.parents[1] / "tests").glob("*/test_*.py") if not (p.parent / "__init__.py").exists()]
    assert len({p.name for p in files}) == len(files)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_one_way_and_stand_at_the_top(path):
    tree = ast.parse(path.read_text())
    for function in ast.walk(tree):
        if isinstance(function, (ast.FunctionDef, ast.Lambda)):
            hidden = [n for n in ast.walk(function) if isinstance(n, (ast.Import, ast.ImportFrom))]
            assert not hidden, f"line {hidden[0].lineno}: an import inside a function"
    if layer(path) not in RANK:
        return
    for line, module in imports(tree):
        assert RANK[module.split(".")[0]] <= RANK[layer(path)], f"line {line}: {layer(path)} imports {module}"


def test_imports_are_seen_however_they_are_written():
    text = 'from tfcompat._src import data\nfrom tfcompat._src.keras.layers import a\nimport tfcompat._src.train.saver\nload("tfcompat._src.cluster.x")'
    assert [module for _, module in imports(ast.parse(text))] == ["data", "keras.layers", "train.saver", "cluster.x"]


def private_names_of_jax(tree):
    """Imports and attributes of modules that JAX makes no promise about, and names of its modules with an underscore."""
    modules = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in ("jax", "jaxlib"):
            named = [f"{node.module}.{alias.name}" for alias in node.names]
            modules |= {alias.asname or alias.name for alias in node.names if alias.name[0].islower()}
        elif isinstance(node, ast.Import):
            named = [alias.name for alias in node.names if alias.name.split(".")[0] in ("jax", "jaxlib")]
            modules |= {alias.asname or alias.name.split(".")[0] for alias in node.names if alias.name in named}
        else:
            continue
        yield from (name for name in named if PRIVATE.search(name))
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node).split(".")[0] in modules and PRIVATE.search(name := ast.unparse(node)):
            yield name


PRIVATE = re.compile(r"^jaxlib\.|\b(interpreters|extend)\b|\._(?!_version)")


@pytest.mark.parametrize("path", [p for p in FILES if p.name != "jax_compat.py"], ids=lambda p: str(p.relative_to(ROOT)))
def test_private_names_of_jax_stand_in_one_file(path):
    found = {name for name in private_names_of_jax(ast.parse(path.read_text())) if not name.startswith("jaxlib.__")}
    assert not found, "base/jax_compat.py has what JAX makes no promise about"


def test_private_names_of_jax_are_seen():
    text = "import jax.extend as e\nfrom jax._src import core\nfrom jax import lax\nimport jaxlib\nlax._f(jax.numpy)\njax.Array._value\njaxlib.xla"
    found = {"jax.extend", "jax._src.core", "lax._f", "jaxlib.xla"}
    assert set(private_names_of_jax(ast.parse(text))) == found
    assert set(private_names_of_jax(ast.parse("import jax\njax.Array._value\njax.interpreters.mlir\njax.lax.add"))) == {"jax.Array._value", "jax.interpreters", "jax.interpreters.mlir"}


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_files_are_small(path):
    assert len(path.read_text().splitlines()) <= MAX_LINES


def test_supported_versions_of_jax_are_those_asked_for():
    project = tomllib.loads((ROOT.parent.parent / "pyproject.toml").read_text())["project"]
    assert jax_compat.SUPPORTED in project["dependencies"]


def test_implementation_packages_have_empty_inits():
    assert [p for p in ROOT.rglob("__init__.py") if p.read_text()] == []


def test_namespaces_are_current():
    stale = [str(path) for path, text in namespaces.generate().items() if not path.exists() or path.read_text() != text]
    assert not stale, "run python tfcompat/_src/namespaces.py"


def test_every_raw_op_is_registered():
    for path in (ROOT / "contrib").rglob("*.py"):
        importlib.import_module("tfcompat._src." + ".".join(path.relative_to(ROOT).with_suffix("").parts))
    missing = set()
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "raw":
                if node.attr[0].isupper() and node.attr != "RawOp" and op_spec.find(node.attr) is None:
                    missing.add(f"{node.attr} in {path.relative_to(ROOT)}")
    assert not missing


@pytest.mark.parametrize("name", op_spec.registered_names())
def test_kernels_take_declared_attributes(name):
    spec = op_spec.get(name)
    declared = set(spec.signature.attrs)
    assert set(spec.kernel_attrs) <= declared
    if spec.numpy_kernel is not None:
        assert set(spec.fold_attrs) <= declared
    inputs = {a.name for a in spec.signature.inputs}
    assert set(spec.constants) | set(spec.shape_only) | set(spec.effects.reads) | set(spec.effects.writes) <= inputs
    assert spec.gradient is not None
    assert spec.effects.random == (spec.reserve is not None)


SIGNATURES = json.loads((pathlib.Path(__file__).parent.parent / "golden" / "op_signatures.json").read_text())


@pytest.mark.parametrize("name", [n for n in op_spec.registered_names() if n in SIGNATURES])
def test_signatures_are_tensorflows(name):
    ours, theirs = op_spec.get(name).signature, signature.parse(SIGNATURES[name])
    assert ours.inputs == theirs.inputs
    assert ours.outputs == theirs.outputs
    for attr, wanted in theirs.attrs.items():
        got = ours.attrs[attr]
        assert (got.kind, got.minimum, got.default) == (wanted.kind, wanted.minimum, wanted.default), attr
