"""The rules of the code base as a whole: generated files are current, operations are what they say. Those of each file: test_structure.py."""

import json
import pathlib
import tomllib

from tfcompat._src import namespaces
from tfcompat._src.base import jax_compat
from tfcompat._src.graph import op_spec, signature

ROOT = pathlib.Path(namespaces.__file__).parent
SIGNATURES = json.loads((pathlib.Path(__file__).parent.parent / "golden" / "op_signatures.json").read_text())


def test_files_of_tests_have_names_of_their_own():
    """pytest imports those outside packages by their name alone."""
    files = [p for p in (ROOT.parents[1] / "tests").rglob("test_*.py") if not (p.parent / "__init__.py").exists()]
    assert len({p.name for p in files}) == len(files)


def test_supported_versions_of_jax_are_those_asked_for():
    project = tomllib.loads((ROOT.parent.parent / "pyproject.toml").read_text())["project"]
    assert jax_compat.SUPPORTED in project["dependencies"]


def test_namespaces_are_current():
    stale = [str(path) for path, text in namespaces.generate().items() if not path.exists() or path.read_text() != text]
    assert not stale, "run python tfcompat/_src/namespaces.py"


def is_sound(spec):
    """Whether an op's kernel takes attributes that the op declares, and what is said of its inputs is said of inputs that it has."""
    declared = set(spec.signature.attrs)
    inputs = {a.name for a in spec.signature.inputs}
    named = set(spec.constants) | set(spec.shape_only) | set(spec.effects.reads) | set(spec.effects.writes)
    folded = set(spec.fold_attrs) if spec.numpy_kernel is not None else set()
    return (
        set(spec.kernel_attrs) | folded <= declared
        and named <= inputs
        and spec.gradient is not None
        and spec.effects.random == (spec.reserve is not None)
    )


def test_operations_are_sound():
    assert [name for name in op_spec.registered_names() if not is_sound(op_spec.get(name))] == []


def is_tensorflows(name):
    """Whether the inputs, outputs and attributes of an op are those of the recorded OpDef; it may have attributes beside them."""
    ours, theirs = op_spec.get(name).signature, signature.parse(SIGNATURES[name])
    attrs = {key: (a.kind, a.minimum, a.default) for key, a in ours.attrs.items() if key in theirs.attrs}
    wanted = {key: (a.kind, a.minimum, a.default) for key, a in theirs.attrs.items()}
    return (ours.inputs, ours.outputs, attrs) == (theirs.inputs, theirs.outputs, wanted)


def test_signatures_are_tensorflows():
    known = [name for name in op_spec.registered_names() if name in SIGNATURES]
    assert len(known) > 900
    assert [name for name in known if not is_tensorflows(name)] == []
